"""Lists all toolkits of Leadhand's own. One is added here and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from specialists.tools.toolkit import Toolkit, ToolSettings

if TYPE_CHECKING:
    from specialists.tools.tool import Tool
    from specialists.tools.web.fetch import FetchSettings
    from specialists.tools.web.search import SearchSettings


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
    env = settings.env if settings else {}
    # Imported here, so that what never runs a tool does not pay for defining them.
    from specialists.tools.charts import charts  # noqa: PLC0415  # see above
    from specialists.tools.code.code_tools import code_toolkit  # noqa: PLC0415  # the same
    from specialists.tools.databases import database_tools  # noqa: PLC0415  # the same
    from specialists.tools.documents import documents  # noqa: PLC0415  # see above
    from specialists.tools.knowledge import knowledge_toolkit  # noqa: PLC0415  # the same
    from specialists.tools.mail import mail  # noqa: PLC0415  # see above
    from specialists.tools.messages import messages  # noqa: PLC0415  # see above
    from specialists.tools.tables import calculate, tables  # noqa: PLC0415  # see above
    from specialists.tools.tickets import tickets  # noqa: PLC0415  # see above
    from specialists.tools.web import recorded_web, web  # noqa: PLC0415  # see above

    pages = env.get(recorded_web.SETTING, "")
    recorded = Toolkit(f"recorded pages in {pages}", recorded_web.tools(Path(pages).expanduser())) if pages else None
    return (
        recorded or Toolkit("", web.tools(search, fetch)),
        Toolkit("", tables.tools()),
        Toolkit("", calculate.tools()),
        Toolkit("", charts.tools()),
        Toolkit("", documents.tools()),
        knowledge_toolkit.make_knowledge_toolkit(settings),
        database_tools.make_database_toolkit(settings),
        code_toolkit(settings or ToolSettings()),
        Toolkit("", messages.tools()),
        tickets.toolkit(settings),
        mail.toolkit(settings),
    )


def all_tools(
    search: SearchSettings | None = None, fetch: FetchSettings | None = None, settings: ToolSettings | None = None
) -> dict[str, Tool]:
    """Collect the tools of all of them by name."""
    return {tool.name: tool for toolkit in all_toolkits(search, fetch, settings) for tool in toolkit.tools}
