"""Long answers in parts."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.slack.text.cleaning import CONTINUED_NOTE, split_answer


def test_a_short_answer_is_one_part() -> None:
    assert split_answer("Hello") == ["Hello"]
    assert split_answer("") == [""]


def test_parts_end_at_paragraphs_and_say_that_more_follows() -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 30 for number in range(40)]
    parts = split_answer("\n\n".join(paragraphs), limit=1000)
    assert all(len(part) <= 1000 for part in parts)
    assert all(part.endswith(CONTINUED_NOTE) for part in parts[:-1])
    assert not parts[-1].endswith(CONTINUED_NOTE)
    rejoined = "\n\n".join(part.removesuffix(CONTINUED_NOTE) for part in parts)
    assert rejoined == "\n\n".join(paragraphs)


def test_a_heading_stays_with_what_it_is_the_heading_of() -> None:
    before, after = "word " * 30, "more " * 90
    parts = split_answer(f"{before}\n\n# Large\n\n## Small\n\n{after}", limit=300)
    assert parts[0] == before + CONTINUED_NOTE
    assert parts[1].startswith("# Large\n\n## Small\n\nmore ")
    alone = split_answer(f"# Title\n\n{after}", limit=300)
    assert alone[0].startswith("# Title\n\nmore more")
    assert sum(part.count("more") for part in alone) == 90


@pytest.mark.parametrize("line", ["As follows:", "**As follows:**"])
def test_a_line_that_ends_in_a_colon_stays_with_what_it_introduces(line: str) -> None:
    rows = "\n".join(f"| {number} | value |" for number in range(200))
    parts = split_answer(f"{line}\n\n| id | name |\n|----|------|\n{rows}", limit=600)
    assert parts[0].startswith(f"{line}\n\n| id | name |\n|----|------|\n| 0 | value |")
    assert [int(n) for part in parts for n in re.findall(r"^\| (\d+)", part, re.MULTILINE)] == list(range(200))


def test_a_long_fence_is_closed_and_opened_again() -> None:
    code = "\n".join(f"line_{number} = {number}\n" for number in range(200))
    parts = split_answer(f"Before\n\n```python\n{code}\n```\n\nAfter", limit=800)
    assert len(parts) > 3
    for part in parts:
        assert len(re.findall(r"^```", part, re.MULTILINE)) % 2 == 0
    assert sum(part.count("```python\n") for part in parts) >= len(parts) - 1
    numbers = [int(number) for part in parts for number in re.findall(r"line_(\d+)", part)]
    assert numbers == list(range(200))


def test_a_long_table_repeats_its_head() -> None:
    rows = "\n".join(f"| {number} | value |" for number in range(200))
    parts = split_answer(f"| id | name |\n|----|------|\n{rows}", limit=600)
    assert len(parts) > 3
    assert all(part.startswith("| id | name |\n|----|------|\n") for part in parts)
    assert [int(n) for part in parts for n in re.findall(r"^\| (\d+)", part, re.MULTILINE)] == list(range(200))


def test_a_limit_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 200"):
        split_answer("x" * 500, limit=50)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.sampled_from(["word ", "x" * 300 + " ", "# h\n\n", "\n", "\n\n", "```\n", "\n```\n", "| a |\n", "|---|\n"]),
        max_size=60,
    ),
    st.integers(200, 900),
)
def test_no_part_is_too_long_and_no_word_is_lost(pieces: list[str], limit: int) -> None:
    text = "".join(pieces)
    parts = split_answer(text, limit)
    assert all(len(part) <= limit for part in parts)
    kept = "".join(parts)
    assert kept.count("word") >= text.count("word")
    assert kept.count("x") >= text.count("x")


def test_a_table_right_below_a_paragraph_repeats_its_head_too() -> None:
    rows = "\n".join(f"| {number} | value |" for number in range(100))
    parts = split_answer(f"As follows:\n| id | name |\n|----|------|\n{rows}\n\nThat was all.", limit=500)
    assert len(parts) > 3
    assert all("| id | name |\n|----|------|\n" in part for part in parts[:-1])
    assert [int(n) for part in parts for n in re.findall(r"^\| (\d+)", part, re.MULTILINE)] == list(range(100))


def test_a_quoted_fence_is_closed_within_the_quote() -> None:
    code = "\n".join(f"> line_{number} = {number}" for number in range(60))
    parts = split_answer(f"> ```python\n{code}\n> ```\n\nAfter", limit=400)
    assert len(parts) == 3
    fenced = [part.removesuffix(CONTINUED_NOTE) for part in parts if "line_" in part]
    assert all(part.startswith("> ```python\n") for part in fenced)
    assert all("\n> ```" in part for part in fenced)


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
@pytest.mark.parametrize("mark", [".", ")"])
def test_a_list_keeps_its_numbers_also_where_each_item_says_one(gap: str, mark: str) -> None:
    lazy = gap.join(f"1{mark} item {number} " + "word " * 20 for number in range(1, 31))
    parts = split_answer(f"Steps:\n\n{lazy}\n\nThen:\n\n1{mark} again", limit=600)
    assert len(parts) > 3
    found = [(int(n), int(of)) for part in parts for n, of in re.findall(r"^(\d+)[.)] item (\d+)", part, re.MULTILINE)]
    assert found == [(number, number) for number in range(1, 31)]
    assert f"\n1{mark} again" in "\n" + parts[-1], "another list begins anew"


def test_inner_lists_and_code_keep_what_they_say() -> None:
    inner = "\n".join(
        f"1. step {n}\n   1. first of {n}\n   1. second of {n}\n   ```\n   1. code\n   ```" for n in range(1, 20)
    )
    parts = "\n".join(split_answer(inner, limit=400))
    assert [int(n) for n in re.findall(r"^(\d+)\. step", parts, re.MULTILINE)] == list(range(1, 20))
    assert re.findall(r"^   (\d)\. (?:first|second)", parts, re.MULTILINE) == ["1", "2"] * 19
    assert re.findall(r"^   (\d)\. code", parts, re.MULTILINE) == ["1"] * 19
