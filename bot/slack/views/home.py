"""Renders the App Home, the help, and the windows that start a job from a message or show a note."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.outgoing import Block, Outgoing, make_context, make_header, make_section, make_sections
from bot.slack.views.paging import render_page_buttons
from handoff.text.counts import format_count

if TYPE_CHECKING:
    from bot.slack.views.paging import HomeList, HomeRow

_EXAMPLE_WITH_FILE = re.compile(r"(.+?) \(([\w-]+\.\w{2,5})\)")
START_JOB = "start_job"
"""The callback_id of the message shortcut and of the window it opens."""
REQUEST_BLOCK = "request"
REQUEST_ACTION = "text"
MAX_REQUEST_CHARACTERS = 2900

HOME_PAGE_PREFIX = "home:"
"""The start of a list's name in the buttons that turn its pages in the App Home; the section's name follows."""
MAX_BLOCKS = 100
"""Maximum number of blocks that Slack takes in an App Home."""
WELCOME = (
    "*Ask:* mention me in a channel, or write to me under *Messages*. `/leadhand help` says what I can do here, and "
    "how."
)

USUAL_PROMPTS: tuple[tuple[str, str], ...] = (
    ("What can you do?", "What can you do?"),
    ("How do I ask?", "help"),
    ("How are my jobs doing?", "status"),
)
"""Titles and texts of the prompts that Slack suggests in a new conversation. A click sends the text as it is."""
OPEN_ITEM_PROMPTS = ("Summarise this {what}", "List the decisions and open questions in this {what}")
"""Prompts about the thing that a person has open (`what`), shown before `USUAL_PROMPTS`."""
MAX_PROMPTS = 4


def render_help_text(
    usages: Sequence[str],
    spoken_words: Iterable[str],
    crews: Mapping[str, str] = MappingProxyType({}),
    examples: Sequence[str] = (),
) -> str:
    """Return the help in mrkdwn, with the lines of the commands (`usages`) and the spoken commands (`spoken_words`).

    `crews` are the descriptions of the bot's crews by name, if it has several; the first is the default. `examples` are
    requests that can be made in this place.
    """
    command_words = ", ".join(f"`{word}`" for word in spoken_words)
    return (
        "*Ask:* mention me in a channel, or write to me directly. Say what you need, attach files if it is about them. "
        "`/leadhand` and a request does the same: I post it here for you, and the answer comes in its thread. "
        "I plan the work, give each part to a specialist, and post one answer in the thread.\n"
        f"{_render_examples(examples)}"
        "*In the thread:* answer my questions with a button or a reply. Mention me again to ask for more. "
        f"Press *Stop* to stop. A mention with one of these words alone is a command: {command_words}.\n"
        f"{_render_crew_choice(crews)}"
        "*Commands:* one of these words, with a job or at most two words behind it. A sentence that only begins like "
        "one is a request. A mistyped one starts nothing: I ask what you meant. Slack takes none in threads.\n"
        + "\n".join(f"• {usage}" for usage in usages)
    )


def _render_examples(examples: Sequence[str]) -> str:
    """Render examples of requests, a line each. An example such as "... (sales.csv)" says to attach such a file."""
    if not examples:
        return ""
    return "*For example, here:*\n" + "\n".join(f"• {_render_example(one)}" for one in examples) + "\n"


def _render_example(text: str) -> str:
    words = to_plain_line(text, 200)
    with_file = _EXAMPLE_WITH_FILE.fullmatch(words)
    if with_file is None:
        return f"“{clean_mrkdwn(words)}”"
    return f"“{clean_mrkdwn(with_file[1])}” with a file such as `{clean_mrkdwn(with_file[2])}`"


def _render_crew_choice(crews: Mapping[str, str]) -> str:
    """Return the paragraph that lists the crews and says how to choose one; "" if `crews` is empty."""
    if not crews:
        return ""
    usual, *others = crews
    crew_lines = [f"• `{name}:` {to_plain_line(about, 200)}".rstrip() for name, about in crews.items()]
    how = f"begin with the name of one, such as “{others[0]}: ...”; otherwise `{usual}`, or the channel's crew, works."
    return f"*Crews:* {how}\n" + "\n".join(crew_lines) + "\n"


def render_help(
    usages: Sequence[str],
    spoken_words: Iterable[str],
    crews: Mapping[str, str] = MappingProxyType({}),
    examples: Sequence[str] = (),
) -> Outgoing:
    """Render the help as a message."""
    paragraphs = make_sections(render_help_text(usages, spoken_words, crews, examples).split("\n"))
    return Outgoing(text="How to use Leadhand", blocks=tuple(paragraphs))


def list_suggested_prompts(open_kind: str = "") -> list[dict[str, str]]:
    """Return the suggested prompts in the form that Slack's API takes.

    `open_kind` is the kind of thing that the person has open, such as a channel; "" for nothing.
    """
    about = [text.format(what=open_kind) for text in OPEN_ITEM_PROMPTS] if open_kind else []
    prompts = [*((text, text) for text in about), *USUAL_PROMPTS]
    return [{"title": title, "message": message} for title, message in prompts[:MAX_PROMPTS]]


def render_home(parts: Sequence[tuple[str, HomeList | str | None]]) -> Block:
    """Render the App Home. `parts` are its sections as pairs of (name, content).

    The content is a list, None for nothing, or a line that says why the list cannot be shown. If there are more blocks
    than Slack takes, the last rows of the longest sections are left out.
    """
    shown_parts = [
        (name, part) for name, part in parts if part is not None and (isinstance(part, str) or _has_content(part))
    ]
    rows = [[] if isinstance(part, str) else list(part.page.rows) for _, part in shown_parts]
    while True:
        blocks = [make_section(WELCOME)]
        for (name, part), part_rows in zip(shown_parts, rows, strict=True):
            blocks += _render_part(name, part, part_rows)
        longest = max(rows, key=lambda part_rows: sum(map(len, part_rows)), default=[])
        if len(blocks) <= MAX_BLOCKS or not longest:
            return {"type": "home", "blocks": blocks[:MAX_BLOCKS]}
        longest.pop()


def _has_content(part: HomeList) -> bool:
    return bool(part.page.rows or part.empty_line)


def _render_part(name: str, part: HomeList | str, shown_rows: Sequence[HomeRow]) -> list[Block]:
    if isinstance(part, str):
        return [{"type": "divider"}, make_context(part)]
    rows = [block for row in shown_rows for block in row] or [make_context(part.empty_line)]
    left_out = len(part.page.rows) - len(shown_rows)
    more = [make_context(f"{format_count(left_out, 'more', 'more')} of these: in their threads.")] if left_out else []
    return [
        {"type": "divider"},
        make_header(part.title),
        *rows,
        *more,
        *render_page_buttons(part.page, f"{HOME_PAGE_PREFIX}{name}"),
    ]


def render_refusal_home(reason: str) -> Block:
    """Render the App Home for a person who may not use the bot. `reason` is mrkdwn that says why not."""
    return {"type": "home", "blocks": [make_header("Leadhand"), make_section(reason)]}


def render_note_window(words: str) -> Block:
    """Render a window with a note (mrkdwn) for a person who clicked in the App Home, where no thread could show it."""
    return {
        "type": "modal",
        "callback_id": "note",
        "title": {"type": "plain_text", "text": "Leadhand"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": [make_section(words)],
    }


def render_start_job_modal(text: str, metadata: str) -> Block:
    """Render the window of "Start a job from this". Its field begins with `text`; `metadata` is sent back with it."""
    field: dict[str, Any] = {
        "type": "plain_text_input",
        "action_id": REQUEST_ACTION,
        "multiline": True,
        "max_length": 3000,
        "placeholder": {"type": "plain_text", "text": "What should be done with this message?"},
    }
    if text.strip():
        field["initial_value"] = text[:MAX_REQUEST_CHARACTERS]
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
                "label": {"type": "plain_text", "text": to_plain_line("What should be done?", 100)},
                "element": field,
            },
            make_context("The job runs in the message's thread. The message and its files go with it."),
        ],
    }
