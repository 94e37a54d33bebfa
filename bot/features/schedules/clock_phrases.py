"""Times of the day as people write them: 9, 9:30, 9h30, 0930, 21 Uhr, half past nine, noon. Pure."""

from __future__ import annotations

import re

_NUMBER_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
NUMBERS = {word: number for number, word in enumerate(_NUMBER_WORDS.split("|"), 1)}
NUMBER = rf"(?:\d{{1,4}}|{_NUMBER_WORDS})"
_MINUTES = {"half": 30, "quarter": 15, "twenty-five": 25, "twenty": 20, "fifteen": 15, "thirty": 30, "forty-five": 45}
_MINUTES |= NUMBERS
_SPOKEN_MINUTES = rf"half|(?:a\s+)?quarter|twenty[\s-]five|twenty|\d{{1,2}}|{_NUMBER_WORDS}"
_HALF = r"[ap]\.?\s?m\b\.?"
_DAY_PART = r"(?:in\s+the\s+(?P<part>morning|afternoon|evening)|at\s+(?P<night>night))\b"
CLOCK = (
    rf"(?:(?P<past>{_SPOKEN_MINUTES})(?:\s+minutes?)?\s+(?P<way>past|after|to|before)\s+"
    rf"(?P<near>\d{{1,2}}|noon|midday|midnight|{_NUMBER_WORDS})|"
    r"(?P<compact>(?:[01]\d|2[0-3])[0-5]\d)(?!\d)(?:\s*(?:h|hrs|hours)\b)?|"
    rf"(?:12\s+(?=noon|midnight))?(?P<hour>\d{{1,2}}|noon|midday|midnight|{_NUMBER_WORDS})"
    r"(?:[:.h](?P<minute>\d{2})(?::\d{2})?|\s+(?P<word>fifteen|thirty|forty[\s-]five)\b)?"
    r"(?:\s*o'?clock\b|\s*uhr\b(?:\s+(?P<uhr>[0-5]\d)\b)?|\s*h(?:rs)?\b)?)"
    rf"(?:\s*(?P<half>{_HALF}))?(?:\s+{_DAY_PART})?(?:\s+(?:sharp|exactly|on\s+the\s+dot)\b)?"
)
"""A time, as `hour_of` reads it."""
WRITTEN = (
    rf"(?:\d{{1,2}}(?:[:h]\d{{2}}(?:\s*{_HALF})?|\s*{_HALF}|\s*uhr\b(?:\s+[0-5]\d\b)?|\s*o'?clock\b)|"
    r"noon\b|midday\b|midnight\b)"
)
"""What can be nothing but a time, also without "at" before it."""


def hour_of(match: re.Match[str]) -> tuple[int, int] | None:
    """Return the hour and the minute of a `CLOCK`; None if there is no such time."""
    if match["compact"]:
        hour, minute = int(match["compact"][:2]), int(match["compact"][2:])
    elif match["past"]:
        hour, minute = _hour(match["near"]), _minutes(match["past"])
    else:
        hour, minute = _hour(match["hour"]), _minutes(match["minute"] or match["uhr"] or match["word"] or "0")
    half = re.sub(r"[.\s]", "", match["half"] or "").lower() or _half_of(match, hour)
    if half and not (1 <= hour <= 12):
        return None
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    if minute > 59 or hour > 23:
        return None
    if match["past"] and match["way"].lower() in {"to", "before"} and minute:
        return (hour - 1) % 24, 60 - minute
    return hour, minute


def _hour(word: str) -> int:
    known = {"noon": 12, "midday": 12, "midnight": 0, **NUMBERS}
    return known[word.lower()] if word.lower() in known else int(word)


def _minutes(word: str) -> int:
    plain = re.sub(r"^a\s+|\s+(?=five)", lambda found: "-" if found[0].isspace() else "", word.lower())
    return _MINUTES[plain] if plain in _MINUTES else int(plain)


def _half_of(match: re.Match[str], hour: int) -> str:
    """Return the half of the day that "in the evening" says of an hour that may be in either."""
    part = (match["part"] or match["night"] or "").lower()
    if not part or not 1 <= hour <= 12:
        return ""
    if part == "night":
        return "pm" if 6 <= hour <= 11 else "am"
    return "am" if part == "morning" else "pm"
