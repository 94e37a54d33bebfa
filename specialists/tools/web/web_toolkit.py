"""Makes the web toolkit: over recorded pages, or over the web with the search service whose key is set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from specialists.tools.toolkit import Toolkit, ToolSettings
from specialists.tools.web import recorded_web, web_tools

if TYPE_CHECKING:
    from specialists.tools.web.search import SearchSettings


def make_web_toolkit(settings: ToolSettings) -> Toolkit:
    """Make the web toolkit, over recorded pages if `LEADHAND_RECORDED_PAGES` names a folder."""
    if pages := settings.env.get(recorded_web.RECORDED_PAGES_SETTING, ""):
        return Toolkit(f"recorded pages in {pages}", recorded_web.tools(Path(pages).expanduser()))
    return Toolkit("", web_tools.tools(_choose_search_settings(settings)))


def _choose_search_settings(settings: ToolSettings) -> SearchSettings | None:
    """Return the settings of the search service whose key is set; None for the service without a key."""
    brave, tavily = settings.env.get("BRAVE_API_KEY", ""), settings.env.get("TAVILY_API_KEY", "")
    if not (brave or tavily):
        return None
    from specialists.tools.web.search import SearchSettings  # noqa: PLC0415 - only where a key is set

    return SearchSettings(provider="brave" if brave else "tavily", api_key=brave or tavily)
