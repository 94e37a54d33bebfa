"""Renders the memories for a request as one text: all of them if they fit, otherwise the most relevant ones. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from handoff.contracts import Section
from handoff.conversation.memory import Memory
from handoff.conversation.working_time import format_date
from handoff.materials.passages import score_passages
from handoff.text.context_budget import estimate_token_count

MEMORY_NAME = "memory"
"""The name of the material with the memories."""
MEMORY_ID_PREFIX = "memory:"
"""The prefix of a memory's name in `Section.message`."""
MAX_MEMORY_TOKENS = 800
"""The most tokens of the memories of one request together, with their heading."""
MAX_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class MemoryText:
    """The text of the memories for a request, with one section each, and the number of memories left out."""

    text: str
    outline: tuple[Section, ...]
    left_out_count: int = 0


def render_memories(
    memories: Mapping[str, Memory],
    names: Mapping[str, str],
    request_text: str,
    *,
    heading: str,
    utc_offset_seconds: int = 0,
    max_tokens: int = MAX_MEMORY_TOKENS,
) -> MemoryText:
    """Render memories as one text, the oldest first.

    Args:
        memories: The memories by name.
        names: The names of their authors by Slack id.
        request_text: The text of the request. If not all memories fit, those that match it best are chosen.
        heading: The text above the memories.
        utc_offset_seconds: The seconds by which the time zone of their dates is ahead of UTC.
        max_tokens: The most tokens of the whole text.
    """
    order = sorted(memories, key=lambda name: memories[name].at)
    titles = {name: _render_memory_title(memories[name], names, utc_offset_seconds) for name in order}
    lines = {name: f"[{titles[name]}] {memories[name].text}" for name in order}
    chosen_names = _select_fitting_memories(order, lines, request_text, max_tokens - estimate_token_count(heading))
    left_out_count = len(order) - len(chosen_names)
    text = heading + (f"\n({left_out_count} more left out here: they fit this request less.)" if left_out_count else "")
    outline = []
    for name in chosen_names:
        outline.append(Section(name=titles[name], start=len(text) + 1, message=f"{MEMORY_ID_PREFIX}{name}"))
        text += f"\n{lines[name]}"
    return MemoryText(text, tuple(outline), left_out_count)


def _select_fitting_memories(
    order: Sequence[str], lines: Mapping[str, str], request_text: str, max_tokens: int
) -> list[str]:
    """Return the names of the memories that fit into `max_tokens` tokens, in order.

    If not all fit, those that best match the request are preferred, and the newest among equal ones.
    """
    if sum(estimate_token_count(lines[name]) for name in order) <= max_tokens:
        return list(order)
    scores = _score_lines(order, lines, request_text)
    chosen_names = set()
    for name in sorted(order, key=lambda name: (-scores[name], -order.index(name))):
        if (size := estimate_token_count(lines[name])) <= max_tokens:
            max_tokens -= size
            chosen_names.add(name)
    return [name for name in order if name in chosen_names]


def _score_lines(order: Sequence[str], lines: Mapping[str, str], request_text: str) -> dict[str, float]:
    text, starts = "", dict[str, int]()
    for name in order:
        starts[name] = len(text)
        text += f"{lines[name]}\n"
    passages = score_passages(text, [Section(name=name, start=start) for name, start in starts.items()], request_text)
    scores = {one.start: one.score for one in passages}
    return {name: scores.get(start, 0.0) for name, start in starts.items()}


def _render_memory_title(memory: Memory, names: Mapping[str, str], utc_offset_seconds: int) -> str:
    """Return the title of a memory with its author, date and link: `Ana on 3 Mar 2026, https://...`."""
    title = f"{_render_author_name(memory.user, names)} on {format_date(memory.at, utc_offset_seconds)}"
    if memory.edited_by:
        title += (
            f", changed by {_render_author_name(memory.edited_by, names)} on "
            f"{format_date(memory.edited, utc_offset_seconds)}"
        )
    return f"{title}, {memory.link}" if memory.link else title


def _render_author_name(user: str, names: Mapping[str, str]) -> str:
    author_name = " ".join((names.get(user) or "somebody").replace("[", " ").replace("]", " ").split())
    return author_name[:MAX_NAME_LENGTH].strip()
