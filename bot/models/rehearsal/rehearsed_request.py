"""What a request asks of a table, as one shape of query: a measure, a group, filters, a period and an order.

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
from bot.models.rehearsal.rehearsed_periods import Period, period_in
from bot.models.rehearsal.rehearsed_profile import Column, Table
from bot.models.rehearsal.rehearsed_words import Fold
from handoff.text.text_words import stem

_TOKEN = re.compile(r"\d[\d.,]*\d|\d+|[^\W\d_]+(?:['\u2019][^\W\d_]+)*\d*|[%<>=]")
_FEW = re.compile(
    r"\b(?:top|first|best|largest|biggest|highest|(?P<low>bottom|last|worst|smallest|lowest))\s+(?P<number>\d{1,2})\b",
    re.IGNORECASE,
)
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
    """Which rows count: those with one of some values of a column, or with none of them."""

    column: Column
    values: tuple[str, ...]
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A request as a query. `unused` are words that are no part of it; `trouble` is the reason to decline it.

    `unit` is the period that rows are grouped by, `most` how many groups are wanted (0: all), `extreme` whether the
    largest or smallest is asked for, `reasons` whether it
    asks why, and `understood` how many of its words name something in the table.
    """

    table: Table
    fold: Fold | None = None
    measure: Column | None = None
    group: Column | None = None
    filters: tuple[Filter, ...] = ()
    period: Period | None = None
    unit: str = ""
    when: Column | None = None
    counting: bool = False
    most: int = 0
    upward: bool = False
    extreme: bool = False
    reasons: bool = False
    overview: bool = False
    goes_on: bool = False
    unused: tuple[str, ...] = ()
    trouble: str = ""
    choices: tuple[Column, ...] = ()
    """Figures of which a person must choose one."""
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
        if not now.goes_on and (now.measure or now.overview or now.counting):
            break
        now = _go_on(_Reader(table, earlier, files).read(), now)
    return settle(now)


def _go_on(before: Query, now: Query) -> Query:
    """Return what was asked before with what a follow-up names in place of that."""
    again = {one.column for one in now.filters}
    parted = now if now.group or now.unit else before
    return replace(
        now if now.measure or now.counting else before,
        fold=now.fold or before.fold,
        group=parted.group,
        unit=parted.unit,
        reasons=parted.reasons,
        when=now.when or before.when,
        filters=(*(one for one in before.filters if one.column not in again), *now.filters),
        period=now.period or before.period,
        unused=(*before.unused, *now.unused),
        trouble=now.trouble or before.trouble,
    )


class _Reader:
    """Takes the words of a request, most certain first; each is taken once, and what nobody takes is left over."""

    def __init__(self, table: Table, text: str, files: Sequence[str]) -> None:
        self.table, self.text = table, text
        self.tokens = [_Token(one[0], one[0].lower(), *one.span()) for one in _TOKEN.finditer(text)]
        self.used: set[int] = set()
        self.trouble = ""
        for name in files:
            self._take_match(re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE))

    def read(self) -> Query:
        """Return the query of all words."""
        dates = [day for column in self.table.dates for day in (column.first, column.last) if day]
        period = period_in(self.text, min(dates), max(dates)) if dates else None
        if period:
            self._take_span(period.span)
        few, counting = self._take_match(_FEW), self._take_match(_HOW_MANY)
        filters, mentions = self._filters(), self._mentions()
        fold, bound = self._fold()
        self._take(lexicon.CHART)  # rows that can be drawn are drawn anyway
        query = Query(
            self.table,
            fold=fold,
            filters=filters,
            period=period,
            counting=counting is not None,
            most=max(1, min(25, int(few["number"]))) if few else 0,
            upward=bool(few and few["low"]) or bound == "low",
            extreme=bool(bound),
            goes_on=bool(self.tokens) and self._low(0) in lexicon.AND,
            understood=len(mentions) + len(filters) + bool(period),
        )
        for one in mentions:
            query = self._with_column(query, one)
        query = self._with_rows(self._with_unit(query), counting.end() if counting else -1)
        return self._finish(query)

    def _finish(self, query: Query) -> Query:
        if query.measure and query.measure.is_stock and not query.period:
            self._take(lexicon.NOW)
        added = query.measure and query.measure.is_flow and not query.measure.is_stock
        averaged = added and query.fold in {"mean", "median"}
        per = any(one.low in lexicon.PER for one in self.tokens)
        self._decline("an average “per ...”, which may be that of rows or of totals", when=averaged and per)
        overview = bool(self._take(lexicon.OVERVIEW)) or bool(_CONTENTS.search(self.text))
        asks = query.measure or query.fold or query.group or query.counting or query.filters or query.unit
        silent = lexicon.FILLERS | lexicon.AND
        left = (one.text for at, one in enumerate(self.tokens) if at not in self.used and one.low not in silent)
        return replace(query, overview=overview and not asks, unused=tuple(dict.fromkeys(left)), trouble=self.trouble)

    # ------------------------------------------------------------ words

    def _take_span(self, span: tuple[int, int]) -> None:
        """Use every token in a part of the text."""
        self.used |= {at for at, one in enumerate(self.tokens) if one.start < span[1] and span[0] < one.end}

    def _take_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Use the tokens of the first match."""
        if match := pattern.search(self.text):
            self._take_span(match.span())
        return match

    def _take(self, wanted: Collection[str]) -> list[int]:
        """Use all free tokens that are among these words; return their places."""
        found = [at for at, one in enumerate(self.tokens) if at not in self.used and one.low in wanted]
        self.used.update(found)
        return found

    def _low(self, at: int) -> str:
        """Return the word at a place, in lower case; empty beyond the ends."""
        return self.tokens[at].low if 0 <= at < len(self.tokens) else ""

    def _before(self, at: int) -> int:
        """Return the place of the word before, articles passed over."""
        at -= 1
        while at > 0 and self._low(at) in _ARTICLES:
            at -= 1
        return at

    def _decline(self, what: str, *, when: object) -> None:
        self.trouble = self.trouble or (what if when else "")

    # ------------------------------------------------------------ filters

    def _filters(self) -> tuple[Filter, ...]:
        """Return the values that the words name, longest first; one that stands in several columns is nobody's."""
        found: dict[tuple[int, int], list[tuple[Column, str]]] = {}
        for column in self.table.columns:
            for value in () if column.is_number or column.is_date else column.values:
                for place in self._places(value):
                    found.setdefault(place, []).append((column, value))
        taken: dict[int, Filter] = {}
        for (at, end), meant in sorted(found.items(), key=lambda one: (one[0][0] - one[0][1], one[0][0])):
            if self.used & set(range(at, end)) or len({column.name for column, _ in meant}) > 1:
                continue
            self.used |= set(range(at, end))
            values = tuple(dict.fromkeys(value.casefold() for _, value in meant))
            taken[at] = Filter(meant[0][0], values, excluded=self._is_excluded(at))
        return self._joined([one for _, one in sorted(taken.items())])

    def _places(self, value: str) -> list[tuple[int, int]]:
        """Return where the words name a value: one by one, or in its plural, and not as part of a column's name."""
        own = [each[0] for each in _TOKEN.finditer(value)]
        if not own or value.endswith("…"):
            return []
        names = {" ".join(split(column.name)) for column in self.table.columns}
        every = ((at, self.tokens[at : at + len(own)]) for at in range(len(self.tokens) - len(own) + 1))
        return [(at, at + len(own)) for at, said in every if _is_value(said, own, names)]

    def _is_excluded(self, at: int) -> bool:
        """Return True if the word before a value excludes it. That word is used."""
        before = self._before(at)
        if self._low(before) in lexicon.ONLY | lexicon.NOT:
            self.used.add(before)
        return self._low(before) in lexicon.NOT

    def _joined(self, named: Sequence[Filter]) -> tuple[Filter, ...]:
        """Return one filter for each column: its values are alternatives, and all excluded where the first is."""
        made: dict[str, Filter] = {}
        for one in named:
            known = made.get(one.column.name)
            self._decline("what is both named and excluded", when=known and one.excluded and not known.excluded)
            made[one.column.name] = replace(known, values=(*known.values, *one.values)) if known else one
        return tuple(made.values())

    # ------------------------------------------------------------ columns

    def _mentions(self) -> list[_Mention]:
        """Return the columns that the words name, by all words of a name, by some, or by words used for them."""
        candidates = []
        for column in self.table.columns:
            for at in range(len(self.tokens)):
                end, grade = self._run(at, column.stems)
                if end > at:
                    candidates.append(((at - end, -grade, len(column.stems), at), end, column))
        candidates.sort(key=lambda one: one[0])
        taken: dict[int, tuple[tuple[int, int], _Mention]] = {}
        for (size, grade, _, at), end, column in candidates:
            known = taken.get(at)
            if known and known[0] == (size, grade) and known[1].end == end:
                taken[at] = known[0], replace(known[1], rivals=(*known[1].rivals, column))
            elif not self.used & set(range(at, end)):
                taken[at] = (size, grade), _Mention(column, at, end)
                self.used |= set(range(at, end))
        return self._without_folds([mention for _, (_, mention) in sorted(taken.items())])

    def _without_folds(self, found: list[_Mention]) -> list[_Mention]:
        """Return mentions without those that are a fold of the next: `total units` names no column `total`."""
        starts = {one.at for one in found if one.column.is_measure}
        folds = [one for one in found if self._low(one.at) in lexicon.FOLDS and one.end in starts]
        self.used -= {at for one in folds for at in range(one.at, one.end)}
        return [one for one in found if one not in folds]

    def _run(self, at: int, own: tuple[str, ...]) -> tuple[int, int]:
        """Return where the tokens end that name a column, and how well: 4 whole, 3 exact, 2 near, 1 alike."""
        end, near, left = at, False, list(own)
        while end < len(self.tokens) and end not in self.used:
            low = self._low(end)
            if low in lexicon.BY | lexicon.WHICH | lexicon.AND | lexicon.FILLERS and low not in own:
                break
            exact = next((one for one in left if one in {low, stem(low)}), None)
            found = exact or next((one for one in left if len(low) > 3 and lexicon.close(one, low)), None)
            if found is None:
                may_be_alike = end == at and len(low) > 2 and low not in lexicon.FOLDS
                if may_be_alike and any(lexicon.alike(one, low) for one in own):
                    return end + 1, 1
                break
            left.remove(found)
            near = near or exact is None
            end += 1
        return end, 2 if near else 3 if left else 4

    def _with_column(self, query: Query, mention: _Mention) -> Query:
        """Return the query with a column that is named: its measure, its group, its date, or what is counted."""
        column, word = mention.column, self._low(self._before(mention.at))
        rivals = " or ".join(f"“{one.name}”" for one in (column, *mention.rivals))
        self._decline(f"whether {rivals} is meant", when=mention.rivals)
        if column.is_measure:
            self._decline(f"“{word} {column.name}”", when=word in lexicon.BY and not query.most)
            self._decline(f"“{column.name}” beside another figure", when=query.measure)
            return replace(query, measure=column)
        if column.is_date:
            return self._with_date(query, mention, word)
        return self._with_category(query, mention, word)

    def _with_date(self, query: Query, mention: _Mention, word: str) -> Query:
        is_unit = word in lexicon.BY | lexicon.WHICH
        unit = lexicon.UNITS.get(self._low(mention.at), "") if is_unit else ""
        if not unit and not query.period:
            return self._give_back(query, mention)
        query = replace(query, when=mention.column)
        if not unit:
            return query
        self.used.add(self._before(mention.at))
        return self._grouped(replace(query, unit=unit), asks_which=word in lexicon.WHICH)

    def _with_category(self, query: Query, mention: _Mention, word: str) -> Query:
        column, place = mention.column, self._before(mention.at)
        asks_which = query.fold in {"max", "min"} and (word in lexicon.WHICH or word in lexicon.FOLDS)
        if word in lexicon.BY | lexicon.WHICH or word.isdigit() or asks_which:
            self.used.add(place)
            self._decline("more than one group at once", when=query.group not in {None, column})
            return self._grouped(replace(query, group=column), asks_which=asks_which)
        if any(one.column == column for one in query.filters):
            return query
        names_rows = column.distinct == self.table.rows
        if names_rows and (query.counting or query.fold == "share" or query.filters):
            return query
        return self._give_back(query, mention)

    def _give_back(self, query: Query, mention: _Mention) -> Query:
        self.used -= set(range(mention.at, mention.end))
        return replace(query, understood=query.understood - 1)

    def _grouped(self, query: Query, *, asks_which: bool) -> Query:
        """Return a grouped query; of `which region has the largest revenue`, `largest` is the order and no fold."""
        if not (asks_which and query.fold in {"max", "min"}):
            return query
        return replace(query, fold=None, extreme=True, upward=query.upward or query.fold == "min")

    # ------------------------------------------------------------ the words around them

    def _fold(self) -> tuple[Fold | None, str]:
        """Return how values become one figure; and `high` or `low` where the most or the least is asked for."""
        found: list[Fold] = []
        for at, token in enumerate(self.tokens):
            fold = "share" if token.low == "%" else lexicon.FOLDS.get(token.low)
            alone = token.low in {"much", "viel"} and self._low(at - 1) not in {"how", "wie"}
            if fold is not None and at not in self.used and not alone:
                self.used.add(at)
                found.append(fold)
        folds = [one for one in dict.fromkeys(found) if one != "sum" or len(set(found)) == 1]
        self._decline(f"{' and '.join(folds)} at once", when=len(folds) > 1)
        most, least = self._take(lexicon.MOST), self._take(lexicon.LEAST)
        self._decline("the most and the least at once", when=most and least)
        return folds[0] if folds else None, "high" if most else "low" if least else ""

    def _with_unit(self, query: Query) -> Query:
        """Return the query with the period that rows are grouped by."""
        for at, token in enumerate(self.tokens) if self.table.dates else ():
            unit, before = lexicon.UNITS.get(token.low), self._low(self._before(at))
            alone = token.low in lexicon.ADVERBS
            if unit is None or at in self.used or not (alone or before in lexicon.BY | lexicon.WHICH):
                continue
            self.used |= {at} if alone else {at, self._before(at)}
            query = replace(query, unit=unit, understood=query.understood + 1)
            query = self._grouped(query, asks_which=before in lexicon.WHICH)
        changed = self._take(lexicon.CHANGE)
        self._decline("what changed within a period", when=changed and query.period)
        if self.table.dates and (changed or self._take_match(_OVER_TIME) or self._take(lexicon.TREND)):
            return replace(query, unit=query.unit or "auto", reasons=bool(self._take(lexicon.WHY)))
        return query

    def _with_rows(self, query: Query, counted_from: int) -> Query:
        """Words of the file's name stand for its rows: `orders` of shop_orders.csv."""
        name = [stem(word) for word in split(PurePath(self.table.file).stem) if len(word) > 2 and not word.isdigit()]
        for at, token in enumerate(self.tokens):
            own = name if 0 <= counted_from <= token.start else name[-1:]
            if at not in self.used and stem(token.low) in own:
                self.used.add(at)
                query = replace(query, understood=query.understood + 1)
        return query


def _is_value(said: Sequence[_Token], own: Sequence[str], names: Collection[str]) -> bool:
    """Return True if words are those of a value: one by one, or in its plural, and no column's name."""
    low = said[0].low
    if len(own) > 1:
        return [one.low for one in said] == [one.lower() for one in own]
    if len(low) < 3 or low in lexicon.FILLERS | lexicon.BY | lexicon.FOLDS.keys():
        return said[0].text == own[0]
    if low == own[0].lower():
        return low not in names
    return stem(low) == stem(own[0].lower()) and stem(low) not in {
        stem(word) for name in names for word in name.split()
    }


# ---------------------------------------------------------------- what is certain, and what is not


def settle(query: Query) -> Query:
    """Fill in what is certain, and say what is not."""
    query = replace(query, when=query.when or next(iter(query.table.dates), None))
    if query.unused and not query.trouble:
        named = ", ".join(f"“{word}”" for word in query.unused[:_MOST_NAMED])
        return replace(query, trouble=f"what {named} {'stands' if len(query.unused) == 1 else 'stand'} for")
    if query.trouble or query.overview:
        return query
    if not (query.measure or query.counting or query.fold == "share"):
        query = _with_measure(query)
    if query.counting and query.fold not in {None, "sum", "share"}:
        return replace(query, trouble=f"a number of rows and its {query.fold} at once")
    query = replace(query, counting=query.counting and not query.measure)
    if query.choices:
        return query
    return replace(query, trouble=_trouble(query))


def _with_measure(query: Query) -> Query:
    """Return the query with the one measure that there is; rows are counted if values are named and nothing else."""
    measures = query.table.measures
    folded = query.fold or query.extreme
    if query.filters and not folded:
        return replace(query, counting=True)
    if not (folded or query.group or query.unit) or not measures:
        return query
    if len(measures) == 1:
        return replace(query, measure=measures[0])
    return replace(query, choices=tuple(measures))


def _trouble(query: Query) -> str:
    """Return why an answer would be a guess: sums of rates, prices without a fold, shares of what is not clear."""
    measure, parted = query.measure, bool(query.group or query.unit)
    plain = query.fold in {None, "sum"} and not query.counting
    name = measure.name if measure else ""
    is_part = len(query.filters) == 1 and not query.filters[0].excluded
    ordered = query.extreme or query.most
    alone = query.group and any(one.column == query.group and len(one.values) == 1 for one in query.filters)
    reasons = (
        (query.trouble, query.trouble),
        ("a share of what", query.fold == "share" and not (parted or is_part)),
        ("which figure is meant", not measure and not query.counting and query.fold != "share"),
        (f"a total of “{name}”, which does not add up", plain and measure and measure.is_rate),
        (
            f"“{name}” without being told whether its average, median or total is meant",
            query.fold is None and measure and not measure.is_flow and not ordered,
        ),
        ("the most or the least of what", query.extreme and not parted),
        ("the most or the least of one group", alone and (ordered or query.fold in {"max", "min"})),
        ("groups and periods at once, or what changed by group", query.group and query.unit),
        ("the first or last few of what", query.most and not query.group),
    )
    return next((what for what, holds in reasons if holds), "")
