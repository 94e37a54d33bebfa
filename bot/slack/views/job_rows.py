"""Renders a job in a list: one line with a link to its thread and, while it is under way, the rows of its card."""

from __future__ import annotations

from dataclasses import dataclass

from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.outgoing import render_moment
from bot.slack.views.waiting import name_answerers
from handoff.state.job_state import SubtaskStatus
from handoff.summaries.card_rows import ShownRow
from handoff.text.counts import format_count

STATES = {
    "submitted": (":hourglass_flowing_sand:", "planning"),
    "working": (":gear:", "working"),
    "input_required": (":question:", "waiting for an answer"),
    "synthesizing": (":pencil2:", "writing the answer"),
    "completed": (":white_check_mark:", "done"),
    "in part": (":warning:", "done in part"),
    "failed": (":x:", "failed"),
    "cancelled": (":octagonal_sign:", "stopped"),
}
"""An emoji and words for each state of a request; `in part` is for an answer with gaps."""
_ROW_MARKS: dict[SubtaskStatus, str] = {
    "pending": "○",
    "in_progress": "◐",
    "input_required": "?",
    "complete": "●",
    "error": "✗",
    "skipped": "·",
}
TITLE = 100


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job in a list."""

    job: str
    state: str
    title: str
    """Words of a person or a model, not cleaned."""
    channel: str
    updated: float
    """Seconds since the epoch."""
    quarantined: str = ""
    """The step at which the job was quarantined; "" if it is not."""
    waits_for: tuple[str, ...] | None = None
    """The ids of those who may answer its question: () is anybody in its thread, None that there is no question."""
    in_part: bool = False
    """True if its answer has gaps."""
    user: str = ""
    """The id of the person who made the latest request."""
    step: str = ""
    """What is being done now, in words."""
    link: str = ""
    """The address of the thread; "" if it is not known."""
    rows: tuple[ShownRow, ...] = ()
    """The first rows of its card."""
    more_rows: int = 0
    """The number of further rows of its card."""


def job_line(line: JobLine, reader: str, *, asker: bool = False, name: bool = True) -> str:
    """Render a job as one line of mrkdwn. `reader` is the id of the person who reads it.

    `asker`: name the requester. `name`: give the job's id, for commands.
    """
    mark, words = STATES.get("in part" if line.in_part else line.state, (":grey_question:", line.state))
    words = clean(plain(words, 160))
    if line.quarantined:
        mark, words = ":warning:", clean(plain(f"set aside: {line.quarantined}", 160))
    elif line.state == "input_required" and line.waits_for is not None:
        words = waiting_words(line.waits_for, reader)
    by = f" · {mention(line.user)}" if asker and line.user else ""
    called = f"`{plain(line.job, 20)}` " if name else ""
    return f"{mark} {called}{link_title(line)}{by} · {words} · {render_moment(line.updated)}"


def link_title(line: JobLine) -> str:
    """Render the title of a job, as a link to its thread if its address is known."""
    title = clean(plain(line.title, TITLE)) or "without words"
    return f"<{line.link}|{title}>" if line.link else title


def waiting_words(whom: tuple[str, ...], reader: str) -> str:
    """Return whom a job waits for, in words: the ids in `whom`, or anyone in its thread."""
    return f"waiting for {name_answerers(whom, reader=reader, anybody='anyone in its thread')}"


def card_rows(line: JobLine) -> str:
    """Render the rows of a job's card, a line each, or its step if the card has no rows yet; may be empty."""
    told = [
        f"{_ROW_MARKS.get(row.state, '·')} {clean(plain(row.title, 80))} · _{clean(plain(row.specialist, 60))}_"
        for row in line.rows
    ]
    if not told and line.step:
        return clean(plain(line.step, 160))
    more = [f"and {format_count(line.more_rows, 'more part')}"] if line.more_rows else []
    return "\n".join([*told, *more])
