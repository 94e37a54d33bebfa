"""Loads the SDK of MCP, which takes seconds: in a thread, before anything of it is imported on the loop."""

from __future__ import annotations

from specialists.tools.blocking import load

_MODULES = (
    *("mcp", "mcp.client.streamable_http", "mcp.client.auth.utils", "mcp_types.methods"),
    *("httpx2", "httpcore2", "h11", "anyio.streams.memory", "anyio._backends._asyncio"),
    *("jsonschema", "referencing.exceptions"),
)


async def load_sdk() -> None:
    """Load all modules that talking to a server takes, unless they are loaded."""
    await load(*_MODULES)
