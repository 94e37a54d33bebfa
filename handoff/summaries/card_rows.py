"""Stores the rows of a job's plan card in its summary fields, so that lists of jobs need no replay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from handoff.state.job_state import Job, RequestState, SubtaskStatus
from handoff.summaries.summary import STEP_TITLE, rows, title_of

ROWS = "rows"
"""The name of the summary field."""
MOST = 8
"""The most rows that are stored."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of a plan card: the state, title and specialist of a subtask."""

    state: SubtaskStatus
    title: str
    specialist: str


def project_rows(job: Job) -> dict[str, str]:
    """Return the summary field with the first rows of the latest request's card; empty once that request is over."""
    ask = job.latest
    return {ROWS: "" if ask.is_over or ask.run.plan is None else _encode_rows(ask)}


def _encode_rows(ask: RequestState) -> str:
    every = rows(ask)
    kept = [[work.state, title_of(ask, work)[:STEP_TITLE], work.specialist] for work in every[:MOST]]
    return json.dumps([kept, len(every) - len(kept)], separators=(",", ":"))


def rows_of(fields: Mapping[str, str]) -> tuple[tuple[ShownRow, ...], int]:
    """Parse the rows from the summary fields of a job. Also return the number of further rows of the card."""
    try:
        kept, more = json.loads(fields.get(ROWS) or "[[],0]")
        return tuple(ShownRow(*row) for row in kept), int(more)
    except (ValueError, TypeError):
        return (), 0  # a newer release wrote them
