"""Texts: places, parts and passages of any language, what fits a budget, and what is let go where it does not."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.settings import SettingsError, read_settings
from handoff.contracts import Artifact, ContextLimits, Material, Section
from handoff.materials import outline
from handoff.materials.outline import find_part, name_place, summarize_outline
from handoff.materials.passages import find_best_passages, make_excerpt, split_passages
from handoff.text.context_budget import (
    MAX_FILL_SHARE,
    Piece,
    estimate_token_count,
    fill_budget,
    fits_budget,
    make_beginnings,
    pack_pieces,
)
from tests.handoff.kit import require

PAGES = "".join(f"Page {n} says nothing of note.\n" * 20 for n in range(1, 4))
OUTLINE = tuple(Section(name=f"page {n + 1}", start=n * 600) for n in range(3))


def pad_sentences(language: str, *sentences: str) -> str:
    """A long text with the sentences far apart."""
    filling = {"de": "Das Wetter im Norden bleibt kühl und windig. ", "es": "El tiempo en el norte sigue fresco. "}
    rest = filling.get(language, "北部の天気は引き続き涼しく風が強いでしょう。") * 40
    return "\n\n".join(part for sentence in sentences for part in (rest, sentence, rest))


@pytest.mark.parametrize(
    ("language", "right", "wrong", "question"),
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
    language: str, right: str, wrong: str, question: str
) -> None:
    text = pad_sentences(language, wrong, right)
    (best, *_) = find_best_passages(text, (), question, 3)
    assert right in text[best.start : best.end]
    assert right in make_excerpt(text, (), question, 2_500)


@given(st.text(max_size=4_000), st.lists(st.integers(0, 4_000), max_size=5))
def test_passages_are_the_whole_text_in_order(text: str, starts: list[int]) -> None:
    outline = tuple(Section(name=f"s{at}", start=at) for at in sorted(starts))
    parts = split_passages(text, outline)
    assert all(end - start > 0 for start, end in parts)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(parts))
    kept = "".join(text[start:end] for start, end in parts)
    assert kept.split() == text.split()


def test_where_no_word_is_found_sections_are_given_by_their_beginnings() -> None:
    text = "".join(f"{n}. " + "Some words that go on and on. " * 100 for n in range(5))
    outline = tuple(Section(name=f"part {n}", start=text.index(f"{n}. Some")) for n in range(5))
    assert [f"[part {n}]" in make_excerpt(text, outline, "qqq", 6_000) for n in range(5)] == [True] * 5


def test_of_a_conversation_the_newest_comes_first() -> None:
    text = "\n\n".join(f"Ana: line {n} of what we said, {'x ' * 150}" for n in range(60))
    said = make_excerpt(text, (), "qqq", 3_000, prefer_newest=True)
    assert "line 59 of" in said
    assert "line 55 of" in said
    assert "line 0 of" not in said
    text = text.replace("line 3 of what", "the budget of what")
    assert "the budget of" in make_excerpt(text, (), "budgets", 3_000, prefer_newest=True)


def test_a_place_is_cited_by_its_section_else_its_line() -> None:
    assert name_place(PAGES, OUTLINE, 0) == "page 1"
    assert name_place(PAGES, OUTLINE, 1_200) == "page 3"
    assert name_place("a\nb\nc", (), 4) == "line 3"


@pytest.mark.parametrize(
    ("citation", "start"),
    [("", 0), ("page 2", 600), ("Page 3", 1_200), ("line 2", 29), ("at 700", 700), ("page 9", None), ("at 9999", None)],
)
def test_a_part_is_found_by_what_it_is_cited_by(citation: str, start: int | None) -> None:
    found = find_part(PAGES, OUTLINE, citation, 500)
    assert (found.start if found else None) == start
    assert found is None or found.end - found.start <= 500


def test_headings_are_found_without_their_lines_and_exactly() -> None:
    outline = (Section(name="line 1: Chapter 73", start=0), Section(name="line 9: Chapter 7", start=300))
    found = require(find_part(PAGES, outline, "chapter 7", 100))
    assert found.start == 300
    assert summarize_outline(Material(name="m", outline=outline), 100) == "Chapter 73, Chapter 7"
    assert summarize_outline(Material(name="m", outline=outline), 12) == "Chapter 73, … (2 in all)"
    assert summarize_outline(Material(name="m", outline=OUTLINE), 12) == "3 pages"
    file = Artifact(id="x", name="m.log")
    assert (
        summarize_outline(Material(name="m", file=file, outline=(Section(name="line 1"), Section(name="line 51"))), 99)
        == ""
    )


WORDS = "a fair price for each seat of the house "
weighted_pieces = st.builds(
    lambda size, weight: Piece(
        f"p{size}", (WORDS * size, WORDS[:20]), weight, lambda most: (WORDS * size)[: max(0, most)]
    ),
    st.integers(1, 400),
    st.integers(0, 3),
)


@given(st.lists(weighted_pieces, min_size=1, max_size=6), st.integers(200, 20_000))
def test_filling_keeps_the_budget_and_leaves_out_nothing_while_there_is_room(some: list[Piece], budget: int) -> None:
    packed = fill_budget(some, budget)
    whole = sum(estimate_token_count(piece.forms[0]) for piece in some)
    assert packed.size.tokens == sum(map(estimate_token_count, packed.texts))
    cut = [text != piece.forms[0] for piece, text in zip(some, packed.texts, strict=True)]
    assert bool(packed.size.left_out) == any(cut)
    if fits_budget(whole, budget):
        assert not any(cut)
    least = sum(estimate_token_count(piece.forms[-1]) for piece in some)
    if fits_budget(least, budget):
        assert packed.size.tokens <= budget * MAX_FILL_SHARE
    if any(cut) and fits_budget(least, budget):
        spare = budget * MAX_FILL_SHARE - packed.size.tokens
        assert spare < budget * 0.35 + 60, "a part takes the room that is left"


# ---------------------------------------------------------------- packs

TEXT = st.text(alphabet="ab é漢\n", max_size=400)


@st.composite
def pieces(draw: st.DrawFn) -> Piece:
    forms = sorted(draw(st.lists(TEXT, min_size=1, max_size=3)), key=estimate_token_count, reverse=True)
    return Piece(draw(st.sampled_from(["one", "two", "three"])), tuple(forms), draw(st.integers(0, 3)))


@given(st.lists(pieces(), max_size=8), st.integers(1, 600))
def test_a_pack_fits_or_nothing_more_can_go_and_everything_let_go_is_named(
    drawn_pieces: list[Piece], budget: int
) -> None:
    made = pack_pieces(drawn_pieces, budget)
    assert len(made.texts) == len(drawn_pieces)
    whole = [piece.forms[0] for piece in drawn_pieces]
    if fits_budget(sum(map(estimate_token_count, whole)), budget):
        assert list(made.texts) == whole
        assert not made.size.left_out
    shortest = [piece.forms[-1] for piece in drawn_pieces]
    assert fits_budget(made.size.tokens, budget) or list(made.texts) == shortest
    assert made.size.tokens == sum(map(estimate_token_count, made.texts))
    changed = [piece for piece, text in zip(drawn_pieces, made.texts, strict=True) if text != piece.forms[0]]
    assert len(made.size.left_out) >= len(changed)
    for piece in changed:
        assert any(line.startswith(f"{piece.name}: ") for line in made.size.left_out)


def test_the_least_important_goes_first_and_what_always_stays_stays() -> None:
    request = Piece("the request", ("r" * 400,))
    sure = Piece("sure", ("s" * 400, "s" * 40), weight=90)
    unsure = Piece("unsure", ("u" * 400, "u" * 40), weight=40)
    made = pack_pieces([request, sure, unsure], 350)
    assert made.texts == ("r" * 400, "s" * 400, "u" * 40)
    assert made.size.left_out == ("unsure: 40 of 400 characters",)
    assert pack_pieces([request, sure, unsure], 10).texts == ("r" * 400, "s" * 40, "u" * 40)


def test_things_are_let_go_before_the_budget_is_full() -> None:
    piece = Piece("a", ("x" * 255, "x"))
    assert pack_pieces([piece], 100).texts == ("x" * 255,)
    assert pack_pieces([piece], 99).texts == ("x",)


def test_the_beginnings_of_a_long_text_halve_and_say_that_they_are_cut() -> None:
    forms = make_beginnings("x" * 5_000)
    assert [len(form) for form in forms] == [5_000, 2_500 + 13, 1_250 + 13]
    assert all(form.endswith("(… cut here)") for form in forms[1:])
    assert make_beginnings("short") == ("short",)


def test_the_budgets_of_the_tiers_can_be_set_each_on_its_own() -> None:
    context = read_settings({"LEADHAND_CONTEXT": "fast 4k, deep 12500"}).terms.context
    assert [context.get_tokens(tier) for tier in ("fast", "balanced", "deep", None)] == [4_000, 32_000, 12_500, 32_000]
    assert read_settings({}).terms.context == ContextLimits()
    for wrong in ("4k", "fast", "fast 0", "quick 4k", "fast 4k, fast 5k", "fast 4 k 5"):
        with pytest.raises(SettingsError, match=r"LEADHAND_CONTEXT is .*; it takes a tier and its tokens"):
            read_settings({"LEADHAND_CONTEXT": wrong})


TOKEN_COUNTS: tuple[tuple[str, int], ...] = (
    ("The supervisor plans the work, hands each part to a specialist, and posts one answer that names its gaps.", 22),
    ("Der Umsatz der Region Nord ist im dritten Quartal gestiegen, während die Kündigungen zurückgegangen sind.", 28),
    ("2026-01-10,North,35264754,0.00,1583312\n2026-02-11,North,35272673,1.37,1582981\n", 70),
    ('[{"region": "North", "month": "2026-01", "sales": 41251.5, "churned": 3, "notes": null}]', 44),
    ("北部地域の第三四半期の売上は前年同期比で十二パーセント増加しましたが、解約率は南部で高い水準にあります。", 38),
    ("Выручка северного региона в третьем квартале выросла на двенадцать процентов.", 28),
)
"""Texts with their tokens as the tokenizer of Qwen2.5 counts them."""


@pytest.mark.parametrize(("text", "token_count"), TOKEN_COUNTS)
def test_tokens_are_rather_too_many_than_too_few(text: str, token_count: int) -> None:
    assert 0.8 * token_count <= estimate_token_count(text) <= 1.7 * token_count


# ---------------------------------------------------------------- outlines that were cut

HEADED_TEXT = "# One\na\n## Two\nb\n```\n# no heading\n```\nThree\n=====\nc\n# Four\nd\n"


def sections(text: str, *named_sections: Section) -> list[tuple[str, int]]:
    return [(one.name, one.start) for one in outline.complete_outline(text, named_sections)]


def test_headings_between_are_found_with_their_places() -> None:
    first = Section(name="One", start=0, unnamed=2)
    last = Section(name="Four", start=HEADED_TEXT.index("# Four"))
    assert sections(HEADED_TEXT, first, last) == [
        ("One", 0),
        ("Two", HEADED_TEXT.index("## Two")),
        ("Three", HEADED_TEXT.index("Three")),
        ("Four", HEADED_TEXT.index("# Four")),
    ]


def test_names_by_line_get_their_own_line() -> None:
    first = Section(name="line 1: One", start=0, unnamed=2)
    assert [name for name, _ in sections(HEADED_TEXT, first)][:3] == ["line 1: One", "line 3: Two", "line 8: Three"]


def test_a_text_that_shows_none_of_them_keeps_the_one_that_is_named() -> None:
    assert sections("no heading here", Section(name="One", start=0, unnamed=5)) == [("One", 0)]
