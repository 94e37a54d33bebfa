"""Filters a server's list of tools entry by entry, so that a broken entry does not make the whole server unusable.

The SDK refuses a whole page if one entry violates the protocol. So each page is filtered before the SDK sees it.
Entries that the SDK would refuse are taken out, and recorded by name with the reason.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from handoff.text.invisible_characters import remove_invisible
from specialists.mcp.safe_schema import MAX_LEVELS, is_deeper_than

LONGEST_REASON = 200
_LONGEST_NAME = 60
_OPTIONAL_PAGE_KEYS = ("nextCursor", "_meta")
"""The optional keys of a page, dropped if their values are invalid."""
_MAX_ENTRY_LEVELS = MAX_LEVELS + 4
"""Most levels that an entry may be nested: those of its schema, and four for the entry around it."""


class ToolListFilter:
    """Filters the messages of one server.

    Attributes:
        protocol_version: The agreed version of the protocol; "" until then.
        broken_entries: The entries that were taken out: name (or place in the list) -> reason.
    """

    def __init__(self) -> None:
        self.protocol_version = ""
        self.broken_entries: dict[str, str] = {}
        self._entry_count = 0

    @asynccontextmanager
    async def filter_transport(
        self, transport: AbstractAsyncContextManager[tuple[Any, Any]]
    ) -> AsyncIterator[tuple[Any, Any]]:
        """Open a transport of the SDK whose incoming messages are filtered."""
        async with transport as (read_stream, write_stream):
            yield _FilteredStream(read_stream, self._filter_message), write_stream

    def _filter_message(self, item: Any) -> None:
        """Filter a message in place if it is a page of a list of tools; other messages stay as they are."""
        page = getattr(getattr(item, "message", None), "result", None)
        if self.protocol_version and isinstance(page, dict) and isinstance(page.get("tools"), list):
            self.filter_page(page)

    def filter_page(self, page: dict[str, Any]) -> dict[str, Any]:
        """Remove the invalid tools of a page, in place, and return it. A page that is invalid as a whole is left."""
        entries, page["tools"] = page["tools"], []
        for key in _OPTIONAL_PAGE_KEYS:
            if key in page and self._find_page_fault(page):
                del page[key]  # such as a cursor that is no text: the list then ends with this page
        if self._find_page_fault(page):  # it is no page of tools at all: the SDK reports that
            page["tools"] = entries
            return page
        for entry in entries:
            self._entry_count += 1
            if fault := self._find_entry_fault(page, entry):
                self.broken_entries[self._make_entry_name(entry)] = fault
            else:
                page["tools"].append(entry)
        return page

    def _find_entry_fault(self, page: dict[str, Any], entry: Any) -> str:
        if not isinstance(entry, dict):
            return "it is no description of a tool"
        if is_deeper_than(entry, _MAX_ENTRY_LEVELS):
            return f"its schema is nested more than {MAX_LEVELS} deep"
        return self._find_page_fault({**page, "tools": [entry]})

    def _find_page_fault(self, page: dict[str, Any]) -> str:
        """Return why the SDK would refuse a page, in a few words; "" if it would not."""
        import mcp_types  # noqa: PLC0415 - heavy, and loaded by now
        from mcp_types.methods import validate_server_result  # noqa: PLC0415 - the same
        from pydantic import ValidationError  # noqa: PLC0415 - beside the others

        try:
            validate_server_result("tools/list", self.protocol_version, page)
            mcp_types.ListToolsResult.model_validate(page, by_name=False)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(one) for one in first["loc"][2:])
            return remove_invisible(f"its {place or 'form'} is not as the protocol has it: {first['msg']}")[
                :LONGEST_REASON
            ]
        except (KeyError, ValueError, RecursionError) as error:
            return remove_invisible(f"it cannot be read ({type(error).__name__})")[:LONGEST_REASON]
        return ""

    def _make_entry_name(self, entry: Any) -> str:
        name = entry.get("name") if isinstance(entry, dict) else None
        place = f"number {self._entry_count} of its list"
        if not isinstance(name, str) or not name.strip():
            return f"({place}, without a name)"
        return f"{name} ({place})" if name in self.broken_entries else name[:_LONGEST_NAME]


class _FilteredStream:
    """Wraps a stream of the SDK, and passes each incoming item to `inspect_item` before returning it."""

    def __init__(self, stream: Any, inspect_item: Callable[[Any], None]) -> None:
        self._stream, self._inspect_item = stream, inspect_item

    @property
    def last_context(self) -> Any:
        """The context that the sender gave the last item; None if there is none."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        """Receive an item."""
        item = await self._stream.receive()
        self._inspect_item(item)
        return item

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        self._inspect_item(item)
        return item

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        is_handled: bool | None = await self._stream.__aexit__(kind, error, trace)
        return is_handled
