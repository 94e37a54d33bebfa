"""What a request asks of a table, as one shape of query: a measure, a group, filters, a period and an order.

Each word of the request must become a part of the query or say nothing at all. As soon as one does not, the request is
declined: nothing is answered with half of what it asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from bot.models.rehearsal import rehearsed_words as lexicon
from bot.models.rehearsal.rehearsed_brief import words as split
from bot.models.rehearsal.rehearsed_periods import period_in
from bot.models.rehearsal.rehearsed_profile import KEYS, Column, Table
from bot.models.rehearsal.rehearsed_query import Filter, Query, settle
from bot.models.rehearsal.rehearsed_words import Fold
from handoff.text.text_words import stem

_TOKEN = re.compile(r"\d[\d.,]*\d|\d+[^\W\d_]*|[^\W\d_]+(?:['\u2019][^\W\d_]+)*\d*|[%<>=]")
_FEW = re.compile(
    r"\b(?:top|first|best|largest|biggest|highest|(?P<low>bottom|last|worst|smallest|lowest))\s+(?P<number>\d{1,2})\b",
    re.IGNORECASE,
)
HOW_MANY = re.compile(
    r"\b(how (?:many|often)|number of|count of|wie ?(?:viele|oft|häufig)|anzahl(?: der)?|cu[aá]nt[oa]s|count)\b",
    re.IGNORECASE,
)
_ARTICLES = lexicon.word_set("the der die das dem den el la los las a an")
_DONE = ("ed", "t")
"""How participles end."""
_FOLDED = frozenset({"mean", "median", "max", "min"})
_AMOUNTS = frozenset(map(stem, lexicon.word_set("units unit quantity qty volume pieces menge stück unidades cantidad")))
"""Words of columns that say how many of something one row is about."""


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    low: str
    start: int
    end: int


def read_request(table: Table, text: str, files: Sequence[str] = (), before: Sequence[str] = ()) -> Query:
    """Return what a text asks of a table. `files` are names of files, whose words say nothing more.

    `before` are the requests that it may go on from, oldest first: one that names no figure of its own does.
    """
    now = _Reader(table, text, files).read()
    for earlier in reversed(before):
        if not now.goes_on and (now.measure or now.counting):
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
        self.counted = self.doing = ""
        for name in files:
            self._take_match(re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE))

    def read(self) -> Query:
        """Return the query of all words."""
        dates = [day for column in self.table.dates for day in (column.first, column.last) if day]
        period = period_in(self.text, min(dates), max(dates)) if dates else None
        if period:
            self._take_span(period.span)
        few, counting = self._take_match(_FEW), self._take_match(HOW_MANY)
        filters, mentions = self._filters(), self._mentions()
        fold, most, least = self._fold(), self._take(lexicon.MOST), self._take(lexicon.LEAST)
        often = [at for at, one in enumerate(self.tokens) if one.low in lexicon.OFTEN and at - 1 in {*most, *least}]
        often += [at for at, one in enumerate(self.tokens) if one.low in lexicon.OFTENEST]
        self.used.update(often)
        self._decline("whether the most or the least is meant", when=most and least)
        self._take(lexicon.CHART)  # rows that can be drawn are drawn anyway
        query = Query(
            self.table,
            fold=fold,
            filters=filters,
            period=period,
            counting=counting is not None,
            most=max(1, min(25, int(few["number"]))) if few else 0,
            upward=bool(few and few["low"]) or bool(least),
            extreme=bool(most or least or often),
            goes_on=self._low(0) in lexicon.AND,
            understood=len(mentions) + len(filters) + bool(period),
        )
        for column, at, end in mentions:
            query = self._with_column(query, column, at, end)
        counted_from = counting.end() if counting else -1
        query = self._with_rows(self._with_unit(query), counted_from)
        query = self._counted(self._with_date(query), counted_from, often=bool(often))
        if query.measure and query.measure.is_stock and not query.period:
            self._take(lexicon.NOW)
        added = query.measure and query.measure.is_flow and not query.measure.is_stock
        per = any(one.low in lexicon.PER for one in self.tokens)
        averaged = added and query.fold in {"mean", "median"} and per
        self._decline("whether an average “per ...” is that of rows or of totals", when=averaged)
        silent = lexicon.FILLERS | lexicon.AND
        left = (one.text for at, one in enumerate(self.tokens) if at not in self.used and one.low not in silent)
        return replace(query, unused=tuple(dict.fromkeys(left)), trouble=self.trouble)

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
        """Return the values that the words name, longest first, those of one column as alternatives.

        A value that stands in several columns is nobody's.
        """
        names = {" ".join(split(column.name)) for column in self.table.columns}
        found: dict[tuple[int, int], list[tuple[Column, str]]] = {}
        for column in self.table.columns:
            for value in column.values if column.is_text else ():
                own = [each[0] for each in _TOKEN.finditer(value)] if not value.endswith("…") else []
                for at in range(len(self.tokens) - len(own) + 1) if own else ():
                    if _is_value(self.tokens[at : at + len(own)], own, names):
                        found.setdefault((at, at + len(own)), []).append((column, value.casefold()))
        taken: dict[int, Filter] = {}
        for (at, end), meant in sorted(found.items(), key=lambda one: (one[0][0] - one[0][1], one[0][0])):
            if not self.used & set(range(at, end)) and len({column for column, _ in meant}) == 1:
                self.used |= set(range(at, end))
                values = tuple(dict.fromkeys(value for _, value in meant))
                taken[at] = Filter(meant[0][0], values, excluded=self._is_excluded(at))
                self.used |= {end} if self._low(end) in lexicon.ONLY else set()
        made: dict[Column, Filter] = {}
        for _, one in sorted(taken.items()):
            known = made.get(one.column)
            self._decline("what is both named and excluded", when=known and one.excluded and not known.excluded)
            made[one.column] = replace(known, values=(*known.values, *one.values)) if known else one
        return tuple(made.values())

    def _is_excluded(self, at: int) -> bool:
        """Return True if the word before a value excludes it. That word is used."""
        before = self._before(at)
        if self._low(before) in lexicon.ONLY | lexicon.NOT:
            self.used.add(before)
        return self._low(before) in lexicon.NOT

    # ------------------------------------------------------------ columns

    def _mentions(self) -> list[tuple[Column, int, int]]:
        """Return the columns that the words name and where, by all words of a name, by some, or by words like them."""
        candidates = []
        for column in self.table.columns:
            for at in range(len(self.tokens)):
                end, grade = self._run(at, column.stems)
                if end > at and not (grade < 3 and self._is_doing(at)):
                    candidates.append(((at - end, -grade, len(column.stems), at), end, column))
        candidates.sort(key=lambda one: one[0])
        taken: dict[int, tuple[tuple[int, int], Column, int]] = {}
        for (size, grade, _, at), end, column in candidates:
            if at in taken and taken[at][0] == (size, grade):
                self._decline(f"whether “{taken[at][1].name}” or “{column.name}” is meant", when=True)
            elif not self.used & set(range(at, end)):
                taken[at] = (size, grade), column, end
                self.used |= set(range(at, end))
        found = [(column, at, end) for at, (_, column, end) in sorted(taken.items())]
        # Of `total units`, the first word is a fold and names no column `total`.
        starts = {at for column, at, _ in found if column.is_measure}
        folds = [one for one in found if self._low(one[1]) in lexicon.FOLDS and one[2] in starts]
        self.used -= {at for _, begin, end in folds for at in range(begin, end)}
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

    def _with_column(self, query: Query, column: Column, at: int, end: int) -> Query:
        """Return the query with a column that is named: its measure, its date, its group, or what is counted."""
        before = self._before(at)
        word = self._low(before)
        if column.is_measure:
            self._decline(f"how to group by the figure “{column.name}”", when=word in lexicon.BY and not query.most)
            other = query.measure.name if query.measure not in {None, column} and query.measure else ""
            self._decline(f"whether “{other}” or “{column.name}” is meant", when=other)
            return replace(query, measure=column)
        unit = lexicon.UNITS.get(self._low(at), "") if word in lexicon.BY | lexicon.WHICH else ""
        if column.is_date and (unit or query.period):
            self._decline("which of the dates is meant", when=query.when not in {None, column})
            self.used |= {before} if unit else set()
            query = replace(query, when=column)
            return _group_query(replace(query, unit=unit), word) if unit else query
        is_row = column.distinct == self.table.rows and not column.is_date
        if not column.is_date and not (is_row and query.group and query.most):
            grouped = self._with_group(query, column, before)
            if grouped is not None:
                return grouped
        asked = query.counting or query.extreme or query.fold == "share" or query.filters
        if is_row and (asked or stem(self._low(at)) != self._low(at)):
            self.used |= {before} if query.most and word in lexicon.BY else set()  # `top 2 cities by orders`
            self.counted = self.counted or self._low(at)
            return query
        if not column.is_date and any(one.column == column for one in query.filters):
            return query
        if column.is_date and column.is_whole and asked and self._is_passive(at):  # `were opened`: each row was
            self.counted = self.doing = self._low(at)
            return replace(query, when=column)
        self.used -= set(range(at, end))
        return replace(query, understood=query.understood - 1)

    def _with_group(self, query: Query, column: Column, before: int) -> Query | None:
        """Return the query grouped by a column if the word before it says so."""
        word = self._low(before)
        introduces = lexicon.BY | lexicon.WHICH | lexicon.OFTEN | lexicon.OFTENEST
        if word.isdigit() and not query.most and self._low(before - 1) in lexicon.WHICH:  # `which 2 countries`
            query = replace(query, most=max(1, min(25, int(word))))
            self.used.add(before)
            word = self._low(before - 1)
        is_done = self._is_doing(before) and self._low(before - 1) in lexicon.MOST
        of_fold = query.fold in {"max", "min"} and word in lexicon.FOLDS
        if not (word in introduces or is_done or of_fold or (word.isdigit() and query.most)):
            return None
        self.used |= set() if is_done else {before}
        while self._low(before - 1) in lexicon.BY and self._low(before) in lexicon.BY:  # `by each country`
            before -= 1
            self.used.add(before)
        self._decline("how to show more than one group at once", when=query.group not in {None, column})
        return _group_query(replace(query, group=column), word)

    # ------------------------------------------------------------ the words around them

    def _fold(self) -> Fold | None:
        """Return how values become one figure."""
        found: list[Fold] = []
        for at, token in enumerate(self.tokens):
            fold = "share" if token.low == "%" else lexicon.FOLDS.get(token.low)
            alone = token.low in {"much", "viel"} and self._low(at - 1) not in {"how", "wie"}
            if fold is not None and at not in self.used and not alone:
                self.used.add(at)
                found.append(fold)
        folds = [one for one in dict.fromkeys(found) if one != "sum" or len(set(found)) == 1]
        self._decline(f"which of {' and '.join(folds)} is meant", when=len(folds) > 1)
        return folds[0] if folds else None

    def _with_unit(self, query: Query) -> Query:
        """Return the query with the period that rows are grouped by."""
        for at, token in enumerate(self.tokens) if self.table.dates else ():
            unit, before = lexicon.UNITS.get(token.low), self._before(at)
            word, alone = self._low(before), token.low in lexicon.ADVERBS
            if unit is not None and at not in self.used and (alone or word in lexicon.BY | lexicon.WHICH):
                self.used |= {at} if alone else {at, before}
                query = _group_query(replace(query, unit=unit, understood=query.understood + 1), word)
        changed = self._take(lexicon.CHANGE)
        self._decline("what changed within a period", when=changed and query.period)
        if self.table.dates and (changed or self._take(lexicon.TREND)):
            return replace(query, unit=query.unit or "auto", reasons=bool(self._take(lexicon.WHY)))
        return query

    def _is_passive(self, at: int) -> bool:
        """Return True if a word says what happened to something: `was ordered`, `the most ordered`."""
        return (
            self._low(at).endswith(_DONE)
            and self._low(self._before(at)) in lexicon.PASSIVE | lexicon.MOST | lexicon.OFTEN | lexicon.OFTENEST
        )

    def _is_doing(self, at: int) -> bool:
        """Return True if a word is the participle of what the rows are: `ordered` of shop_orders.csv."""
        low, (*_, noun) = self._low(at), ("", *self._nouns())
        return low.endswith(_DONE) and (stem(low) == noun or lexicon.close(low, noun))

    def _nouns(self) -> list[str]:
        """Return the words of the file's name, which stand for its rows: `orders` of shop_orders.csv."""
        said = [word for word in split(PurePath(self.table.file).stem) if len(word) > 2 and not word.isdigit()]
        return [] if said and said[-1] in lexicon.PARTS else [stem(word) for word in said]

    def _with_rows(self, query: Query, counted_from: int) -> Query:
        """Take the words that stand for rows. Where a key has a value in several rows, rows are no such things."""
        nouns = self._nouns()
        repeated = [column for column in self.table.columns if 0 < column.distinct < self.table.rows]
        keys = {word: column.name for column in repeated for word in _key(column)}
        for at, token in enumerate(self.tokens):
            own = nouns if 0 <= counted_from <= token.start else nouns[-1:]
            is_noun, does = stem(token.low) in own, self._is_doing(at) and self._is_passive(at)
            if at in self.used or not (is_noun or does or stem(token.low) in keys):
                continue
            key = keys.get(stem(token.low))
            self._decline(f"what “{token.text}” counts, as one “{key}” may stand in several rows", when=key)
            self.used |= {at, *([at - 1] if query.most and self._low(at - 1) in lexicon.BY else [])}
            self.doing = token.low if does else self.doing
            is_money = any(lexicon.alike(token.low, word) for word in ("sales", "amount", "cost", "units"))
            self.counted = self.counted or ("" if is_money else token.low)
            query = replace(query, understood=query.understood + 1)
        return query

    def _with_date(self, query: Query) -> Query:
        """Return the query with the one of several dates that its words name: of what was closed, that of closing."""
        if not (query.period or query.unit) or query.when or len(self.table.dates) < 2:
            return query
        said = {stem(one.low) for one in self.tokens}
        named = [one for one in self.table.dates if said & {*one.stems}]
        happened = any(value.endswith(_DONE) for one in query.filters for value in one.values)
        self._decline("which of the dates is meant", when=len(named) > 1 or (happened and not named))
        return replace(query, when=named[0] if named else None)

    def _counted(self, query: Query, counted_from: int, *, often: bool) -> Query:
        """Return the query with rows as its figure where words for them, or for how often, stand in place of one."""
        amounts = [one for one in self.table.columns if one.is_measure and set(one.stems) & _AMOUNTS]
        if query.counting and query.filters and self.counted in {"", self.doing} and amounts and not query.measure:
            after = next((stem(one.low) for one in self.tokens if one.start >= counted_from), "")
            named = {stem(value.split()[0]) for one in query.filters for value in one.values}
            self._decline(f"whether “{after}” counts rows or adds up “{amounts[0].name}”", when=after in named)
        if query.measure or query.counting or not (often or self.counted):
            return query
        if query.fold in _FOLDED and stem(self.counted) == self.counted:  # `the largest order` is one row's figure
            return query
        if query.extreme and self.doing and not often and amounts:
            self._decline(f"whether “{self.doing}” counts rows or adds up “{amounts[0].name}”", when=True)
        return replace(query, counting=query.fold != "share") if query.group or query.unit or query.extreme else query


def _key(column: Column) -> set[str]:
    """The stems of what a column numbers: `order` of `order_id`; none if it does not name a number."""
    own = set(split(column.name))
    return {stem(word) for word in own - KEYS} if own & KEYS and not column.is_date else set()


def _group_query(query: Query, word: str) -> Query:
    """Return a grouped query; of `which region has the largest revenue`, `largest` is the order and no fold."""
    if query.fold not in {"max", "min"} or word not in lexicon.WHICH | lexicon.FOLDS.keys():
        return query
    return replace(query, fold=None, extreme=True, upward=query.upward or query.fold == "min")


def _is_value(said: Sequence[_Token], own: Sequence[str], names: Collection[str]) -> bool:
    """Return True if words are those of a value: one by one, or in its plural, and no column's name."""
    low, value = said[0].low, own[0].lower()
    if len(own) > 1:
        return [one.low for one in said] == [one.lower() for one in own]
    if len(low) < 3 or low in lexicon.FILLERS | lexicon.BY | lexicon.FOLDS.keys():
        return said[0].text == own[0]
    if low == value:
        return low not in names
    return stem(low) == stem(value) and stem(low) not in {stem(word) for name in names for word in name.split()}
