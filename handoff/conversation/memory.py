"""The memories that people give the bot, and the parser of messages that ask to remember or forget something. Pure.

Only a person's own words become a memory: quoted lines are left out, and a question never asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import Contract
from handoff.conversation.message_kinds import is_question, words_of

LONGEST = 500
"""The most characters of one memory."""
NEAR = 0.5
"""The least share of the words of a wish to forget that a memory must have to be a possible match."""
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
    """One thing that a person asked the bot to remember."""

    text: str
    user: str
    """The Slack id of the person."""
    at: float
    """The time, in seconds since the epoch."""
    link: str = ""
    """The web address of the message."""
    message: str = ""
    """The message as `CHANNEL/TS`; empty: the memory was given with a command."""
    edited_by: str = ""
    """The Slack id of the person who last changed the text; empty: nobody did."""
    edited: float = 0.0
    """The time of that change, in seconds since the epoch."""

    @property
    def last_author(self) -> str:
        """The Slack id of the person who wrote the present text."""
        return self.edited_by or self.user


@dataclass(frozen=True, slots=True)
class MemoryWish:
    """A wish to remember or to forget a text: for the channel or, if `mine`, for the person alone."""

    verb: Literal["remember", "forget"]
    text: str
    mine: bool = False


def wish_in(text: str) -> MemoryWish | None:
    """Parse a message that asks to remember or to forget something; return None if it asks for anything else.

    Quoted lines are left out, so the text of the wish is empty if the message contains nothing else.
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
    """Return a text on one line, without its quoted lines."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(_QUOTE))
    return " ".join(" ".join(lines).split()).strip()


def match_memories(kept: Mapping[str, Memory], text: str) -> tuple[str, ...]:
    """Return the names of the memories that a text may mean, the best match first.

    It is a single name if exactly one memory has the same words, or all words of the text; otherwise at most
    `MOST_NEAR` names of memories with at least the share `NEAR` of the words.
    """
    wanted = set(words_of(text))
    shares = {name: _share(wanted, set(words_of(one.text))) for name, one in kept.items()}
    whole = [name for name, share in shares.items() if share == 1.0]
    same = [name for name in whole if set(words_of(kept[name].text)) == wanted]
    if len(same or whole) == 1:
        return tuple(same or whole)
    near = sorted((name for name, share in shares.items() if share >= NEAR), key=lambda name: -shares[name])
    return tuple(near[:MOST_NEAR])


def is_certain_match(kept: Mapping[str, Memory], found: Iterable[str], text: str) -> bool:
    """Return True if `found` is the name of a single memory, and that memory has all words of the text."""
    names = tuple(found)
    return len(names) == 1 and _share(set(words_of(text)), set(words_of(kept[names[0]].text))) == 1.0


def may_change(memory: Memory, user: str, *, admin: bool) -> bool:
    """Return True if a person may edit or delete a memory: its first author, or an admin."""
    return admin or user == memory.user


def place_for(channel: str, user: str, *, mine: bool = False) -> str:
    """Return the id under which a memory is stored: that of the person, or of the channel.

    It is the person's if the memory is for them alone (`mine`), or comes from a direct message.
    """
    return user if mine or channel.startswith("D") else channel


def _share(wanted: set[str], there: set[str]) -> float:
    return len(wanted & there) / len(wanted) if wanted else 0.0
