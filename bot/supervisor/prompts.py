"""The prompts and model calls of the supervisor's roles: each has a Markdown file in this folder and makes one call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from handoff.contracts import Terms
from handoff.headings import demote_headings
from specialists.turns.model import ModelCall, ModelMessage


@cache
def prompt(role: str) -> str:
    """Return the prompt of a role, such as `planner`."""
    return (Path(__file__).parent / f"{role}.md").read_text(encoding="utf-8").strip()


def crew_words(terms: Terms, role: str) -> str:
    """Return what the crew says to a role, under a heading that says whose it is; empty if it says nothing.

    It is the same in every call of a crew's role, and stands behind our rules, so that providers can keep both.
    """
    said = terms.crew_words.get(role, "")
    return f"\n\n{prompt('crew_words')}\n\n{demote_headings(said)}" if said else ""


def call_of(
    role: str,
    text: str,
    *,
    terms: Terms,
    max_tokens: int,
    deadline: float = inf,
    answer_schema: dict[str, Any] | None = None,
    on_text: Callable[[str], Awaitable[None]] | None = None,
    last: bool = False,
) -> ModelCall:
    """Build the model call of a role: `text` is its brief; `terms` name its tier, seconds and the circumstances.

    `deadline` is the seconds of this one, if there are fewer.
    `max_tokens` covers more than the reply: if a model thinks first, all providers count that too.
    """
    if terms.circumstances:
        text = f"{terms.circumstances}\n\n{text}"
    return ModelCall(
        purpose=role,
        system=prompt(role) + crew_words(terms, role),
        messages=(ModelMessage(role="user", text=text),),
        tier=terms.tier_of(role),
        max_tokens=max_tokens,
        deadline=min(deadline, terms.call_seconds),
        answer_schema=answer_schema,
        on_text=on_text,
        last=last,
    )
