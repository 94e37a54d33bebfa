"""Lists all tools there are. A toolkit is added here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specialists.toolkits.fetch import FetchSettings
    from specialists.toolkits.search import SearchSettings
    from specialists.toolkits.tool import Tool
    from specialists.toolkits.toolkit import ToolSettings


def all_tools(
    search: SearchSettings | None = None, fetch: FetchSettings | None = None, settings: ToolSettings | None = None
) -> dict[str, Tool]:
    """Collect the tools of every toolkit by name, in the order of the toolkits.

    A tool whose extra is not installed is there all the same, and says so when it is called.

    Args:
        search: Which service searches the web, and its key; without, a keyless one.
        fetch: The limits of fetching a page.
        settings: What the others are set up with; without, none of those that need some.
    """
    # Imported here, so that what never runs a tool does not pay for defining them.
    from specialists.toolkits import calculate, charts, documents, tables, web  # noqa: PLC0415  # see above
    from specialists.toolkits.code.code_tools import code_toolkit  # noqa: PLC0415  # see above
    from specialists.toolkits.toolkit import ToolSettings  # noqa: PLC0415  # see below

    toolkits = (web.tools(search, fetch), tables.tools(), calculate.tools(), charts.tools(), documents.tools())
    toolkits = (*toolkits, code_toolkit(settings or ToolSettings()).tools)
    return {tool.name: tool for toolkit in toolkits for tool in toolkit}
