"""What people have the bot remember: one thing that somebody said, and the words that ask to remember or forget. Pure.

Only a person's own words come in here. Quoted lines are somebody else's, and a question asks for an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import Contract
from handoff.conversation.message_kinds import is_question, words_of

LONGEST = 500
"""Characters of one thing that is remembered."""
NEAR = 0.5
"""The least share of the words of a wish to forget that a memory must have to be one that may be meant."""
MOST_NEAR = 5
_QUOTE = ">"
_PLEASE = r"(?:please|bitte|por favor|s'il te plaît|s'il vous plaît)?[\s,]*"
_SAID = {
    "remember": r"remember(?P<mine>\s+about\s+me)?[\s,]*(?:that\s|:)"
    r"|merk(?:e)?\s+dir(?P<meins>\s+über\s+mich)?[\s,]*(?:dass\s|:)"
    r"|recuerda(?P<mio>\s+sobre\s+mí)?[\s,]*(?:que\s|:)"
    r"|(?:souviens-toi|retiens)(?P<mien>\s+à\s+mon\s+sujet)?[\s,]*(?:que\s|qu'|:)",
    "forget": r"forget(?P<mine>\s+about\s+me)?[\s,]*(?:that\s|:)"
    r"|vergiss(?P<meins>\s+über\s+mich)?[\s,]*(?:dass\s|:)"
    r"|olvida(?P<mio>\s+sobre\s+mí)?[\s,]*(?:que\s|:)"
    r"|oublie(?P<mien>\s+à\s+mon\s+sujet)?[\s,]*(?:que\s|qu'|:)",
}
_WISHES = {verb: re.compile(rf"{_PLEASE}(?:{said})", re.IGNORECASE) for verb, said in _SAID.items()}


class Memory(Contract):
    """One thing that somebody had remembered.

    `user` is the Slack id of who said it, `at` when (seconds since the epoch), `link` the address of the message.
    `message` is that message, as `CHANNEL/TS`; empty: it was given with a command. `edited_by` has changed the words
    since, at `edited`.
    """

    text: str
    user: str
    at: float
    link: str = ""
    message: str = ""
    edited_by: str = ""
    edited: float = 0.0

    @property
    def last_author(self) -> str:
        """The Slack id of the person who last worded it."""
        return self.edited_by or self.user


@dataclass(frozen=True, slots=True)
class MemoryWish:
    """What a message asks: to remember or to forget a text, of the channel or (`mine`) of the person alone."""

    verb: Literal["remember", "forget"]
    text: str
    mine: bool = False


def wish_in(text: str) -> MemoryWish | None:
    """Read what a message asks to remember or to forget; None if it asks for something else.

    The text of a wish that only quotes is empty.
    """
    if is_question(text):
        return None
    for verb, pattern in _WISHES.items():
        if (found := pattern.match(text)) is not None:
            mine = any(part for part in found.groupdict().values())
            said: Literal["remember", "forget"] = "forget" if verb == "forget" else "remember"
            return MemoryWish(said, drop_quoted_lines(text[found.end() :]), mine)
    return None


def drop_quoted_lines(text: str) -> str:
    """Return a text on one line, without the lines that quote."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(_QUOTE))
    return " ".join(" ".join(lines).split()).strip()


def match_memories(kept: Mapping[str, Memory], text: str) -> tuple[str, ...]:
    """Return the names of the memories that a text may mean: the plain one, else the nearest ones first, or none."""
    wanted = set(words_of(text))
    shares = {name: _share(wanted, set(words_of(one.text))) for name, one in kept.items()}
    whole = [name for name, share in shares.items() if share == 1.0]
    same = [name for name in whole if set(words_of(kept[name].text)) == wanted]
    if len(same or whole) == 1:
        return tuple(same or whole)
    near = sorted((name for name, share in shares.items() if share >= NEAR), key=lambda name: -shares[name])
    return tuple(near[:MOST_NEAR])


def is_certain_match(kept: Mapping[str, Memory], found: Iterable[str], text: str) -> bool:
    """Return True if `match_memories` found a single memory, and that has all words of the text."""
    names = tuple(found)
    return len(names) == 1 and _share(set(words_of(text)), set(words_of(kept[names[0]].text))) == 1.0


def may_change(memory: Memory, user: str, *, admin: bool) -> bool:
    """Return True if a person may edit or forget it: who said it, and admins."""
    return admin or user == memory.user


def place_for(channel: str, user: str, *, mine: bool = False) -> str:
    """Name the place that something is remembered for: the person (theirs, or a direct message), else the channel."""
    return user if mine or channel.startswith("D") else channel


def _share(wanted: set[str], there: set[str]) -> float:
    return len(wanted & there) / len(wanted) if wanted else 0.0
