"""The supervisor's roles: each has a prompt of its own, a Markdown file beside this one, and one call of a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

from handoff.contracts import Terms
from specialists.turns.model import ModelCall, ModelMessage


@cache
def prompt(role: str) -> str:
    """The prompt of that role, such as `planner`."""
    return (Path(__file__).parent / f"{role}.md").read_text(encoding="utf-8").strip()


def call_of(
    role: str,
    text: str,
    *,
    terms: Terms,
    max_tokens: int,
    deadline: float,
    answer_schema: dict[str, Any] | None = None,
    on_text: Callable[[str], Awaitable[None]] | None = None,
    last: bool = False,
) -> ModelCall:
    """The call of a role, which is told `text`; `terms` say on which tier.

    `max_tokens` is for more than the reply: if a model thinks first, all providers count that in.
    """
    return ModelCall(
        purpose=role,
        system=prompt(role),
        messages=(ModelMessage(role="user", text=text),),
        tier=terms.tier_of(role),
        max_tokens=max_tokens,
        deadline=deadline,
        answer_schema=answer_schema,
        on_text=on_text,
        last=last,
    )
