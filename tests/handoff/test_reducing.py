"""Condensing ends, keeps to its caps, and loses nothing without saying so, whatever the model writes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff.answering.reducing import (
    MAX_PARTS,
    MAX_ROUNDS,
    RESCUED,
    SENTENCE,
    SHORTER,
    Part,
    build_notes_from_reply,
    size,
    stage,
    truncate_notes,
)
from handoff.contracts import Note
from handoff.text.context_budget import fits, tokens

BUDGET = 400
WORDS = st.lists(
    st.sampled_from(["churn", "Norway", "rose.", "7.3 %", "fine", "\n\n", "漢字漢字", "- and"]), max_size=400
)
REPLIES = st.one_of(st.just(""), WORDS.map(" ".join), st.just("x" * 9_000))


@given(
    texts=st.lists(WORDS.map(" ".join), min_size=1, max_size=8),
    replies=st.lists(REPLIES, min_size=1, max_size=4),
    fails=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_every_run_ends_within_its_caps_with_its_losses_named(
    texts: list[str], replies: list[str], *, fails: bool
) -> None:
    material = [Note(source=f"Part {n}", text=text) for n, text in enumerate(texts)]
    done: dict[tuple[int, int], tuple[Note, ...]] = {}
    calls = 0
    while parts := stage(material, done, BUDGET).parts:
        assert parts[0].round <= MAX_ROUNDS
        assert len(parts) <= MAX_PARTS
        part = parts[-1]  # in any order: each stands on its own
        reply = replies[calls % len(replies)]
        made, left_out = truncate_notes("churn?", part) if fails else build_notes_from_reply("churn?", part, reply)
        most = part.limit + RESCUED * (SENTENCE + 3) + sum(tokens(note.source) for note in (*part.notes, *made)) + 20
        assert size(made) <= most
        if tokens(reply.strip()) > part.limit or fails:
            assert left_out, "what was cut is named"
        done[part.round, part.part] = made
        calls += 1
        assert calls <= MAX_ROUNDS * MAX_PARTS
    end = stage(material, done, BUDGET)
    assert fits(size(end.notes), BUDGET) or end.rounds == MAX_ROUNDS
    if fits(size(material), BUDGET):
        assert not done
        assert end.notes == tuple(material)


@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_all_of_the_material_is_read_or_named(texts: list[str]) -> None:
    material = [Note(source=f"Part {n}", text=text) for n, text in enumerate(texts)]
    first = stage(material, {}, BUDGET)
    if first.parts:
        read = "".join(note.text for part in first.parts for note in part.notes)
        whole = "".join(note.text for note in material if note.text.strip())
        assert "".join(read.split()) == "".join(whole.split()) or first.left_out


def test_a_round_that_was_cut_short_goes_on_with_the_parts_it_lacks() -> None:
    material = [Note(source=f"Part {n}", text="word " * 200) for n in range(4)]
    first = stage(material, {}, BUDGET)
    assert [part.part for part in first.parts] == list(range(1, len(first.parts) + 1))
    assert len(first.parts) > 1
    rest = stage(material, {(1, 1): (Note(source="Part 0", text="short"),)}, BUDGET)
    assert [part.part for part in rest.parts] == [part.part for part in first.parts[1:]]


def part(text: str) -> Part:
    return Part(1, 1, (Note(source="Refunds", text=text),), max(1, tokens(text) // SHORTER))


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ("What was the refund rate in Norway?", "The refund rate in Norway was 7.3 %."),
        ("Why did 4,872 people leave?", "Of those, 4,872 went to Globex."),
    ],
)
def test_a_figure_that_the_request_names_survives_word_for_word(request_: str, sentence: str) -> None:
    filler = "It all went well that day and nothing came up. " * 20
    notes, left_out = build_notes_from_reply(request_, part(filler + sentence), "- All well.")
    assert any(sentence in note.text for note in notes)
    assert not left_out
    notes, _ = build_notes_from_reply(request_, part(filler + sentence), f"- All well. {sentence}")
    assert len(notes) == 1, "what survived is not put back"


def test_figures_beyond_what_is_put_back_are_named_as_left_out() -> None:
    many = " ".join(f"Refund case {n} took {n} days." for n in range(2, 2 + RESCUED + 3))
    notes, left_out = build_notes_from_reply("List the refund cases", part(many + " padding" * 400), "- Several cases.")
    assert len(notes[-1].text.splitlines()) == RESCUED
    assert len(left_out) == 3
    assert all(line.startswith("Refunds: Refund case") for line in left_out)


def test_notes_that_are_too_long_are_cut_and_that_is_said() -> None:
    given_ = part("Nothing of note came up that day. " * 40)
    notes, left_out = build_notes_from_reply("?", given_, "- so it went on and on\n" * 400)
    assert size(notes) <= given_.limit + tokens("Refunds")
    assert left_out[0].startswith("Refunds: notes cut at ")


def test_notes_keep_the_headings_of_their_sources() -> None:
    both = Part(1, 1, (Note(source="Refunds", text="a " * 400), Note(source="Churn", text="b " * 400)), 200)
    notes, _ = build_notes_from_reply("?", both, "Preface.\n## Churn\n- down\n## Refunds\n- up")
    assert [(note.source, note.text) for note in notes] == [
        ("Refunds, Churn", "Preface."),
        ("Churn", "- down"),
        ("Refunds", "- up"),
    ]
