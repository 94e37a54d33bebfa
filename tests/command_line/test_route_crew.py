"""Which crew `leadhand route` asks: `--crew`, a word at the start, else the first."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from bot.command_line.route import _chosen, in_words
from bot.settings import Settings

SETTINGS = Settings(env={}, crew="general", more_crews=("/srv/crews/review", "law"))


@pytest.mark.parametrize(
    ("text", "crew", "expected"),
    [
        ("is it fine?", "", ("general", "is it fine?")),
        ("Review: is it fine?", "", ("/srv/crews/review", "is it fine?")),
        ("Note: it is large", "", ("general", "Note: it is large")),
        ("is it fine?", "law", ("law", "is it fine?")),
        ("review: is it fine?", "law", ("law", "is it fine?")),
        ("is it fine?", "support", ("support", "is it fine?")),
    ],
)
def test_the_crew_is_chosen_as_in_slack(text: str, crew: str, expected: tuple[str, str]) -> None:
    settings, rest = _chosen(argparse.Namespace(text=text, crew=crew), SETTINGS)
    assert (settings.crew, rest) == expected


def test_where_there_is_one_crew_its_name_is_no_word() -> None:
    settings, rest = _chosen(argparse.Namespace(text="general: hello", crew=""), Settings(env={}))
    assert (settings.crew, rest) == ("general", "general: hello")


def test_the_crew_stands_above_what_it_decides() -> None:
    found: dict[str, Any] = {"does": "answer", "by": "rehearsal", "text": "Hello!", "parts": []}
    found |= {"missing": [], "refused": [], "why": []}
    assert in_words({"crew": "review", **found}).splitlines()[0] == "crew review:"
