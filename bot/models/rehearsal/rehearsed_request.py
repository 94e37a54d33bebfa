"""What a request asks of a table, as one shape of query: a measure, groups, filters, a period and an order.

Each word of the request must become a part of the query or say nothing at all; one that does not is in `Query.unused`,
and the request is declined. So nothing is answered with half of what it asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from bot.models.rehearsal import rehearsed_words as lexicon
from bot.models.rehearsal.rehearsed_brief import words as split
from bot.models.rehearsal.rehearsed_periods import Period, periods_in
from bot.models.rehearsal.rehearsed_profile import Column, Table
from bot.models.rehearsal.rehearsed_words import Fold
from handoff.text.text_words import stem

_TOKEN = re.compile(r"\d[\d.,]*\d|\d+|[^\W\d_]+(?:['\u2019][^\W\d_]+)*\d*|%")
_FEW = re.compile(
    r"\b(?:top|first|best|largest|biggest|highest|(?P<low>bottom|last|worst|smallest|lowest))\s+(?P<number>\d{1,2})\b",
    re.IGNORECASE,
)
_OVER = r"over|above|more than|greater than|exceeding|at least|über|mehr als|más de|>=?"
_UNDER = r"under|below|less than|fewer than|at most|unter|weniger als|menos de|<=?"
_LIMIT = re.compile(rf"(?:\b|(?<=\s))(?P<how>{_OVER}|{_UNDER})\s*[$€£]?(?P<number>\d[\d,]*(?:\.\d+)?)\b", re.IGNORECASE)
_AT = {"at least": ">=", ">=": ">=", "at most": "<=", "<=": "<="}
_HOW_MANY = re.compile(
    r"\b(how many|number of|count of|wie ?viele|anzahl(?: der)?|cu[aá]nt[oa]s|count)\b", re.IGNORECASE
)
_CONTENTS = re.compile(
    r"\b(what('s| is| does)? (in|this|these|the (file|data|table))|was ist (in|das)|qué hay)\b", re.IGNORECASE
)
_OVER_TIME = re.compile(r"\bover time\b", re.IGNORECASE)
_ARTICLES = frozenset({"the", "der", "die", "das", "dem", "den", "el", "la", "los", "las", "each", "a", "an"})
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows count: those with one of some values of a column, or with none of them, or beyond a number."""

    column: Column
    values: tuple[str, ...] = ()
    excluded: bool = False
    limit: str = ""
    """A sign and a number, such as `> 500`, in place of values."""


@dataclass(frozen=True, slots=True)
class Query:
    """A request as a query. `unused` are words that are no part of it; `trouble` is another reason to decline it.

    `unit` is the period that rows are grouped by, `most` how many groups are wanted (0: all), `extreme` whether the
    largest or smallest is asked for, and `change` the direction of a change that is taken for granted (0: none).
    """

    table: Table
    fold: Fold | None = None
    measures: tuple[Column, ...] = ()
    groups: tuple[Column, ...] = ()
    filters: tuple[Filter, ...] = ()
    periods: tuple[Period, ...] = ()
    unit: str = ""
    when: Column | None = None
    counting: bool = False
    counted: Column | None = None
    most: int = 0
    upward: bool = False
    extreme: bool = False
    changed: bool = False
    change: int = 0
    overview: bool = False
    goes_on: bool = False
    unused: tuple[str, ...] = ()
    trouble: str = ""
    choices: tuple[str, ...] = ()
    """Columns of which a person must choose one."""
    understood: int = 0


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    low: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Mention:
    """A column named by the tokens from `at` to before `end`; `rivals` could be meant as well."""

    column: Column
    at: int
    end: int
    rivals: tuple[Column, ...] = ()


def read_request(table: Table, text: str, files: Sequence[str] = (), before: Sequence[str] = ()) -> Query:
    """Return what a text asks of a table. `files` are names of files, whose words say nothing more.

    `before` are the requests that it may go on from, oldest first: one that names no figure of its own does.
    """
    now = _Reader(table, text, files).read()
    for earlier in reversed(before):
        if not (now.goes_on or not (now.measures or now.overview or now.counting)):
            break
        now = _go_on(_Reader(table, earlier, files).read(), now)
    return _settled(now)


def _go_on(before: Query, now: Query) -> Query:
    """A follow-up with what was asked before: what it names replaces that, and the rest stays."""
    again = {one.column.name for one in now.filters}
    grouped = bool(now.groups or now.unit)
    return replace(
        before if not (now.measures or now.counting) else now,
        fold=now.fold or before.fold,
        groups=now.groups if grouped else before.groups,
        unit=now.unit if grouped else before.unit,
        when=now.when or before.when,
        filters=(*(one for one in before.filters if one.column.name not in again), *now.filters),
        periods=now.periods or before.periods,
        most=now.most or before.most,
        upward=now.upward or before.upward,
        unused=(*before.unused, *now.unused),
        trouble=now.trouble or before.trouble,
        understood=before.understood + now.understood,
    )


class _Reader:
    """Takes the words of a request, most certain first; each is taken once, and what nobody takes is left over."""

    def __init__(self, table: Table, text: str, files: Sequence[str]) -> None:
        self.table, self.text = table, text
        self.tokens = [_Token(one[0], one[0].lower(), *one.span()) for one in _TOKEN.finditer(text)]
        self.used: set[int] = set()
        self.trouble = ""
        for name in files:
            for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
                self.take_span(match.span())

    # ------------------------------------------------------------ words

    def take_span(self, span: tuple[int, int]) -> None:
        """Use every token in a part of the text."""
        self.used |= {at for at, one in enumerate(self.tokens) if one.start < span[1] and span[0] < one.end}

    def take(self, wanted: Collection[str]) -> list[int]:
        """Use all free tokens that are among these words; their places."""
        found = [at for at, one in enumerate(self.tokens) if at not in self.used and one.low in wanted]
        self.used.update(found)
        return found

    def low(self, at: int) -> str:
        """The word at a place, in lower case; empty beyond the ends."""
        return self.tokens[at].low if 0 <= at < len(self.tokens) else ""

    def before(self, at: int) -> int:
        """The place of the word before, articles passed over."""
        at -= 1
        while at > 0 and self.low(at) in _ARTICLES:
            at -= 1
        return at

    # ------------------------------------------------------------ the request

    def read(self) -> Query:
        """Make the query of all words."""
        periods = self._periods()
        few = self._span(_FEW)
        limits = list(_LIMIT.finditer(self.text))
        for match in limits:
            self.take_span(match.span())
        counting, contents = self._span(_HOW_MANY), _CONTENTS.search(self.text)
        filters = self._values()
        mentions = self._mentions()
        fold, bounds = self._folds()
        self.take(lexicon.CHART)  # rows that can be drawn are drawn anyway
        query = Query(
            self.table,
            fold=fold,
            periods=tuple(periods),
            filters=tuple(filters),
            counting=counting is not None,
            most=max(1, min(25, int(few["number"]))) if few else 0,
            upward=bool(few and few["low"]) or bounds == "low",
            extreme=bool(bounds),
            goes_on=bool(self.tokens) and self.low(0) in lexicon.AND,
        )
        query = self._columns(query, mentions, limits)
        query = self._units(query)
        query = self._change(query)
        query = self._rows_named(query, counting.end() if counting else -1)
        query = self._rest(query)
        overview = bool(self.take(lexicon.OVERVIEW)) or contents is not None
        asks = query.measures or query.fold or query.groups or query.counting or query.filters or query.unit
        unused = self._unused()
        understood = query.understood + len(mentions) + len(filters) + len(periods)
        return replace(
            query, overview=overview and not asks, unused=unused, trouble=self.trouble, understood=understood
        )

    def _span(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.search(self.text)
        if match:
            self.take_span(match.span())
        return match

    def _periods(self) -> list[Period]:
        firsts = [column.first for column in self.table.dates if column.first]
        lasts = [column.last for column in self.table.dates if column.last]
        found = periods_in(self.text, min(firsts), max(lasts)) if firsts and lasts else []
        for period in found:
            self.take_span(period.span)
        return found

    def _unused(self) -> tuple[str, ...]:
        silent = lexicon.FILLERS | lexicon.AND
        left = (one.text for at, one in enumerate(self.tokens) if at not in self.used and one.low not in silent)
        return tuple(dict.fromkeys(left))

    # ------------------------------------------------------------ filters

    def _values(self) -> list[Filter]:
        """The values that the words name, longest first; one that stands in several columns is nobody's."""
        found: dict[tuple[int, int], list[tuple[Column, str]]] = {}
        for column in self.table.columns:
            for value in () if column.is_number or column.is_date else column.values:
                for place in self._places(value):
                    found.setdefault(place, []).append((column, value))
        taken: dict[int, tuple[int, Filter]] = {}
        for (at, end), meant in sorted(found.items(), key=lambda one: (one[0][0] - one[0][1], one[0][0])):
            if self.used & set(range(at, end)) or len({column.name for column, _ in meant}) > 1:
                continue
            self.used |= set(range(at, end))
            values = tuple(dict.fromkeys(value.casefold() for _, value in meant))
            taken[at] = end, Filter(meant[0][0], values, excluded=self._is_excluded(at))
        return self._joined(taken)

    def _places(self, value: str) -> list[tuple[int, int]]:
        """Where the words name a value: one by one, or in its plural, and not as part of a column's name."""
        own = [each[0] for each in _TOKEN.finditer(value)]
        if not own or value.endswith("…"):
            return []
        names = {" ".join(split(column.name)) for column in self.table.columns}
        parts = {stem(word) for name in names for word in name.split()}
        silent = lexicon.FILLERS | lexicon.BY | lexicon.FOLDS.keys()
        places = []
        for at in range(len(self.tokens) - len(own) + 1):
            said = self.tokens[at : at + len(own)]
            if len(own) > 1:
                same = [one.low for one in said] == [one.lower() for one in own]
            elif said[0].low in silent or len(said[0].low) < 3:
                same = said[0].text == own[0]
            else:
                low, exact = said[0].low, said[0].low == own[0].lower()
                same = low not in names if exact else stem(low) == stem(own[0].lower()) and stem(low) not in parts
            if same:
                places.append((at, at + len(own)))
        return places

    def _is_excluded(self, at: int) -> bool:
        before = self.before(at)
        if self.low(before) == "than" and self.low(before - 1) == "other":
            self.used |= {before, before - 1}
            return True
        if self.low(before) in lexicon.ONLY:
            self.used.add(before)
        if self.low(before) not in lexicon.NOT:
            return False
        self.used.add(before)
        return True

    def _joined(self, taken: dict[int, tuple[int, Filter]]) -> list[Filter]:
        """Values of one column are alternatives; what is excluded stays apart."""
        made: dict[tuple[str, bool], Filter] = {}
        last_end, last = -2, None
        for at, (end, named) in sorted(taken.items()):
            goes_on = last is not None and last.excluded and last.column == named.column and at - last_end <= 1
            one = replace(named, excluded=named.excluded or goes_on)
            key = (one.column.name, one.excluded)
            made[key] = replace(one, values=(*made[key].values, *one.values)) if key in made else one
            last_end, last = end, one
        both = [one for one in made.values() if one.excluded and (one.column.name, False) in made]
        self._decline("what is both named and excluded", when=bool(both))
        return list(made.values())

    def _decline(self, what: str, *, when: bool) -> None:
        self.trouble = self.trouble or (what if when else "")

    # ------------------------------------------------------------ columns

    def _mentions(self) -> list[_Mention]:
        """The columns that the words name: by all words of a name, by some, or by words that people use for them."""
        candidates = []
        for column in self.table.columns:
            for at in range(len(self.tokens)):
                end, grade = self._run(at, column.stems)
                if end > at:
                    candidates.append((at - end, -grade, len(column.stems), at, end, column))
        candidates.sort(key=lambda one: one[:4])
        taken: dict[int, tuple[tuple[int, int], _Mention]] = {}
        for size, grade, _, at, end, column in candidates:
            known = taken.get(at)
            if known and known[0] == (size, grade) and known[1].end == end:
                rivals = (*known[1].rivals, column)
                taken[at] = known[0], replace(known[1], rivals=rivals)
            elif not self.used & set(range(at, end)):
                taken[at] = (size, grade), _Mention(column, at, end)
                self.used |= set(range(at, end))
        found = [mention for _, (_, mention) in sorted(taken.items())]
        starts = {one.at for one in found if one.column.is_measure}
        folds = [one for one in found if self.low(one.at) in lexicon.FOLDS and one.end in starts]
        self.used -= {at for one in folds for at in range(one.at, one.end)}  # `total units` is no column `total`
        return [one for one in found if one not in folds]

    def _run(self, at: int, own: tuple[str, ...]) -> tuple[int, int]:
        """Where the tokens end that name a column from here on, and how well: 4 whole, 3 exact, 2 near, 1 alike."""
        end, near, left = at, False, list(own)
        while end < len(self.tokens) and end not in self.used:
            low = self.low(end)
            if low in lexicon.BY | lexicon.WHICH | lexicon.AND | lexicon.FILLERS and low not in own:
                break
            exact = next((one for one in left if one in {low, stem(low)}), None)
            found = exact or next((one for one in left if len(low) > 3 and lexicon.close(one, low)), None)
            if found is None:
                alike = end == at and len(low) > 2 and low not in lexicon.FOLDS
                if alike and any(lexicon.alike(one, low) for one in own):
                    return end + 1, 1
                break
            left.remove(found)
            near = near or exact is None
            end += 1
        return end, 2 if near else 3 if left else 4

    def _columns(self, query: Query, mentions: list[_Mention], limits: list[re.Match[str]]) -> Query:
        """Sort the columns that are named into measures, groups, dates and what is counted."""
        filters, limited = [*query.filters], set()
        for match in limits:
            near = [one for one in mentions if one.column.is_measure and self._is_beside(one, match)]
            only = self.table.measures[0] if len(self.table.measures) == 1 else None
            column = near[0].column if near else only
            if column is None:
                self._decline(f"“{match[0].strip()}”, since it does not say of which column", when=True)
                continue
            limited.add(column.name)
            how = " ".join(match["how"].lower().split())
            sign = _AT.get(how, ">" if re.fullmatch(_OVER, how) else "<")
            filters.append(Filter(column, limit=f"{sign} {match['number'].replace(',', '')}"))
        query = replace(query, filters=tuple(filters))
        valued = {one.column.name for one in query.filters}
        last: _Mention | None = None
        for one in mentions:
            if one.column.name in limited and one.column.is_measure:
                continue
            query = self._column(query, one, last, valued)
            last = one
        return query

    def _is_beside(self, mention: _Mention, match: re.Match[str]) -> bool:
        before = match.start() - self.tokens[mention.end - 1].end
        after = self.tokens[mention.at].start - match.end()
        return 0 <= before <= 12 or 0 <= after <= 2

    def _column(self, query: Query, mention: _Mention, last: _Mention | None, valued: Collection[str]) -> Query:
        column, place = mention.column, self.before(mention.at)
        word = self.low(place)
        which = word in lexicon.WHICH or (word in lexicon.FOLDS and lexicon.FOLDS[word] in {"max", "min"})
        joined = last is not None and word in lexicon.AND and place == last.end
        by = word in lexicon.BY or word in lexicon.WHICH or word.isdigit() or (joined and bool(query.groups))
        if column.is_measure:
            ordered = word in {"by", "nach", "por"} and query.most
            self._decline(f"“{word} {column.name}”", when=word in lexicon.BY and not ordered)
            self._decline(
                f"“{column.name}” beside “{query.measures[0].name if query.measures else ''}”",
                when=bool(query.measures) and not joined,
            )
            choices = (column.name, *(one.name for one in mention.rivals)) if mention.rivals else ()
            return replace(query, measures=(*query.measures, column), choices=query.choices or choices)
        self._decline(f"which column “{self.tokens[mention.at].text}” is", when=bool(mention.rivals))
        self._decline_two_meanings(query, word)
        unit = lexicon.UNITS.get(self.low(mention.at), "") if by else ""
        if by and (unit or not column.is_date):
            self.used.add(place)
        if column.is_date and (unit or query.periods):
            return replace(query, when=column, unit=unit or query.unit, extreme=query.extreme or (which and bool(unit)))
        if not column.is_date and (by or (which and query.fold in {"max", "min"})):
            extreme = which and query.fold in {"max", "min"}
            upward = query.upward or (extreme and query.fold == "min")
            fold = None if extreme else query.fold
            groups = tuple(dict.fromkeys((*query.groups, column)))
            self._decline("more than two groups at once", when=len(groups) > 2)
            return replace(query, groups=groups, fold=fold, upward=upward, extreme=query.extreme or extreme)
        if column.name in valued:
            return query
        counted = place in self.used or word in lexicon.OF or column.distinct == self.table.rows
        if counted and not column.is_date and (query.counting or query.fold == "share" or query.filters):
            return replace(query, counted=query.counted or column)
        self.used -= set(range(mention.at, mention.end))
        return query

    def _decline_two_meanings(self, query: Query, word: str) -> None:
        """`average revenue per month` may be that of the rows, or of the totals."""
        added = any(one.is_flow and not one.is_stock for one in query.measures)
        self._decline(
            f"an average “{word} ...”, which may be that of rows or of totals",
            when=query.fold in {"mean", "median"} and word in lexicon.PER and added,
        )

    # ------------------------------------------------------------ the words around them

    def _folds(self) -> tuple[Fold | None, str]:
        """How values become one figure; and `high` or `low` where the most or the least is asked for."""
        found: list[Fold] = []
        for at, token in enumerate(self.tokens):
            fold = "share" if token.low == "%" else lexicon.FOLDS.get(token.low)
            alone = token.low in {"much", "viel"} and self.low(at - 1) not in {"how", "wie"}
            if fold is None or at in self.used or alone:
                continue
            self.used.add(at)
            found.append(fold)
        folds = [one for one in dict.fromkeys(found) if one != "sum" or len(set(found)) == 1]
        self._decline(f"{' and '.join(folds)} at once", when=len(folds) > 1)
        most, least = self.take(lexicon.MOST), self.take(lexicon.LEAST)
        self._decline("the most and the least at once", when=bool(most and least))
        return folds[0] if folds else None, "high" if most else "low" if least else ""

    def _units(self, query: Query) -> Query:
        """The period that rows are grouped by."""
        for at, token in enumerate(self.tokens):
            unit, before = lexicon.UNITS.get(token.low), self.low(self.before(at))
            grouped = token.low in lexicon.ADVERBS or before in lexicon.BY | lexicon.WHICH
            if unit is None or at in self.used or not grouped or not self.table.dates:
                continue
            self._decline_two_meanings(query, before)
            self.used |= {at} if token.low in lexicon.ADVERBS else {at, self.before(at)}
            extreme = before in lexicon.WHICH and query.fold in {"max", "min"}
            query = replace(
                query,
                unit=unit,
                fold=None if extreme else query.fold,
                extreme=query.extreme or extreme,
                upward=query.upward or (extreme and query.fold == "min"),
                understood=query.understood + 1,
            )
        if self.table.dates and (self._span(_OVER_TIME) or self.take(lexicon.TREND)):
            query = replace(query, unit=query.unit or "auto")
        return query

    def _change(self, query: Query) -> Query:
        """`why did churn rise`: the course of time, and what changed most; rules know no reasons."""
        why, verbs = self.take(lexicon.WHY), self.take(lexicon.CHANGE)
        if not why and not verbs:
            return query
        directions = {lexicon.CHANGE[self.low(at)] for at in verbs} - {0}
        self._decline("“why”", when=not verbs)
        self._decline("what changed within a period", when=bool(query.periods))
        change = directions.pop() if len(directions) == 1 and why else 0
        return replace(query, changed=True, change=change)

    def _rows_named(self, query: Query, counted_from: int) -> Query:
        """Words of the file's name stand for its rows: `orders` of shop_orders.csv."""
        name = [stem(word) for word in split(PurePath(self.table.file).stem) if len(word) > 2 and not word.isdigit()]
        for at, token in enumerate(self.tokens):
            after = 0 <= counted_from <= token.start
            own = name if after else name[-1:]
            if at not in self.used and stem(token.low) in own:
                self.used.add(at)
                query = replace(query, understood=query.understood + 1)
        return query

    def _rest(self, query: Query) -> Query:
        """Words that mean something only beside others: comparisons, and the last moment of a stock."""
        chosen = [one for one in query.filters if len(one.values) > 1 and not one.excluded]
        versus = [at for at, one in enumerate(self.tokens) if at not in self.used and one.low in lexicon.VERSUS]
        if versus and (len(query.periods) > 1 or chosen):
            self.used.update(versus)
            if chosen and not query.groups and not query.periods:
                query = replace(query, groups=(chosen[0].column,))
        if query.measures and all(one.is_stock for one in query.measures) and not query.periods:
            self.take(lexicon.NOW)
        return query


# ---------------------------------------------------------------- what is certain, and what is not


def _settled(query: Query) -> Query:
    """Fill in what is certain, and say what is not."""
    query = replace(query, when=query.when or next(iter(query.table.dates), None))
    if query.trouble or query.unused:
        return replace(query, trouble=query.trouble or _unknown(query), choices=())
    if query.overview:
        return query
    if query.counting and query.fold not in {None, "sum", "share"}:
        return replace(query, trouble=f"a number of rows and its {query.fold} at once")
    if not query.measures and not query.counting and query.fold != "share":
        query = _with_measure(query)
    if query.most and not query.groups and not query.unit:
        query = _rows_on_top(query)
    return query if query.choices else _checked(query)


def _unknown(query: Query) -> str:
    named = ", ".join(f"“{word}”" for word in query.unused[:_MOST_NAMED])
    return f"what {named} {'stands' if len(query.unused) == 1 else 'stand'} for"


def _with_measure(query: Query) -> Query:
    """The one measure that there is, or the column that a person must choose; rows are counted if values are named."""
    measures = query.table.measures
    asks = query.fold or query.groups or query.unit or query.extreme or query.changed
    if query.filters and not (query.fold or query.extreme or query.changed):
        return replace(query, counting=True)
    if not asks or not measures:
        return query
    if len(measures) == 1:
        return replace(query, measures=(measures[0],))
    return replace(query, choices=tuple(one.name for one in measures))


def _rows_on_top(query: Query) -> Query:
    """`top 5 products by price`: rows themselves, by the column that names each."""
    alone = [one for one in query.table.columns if one.is_category and one.distinct == query.table.rows]
    return replace(query, groups=(alone[0],), fold="max") if alone and query.measures else query


def _checked(query: Query) -> Query:
    """Decline what would be a guess: sums of rates, prices without a fold, shares of what is not clear."""
    counting = query.counting and not query.measures
    query = replace(query, counting=counting)
    plain = query.fold in {None, "sum"} and not counting
    fold: Fold | None = "sum" if plain and query.measures else query.fold
    return replace(query, fold=fold, trouble=_trouble(query, plain=plain))


def _trouble(query: Query, *, plain: bool) -> str:
    measures, grouped = query.measures, bool(query.groups or query.unit)
    odd = next((one.name for one in measures if not one.is_flow), "")
    ordered = query.extreme or query.most
    reasons = (
        ("what changed", query.changed and (len(measures) != 1 or query.when is None or not plain)),
        ("a share of what", query.fold == "share" and not _is_share(query, grouped=grouped)),
        ("which figure is meant", not measures and not query.counting and query.fold != "share"),
        (f"a total of “{odd}”, which does not add up", plain and any(one.is_rate for one in measures)),
        (
            f"“{odd}” without being told whether its average, median or total is meant",
            query.fold is None and plain and bool(odd) and not ordered,
        ),
        ("the most or the least of what", query.extreme and not grouped),
        ("groups and several periods at once", len(query.periods) > 1 and grouped),
        ("the first or last few periods", bool(query.most and query.unit)),
        ("more than three figures at once", len(measures) > 3),
    )
    return next((what for what, holds in reasons if holds), "")


def _is_share(query: Query, *, grouped: bool) -> bool:
    """True if it is clear of what a share is: of each group, or of the rows with certain values."""
    parts = [one for one in query.filters if one.values]
    counted = query.counted.distinct if query.counted and not query.measures else 0
    part = grouped or (len(parts) == 1 and not parts[0].excluded)
    return part and len(query.measures) < 2 and not 0 < counted < query.table.rows
