"""A job in a list: one line with a link to its thread, and under it the rows of its card while it is under way."""

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
"""A mark and words for each state of a request, as its thread shows it."""
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
    """A job in a list. `updated` is seconds since the epoch; `title` is people's or a model's words.

    `quarantined`, if it is set aside, is the step that it was at. `waits_for` are the ids of the people and user groups
    that may answer what it asks; empty: anybody in its thread. None: it asks nothing. `in_part`: its answer has gaps.
    `user` asked last, `link` leads to the thread (may be empty), `step` says what it is at. `rows` are those of its
    card, which has `more_rows` besides.
    """

    job: str
    state: str
    title: str
    channel: str
    updated: float
    quarantined: str = ""
    waits_for: tuple[str, ...] | None = None
    in_part: bool = False
    user: str = ""
    step: str = ""
    link: str = ""
    rows: tuple[ShownRow, ...] = ()
    more_rows: int = 0


def job_line(line: JobLine, reader: str, *, asker: bool = False, name: bool = True) -> str:
    """Tell of one job in one line of mrkdwn. `reader` is the Slack id of who reads it.

    `asker`: it names who asked. `name`: it gives the job's id, for commands.
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
    """Give the title of a job as a link to its thread, where there is one."""
    title = clean(plain(line.title, TITLE)) or "without words"
    return f"<{line.link}|{title}>" if line.link else title


def waiting_words(whom: tuple[str, ...], reader: str) -> str:
    """Say whom a job waits for."""
    return f"waiting for {name_answerers(whom, reader=reader, anybody='anyone in its thread')}"


def card_rows(line: JobLine) -> str:
    """Show the rows of a job's card below each other, or its step where it has none yet; may be empty."""
    told = [
        f"{_ROW_MARKS.get(row.state, '·')} {clean(plain(row.title, 80))} · _{clean(plain(row.specialist, 60))}_"
        for row in line.rows
    ]
    if not told and line.step:
        return clean(plain(line.step, 160))
    more = [f"and {format_count(line.more_rows, 'more part')}"] if line.more_rows else []
    return "\n".join([*told, *more])
