"""Renders a job in a list: a line with a link to its thread, and the rows of its plan card."""

from __future__ import annotations

from dataclasses import dataclass

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.answerers import render_answerers
from bot.slack.views.outgoing import render_moment
from handoff.state.job_state import SubtaskStatus
from handoff.summaries.card_rows import CardRow
from handoff.text.counts import format_count

STATE_WORDS = {
    "submitted": (":hourglass_flowing_sand:", "planning"),
    "working": (":gear:", "working"),
    "input_required": (":question:", "waiting for an answer"),
    "synthesizing": (":pencil2:", "writing the answer"),
    "completed": (":white_check_mark:", "done"),
    "in part": (":warning:", "done in part"),
    "failed": (":x:", "failed"),
    "cancelled": (":octagonal_sign:", "stopped"),
}
"""An emoji and words for each state of a request, and for `in part`: an answer with gaps."""
_ROW_MARKS: dict[SubtaskStatus, str] = {
    "pending": "○",
    "in_progress": "◐",
    "input_required": "?",
    "complete": "●",
    "error": "✗",
    "skipped": "·",
}
TITLE_LENGTH = 100


@dataclass(frozen=True, slots=True)
class JobLine:
    """The data for a job's line in a list."""

    job: str
    state: str
    title: str
    """Words of a person or a model, which are not cleaned yet."""
    channel: str
    updated_at: float
    """Seconds since the epoch."""
    quarantine_step: str = ""
    """The step at which the job was quarantined; "" if it is not."""
    awaited_people: tuple[str, ...] | None = None
    """The ids of those who may answer its question: () is anybody in its thread, None that there is no question."""
    is_partial: bool = False
    """True if its answer has gaps."""
    requester: str = ""
    """The id of the person who made the latest request."""
    step: str = ""
    """What is being done now, in words."""
    link: str = ""
    """The address of the thread; "" if it is not known."""
    rows: tuple[CardRow, ...] = ()
    """The first rows of its card."""
    further_row_count: int = 0
    """The number of further rows of its card."""


def render_job_line(line: JobLine, reader: str, *, show_requester: bool = False, show_id: bool = True) -> str:
    """Render a job as one line of mrkdwn. `reader` is the id of the person who reads it.

    `show_requester` adds the requester, and `show_id` the job's id, which commands take.
    """
    mark, words = STATE_WORDS.get("in part" if line.is_partial else line.state, (":grey_question:", line.state))
    words = clean_mrkdwn(to_plain_line(words, 160))
    if line.quarantine_step:
        mark, words = ":warning:", clean_mrkdwn(to_plain_line(f"set aside: {line.quarantine_step}", 160))
    elif line.state == "input_required" and line.awaited_people is not None:
        words = describe_waiting(line.awaited_people, reader)
    by = f" · {render_mention(line.requester)}" if show_requester and line.requester else ""
    id_prefix = f"`{to_plain_line(line.job, 20)}` " if show_id else ""
    return f"{mark} {id_prefix}{render_title_link(line)}{by} · {words} · {render_moment(line.updated_at)}"


def render_title_link(line: JobLine) -> str:
    """Render the title of a job, as a link to its thread if its address is known."""
    title = clean_mrkdwn(to_plain_line(line.title, TITLE_LENGTH)) or "without words"
    return f"<{line.link}|{title}>" if line.link else title


def describe_waiting(answerers: tuple[str, ...], reader: str) -> str:
    """Return in words whom a job waits for: the ids in `answerers`, or anyone in its thread if there are none."""
    return f"waiting for {render_answerers(answerers, reader=reader, anybody_words='anyone in its thread')}"


def render_card_rows(line: JobLine) -> str:
    """Render the rows of a job's card, a line each, or its step if there are no rows; "" if there is neither."""
    row_lines = [
        f"{_ROW_MARKS.get(row.state, '·')} {clean_mrkdwn(to_plain_line(row.title, 80))} · "
        f"_{clean_mrkdwn(to_plain_line(row.specialist, 60))}_"
        for row in line.rows
    ]
    if not row_lines and line.step:
        return clean_mrkdwn(to_plain_line(line.step, 160))
    more = [f"and {format_count(line.further_row_count, 'more part')}"] if line.further_row_count else []
    return "\n".join([*row_lines, *more])
