"""Lists all toolkits of Leadhand's own. One is added here and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from specialists.toolkits.toolkit import Toolkit

if TYPE_CHECKING:
    from specialists.toolkits.fetch import FetchSettings
    from specialists.toolkits.search import SearchSettings
    from specialists.toolkits.tool import Tool
    from specialists.toolkits.toolkit import ToolSettings


def all_toolkits(
    search: SearchSettings | None = None, fetch: FetchSettings | None = None, settings: ToolSettings | None = None
) -> tuple[Toolkit, ...]:
    """Make every toolkit of our own, in their order. The origin of each is empty, or the setting that brings it.

    A tool whose extra is not installed is there all the same, and says so when it is called. What a toolkit needs from
    outside (a repository, a database, a server) it looks at in `prove`, for `leadhand check`, and not here.

    Args:
        search: Which service searches the web, and its key; without, a keyless one.
        fetch: The limits of fetching a page.
        settings: What the others are set up with; without, none of those that need some.
    """
    # Imported here, so that what never runs a tool does not pay for defining them.
    from specialists.toolkits import calculate, charts, documents, tables  # noqa: PLC0415  # see above

    return (
        _of_the_web(search, fetch, settings),
        Toolkit("", tables.tools()),
        Toolkit("", calculate.tools()),
        Toolkit("", charts.tools()),
        Toolkit("", documents.tools()),
    )


def all_tools(
    search: SearchSettings | None = None, fetch: FetchSettings | None = None, settings: ToolSettings | None = None
) -> dict[str, Tool]:
    """Collect the tools of all of them by name."""
    return {tool.name: tool for toolkit in all_toolkits(search, fetch, settings) for tool in toolkit.tools}


def _of_the_web(search: SearchSettings | None, fetch: FetchSettings | None, settings: ToolSettings | None) -> Toolkit:
    """Make the tools of the web: over recorded pages, where the settings name a folder of them."""
    from specialists.toolkits import recorded_web, web  # noqa: PLC0415  # as above

    if settings is not None and (pages := settings.env.get("LEADHAND_RECORDED_PAGES", "")):
        return Toolkit(f"recorded pages in {pages}", recorded_web.tools(Path(pages).expanduser()))
    return Toolkit("", web.tools(search, fetch))
