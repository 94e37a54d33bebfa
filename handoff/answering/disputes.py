"""Contradictions: reads those that the synthesizer reports, words them, and checks that an answer shows them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from handoff.answering.fixed_words import Phrase, phrase
from handoff.answering.material import whole
from handoff.contracts import Conflict, Result, Side
from handoff.text_words import words

MOST = 8
"""The most contradictions that go to the arbiter."""
STATEMENT = 300
"""Characters of a statement that are kept."""
EVIDENCE = 3
"""The most lines of evidence that go with one statement."""
_REPORT = re.compile(r'\{\s*"contradictions"\s*:')
_OPENED, _CLOSED = re.compile(r"```(?:json)?\s*$"), re.compile(r"^[\s\]}]*```")
_SIDE = re.compile(r'"?result"?\s*:\s*"([^"\n]{0,80})"\s*,\s*"?statement"?\s*:\s*"([^"\n]{0,400})"')
_FIGURE = re.compile(r"(?<![A-Za-zÀ-ÿ\d])\d[\d.,'\u00a0\u202f]*\d|(?<![A-Za-zÀ-ÿ\d])\d")


def reported(
    text: str, results: Mapping[str, Result], titles: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, tuple[Conflict, ...] | None]:
    """Return what a reply says besides its report of contradictions, and those; None if it reports nothing.

    A contradiction counts if it names two of the `results` (by their ids or titles), and its figures stand in them.
    `results` and `titles` are by subtask.
    """
    named = {title: name for name, title in titles.items()} | {name: name for name in results}
    found = _REPORT.search(text)
    if found is None:
        return text, None
    before, listed, after = text[: found.start()], *_listed(text[found.start() :])
    if _OPENED.search(before):
        before, after = _OPENED.sub("", before), _CLOSED.sub("", after)
    made = [_conflict(one, results, named) for one in listed]
    return f"{before.rstrip()}\n{after.lstrip()}".strip(), tuple(one for one in made if one is not None)[:MOST]


def _listed(text: str) -> tuple[list[Any], str]:
    """Return what a report lists, and the text after it. Of a report that is no JSON, read the sides in their order."""
    try:
        report, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        sides = [{"result": found[1], "statement": found[2]} for found in _SIDE.finditer(text)]
        pairs = [{"sides": sides[place : place + 2]} for place in range(0, len(sides), 2)]
        return pairs, text[text.rfind("}") + 1 :] if "}" in text else ""
    listed = report["contradictions"]
    return (listed if isinstance(listed, list) else []), text[end:]


def _conflict(given: Any, results: Mapping[str, Result], named: Mapping[str, str]) -> Conflict | None:
    """Return one contradiction of a report; None if its sides are not two results that say so."""
    sides = given.get("sides") if isinstance(given, dict) else None
    if not isinstance(sides, list) or len(sides) != 2:
        return None
    read = [_side(one, results, named) for one in sides]
    first, second = read
    if first is None or second is None or first.subtask == second.subtask or first.statement == second.statement:
        return None
    claim = " ".join(str(given.get("claim") or "").split())[:STATEMENT]
    return Conflict(claim=claim or first.statement, sides=(first, second))


def _side(given: Any, results: Mapping[str, Result], named: Mapping[str, str]) -> Side | None:
    if not isinstance(given, dict):
        return None
    name, statement = (
        named.get(str(given.get("result", "")).strip(), ""),
        " ".join(str(given.get("statement") or "").split())[:STATEMENT],
    )
    result = results.get(name)
    if result is None or not statement or not figures(statement) <= figures(whole(result)):
        return None
    near = max(result.findings, key=lambda one: _likeness(statement, one.message), default=None)
    close = near if near is not None and _likeness(statement, near.message) * 2 >= len(words(statement)) else None
    sources = {one.source for one in result.findings if one.source}
    return Side(
        subtask=name,
        statement=statement,
        source=(close.source or close.where) if close is not None else next(iter(sources)) if len(sources) == 1 else "",
        evidence=_evidence(statement, result.evidence),
        confidence=close.confidence if close is not None else result.confidence,
    )


def _likeness(one: str, other: str) -> int:
    return len(words(one) & words(other)) + len(figures(one) & figures(other))


def _evidence(statement: str, lines: Sequence[str]) -> tuple[str, ...]:
    """Return the tools' lines on a statement: those with a figure of it first, then those that share two words."""
    exact = [line for line in lines if figures(statement) & figures(line)]
    near = [line for line in lines if line not in exact and len(words(statement) & words(line)) >= 2]
    return tuple([*exact, *near][:EVIDENCE])


def figures(text: str) -> frozenset[str]:
    """Return the figures of a text as digits alone, so that they are the same in each language's way of writing."""
    return frozenset(re.sub(r"\D", "", found) for found in _FIGURE.findall(text))


# ---------------------------------------------------------------- in words


def line(conflict: Conflict, request: str = "") -> str:
    """Return a contradiction as a line of Markdown: both sides, their sources, and what the evidence supports.

    Its fixed words are in the language of `request`.
    """
    sides = " ↔ ".join(f"“{side.statement}”" + (f" ({side.source})" if side.source else "") for side in conflict.sides)
    return f"{sides}. {_verdict(conflict, request)}"


def _verdict(conflict: Conflict, request: str) -> str:
    reason = f": {conflict.reason.rstrip('.')}" if conflict.reason else ""
    if conflict.verdict == "open":
        return f"{phrase('open', request)}{reason}."
    favoured = next((n for n, side in enumerate(conflict.sides) if side.subtask == conflict.favours), None)
    names: tuple[Phrase, Phrase] = ("first", "second")
    said = phrase("neither" if favoured is None else names[favoured], request)
    return f"{said}{reason}."


def with_contradictions(answer: str, conflicts: Sequence[Conflict], request: str) -> str:
    """Add a line for each contradiction of which the answer does not show both sides."""
    lines = [f"- {line(one, request)}" for one in conflicts if not _tells(answer, one)]
    return "\n".join([f"{answer.rstrip()}\n", f"**{phrase('contradict', request)}**", *lines]) if lines else answer


def _tells(answer: str, conflict: Conflict) -> bool:
    """Return True if the answer holds what each side has and the other has not: its figures, else its words."""
    one, other = (side.statement for side in conflict.sides[:2])
    ours, theirs = figures(one) - figures(other), figures(other) - figures(one)
    if ours and theirs:
        there = figures(answer)
        return bool(ours & there and theirs & there)
    mine, yours, said = words(one) - words(other), words(other) - words(one), words(answer)
    return all(not own or own & said for own in (mine, yours))
