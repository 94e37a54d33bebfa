"""Makes one text of what is remembered: all of it while it fits, else what fits the request best. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from handoff.contracts import Section
from handoff.conversation.memory import Memory
from handoff.conversation.working_time import day_of
from handoff.materials.passages import score_passages
from handoff.text.context_budget import tokens

MEMORY = "memory"
"""The name of the material."""
SOURCE = "memory:"
"""The prefix of a memory's name where it is named as the source of a material."""
ROOM = 800
"""Tokens of all that a request is told."""
LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class MemoryText:
    """What a request is told: a text with a section for each thing, and how many were left out."""

    text: str
    outline: tuple[Section, ...]
    left_out: int = 0


def render_memories(
    kept: Mapping[str, Memory],
    names: Mapping[str, str],
    wanted: str,
    *,
    above: str,
    offset: int = 0,
    room: int = ROOM,
) -> MemoryText:
    """Make the text, the oldest first.

    `names` are what people call those who said it, by id; `above` stands on top. `offset` are the seconds by which the
    zone of the days is ahead of UTC.
    """
    order = sorted(kept, key=lambda name: kept[name].at)
    titles = {name: _memory_title(kept[name], names, offset) for name in order}
    lines = {name: f"[{titles[name]}] {kept[name].text}" for name in order}
    chosen = _select_fitting(order, lines, wanted, room - tokens(above))
    left = len(order) - len(chosen)
    text = above + (f"\n({left} more left out here: they fit this request less.)" if left else "")
    outline = []
    for name in chosen:
        outline.append(Section(name=titles[name], start=len(text) + 1, message=f"{SOURCE}{name}"))
        text += f"\n{lines[name]}"
    return MemoryText(text, tuple(outline), left)


def _select_fitting(order: Sequence[str], lines: Mapping[str, str], wanted: str, room: int) -> list[str]:
    """Return what fits, in order: all of it, else the best first; of equal ones the newest."""
    if sum(tokens(lines[name]) for name in order) <= room:
        return list(order)
    scores = _score_lines(order, lines, wanted)
    chosen = set()
    for name in sorted(order, key=lambda name: (-scores[name], -order.index(name))):
        if (size := tokens(lines[name])) <= room:
            room -= size
            chosen.add(name)
    return [name for name in order if name in chosen]


def _score_lines(order: Sequence[str], lines: Mapping[str, str], wanted: str) -> dict[str, float]:
    text, starts = "", dict[str, int]()
    for name in order:
        starts[name] = len(text)
        text += f"{lines[name]}\n"
    found = score_passages(text, [Section(name=name, start=start) for name, start in starts.items()], wanted)
    scores = {one.start: one.score for one in found}
    return {name: scores.get(start, 0.0) for name, start in starts.items()}


def _memory_title(one: Memory, names: Mapping[str, str], offset: int) -> str:
    """Say who said it when, and where that stands: `Ana on 3 Mar 2026, https://...`."""
    told = f"{_author_name(one.user, names)} on {day_of(one.at, offset)}"
    if one.edited_by:
        told += f", changed by {_author_name(one.edited_by, names)} on {day_of(one.edited, offset)}"
    return f"{told}, {one.link}" if one.link else told


def _author_name(user: str, names: Mapping[str, str]) -> str:
    named = " ".join((names.get(user) or "somebody").replace("[", " ").replace("]", " ").split())
    return named[:LONGEST_NAME].strip()
