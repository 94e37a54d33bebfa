"""What the rehearsal says of a specialist whose work it has no rules for: that it cannot do it, and what can."""

from __future__ import annotations

from collections.abc import Iterable

from bot.models.rehearsal.moves import Move, give_up

KNOWN = frozenset(
    {
        *("profile_table", "query_table", "calculate", "draw_chart", "web_search", "fetch_page", "publish_document"),
        *("read_material", "search_material", "return_result", "escalate"),
    }
)
"""Tools that the rehearsal has rules for."""


def is_strange(tools: Iterable[str]) -> bool:
    """Return True if a specialist has a tool that the rehearsal knows nothing of."""
    return not KNOWN.issuperset(tools)


def next_move(name: str) -> Move:
    """Give up, and say why."""
    return give_up(
        "out_of_scope",
        f"This is the rehearsal, no language model. It has no rules for the work of {name}, so nothing was done. "
        "ANTHROPIC_API_KEY, OPENAI_API_KEY or an Ollama give it a model; the steps of a crew's own demo are shown by "
        "`leadhand try --crew NAME --demo`.",
    )
