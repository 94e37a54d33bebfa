"""Patterns of routing rules: what may be used, and that no text takes them long."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specialists.loading.rule_patterns import LONGEST_PATTERN, MAX_WAYS, BadPattern, compile_pattern

GOOD = [
    (r"^(please )?translate\b", "Please translate this", "I translate"),
    (r"\btranslat\w*", "a translation", "trans late"),
    (r"\binto (german|french|norwegian bokmål)\b", "put it into French now", "into Frenchy"),
    (r"how (many|much)", "How much is it", "how few"),
    (r"[12]\d{3}", "in 2024", "in 3024"),
    (r"total.*by region", "the total of sales by region", "total" + " x" * 40 + " by region"),
    (r"what\?", "what?", "what"),
    (r"e-?mail", "Email", "e--mail"),
    (r"[^a-z]x", "1x", "ax"),
]


@pytest.mark.parametrize(("text", "fits", "not_this"), GOOD)
def test_what_may_be_used_finds_what_it_says(text: str, fits: str, not_this: str) -> None:
    pattern = compile_pattern(text)
    assert pattern.search(fits)
    assert not pattern.search(not_this)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("x" * (LONGEST_PATTERN + 1), "201 characters; at most 200"),
        ("(a+)+b", "a group may not be repeated"),
        ("(a|a)*b", "a group may not be repeated"),
        ("(?:ab){2,3}", "a group may not be repeated"),
        ("(?=a)b", "look-around, names and flags are not allowed"),
        ("(?i)b", "look-around, names and flags are not allowed"),
        ("(?P<n>b)", "look-around, names and flags are not allowed"),
        (r"(a)\1", "is not allowed here"),
        ("a**", "is not allowed here"),
        ("a*?b", "one sign of repetition at a time"),
        (r"\b+a", "has no width"),
        ("a{1,99}", "at most 40"),
        ("a{5,2}", "from few to many"),
        (r"\w+\s+\w+", "in 64,000 ways"),
        ("(a|b|c|d|e|f|g|h|i)" * 5, "ways at each place"),
        ("((((((a))))))", "more than 5 deep"),
        ("(a", "not closed"),
        ("a)", "Put a \\ before a sign"),
        ("[a", "is not allowed here"),
        ("a\\", "is not allowed here"),
        ("a*", "fits every text"),
        ("a|", "fits every text"),
        ("[z-a]", "it is no pattern"),
    ],
)
def test_what_may_not_be_used_is_told_why(text: str, why: str) -> None:
    with pytest.raises(BadPattern, match=re.escape(why)):
        compile_pattern(text)


@given(st.text(alphabet="ab .*+?{}()[]|^$\\wsb,-:12", max_size=30))
@settings(max_examples=180, deadline=None)
def test_any_text_is_a_pattern_that_fits_not_everything_or_none(text: str) -> None:
    try:
        pattern = compile_pattern(text)
    except BadPattern:
        return
    assert not pattern.search("")


@pytest.mark.parametrize("text", [r"a*a*[ab]b?x", r"(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)x", r"\w*\w*x"])
def test_the_worst_text_for_the_worst_pattern_is_soon_done(text: str) -> None:
    try:
        pattern = compile_pattern(text)
    except BadPattern:
        pytest.fail(f"it should be within {MAX_WAYS} ways")
    assert pattern.search("a" * 1_000) is None
