"""Builds the brief of a role that looks at one subtask, with the request and the plan's goal, within a budget."""

from __future__ import annotations

from collections.abc import Sequence

from handoff.engine.nested import build_run_brief
from handoff.state.job_state import PlanRun, RequestState
from handoff.text.context_budget import Pack, Piece, pack
from handoff.text.headings import demote_headings

LONGEST = 2_000
"""Characters of the request that are shown: the subtask has a brief of its own."""


def pack_part_brief(
    role: str, ask: RequestState, run: PlanRun, heading: str, about: Sequence[str], pieces: Sequence[Piece]
) -> Pack:
    """Build a brief on one subtask of `run`: a part that always stays, then `pieces`.

    The part that stays is `heading`, the lines in `about` on the subtask, the request and the goal. `role` is the role
    that reads the brief.
    """
    whole = [f"The request it is a part of: {' '.join(build_run_brief(ask, run).split())[:LONGEST]}"]
    if run.plan is not None:
        whole.append(f"The plan: {run.plan.goal}")
    head = Piece("the brief, the request and the plan", ("\n".join([heading, *map(demote_headings, about), *whole]),))
    return pack([head, *pieces], run.terms.room_of(role))
