"""What those who look at one part are told of the whole: the request and the plan's goal, within their budget."""

from __future__ import annotations

from collections.abc import Sequence

from handoff.context_budget import Pack, Piece, pack
from handoff.engine.nested import around, asked
from handoff.headings import demote_headings
from handoff.state import Ask, Work

LONGEST = 2_000
"""Characters of the request: the part has a brief of its own."""


def packed(role: str, ask: Ask, work: Work, heading: str, about: Sequence[str], pieces: Sequence[Piece]) -> Pack:
    """A brief on one subtask: under the heading what always stays, with the request and the goal; then the pieces.

    `about` are its lines on the subtask, `role` is who reads it.
    """
    run = around(ask, work)
    whole = [f"The request it is a part of: {' '.join(asked(ask, run).split())[:LONGEST]}"]
    if run.plan is not None:
        whole.append(f"The plan: {run.plan.goal}")
    head = Piece("the brief, the request and the plan", ("\n".join([heading, *map(demote_headings, about), *whole]),))
    return pack([head, *pieces], run.terms.room_of(role))
