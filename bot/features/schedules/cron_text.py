"""Converts cron text as people and models write it into the normal form of `ScheduleRule.cron`. No I/O."""

from __future__ import annotations

import re

from bot.features.schedules.schedule import ScheduleRefusal

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEEKDAYS = tuple(name[:3].lower() for name in DAYS)
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
CRON_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * sun",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 jan *",
    "@annually": "0 0 1 jan *",
}
MAX_CRON_CHARS = 120
CRON_FIELDS_TEXT = "minute, hour, day of the month, month, weekday"
_FIELD_RANGES = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12)}


def normalize_cron(text: str) -> str | ScheduleRefusal:
    """Return cron text in its normal form, with names of weekdays, or a refusal that names its fault.

    Weekdays become names: 0 and 7 are Sunday in cron, but APScheduler counts from Monday.
    """
    words = CRON_ALIASES.get(text.strip().lower(), text).lower().split()
    if len(text) > MAX_CRON_CHARS or len(words) != 5:
        return ScheduleRefusal(words=f"A cron rule has five fields ({CRON_FIELDS_TEXT}), such as `0 9 * * mon-fri`.")
    minute, hour, day, month, week = words
    day = {"?": "*", "l": "last"}.get(day, day)
    days = "last" if day == "last" else _normalize_field(day, "day")
    fields = (
        _normalize_field(minute, "minute"),
        _normalize_field(hour, "hour"),
        days,
        _replace_month_names(month),
        _normalize_weekdays({"?": "*"}.get(week, week)),
    )
    wrong = next((word for word, field in zip(words, fields, strict=True) if not field), "")
    if wrong:
        return ScheduleRefusal(
            words=f"I cannot read `{wrong[:40]}` in that cron rule. Its fields are {CRON_FIELDS_TEXT}."
        )
    return " ".join(fields)


def _replace_month_names(text: str) -> str:
    for number, name in enumerate(MONTHS, 1):
        text = re.sub(rf"\b{name[:3]}[a-z]*\b", str(number), text, flags=re.IGNORECASE)
    return _normalize_field(text, "month")


def _normalize_field(text: str, name: str) -> str:
    """Return a cron field if it is well-formed with numbers and steps in range, otherwise ""."""
    low, high = _FIELD_RANGES[name]
    for part in text.split(","):
        match = re.fullmatch(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/([1-9]\d?))?", part)
        if match is None:
            return ""
        first, step = int(match[1] or low), int(match[3] or 0)
        last = int(match[2] or (match[1] if match[1] and not step else high))
        if not low <= first <= last <= high or step > last - first:
            return ""
    return text


def _normalize_weekdays(text: str) -> str:
    """Return the field of weekdays with names, ranges spelled out; "" if it is invalid."""
    names: list[str] = []
    for part in text.split(","):
        nth = re.fullmatch(r"([a-z]+|\d)(?:#([1-5]|l|last)|l)", part)
        if nth is not None and (day := _parse_weekday(nth[1])) is not None:
            names.append(f"{WEEKDAYS[day]}#{nth[2] if (nth[2] or 'l') not in {'l', 'last'} else 'last'}")
            continue
        span = re.fullmatch(r"(\*|[a-z]+|\d)(?:-([a-z]+|\d))?(?:/([1-7]))?", part)
        if span is None:
            return ""
        first, last = (0, 6) if span[1] == "*" else (_parse_weekday(span[1]), _parse_weekday(span[2] or span[1]))
        if first is None or last is None:
            return ""
        days = range(first, (last if last >= first else last + 7) + 1, int(span[3] or 1))
        names += [WEEKDAYS[day % 7] for day in days]
    ordered_names = [name for name in WEEKDAYS if name in names] + sorted({name for name in names if "#" in name})
    return "*" if set(WEEKDAYS) <= set(ordered_names) else ",".join(ordered_names)


def _parse_weekday(word: str) -> int | None:
    """Return a weekday with Monday as 0; None if the word names none. In cron's numbers, Sunday is 0 and 7."""
    if word.isdigit():
        return (int(word) + 6) % 7 if int(word) <= 7 else None
    return next((place for place, name in enumerate(DAYS) if len(word) > 2 and name.lower().startswith(word)), None)
