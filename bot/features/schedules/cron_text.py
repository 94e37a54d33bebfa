"""Cron text as people and models write it, made into the one form that `Rule.cron` has, with names. Pure."""

from __future__ import annotations

import re

from bot.features.schedules.schedule import Unscheduled

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * sun",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 jan *",
    "@annually": "0 0 1 jan *",
}
LONGEST = 120
FIELDS = "minute, hour, day of the month, month, weekday"
_STEP = r"(?:/[1-9]\d?)?"
_NAMES = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12)}


def cron_of(text: str) -> str | Unscheduled:
    """Return cron text in its normal form, with names of weekdays; or say what is wrong with it.

    In cron, weekday 0 and 7 are Sunday; a program that counts from Monday never sees a number.
    """
    words = SHORT.get(text.strip().lower(), text).lower().split()
    if len(text) > LONGEST or len(words) != 5:
        return Unscheduled(words=f"A cron rule has five fields ({FIELDS}), such as `0 9 * * mon-fri`.")
    minute, hour, day, month, week = words
    day = {"?": "*", "l": "last"}.get(day, day)
    months = _field(month, "month", MONTHS)
    days = "last" if day == "last" else _field(day, "day")
    found = (_field(minute, "minute"), _field(hour, "hour"), days, months, _week({"?": "*"}.get(week, week)))
    wrong = next((word for word, field in zip(words, found, strict=True) if not field), "")
    if wrong:
        return Unscheduled(words=f"I cannot read `{wrong[:40]}` in that cron rule. Its fields are {FIELDS}.")
    return " ".join(found)


def _field(text: str, name: str, names: tuple[str, ...] = ()) -> str:
    """Return a field whose numbers are in their range; empty if it is not one. Names become numbers."""
    low, high = _NAMES[name]
    for number, each in enumerate(names, 1):
        text = re.sub(rf"\b{each}[a-z]*\b", str(number), text)
    for part in text.split(","):
        found = re.fullmatch(rf"(?:\*|(\d{{1,2}})(?:-(\d{{1,2}}))?){_STEP}", part)
        if found is None:
            return ""
        first, last = found[1], found[2] or found[1]
        if first is not None and not low <= int(first) <= int(last) <= high:
            return ""
    return text


def _week(text: str) -> str:
    """Return the field of weekdays with names, ranges spelled out; empty if it cannot be read."""
    found: list[str] = []
    for part in text.split(","):
        nth = re.fullmatch(r"([a-z]+|\d)(?:#([1-5]|l|last)|l)", part)
        if nth is not None and (day := _day(nth[1])) is not None:
            found.append(f"{WEEKDAYS[day]}#{nth[2] if (nth[2] or 'l') not in {'l', 'last'} else 'last'}")
            continue
        span = re.fullmatch(r"(\*|[a-z]+|\d)(?:-([a-z]+|\d))?(?:/([1-7]))?", part)
        if span is None:
            return ""
        first, last = (0, 6) if span[1] == "*" else (_day(span[1]), _day(span[2] or span[1]))
        if first is None or last is None:
            return ""
        days = range(first, (last if last >= first else last + 7) + 1, int(span[3] or 1))
        found += [WEEKDAYS[one % 7] for one in days]
    order = [*WEEKDAYS, *sorted(one for one in found if "#" in one)]
    kept = [one for one in dict.fromkeys(order) if one in found]
    return "*" if set(WEEKDAYS) <= set(kept) else ",".join(kept)


def _day(word: str) -> int | None:
    """Return a weekday, Monday as 0. Cron counts from Sunday, which is 0 and 7."""
    if word.isdigit():
        return (int(word) + 6) % 7 if int(word) <= 7 else None
    return next((place for place, name in enumerate(WEEKDAYS) if word == name or _is_long(word, name)), None)


def _is_long(word: str, name: str) -> bool:
    full = {"mon": "monday", "tue": "tuesday", "wed": "wednesday", "thu": "thursday", "fri": "friday"}
    full |= {"sat": "saturday", "sun": "sunday"}
    return word.startswith(name) and full[name].startswith(word)
