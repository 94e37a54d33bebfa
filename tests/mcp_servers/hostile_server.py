"""An MCP server that obeys nobody: started as a program, `hostile_server.py TOOLS NOTES`.

TOOLS is a JSON file with its list of tools, read at each start. Each tool does what its name says. It speaks the
protocol of 2025-11-25 in lines of JSON, with nothing but the standard library, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

VERSION = "2025-11-25"


def send(message: dict[str, Any]) -> None:
    """Send a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words: str, **more: Any) -> dict[str, Any]:
    """A result of one text."""
    return {"content": [{"type": "text", "text": words}], **more}


def read_message() -> dict[str, Any]:
    """Wait for the next message; the end of our input is our end."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    return message


def flood() -> None:
    """Send notifications without end."""
    while True:
        send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 1000}})


def one_line() -> None:
    """Send one line of 100 MB."""
    for _ in range(100):
        sys.stdout.write("x" * 1024 * 1024)
    sys.stdout.write("\n")
    sys.stdout.flush()


def asks_back() -> dict[str, Any]:
    """Ask for words of a person and for a model's, and say what came of it."""
    params = {"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}}
    send({"id": 9001, "method": "elicitation/create", "params": params})
    send({"id": 9002, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}})
    answers = [read_message(), read_message()]
    return text(" and ".join("refused" if "error" in one else f"got {one.get('result')}" for one in answers))


def die(arguments: dict[str, Any]) -> None:
    """Write something down, and die before the answer."""
    write_note(arguments)
    os._exit(3)


def junk(arguments: dict[str, Any]) -> dict[str, Any]:
    """Say what is no message before the answer."""
    sys.stdout.write("hello, I am a server\n")
    return text(str(arguments.get("say", "")))


DOES: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
    "flood": lambda _: flood(),
    "one_line": lambda _: one_line(),
    "die_after": die,
    "hang": lambda _: None,
    "other_id": lambda _: send({"id": 77_000, "result": text("for somebody else")}),
    "asks_back": lambda _: asks_back(),
    "junk": junk,
    "environment": lambda _: text(json.dumps(dict(os.environ))),
    "note": lambda arguments: text(f"noted {write_note(arguments)}"),
    "tides": lambda _: text(Path(sys.argv[2]).read_text(encoding="utf-8")),
    "fails": lambda _: text("no such tide", isError=True),
    "pattern": lambda _: text("it is so", structuredContent={"a": "a" * 41 + "!"}),
    "wrong": lambda _: {"content": [{"type": "nonsense"}], "isError": "perhaps"},
}
"""What a tool does, by its name; any other says something of the tides. Without a result nothing is answered."""


def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Do what a tool's name says."""
    does = DOES.get(name)
    return does(arguments) if does is not None else text(str(arguments.get("say", "High water at noon.")))


def write_note(arguments: dict[str, Any]) -> str:
    """Keep a note where the test reads it."""
    with Path(sys.argv[2]).open("a", encoding="utf-8") as notes:
        notes.write(f"{arguments.get('text', '')}\n")
    return str(arguments.get("text", ""))


def main() -> None:
    """Answer until the input ends."""
    if sys.argv[1] == "sleep":
        time.sleep(60)
    tools = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    while True:
        message = read_message()
        if "id" not in message or "method" not in message:
            continue
        number, method = message["id"], message["method"]
        if method == "initialize":
            about = {"name": "hostile", "version": "1"}
            send(
                {
                    "id": number,
                    "result": {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": about},
                }
            )
        elif method == "tools/list":
            send({"id": number, **list_tools(tools, (message.get("params") or {}).get("cursor"))})
        elif method == "tools/call":
            params = message["params"]
            result = call_tool(params["name"], params.get("arguments") or {})
            if result is not None:
                send({"id": number, "result": result})
        else:
            send({"id": number, "error": {"code": -32601, "message": f"no method {method}"}})


def list_tools(tools: Any, cursor: str | None) -> dict[str, Any]:
    """Answer with all tools at once; or with the last entry as the second page, whatever that is."""
    if isinstance(tools, list):
        return {"result": {"tools": tools}}
    *first, last = tools["tools"]
    if tools["pages"] == 1:
        return {"result": {"tools": [*first, last]}}
    if cursor is None:
        return {"result": {"tools": first, "nextCursor": "2"}}
    page = last["page"]
    return {"error": {"code": -32603, "message": page["error"]}} if "error" in page else {"result": page}


if __name__ == "__main__":
    main()
