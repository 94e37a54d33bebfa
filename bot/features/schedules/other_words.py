"""Finds words that say when, though none of the forms has them: a model reads those. Pure."""

from __future__ import annotations

import re

from bot.features.schedules.task_start import ORDER, is_order, is_statement
from bot.features.schedules.when_forms import DATE, ORDINAL, WEEKDAY

LONGEST_END = 200
"""Characters at the end of a text in which a schedule may stand."""
_NUMBER = r"(?:\d[\w:.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:minute|hour|day|weekday|workday|week|weekend|month|quarter|year|morning|evening|night|noon|afternoon)s?"
_NTH = rf"(?:first|second|third|fourth|fifth|last|{ORDINAL})"
_RECURS = (
    rf"(?:(?:every|each)\s+(?:(?:other|half|business|working|work|{_NTH}|{_NUMBER})\s+){{0,3}}(?:{_UNIT}|{WEEKDAY}|seconds?)|"
    rf"(?:on\s+)?the\s+{_NTH}(?:\s+\w+)?\s+of\s+(?:the|each|every|a)\s+month|on\s+(?:the\s+{ORDINAL}|week(?:day|end)s|"
    rf"{WEEKDAY[:-2]}s)|daily|nightly|hourly|weekly|biweekly|fortnightly|monthly|quarterly|yearly|"
    r"(?:once|twice|(?:two|three|four|\d)\s+times)\s+(?:a|an|per|each|every)\s+(?:hour|day|week|month|quarter|year))\b"
)
_DAY_PART = r"(?:in\s+the\s+(?:morning|afternoon|evening)|at\s+night)\b"
_CLOCK = (
    r"(?:(?:at|and|or|around|about|before|after|between)\s+(?:a\s+)?(?:half|quarter|twenty|noon|midnight|dawn|lunch|"
    rf"{_NUMBER})\b|\d{{1,2}}(?::\d\d|\s?[ap]m)\b|{_DAY_PART})(?:[\s,-]*(?:[ap]\.?m\b\.?|(?:uhr|o'?clock|sharp|past|to|"
    rf"and|until|time|noon|midnight|thirty|fifteen|{_DAY_PART}|{_NUMBER}|(?-i:\(?[A-Z][\w/+-]*))\b\)?)){{0,8}}"
)
"""Times in more words than `match_time` reads, with what may follow them."""
_EXCEPTION = (
    r"\(?(?:except(?:ing)?|excluding|unless|apart\s+from|other\s+than|(?:but\s+|and\s+)?not\s+(?:on|in|at|during))\b"
    rf"[^:.;!?]{{1,60}}?(?=\s*:|\s+{ORDER}|$)"
)
"""Words that leave days out: no form has them, and as a part of the task they would be lost."""
_OTHER_TIME = re.compile(
    rf"[\s,]*(?:{_EXCEPTION}|(?:morning|afternoon|evening|night)s?\b(?:\s+{_CLOCK})?|{_CLOCK})", re.IGNORECASE
)
_DAYS = rf"{_RECURS}(?:(?:\s*(?:[,&]|\b(?:and|on|to|through)\b)){{1,3}}\s*(?:the\s+)?(?:{WEEKDAY}|{ORDINAL})\b)*"
_ONE_DAY = rf"(?:today|tomorrow|(?:on|next)\s+(?:{WEEKDAY}|{DATE}))\b"
_BEGINS = re.compile(
    rf"(?P<time>{_CLOCK}[\s,]+(?P<once>{_ONE_DAY})?)?(?(once)|(?:{_DAYS}|in\s+(?:an?|{_NUMBER})\s+(?:minute|hour|day|week)s?\b))",
    re.IGNORECASE,
)
_ENDS = re.compile(rf"(?<!\w){_DAYS}[\s,]+{_CLOCK}$", re.IGNORECASE)
_ENDS_TIME_FIRST = re.compile(rf"(?<!\w){_CLOCK}\s+{_DAYS}$", re.IGNORECASE)
_NAMED = re.compile(r"schedule\b.*\b(?:every|each|daily|weekly|monthly)\b", re.IGNORECASE)
_OTHER_TONGUES = re.compile(
    r"(?:jede[nrsm]?|täglich|wöchentlich|monatlich|werktags|montags|dienstags|mittwochs|donnerstags|freitags|"
    r"chaque|tous les|toutes les|cada|todos los|todas las|ogni|tutti i)\b(?=.{0,60}(?:\d|\b(?:um|gegen)\s+(?:halb|"
    r"viertel|dreiviertel|ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|mitternacht)\b|"
    r"\b(?:mittags|mitternachts|midi|minuit|mediodía|medianoche|mezzogiorno|mezzanotte)\b))",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\b(?:we|they|you|i|he|she|it|who|which|that|what|how)\b(?:\s+[\w']+){0,3}\s*$", re.IGNORECASE)


def begins_other_time(rest: str) -> bool:
    """Return True if words behind the days of a form go on with a time in more words: "at half past nine"."""
    return _OTHER_TIME.match(rest) is not None


def ends_with_exception(rest: str) -> bool:
    """Return True if words behind the days and time of a form leave days out: "except on holidays"."""
    return re.fullmatch(rf"[\s,]*{_EXCEPTION}", rest, re.IGNORECASE) is not None


def has_task(rest: str, *, is_timed: bool = False, is_once: bool = False) -> bool:
    """Return True if a task follows words about the time; the time alone may answer a question."""
    time = _OTHER_TIME.match(rest)
    task = rest[time.end() :] if time is not None else rest
    if is_once or not (is_timed or time is not None):
        return is_order(task) or task.lstrip().startswith(":")
    return bool(task.strip(" .!?")) and not is_statement(task, is_timed=True, is_once=False)


def begins_schedule(said: str) -> bool:
    """Return True if words at the beginning say when, and a task follows."""
    if _NAMED.match(said) or _OTHER_TONGUES.match(said):
        return True
    found = _BEGINS.match(said)
    if found is None:
        return False
    return has_task(said[found.end() :], is_timed=bool(found["time"]), is_once=bool(found["once"]))


def ends_schedule(said: str, *, is_time_first: bool = False) -> bool:
    """Return True if words at the end say when, behind a task: days and a time, or a time and days."""
    pattern = _ENDS_TIME_FIRST if is_time_first else _ENDS
    found = pattern.search(said, max(0, len(said) - LONGEST_END))
    return found is not None and " " in said[: found.start()].strip() and not ends_clause(said[: found.start()])


def ends_clause(text: str) -> bool:
    """Return True if a text ends with a clause about what happens then, as in "we meet every Monday"."""
    return _CLAUSE.search(text) is not None
