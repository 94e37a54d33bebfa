"""The parts that a schedule in English is made of, and what each says: `PARTS`. Pure; `rule_phrases` joins them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from bot.access.time_zones import AMBIGUOUS, nearest_zone, unknown_zone, zone_called
from bot.access.time_zones import USUAL as ZONE_NAMES
from bot.features.schedules.clock_phrases import CLOCK, NUMBER, NUMBERS, WRITTEN, hour_of
from bot.features.schedules.cron_text import MONTHS, WEEKDAYS
from bot.features.schedules.order_words import ORDER, ORDER_BEGINS
from bot.features.schedules.schedule import Missed, Rule

NTH = {"first": "1", "1st": "1", "second": "2", "2nd": "2", "third": "3", "3rd": "3", "fourth": "4", "4th": "4"}
NTH |= {"fifth": "5", "5th": "5", "last": "last"}
MORNING = 9
"""The hour that stands for a time that nobody named."""
USUAL_HOURS = {"evening": 18, "night": 21, "noon": 12, "afternoon": 15}


UNIT = r"(?:minute|hour|day|weekday|workday|week|weekend|month|quarter|year|morning|evening|night|noon|afternoon)s?"
WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?s?"


@dataclass
class Found:
    """What has been read so far: how often, at what times, and the rest."""

    now: datetime
    often: str = ""
    """`cron`: days with times of the day. `whole`: a whole rule. `once`: one day."""
    day: str = "*"
    month: str = "*"
    week: str = "*"
    every_days: int = 0
    first: date | None = None
    times: list[tuple[int, int]] = field(default_factory=list)
    timed: bool = False
    usual: int = MORNING
    rule: Rule | None = None
    own: str = ""
    """The zone of whoever says it."""
    zone: str = ""
    until: date | None = None
    missed: Missed = "once"
    only_if_new: bool = False
    wrong: str = ""


def _take_time(found: Found, match: re.Match[str]) -> bool:
    time = hour_of(match)
    if match.re is _AND_TIME and not found.times:
        return False
    if time is None:
        found.wrong = found.wrong or f"There is no time {match[0].strip(' ,')!r}."
        return True
    found.times.append(time)
    found.timed = True
    return True


def _take_part_of_day(found: Found, match: re.Match[str]) -> bool:
    """Read "in the morning", where no time is named."""
    if not found.often or found.timed:
        return False
    found.usual = USUAL_HOURS.get(match["part"].lower(), MORNING)
    return True


def _take_unit(found: Found, match: re.Match[str]) -> bool:
    """Read "every Monday and Thursday", "every weekday", "daily", "every month"."""
    if found.often:
        return False
    word = match["unit"].lower()
    kinds = {"day": ("*", "*"), "weekday": ("*", "mon-fri"), "weekend": ("*", "sat-sun"), "week": ("*", "mon")}
    kinds |= {"month": ("1", "*"), "quarter": ("1", "*")}
    same = {"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "workday": "weekday"}
    same |= {"morning": "day", "evening": "day", "night": "day", "noon": "day", "afternoon": "day"}
    if word in {"hour", "hourly", "half hour", "minute"}:
        found.often = "whole"
        found.rule = Rule(cron={"half hour": "*/30 * * * *", "minute": "*/1 * * * *"}.get(word, "0 * * * *"))
        return True
    key = re.sub(r"^(?:business|working|work) ?day$", "weekday", word)
    key = same.get(key, key)
    if key not in kinds:
        return False
    found.day, found.week = kinds[key]
    found.month = "1,4,7,10" if key == "quarter" else "*"
    found.usual = USUAL_HOURS.get(word, MORNING)
    found.often = "cron"
    return True


def _weekdays(text: str) -> list[str]:
    return [word[:3].lower() for word in re.findall(WEEKDAY, text, re.IGNORECASE)]


def _take_weekdays(found: Found, match: re.Match[str]) -> bool:
    if found.often == "cron" and found.day == "*" and found.week == "mon" and not found.every_days:
        pass  # "every week on Friday"
    elif found.every_days and found.every_days % 7 == 0 and found.first is None:  # "every two weeks on Friday"
        found.first = _next_weekday(found.now.date(), _weekdays(match[0])[0])
        return True
    elif found.often:
        return False
    days = _weekdays(match["days"])
    span = re.search(r"\b(?:to|through|-|\u2013)\b|[-\u2013]", match["days"])
    found.week = f"{days[0]}-{days[-1]}" if span and len(days) == 2 else ",".join(days)
    found.often = "cron"
    return True


def _take_number(found: Found, match: re.Match[str]) -> bool:
    """Read "every 2 hours", "every other day", "every two weeks", "every other Monday"."""
    if found.often:
        return False
    word, unit = match["number"].lower(), match["many"].lower()
    number = {"other": 2, "second": 2, "third": 3}.get(word) or NUMBERS.get(word) or int(re.sub(r"\D", "", word) or 0)
    if not 0 < number <= 1000:
        found.wrong = found.wrong or f"“{match[0].strip()}” is not a rule that I can follow."
        number = 1
    if unit.startswith("second"):
        found.wrong = "That is too often: a schedule runs every 15 minutes at most."
        found.often, found.rule = "whole", Rule(minutes=1)
    elif unit.startswith(("minute", "hour")):
        minutes = number * (60 if unit.startswith("hour") else 1)
        found.often, found.rule = "whole", _by_the_clock(minutes, found.now)
    elif unit.startswith("month"):
        if number > 12 or 12 % number:
            return False
        found.often, found.day = "cron", "1"
        found.month = ",".join(str(one) for one in range(1, 13, number))
    else:
        weekday = _weekdays(unit)
        found.often, found.every_days = "cron", number * (7 if unit.startswith("week") or weekday else 1)
        found.first = _next_weekday(found.now.date(), weekday[0]) if weekday else None
    return True


def _by_the_clock(minutes: int, now: datetime) -> Rule:
    """Return a rule for every so many minutes: by the clock where they fit into an hour or a day, else from now on."""
    if minutes < 60 and 60 % minutes == 0:
        return Rule(cron=f"*/{minutes} * * * *")
    if minutes % 60 == 0 and 24 % (minutes // 60) == 0:
        return Rule(cron=f"0 {'*' if minutes == 60 else f'*/{minutes // 60}'} * * *")
    return Rule(minutes=minutes, start=(now + timedelta(minutes=minutes)).replace(second=0, microsecond=0).timestamp())


def _take_month_day(found: Found, match: re.Match[str]) -> bool:
    """Read "on the 1st and 15th of the month", "on the last day of the month"."""
    if found.often and not (found.often == "cron" and found.week == "*" and found.day in {"1", "*"}):
        return False
    numbers = re.findall(r"\d{1,2}", match["dates"])
    if any(not 1 <= int(one) <= 31 for one in numbers):
        found.wrong = found.wrong or f"No month has the day {match['dates'].strip()!r}."
    found.day = ",".join(numbers) or "last"
    found.often = "cron"
    return True


def _take_nth(found: Found, match: re.Match[str]) -> bool:
    """Read "the first Monday of the month", "the last Friday of each month"."""
    if found.often:
        return False
    found.week = f"{_weekdays(match['named'])[0]}#{NTH[match['nth'].lower()]}"
    found.often = "cron"
    return True


def _next_weekday(today: date, name: str) -> date:
    return today + timedelta(days=(WEEKDAYS.index(name) - today.weekday()) % 7)


def _take_date(found: Found, match: re.Match[str]) -> bool:
    """Read one day: tomorrow, on Friday, on 3 March."""
    if found.often:
        return False
    today, word = found.now.date(), match["date"].lower()
    if word in {"today", "tomorrow"}:
        day: date | None = today + timedelta(days=word == "tomorrow")
    elif (weekday := _weekdays(word)) and not re.search(r"\d", word):
        day = _next_weekday(today + timedelta(days=1), weekday[0])
    else:
        day = _date(word, today)
    if day is None:
        found.wrong = found.wrong or f"There is no day {match['date']!r}."
        day = today
    found.often, found.first = "once", day
    return True


def _take_in(found: Found, match: re.Match[str]) -> bool:
    """Read "in 2 hours", "in three days"."""
    if found.often:
        return False
    number = NUMBERS.get(match["in"].lower()) or int(match["in"]) if match["in"].lower() not in {"a", "an"} else 1
    unit = match["unit"].lower()
    if unit in {"day", "week"}:
        found.often, found.first = (
            "once",
            found.now.date() + timedelta(days=min(number, 999) * (7 if unit == "week" else 1)),
        )
        return True
    minutes = min(number, 99_999) * (60 if unit == "hour" else 1)
    found.often, found.timed = "whole", True
    found.rule = Rule(start=(found.now + timedelta(minutes=minutes)).timestamp())
    return True


def _take_until(found: Found, match: re.Match[str]) -> bool:
    day = _date(match["date"].lower(), found.now.date())
    if day is None:
        found.wrong = found.wrong or f"There is no day {match['date']!r}."
        return True
    found.until = day
    return True


def _take_zone(found: Found, match: re.Match[str]) -> bool:
    """Read a zone that is named as one: by an offset, "... time", an IANA name, or in brackets behind a time."""
    name = match["zone"]
    if zone := zone_called(name, found.own):
        return _set_zone(found, zone)
    if not found.timed or ORDER_BEGINS.match(name) or not (name[0].isupper() or nearest_zone(name)):
        return False
    found.wrong = found.wrong or unknown_zone(name)
    return True


def _take_own_zone(found: Found, match: re.Match[str]) -> bool:
    """Read "my time", or "local" if no work can follow that it belongs to."""
    return found.timed and ("time" in match[0].lower() or bool(_ENDS_ZONE.match(match.string, match.end())))


def _take_bare_zone(found: Found, match: re.Match[str]) -> bool:
    """Read a zone behind a time that is only called by its name: "at 9 EST", "at 9 New York".

    A city may be what the work is about, so it counts as a zone only if no such work can follow.
    """
    name = match["zone"]
    if not found.timed or not (_is_abbreviation(name) or _ENDS_ZONE.match(match.string, match.end())):
        return False
    if zone := zone_called(name, found.own):
        return _set_zone(found, zone)
    if name.lower() in AMBIGUOUS:
        found.wrong = found.wrong or unknown_zone(name)
    return name.lower() in AMBIGUOUS


def _set_zone(found: Found, zone: str) -> bool:
    if found.zone not in {"", zone}:
        found.wrong = found.wrong or f"That names two time zones, {found.zone} and {zone}. Say which one is meant."
    found.zone = zone
    return True


def _is_abbreviation(name: str) -> bool:
    """Return True for the abbreviation of a zone, in small letters only if it is no word."""
    return name.lower() in _SHORT_ZONES and (name.isupper() or (len(name) > 2 and name.lower() not in _WORDS))


def _take_missed(found: Found, match: re.Match[str]) -> bool:
    found.missed = "skip" if match["missed"].lower() in {"skip", "skipping"} else "all"
    return True


def _take_new(found: Found, _: re.Match[str]) -> bool:
    found.only_if_new = True
    return True


def _date(words: str, today: date) -> date | None:
    """Read a date, of this year or, if that is over, the next; None if there is none."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", words):
        return _day_of(*(int(one) for one in words.split("-")))
    numbers = [int(one) for one in re.findall(r"\d+", words)]
    month = next((place for place, name in enumerate(MONTHS, 1) if re.search(rf"\b{name}", words)), 0)
    if not month or not numbers:
        return None
    year = numbers[1] if len(numbers) > 1 else today.year
    day = _day_of(year, month, numbers[0])
    return _day_of(year + 1, month, numbers[0]) if day is not None and day < today and len(numbers) == 1 else day


def _day_of(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _part(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"[\s,]*{pattern}(?![\w])", re.IGNORECASE)


def _time(pattern: str) -> re.Pattern[str]:
    """Compile the pattern of a time, which a zone may follow without a space: 9:00Z."""
    return re.compile(rf"[\s,]*{pattern}(?:(?![\w])|(?=(?-i:[A-Z]{{1,5}})\b))", re.IGNORECASE)


_MONTH = rf"(?:{'|'.join(MONTHS)})[a-z]*"
_NTH_DAY = r"\d{1,2}(?:st|nd|rd|th)"
_DATE = (
    rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\.?(?:,? \d{{4}})?|"
    rf"{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)"
)
_OF_MONTH = r"(?:\s+of\s+(?:the|each|every|a)\s+month)"
_DAYS = rf"{WEEKDAY}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*|\s*[-\u2013]\s*|\s+to\s+|\s+through\s+){WEEKDAY})*"
_AND_TIME = _time(rf"(?:and|&)\s+(?:at\s+)?{CLOCK}(?!\s*(?:{UNIT}|days?|times?)\b)")
_BARE_TIME = _time(WRITTEN)

Part = tuple[re.Pattern[str], Callable[[Found, "re.Match[str]"], bool]]


def _take_bare(found: Found, match: re.Match[str]) -> bool:
    if not found.often:
        return False
    text = f"at {match[0].strip(' ,')}"
    again = _AT_TIME.match(text)
    return again is not None and _take_time(found, again)


_AT_TIME = _time(rf"(?:at|@)\s*(?<![a-z])(?:about\s+|around\s+)?{CLOCK}")
_OFFSET = r"(?:UTC|GMT)\s?[+\-\u2212\u2013]\s?\d{1,2}(?::?[0-5]\d)?|[+\-\u2212]\d{2}:?[0-5]\d|\+\d{1,2}|(?-i:Z)|zulu"
_NAME = r"[^\W\d_][^\W\d_.'-]*(?:-[^\W\d_]+)*"
_SHORT_ZONES = {name for name in (*ZONE_NAMES, *AMBIGUOUS) if 2 <= len(name) <= 4}
_WORDS = frozenset({"cat", "eat", "wat", "west", "wet", "uk"})
_ENDS_ZONE = re.compile(
    rf"\s*(?:$|[,:;.!)\u2013]|-\s|{ORDER}|(?:until|till|only|if|when|and|but|on|every|each)\b)", re.IGNORECASE
)
MODIFIERS: tuple[Part, ...] = (
    (_part(rf"(?:until|till|through|up to)\s+(?:and including\s+)?(?:the\s+)?(?P<date>{_DATE})"), _take_until),
    (
        _part(rf"(?:\(|in\s+)?(?P<zone>{_OFFSET}|[A-Za-z_]+/[\w/+-]+|(?:UTC|GMT)(?!\s*[+-]?\d))\)?(?:\s+time)?"),
        _take_zone,
    ),
    (_part(r"\(?(?:(?:my|our|your|the\s+same)(?:\s+local)?\s+time(?:\s+zone)?|local(?:\s+time)?)\)?"), _take_own_zone),
    (_part(rf"(?:\(|in\s+)?(?:US\s+)?(?P<zone>{_NAME}(?:\s+{_NAME}){{0,3}}?\s+time)\)?"), _take_zone),
    (_part(rf"\(\s*(?:US\s+)?(?P<zone>{_NAME}(?:\s+{_NAME}){{0,2}})\s*(?:zone)?\)(?<=\))"), _take_zone),
    *(
        (_part(rf"(?:in\s+)?(?:US\s+)?(?P<zone>{_NAME}(?:\s+{_NAME}){{{more}}})(?:\s+zone)?"), _take_bare_zone)
        for more in (2, 1, 0)
    ),
    (
        _part(
            r"(?:and\s+|but\s+)?(?P<missed>skip|skipping|catch up on|catching up on)\s+missed"
            r"(?:\s+(?:runs|ones|times))?"
        ),
        _take_missed,
    ),
    (
        _part(
            r"(?:and\s+|but\s+)?(?:only\s+)?(?:if|when)\s+(?:there\s+is\s+)?(?:something|anything)\s+"
            r"(?:has\s+changed|is\s+new|changed|changes|new)"
        ),
        _take_new,
    ),
)
"""What may also stand at the end of the request: an end, a zone, what becomes of missed runs."""
PARTS: tuple[Part, ...] = (
    (_AT_TIME, _take_time),
    (
        _part(
            rf"(?:on\s+)?(?:every|each|the|on)?\s*(?:the\s+)?(?P<nth>{'|'.join(NTH)})\s+(?P<named>{WEEKDAY}){_OF_MONTH}"
        ),
        _take_nth,
    ),
    (
        _part(
            r"(?:on\s+|every\s+|each\s+)?(?:the\s+)?"
            rf"(?P<dates>(?:{_NTH_DAY}(?:\s*(?:,|and|&)\s*(?:the\s+)?{_NTH_DAY})*)|last day)" + _OF_MONTH
        ),
        _take_month_day,
    ),
    (_part(r"(?:on\s+|every\s+)the\s+(?P<dates>\d{1,2}(?:st|nd|rd|th))"), _take_month_day),
    (
        _part(
            rf"(?:every|each)\s+(?P<number>other|second(?=\s)|third|{NUMBER})\s+(?P<many>seconds?|minutes?|hours?|days?|weeks?|months?|{WEEKDAY})"
        ),
        _take_number,
    ),
    (_part(r"(?:every|each)\s+(?P<number>)(?P<many>seconds?)"), _take_number),
    (_part(rf"(?:on\s+)?(?:every|each)\s+(?P<days>{_DAYS})(?:\s+(?:mornings?))?"), _take_weekdays),
    (_part(rf"on\s+(?P<days>(?:{WEEKDAY[:-2]}s)(?:(?:\s*,\s*|\s+and\s+)(?:{WEEKDAY[:-2]}s))*)"), _take_weekdays),
    (_part(rf"on\s+(?P<days>{_DAYS})"), lambda found, match: bool(found.often) and _take_weekdays(found, match)),
    (
        _part(
            r"(?:every|each)\s+(?:single\s+)?(?P<unit>day|weekday|workday|(?:business|working|work) day|weekend|week|"
            r"month|quarter|half hour|hour|minute|morning|evening|night|noon|afternoon)"
        ),
        _take_unit,
    ),
    (_part(r"on\s+(?P<unit>weekday|workday|weekend)s"), _take_unit),
    (_part(r"(?P<unit>daily|hourly|weekly|monthly|quarterly)"), _take_unit),
    (_part(r"(?:on\s+|next\s+)?(?P<date>today|tomorrow)"), _take_date),
    (_part(rf"(?:on|next)\s+(?:next\s+)?(?P<date>(?:{WEEKDAY},? )?{_DATE}|{WEEKDAY})"), _take_date),
    (_part(rf"in\s+(?P<in>{NUMBER}|an?)\s+(?P<unit>minute|hour|day|week)s?"), _take_in),
    (_AND_TIME, _take_time),
    (_BARE_TIME, _take_bare),
    (_part(r"(?:in\s+the\s+(?P<part>morning|afternoon|evening))"), _take_part_of_day),
    *MODIFIERS,
)
"""The parts of which a schedule is made, each with what takes it in."""
