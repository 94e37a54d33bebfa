"""The prompts and model calls of the supervisor's roles: each has a Markdown file in this folder and makes one call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from handoff.contracts import Terms
from handoff.text.headings import demote_headings
from specialists.model import ModelCall, ModelMessage


@cache
def prompt(role: str) -> str:
    """Return the prompt of a role, such as `planner`."""
    return (Path(__file__).parent / f"{role}.md").read_text(encoding="utf-8").strip()


HEED_THE_CHANNEL = frozenset({"planner", "replanner", "synthesizer"})
"""The roles that are told what the channel asks for: the others see no more than parts of the work."""


def crew_words(terms: Terms, role: str) -> str:
    """Return what the crew and the channel say to a role, under headings that say whose it is; empty if nothing.

    It is the same in every call of a crew's role, and stands behind our rules, so that providers can keep both.
    """
    said = {"crew_words": terms.crew_words.get(role, "")}
    if role in HEED_THE_CHANNEL:
        said["channel_words"] = terms.channel_words
    return "".join(f"\n\n{prompt(name)}\n\n{demote_headings(words)}" for name, words in said.items() if words)


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
