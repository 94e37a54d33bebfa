"""The ways in which people write dates, months and quarters, each with the SQL that reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from specialists.tools.tables.value_kind import ValueKind

_MONTH_NAMES = (
    "january jan jänner januar janvier janv enero ene gennaio gen januari janeiro",
    "february feb februar février févr fév febrero febbraio februari fevereiro fev",
    "march mar märz maerz mär mrz mars marzo maart mrt março",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio mag mei maio maj",
    "june jun juni juin junio giugno giu junho",
    "july jul juli juillet juil julio luglio lug julho",
    "august aug août aout agosto ago augustus augusti",
    "september sep sept septembre septiembre settembre set setembro",
    "october oct oktober okt octobre octubre ottobre ott outubro out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre déc diciembre dic dicembre desember dezembro",
)
"""Names of the months, in full and abbreviated, in the languages of Western Europe; no word stands for two months."""
_MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
_MONTH_NAME_PATTERN = "(?i:" + "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True)) + r")\.?"
_MONTH_NAME_SQL = "lower(regexp_extract({x}, '\\p{L}{3,}'))"
_MONTH_NUMBER_SQL = (
    f"MAP([{', '.join(repr(name) for name in _MONTH_NUMBERS)}], "
    f"[{', '.join(map(str, _MONTH_NUMBERS.values()))}])[{_MONTH_NAME_SQL}]"
)
_YEAR_SQL = "regexp_extract({x}, '(\\d{4})', 1)"
_SHORT_YEAR_SQL = "'20' || right({x}, 2)"

_MONTH_FIRST_FACT, _DAY_FIRST_FACT = "read as month/day/year", "read as day/month/year"
_MONTHS_FACT = "months, each as its first day"
_QUARTERS_FACT = "quarters, each as its first day"


def _make_date_kind(name: str, pattern: str, form: str, fact: str = "") -> ValueKind:
    return ValueKind(name, "dates", pattern, f"try_strptime({{x}}, '{form}')::DATE", fact)


def _make_time_kind(name: str, pattern: str, form: str, fact: str = "") -> ValueKind:
    clocks = ", ".join(f"'{form} {clock}'" for clock in ("%I:%M %p", "%I:%M:%S %p", "%H:%M", "%H:%M:%S"))
    clock = r" \d{1,2}:\d{2}(:\d{2})?( [AaPp][Mm])?"
    return ValueKind(name, "times", pattern + clock, f"try_strptime({{x}}, [{clocks}])", fact)


def _make_date_sql(year: str, month: str, day: str = "'1'") -> str:
    return f"TRY_CAST(({year}) || '-' || ({month}) || '-' || ({day}) AS DATE)"


def _make_year_first_kind(name: str, pattern: str) -> ValueKind:
    """Make the kind of dates with year, month and day in this order, whatever stands between them."""
    year, month, day = (f"regexp_extract({{x}}, '^(\\d+)\\D+(\\d+)\\D+(\\d+)', {part})" for part in (1, 2, 3))
    return ValueKind(name, "dates", pattern, _make_date_sql(year, month, day))


def _make_month_kind(name: str, pattern: str, year: str, month: str) -> ValueKind:
    return ValueKind(name, "months", pattern, _make_date_sql(year, month), _MONTHS_FACT)


def _make_quarter_kind(name: str, pattern: str, digit: str) -> ValueKind:
    month = f"(3 * TRY_CAST(regexp_extract({{x}}, '{digit}', 1) AS INT) - 2)"
    return ValueKind(name, "quarters", pattern, _make_date_sql(_YEAR_SQL, month), _QUARTERS_FACT)


_DMY_DOT, _SLASH = r"\d{1,2}\.\d{1,2}\.\d{4}", r"\d{1,2}/\d{1,2}/\d{4}"
_SHORT_SLASH, _DASHES = r"\d{1,2}/\d{1,2}/\d{2}", r"\d{1,2}-\d{1,2}-\d{4}"
_ISO_DATE = r"\d{4}-\d{2}-\d{2}"
_CLOCK_TIME = r"[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?"
_MONTH_NUMBER_PATTERN = r"(0?[1-9]|1[0-2])"

TIMESTAMP_KIND = ValueKind("moment", "times", f"{_ISO_DATE}({_CLOCK_TIME})?", "TRY_CAST({x} AS TIMESTAMP)")
ZONED_TIMESTAMP_KIND = ValueKind(
    "zoned",
    "times",
    f"{_ISO_DATE}{_CLOCK_TIME}(Z|[-+]\\d{{2}}(:?\\d{{2}})?)",
    "TRY_CAST({x} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'",
    "times in UTC",
)
DATE_KINDS: tuple[ValueKind, ...] = (
    ValueKind("iso", "dates", _ISO_DATE, "TRY_CAST({x} AS DATE)"),
    TIMESTAMP_KIND,
    ZONED_TIMESTAMP_KIND,
    _make_date_kind("dots", _DMY_DOT, "%d.%m.%Y"),
    _make_date_kind("dots2", r"\d{1,2}\.\d{1,2}\.\d{2}", "%d.%m.%y"),
    _make_date_kind("mdy", _SLASH, "%m/%d/%Y", _MONTH_FIRST_FACT),
    _make_date_kind("dmy", _SLASH, "%d/%m/%Y", _DAY_FIRST_FACT),
    _make_date_kind("mdy2", _SHORT_SLASH, "%m/%d/%y", _MONTH_FIRST_FACT),
    _make_date_kind("dmy2", _SHORT_SLASH, "%d/%m/%y", _DAY_FIRST_FACT),
    _make_date_kind("ymd", r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    _make_year_first_kind("ymd dots", r"\d{4}\. ?\d{1,2}\. ?\d{1,2}\.?"),
    _make_year_first_kind("ymd signs", r"\d{4}\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]"),
    _make_date_kind("dashes", _DASHES, "%d-%m-%Y", "read as day-month-year"),
    _make_date_kind("mdy dashes", _DASHES, "%m-%d-%Y", "read as month-day-year"),
    ValueKind(
        "name day year",
        "dates",
        rf"{_MONTH_NAME_PATTERN} \d{{1,2}}, ?\d{{4}}",
        _make_date_sql(_YEAR_SQL, _MONTH_NUMBER_SQL, "regexp_extract({x}, '(\\d{1,2}),', 1)"),
    ),
    ValueKind(
        "day name year",
        "dates",
        rf"\d{{1,2}}\.?[ -](de )?{_MONTH_NAME_PATTERN}[ -](de )?\d{{4}}",
        _make_date_sql(_YEAR_SQL, _MONTH_NUMBER_SQL, "regexp_extract({x}, '^(\\d{1,2})', 1)"),
    ),
    ValueKind(
        "day name year2",
        "dates",
        rf"\d{{1,2}}-{_MONTH_NAME_PATTERN}-\d{{2}}",
        _make_date_sql(_SHORT_YEAR_SQL, _MONTH_NUMBER_SQL, "regexp_extract({x}, '^(\\d{1,2})', 1)"),
    ),
    _make_time_kind("dots time", _DMY_DOT, "%d.%m.%Y"),
    _make_time_kind("mdy time", _SLASH, "%m/%d/%Y", _MONTH_FIRST_FACT),
    _make_time_kind("dmy time", _SLASH, "%d/%m/%Y", _DAY_FIRST_FACT),
)
MONTH_KINDS: tuple[ValueKind, ...] = (
    _make_month_kind("month name", rf"{_MONTH_NAME_PATTERN}[ /-]?(de )?\d{{4}}", _YEAR_SQL, _MONTH_NUMBER_SQL),
    _make_month_kind("year name", rf"\d{{4}}[ /-]?{_MONTH_NAME_PATTERN}", _YEAR_SQL, _MONTH_NUMBER_SQL),
    _make_month_kind("name year2", f"{_MONTH_NAME_PATTERN}(-| ?['\u2019])\\d{{2}}", _SHORT_YEAR_SQL, _MONTH_NUMBER_SQL),
    _make_month_kind(
        "month iso", rf"\d{{4}}[-/]{_MONTH_NUMBER_PATTERN}", _YEAR_SQL, "regexp_extract({x}, '(\\d{1,2})$', 1)"
    ),
    _make_month_kind(
        "month slash", rf"{_MONTH_NUMBER_PATTERN}/\d{{4}}", _YEAR_SQL, "regexp_extract({x}, '^(\\d{1,2})', 1)"
    ),
    _make_quarter_kind("year quarter", r"\d{4}[ -/]?[QqTt][1-4]", "[QqTt]([1-4])"),
    _make_quarter_kind("quarter year", r"[QqTt][1-4][ -/]?\d{4}", "[QqTt]([1-4])"),
    _make_quarter_kind("quarter word", r"[1-4]\. ?Quartal \d{4}", "^([1-4])"),
)
AMBIGUOUS_PAIRS = {
    "mdy": "dmy",
    "mdy2": "dmy2",
    "dashes": "mdy dashes",
    "mdy time": "dmy time",
    "month first": "day first",
}
"""Pairs of kinds that the same text may be: both are tried on every row."""

DATE_PATTERNS = {kind.name: re.compile(kind.pattern) for kind in (*DATE_KINDS, *MONTH_KINDS)}
_DAY_ORDERS = {
    "month first": ("mdy", "mdy2", "mdy dashes", "mdy time"),
    "day first": ("dmy", "dmy2", "dashes", "dmy time"),
}
_MIN_FITTING_SHARE = 0.6


def make_mixed_kinds(sample: Sequence[str]) -> list[ValueKind]:
    """Make the kinds for a column that has dates in several forms: one kind, or one for each order of day and month.

    Returns [] if all dates have the same form, or if fewer than six in ten values are dates.
    """
    present_kinds = [
        kind
        for kind in DATE_KINDS
        if kind is not TIMESTAMP_KIND and any(DATE_PATTERNS[kind.name].fullmatch(cell) for cell in sample)
    ]
    if any(re.fullmatch(f"{_ISO_DATE}{_CLOCK_TIME}", cell) for cell in sample):
        present_kinds.append(TIMESTAMP_KIND)
    if len(present_kinds) < 2 or sum(
        any(DATE_PATTERNS[kind.name].fullmatch(cell) for kind in present_kinds) for cell in sample
    ) < _MIN_FITTING_SHARE * len(sample):
        return []
    orders = {name for names in _DAY_ORDERS.values() for name in names}
    unordered_kinds = [kind for kind in present_kinds if kind.name not in orders]
    if len(unordered_kinds) == len(present_kinds):
        return [_combine_kinds("mixed", unordered_kinds, "")]
    return [
        _combine_kinds(order, [*unordered_kinds, *(kind for kind in present_kinds if kind.name in names)], order)
        for order, names in _DAY_ORDERS.items()
    ]


def _combine_kinds(name: str, kinds: Sequence[ValueKind], order: str) -> ValueKind:
    plural = "times" if any(kind.plural == "times" for kind in kinds) else "dates"
    type_ = "TIMESTAMP" if plural == "times" else "DATE"
    whens = " ".join(f"WHEN {kind.write_condition_sql('{x}')} THEN ({kind.sql})::{type_}" for kind in kinds)
    fact = "dates written in several ways" + (f", with the {order} between slashes or dashes" if order else "")
    return ValueKind(name, plural, "|".join(f"(?:{kind.pattern})" for kind in kinds), f"CASE {whens} END", fact)


def find_ambiguous_date(sample: Sequence[str]) -> str:
    """Return a value whose day and month may be swapped, or ""."""
    names = [name for name in (*AMBIGUOUS_PAIRS, *AMBIGUOUS_PAIRS.values()) if name in DATE_PATTERNS]
    return next((value for value in sample if any(DATE_PATTERNS[name].fullmatch(value) for name in names)), "")


def are_year_spans(sample: Sequence[str]) -> bool:
    """Return whether values such as 2024-25 or 2010-11 are spans of two years, and not months."""
    pairs = [re.fullmatch(r"\d\d(\d\d)[-/](\d\d)", value) for value in sample]
    return len(pairs) > 0 and all(pair is not None and int(pair[2]) == (int(pair[1]) + 1) % 100 for pair in pairs)
