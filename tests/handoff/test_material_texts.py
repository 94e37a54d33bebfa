"""Finding places, parts and passages in texts of any language, and filling a budget with them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff.contracts import Artifact, Material, Section
from handoff.materials.outline import find_part, in_short, place
from handoff.materials.passages import excerpt, search, split
from handoff.text.context_budget import FULL, Piece, fill, fits, tokens

PAGES = "".join(f"Page {n} says nothing of note.\n" * 20 for n in range(1, 4))
OUTLINE = tuple(Section(name=f"page {n + 1}", start=n * 600) for n in range(3))


def padded(language: str, *sentences: str) -> str:
    """A long text with the sentences far apart."""
    filling = {"de": "Das Wetter im Norden bleibt kühl und windig. ", "es": "El tiempo en el norte sigue fresco. "}
    rest = filling.get(language, "北部の天気は引き続き涼しく風が強いでしょう。") * 40
    return "\n\n".join(part for sentence in sentences for part in (rest, sentence, rest))


@pytest.mark.parametrize(
    ("language", "right", "wrong", "asked"),
    [
        (
            "de",
            "Die Kündigungsfrist beträgt drei Monate.",
            "Der Hund bellt im Hof.",
            "Welche Frist gilt für Kündigungen?",
        ),
        ("de", "Der Mietvertrag nennt eine Kaution.", "Der Hund bellt im Hof.", "Kautionen in Mietverträgen"),
        ("es", "El plazo de cancelación es de tres meses.", "El perro ladra.", "¿Cuándo se puede cancelar? plazos"),
        ("ja", "解約の通知期間は三か月です。", "犬が庭で吠えています。", "解約の期間を教えてください"),
        ("zh", "合同的取消期限为三个月。", "狗在院子里叫。", "取消期限是多久"),
    ],
)
def test_passages_are_found_in_other_forms_and_inside_compounds(
    language: str, right: str, wrong: str, asked: str
) -> None:
    text = padded(language, wrong, right)
    (best, *_) = search(text, (), asked, 3)
    assert right in text[best.start : best.end]
    assert right in excerpt(text, (), asked, 2_500)


@given(st.text(max_size=4_000), st.lists(st.integers(0, 4_000), max_size=5))
def test_passages_are_the_whole_text_in_order(text: str, starts: list[int]) -> None:
    outline = tuple(Section(name=f"s{at}", start=at) for at in sorted(starts))
    parts = split(text, outline)
    assert all(end - start > 0 for start, end in parts)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(parts))
    kept = "".join(text[start:end] for start, end in parts)
    assert kept.split() == text.split()


def test_where_no_word_is_found_sections_are_given_by_their_beginnings() -> None:
    text = "".join(f"{n}. " + "Some words that go on and on. " * 100 for n in range(5))
    outline = tuple(Section(name=f"part {n}", start=text.index(f"{n}. Some")) for n in range(5))
    assert [f"[part {n}]" in excerpt(text, outline, "qqq", 6_000) for n in range(5)] == [True] * 5


def test_of_a_conversation_the_newest_comes_first() -> None:
    text = "\n\n".join(f"Ana: line {n} of what we said, {'x ' * 150}" for n in range(60))
    said = excerpt(text, (), "qqq", 3_000, newest=True)
    assert "line 59 of" in said
    assert "line 55 of" in said
    assert "line 0 of" not in said
    text = text.replace("line 3 of what", "the budget of what")
    assert "the budget of" in excerpt(text, (), "budgets", 3_000, newest=True)


def test_a_place_is_cited_by_its_section_else_its_line() -> None:
    assert place(PAGES, OUTLINE, 0) == "page 1"
    assert place(PAGES, OUTLINE, 1_200) == "page 3"
    assert place("a\nb\nc", (), 4) == "line 3"


@pytest.mark.parametrize(
    ("wanted", "start"),
    [("", 0), ("page 2", 600), ("Page 3", 1_200), ("line 2", 29), ("at 700", 700), ("page 9", None), ("at 9999", None)],
)
def test_a_part_is_found_by_what_it_is_cited_by(wanted: str, start: int | None) -> None:
    found = find_part(PAGES, OUTLINE, wanted, 500)
    assert (found.start if found else None) == start
    assert found is None or found.end - found.start <= 500


def test_headings_are_found_without_their_lines_and_exactly() -> None:
    outline = (Section(name="line 1: Chapter 73", start=0), Section(name="line 9: Chapter 7", start=300))
    found = find_part(PAGES, outline, "chapter 7", 100)
    assert found is not None
    assert found.start == 300
    assert in_short(Material(name="m", outline=outline), 100) == "Chapter 73, Chapter 7"
    assert in_short(Material(name="m", outline=outline), 12) == "Chapter 73, … (2 in all)"
    assert in_short(Material(name="m", outline=OUTLINE), 12) == "3 pages"
    file = Artifact(id="x", name="m.log")
    assert in_short(Material(name="m", file=file, outline=(Section(name="line 1"), Section(name="line 51"))), 99) == ""


WORDS = "a fair price for each seat of the house "
pieces = st.builds(
    lambda size, weight: Piece(
        f"p{size}", (WORDS * size, WORDS[:20]), weight, lambda most: (WORDS * size)[: max(0, most)]
    ),
    st.integers(1, 400),
    st.integers(0, 3),
)


@given(st.lists(pieces, min_size=1, max_size=6), st.integers(200, 20_000))
def test_filling_keeps_the_budget_and_leaves_out_nothing_while_there_is_room(some: list[Piece], budget: int) -> None:
    packed = fill(some, budget)
    whole = sum(tokens(piece.forms[0]) for piece in some)
    assert packed.packed.tokens == sum(map(tokens, packed.texts))
    cut = [text != piece.forms[0] for piece, text in zip(some, packed.texts, strict=True)]
    assert bool(packed.packed.left_out) == any(cut)
    if fits(whole, budget):
        assert not any(cut)
    least = sum(tokens(piece.forms[-1]) for piece in some)
    if fits(least, budget):
        assert packed.packed.tokens <= budget * FULL
    if any(cut) and fits(least, budget):
        spare = budget * FULL - packed.packed.tokens
        assert spare < budget * 0.35 + 60, "a part takes the room that is left"
