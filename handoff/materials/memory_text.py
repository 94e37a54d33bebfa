"""Renders the memories for a request as one text: all of them if they fit, otherwise the most relevant ones. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from handoff.contracts import Section
from handoff.conversation.memory import Memory
from handoff.conversation.working_time import day_of
from handoff.materials.passages import score_passages
from handoff.text.context_budget import tokens

MEMORY = "memory"
"""The name of the material with the memories."""
SOURCE = "memory:"
"""The prefix of a memory's name in `Section.message`."""
ROOM = 800
"""The most tokens of all memories that a request gets."""
LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class MemoryText:
    """The text of the memories for a request, with one section each, and the number of memories left out."""

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
    """Render memories as one text, the oldest first.

    Args:
        kept: The memories by name.
        names: The names of their authors by Slack id.
        wanted: The request, which the memories should match.
        above: The text above the memories.
        offset: The seconds by which the time zone of their dates is ahead of UTC.
        room: The most tokens of the whole text.
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
    """Return the names of the memories that fit into `room` tokens, in order.

    If not all fit, the best matches are preferred, and the newest among equal ones.
    """
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
    """Return the title of a memory with its author, date and link: `Ana on 3 Mar 2026, https://...`."""
    told = f"{_author_name(one.user, names)} on {day_of(one.at, offset)}"
    if one.edited_by:
        told += f", changed by {_author_name(one.edited_by, names)} on {day_of(one.edited, offset)}"
    return f"{told}, {one.link}" if one.link else told


def _author_name(user: str, names: Mapping[str, str]) -> str:
    named = " ".join((names.get(user) or "somebody").replace("[", " ").replace("]", " ").split())
    return named[:LONGEST_NAME].strip()
