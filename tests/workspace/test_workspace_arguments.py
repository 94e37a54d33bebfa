"""Whatever an app sends, the Web API answers as Slack does: with JSON, and a refusal for what is wrong."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from bot.workspace.web_api.method_table import METHODS
from bot.workspace.workspace_server import Workspace
from tests.workspace.conftest import Change, Start

WRONG_VALUES: tuple[Any, ...] = (None, True, -1, 10**400, "x", "²", [], [None], {"type": []})
LAST_METHODS = ("chat.stopStream", "chat.delete", "files.delete", "canvases.delete")
"""The methods that end or delete what the others work on."""
SCOPES = ("lists:read", "lists:write", "users:read.email", "usergroups:read", "team:read", "channels:manage")
PLAIN = {"type": "plain_text", "text": "Go"}
BUTTON = {"type": "button", "action_id": "go", "text": PLAIN}
MENU = {"type": "static_select", "action_id": "menu", "options": [{"text": PLAIN, "value": "1"}]}
RICH_TEXT = {
    "type": "rich_text",
    "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "Go", "style": {"bold": True}}]}],
}
BLOCKS = [
    {"type": "section", "block_id": "one", "text": PLAIN, "accessory": MENU},
    {"type": "actions", "elements": [BUTTON]},
    {"type": "container", "title": PLAIN, "child_blocks": [{"type": "markdown", "text": "Go"}]},
    {"type": "table", "rows": [[{"type": "raw_number", "value": 1, "text": "1"}]]},
    RICH_TEXT,
]
INPUT = {"type": "input", "label": PLAIN, "element": {"type": "plain_text_input", "action_id": "words"}}
TASK = {"type": "task_update", "id": "1", "title": "Read", "status": "pending", "details": "All of it"}
MARKDOWN = {"type": "markdown", "markdown": "# Report"}
JSON_VALUES: dict[str, Any] = {
    "attachments": [{"text": "Go", "blocks": [BLOCKS[0]]}],
    "blocks": BLOCKS,
    "changes": [{"operation": "replace", "document_content": MARKDOWN}],
    "chunks": [TASK, {"type": "markdown_text", "text": "Go"}, {"type": "blocks", "blocks": [BLOCKS[0]]}],
    "document_content": MARKDOWN,
    "files": [{"id": "F0NONE", "title": "Report"}],
    "loading_messages": ["Reading"],
    "metadata": {"event_type": "job", "event_payload": {"id": "1"}},
    "outputs": {"count": 1},
    "prompts": [{"title": "Hello", "message": "Say hello"}],
    "schema": [{"key": "name", "name": "Name", "type": "text", "is_primary_column": True}],
    "view": {"type": "modal", "title": PLAIN, "submit": PLAIN, "blocks": [BLOCKS[0], INPUT]},
}


def replace_each_part(value: Any) -> Iterator[Any]:
    """Yield a JSON value with each of its parts, and the whole, replaced by each wrong value in turn."""
    yield from WRONG_VALUES
    if not isinstance(value, dict | list):
        return
    for key in value if isinstance(value, dict) else range(len(value)):
        changed = copy.copy(value)
        for part in replace_each_part(value[key]):
            changed[key] = part
            yield changed


@pytest.fixture
async def workspace(start: Start, manifest_with: Change) -> Workspace:
    """A workspace whose app may call every method."""
    manifest = manifest_with(lambda raw: raw["oauth_config"]["scopes"]["bot"].extend(SCOPES))
    return await start(manifest=manifest, rate_limits=False)


class Caller:
    """Calls methods by HTTP, as an app does that uses no SDK."""

    def __init__(self, workspace: Workspace, session: aiohttp.ClientSession) -> None:
        self._workspace, self._session = workspace, session

    async def call(self, method: str, body: bytes | str, content_type: str = "application/json") -> Any:
        """Return the answer, which must be JSON with the status 200."""
        is_app = METHODS[method].auth_kind == "app"
        token = self._workspace.app_token if is_app else self._workspace.bot_token
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
        async with self._session.post(f"{self._workspace.api_url}{method}", data=body, headers=headers) as response:
            text = await response.text()
            assert response.status == 200, (method, response.status, body)
            return json.loads(text)


@pytest.fixture
def caller(workspace: Workspace, session: aiohttp.ClientSession) -> Caller:
    return Caller(workspace, session)


@pytest.fixture
async def values(workspace: Workspace, caller: Caller) -> dict[str, Any]:
    """A right value for each argument that needs one."""
    ana, general = workspace.person("ana"), workspace.channel_id("#general")

    async def call(method: str, **args: Any) -> Any:
        answer = await caller.call(method, json.dumps(args))
        assert answer["ok"], answer
        return answer

    root = await ana.say("#general", "Hello")
    recipient = {"recipient_team_id": workspace.team_id, "recipient_user_id": ana.id}
    made = await call("slackLists.create", name="To do")
    column = made["list_metadata"]["schema"][0]["id"]
    return JSON_VALUES | {
        **dict.fromkeys(("channel", "channel_id"), general),
        **dict.fromkeys(("user", "user_id"), ana.id),
        **recipient,
        "thread_ts": root,
        "timestamp": root,
        "message_ts": root,
        "post": (await call("chat.postMessage", channel=general, text="Hello"))["ts"],
        "stream": (await call("chat.startStream", channel=general, thread_ts=root, **recipient))["ts"],
        "canvas_id": (await call("canvases.create"))["canvas_id"],
        "list_id": made["list_id"],
        "initial_fields": [{"column_id": column, "rich_text": [RICH_TEXT]}],
        "access_level": "read",
        "channel_ids": [general],
        "function_execution_id": "Fx0NONE",
        "status": "processing",
        "text": "Hello",
    }


async def test_a_wrong_value_in_any_argument_is_answered(caller: Caller, values: dict[str, Any]) -> None:
    for name in sorted(METHODS, key=lambda each: each in LAST_METHODS):
        method = METHODS[name]
        values["ts"] = values["stream" if name in ("chat.appendStream", "chat.stopStream") else "post"]
        args = {each: values[each] for each in method.arguments if each in values} | {
            each: "x" for each in method.required_arguments if each not in values
        }
        for argument in method.arguments:
            for value in replace_each_part(args.get(argument)):
                await caller.call(name, json.dumps({**args, argument: value}))


@pytest.mark.parametrize(
    ("body", "content_type", "error"),
    [
        (b"\xff", "application/json", "invalid_json"),
        (b"[" * 100_000, "application/json", "invalid_json"),
        (b'{"text": NaN}', "application/json", "invalid_json"),
        (b'{"limit": 1e400}', "application/json", "invalid_json"),
        (rb'{"text": "\ud800"}', "application/json", "invalid_json"),
        (b"{}", "application/json; charset=none", "invalid_json"),
        (rb'blocks=["\ud800"]', "application/x-www-form-urlencoded", "invalid_blocks_format"),
        (b"text=x", "application/x-www-form-urlencoded; charset=none", "invalid_form_data"),
        (b"text=\xff", "application/x-www-form-urlencoded", "invalid_form_data"),
        (b"text=x", "multipart/form-data", "invalid_form_data"),
        (b"text=x", "text/plain", "invalid_post_type"),
    ],
)
async def test_a_body_that_cannot_be_read_is_refused(
    caller: Caller, body: bytes, content_type: str, error: str
) -> None:
    assert (await caller.call("chat.postMessage", body, content_type))["error"] == error
