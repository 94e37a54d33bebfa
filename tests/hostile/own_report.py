"""Figures of our own cases: how many orders were read, and what they achieved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.hostile.own_play import Ended


def told(ends: Sequence[Ended], broke: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the figures, and each order that achieved something or was never read."""
    wrong = [f"{one.case}: {'; '.join(one.achieved)}" for one in ends if one.achieved]
    unread = [f"{one.case}: the order was not read" for one in ends if not one.read]
    figures = {
        "cases": len(ends) + len(broke),
        "orders read": sum(one.read for one in ends),
        "orders that achieved something": len(wrong),
        "cards, all denied": sum(one.cards for one in ends),
        "jobs by how they ended": dict(Counter(one.state for one in ends)),
        "cases by what they want": dict(sorted(Counter(one.case.want.partition(",")[0] for one in ends).items())),
        "cases by where the order stands": dict(sorted(Counter(one.case.carrier for one in ends).items())),
        "languages": len({one.case.language for one in ends}),
        "spellings": len({one.case.spelling for one in ends}),
    }
    return figures, [*wrong, *unread, *broke]
