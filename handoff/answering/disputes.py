"""Words contradictions for people, and checks that an answer shows them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from handoff.checking.claims import words
from handoff.checking.dates import dates, same_date
from handoff.checking.quantities import quantities
from handoff.contracts import Conflict, Side

HEADING = "**Where the results contradict each other**"
_APART = re.compile(
    r"\b(?:contradict\w*|disagree\w*|conflict\w*|differ\w*|inconsistent|disput\w*|unclear|settled|however|whereas|while|but|although|against|"
    r"versus|other hand)\b",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://\S+|[\w.-]+\.\w{2,5}\b")


def line(conflict: Conflict) -> str:
    """Return a contradiction as a line of Markdown: both sides, their sources, what the evidence supports, how sure."""
    sides = " against ".join(f"“{side.statement}” ({side.source or 'no source named'})" for side in conflict.sides)
    return f"{sides}. {_verdict(conflict)}"


def _verdict(conflict: Conflict) -> str:
    reason = f": {conflict.reason.rstrip('.')}" if conflict.reason else ""
    if conflict.verdict == "open":
        return f"Not settled{reason}."
    favoured = next((n for n, side in enumerate(conflict.sides) if side.subtask == conflict.favours), None)
    sure = f"{conflict.confidence} % sure"
    if favoured is None:
        return f"The evidence supports neither ({sure}){reason}."
    return f"The evidence supports the {('first', 'second')[favoured]} ({sure}){reason}."


def untold(answer: str, conflicts: Sequence[Conflict]) -> tuple[Conflict, ...]:
    """Return the contradictions that the answer does not show with both sides and their sources, near each other."""
    blocks = [block for block in re.split(r"\n\s*\n", answer) if block.strip()]
    near = [*blocks, *(f"{one}\n{other}" for one, other in pairwise(blocks))]
    return tuple(one for one in conflicts if not any(_tells(block, one) for block in near))


def with_contradictions(answer: str, conflicts: Sequence[Conflict]) -> str:
    """Add a short section on the contradictions that the answer leaves out; return it unchanged if it shows all."""
    lines = [f"- {line(conflict)}" for conflict in untold(answer, conflicts)]
    return "\n".join([f"{answer.rstrip()}\n", HEADING, *lines]) if lines else answer


def _tells(block: str, conflict: Conflict) -> bool:
    if any(not _cites(block, side) for side in conflict.sides) or not _says_how_sure(block, conflict):
        return False
    if all(quantities(side.statement) or dates(side.statement) for side in conflict.sides):
        sourced = all(side.source for side in conflict.sides)  # else both figures may stand there by chance
        return all(_holds(block, side) for side in conflict.sides) and bool(sourced or _APART.search(block))
    subject = words(conflict.claim)
    there = [len(words(side.statement) & words(block)) * 2 >= len(words(side.statement)) for side in conflict.sides]
    return all(there) and bool(subject & words(block)) and bool(_APART.search(block))


def _says_how_sure(block: str, conflict: Conflict) -> bool:
    return conflict.verdict == "open" or re.search(rf"(?<!\d){conflict.confidence}(?!\d)", block) is not None


def _cites(block: str, side: Side) -> bool:
    if not side.source:
        return True
    links = _LINK.findall(side.source) or [side.source]
    return any(link.rstrip(".,;)").casefold() in block.casefold() for link in links)


def _holds(block: str, side: Side) -> bool:
    there, days = quantities(block), dates(block)
    figures = all(
        any(one.kind == other.kind and one.agrees(other) for other in there) for one in quantities(side.statement)
    )
    return figures and all(any(same_date(one, other) for other in days) for one in dates(side.statement))
