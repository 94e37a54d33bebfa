"""Parses the start of a text: days in one of six forms, then a time of day, then a time zone. No I/O.

The forms: every day · every weekday, every Monday and Thursday · every 2 hours · on the 1st of every month ·
tomorrow, on Friday · on 2026-12-01. Times are 9, 9:30, 9h30, 0930, 5pm, noon.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from bot.access.time_zones import AMBIGUOUS_ZONES, ZONE_ALIASES, explain_unknown_zone, find_nearest_zone, find_zone_name
from bot.features.schedules.cron_text import CRON_ALIASES, MONTHS, WEEKDAYS, normalize_cron
from bot.features.schedules.schedule import ScheduleRefusal

_TASK_VERBS = """
    add alert analyse analyze answer archive ask assemble audit back brief build calculate call chart chase check clean
    close collect combine comment compare compile compose confirm convert copy count create cross-check debug delete
    describe detect digest do document double-check download draft draw edit email estimate evaluate examine explain
    export extract fetch file fill filter find fix flag forecast format forward gather generate get give go group
    highlight identify import inform inspect invite investigate keep label list load log look mail make mark measure
    mention merge message monitor move name notify open order organise organize outline pick ping plan plot post predict
    prepare print produce proofread propose publish pull push query quote rank rate read rebuild recap recheck refresh
    remind remove rename reply report request rerun research reset resolve review rewrite roll run say scan schedule
    search see select send set share show sort start state stop store suggest sum summarise summarize survey sync
    tabulate take tally tell test tidy total track transcribe translate triage turn update upload use validate verify
    visualise visualize warn watch work write
"""
_FILLERS = r"(?:please|kindly|just|also|always|then|and|automatically|briefly|quickly)\b"
TASK_VERB_PATTERN = rf"(?:{_FILLERS}\s+)*(?:{'|'.join(_TASK_VERBS.split())})(?=\s|$|[,:;.!?]|/\w)"
"""Matches the verb with which a task begins, followed by a space or by one of these marks."""
_TASK_VERB_START = re.compile(TASK_VERB_PATTERN, re.IGNORECASE)
_OBJECT = re.compile(
    r"\s*$|\s+(?!(?:of|for|on|about|in|from|to|with|and|by|is|are|was|were|will|has)\b)\S", re.IGNORECASE
)
_ARTICLE = re.compile(r"(?<!\S)(?:the|an?|my|our|your|their|his|her|its|this|that|each|every|no)\s+$", re.IGNORECASE)
_STATEMENT_START = re.compile(
    r"(?:is|are|was|were|has|have|had|will|would|can|could|should|may|might|must|the|an?|my|our|we|i|you|they|it|he|she|of|"
    r"for|to|or|but|meeting|report|standup|except|that|who|when|where|if|as|than|this|these|those)\b",
    re.IGNORECASE,
)
"""Words that begin a statement, such as "every Monday we meet"."""
_CLAUSE_END = re.compile(r"[:;\n!?]|\s[-\u2013\u2014]\s")
MAX_UNPARSED_WORDS = 5
"""Maximum number of words between a time and a task that are checked."""


def is_imperative(rest: str) -> bool:
    """Return True if a text is an imperative, or begins with one and its object, such as "report the numbers"."""
    order = _TASK_VERB_START.match(rest.lstrip(" \t,"))
    return order is not None and _OBJECT.match(order.string, order.end()) is not None


def find_unparsed_words(rest: str) -> str:
    """Return the words between a time and the imperative after it that belong to neither, or "".

    A colon, a dash or a new line ends the words about the time: all text after it is the task.
    """
    words = rest.lstrip(" \t,")
    clause = _CLAUSE_END.split(words, 1)[0]
    if (
        re.match(r"[-\u2013\u2014.]\s", words)
        or not clause.strip()
        or _TASK_VERB_START.match(clause)
        or _STATEMENT_START.match(clause)
    ):
        return ""
    starts = [word.start() for word in re.finditer(r"\S+", clause)][1 : MAX_UNPARSED_WORDS + 1]
    orders = (at for at in starts if is_imperative(clause[at:]) and not _ARTICLE.search(clause[:at]))
    if (order := next(orders, None)) is not None:
        return clause[:order].strip(" ,")
    return "" if clause[0].islower() else clause.split()[0]


def is_statement(rest: str, *, is_timed: bool, is_once: bool) -> bool:
    """Return True if the text after a time states something ("every day matters") instead of asking for work.

    Text after a colon asks for work. After a single day ("on Friday") a statement is likelier.
    """
    if re.match(r"\s*:", rest) or not rest.strip() or (is_timed and not is_once and is_imperative(rest)):
        return False
    first = re.match(r"[\s,;\-\u2013]*([\w']+)", rest)
    if first is None or _STATEMENT_START.fullmatch(first[1]):
        return True
    word = first[1]
    if is_timed:
        return is_once and word[0].isupper()
    return is_once or word[0].isupper() or bool(re.fullmatch(r"\w{3,}[^s\W]s", word))


WEEKDAY_PATTERN = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?s?"
_MONTH = rf"(?:{'|'.join(name[:3] for name in MONTHS)})[a-z]*\.?"
DATE_PATTERN = (
    rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?: \d{{4}})?|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)"
)
ORDINAL_PATTERN = r"\d{1,2}(?:st|nd|rd|th)"


@dataclass(frozen=True, slots=True)
class DayPhrase:
    """The days of a form: the last three `fields` of a cron rule, one `day`, or a whole `cron` rule.

    `has_time`: the rule was written as cron text, so no time follows it.
    """

    fields: str = ""
    day: date | None = None
    cron: str = ""
    has_time: bool = False


def match_days(text: str, today: date) -> tuple[DayPhrase | ScheduleRefusal, int] | None:
    """Parse the form at the beginning of a text: its days or a refusal, and the index of its end; None without one."""
    for pattern, build in _DAY_PHRASES:
        match = pattern.match(text)
        if match is not None and (days := build(match, today)) is not None:
            return days, match.end()
    return None


def match_time(text: str, start: int) -> tuple[tuple[int, int] | ScheduleRefusal, int] | None:
    """Parse the time of day at `start`: (hour, minute) or a refusal, and the index of its end; None without one.

    A bare number counts only after "at".
    """
    match = _TIME.match(text, start)
    if match is None or not (match["at"] or match["minute"] or match["half"] or match["mark"] or match["named"]):
        return None
    if match["named"]:
        return (12 if match["named"].lower() == "noon" else 0, 0), match.end()
    compact, half = match["compact"] or "", (match["half"] or "").lower()
    hour, minute = int(compact[:2] or match["hour"]), int(compact[2:] or match["minute"] or 0)
    if hour > 23 or minute > 59 or (half and not 1 <= hour <= 12):
        return ScheduleRefusal(words=f"There is no time {match[0].strip(' ,')!r}."), match.end()
    return (hour % 12 + (12 if half == "p" else 0) if half else hour, minute), match.end()


def match_zone(text: str, start: int, speaker_zone: str) -> tuple[str | ScheduleRefusal, int] | None:
    """Parse the time zone at `start`: its name or a refusal, and the index of its end; None without one.

    The name is "" for words such as "my time", which mean `speaker_zone`.

    A city may belong to the task ("at 9 London sales"). Its name alone counts only at the end, before a mark or a verb.
    """
    if (local := _LOCAL_TIME_WORDS.match(text, start)) is not None:
        return "", local.end()
    for pattern in _ZONES:
        match = pattern.match(text, start)
        if match is None or is_imperative(match["zone"]):
            continue
        name = match["zone"]
        is_named = bool(match["open"] or match["exact"]) or _is_abbreviation(name)
        zone = find_zone_name(name, speaker_zone)
        if zone and (is_named or _AFTER_ZONE.match(text, match.end())):
            return zone, match.end()
        if (
            is_named
            and not zone
            and (not name[0].islower() or find_nearest_zone(name) or name.lower() in AMBIGUOUS_ZONES)
        ):
            return ScheduleRefusal(words=explain_unknown_zone(name)), match.end()
    return None


def parse_date(text: str, today: date) -> date | None:
    """Parse a date such as 2026-12-01, or 1 December (the next to come); None if there is no such day."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    month = next((place for place, name in enumerate(MONTHS, 1) if name[:3].lower() in text.lower()), 0)
    try:
        if not month:
            return date(*numbers)
        day = date(numbers[1] if len(numbers) > 1 else today.year, month, numbers[0])
        return day if day >= today or len(numbers) > 1 else day.replace(year=day.year + 1)
    except ValueError:
        return None


def _parse_cron(match: re.Match[str], _: date) -> DayPhrase | ScheduleRefusal | None:
    cron = normalize_cron(match["cron"])
    return DayPhrase(cron=cron, has_time=True) if isinstance(cron, str) else cron


def _parse_weekdays(match: re.Match[str], _: date) -> DayPhrase:
    names = _list_weekdays(match[0])
    is_span = re.search(r"\b(?:to|through)\b|[-\u2013]", match[0]) and len(names) == 2
    return DayPhrase(fields=f"* * {('-' if is_span else ',').join(names)}")


def _parse_interval(match: re.Match[str], _: date) -> DayPhrase | None:
    """Parse "every 2 hours"; None for numbers that do not divide an hour or day evenly, such as every 5 hours."""
    number, is_hours = int(match["number"] or 1), match["unit"].lower().startswith("hour")
    whole = 24 if is_hours else 60
    if not 0 < number < whole or whole % number:
        return None
    step = "*" if number == 1 else f"*/{number}"
    return DayPhrase(cron=f"0 {step} * * *" if is_hours else f"{step} * * * *")


def _parse_month_days(match: re.Match[str], _: date) -> DayPhrase | ScheduleRefusal:
    numbers = re.findall(r"\d+", match[0])
    if any(not 1 <= int(number) <= 31 for number in numbers):
        return ScheduleRefusal(words=f"No month has the day {match[0].strip()!r}.")
    return DayPhrase(fields=f"{','.join(numbers)} * *")


def _parse_single_day(match: re.Match[str], today: date) -> DayPhrase | ScheduleRefusal:
    word = match["date"].lower()
    if word in {"today", "tomorrow"}:
        return DayPhrase(day=today + timedelta(days=word == "tomorrow"))
    if re.search(r"\d", word):
        day = parse_date(word, today)
        return DayPhrase(day=day) if day is not None else ScheduleRefusal(words=f"There is no day {word!r}.")
    days_away = (WEEKDAYS.index(word[:3]) - today.weekday() - 1) % 7 + 1
    return DayPhrase(day=today + timedelta(days=days_away))


def _list_weekdays(words: str) -> list[str]:
    return [name[:3].lower() for name in re.findall(rf"\b{WEEKDAY_PATTERN}", words, re.IGNORECASE)]


def _is_abbreviation(name: str) -> bool:
    return name.lower() in _ABBREVIATIONS and (
        name.isupper() or (len(name) > 2 and name.lower() not in _WORD_ABBREVIATIONS)
    )


def _compile_phrase(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"[\s,]*(?:{pattern})(?!\w)", re.IGNORECASE)


_EVERY = r"(?:every|each)\s+"
_AND = r"(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)"
_ORDINALS = rf"(?:the\s+)?{ORDINAL_PATTERN}(?:{_AND}(?:the\s+)?{ORDINAL_PATTERN})*"
_FIVE_FIELDS = r"(?:[\d*/,\-]+\s+){2}(?:[\d*/,\-?lL]+|last)\s+[\w*/,\-]+\s+[\w*/,\-?#]+"
_DAY_PHRASES: tuple[
    tuple[re.Pattern[str], Callable[[re.Match[str], date], DayPhrase | ScheduleRefusal | None]], ...
] = (
    (
        re.compile(
            rf"^(?:cron[:\s]+)?`?(?P<cron>{'|'.join(CRON_ALIASES)}|{_FIVE_FIELDS})`?(?=[\s:,]|$)", re.IGNORECASE
        ),
        _parse_cron,
    ),
    (_compile_phrase(rf"daily|{_EVERY}(?:single\s+)?day"), lambda _, __: DayPhrase(fields="* * *")),
    (
        _compile_phrase(rf"{_EVERY}(?:weekday|workday)|on\s+(?:weekday|workday)s"),
        lambda _, __: DayPhrase(fields="* * mon-fri"),
    ),
    (
        _compile_phrase(
            rf"{_EVERY}{WEEKDAY_PATTERN}(?:(?:{_AND}|\s*[-\u2013]\s*|\s+(?:to|through)\s+){WEEKDAY_PATTERN})*"
        ),
        _parse_weekdays,
    ),
    (_compile_phrase(rf"on\s+{WEEKDAY_PATTERN[:-2]}s(?:{_AND}{WEEKDAY_PATTERN[:-2]}s)*"), _parse_weekdays),
    (_compile_phrase(rf"{_EVERY}(?:(?P<number>\d{{1,4}})\s+)?(?P<unit>minute|hour)s?"), _parse_interval),
    (
        _compile_phrase(rf"(?:on\s+)?{_ORDINALS}\s+of\s+(?:the|each|every)\s+month|{_EVERY}month\s+on\s+{_ORDINALS}"),
        _parse_month_days,
    ),
    (_compile_phrase(r"(?P<date>today|tomorrow)"), _parse_single_day),
    (_compile_phrase(rf"(?:on|next)\s+(?P<date>{WEEKDAY_PATTERN}|{DATE_PATTERN})"), _parse_single_day),
)
_TIME = re.compile(
    r"[\s,]*(?P<at>(?:at|@)\s*)?(?:(?P<compact>(?:[01]\d|2[0-3])[0-5]\d)(?:\s*(?:hrs|hours)\b)?|"
    r"(?:12\s+)?(?P<named>noon|midnight)|(?P<hour>\d{1,2})(?:[:.h](?P<minute>\d\d)(?::\d\d)?)?(?P<mark>\s*(?:o'?clock|uhr|h)\b)?"
    r"(?:\s*(?P<half>[ap])\.?\s?m\b\.?)?)"
    r"(?:(?!\w)|(?=(?-i:[A-Z]{1,5})\b))",
    re.IGNORECASE,
)
"""A time. A zone may follow it without a space: 9:00Z."""
_OFFSET = r"(?:UTC|GMT)\s?[+\-\u2212\u2013]\s?\d{1,2}(?::?[0-5]\d)?|[+\-\u2212]\d{2}:?[0-5]\d|\+\d{1,2}"
_NAME = r"[^\W\d_][^\W\d_.'-]*(?:-[^\W\d_]+)*"
_ZONES = tuple(
    re.compile(rf"[\s,]*(?P<open>\()?(?:in\s+)?(?:US\s+)?(?P<zone>{zone})(?:\s+zone)?\)?(?!\w)", re.IGNORECASE)
    for zone in (
        rf"(?P<exact>{_OFFSET}|[A-Za-z_]+/[\w/+-]+|utc|gmt|zulu)(?:\s+time)?",
        *(rf"{_NAME}(?:\s+{_NAME}){{{more}}}(?P<exact>\s+time)?" for more in (2, 1, 0)),
    )
)
_LOCAL_TIME_WORDS = re.compile(r"[\s,]*\(?(?:(?:my|our|your)(?:\s+local)?|local)\s+time\)?(?!\w)", re.IGNORECASE)
_ABBREVIATIONS = {name for name in (*ZONE_ALIASES, *AMBIGUOUS_ZONES) if len(name) <= 4}
_WORD_ABBREVIATIONS = frozenset({"cat", "eat", "wat", "west", "wet"})
"""Abbreviations that count only in capitals, as they are also words."""
_AFTER_ZONE = re.compile(
    rf"\s*(?:$|[,:;.!)\u2013]|-\s|{TASK_VERB_PATTERN}|(?:until|till|only|if|when|and|but|on|every|each)\b)",
    re.IGNORECASE,
)
