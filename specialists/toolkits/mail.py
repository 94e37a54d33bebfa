"""Sends mail through SMTP (`LEADHAND_SMTP`), once, after somebody has approved what it says and whom it goes to."""

from __future__ import annotations

from pydantic import BaseModel, Field

from specialists.toolkits.tool import Tool, ToolOutcome, Workbench
from specialists.toolkits.toolkit import ToolSettings

NAME, FROM = "LEADHAND_SMTP", "LEADHAND_MAIL_FROM"
MOST = 10
"""Recipients of a mail, and its attachments."""


class SendMailArguments(BaseModel):
    """Arguments of send_mail."""

    to: tuple[str, ...] = Field(min_length=1, max_length=MOST)
    subject: str = Field(min_length=1, max_length=200)
    body: str = Field(min_length=1, max_length=6_000)
    attachments: tuple[str, ...] = Field(default=(), max_length=MOST)


def tools(settings: ToolSettings | None = None) -> tuple[Tool, ...]:
    """Make the tool."""
    del settings

    async def send_mail(arguments: SendMailArguments, workbench: Workbench, key: str) -> ToolOutcome:
        """Send an e-mail, once people have approved it. Plain text; attachments are names of files in the brief."""
        del arguments, workbench, key
        return ToolOutcome(f"No mail is set up here: whoever runs the bot sets {NAME} and {FROM}.", failed=True)

    async def look_up(arguments: SendMailArguments, workbench: Workbench, key: str) -> ToolOutcome | None:
        del arguments, workbench, key
        return None

    return (Tool("send_mail", "write", SendMailArguments, send_mail, key="marks", look_up=look_up),)
