"""Marks the critical path of each request: the steps that its end waited for, one after the other.

Each step knows the one whose end let it begin, so the path is read backwards from the answer. A crew's attempt waited
for the steps inside it, and these for what let the attempt begin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.tracing.span import Span

_LAST = "the answer"
_STEPS = frozenset({"gather", "plan", "attempt", "wait", "pause", "verify", "refine", "synthesis", "post"})


def mark(found: Sequence[Span], handed_up: Mapping[str, str]) -> tuple[Span, ...]:
    """Return the spans with those of the critical paths marked.

    `handed_up` names, for the attempt of a crew, the step inside that was its last.
    """
    by_id = {one.id: one for one in found}
    below: dict[str, list[Span]] = {}
    last: dict[str, Span] = {}
    for one in found:
        below.setdefault(one.parent, []).append(one)
        if one.kind in _STEPS and one.request and _rank(one) >= _rank(last.get(one.request)):
            last[one.request] = one
    path: set[str] = set()
    for end in last.values():
        _follow(end.id, by_id, handed_up, path)
    for name in [*path]:
        path |= {one.id for one in below.get(name, ()) if one.kind == "wait"}
    for request in {by_id[name].request for name in path}:
        path |= {one.id for one in found if one.kind == "request" and one.request == request}
    return tuple(replace(one, critical=True) if one.id in path else one for one in found)


def _rank(one: Span | None) -> tuple[bool, float]:
    """Rank a step by how well it stands for the end: the answer's post, or else whatever was last under way."""
    if one is None:
        return (False, 0.0)
    return (one.kind == "post" and one.name == _LAST, one.end if one.end is not None else float("inf"))


def _follow(name: str, by_id: Mapping[str, Span], handed_up: Mapping[str, str], path: set[str]) -> None:
    while name and name not in path:
        path.add(name)
        here = by_id[name]
        inside = handed_up.get(name, "")
        if inside and inside not in path:
            _follow(inside, by_id, handed_up, path)
        around = by_id.get(here.parent)
        name = here.after or (around.id if around is not None and around.kind == "attempt" else "")
