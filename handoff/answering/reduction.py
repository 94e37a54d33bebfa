"""Condenses material that is too long for the synthesizer, in rounds of model calls.

It divides the material into parts, one for each call, and restores important sentences that a reply lost. The parts
follow from the job alone, so after a crash a round continues with the missing parts. Rounds and parts are limited. The
notes of a part are at most a quarter as long as the part. Everything that is cut or not read is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from handoff.checking.figures import list_written_numbers
from handoff.checking.known_figures import KnownFigures
from handoff.contracts import Note
from handoff.text.context_budget import estimate_token_count, fits_budget
from handoff.text.headings import demote_headings
from handoff.text.text_words import extract_words, split_sentences

RESULTS_SHARE = 0.75
"""The share of a context that the results may take. The rest is for the request, contradictions and a draft."""
MAX_ROUNDS = 3
MAX_PARTS = 24
"""The most parts, and so calls, of a round. Material beyond them is left out and named."""
PART_SHARE = 0.4
"""The share of the budget that one part takes."""
SHRINK_FACTOR = 4
"""The factor by which the notes of a part must be shorter than the part, in tokens."""
MAX_RESTORED_SENTENCES = 8
"""The most sentences of a part that are restored word for word, because the request asks for their figures."""

ReducedParts = Mapping[tuple[int, int], tuple[Note, ...]]
"""The notes of the finished parts, by round and part, both counted from 1."""


@dataclass(frozen=True, slots=True)
class ReductionCall:
    """One call of a round: the notes of a part, to be condensed to at most `max_note_tokens` tokens."""

    round: int
    part: int
    notes: tuple[Note, ...]
    max_note_tokens: int


@dataclass(frozen=True, slots=True)
class ReductionStage:
    """The state of condensing: the material as it is now, and the parts to condense next (empty: condensing is over).

    `rounds` counts the rounds so far, including the present one. `left_out` has a line for each note that was not read.
    """

    notes: tuple[Note, ...]
    parts: tuple[ReductionCall, ...] = ()
    rounds: int = 0
    left_out: tuple[str, ...] = ()


def plan_reduction(material: Sequence[Note], finished_parts: ReducedParts, budget: int) -> ReductionStage:
    """Return the state of condensing `material` to `budget` tokens after the parts `finished_parts`.

    `material` is the whole material, as it was before the first round.
    """
    notes = tuple(material)
    left_out: tuple[str, ...] = ()
    for number in range(1, MAX_ROUNDS + 1):
        if fits_budget(estimate_notes_tokens(notes), budget):
            return ReductionStage(notes, rounds=number - 1, left_out=left_out)
        groups, unread = _group_notes(notes, int(budget * PART_SHARE))
        left_out += unread
        parts = [
            ReductionCall(number, place, group, max(1, estimate_notes_tokens(group) // SHRINK_FACTOR))
            for place, group in enumerate(groups, start=1)
        ]
        waiting_parts = tuple(part for part in parts if (number, part.part) not in finished_parts)
        if waiting_parts:
            return ReductionStage(notes, waiting_parts, number, left_out)
        notes = tuple(note for part in parts for note in finished_parts[number, part.part])
    return ReductionStage(notes, rounds=MAX_ROUNDS, left_out=left_out)


def compute_results_budget(context_tokens: int) -> int:
    """Return how many tokens of a context of `context_tokens` tokens the results may take."""
    return int(context_tokens * RESULTS_SHARE)


def estimate_notes_tokens(notes: Sequence[Note]) -> int:
    """Return the estimated number of tokens of all notes together, including their sources."""
    return sum(estimate_token_count(note.text) + estimate_token_count(note.source) for note in notes)


def _group_notes(notes: Sequence[Note], limit: int) -> tuple[list[tuple[Note, ...]], tuple[str, ...]]:
    """Divide the notes into groups of at most `limit` tokens, and split notes that are longer.

    Returns the first `MAX_PARTS` groups, and a line for each note that is in none of them.
    """
    groups: list[list[Note]] = [[]]
    for note in notes:
        for piece in _split_note(note, limit):
            if groups[-1] and estimate_notes_tokens([*groups[-1], piece]) > limit:
                groups.append([])
            groups[-1].append(piece)
    unread = [note for group in groups[MAX_PARTS:] for note in group]
    unread_lines = tuple(f"{note.source}: {len(note.text):,} characters were not read" for note in unread)
    return [tuple(group) for group in groups[:MAX_PARTS]], unread_lines


def _split_note(note: Note, limit: int) -> list[Note]:
    room = max(1, limit - estimate_token_count(note.source))
    texts = []
    rest = note.text
    while estimate_token_count(rest) > room:
        cut_index = _find_cut_index(rest, room)
        texts.append(rest[:cut_index])
        rest = rest[cut_index:]
    return [Note(source=note.source, text=text) for text in (*texts, rest) if text.strip()]


def _find_cut_index(text: str, limit: int) -> int:
    """Return the index at which to cut a text to at most `limit` tokens: after a paragraph, line, sentence or word."""
    high = min(len(text), limit * 4)
    while high > 1 and estimate_token_count(text[:high]) > limit:
        high = high * 4 // 5
    for mark in ("\n\n", "\n", ". ", " "):
        mark_index = text.rfind(mark, high // 2, high)
        if mark_index > 0:
            return mark_index + len(mark)
    return max(1, high)


def make_notes_from_reply(request: str, part: ReductionCall, reply: str) -> tuple[tuple[Note, ...], tuple[str, ...]]:
    """Return the notes that replace a part, made from the model's reply, and lines about what they leave out.

    If the reply lost a figure that the request asks for, its sentence is restored word for word, up to
    `MAX_RESTORED_SENTENCES` of them; further ones are named as left out. A reply that is too long is cut, and the cut
    is named.
    """
    reply = reply.strip()
    cut_lines: tuple[str, ...] = ()
    if estimate_token_count(reply) > part.max_note_tokens:
        whole = len(reply)
        reply = reply[: _find_cut_index(reply, part.max_note_tokens)].rstrip()
        cut_lines = (f"{_join_sources(part)}: notes cut at {len(reply):,} of {whole:,} characters",)
    lost_sentences = _find_lost_figures(request, part, reply)
    restored_sentences, rest = lost_sentences[:MAX_RESTORED_SENTENCES], lost_sentences[MAX_RESTORED_SENTENCES:]
    left_out_lines = tuple(f"{source}: {sentence}" for source, sentence in rest)
    notes = list(_split_reply(part, reply))
    if restored_sentences:
        notes.append(
            Note(source="Word for word", text="\n".join(f"- {sentence}" for _, sentence in restored_sentences))
        )
    return tuple(notes), (*cut_lines, *left_out_lines)


def truncate_notes(request: str, part: ReductionCall) -> tuple[tuple[Note, ...], tuple[str, ...]]:
    """Return notes for a part without asking a model: the beginning of each note, and lines about what is left out."""
    share = max(1, part.max_note_tokens // len(part.notes))
    heads = [f"## {note.source}\n{note.text[: _find_cut_index(note.text, share)]}" for note in part.notes]
    notes, left_out = make_notes_from_reply(request, part, "\n\n".join(heads))
    whole = sum(len(note.text) for note in part.notes)
    return notes, (f"{_join_sources(part)}: only the beginning of {whole:,} characters", *left_out)


def render_part(part: ReductionCall) -> str:
    """Render a part for the prompt: a heading `## source` and the text of each note."""
    return "\n\n".join(f"## {note.source}\n{demote_headings(note.text)}" for note in part.notes)


def _join_sources(part: ReductionCall) -> str:
    return ", ".join(dict.fromkeys(note.source for note in part.notes))


def _split_reply(part: ReductionCall, reply: str) -> list[Note]:
    """Split a reply into notes at the headings that it kept from the material; without such headings it is one note."""
    sources_by_heading = {note.source.casefold(): note.source for note in part.notes}
    notes: list[Note] = []
    for chunk in re.split(r"^(?=#{1,3} )", reply, flags=re.MULTILINE):
        heading, _, text = chunk.partition("\n")
        source = sources_by_heading.get(heading.lstrip("# ").strip().casefold())
        if source is not None and text.strip():
            notes.append(Note(source=source, text=text.strip()))
        elif chunk.strip() and notes:
            last = notes.pop()
            notes.append(Note(source=last.source, text=f"{last.text}\n{chunk.strip()}"))
        elif chunk.strip():
            notes.append(Note(source=_join_sources(part), text=chunk.strip()))
    return notes


def _find_lost_figures(request: str, part: ReductionCall, reply: str) -> list[tuple[str, str]]:
    """Return the sentences whose figures the reply lost and that the request asks for, as pairs (source, sentence)."""
    request_words = {one for one in extract_words(request) if not any(sign.isdigit() for sign in one)}
    request_figures, reply_figures = KnownFigures.from_text(request), KnownFigures.from_text(reply)
    lost_sentences: list[tuple[str, str]] = []
    for note in part.notes:
        for sentence in split_sentences(note.text):
            figures = list_written_numbers(sentence)
            has_lost_figure = not all(reply_figures.contains_figure(*figure) for figure in figures)
            if has_lost_figure and (
                extract_words(sentence) & request_words
                or any(request_figures.contains_figure(*figure) for figure in figures)
            ):
                reply_figures.add_texts([sentence])
                lost_sentences.append((note.source, sentence[:MAX_SENTENCE_LENGTH]))
    return lost_sentences


MAX_SENTENCE_LENGTH = 240
"""The most characters of a sentence that is restored or named."""
