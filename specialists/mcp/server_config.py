"""Reads `.mcp.json`: the MCP servers of a crew, how each is reached, and the operator's settings for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from specialists.outbound.network import is_loopback
from specialists.service_url import find_web_url_fault, parse_service_url

FILE_NAME = ".mcp.json"
TOOL_NAME_PREFIX = "mcp__"
"""The prefix of the names of all servers' tools."""
MAX_SERVERS = 20
MAX_BYTES = 256 * 1024
"""Most bytes of the file."""
LEADHAND_KEY = "leadhand"
"""The key with Leadhand's settings of a server; other programs that read the file ignore it."""

_SERVER_NAME = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
_LONGEST_NAME = 24
_VARIABLE_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_KEYS_BY_KIND = {
    "stdio": ("type", "command", "args", "env", LEADHAND_KEY),
    "http": ("type", "url", "headers", LEADHAND_KEY),
}
_LEADHAND_KEYS = ("readOnly", "local")
_SIGN_IN_KEYS = ("auth", "clientId", "clientSecret")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A server of `.mcp.json`, with its variables filled in.

    Attributes:
        name: The server's name in the file.
        kind: `stdio`: a program that we start; `http`: a server at `url`, reached by streamable HTTP.
        command: The program of a `stdio` server, with `args`.
        env: Its environment variables, besides PATH, LANG, HOME and those of the network.
        url: The address of an `http` server, with the `headers` of each request.
        read_only_tools: The tools that only read, as the operator says. All others count as writing.
        is_local: True if the operator says that it sends no data to anybody else.
        uses_oauth: True if people sign in to this `http` server.
        client_credentials: Our client id at the authorization server and its secret; both "" unless the operator
            registered us there.
        folder: The folder of the file, in which a program is started.
        line: Its line in the file.
    """

    name: str
    kind: Literal["stdio", "http"]
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    read_only_tools: frozenset[str] = frozenset()
    is_local: bool = False
    uses_oauth: bool = False
    client_credentials: tuple[str, str] = field(default=("", ""), repr=False)
    folder: Path | None = None
    line: int = 1

    @property
    def recipient(self) -> str:
        """The recipient of a call's data, as people know it: a host, or the server's name."""
        return urlsplit(self.url).hostname or self.name if self.kind == "http" else f"MCP server {self.name}"


@dataclass(frozen=True, slots=True)
class ServerList:
    """The usable servers of a file, and its faults: pairs of (line, what is wrong and what to do)."""

    servers: tuple[ServerConfig, ...] = ()
    faults: tuple[tuple[int, str], ...] = ()


class _ServerFault(Exception):
    """A server, or the whole file, has a fault. The text says what is wrong and what to do."""


def read_servers(path: Path, env: Mapping[str, str]) -> ServerList:
    """Read `.mcp.json`. A missing file gives an empty list; a server with a fault is left out.

    Args:
        path: The file.
        env: The environment in which the file's variables are looked up.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ServerList()
    except OSError as error:
        return ServerList(faults=((1, f"the file cannot be read: {error.strerror}; check its permissions"),))
    if len(data) > MAX_BYTES:
        return ServerList(faults=((1, f"the file has more than {MAX_BYTES // 1024} KB; shorten it"),))
    try:
        text = data.decode("utf-8-sig")
        servers = _read_server_table(json.loads(text))
    except json.JSONDecodeError as error:
        return ServerList(faults=((error.lineno, f"it is not valid JSON: {error.msg}; fix it"),))
    except (UnicodeDecodeError, RecursionError):
        return ServerList(faults=((1, "it is not JSON in UTF-8; save it so"),))
    except _ServerFault as wrong:
        return ServerList(faults=((1, str(wrong)),))
    usable_servers, faults = [], []
    for name, entry in servers.items():
        line = _find_line(text, name)
        try:
            usable_servers.append(replace(_read_server(name, entry, env), folder=path.parent, line=line))
        except _ServerFault as wrong:
            faults.append((line, f"the server {name[:40]!r}: {wrong}"))
    return ServerList(tuple(usable_servers), tuple(faults))


def _read_server_table(document: Any) -> dict[str, Any]:
    servers = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise _ServerFault('there is no "mcpServers"; write {"mcpServers": {"NAME": {"command": "...", "args": []}}}')
    if len(servers) > MAX_SERVERS:
        raise _ServerFault(f"there are {len(servers)} servers, and at most {MAX_SERVERS} are allowed; take some out")
    return servers


def _find_line(text: str, name: str) -> int:
    """Find the line of a server by its name, as parsed JSON has no line numbers; 1 if it is not found."""
    at = text.find(json.dumps(name), max(text.find("mcpServers"), 0))
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


def _read_server(name: str, entry: Any, env: Mapping[str, str]) -> ServerConfig:
    if not _SERVER_NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise _ServerFault(
            f"its name must be letters and digits with single - or _, at most {_LONGEST_NAME}; rename it"
        )
    if not isinstance(entry, dict):
        raise _ServerFault('it must be an object such as {"command": "...", "args": []}')
    kind = _read_kind(entry)
    for key in entry:
        if key not in _KEYS_BY_KIND[kind]:
            raise _ServerFault(f"unknown key {str(key)[:40]!r}; the keys are {', '.join(_KEYS_BY_KIND[kind])}")
    read_only, is_local = _read_leadhand_keys(entry.get(LEADHAND_KEY, {}))
    if kind == "http":
        url = _fill_variables(_read_text(entry, "url"), env)
        if find_web_url_fault(url) or (parts := parse_service_url(url, ("http", "https"))).user or parts.password:
            raise _ServerFault(
                "url must be an http or https address, without a name and password; those go into headers"
            )
        headers = _read_texts(entry, "headers", env)
        uses_oauth, client = _read_sign_in(entry.get(LEADHAND_KEY, {}), url, headers, env)
        http_config = ServerConfig(
            name, "http", url=url, headers=headers, uses_oauth=uses_oauth, client_credentials=client
        )
        return replace(http_config, read_only_tools=read_only, is_local=is_local)
    if any(key in entry.get(LEADHAND_KEY, {}) for key in _SIGN_IN_KEYS):
        raise _ServerFault("auth is for a server at a url; a program gets its token under env")
    command, args = _fill_variables(_read_text(entry, "command"), env), entry.get("args", [])
    if not isinstance(args, list) or not all(isinstance(one, str) for one in args):
        raise _ServerFault("args must be a list of texts")
    filled_args = tuple(_fill_variables(one, env) for one in args)
    if any("\0" in one for one in (command, *filled_args)):
        raise _ServerFault("there is a NUL character in its command; take it out")
    return ServerConfig(
        name,
        "stdio",
        command,
        filled_args,
        _read_texts(entry, "env", env),
        read_only_tools=read_only,
        is_local=is_local,
    )


def _read_kind(entry: dict[str, Any]) -> Literal["stdio", "http"]:
    kind = entry.get("type", "http" if "url" in entry else "stdio")
    if kind == "sse":
        raise _ServerFault(
            'the type "sse" is the old way, which is not supported; ask for its "http" (streamable HTTP) address'
        )
    if kind == "streamable-http":
        return "http"
    if kind not in ("stdio", "http"):
        raise _ServerFault(f'the type {str(kind)[:20]!r} is not known; it is "stdio" or "http"')
    return "http" if kind == "http" else "stdio"


def _read_leadhand_keys(entry: Any) -> tuple[frozenset[str], bool]:
    if not isinstance(entry, dict) or any(key not in _LEADHAND_KEYS + _SIGN_IN_KEYS for key in entry):
        keys = ", ".join(_LEADHAND_KEYS + _SIGN_IN_KEYS)
        raise _ServerFault(f'"{LEADHAND_KEY}" takes {keys}: {{"readOnly": ["TOOL"], "local": true}}')
    tools, local = entry.get("readOnly", []), entry.get("local", False)
    if not isinstance(tools, list) or not all(isinstance(one, str) for one in tools):
        raise _ServerFault('readOnly must be a list of the names of tools: ["git_log"]')
    if not isinstance(local, bool):
        raise _ServerFault("local must be true or false")
    return frozenset(tools), local


def _read_sign_in(
    entry: dict[str, Any], url: str, headers: Mapping[str, str], env: Mapping[str, str]
) -> tuple[bool, tuple[str, str]]:
    """Return (True if people sign in, (client id, secret))."""
    auth = entry.get("auth")
    client = (
        _fill_variables(_read_text(entry, key), env) if key in entry else "" for key in ("clientId", "clientSecret")
    )
    credentials = (next(client), next(client))
    if auth is None:
        if any(credentials):
            raise _ServerFault('clientId and clientSecret are for signing in; write "auth": "oauth" beside them')
        return False, ("", "")
    if auth != "oauth":
        raise _ServerFault('auth must be "oauth"; a token that you have goes into headers')
    if any(name.lower() == "authorization" for name in headers):
        raise _ServerFault("it has a header Authorization, and people are to sign in; take one of the two out")
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise _ServerFault("people sign in over https only; give it an https url")
    return True, credentials


def _read_text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _ServerFault(f"{key} is missing; it must be a text")
    return value


def _read_texts(entry: dict[str, Any], key: str, env: Mapping[str, str]) -> dict[str, str]:
    value = entry.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise _ServerFault(f"{key} must be an object of texts")
    filled_texts = {name: _fill_variables(one, env) for name, one in value.items()}
    if any(not name or set(f"{name}{one}") & {"\0", "\n", "\r"} for name, one in filled_texts.items()):
        raise _ServerFault(f"{key} holds an empty name, a line break or a NUL character; take it out")
    return filled_texts


def _fill_variables(text: str, env: Mapping[str, str]) -> str:
    """Return a text with its variables filled in, from the file in `NAME_FILE` if `NAME` is not set.

    A variable that is not set and has no default is a fault, so that its name is not sent out.
    """

    def find_value(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        if env.get(name):
            return env[name]
        if env.get(f"{name}_FILE"):
            return _read_secret_file(f"{name}_FILE", Path(env[f"{name}_FILE"]).expanduser())
        if default is None:
            raise _ServerFault(f"the variable {name} is not set; set it, or write ${{{name}:-a default}}")
        return default

    return _VARIABLE_REFERENCE.sub(find_value, text)


def _read_secret_file(name: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise _ServerFault(f"{name}: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _ServerFault(f"{name}: {path} is no text in UTF-8") from None
