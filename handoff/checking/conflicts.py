"""Finds statements of different results that may contradict each other, by what they claim and not by how they say it.

The search is pure and decides nothing. It proposes a pair with the same subject and measure if their numbers cannot
both be right, if they give other dates or names for the same thing, or if one denies what the other says. The arbiter
decides if they do contradict. A missed pair is better than a false alarm: each false alarm costs a model call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from types import MappingProxyType
from typing import Any, Literal

from handoff.checking.claims import Claim, claims, names
from handoff.checking.dates import same_date
from handoff.checking.evidence import of_statement
from handoff.checking.quantities import comparable
from handoff.checking.vocabulary import is_qualifier
from handoff.contracts import Conflict, Result, Side

JUDGED = 8
"""The most pairs that go to the arbiter; those with figures come first. The others are named as not judged."""
COMPARED = 50_000
"""The most pairs of claims that are compared: enough for twenty long results on one subject."""
READ = 30_000
"""Characters of a result that are read."""
STATEMENT = 300
NOTHING: Mapping[str, str] = MappingProxyType({})

Kind = Literal["number", "date", "name", "polarity"]
_ORDER: tuple[Kind, ...] = ("number", "date", "name", "polarity")


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim with its subtask, its source (empty: none), and how sure it is.

    `evidence` are the tools' lines on the result, and `about` are the names in the title of its subtask.
    """

    subtask: str
    claim: Claim
    source: str = ""
    confidence: int = 80
    evidence: tuple[str, ...] = ()
    about: frozenset[str] = frozenset()


def candidates(
    results: Mapping[str, Result], *, threshold: int = 0, titles: Mapping[str, str] = NOTHING
) -> tuple[Conflict, ...]:
    """Return statements of different subtasks that may contradict each other; those with figures come first.

    `results` and `titles` are by subtask: what a subtask says under a title that names Acme is about Acme. Findings
    that are less sure than `threshold` (0 to 100) are left out.
    """
    said = {name: _statements(name, result, threshold, names(titles.get(name, ""))) for name, result in results.items()}
    near = chain.from_iterable(_near(said[one], said[other]) for one, other in combinations(said, 2))
    found: list[tuple[Kind, Statement, Statement]] = []
    for left, right in islice(near, COMPARED):
        kind = contradiction(left.claim, right.claim)
        if kind is not None and not _apart(left, right):
            found.append((kind, left, right))
    found.sort(key=lambda each: _ORDER.index(each[0]))
    return _distinct((left, right) for _, left, right in found)


def _statements(name: str, result: Result, threshold: int, about: frozenset[str]) -> list[Statement]:
    made = [
        Statement(name, claim, finding.source or finding.where, finding.confidence, result.evidence, about)
        for finding in result.findings
        if finding.confidence >= threshold
        for claim in claims(finding.message)
    ]
    known = {statement.claim.text for statement in made}
    sources = dict.fromkeys(finding.source for finding in result.findings if finding.source)
    only = next(iter(sources)) if len(sources) == 1 else ""
    text = (result.content or result.summary)[:READ]
    fresh = (claim for claim in claims(text) if claim.text not in known)
    made += [Statement(name, claim, only, result.confidence, result.evidence, about) for claim in fresh]
    return made


def _apart(one: Statement, other: Statement) -> bool:
    """Return True if the headings or the titles name different things that neither statement names itself."""
    ours, theirs = one.claim.under - other.claim.subject, other.claim.under - one.claim.subject
    if any(is_qualifier(word) for word in ours ^ theirs):
        return True
    mine, yours = one.about - other.claim.subject, other.about - one.claim.subject
    return bool((ours - theirs and theirs - ours) or (mine - yours and yours - mine))


def _near(ours: Sequence[Statement], theirs: Sequence[Statement]) -> Iterator[tuple[Statement, Statement]]:
    """Yield the pairs that share a word of their subject."""
    by_word: dict[str, list[int]] = {}
    for place, statement in enumerate(theirs):
        for word in statement.claim.subject:
            by_word.setdefault(word, []).append(place)
    for left in ours:
        for place in sorted({place for word in left.claim.subject for place in by_word.get(word, ())}):
            yield left, theirs[place]


def _distinct(found: Iterable[tuple[Statement, Statement]]) -> tuple[Conflict, ...]:
    """Keep each statement of a subtask once against each other subtask: a retold figure is one contradiction."""
    kept: list[Conflict] = []
    seen: set[tuple[Any, ...]] = set()
    for left, right in found:
        shared = left.claim.subject & right.claim.subject
        under, days = left.claim.under & right.claim.under, left.claim.dates or right.claim.dates
        keys = {
            (left.claim.text, left.claim.heading, right.subtask),
            (right.claim.text, right.claim.heading, left.subtask),
            (shared, under, days, left.subtask, right.subtask),
        }
        if not keys & seen:
            kept.append(_conflict(left, right, " ".join(sorted(shared, key=left.claim.text.lower().find))))
            seen |= keys
    return tuple(kept)


def _conflict(left: Statement, right: Statement, claim: str) -> Conflict:
    sides = tuple(
        Side(
            subtask=each.subtask,
            statement=_said(each.claim)[:STATEMENT],
            source=each.source,
            evidence=of_statement(each.claim.text, each.evidence),
            confidence=each.confidence,
        )
        for each in (left, right)
    )
    return Conflict(claim=claim, sides=sides)


def _said(claim: Claim) -> str:
    """Return a claim with the heading that it stands under: "Churn was 4 %" may be about May."""
    return f"{claim.heading}: {claim.text}" if claim.heading else claim.text


def contradiction(one: Claim, other: Claim) -> Kind | None:
    """Return how two claims may contradict each other; None if they do not, or are about different things."""
    if one.text == other.text or not _same_subject(one, other):
        return None
    scoped = [claim.dates for claim in (one, other) if not claim.dated]
    if len(scoped) == 2 and not _dates_fit(one, other):
        return None
    alike = one.negated == other.negated  # "not 4 %" says nothing against 6 %
    if one.quantities and other.quantities and _numbers_differ(one, other):
        return "number" if alike else None
    if one.dated and other.dated:
        differ = len(one.dates) == len(other.dates) == 1 and not same_date(one.dates[0], other.dates[0])
        return "date" if differ and alike else None
    if one.value and other.value:
        apart = not one.value <= other.value and not other.value <= one.value
        return "name" if apart and alike else None
    return "polarity" if _opposite(one, other) else None


def _same_subject(one: Claim, other: Claim) -> bool:
    shared = one.subject & other.subject
    if not shared:
        return False
    ours, theirs = one.subject - shared, other.subject - shared
    if ours and theirs:  # as most pairs: what takes longer is not asked of them
        return False
    extra = ours | theirs
    if len(extra) > (2 if len(shared) >= 4 else 1 if len(shared) >= 2 else 0):
        return False
    return not extra & (one.scope | other.scope) and not any(is_qualifier(word) for word in extra)


def _dates_fit(one: Claim, other: Claim) -> bool:
    """Return True if both may be about the same time.

    A claim without a date fits any, if its subject is more than a word.
    """
    if not one.dates and not other.dates:
        return True
    if not one.dates or not other.dates:
        return len(one.subject & other.subject) >= 2
    return len(one.dates) == len(other.dates) and all(
        same_date(a, b) and (bool(a[0]), bool(a[1])) == (bool(b[0]), bool(b[1]))
        for a, b in zip(sorted(one.dates), sorted(other.dates), strict=True)
    )


def _numbers_differ(one: Claim, other: Claim) -> bool:
    """Return True if a number in the same place cannot be the same; False if a text names several for one place."""
    pairs = [
        pair
        for ours in one.quantities
        for theirs in other.quantities
        if ours.role == theirs.role != "than" and (pair := comparable(ours, theirs)) is not None
    ]
    left, right = [pair[0].start for pair in pairs], [pair[1].start for pair in pairs]
    if len(set(left)) < len(left) or len(set(right)) < len(right):
        return False
    return any(not ours.agrees(theirs) for ours, theirs in pairs)


def _opposite(one: Claim, other: Claim) -> bool:
    ours, theirs = dict(one.directions), dict(other.directions)
    if set(one.directions) != set(ours.items()) or set(other.directions) != set(theirs.items()):
        return False  # it says both of one thing
    if ours.keys() != theirs.keys():
        return False
    if not ours and (len(one.subject & other.subject) < 2 or one.subject != other.subject):
        return False
    flips = sum(ours[concept] != theirs[concept] for concept in ours) + (one.negated != other.negated)
    return flips % 2 == 1
