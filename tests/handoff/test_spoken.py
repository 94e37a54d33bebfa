"""What the free rules make of people's messages: 200 labelled ones, and single rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from handoff import events as ev
from handoff.contracts import Request
from handoff.conversation import spoken
from handoff.engine.hearing import LATE, SOON, answers_plainly, by_rules
from handoff.events import Aim
from tests.handoff.kit import R, asked, job

IDS = {"ana": "U1", "ben": "U2", "cleo": "U3"}
NAMES = {"ana": ("Ana Duarte", "ana"), "ben": ("Ben Okafor", "ben"), "cleo": ("Cleo Martin", "cleo")}
ANSWERED = (
    asked(),
    ev.AnswerWritten(at=5.0, request=R, text="The note.", why="It is short."),
    *(ev.Posted(at=6.0, request=R, key=f"{R}:{kind}", ts="1.1") for kind in ("card", "card_end", "answer")),
)


def sorted_as(who: str, words: str, *before: ev.Event, at: float = 60.0, known: bool = True) -> Aim | None:
    """What the rules say of a message; `known`: the names of the others in the thread."""
    message = Request(id="9.0", user=IDS[who], text=words, at=at)
    state = job(*ANSWERED, *before, ev.MessageHeard(at=at, message=message))
    assert state.current is None
    names = [name for other, theirs in NAMES.items() if other != who for name in theirs]
    return by_rules(state, state.heard[-1], names if known else ())


def said(who: str, words: str, at: float = 50.0, *, others: bool = False) -> ev.MessageHeard:
    """An earlier message of the thread."""
    return ev.MessageHeard(at=at, message=Request(id=f"8.{at}", user=IDS[who], text=words, at=at), others=others)


def cases() -> list[tuple[str, str, str]]:
    """200 messages in five languages: who says it, what it is for, and the words.

    Ana asked for a note, and the bot has answered it within the last minutes. `request`: for the bot. `other`: for
    another person. `people`: for nobody in particular, or for all. `thanks`: a thank-you.
    """
    lines = (Path(__file__).parent / "heard" / "messages.txt").read_text(encoding="utf-8").splitlines()
    return [(who, kind, words) for who, kind, words in (line.split(" ", 2) for line in lines)]


RIGHT: dict[str, set[Aim | None]] = {
    "request": {"request", None},
    "other": {"nothing", None},
    "people": {"nothing", None},
    "thanks": {"thanks"},
}
"""What the rules may say; None leaves it to the dispatcher, which is never wrong of them."""


@pytest.mark.parametrize("known", [True, False])
def test_of_two_hundred_messages_none_is_taken_for_what_it_is_not(known: bool) -> None:  # noqa: FBT001
    found = [(kind, sorted_as(who, words, known=known), words) for who, kind, words in cases()]
    assert len(found) == 200
    assert [(kind, aim, words) for kind, aim, words in found if aim not in RIGHT[kind]] == []
    free = Counter(kind for kind, aim, _ in found if aim is not None)
    assert free["thanks"] == 29
    assert free["request"] >= 30
    assert free["other"] >= (41 if known else 0)


def test_who_was_asked_last_and_who_spoke_decide() -> None:
    to_ben = said("ana", "", others=True)
    assert sorted_as("ben", "the median is 3?", to_ben) == "nothing", "he was asked"
    assert sorted_as("ana", "and by region?", to_ben) is None, "the bot did not speak last"
    assert sorted_as("ana", "and by region?", said("ben", "too long")) is None
    assert sorted_as("ben", "shorter please", said("cleo", "hm")) == "nothing", "people talk among themselves"
    assert sorted_as("ben", "shorter please") is None, "he may mean the bot, which spoke last"
    assert sorted_as("ana", "and by region?") == "request"
    assert sorted_as("ana", "and by region?", said("ana", "hm")) == "request"


def test_time_makes_the_rules_careful() -> None:
    assert sorted_as("ana", "and by region?", at=6.0 + SOON) == "request"
    assert sorted_as("ana", "and by region?", at=7.0 + SOON) is None
    assert sorted_as("ana", "shorter", at=7.0 + LATE) == "nothing"


def test_names_are_called_at_the_beginning_or_the_end() -> None:
    names = ("Ben Okafor",)
    for text in ("Ben, can you?", "ben?", "Ben Okafor can you", "is it so, Ben?", "Benさん、いいですか"):
        assert spoken.calls(text, names), text
    for text in ("Benefit or cost?", "ask Ben about it", "the Okafor file, shorter", "", "shorter"):
        assert not spoken.calls(text, names), text
    assert not spoken.calls("anything", ("", " "))


@pytest.mark.parametrize("text", ["", "?", "!!!", "thanks?", "thanks, shorter", ":x:", "🤔", "thanks for nothing"])
def test_these_are_no_thanks(text: str) -> None:
    assert not spoken.is_thanks(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Formal", True),
        ("friendly please, like a letter to a friend", True),
        ("2", True),
        ("Trondheim", True),
        ("what do you mean?", False),
        ("Formal?", False),
        ("use euros, not dollars", False),
    ],
)
def test_an_answer_without_a_doubt_names_an_option_or_is_a_word_or_two(text: str, plain: bool) -> None:  # noqa: FBT001
    assert answers_plainly(text, ("Formal", "Friendly")) is plain
