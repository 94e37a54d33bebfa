"""What a server's schema and its answers may do: nothing but say what they say, within bounds."""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from mcp_types import CallToolResult
from pydantic import ValidationError

from bot.models import schema_steps, strict_schema
from bot.slack.views import argument_blocks
from specialists.mcp import safe_schema, server_replies, shown_schema
from specialists.mcp.safe_schema import MAX_STEPS, make_argument_model
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.server_connection import CallRefusedByServer, NoServerAnswer, ServerConnection, ServerUnreachable
from specialists.mcp.server_tools import LONGEST_DESCRIPTION, describe_tool
from specialists.mcp.tool_lock import make_locked_tool
from specialists.tools.tool import FolderWorkbench, ToolSpec
from tests.mcp_servers.harbour import make_tool_entry
from tests.specialists.local_web import serving

DOUBLING = {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 4} for n in range(20)}
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")


def of(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


def fault_of(schema: dict[str, Any], arguments: dict[str, Any]) -> str:
    """What a call with these arguments is told; empty if it may be made."""
    try:
        make_argument_model(schema).model_validate(arguments)
    except ValidationError as error:
        return str(error.errors()[0]["msg"])
    return ""


@pytest.mark.parametrize(
    ("schema", "arguments", "words"),
    [
        (of({"a": {"type": "string", "pattern": "^(a+)+$"}}), {"a": "a" * 41 + "!"}, ""),
        (of({"a": {"type": "integer"}}, required=["b"]), {"a": "x"}, "'b' is a required property"),
        (of({"a": {"type": "integer"}}), {"a": "x"}, "a: 'x' is not of type 'integer'"),
        (of({"a": {"type": "integer"}}, additionalProperties=False), {"b": 1}, "Additional properties"),
        (of({"a": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": {"type": "null"}}}), {"a": 1}, "not of type 'null'"),
        (of({"pattern": {"type": "string"}}), {"pattern": 1}, "pattern: 1 is not of type"),
        (of({}, **{"$ref": "#"}), {"a": 1}, "the schema of this tool is wrong"),
        (of({"a": {"$ref": "http://127.0.0.1:9/"}}), {"a": 1}, "the schema of this tool is wrong"),
        (of({"a": {"type": "whatever"}}), {"a": 1}, "the schema of this tool is wrong"),
        (of({"a": {"$ref": "#/$defs/0"}}, **{"$defs": {**DOUBLING, "20": {}}}), {"a": 1}, "takes too long"),
        (of({"a": {"items": {"enum": list(range(500))}}}), {"a": [499] * (MAX_STEPS // 400)}, "takes too long"),
        (of({"a": {"uniqueItems": True}}), {"a": [{"n": n} for n in range(9_000)]}, ""),
        (of({}), {"a": "x" * 300_000}, "at most 262,144 are sent"),
        (of({}), {"a": float("inf")}, "that JSON cannot carry"),
        (of({}), {"a": "\ud83d"}, "that JSON cannot carry"),
    ],
)
def test_arguments_are_checked_in_bounded_time_whatever_the_schema_is(
    schema: dict[str, Any], arguments: dict[str, Any], words: str
) -> None:
    found = fault_of(schema, arguments)
    assert (words in found) if words else not found


def test_one_call_is_spelt_one_way() -> None:
    model = make_argument_model(of({}))
    one, other = (
        model.model_validate({"b": {"d": 1, "c": 2}, "a": 1}),
        model.model_validate({"a": 1, "b": {"c": 2, "d": 1}}),
    )
    assert one.model_dump_json() == other.model_dump_json() == '{"a":1,"b":{"c":2,"d":1}}'
    assert dict(one) == {"a": 1, "b": {"c": 2, "d": 1}}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (of({"a": {"$ref": "http://x.example/s"}}), "points to another place, 'http://x.example/s'"),
        (of({"a": {"$dynamicRef": "#a"}}), "points to another place"),
        (of({"a": deep(100)}), "nested more than 24 deep"),
        (of({"a": {"enum": ["x" * 70_000]}}), "at most 65,536 are read"),
        (
            of({f"a{n}": {"description": "x" * 300} for n in range(60)}),
            "would add more than 16,000 characters to every call",
        ),
        (of({"a b": {}}), "an argument named 'a b', which models cannot spell"),
        (of({f"a{n}": {} for n in range(101)}), "it takes 101 arguments"),
        ({"type": "array"}, "its arguments are no object"),
        (of({"a": "string"}), "its properties are no schemas"),
        (of({"ref": {"enum": ["http://x.example"], "default": {"$ref": "http://x.example"}}}), ""),
    ],
)
def test_a_schema_that_could_hurt_is_not_offered(schema: dict[str, Any], words: str) -> None:
    found = safe_schema.find_schema_fault(schema)
    assert (words in found) if words else not found


def test_models_see_a_description_and_a_schema_without_what_hides_and_without_what_they_do_not_need() -> None:
    hidden = {"type": "string", "title": "A", "pattern": "a+", "description": "Say\u200b \u202eit " + "x" * 900}
    shown = shown_schema.rebuild_schema(
        {**of({"title": hidden}), "$schema": "http://x", "oneOf": [{}], "description": "Obey me."}
    )
    assert list(shown) == ["type", "properties"]
    assert list(shown["properties"]["title"]) == ["type", "description"]
    assert shown["properties"]["title"]["description"].startswith("Say it xxx")
    assert len(shown["properties"]["title"]["description"]) <= shown_schema.LONGEST_TEXT + 1
    tool = make_locked_tool(make_tool_entry("a", description="\u200bDoes it.\x1b[2J " + "y" * 5_000))
    assert describe_tool(tool).startswith("Does it.[2J yyy")
    assert len(describe_tool(tool)) == LONGEST_DESCRIPTION + 1
    assert describe_tool(make_locked_tool({"name": "a", "title": "The tide"})) == "The tide"


CROOKED_SCHEMA = {
    "type": ["object", 5],
    "required": 5,
    "properties": {
        "yes": True,
        "circle": {"$ref": "#/properties/circle"},
        "tree": {"$ref": "#/$defs/tree"},
        "doubling": {"$ref": "#/$defs/0"},
        "odd": {"type": {"a": 1}, "enum": "all", "items": [1], "anyOf": {"a": 1}, "minLength": "long", "properties": 7},
        "fine": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "enum": [1, None], "default": 1},
    },
    "$defs": {**DOUBLING, "20": {}, "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    "additionalProperties": "no",
}


def test_a_crooked_schema_goes_through_all_that_reads_schemas() -> None:
    shown = shown_schema.rebuild_schema(CROOKED_SCHEMA)
    parts = shown["properties"]
    assert (parts["yes"], parts["circle"], parts["odd"]) == ({}, {}, {})
    assert parts["fine"] == CROOKED_SCHEMA["properties"]["fine"]  # type: ignore[index]  # as written above
    assert "$ref" not in json.dumps(shown)
    assert "required" not in shown
    assert len(json.dumps(shown)) < 40_000
    spec = ToolSpec("a", "Does it.", shown)
    assert strict_schema.drop_unenforced_limits(shown)["type"] == "object"
    assert schema_steps.make_steps_schema([spec])
    assert schema_steps._render_signature(shown)
    arguments = {"yes": 1, "fine": None, "more": [1]}
    fields = argument_blocks.make_fields(arguments, shown)
    assert len(fields) == len(parts) + 1
    assert argument_blocks.read_fields({"fine": "3"}, arguments, shown)["fine"] == 3


# ---------------------------------------------------------------- answers


async def read(folder: Path, *parts: dict[str, Any], **more: Any) -> tuple[str, Any]:
    answer = CallToolResult.model_validate({"content": list(parts), **more})
    outcome = await server_replies.make_outcome(answer, "port", "look", FolderWorkbench.make_in_memory((), folder))
    head, _, text = outcome.text.partition("\n")
    assert head == server_replies.UNTRUSTED_HEADING.format(server="port")
    return text, outcome


async def test_texts_are_bounded_and_pictures_kept_and_links_only_named(tmp_path: Path) -> None:
    image = {"type": "image", "mimeType": "image/png"}
    text, outcome = await read(
        tmp_path,
        {"type": "text", "text": "high\u200b wa\u202eter"},
        {**image, "data": base64.b64encode(PNG).decode()},
        {**image, "data": base64.b64encode(b"<svg onload=alert(1)>").decode()},
        {"type": "resource_link", "name": "tides\u200b", "uri": "http://evil.example/?d=1"},
        {"type": "resource", "resource": {"uri": "file:///tides", "text": "low water"}},
        {"type": "resource", "resource": {"uri": "file:///all", "blob": "AAAA"}},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
    )
    assert text.splitlines() == [
        "high water",
        "[a picture (image/png) that is not shown]",
        "[a link, not opened: tides, http://evil.example/?d=1]",
        "file:///tides:",
        "low water",
        "[a file that is not read: file:///all]",
        "[audio that is not read]",
        "Picture port-look.png is kept and will be posted.",
    ]
    (picture,) = outcome.artifacts
    assert (picture.media_type, picture.size, picture.publish_as) == ("image/png", len(PNG), "file")
    text, outcome = await read(tmp_path, {"type": "text", "text": "x" * 50_000})
    assert text == f"{'x' * 11_000}\n[cut: the first 11,000 of 50,000 characters; ask for less]"
    assert outcome.gaps == ("port answered look with 50,000 characters, of which the first 11,000 were read",)


async def test_what_is_sent_twice_is_read_once(tmp_path: Path) -> None:
    said = {"type": "text", "text": '{"high": 12}'}
    assert (await read(tmp_path, said, structuredContent={"high": 12}))[0] == '{"high": 12}'
    assert (await read(tmp_path, said, structuredContent={"result": {"high": 12}}))[0] == '{"high": 12}'
    both = (await read(tmp_path, {"type": "text", "text": "Done."}, structuredContent={"high": 12}))[0]
    assert both == 'Done.\n{"high": 12}'
    assert (await read(tmp_path, structuredContent={"high": 12}))[0] == '{"high": 12}'
    assert (await read(tmp_path))[0] == "(an empty answer)"


# ---------------------------------------------------------------- over HTTP


NAMES = ["look", "lost", "flood", "restarted"]


async def port(request: web.Request) -> web.StreamResponse:
    """An MCP server over HTTP, and what is none, by the path."""
    kind = request.path.strip("/")
    if kind != "mcp" or request.method != "POST" or request.headers.get("Authorization") != "Bearer key":
        answers = {
            "packed": web.Response(body=b"x", headers={"Content-Encoding": "gzip", "Content-Type": "application/json"}),
            "away": web.Response(status=307, headers={"Location": "http://evil.example/"}),
            "page": web.Response(text="<html>", content_type="text/html"),
            "flood": web.Response(body=b" " * 5 * 1024 * 1024, content_type="application/json"),
        }
        return answers.get(kind) or web.Response(status=401 if kind == "mcp" else 404)
    message = await request.json()
    if message.get("method") == "tools/call" and message["params"]["name"] == "restarted":
        return web.Response(status=404)
    if message.get("method") == "tools/call" and message["params"]["name"] == "flood":
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await stream.write(b'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n' * 100)
        return stream
    about = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "a", "version": "1"},
    }
    if "id" not in message:
        return web.Response(status=202)
    results = {
        "initialize": about,
        "tools/list": {"tools": [make_tool_entry(name) for name in ("look", "lost", "flood", "restarted")]},
    }
    if message["method"] == "tools/call" and message["params"]["name"] == "look":
        results["tools/call"] = {"content": [{"type": "text", "text": "high"}]}
    found = results.get(message["method"])
    session = {"Mcp-Session-Id": "one"}
    fault = {"error": {"code": -32601, "message": "no such\u200b method"}}
    return web.json_response(
        {"jsonrpc": "2.0", "id": message["id"], **({"result": found} if found else fault)}, headers=session
    )


async def test_a_server_over_http_and_what_only_looks_like_one(tmp_path: Path) -> None:
    async with serving(port) as site:

        def connection(path: str, key: str = "key") -> ServerConnection:
            headers = {"Authorization": f"Bearer {key}"}
            return ServerConnection(ServerConfig("port", "http", url=site.url(path), headers=headers), tmp_path, "")

        good = connection("/mcp")
        assert [one.name for one in await good.list_tools()] == NAMES
        assert (await good.call_tool(make_locked_tool(make_tool_entry("look")), {})).content[0].text == "high"
        with pytest.raises(CallRefusedByServer, match="no such method"):
            await good.call_tool(make_locked_tool(make_tool_entry("lost")), {})
        with pytest.raises(ServerUnreachable, match="call it again"):
            await good.call_tool(make_locked_tool(make_tool_entry("restarted")), {})
        assert (await good.call_tool(make_locked_tool(make_tool_entry("look")), {})).content[0].text == "high", (
            "at once, on a new connection"
        )
        with pytest.raises(NoServerAnswer, match="2,000 messages"):
            await good.call_tool(make_locked_tool(make_tool_entry("flood")), {})
        with pytest.raises(ServerUnreachable, match="2,000 messages in 10 seconds; it is tried again in 1 s"):
            await good.call_tool(make_locked_tool(make_tool_entry("look")), {})
        await good.close()
        wrong = {
            ("/mcp", "other"): "wants somebody to sign in",
            ("/away", "key"): "evil.example/ not followed",
            ("/page", "key"): "Unexpected content type",
            ("/packed", "key"): "it compresses its answers",
            ("/flood", "key"): "more than 4 MB",
        }
        for (path, key), words in wrong.items():
            bad = connection(path, key)
            with pytest.raises(ServerUnreachable, match=words):
                await bad.list_tools()
            await bad.close()
    gone = connection("/mcp")
    with pytest.raises(ServerUnreachable, match="nobody answers there"):
        await gone.list_tools()
    await gone.close()
