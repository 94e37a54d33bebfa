"""The app's home, its help, and the window that starts a job from a message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bot.slack.text.cleaning import plain
from bot.slack.views.outgoing import Block, Outgoing, context, header, section

if TYPE_CHECKING:
    from bot.slack.views.status import JobLine

START_JOB = "start_job"
"""The callback_id of the message shortcut and of the window it opens."""
REQUEST_BLOCK = "request"
REQUEST_ACTION = "text"
REQUEST_LIMIT = 2900

PROMPTS: tuple[tuple[str, str], ...] = (
    ("What can you do?", "What can you do?"),
    ("How do I ask?", "help"),
    ("What are my jobs at?", "status"),
)
"""Title and text of the prompts that Slack suggests in a new conversation. It sends one as it is when it is clicked."""


def help_text(usages: Sequence[str], words: Iterable[str], crews: Mapping[str, str] = MappingProxyType({})) -> str:
    """Say in mrkdwn how to use the bot: its commands by their `usages`, and the `words` it knows in a thread.

    `crews`, where there are several, each with what it says of itself; the first is the usual one.
    """
    known = ", ".join(f"`{word}`" for word in words)
    return (
        "*Ask:* mention me in a channel, or write to me directly. Say what you need, attach files if it is about them. "
        "I plan the work, give each part to a specialist, and post one answer in the thread.\n"
        "*In the thread:* answer my questions with a button or a reply. Mention me again to ask for more. "
        f"Press *Stop* to stop. A mention with one of these words alone is a command: {known}.\n"
        f"{_crews(crews)}"
        "*Commands:*\n" + "\n".join(f"• {usage}" for usage in usages)
    )


def _crews(crews: Mapping[str, str]) -> str:
    """Say which crews there are, and how to choose one; nothing where there is no choice."""
    if not crews:
        return ""
    usual, *others = crews
    told = [f"• `{name}:` {plain(about, 200)}".rstrip() for name, about in crews.items()]
    how = f"begin with the name of one, such as “{others[0]}: ...”; else it is `{usual}`, or the one of the channel."
    return f"*Crews:* {how}\n" + "\n".join(told) + "\n"


def help_message(
    usages: Sequence[str], words: Iterable[str], crews: Mapping[str, str] = MappingProxyType({})
) -> Outgoing:
    """Make a message of the help."""
    return Outgoing(text="How to use Leadhand", blocks=(section(help_text(usages, words, crews)),))


def suggested_prompts() -> list[dict[str, str]]:
    """Give the prompts in the form that Slack's API takes."""
    return [{"title": title, "message": message} for title, message in PROMPTS]


def app_home(lines: Sequence[JobLine], reader: str, how: str) -> Block:
    """Make the home tab of `reader`: `how` the bot works (see `help_text`), and their jobs."""
    from bot.slack.views.status import job_line  # noqa: PLC0415 - only for those who open it

    blocks = [header("Leadhand"), section(how), {"type": "divider"}, header("Your jobs")]
    blocks += [section(job_line(line, reader)) for line in lines[:20]] or [context("None yet.")]
    return {"type": "home", "blocks": blocks}


def closed_home(why: str) -> Block:
    """Make the home tab of somebody who may not use the bot; `why` is one line of ours."""
    return {"type": "home", "blocks": [header("Leadhand"), section(why)]}


def start_job_modal(text: str, metadata: str) -> Block:
    """Make the window of "Start a job from this". `text` is put into its field, `metadata` comes back with it."""
    field: dict[str, Any] = {
        "type": "plain_text_input",
        "action_id": REQUEST_ACTION,
        "multiline": True,
        "max_length": 3000,
        "placeholder": {"type": "plain_text", "text": "What should be done with this message?"},
    }
    if text.strip():
        field["initial_value"] = text[:REQUEST_LIMIT]
    return {
        "type": "modal",
        "callback_id": START_JOB,
        "private_metadata": metadata,
        "title": {"type": "plain_text", "text": "Start a job"},
        "submit": {"type": "plain_text", "text": "Start"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": [
            {
                "type": "input",
                "block_id": REQUEST_BLOCK,
                "label": {"type": "plain_text", "text": plain("What should be done?", 100)},
                "element": field,
            },
            context("The job runs in the message's thread. The message and its files go with it."),
        ],
    }
