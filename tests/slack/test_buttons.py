"""Every button of every view, by its words: what it is for, and that only those that destroy or refuse are red."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bot.slack.views import outgoing

BOT = Path(outgoing.__file__).parents[2]
FOLDERS = (BOT / "slack", BOT / "features")

BUTTON_REASONS: dict[str, str] = {
    "Add": "memory: there is room for more",
    "Allow as much again": "to admins, while a budget is used up",
    "Approve": "an approval that is open",
    "Approve all {}": "an approval of several calls",
    "Approve similar": "an approval whose terms let similar calls pass",
    "Ask an admin for more": "a budget is used up, and an admin can be asked",
    "Change": "a draft of a schedule; a setting, to admins",
    "Continue": "a request that was stopped",
    "Decide one by one": "an approval of several calls",
    "Deny": "an approval that is open",
    "Deny all": "an approval of several calls",
    "Details": "an answer without receipts",
    "Discard": "a draft of a schedule",
    "Do it now instead, once": "a schedule that was said as a request",
    "Edit": "an approval of a write with arguments; a schedule",
    "Evidence": "an answer with receipts",
    "Fill in a form": "a schedule that was not understood",
    "Forget": "something remembered that the person may change",
    "In your own words": "a question of the home",
    "New schedule": "the list of schedules",
    "Open the sign-in page": "a sign-in",
    "Paste the address": "a sign-in",
    "Pause": "a schedule that runs",
    "Remove": "a schedule, asked again",
    "Restart the open parts": "a request that was stopped with parts open",
    "Resume": "a schedule that is paused",
    "Run now": "a schedule",
    "Save": "a draft of a schedule",
    "Send": "the reason of a thumb",
    "Show all": "an approval of which a part does not fit the card",
    "Sign in": "a server that wants a sign-in",
    "Stop": "a request under way",
    "This channel ({})": "memory, to change sides",
    "About you ({})": "memory, to change sides",
    "Try again": "a request that failed, and that a second try could change",
    "Try what is missing again": "an answer in part, whose rest a second try could bring",
}
"""The words of each button, and when it helps. {} stands for a value."""
RED = {"Deny", "Deny all", "Discard", "Forget", "Remove", "Stop"}
COMPUTED_COUNTS = {"paging.py": 1, "memory/view.py": 1, "question.py": 2}
"""Buttons whose words are data, by the view: the ways of a list, and the options of a question."""


@cache
def calls() -> tuple[tuple[str, ast.Call], ...]:
    return tuple(read_calls())


def read_calls() -> Iterator[tuple[str, ast.Call]]:
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "make_button":
                    yield path.relative_to(BOT).as_posix(), node


def words_of(node: ast.expr, file: str) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from words_of(node.body, file)
        yield from words_of(node.orelse, file)
    elif isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
    elif isinstance(node, ast.Name) and node.id == "label" and file.endswith("answer_message.py"):
        yield from ("Evidence", "Details")


def style_of(call: ast.Call) -> str:
    return next((ast.unparse(one.value) for one in call.keywords if one.arg == "style"), "")


def test_each_button_is_listed_with_what_it_is_for() -> None:
    found = {words for file, call in calls() for words in words_of(call.args[0], file)}
    assert found == set(BUTTON_REASONS)


def test_no_button_hides_its_words() -> None:
    hidden = [file for file, call in calls() if not list(words_of(call.args[0], file))]
    assert {name: sum(file.endswith(name) for file in hidden) for name in COMPUTED_COUNTS} == COMPUTED_COUNTS
    assert len(hidden) == sum(COMPUTED_COUNTS.values())


@pytest.mark.parametrize("words", sorted(BUTTON_REASONS))
def test_what_destroys_is_red_and_nothing_else(words: str) -> None:
    styles = {style_of(call) for file, call in calls() if words in words_of(call.args[0], file)}
    assert ("'danger'" in styles) == (words in RED)
    assert len(styles) == 1
