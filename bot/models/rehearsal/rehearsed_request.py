"""What a request asks of a table: measure, fold, groups, rows and period. What is not certain is declined."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import PurePath

from bot.models.rehearsal import rehearsed_words as lexicon
from bot.models.rehearsal.rehearsed_brief import words as split
from bot.models.rehearsal.rehearsed_mentions import Chosen, Mention, Words, columns_in, values_in
from bot.models.rehearsal.rehearsed_periods import Period, periods_in
from bot.models.rehearsal.rehearsed_profile import Column, Table
from bot.models.rehearsal.rehearsed_words import Fold
from handoff.text.text_words import stem

_FEW = re.compile(
    r"\b(?:top|first|best|largest|biggest|highest|(?P<low>bottom|last|worst|smallest|lowest))\s+(?P<number>\d{1,2})\b",
    re.IGNORECASE,
)
_OVER = r"over|above|more than|greater than|exceeding|at least|über|mehr als|más de|>=?"
_UNDER = r"under|below|less than|fewer than|at most|unter|weniger als|menos de|<=?"
_LIMIT = re.compile(rf"(?:\b|(?<=\s))(?P<how>{_OVER}|{_UNDER})\s*[$€£]?(?P<number>\d[\d,]*(?:\.\d+)?)\b", re.IGNORECASE)
_AT = {"at least": ">=", ">=": ">=", "at most": "<=", "<=": "<="}
_HOW_MANY = re.compile(r"\b(how many|number of|count of|wie ?viele|anzahl|cu[aá]nt[oa]s|count)\b", re.IGNORECASE)
_HOW_LONG = re.compile(r"\b(how long|wie lange|cuánto tiempo)\b", re.IGNORECASE)
_CONTENTS = re.compile(
    r"\b(what('s| is| does)? (in|this|these|the (file|data|table))|was ist (in|das)|qué hay)\b", re.IGNORECASE
)
_MOST_LEFT = 3


@dataclass(frozen=True, slots=True)
class Limit:
    """A measure compared with a number."""

    column: Column
    sign: str
    number: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as far as it is understood. `left` are words that nothing took; `trouble` is why it is declined.

    `unit` is the period that rows are grouped by, `most` how many groups are wanted (0: all), `filled` a column that
    must not be empty, `since` and `until` the columns of a duration, `change` the direction that is claimed.
    """

    table: Table
    fold: Fold | None = None
    measures: tuple[Column, ...] = ()
    groups: tuple[Column, ...] = ()
    unit: str = ""
    when: Column | None = None
    values: tuple[Chosen, ...] = ()
    limits: tuple[Limit, ...] = ()
    periods: tuple[Period, ...] = ()
    counted: Column | None = None
    filled: Column | None = None
    yes: Column | None = None
    duration: tuple[Column, Column] | None = None
    most: int = 0
    upward: bool = False
    extreme: bool = False
    compared: bool = False
    why: bool = False
    change: int | None = None
    chart: bool = False
    overview: bool = False
    left: tuple[str, ...] = ()
    trouble: str = ""
    choices: tuple[str, ...] = ()
    """Columns of which one must be chosen by a person."""
    understood: int = 0
    few: bool = False
    """True if the request names how many it wants to see."""
    contents: bool = False
    """True if it asks what the file holds."""
    dated: bool = False
    """True if it names the column `when`."""


def read_request(table: Table, text: str, files: Sequence[str] = (), before: Sequence[str] = ()) -> Asked:
    """What a text asks of a table. `files` are names of files, whose words say nothing more.

    `before` are the requests that it may go on from, oldest first: one that names no figure of its own does.
    """
    now = _read(table, text, files)
    if before and not (now.measures or now.overview or now.duration or (now.fold == "count" and now.understood > 1)):
        earlier = [_read(table, one, files) for one in before]
        whole = earlier[0]
        for one in (*earlier[1:], now):
            whole = go_on(whole, one)
        now = replace(whole, left=now.left)
    return _settled(now)


def _read(table: Table, text: str, files: Sequence[str]) -> Asked:
    words = Words(text)
    for name in files:
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            words.take_span(*match.span())
    return _Reader(table, words).read()


def go_on(before: Asked, now: Asked) -> Asked:
    """A follow-up with what was asked before: what it names replaces that, and the rest stays."""
    if now.measures:
        return now
    again = {one.column.name for one in now.values}
    kept = tuple(one for one in before.values if one.column.name not in again)
    grouped = bool(now.groups or now.unit)
    return replace(
        before,
        fold=now.fold or before.fold,
        groups=now.groups if grouped else before.groups,
        unit=now.unit if grouped else before.unit,
        when=now.when or before.when,
        values=(*kept, *now.values),
        limits=now.limits or before.limits,
        periods=now.periods or before.periods,
        most=now.most or before.most,
        few=now.few or before.few,
        upward=now.upward or before.upward,
        chart=now.chart,
        compared=now.compared or before.compared,
        why=now.why,
        change=now.change,
        trouble=now.trouble,
        understood=before.understood + now.understood,
    )


class _Reader:
    def __init__(self, table: Table, words: Words) -> None:
        self.table = table
        self.words = words
        self.asked = Asked(table)
        self.mentions: list[Mention] = []

    def read(self) -> Asked:
        """Take what each rule knows, most certain first; the rest is left over."""
        words, text = self.words, self.words.text
        first, last = self._range()
        periods = periods_in(text, first, last) if first and last else []
        for period in periods:
            words.take_span(*period.span)
        few = _FEW.search(text)
        if few:
            words.take_span(*few.span())
        limits = list(_LIMIT.finditer(text))
        for match in limits:
            words.take_span(*match.span())
        counting, long = _HOW_MANY.search(text), _HOW_LONG.search(text)
        names = {" ".join(split(column.name)) for column in self.table.columns}
        values = values_in(words, self.table.columns, names)
        mentions, rivals = columns_in(words, self.table)
        mentions = self.mentions = self._without_folds(mentions)
        self.asked = replace(
            self.asked,
            periods=tuple(periods),
            values=tuple(values),
            most=max(1, min(25, int(few["number"]))) if few else 0,
            upward=bool(few and few["low"]),
            compared=bool(words.take(lexicon.VERSUS)),
            chart=bool(words.take(lexicon.CHART)),
            overview=bool(words.take(lexicon.OVERVIEW)),
        )
        self._folds(counted=bool(counting))
        self._columns(mentions, rivals, counting=bool(counting))
        self._limits(limits, mentions)
        self._units()
        self._entity(counting.end() if counting else -1)
        self._change()
        if long:
            self._duration(mentions)
        words.take(lexicon.PASSED)
        self.asked = replace(self.asked, few=few is not None, contents=_CONTENTS.search(text) is not None)
        return self._end()

    def _without_folds(self, mentions: list[Mention]) -> list[Mention]:
        """`total units` is no column `total` where another measure follows."""
        starts = {one.at for one in mentions if one.column.is_measure}
        dropped = [one for one in mentions if self.words.low(one.at) in lexicon.FOLDS and one.end in starts]
        for one in dropped:
            self.words.used -= set(range(one.at, one.end))
        return [one for one in mentions if one not in dropped]

    def _range(self) -> tuple[date | None, date | None]:
        """The first and the last day of all dates."""
        firsts = [column.first for column in self.table.dates if column.first]
        lasts = [column.last for column in self.table.dates if column.last]
        return (min(firsts), max(lasts)) if firsts and lasts else (None, None)

    def _folds(self, *, counted: bool) -> None:
        """How values become one figure."""
        found: list[Fold] = []
        for at, token in enumerate(self.words.tokens):
            fold = lexicon.FOLDS.get(token.low)
            if fold is None or at in self.words.used:
                continue
            if token.low in {"much", "viel", "many", "viele"} and self.words.low(at - 1) not in {"how", "wie"}:
                continue
            self.words.used.add(at)
            found.append(fold)
        if any(token.low == "%" for token in self.words.tokens):
            found.append("share")
        folds = [one for one in dict.fromkeys(found) if one != "sum" or len(set(found)) == 1]
        if counted and not (set(folds) - {"count"}):
            folds = ["count"]
        elif "count" in folds and len(folds) > 1:
            folds.remove("count")  # "the average number of ..."
        if len(folds) > 1:
            self.asked = replace(self.asked, trouble=f"{' and '.join(folds)} at once")
        only = folds[0] if folds else None
        most, least = self._near(lexicon.MOST), self._near(lexicon.LEAST)
        self.asked = replace(self.asked, fold=only, extreme=most or least, upward=self.asked.upward or least)

    def _near(self, wanted: frozenset[str]) -> bool:
        return any(token.low in wanted for token in self.words.tokens)

    def _columns(self, mentions: list[Mention], rivals: list[Mention], *, counting: bool) -> None:
        """Sort the columns that are named into measures, groups, dates and what is counted."""
        measures: list[Column] = []
        groups: list[Column] = []
        valued = {one.column.name for one in self.asked.values}
        grouped_end = -2
        for mention in mentions:
            column, place = mention.column, self.words.before(mention.at)
            before = self.words.low(place)
            if self._is_of_which_most(mention.at):
                self.asked = replace(self.asked, extreme=True, fold=None, upward=self.asked.fold == "min")
            by = before in lexicon.BY or before in lexicon.WHICH or before.isdigit()
            by = by or (before in lexicon.OR and place == grouped_end)
            if column.is_date:
                unit = lexicon.UNITS.get(self.words.low(mention.at), "") if by else ""
                self.asked = replace(self.asked, when=column, unit=unit or self.asked.unit)
            elif column.is_measure:
                if before in {"per", "pro", "je"}:
                    self.asked = replace(self.asked, trouble=f"“per {column.name}”")
                measures.append(column)
            elif by:
                groups.append(column)
                grouped_end = mention.end
            elif column.name not in valued and not self._is_counted(column, counting=counting):
                groups.append(column)
        choices = [one.column.name for one in rivals if one.column.is_measure]
        self.asked = replace(
            self.asked,
            choices=(measures[0].name, *choices) if choices and len(measures) == 1 else (),
            measures=tuple(dict.fromkeys(measures)),
            groups=tuple(dict.fromkeys(groups))[:2],
            understood=len(mentions) + len(self.asked.values) + len(self.asked.periods),
        )

    def _is_counted(self, column: Column, *, counting: bool) -> bool:
        """A column that is named without `by` where something is counted: what is counted, or must be yes."""
        if counting and self._is_yes_or_no(column):
            self.asked = replace(self.asked, yes=column)
            return True
        if self.asked.fold in {"count", "share"} or column.distinct == self.table.rows:
            self.asked = replace(self.asked, counted=self.asked.counted or column)
            return True
        return False

    def _is_of_which_most(self, at: int) -> bool:
        """`which region has the highest revenue`, `largest customers`: of the groups, and not of single rows."""
        before = self.words.low(self.words.before(at))
        which = before in lexicon.WHICH or lexicon.FOLDS.get(before) in {"max", "min"}
        column = next((one.column for one in self.mentions if one.at == at), None)
        return which and self.asked.fold in {"max", "min"} and (column is None or not column.is_measure)

    def _is_yes_or_no(self, column: Column) -> bool:
        given = {value.casefold() for value in column.values}
        return column.kind == "BOOLEAN" or (bool(given) and given <= lexicon.YES_OR_NO)

    def _limits(self, matches: list[re.Match[str]], mentions: list[Mention]) -> None:
        """Numbers that a measure must reach: the one named nearest before, or just behind."""
        limits: list[Limit] = []
        for match in matches:
            near = [
                (0 if self.words.tokens[one.end - 1].end <= match.start() else 1, one.column)
                for one in mentions
                if one.column.is_measure
                and (
                    0 <= match.start() - self.words.tokens[one.end - 1].end <= 12
                    or 0 <= self.words.tokens[one.at].start - match.end() <= 2
                )
            ]
            alone = self.table.measures
            column = min(near, key=lambda one: one[0])[1] if near else alone[0] if len(alone) == 1 else None
            if column is None:
                self.asked = replace(self.asked, trouble=f"“{match[0].strip()}”, since it does not say of which column")
                return
            how = " ".join(match["how"].lower().split())
            over = re.fullmatch(_OVER, how) is not None
            limits.append(Limit(column, _AT.get(how, ">" if over else "<"), match["number"].replace(",", "")))
        limited = {one.column for one in limits}
        self.asked = replace(
            self.asked,
            limits=tuple(limits),
            measures=tuple(one for one in self.asked.measures if one not in limited),
        )

    def _units(self) -> None:
        """The period that rows are grouped by."""
        for at, token in enumerate(self.words.tokens):
            unit = lexicon.UNITS.get(token.low)
            if unit is None or at in self.words.used:
                continue
            before = self.words.low(self.words.before(at))
            grouped = token.low in lexicon.ADVERBS or before in lexicon.BY or before in lexicon.WHICH
            if grouped and self.table.dates:
                if self._is_of_which_most(at):
                    self.asked = replace(self.asked, extreme=True, fold=None, upward=self.asked.fold == "min")
                self.words.used.add(at)
                self.asked = replace(self.asked, unit=unit, understood=self.asked.understood + 1)
        trend = self.words.take(lexicon.TREND) if self.table.dates else []
        if trend and not self.asked.unit:
            self.asked = replace(self.asked, unit="auto")

    def _entity(self, start: int) -> None:
        """Words of the file's name stand for its rows: `orders` of shop_orders.csv."""
        own = {stem(word) for word in split(PurePath(self.table.file).stem) if len(word) > 2}
        own |= {stem(word) for word in split(self.table.name) if len(word) > 2}
        for at, token in enumerate(self.words.tokens):
            if at not in self.words.used and stem(token.low) in own:
                self.words.used.add(at)
                self.asked = replace(self.asked, understood=self.asked.understood + 1)
        if start >= 0:
            self.asked = replace(self.asked, understood=self.asked.understood + 1)

    def _change(self) -> None:
        why = bool(self.words.take(lexicon.WHY))
        verbs = self.words.take(lexicon.CHANGE)
        directions = {lexicon.CHANGE[self.words.low(at)] for at in verbs} - {0}
        if why or verbs:
            change = directions.pop() if len(directions) == 1 else 0
            self.asked = replace(self.asked, why=True, change=change if verbs else None)
        if why and not verbs:
            self.asked = replace(self.asked, trouble="“why”")

    def _duration(self, mentions: list[Mention]) -> None:
        """How long from one date to another, where the table has two and the request names one of them."""
        dates = self.table.dates
        if len(dates) == 2 and any(one.column in dates for one in mentions):
            begin, end = sorted(dates, key=lambda column: column.first or date.max)
            fold: Fold = "median" if self.asked.fold == "median" else "mean"
            self.asked = replace(self.asked, duration=(begin, end), fold=fold, measures=(), groups=self.asked.groups)
            self.asked = replace(self.asked, groups=tuple(g for g in self.asked.groups if g.distinct < self.table.rows))
        else:
            self.asked = replace(self.asked, trouble="“how long”")

    def _end(self) -> Asked:
        """What is beyond rules, and what nothing took."""
        beyond = next((token.text for at, token in enumerate(self.words.tokens)
                       if at not in self.words.used and token.low in lexicon.BEYOND), "")  # fmt: skip
        asked = self.asked
        own = set(asked.when.stems) if asked.when else set()
        return replace(
            asked,
            trouble=asked.trouble or (f"“{beyond}”" if beyond else ""),
            left=tuple(self.words.left_over()),
            dated=any(stem(token.low) in own for token in self.words.tokens),
        )


def _settled(asked: Asked) -> Asked:
    """Fill in what is certain, and say what is not."""
    asked = replace(asked, when=asked.when or next(iter(asked.table.dates), None))
    if asked.contents and not (asked.measures or asked.fold or asked.groups or asked.left):
        asked = replace(asked, overview=True)
    asked = _counting(asked)
    if not asked.measures and asked.fold != "count" and not asked.duration and not asked.overview:
        asked = _measured(asked)
    if asked.few and not asked.groups and not asked.unit:
        asked = _rows_on_top(asked)
    return _checked(asked)


def _counting(asked: Asked) -> Asked:
    """A count of rows, or the sum of a column that is a count itself."""
    if asked.fold == "count" and asked.measures:
        return replace(asked, fold="sum")
    named = asked.counted or asked.values or asked.limits
    if asked.fold is None and not asked.measures and named and not (asked.overview or asked.why or asked.extreme):
        asked = replace(asked, fold="count")
    on_a_date = asked.when if asked.dated and asked.when is not None and asked.when.gaps else None
    if asked.fold == "count" and on_a_date is not None and not asked.periods and not asked.unit:
        return replace(asked, filled=on_a_date)
    return asked


def _measured(asked: Asked) -> Asked:
    """The one measure that there is, or the column that a person must choose."""
    if asked.fold == "share" and (asked.values or asked.groups or asked.counted):
        return asked
    measures = asked.table.measures
    if asked.fold is None and not asked.groups and not asked.unit and not asked.extreme and not asked.why:
        return asked
    flows = [one for one in measures if one.is_flow]
    if len(measures) == 1:
        return replace(asked, measures=(measures[0],))
    if asked.extreme and len(flows) == 1:
        return replace(asked, measures=(flows[0],))
    if measures and not asked.left and not asked.trouble:
        return replace(asked, choices=tuple(one.name for one in measures))
    return asked


def _rows_on_top(asked: Asked) -> Asked:
    """`top 5 products by price`: rows themselves, by the column that names each."""
    alone = [one for one in asked.table.columns if one.is_category and one.distinct == asked.table.rows]
    if alone and asked.measures:
        return replace(asked, groups=(alone[0],), fold="max")
    return asked


def _checked(asked: Asked) -> Asked:
    """Refuse what would be a guess: sums of rates, prices without a fold, columns that are not there."""
    if asked.trouble or asked.overview or asked.choices:
        return asked
    column = asked.measures[0] if asked.measures else None
    if asked.fold in {"sum", None} and any(one.is_rate for one in asked.measures):
        return replace(asked, trouble=f"a total of “{column.name if column else ''}”, which does not add up")
    if asked.fold is None and not asked.why and column is not None:
        if not all(one.is_flow for one in asked.measures) and not asked.extreme and not asked.most:
            return replace(
                asked, trouble=f"“{column.name}” without being told whether its average, median or total is meant"
            )
        asked = replace(asked, fold="sum")
    if asked.fold is None and not asked.why:
        return replace(asked, trouble="which figure is meant")
    if (
        asked.fold in {"mean", "median", "max", "min", "sum"}
        and column is None
        and not asked.duration
        and not asked.choices
    ):
        return replace(asked, trouble=_unknown(asked.left))
    if asked.why and column is None and not asked.choices:
        return replace(asked, trouble=_unknown(asked.left))
    if len(asked.left) > _MOST_LEFT or len(asked.left) > max(1, asked.understood):
        return replace(asked, trouble=_unknown(asked.left))
    return asked


def _unknown(left: Sequence[str]) -> str:
    named = ", ".join(f"“{word}”" for word in left[:_MOST_LEFT])
    return f"what {named} stands for" if named else "which figure is meant"


NAMES: Mapping[str, str] = {"mean": "average", "max": "largest", "min": "smallest", "sum": "total", "median": "median"}
"""Folds in words."""
