"""Reads a server's list of tools entry by entry, so that a broken one costs itself and not the whole server.

The SDK refuses a page whole if one entry is not as the protocol has it. So the pages are sifted before it sees them:
what it would refuse is taken out, and kept under its name with the reason.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from handoff.text.visible_text import visible
from specialists.mcp.safe_schema import DEEPEST, is_deeper_than

LONGEST_REASON = 200
_SHOWN = 60
_OPTIONAL_PAGE_KEYS = ("nextCursor", "_meta")
"""What a page can do without."""
_ENTRIES_DEEP = DEEPEST + 4
"""How deep an entry may be nested: its schema, and what that stands in."""


class ToolSieve:
    """Sifts what comes from one server.

    Attributes:
        protocol: The version of the protocol that was agreed on, once it is.
        broken: The entries that were taken out: the name of each, or its place in the list, and why.
    """

    def __init__(self) -> None:
        self.protocol = ""
        self.broken: dict[str, str] = {}
        self._seen = 0

    @asynccontextmanager
    async def sift_transport(
        self, transport: AbstractAsyncContextManager[tuple[Any, Any]]
    ) -> AsyncIterator[tuple[Any, Any]]:
        """Open a transport of the SDK whose messages are sifted."""
        async with transport as (reading, writing):
            yield _SiftedStream(reading, self._look), writing

    def _look(self, item: Any) -> None:
        """Sift a message that is a page of a list of tools."""
        page = getattr(getattr(item, "message", None), "result", None)
        if self.protocol and isinstance(page, dict) and isinstance(page.get("tools"), list):
            self.sift(page)

    def sift(self, page: dict[str, Any]) -> dict[str, Any]:
        """Return a page without the entries that are no tools."""
        entries, page["tools"] = page["tools"], []
        for key in _OPTIONAL_PAGE_KEYS:
            if key in page and self._page_fault(page):
                del page[key]  # such as a cursor that is no text: the list ends there
        if self._page_fault(page):  # it is no page of tools at all, which the SDK says
            page["tools"] = entries
            return page
        for entry in entries:
            self._seen += 1
            if fault := self._entry_fault(page, entry):
                self.broken[self._name_of(entry)] = fault
            else:
                page["tools"].append(entry)
        return page

    def _entry_fault(self, page: dict[str, Any], entry: Any) -> str:
        if not isinstance(entry, dict):
            return "it is no description of a tool"
        if is_deeper_than(entry, _ENTRIES_DEEP):
            return f"its schema is nested more than {DEEPEST} deep"
        return self._page_fault({**page, "tools": [entry]})

    def _page_fault(self, page: dict[str, Any]) -> str:
        """Return why the SDK would refuse a page, in a few words; "" if it would not."""
        import mcp_types  # noqa: PLC0415 - heavy, and loaded by now
        from mcp_types.methods import validate_server_result  # noqa: PLC0415 - the same
        from pydantic import ValidationError  # noqa: PLC0415 - beside the others

        try:
            validate_server_result("tools/list", self.protocol, page)
            mcp_types.ListToolsResult.model_validate(page, by_name=False)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(one) for one in first["loc"][2:])
            return visible(f"its {place or 'form'} is not as the protocol has it: {first['msg']}")[:LONGEST_REASON]
        except (KeyError, ValueError, RecursionError) as error:
            return visible(f"it cannot be read ({type(error).__name__})")[:LONGEST_REASON]
        return ""

    def _name_of(self, entry: Any) -> str:
        name = entry.get("name") if isinstance(entry, dict) else None
        place = f"number {self._seen} of its list"
        if not isinstance(name, str) or not name.strip():
            return f"({place}, without a name)"
        return f"{name} ({place})" if name in self.broken else name[:_SHOWN]


class _SiftedStream:
    """A stream of the SDK's kind whose items are looked at as they come."""

    def __init__(self, stream: Any, look: Callable[[Any], None]) -> None:
        self._stream, self._look = stream, look

    @property
    def last_context(self) -> Any:
        """The context that its sender gave the last item."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        """Receive an item."""
        item = await self._stream.receive()
        self._look(item)
        return item

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        self._look(item)
        return item

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        done: bool | None = await self._stream.__aexit__(kind, error, trace)
        return done
