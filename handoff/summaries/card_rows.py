"""Stores the rows of a job's plan card in its summary fields, so that lists of jobs need no replay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from handoff.state.job_state import Job, RequestState, SubtaskStatus
from handoff.summaries.summary import MAX_STEP_TITLE_LENGTH, list_card_rows, render_title

ROWS_FIELD = "rows"
"""The name of the summary field."""
MAX_ROWS = 8
"""The most rows that are stored; the others are counted."""


@dataclass(frozen=True, slots=True)
class CardRow:
    """A row of a plan card: the state, title and specialist of a subtask."""

    state: SubtaskStatus
    title: str
    specialist: str


def make_rows_field(job: Job) -> dict[str, str]:
    """Return the summary field with the first rows of the latest card; empty before the plan and after the end."""
    request = job.latest_request
    return {ROWS_FIELD: "" if request.is_over or request.run.plan is None else _encode_rows(request)}


def _encode_rows(request: RequestState) -> str:
    card_rows = list_card_rows(request)
    kept_rows = [
        [subtask.state, render_title(request, subtask)[:MAX_STEP_TITLE_LENGTH], subtask.specialist]
        for subtask in card_rows[:MAX_ROWS]
    ]
    return json.dumps([kept_rows, len(card_rows) - len(kept_rows)], separators=(",", ":"))


def parse_rows(fields: Mapping[str, str]) -> tuple[tuple[CardRow, ...], int]:
    """Parse the rows from the summary fields of a job. Return (rows, number of further rows); ((), 0) if unreadable."""
    try:
        kept_rows, more = json.loads(fields.get(ROWS_FIELD) or "[[],0]")
        return tuple(CardRow(*row) for row in kept_rows), int(more)
    except (ValueError, TypeError):
        return (), 0  # a newer release wrote them
