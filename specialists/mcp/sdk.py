"""Loads the MCP SDK in a thread, since importing it takes seconds and would block the event loop."""

from __future__ import annotations

from specialists.tools.blocking import import_in_thread

_MODULES = (
    *("mcp", "mcp.client.streamable_http", "mcp.client.auth.utils", "mcp_types.methods"),
    *("httpx2", "httpcore2", "h11", "anyio.streams.memory", "anyio._backends._asyncio"),
    *("jsonschema", "referencing.exceptions"),
)


async def load_sdk() -> None:
    """Import all modules that are needed to talk to an MCP server; those imported already cost nothing."""
    await import_in_thread(*_MODULES)
