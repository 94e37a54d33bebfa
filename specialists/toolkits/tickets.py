"""Opens a ticket where the operator says (`LEADHAND_TICKETS`), once, after somebody has approved what it says."""

from __future__ import annotations

from pydantic import BaseModel, Field

from specialists.toolkits.tool import Tool, ToolOutcome, Workbench
from specialists.toolkits.toolkit import ToolSettings

NAME = "LEADHAND_TICKETS"


class OpenTicketArguments(BaseModel):
    """Arguments of open_ticket."""

    title: str = Field(min_length=1, max_length=200)
    body: str = Field(min_length=1, max_length=6_000)


def tools(settings: ToolSettings | None = None) -> tuple[Tool, ...]:
    """Make the tool."""
    del settings

    async def open_ticket(arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Open a ticket for people to act on, once somebody has approved it.

        The body is Markdown: what happens, since when, whom it hits, what was found and tried, what is asked for.
        """
        del arguments, workbench, key
        return ToolOutcome(f"No tickets are set up here: whoever runs the bot sets {NAME}.", failed=True)

    async def look_up(arguments: OpenTicketArguments, workbench: Workbench, key: str) -> ToolOutcome | None:
        del arguments, workbench, key
        return None

    return (Tool("open_ticket", "write", OpenTicketArguments, open_ticket, key="marks", look_up=look_up),)
