"""Parses a schedule from a message: cron text or one of six forms, with a time and its zone. No I/O.

A form at the beginning ("every Monday at 9 summarise #sales") is a schedule if an imperative follows. At the end
("summarise #sales every Monday at 9") it needs a time, so that "write a plan for every Monday meeting" stays a
request. A text that describes times in other words is `NEEDS_MODEL`, and a model parses it. People always see the
result before it is saved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as clock
from typing import Final, Literal

from bot.access.time_zones import explain_unknown_zone, find_zone
from bot.features.schedules.cron_text import normalize_cron
from bot.features.schedules.schedule import ParsedSchedule, ScheduleRefusal, ScheduleRule
from bot.features.schedules.time_phrases import (
    DATE_PATTERN,
    ORDINAL_PATTERN,
    TASK_VERB_PATTERN,
    WEEKDAY_PATTERN,
    DayPhrase,
    find_unparsed_words,
    is_imperative,
    is_statement,
    match_days,
    match_time,
    match_zone,
    parse_date,
)

NEEDS_MODEL: Final = "unread"
ParseResult = ParsedSchedule | ScheduleRefusal | Literal["unread"] | None
DEFAULT_TIME = (9, 0)
"""The hour and minute of a schedule that names none."""
KNOWN_PHRASES_TEXT = (
    "I understand “every day at 8”, “every weekday at 9:00” or “every Monday and Thursday at 9:00”, “every 2 hours”, "
    "“on the 1st of every month at 9”, “tomorrow at 10” or “on Friday at 10”, “on 2026-12-01 at 9”, each with a time "
    "zone after the time if you like (“at 9 Berlin time”), and cron text, such as 0 9 * * mon."
)


@dataclass
class _TimePhrase:
    """The parsed time of a schedule. `end` is the index at which its words end; `fault` says why it is impossible."""

    days: DayPhrase
    end: int = 0
    time: tuple[int, int] | None = None
    zone: str = ""
    until: date | None = None
    only_if_new: bool = False
    fault: ScheduleRefusal | None = None

    @property
    def is_timed(self) -> bool:
        return self.time is not None or self.days.has_time

    @property
    def is_once(self) -> bool:
        return self.days.day is not None


def parse_schedule(text: str, *, now: float, zone: str) -> ParseResult:
    """Parse a schedule and its task. Returns `NEEDS_MODEL` if a model has to parse it, None for an ordinary request.

    Returns a refusal if the schedule is impossible. `zone` is the person's zone, for times without a zone.
    """
    request_text = text.strip().strip("`").strip()
    local_now = datetime.fromtimestamp(now, find_zone(zone))
    time_phrase = _match_time_phrase(request_text, local_now, zone)
    if time_phrase is not None:
        rest = request_text[time_phrase.end :]
        states_fact = is_statement(rest, is_timed=time_phrase.is_timed, is_once=time_phrase.is_once)
        if not time_phrase.fault and starts_with_other_time(rest):
            return NEEDS_MODEL if has_task(rest, is_once=time_phrase.is_once) else None
        unread = (
            find_unparsed_words(rest) if not states_fact or (time_phrase.is_timed and not time_phrase.is_once) else ""
        )
        if unread and not time_phrase.fault:
            return _make_unparsed_question(unread, request_text[: time_phrase.end], rest)
        if not states_fact:
            return _make_schedule(time_phrase, _cut_additions(time_phrase, rest, local_now), zone)
    return _parse_trailing_schedule(request_text, local_now, zone) or (
        NEEDS_MODEL if time_phrase is None and starts_with_schedule(request_text) else None
    )


def parse_time_only(text: str, *, now: float, zone: str) -> ParsedSchedule | ScheduleRefusal | None:
    """Parse a text that gives only times ("on Friday at 9"); None if it has no known form. The task is empty."""
    phrase = text.strip().strip("`").rstrip(" .!")
    local_now = datetime.fromtimestamp(now, find_zone(zone))
    when = _match_time_phrase(phrase, local_now, zone)
    return _make_schedule(when, "", zone) if when is not None and when.end == len(phrase) else None


def _match_time_phrase(text: str, now: datetime, speaker_zone: str) -> _TimePhrase | None:
    """Parse the days at the start of a text, and the time, zones and additions after them. None without such days."""
    day_match = match_days(text, now.date())
    if day_match is None:
        return None
    when = (
        _TimePhrase(day_match[0])
        if isinstance(day_match[0], DayPhrase)
        else _TimePhrase(DayPhrase(), fault=day_match[0])
    )
    when.end = day_match[1]
    if not when.days.cron and (time := match_time(text, when.end)) is not None:
        when.time, when.end = (time[0] if isinstance(time[0], tuple) else (0, 0)), time[1]
        when.fault = when.fault or (time[0] if isinstance(time[0], ScheduleRefusal) else None)
    while when.is_timed and (zone := match_zone(text, when.end, speaker_zone)) is not None:
        _apply_zone(when, *zone)
    _apply_additions(when, text, now)
    return when


def _apply_zone(time_phrase: _TimePhrase, zone: str | ScheduleRefusal, end: int) -> None:
    time_phrase.end = end
    if isinstance(zone, ScheduleRefusal):
        time_phrase.fault = time_phrase.fault or zone
    elif zone and time_phrase.zone not in {"", zone}:
        words = f"That names two time zones, {time_phrase.zone} and {zone}. Say which one is meant."
        time_phrase.fault = time_phrase.fault or ScheduleRefusal(words=words)
    else:
        time_phrase.zone = zone or time_phrase.zone


_ADDITION = re.compile(
    rf"[\s,]*(?:and\s+|but\s+)?(?:until\s+(?P<until>{DATE_PATTERN})|(?:only\s+)?(?:if|when)\s+(?:there\s+is\s+)?"
    r"(?:something|anything)\s+(?:has\s+changed|is\s+new|changed|changes|new))(?!\w)",
    re.IGNORECASE,
)
"""Additions after the time or at the end of the task: the last day, and "only if anything is new"."""


def _apply_additions(time_phrase: _TimePhrase, text: str, now: datetime) -> None:
    while (match := _ADDITION.match(text, time_phrase.end)) is not None:
        time_phrase.end = match.end()
        if not match["until"]:
            time_phrase.only_if_new = True
            continue
        time_phrase.until = parse_date(match["until"], now.date())
        if time_phrase.until is None:
            time_phrase.fault = time_phrase.fault or ScheduleRefusal(words=f"There is no day {match['until']!r}.")


def _cut_additions(time_phrase: _TimePhrase, rest: str, now: datetime) -> str:
    """Parse additions to the schedule at the end of a task into `time_phrase`, and return the task without them."""
    task = rest.rstrip(" .!")
    for start in _ADDITION.finditer(task, max(0, len(task) - MAX_SEARCHED_END_CHARS)):
        time_phrase.end = start.start()
        _apply_additions(time_phrase, task, now)
        if time_phrase.end == len(task):
            return task[: start.start()]
    return rest


_TRAILING_PHRASE_STARTS = re.compile(r"(?<![\w-])(?:every|each|daily|on)\b", re.IGNORECASE)
_CLOSING_WORDS = re.compile(r"[\s.!]*(?:\bhere|\bplease)?[\s.!]*$", re.IGNORECASE)
_ZONE_LIKE = re.compile(r"[\s,]*(?:in\s+)?(\([^)]*\)|[A-Z][\w/+-]*(?:\s+[A-Z]\w*){0,2}|(?:UTC|GMT)?\s?[+-]\d[\d:]*)\s*")


def _parse_trailing_schedule(text: str, now: datetime, speaker_zone: str) -> ParseResult:
    """Parse a schedule that stands at the end of its task."""
    trimmed_text = _CLOSING_WORDS.sub("", text)
    if ends_with_schedule(trimmed_text, is_time_first=True):
        return NEEDS_MODEL
    for start in _TRAILING_PHRASE_STARTS.finditer(text, max(1, len(text) - MAX_SEARCHED_END_CHARS)):
        tail, before = _CLOSING_WORDS.sub("", text[start.start() :]), text[: start.start()]
        when = _match_time_phrase(tail, now, speaker_zone)
        if when is None or when.is_once or not (when.is_timed or when.days.cron) or ends_with_open_clause(before):
            continue
        if when.end == len(tail):
            return _make_schedule(when, before, speaker_zone)
        if ends_with_exception(tail[when.end :]):
            return NEEDS_MODEL
        zone = _ZONE_LIKE.fullmatch(tail, when.end)
        if zone is not None and when.is_timed:
            return ScheduleRefusal(words=explain_unknown_zone(zone[1].strip("()")))
    return NEEDS_MODEL if ends_with_schedule(trimmed_text) else None


def _make_schedule(time_phrase: _TimePhrase, task: str, speaker_zone: str) -> ParsedSchedule | ScheduleRefusal:
    if time_phrase.fault is not None:
        return time_phrase.fault
    asks = re.sub(r"^(?:[\s,:;.\-\u2013]|\band then\b|\bplease\b)+|[\s,:;\-\u2013]+$", "", task)
    tz = find_zone(time_phrase.zone or speaker_zone)
    hour, minute = time_phrase.time or DEFAULT_TIME
    if time_phrase.days.day is not None:
        rule = ScheduleRule(start=datetime.combine(time_phrase.days.day, clock(hour, minute), tz).timestamp())
    else:
        cron = time_phrase.days.cron or normalize_cron(f"{minute} {hour} {time_phrase.days.fields}")
        rule = ScheduleRule(cron=cron if isinstance(cron, str) else "")
    until = (
        datetime.combine(time_phrase.until, clock(23, 59, 59), tz).timestamp()
        if time_phrase.until is not None
        else None
    )
    return ParsedSchedule(asks, rule, time_phrase.zone, until, only_if_new=time_phrase.only_if_new)


def _make_unparsed_question(words: str, when: str, rest: str) -> ScheduleRefusal:
    """Return a refusal that asks about words between a time and a task, as they may belong to either."""
    return ScheduleRefusal(
        words=(
            f"I did not understand “{words}” after the time. If it is a time zone, name a city of it (Berlin time). "
            f"If it belongs to the task, put a colon before it: “{when.strip(' ,')}: {rest.strip(' ,')[:100].strip()}”."
        )
    )


MAX_SEARCHED_END_CHARS = 200
"""Maximum characters at the end of a text that are searched for a schedule."""
_NUMBER = r"(?:\d[\w:.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:minute|hour|day|weekday|workday|week|weekend|month|quarter|year|morning|evening|night|noon|afternoon)s?"
_NTH = rf"(?:first|second|third|fourth|fifth|last|{ORDINAL_PATTERN})"
_RECURRENCE = (
    rf"(?:(?:every|each)\s+(?:(?:other|half|business|working|work|{_NTH}|{_NUMBER})\s+){{0,3}}(?:{_UNIT}|{WEEKDAY_PATTERN}|seconds?)|"
    rf"(?:on\s+)?the\s+{_NTH}(?:\s+\w+)?\s+of\s+(?:the|each|every|a)\s+month|on\s+(?:the\s+{ORDINAL_PATTERN}|week(?:day|end)s|"
    rf"{WEEKDAY_PATTERN[:-2]}s)|daily|nightly|hourly|weekly|biweekly|fortnightly|monthly|quarterly|yearly|"
    r"(?:once|twice|(?:two|three|four|\d)\s+times)\s+(?:a|an|per|each|every)\s+(?:hour|day|week|month|quarter|year))\b"
)
_DAY_PART = r"(?:in\s+the\s+(?:morning|afternoon|evening)|at\s+night)\b"
_CLOCK = (
    r"(?:(?:at|and|or|around|about|before|after|between)\s+(?:a\s+)?(?:half|quarter|twenty|noon|midnight|dawn|lunch|"
    rf"{_NUMBER})\b|\d{{1,2}}(?::\d\d|\s?[ap]m)\b|{_DAY_PART})(?:[\s,-]*(?:[ap]\.?m\b\.?|(?:uhr|o'?clock|sharp|past|to|"
    rf"and|until|time|noon|midnight|thirty|fifteen|{_DAY_PART}|{_NUMBER}|(?-i:\(?[A-Z][\w/+-]*))\b\)?)){{0,8}}"
)
"""Times in words that `match_time` does not parse, with the words that may follow them."""
_EXCEPTION = (
    r"\(?(?:except(?:ing)?|excluding|unless|apart\s+from|other\s+than|(?:but\s+|and\s+)?not\s+(?:on|in|at|during))\b"
    rf"[^:.;!?]{{1,60}}?(?=\s*:|\s+{TASK_VERB_PATTERN}|$)"
)
"""Words that exclude days, such as "except on holidays". No form can express them, so a model has to parse the text."""
_OTHER_TIME = re.compile(
    rf"[\s,]*(?:{_EXCEPTION}|(?:morning|afternoon|evening|night)s?\b(?:\s+{_CLOCK})?|{_CLOCK})", re.IGNORECASE
)
_DAYS = (
    rf"{_RECURRENCE}(?:(?:\s*(?:[,&]|\b(?:and|on|to|through)\b)){{1,3}}"
    rf"\s*(?:the\s+)?(?:{WEEKDAY_PATTERN}|{ORDINAL_PATTERN})\b)*"
)
_ONE_DAY = rf"(?:today|tomorrow|(?:on|next)\s+(?:{WEEKDAY_PATTERN}|{DATE_PATTERN}))\b"
_SCHEDULE_START = re.compile(
    rf"(?P<time>{_CLOCK}[\s,]+(?P<once>{_ONE_DAY})?)?(?(once)|(?:{_DAYS}|in\s+(?:an?|{_NUMBER})\s+(?:minute|hour|day|week)s?\b))",
    re.IGNORECASE,
)
_SCHEDULE_END = re.compile(rf"(?<!\w){_DAYS}[\s,]+{_CLOCK}$", re.IGNORECASE)
_TIME_FIRST_END = re.compile(rf"(?<!\w){_CLOCK}\s+{_DAYS}$", re.IGNORECASE)
_SCHEDULE_WORD = re.compile(r"schedule\b.*\b(?:every|each|daily|weekly|monthly)\b", re.IGNORECASE)
_OTHER_LANGUAGES = re.compile(
    r"(?:jede[nrsm]?|täglich|wöchentlich|monatlich|werktags|montags|dienstags|mittwochs|donnerstags|freitags|"
    r"chaque|tous les|toutes les|cada|todos los|todas las|ogni|tutti i)\b(?=.{0,60}(?:\d|\b(?:um|gegen)\s+(?:halb|"
    r"viertel|dreiviertel|ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|mitternacht)\b|"
    r"\b(?:mittags|mitternachts|midi|minuit|mediodía|medianoche|mezzogiorno|mezzanotte)\b))",
    re.IGNORECASE,
)
_OPEN_CLAUSE_END = re.compile(
    r"\b(?:we|they|you|i|he|she|it|who|which|that|what|how)\b(?:\s+[\w']+){0,3}\s*$", re.IGNORECASE
)


def starts_with_other_time(rest: str) -> bool:
    """Return True if the text after a form's days begins with a time in words, such as "at half past nine"."""
    return _OTHER_TIME.match(rest) is not None


def ends_with_exception(rest: str) -> bool:
    """Return True if the text after a form's days and time excludes days, such as "except on holidays"."""
    return re.fullmatch(rf"[\s,]*{_EXCEPTION}", rest, re.IGNORECASE) is not None


def has_task(rest: str, *, is_timed: bool = False, is_once: bool = False) -> bool:
    """Return True if a task stands in the text after a time; a time alone may be the answer to a question."""
    time = _OTHER_TIME.match(rest)
    task = rest[time.end() :] if time is not None else rest
    if is_once or not (is_timed or time is not None):
        return is_imperative(task) or task.lstrip().startswith(":")
    return bool(task.strip(" .!?")) and not is_statement(task, is_timed=True, is_once=False)


def starts_with_schedule(text: str) -> bool:
    """Return True if a text begins with the times of a schedule and a task follows."""
    if _SCHEDULE_WORD.match(text) or _OTHER_LANGUAGES.match(text):
        return True
    match = _SCHEDULE_START.match(text)
    if match is None:
        return False
    return has_task(text[match.end() :], is_timed=bool(match["time"]), is_once=bool(match["once"]))


def ends_with_schedule(text: str, *, is_time_first: bool = False) -> bool:
    """Return True if a text is a task followed by days and a time, or with `is_time_first` by a time and days."""
    pattern = _TIME_FIRST_END if is_time_first else _SCHEDULE_END
    match = pattern.search(text, max(0, len(text) - MAX_SEARCHED_END_CHARS))
    return (
        match is not None and " " in text[: match.start()].strip() and not ends_with_open_clause(text[: match.start()])
    )


def ends_with_open_clause(text: str) -> bool:
    """Return True if a text ends with the beginning of a clause, such as "we meet", which "every Monday" would end."""
    return _OPEN_CLAUSE_END.search(text) is not None
