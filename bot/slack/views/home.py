"""Renders the App Home, the help, and the windows that start a job from a message or show a note."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import Block, Outgoing, context, header, section, sections
from bot.slack.views.paging import page_buttons
from handoff.text.counts import format_count

if TYPE_CHECKING:
    from bot.slack.views.paging import HomePart, Row

_FILE = re.compile(r"(.+?) \(([\w-]+\.\w{2,5})\)")
START_JOB = "start_job"
"""The callback_id of the message shortcut and of the window it opens."""
REQUEST_BLOCK = "request"
REQUEST_ACTION = "text"
REQUEST_LIMIT = 2900

HOME_PAGE = "home:"
"""The beginning of the list's name in buttons that turn a page of the App Home; the section's name follows."""
MOST_BLOCKS = 100
"""Most blocks that Slack takes in an App Home."""
WELCOME = (
    "*Ask:* mention me in a channel, or write to me under *Messages*. `/leadhand help` says what I can do here, and "
    "how."
)

PROMPTS: tuple[tuple[str, str], ...] = (
    ("What can you do?", "What can you do?"),
    ("How do I ask?", "help"),
    ("How are my jobs doing?", "status"),
)
"""Titles and texts of the prompts that Slack suggests in a new conversation. A click sends the text as it is."""
OPEN_PROMPTS = ("Summarise this {what}", "List the decisions and open questions in this {what}")
"""Prompts about what a person has open, which come before the usual ones."""
MOST_PROMPTS = 4


def help_text(
    usages: Sequence[str],
    words: Iterable[str],
    crews: Mapping[str, str] = MappingProxyType({}),
    examples: Sequence[str] = (),
) -> str:
    """Return the help in mrkdwn, with the lines of the commands (`usages`) and the spoken commands (`words`).

    `crews` are the descriptions of the bot's crews by name, if it has several; the first is the default. `examples` are
    requests that can be made in this place.
    """
    known = ", ".join(f"`{word}`" for word in words)
    return (
        "*Ask:* mention me in a channel, or write to me directly. Say what you need, attach files if it is about them. "
        "`/leadhand` and a request does the same: I post it here for you, and the answer comes in its thread. "
        "I plan the work, give each part to a specialist, and post one answer in the thread.\n"
        f"{_render_examples(examples)}"
        "*In the thread:* answer my questions with a button or a reply. Mention me again to ask for more. "
        f"Press *Stop* to stop. A mention with one of these words alone is a command: {known}.\n"
        f"{_render_crew_choice(crews)}"
        "*Commands:* one of these words, with a job or at most two words behind it. A sentence that only begins like "
        "one is a request. A mistyped one starts nothing: I ask what you meant. Slack takes none in threads.\n"
        + "\n".join(f"• {usage}" for usage in usages)
    )


def _render_examples(examples: Sequence[str]) -> str:
    """Render requests that can be made here, word for word. One that needs a file says what to attach."""
    if not examples:
        return ""
    return "*For example, here:*\n" + "\n".join(f"• {_render_example(one)}" for one in examples) + "\n"


def _render_example(text: str) -> str:
    words = plain(text, 200)
    with_file = _FILE.fullmatch(words)
    if with_file is None:
        return f"“{clean(words)}”"
    return f"“{clean(with_file[1])}” with a file such as `{clean(with_file[2])}`"


def _render_crew_choice(crews: Mapping[str, str]) -> str:
    """Return the paragraph that lists the crews and says how to choose one; "" if there is no choice."""
    if not crews:
        return ""
    usual, *others = crews
    told = [f"• `{name}:` {plain(about, 200)}".rstrip() for name, about in crews.items()]
    how = f"begin with the name of one, such as “{others[0]}: ...”; otherwise `{usual}`, or the channel's crew, works."
    return f"*Crews:* {how}\n" + "\n".join(told) + "\n"


def help_message(
    usages: Sequence[str],
    words: Iterable[str],
    crews: Mapping[str, str] = MappingProxyType({}),
    examples: Sequence[str] = (),
) -> Outgoing:
    """Render the help as a message."""
    paragraphs = sections(help_text(usages, words, crews, examples).split("\n"))
    return Outgoing(text="How to use Leadhand", blocks=tuple(paragraphs))


def suggested_prompts(open_kind: str = "") -> list[dict[str, str]]:
    """Return the suggested prompts in the form that Slack's API takes.

    `open_kind` is the kind of thing that the person has open, such as a channel; "" for nothing.
    """
    about = [text.format(what=open_kind) for text in OPEN_PROMPTS] if open_kind else []
    prompts = [*((text, text) for text in about), *PROMPTS]
    return [{"title": title, "message": message} for title, message in prompts[:MOST_PROMPTS]]


def home_view(parts: Sequence[tuple[str, HomePart | str | None]]) -> Block:
    """Render the App Home. `parts` are its sections as pairs of (name, content).

    The content is a list, None for nothing, or a line that says why the list cannot be shown. If there are more blocks
    than Slack takes, the last rows of the longest sections are left out.
    """
    shown = [(name, part) for name, part in parts if part is not None and (isinstance(part, str) or _has_content(part))]
    rows = [[] if isinstance(part, str) else list(part.page.rows) for _, part in shown]
    while True:
        blocks = [section(WELCOME)]
        for (name, part), kept in zip(shown, rows, strict=True):
            blocks += _part_blocks(name, part, kept)
        longest = max(rows, key=lambda kept: sum(map(len, kept)), default=[])
        if len(blocks) <= MOST_BLOCKS or not longest:
            return {"type": "home", "blocks": blocks[:MOST_BLOCKS]}
        longest.pop()


def _has_content(part: HomePart) -> bool:
    return bool(part.page.rows or part.none)


def _part_blocks(name: str, part: HomePart | str, kept: Sequence[Row]) -> list[Block]:
    if isinstance(part, str):
        return [{"type": "divider"}, context(part)]
    rows = [block for row in kept for block in row] or [context(part.none)]
    left_out = len(part.page.rows) - len(kept)
    more = [context(f"{format_count(left_out, 'more', 'more')} of these: in their threads.")] if left_out else []
    return [
        {"type": "divider"},
        header(part.title),
        *rows,
        *more,
        *page_buttons(part.page, f"{HOME_PAGE}{name}"),
    ]


def closed_home(why: str) -> Block:
    """Render the App Home for a person who may not use the bot; `why` is a line of ours that gives the reason."""
    return {"type": "home", "blocks": [header("Leadhand"), section(why)]}


def note_window(words: str) -> Block:
    """Render a window with a note (mrkdwn) for a person who clicked in the App Home, where no thread could show it."""
    return {
        "type": "modal",
        "callback_id": "note",
        "title": {"type": "plain_text", "text": "Leadhand"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": [section(words)],
    }


def start_job_modal(text: str, metadata: str) -> Block:
    """Render the window of "Start a job from this". Its field begins with `text`; `metadata` is sent back with it."""
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
