"""What of an answer is a sentence that can be checked, and the words that people see around a figure."""

from __future__ import annotations

import pytest

from handoff.evidence.statements import MOST, statements_of, words_around

ANSWER = """# What the lease says

- **The rent is due on the first.** It rises by 2 % a year.
> 2. Either side may leave with three months' notice.

| Month | Rent |
| --- | --- |
| May | 1,240 |

```sql
SELECT sum(rent) FROM lease
```
Yes.
租金每年上涨百分之二。
"""


def test_sentences_are_what_a_verifier_can_check_and_nothing_else() -> None:
    assert statements_of(ANSWER) == [
        "The rent is due on the first.",
        "It rises by 2 % a year.",
        "Either side may leave with three months' notice.",
        "租金每年上涨百分之二",
    ]


def test_a_sentence_is_checked_once_and_of_a_book_the_beginning() -> None:
    assert statements_of("All of it is here. All of it is here.") == ["All of it is here."]
    assert len(statements_of("\n".join(f"Line {number} of this book." for number in range(MOST + 40)))) == MOST


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("2 %", "It rises by 2 % a year"),
        ("1,240", "May · 1,240"),
        ("240", ""),
        ("9", ""),
    ],
)
def test_a_figure_is_shown_with_the_words_of_its_sentence_or_row(figure: str, words: str) -> None:
    assert words_around(figure, ANSWER) == words


def test_a_figure_that_is_the_whole_answer_needs_no_words() -> None:
    assert words_around("42", "**42**") == ""


def test_long_words_around_a_figure_are_cut_between_words_on_both_sides() -> None:
    before, after = "of all that was ever written down here ", " and of what nobody has looked at in a long time"
    shown = words_around("4,711", f"{before}some 4,711{after}. That is all.")
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert " 4,711 " in shown
    assert set(shown.strip("… ").split()) <= set(f"{before}some 4,711{after}".split())
