"""What fits is left as it is; what does not is let go in order, and all of it is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.settings import SettingsError, read_settings
from handoff.contracts import Context
from handoff.text.context_budget import Piece, beginnings, fits, pack, tokens

TEXT = st.text(alphabet="ab é漢\n", max_size=400)


@st.composite
def pieces(draw: st.DrawFn) -> Piece:
    forms = sorted(draw(st.lists(TEXT, min_size=1, max_size=3)), key=tokens, reverse=True)
    return Piece(draw(st.sampled_from(["one", "two", "three"])), tuple(forms), draw(st.integers(0, 3)))


@given(st.lists(pieces(), max_size=8), st.integers(1, 600))
def test_a_pack_fits_or_nothing_more_can_go_and_everything_let_go_is_named(given_: list[Piece], budget: int) -> None:
    made = pack(given_, budget)
    assert len(made.texts) == len(given_)
    whole = [piece.forms[0] for piece in given_]
    if fits(sum(map(tokens, whole)), budget):
        assert list(made.texts) == whole
        assert not made.packed.left_out
    shortest = [piece.forms[-1] for piece in given_]
    assert fits(made.packed.tokens, budget) or list(made.texts) == shortest
    assert made.packed.tokens == sum(map(tokens, made.texts))
    changed = [piece for piece, text in zip(given_, made.texts, strict=True) if text != piece.forms[0]]
    assert len(made.packed.left_out) >= len(changed)
    for piece in changed:
        assert any(line.startswith(f"{piece.name}: ") for line in made.packed.left_out)


def test_the_least_important_goes_first_and_what_always_stays_stays() -> None:
    request = Piece("the request", ("r" * 400,))
    sure = Piece("sure", ("s" * 400, "s" * 40), weight=90)
    unsure = Piece("unsure", ("u" * 400, "u" * 40), weight=40)
    made = pack([request, sure, unsure], 350)
    assert made.texts == ("r" * 400, "s" * 400, "u" * 40)
    assert made.packed.left_out == ("unsure: 40 of 400 characters",)
    assert pack([request, sure, unsure], 10).texts == ("r" * 400, "s" * 40, "u" * 40)


def test_things_are_let_go_before_the_budget_is_full() -> None:
    piece = Piece("a", ("x" * 255, "x"))
    assert pack([piece], 100).texts == ("x" * 255,)
    assert pack([piece], 99).texts == ("x",)


def test_the_beginnings_of_a_long_text_halve_and_say_that_they_are_cut() -> None:
    forms = beginnings("x" * 5_000)
    assert [len(form) for form in forms] == [5_000, 2_500 + 13, 1_250 + 13]
    assert all(form.endswith("(… cut here)") for form in forms[1:])
    assert beginnings("short") == ("short",)


def test_the_budgets_of_the_tiers_can_be_set_each_on_its_own() -> None:
    context = read_settings({"LEADHAND_CONTEXT": "fast 4k, deep 12500"}).terms.context
    assert [context.of(tier) for tier in ("fast", "balanced", "deep", None)] == [4_000, 32_000, 12_500, 32_000]
    assert read_settings({}).terms.context == Context()
    for wrong in ("4k", "fast", "fast 0", "quick 4k", "fast 4k, fast 5k", "fast 4 k 5"):
        with pytest.raises(SettingsError, match=r"LEADHAND_CONTEXT is .*; it takes a tier and its tokens"):
            read_settings({"LEADHAND_CONTEXT": wrong})


COUNTED: tuple[tuple[str, int], ...] = (
    ("The supervisor plans the work, hands each part to a specialist, and posts one answer that names its gaps.", 22),
    ("Der Umsatz der Region Nord ist im dritten Quartal gestiegen, während die Kündigungen zurückgegangen sind.", 28),
    ("2026-01-10,North,35264754,0.00,1583312\n2026-02-11,North,35272673,1.37,1582981\n", 70),
    ('[{"region": "North", "month": "2026-01", "sales": 41251.5, "churned": 3, "notes": null}]', 44),
    ("北部地域の第三四半期の売上は前年同期比で十二パーセント増加しましたが、解約率は南部で高い水準にあります。", 38),
    ("Выручка северного региона в третьем квартале выросла на двенадцать процентов.", 28),
)
"""Texts with their tokens as the tokenizer of Qwen2.5 counts them."""


@pytest.mark.parametrize(("text", "counted"), COUNTED)
def test_tokens_are_rather_too_many_than_too_few(text: str, counted: int) -> None:
    assert 0.8 * counted <= tokens(text) <= 1.7 * counted
