"""A long passage that two results share is told once and pointed to; what only looks alike stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff.checking.duplicates import LONG, without_duplicates

LINE = "Churn rose from 4.2 % to 6.1 % in the Basic plan, " + "and nowhere else did it rise by as much as there, " * 4
TITLES = {"a": "The file", "b": "The note"}


def test_a_long_passage_goes_in_once_and_the_others_point_to_it() -> None:
    texts = {"a": f"Intro of the file as read.\n\n- {LINE}\n- The price rose on the first of May.", "b": LINE}
    kept, lost = without_duplicates(texts, ["b", "a"], TITLES)
    assert kept["b"] == LINE
    assert kept["a"] == (
        "Intro of the file as read.\n\n"
        "- (word for word as in “The note”: Churn rose from 4.2 % to 6.1 % …)\n"
        "- The price rose on the first of May."
    )
    assert lost == {"a": 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LINE, LINE.replace("6.1", "6.2")),
        (LINE, LINE.replace("rose", "never rose")),
        (LINE, LINE.replace("rose", "fell")),
        (LINE.replace("Churn", "Acme bought Globex; churn"), LINE.replace("Churn", "Globex bought Acme; churn")),
        ("Support answers within 24 hours on days.", "Support answers within 24 hours on days."),
        (f"```\n\n{LINE}\n\n```", f"```\n\n{LINE}\n\n```"),
        (f"{LINE}\n\n{LINE}", "Nothing."),
    ],
)
def test_other_words_short_lines_and_code_stay_as_they_are(one: str, other: str) -> None:
    texts = {"a": one, "b": other}
    assert without_duplicates(texts, ["a", "b"], TITLES) == (texts, {})


@given(st.lists(st.text(alphabet="ab \n-#|`", max_size=LONG * 3), min_size=1, max_size=4))
def test_whatever_is_not_pointed_to_comes_back_as_it_was(given_: list[str]) -> None:
    texts = {str(n): text for n, text in enumerate(given_)}
    kept, lost = without_duplicates(texts, list(texts), {})
    assert all(kept[name] == text for name, text in texts.items() if name not in lost)
    assert all("word for word as in" in kept[name] for name in lost)
