"""Reads when a schedule is to run from plain English, or cron text: `read`. Pure.

What stands at the beginning ("every Monday at 9 summarise #sales") is taken for a schedule if it says how often; what
stands at the end ("summarise #sales every Monday at 9") only if it also says at what time. So "write a plan for every
Monday meeting" stays a request. Whatever is read is shown to people before it is saved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from datetime import time as clock

from bot.access.time_zones import unknown_zone, zone_of
from bot.features.schedules.cron_text import SHORT, cron_of
from bot.features.schedules.order_words import is_order, unread_end, unread_words
from bot.features.schedules.phrase_parts import MODIFIERS, PARTS, UNIT, WEEKDAY, Found, Part
from bot.features.schedules.schedule import Missed, Rule, Unscheduled


@dataclass(frozen=True, slots=True)
class Reading:
    """A schedule that was read. `zone` is empty if none was named, `until` the last moment, None if there is none."""

    asks: str
    rule: Rule
    zone: str = ""
    until: float | None = None
    missed: Missed = "once"
    only_if_new: bool = False


def read(text: str, *, now: float, zone: str) -> Reading | Unscheduled | None:
    """Read a schedule from what somebody said; a sentence if it is one that cannot be; None if it is none.

    `zone` is the one of the person, in which times are meant unless another is named.
    """
    said = text.strip().strip("`").strip()
    here = datetime.fromtimestamp(now, zone_of(zone))
    if (cron := _leading_cron(said)) is not None:
        return _of_cron(*cron, now=here)
    found = Found(here, own=zone)
    end = _consume(said, 0, found)
    rest = said[end:]
    if found.often and end:
        recurs = found.timed and found.often != "once"
        unread = unread_words(rest) if recurs or not _is_sentence(rest, found) else ""
        if unread and not found.wrong:
            return _not_understood(unread, said[:end], rest.strip(" ,"))
        if not _is_sentence(rest, found):
            return _reading(found, _without_modifiers(rest, found), zone)
    for start in _BEGINS.finditer(said, max(0, len(said) - LONGEST_END)):
        found = Found(here, own=zone)
        tail = _TAIL.sub("", said[start.start() :])
        if _consume(tail, 0, found, whole=True) and found.often in {"cron", "whole"} and _says_when(found):
            before = said[: start.start()]
            return None if _TELLS.search(before) else _reading(found, before, zone)
        end = _consume(tail, 0, found := Found(here, own=zone))
        unread = unread_end(tail[end:]) if found.timed and found.often in {"cron", "whole"} else ""
        if unread and not _TELLS.search(said[: start.start()]):
            return Unscheduled(words=unknown_zone(unread.strip("()")))
    return None


def _not_understood(unread: str, when: str, rest: str) -> Unscheduled:
    """Ask about words between a time and a task: they may change the one or belong to the other."""
    return Unscheduled(
        words=(
            f"I did not understand “{unread}” after the time. If it is a time zone, name a city of it (Berlin time). "
            f"If it belongs to the task, put a colon before it: “{when.strip(' ,')}: {rest[:LONGEST_QUOTED].strip()}”."
        )
    )


DIFFERENT_MINUTES = "One schedule has the same minute in each of its hours, such as 9:30 and 17:30. Make one for each."
LONGEST_QUOTED = 100
LONGEST_END = 200
"""Characters at the end of a text in which a schedule may stand."""
MOST_PARTS = 12
"""Parts of which a schedule is made; whoever writes more only wants to keep us busy."""
_MODIFIES = re.compile(r"[\s,]+(?=(?:only|if|when|until|till|and|but|skip)\b)", re.IGNORECASE)
_BEGINS = re.compile(r"(?<![\w-])(?:every|each|daily|weekly|monthly|on|at)\b", re.IGNORECASE)
_TAIL = re.compile(r"[\s.!]*(?:\bhere|\bplease)?[\s.!]*$", re.IGNORECASE)
_TELLS = re.compile(r"\b(?:we|they|you|i|he|she|it|who|which|that|what|how)\b(?:\s+[\w']+){0,3}\s*$", re.IGNORECASE)
"""A clause that tells what happens at these times, and orders nothing: "we meet every Monday at 9"."""


def _says_when(found: Found) -> bool:
    return found.timed or found.often == "whole"


def _without_modifiers(rest: str, found: Found) -> str:
    """Read what is said about the schedule at the end of its request, such as "only if something changed"."""
    for start in _MODIFIES.finditer(rest, max(0, len(rest) - LONGEST_END)):
        tail = rest[start.start() :].rstrip(" .!")
        if _consume(tail, 0, found, whole=True, parts=MODIFIERS):
            return rest[: start.start()]
    return rest


def says_schedule(text: str) -> bool:
    """Return True if a text says that it is a schedule, although `read` cannot tell when: then a model is asked."""
    said = text.strip()
    if not _SAYS.match(said):
        return False
    found = Found(datetime(2027, 1, 1))  # noqa: DTZ001 - only if it can be read matters
    return not (_consume(said, 0, found) and found.often)


def read_when(text: str, *, now: float, zone: str) -> Reading | Unscheduled | None:
    """Read words that only say when ("on Friday at 9"): the `asks` of what is returned is empty."""
    found = Found(datetime.fromtimestamp(now, zone_of(zone)), own=zone)
    said = re.sub(r"^once,?\s+", "", text.strip().rstrip(".!"), flags=re.IGNORECASE)
    if (cron := _leading_cron(said)) is not None:
        return _of_cron(*cron, now=datetime.fromtimestamp(now, zone_of(zone)))
    whole = bool(said) and _consume(said, 0, found, whole=True) and found.often
    return _reading(found, "", zone) if whole else None


_OTHER_TONGUES = (
    r"(?:jede[nrsm]?|täglich|wöchentlich|monatlich|werktags|montags|dienstags|mittwochs|donnerstags|freitags|"
    r"chaque|tous les|toutes les|cada|todos los|todas las|ogni|tutti i)"
)
_OTHER_TIMES = (
    r"\b(?:um|gegen)\s+(?:halb|viertel|dreiviertel|kurz|ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|"
    r"mitternacht)\b|\b(?:mittags|mitternachts|midi|minuit|mediodía|medianoche|mezzogiorno|mezzanotte)\b"
)
_SAYS = re.compile(
    rf"(?:(?:every|each)\s+(?:(?:other|second|third|first|last|\w+th|\d+\w*|business|working|single)\s+)*"
    rf"(?:{UNIT}|{WEEKDAY}|seconds?)\b|schedule\b.*\b(?:every|each|daily|weekly|monthly)\b|"
    rf"{_OTHER_TONGUES}\b(?=.{{0,60}}(?:\d|{_OTHER_TIMES})))",
    re.IGNORECASE,
)
_LEADING_CRON = re.compile(
    r"(?:cron[:\s]+)?`?((?:[\d*/,\-]+\s+){2}(?:[\d*/,\-?lL]+|last)\s+[\w*/,\-]+\s+[\w*/,\-?#]+)`?(?:[\s:,]+|$)"
)


def _leading_cron(said: str) -> tuple[str, str] | None:
    """Return cron text at the beginning, and what follows it."""
    short = re.match(r"(?:cron[:\s]+)?`?(@[a-z]+)`?(?:[\s:,]+|$)", said, re.IGNORECASE)
    if short is not None and short[1].lower() in SHORT:
        return short[1], said[short.end() :]
    found = _LEADING_CRON.match(said)
    return (found[1], said[found.end() :]) if found is not None else None


def _of_cron(cron: str, rest: str, *, now: datetime) -> Reading | Unscheduled:
    text = cron_of(cron)
    if isinstance(text, Unscheduled):
        return text
    own = str(now.tzinfo)
    found = Found(now, own=own, timed=True)
    end = _consume(rest, 0, found)
    if found.often or found.times:  # words of the request that look like a time
        found, end = Found(now, own=own), 0
    elif unread := "" if found.wrong else unread_words(rest[end:]):
        return _not_understood(unread, cron, rest[end:].strip(" ,"))
    found.often, found.rule = "whole", Rule(cron=text)
    return _reading(found, rest[end:], str(now.tzinfo))


def _is_sentence(rest: str, found: Found) -> bool:
    """Return True if a schedule at the beginning is more likely part of what is told: "every day matters".

    After a colon it is an order. One day ("on Friday") is told of far more often than it is meant as a time to come.
    """
    once = found.often == "once"
    if re.match(r"\s*:", rest) or not rest.strip() or (found.timed and not once and is_order(rest)):
        return False
    first = re.match(r"[\s,;\-\u2013]*([\w']+)", rest)
    word = first[1] if first is not None else ""
    if not word or word.lower() in _NO_ORDERS:
        return True
    if found.timed:
        return once and word[0].isupper()
    return once or word[0].isupper() or bool(re.fullmatch(r"\w{3,}[^s\W]s", word))


_NO_ORDERS = frozenset(
    re.findall(
        r"\w+",
        """
        is are was were has have had will would can could should may might must the a an my our we i you they it he she
        of in on for to and or but meeting report standup review except that who when where if as than this these those
        """,
    )
)
"""Words that no order begins with."""


def _consume(text: str, at: int, found: Found, *, whole: bool = False, parts: tuple[Part, ...] = PARTS) -> int:
    """Read the parts of a schedule from `at` on, as far as they go, and return where they end.

    `whole`: 0 unless they go to the end.
    """
    for _ in range(MOST_PARTS):
        for pattern, take in parts:
            match = pattern.match(text, at)
            if match is not None and match.end() > at and take(found, match):
                at = match.end()
                break
        else:
            return at if not whole or not text[at:].strip(" ,") else 0
    return 0


def _reading(found: Found, rest: str, zone: str) -> Reading | Unscheduled:
    if found.wrong:
        return Unscheduled(words=found.wrong)
    asks = re.sub(r"^(?:[\s,:;.\-\u2013]|\band then\b|\bplease\b)+|[\s,:;\-\u2013]+$", "", rest)
    if len({minute for _, minute in found.times}) > 1 and found.often == "cron" and not found.every_days:
        return Unscheduled(words=DIFFERENT_MINUTES)
    named = zone_of(found.zone or zone)
    rule = found.rule or _ruled(found, named)
    until = None
    if found.until is not None:
        until = datetime.combine(found.until, datetime.max.time()).replace(microsecond=0, tzinfo=named).timestamp()
    return Reading(asks, rule, found.zone, until, found.missed, found.only_if_new)


def _ruled(found: Found, tz: tzinfo | None) -> Rule:
    """Make the rule of what was read about days and times."""
    times = sorted(set(found.times)) or [(found.usual, 0)]
    if found.often == "once" or found.every_days:
        return _counted(found, times[0], tz)
    minutes = {minute for _, minute in times}
    hours = ",".join(str(hour) for hour, _ in times)
    text = cron_of(f"{min(minutes)} {hours} {found.day} {found.month} {found.week}")
    return Rule(cron=text if isinstance(text, str) else "")


def _counted(found: Found, time: tuple[int, int], tz: tzinfo | None) -> Rule:
    """Make the rule of one day, or of every so many days from the next on."""
    wall = datetime.combine(found.first or found.now.date(), clock(*time))
    while found.every_days and wall.replace(tzinfo=tz).timestamp() <= found.now.timestamp():
        wall += timedelta(days=7 if found.first is not None else 1)
    if found.every_days and datetime.fromtimestamp(wall.replace(tzinfo=tz).timestamp(), tz).time() != wall.time():
        wall -= timedelta(days=found.every_days)  # summer time skips the first: the time is kept in one before it
    return Rule(days=found.every_days, start=wall.replace(tzinfo=tz).timestamp())
