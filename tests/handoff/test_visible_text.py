"""What nobody would see is dropped from words, and spelt out where people approve it: so that it can be read back."""

from hypothesis import example, given
from hypothesis import strategies as st

from handoff.text.visible_text import spelt, unspelt, visible

ODD = st.sampled_from(["\u200b", "\u202e", "\u2028", "\u3164", "\x07", " ", "\t", "\n", "[U+200B]", "[3 spaces]", "x"])
TEXTS = st.lists(st.tuples(ODD, st.integers(1, 40)), max_size=8).map(lambda parts: "".join(one * n for one, n in parts))


@given(st.text() | TEXTS)
@example("\n" * 57 + "pay 100")
@example("a" + " " * 2_000 + "b")
@example("a\n[9 blank lines]\nb")
def test_what_is_spelt_out_is_read_back_exactly(text: str) -> None:
    assert unspelt(spelt(text)) == text
    assert visible(spelt(text)) == spelt(text), "and nothing of it is hidden"


def test_long_white_space_is_counted_and_marks_are_no_marks() -> None:
    assert spelt("a" + "\n" * 58 + "b") == "a\n[57 blank lines]\nb"
    assert spelt("a" + " " * 2_000 + "b") == "a[2,000 spaces]b"
    assert spelt("am\u200bount") == "am[U+200B]ount"
    assert spelt("[U+200B]") == "[U+005B]U+200B]"
    assert spelt(" x") == "[1 space]x"


def test_words_lose_what_nobody_sees() -> None:
    assert visible("a\u202eb\u200bc\x07") == "abc"
    assert visible("caf\u00e9\u2028now\ufe0f \u3164\U000e0041") == "caf\u00e9 now "
