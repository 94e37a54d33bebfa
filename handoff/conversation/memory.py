"""The memories that people give the bot, and the parser of messages that ask to remember or forget something. Pure.

Only a person's own words become a memory: quoted lines are left out, and a question never asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import Contract
from handoff.conversation.message_kinds import is_question, split_words

MAX_MEMORY_LENGTH = 500
"""The most characters of one memory."""
MIN_MATCH_SHARE = 0.5
"""The least share of the words of a wish to forget that a matching memory contains."""
MAX_MATCHES = 5
_QUOTE_MARK = ">"
_PLEASE = r"(?:please|bitte|por favor|s'il te plaît|s'il vous plaît)?[\s,]*"
_WISH_PATTERNS = {
    "remember": r"remember(?P<mine>\s+about\s+me)?[\s,]*(?:that\s|:)"
    r"|merk(?:e)?\s+dir(?P<meins>\s+über\s+mich)?[\s,]*(?:dass\s|:)"
    r"|recuerda(?P<mio>\s+sobre\s+mí)?[\s,]*(?:que\s|:)"
    r"|(?:souviens-toi|retiens)(?P<mien>\s+à\s+mon\s+sujet)?[\s,]*(?:que\s|qu'|:)",
    "forget": r"forget(?P<mine>\s+about\s+me)?[\s,]*(?:that\s|:)"
    r"|vergiss(?P<meins>\s+über\s+mich)?[\s,]*(?:dass\s|:)"
    r"|olvida(?P<mio>\s+sobre\s+mí)?[\s,]*(?:que\s|:)"
    r"|oublie(?P<mien>\s+à\s+mon\s+sujet)?[\s,]*(?:que\s|qu'|:)",
}
_WISHES = {
    verb: re.compile(rf"{_PLEASE}(?:{wish_pattern})", re.IGNORECASE) for verb, wish_pattern in _WISH_PATTERNS.items()
}


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


@dataclass(frozen=True, slots=True)
class MemoryWish:
    """A wish to remember or to forget a text: for the channel or, if `is_personal`, for the person alone."""

    verb: Literal["remember", "forget"]
    text: str
    is_personal: bool = False


def parse_memory_wish(text: str) -> MemoryWish | None:
    """Return the wish of a message that asks to remember or to forget something; None for any other message.

    Quoted lines are left out. If the message quotes everything that is to be remembered, the text of the wish is empty.
    """
    if is_question(text):
        return None
    for verb, pattern in _WISHES.items():
        if (match := pattern.match(text)) is not None:
            is_personal = any(part for part in match.groupdict().values())
            wish_verb: Literal["remember", "forget"] = "forget" if verb == "forget" else "remember"
            return MemoryWish(wish_verb, drop_quoted_lines(text[match.end() :]), is_personal)
    return None


def drop_quoted_lines(text: str) -> str:
    """Return a text on one line, without its quoted lines."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(_QUOTE_MARK))
    return " ".join(" ".join(lines).split()).strip()


def find_matching_memories(memories: Mapping[str, Memory], text: str) -> tuple[str, ...]:
    """Return the names of the memories that a text may mean, the best match first.

    If exactly one memory has the same words, or otherwise all words of the text, its name is the only one. If not, they
    are at most `MAX_MATCHES` names of memories with at least the share `MIN_MATCH_SHARE` of the words.
    """
    wanted_words = set(split_words(text))
    shares = {name: _compute_word_share(wanted_words, set(split_words(one.text))) for name, one in memories.items()}
    whole = [name for name, share in shares.items() if share == 1.0]
    same = [name for name in whole if set(split_words(memories[name].text)) == wanted_words]
    if len(same or whole) == 1:
        return tuple(same or whole)
    near = sorted((name for name, share in shares.items() if share >= MIN_MATCH_SHARE), key=lambda name: -shares[name])
    return tuple(near[:MAX_MATCHES])


def is_certain_match(memories: Mapping[str, Memory], matches: Iterable[str], text: str) -> bool:
    """Return True if `matches` has exactly one name, and the memory of that name has all words of the text."""
    names = tuple(matches)
    return (
        len(names) == 1
        and _compute_word_share(set(split_words(text)), set(split_words(memories[names[0]].text))) == 1.0
    )


def may_change_memory(memory: Memory, user: str, *, admin: bool) -> bool:
    """Return True if a person may edit or delete a memory: its first author, or an admin."""
    return admin or user == memory.user


def choose_memory_owner(channel: str, user: str, *, is_personal: bool = False) -> str:
    """Return the Slack id under which a memory is stored: the person's or the channel's.

    It is the person's if `is_personal` is set or the channel is a direct message.
    """
    return user if is_personal or channel.startswith("D") else channel


def _compute_word_share(wanted_words: set[str], available: set[str]) -> float:
    return len(wanted_words & available) / len(wanted_words) if wanted_words else 0.0
