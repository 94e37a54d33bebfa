"""Reads a request as a query on a table: a measure, a group, filters, a period and an order.

Each word of the request must become a part of the query or be a filler. If any word is neither, the request is
declined, so that no request is half answered.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from bot.models.rehearsal import rehearsed_words as lexicon
from bot.models.rehearsal.rehearsed_periods import find_period
from bot.models.rehearsal.rehearsed_profile import ProfiledColumn, ProfiledTable
from bot.models.rehearsal.rehearsed_query import MAX_GROUPS, Filter, Query, complete_query
from bot.models.rehearsal.rehearsed_words import split_words
from handoff.text.text_words import stem_word

_TOKEN = re.compile(r"\d[\d.,]*\d|\d+[^\W\d_]*|[^\W\d_]+(?:['\u2019][^\W\d_]+)*\d*|[%<>=]")
_COUNT_TROUBLE = "whether that counts rows or adds up"


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    lower: str
    start: int
    end: int


def read_request(
    table: ProfiledTable, text: str, file_names: Sequence[str] = (), earlier_requests: Sequence[str] = ()
) -> Query:
    """Read a text as a query on a table. `file_names` are names of files, which count as fillers in the text.

    `earlier_requests` are earlier requests, oldest first. A text that names no figure of its own, or begins with "and",
    continues them.
    """
    now = _RequestReader(table, text, file_names).read()
    for earlier in reversed(earlier_requests):
        if not now.goes_on and (now.measure or now.counting):
            break
        now = _merge_follow_up(_RequestReader(table, earlier, file_names).read(), now)
    return complete_query(now)


def _merge_follow_up(earlier: Query, follow_up: Query) -> Query:
    """Return the earlier query, with the parts that the follow-up names replaced."""
    again = {one.column for one in follow_up.filters}
    parted = follow_up if follow_up.group or follow_up.unit else earlier
    return replace(
        follow_up if follow_up.measure or follow_up.counting else earlier,
        fold=follow_up.fold or earlier.fold,
        group=parted.group,
        unit=parted.unit,
        reasons=parted.reasons,
        when=follow_up.when or earlier.when,
        filters=(*(one for one in earlier.filters if one.column not in again), *follow_up.filters),
        period=follow_up.period or earlier.period,
        is_sorted=follow_up.is_sorted or earlier.is_sorted,
        upward=follow_up.upward if follow_up.is_sorted else earlier.upward,
        unused=(*earlier.unused, *follow_up.unused),
        trouble=follow_up.trouble or earlier.trouble,
    )


class _RequestReader:
    """Turns the words of a request into a query, the most certain first. Each word is taken at most once."""

    def __init__(self, table: ProfiledTable, text: str, file_names: Sequence[str]) -> None:
        self.table, self.text, self.query = table, text, Query(table)
        self.tokens = [_Token(one[0], one[0].lower(), *one.span()) for one in _TOKEN.finditer(text)]
        self.names = {" ".join(split_words(column.name)) for column in table.columns}
        self.taken_indexes: set[int] = set()
        self.refused_indexes: set[int] = set()
        """Indexes of words that name a column, although the request asks nothing of it."""
        self.says_rows = self.says_per = False
        for name in file_names:
            for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
                self._take_span(match.span())

    def read(self) -> Query:
        """Read all words and return the query that they form."""
        self._update_query(goes_on=self._get_word(0) in lexicon.AND)
        self._take_period()
        self._take_order()
        self._update_query(counting=bool(self._take_phrases("count")))
        often = self._take_phrases("often")
        self._take_values()
        columns = self._take_columns()
        self._take_fold()
        self._take_extremes(often)
        for column, at, end in columns:
            self._place_column(column, at, end)
        self._take_unit()
        self._take_trend()
        self._take_row_words()
        self._choose_date()
        self._choose_count(asks_how_often=bool(often))
        self._take_fillers()
        left = (one.text for at, one in enumerate(self.tokens) if at not in self.taken_indexes)
        return replace(self.query, unused=tuple(dict.fromkeys(left)))

    # ------------------------------------------------------------ words

    def _update_query(self, **fields: Any) -> None:
        self.query = replace(self.query, **fields)

    def _decline(self, reason: str, *, condition: object) -> None:
        """Set `trouble` to a reason if `condition` is true, unless an earlier reason is set."""
        if condition and not self.query.trouble:
            self._update_query(trouble=reason)

    def _get_word(self, index: int) -> str:
        """Return the word at an index, in lower case; "" beyond the ends."""
        return self.tokens[index].lower if 0 <= index < len(self.tokens) else ""

    def _is_free(self, index: int) -> bool:
        return index not in self.taken_indexes and index not in self.refused_indexes

    def _find_previous_word(self, index: int) -> int:
        """Return the index of the nearest word before an index that is not an article."""
        index -= 1
        while index > 0 and self._get_word(index) in lexicon.ARTICLES:
            index -= 1
        return index

    def _take_span(self, span: tuple[int, int]) -> None:
        """Mark all tokens in a span of the text as taken."""
        self.taken_indexes |= {at for at, one in enumerate(self.tokens) if one.start < span[1] and span[0] < one.end}

    def _take_words(self, words: Collection[str]) -> list[int]:
        """Mark all free tokens that are among these words as taken, and return their indexes."""
        found = [at for at, one in enumerate(self.tokens) if self._is_free(at) and one.lower in words]
        self.taken_indexes.update(found)
        return found

    def _take_phrases(self, role: str) -> list[int]:
        """Mark the phrases of a role as taken, except names of columns, and return the index after each phrase."""
        ends = []
        for phrase in lexicon.PHRASES[role]:
            for at in range(len(self.tokens) - len(phrase) + 1):
                span, said = range(at, at + len(phrase)), tuple(one.lower for one in self.tokens[at : at + len(phrase)])
                if said == phrase and all(map(self._is_free, span)) and " ".join(phrase) not in self.names:
                    self.taken_indexes.update(span)
                    ends.append(at + len(phrase))
        return ends

    # ------------------------------------------------------------ period, order and fold

    def _take_period(self) -> None:
        dates = [day for column in self.table.date_columns for day in (column.first_date, column.last_date) if day]
        period = find_period(self.text, min(dates), max(dates)) if dates else None
        if period:
            before = next((one.lower for one in reversed(self.tokens) if one.end < period.span[0]), "")
            self._decline(f"which days “{before} ...” means", condition=before in lexicon.SIDES)
            self._take_span(period.span)
            self._update_query(period=period)

    def _take_order(self) -> None:
        """Read the order (`highest first`) and how many groups are wanted (`top 3`, `which 2`)."""
        down, up = self._take_phrases("highest first"), self._take_phrases("lowest first")
        self._decline("whether the highest or the lowest comes first", condition=down and up)
        self._update_query(is_sorted=bool(down or up), upward=bool(up))
        for at, one in enumerate(self.tokens):
            few = self._get_word(at + 1)
            if (
                one.lower in lexicon.TOP | lexicon.BOTTOM | lexicon.WHICH
                and few.isdigit()
                and 0 < int(few) <= MAX_GROUPS
            ):
                self._decline("how many groups are wanted", condition=self.query.most)
                self._update_query(most=int(few), upward=bool(up) or one.lower in lexicon.BOTTOM)
                self.taken_indexes |= {at, at + 1}

    def _take_fold(self) -> None:
        """Read the fold, which makes one figure of values. Beside another fold, `total` counts as a filler."""
        found = ["sum"] if self._take_phrases("total") else []
        found += [lexicon.FOLDS[self._get_word(at)] for at in self._take_words(lexicon.FOLDS)]
        folds = [one for one in dict.fromkeys(found) if one != "sum" or len(set(found)) == 1]
        self._decline(f"which of {' and '.join(folds)} is meant", condition=len(folds) > 1)
        self._update_query(fold=folds[0] if folds else None)

    def _take_extremes(self, often_ends: list[int]) -> None:
        most, least = self._take_words(lexicon.MOST), self._take_words(lexicon.LEAST)
        self._decline("whether the most or the least is meant", condition=(most or often_ends) and least)
        self._update_query(extreme=bool(most or least or often_ends), upward=self.query.upward or bool(least))

    # ------------------------------------------------------------ filters

    def _take_values(self) -> None:
        """Read filters from the words that name values, longest first. A value of several columns is ignored."""
        found: dict[tuple[int, int], list[tuple[ProfiledColumn, str]]] = {}
        for column in self.table.columns:
            for value in column.values if column.is_text else ():
                own = [one[0] for one in _TOKEN.finditer(value)] if not value.endswith("…") else []
                for at in range(len(self.tokens) - len(own) + 1) if own else ():
                    if self._is_value(self.tokens[at : at + len(own)], own):
                        found.setdefault((at, at + len(own)), []).append((column, value.casefold()))
        taken: dict[int, Filter] = {}
        for (at, end), meant in sorted(found.items(), key=lambda one: (one[0][0] - one[0][1], one[0][0])):
            if not self.taken_indexes & set(range(at, end)) and len({column for column, _ in meant}) == 1:
                self.taken_indexes |= set(range(at, end))
                values = tuple(dict.fromkeys(value for _, value in meant))
                taken[at] = Filter(meant[0][0], values, excludes=self._take_exclusion(at))
                self.taken_indexes |= {end} if self._get_word(end) in lexicon.ONLY else set()
        self._join_filters([one for _, one in sorted(taken.items())])

    def _join_filters(self, filters: Sequence[Filter]) -> None:
        """Set the query's filters. Values of the same column are joined as alternatives."""
        made: dict[ProfiledColumn, Filter] = {}
        for one in filters:
            known = made.get(one.column)
            self._decline("what is both named and excluded", condition=known and one.excludes and not known.excludes)
            made[one.column] = replace(known, values=(*known.values, *one.values)) if known else one
        self._update_query(filters=tuple(made.values()))

    def _take_exclusion(self, index: int) -> bool:
        """Return True if the word before a value is a negation. That word, or an `only`, is marked as taken."""
        before = self._find_previous_word(index)
        if self._get_word(before) in lexicon.ONLY | lexicon.NOT:
            self.taken_indexes.add(before)
        return self._get_word(before) in lexicon.NOT

    def _is_value(self, tokens: Sequence[_Token], value_words: Sequence[str]) -> bool:
        """Return True if words name a value, word by word or in the plural, and are not a column's name."""
        low, value = tokens[0].lower, value_words[0].lower()
        if len(value_words) > 1:
            return [one.lower for one in tokens] == [one.lower() for one in value_words]
        if len(low) < 3 or low in lexicon.FILLERS | lexicon.BY | lexicon.FOLDS.keys():
            return tokens[0].text == value_words[0]
        if low == value:
            return low not in self.names
        return stem_word(low) == stem_word(value) and stem_word(low) not in {
            stem_word(word) for one in self.names for word in one.split()
        }

    # ------------------------------------------------------------ columns

    def _take_columns(self) -> list[tuple[ProfiledColumn, int, int]]:
        """Mark words that name columns, fully, in part or by similar words. Returns triples of (column, start, end)."""
        candidates = []
        for column in self.table.columns:
            for at in range(len(self.tokens)):
                end, grade = self._match_column(at, column.stems)
                if end > at:
                    candidates.append(((at - end, -grade, len(column.stems), at), end, column))
        candidates.sort(key=lambda one: one[0])
        named: dict[int, tuple[tuple[int, int], ProfiledColumn, int]] = {}
        for (size, grade, _, at), end, column in candidates:
            if at in named and named[at][0] == (size, grade):
                self._decline(f"whether “{named[at][1].name}” or “{column.name}” is meant", condition=True)
            elif not self.taken_indexes & set(range(at, end)):
                named[at] = (size, grade), column, end
                self.taken_indexes |= set(range(at, end))
        found = [(column, at, end) for at, (_, column, end) in sorted(named.items())]
        # In `total units`, `total` is a fold, even if a column is called `total`.
        starts = {at for column, at, _ in found if column.is_measure}
        folds = [one for one in found if self._get_word(one[1]) in lexicon.FOLDS and one[2] in starts]
        self.taken_indexes -= {at for _, begin, end in folds for at in range(begin, end)}
        return [one for one in found if one not in folds]

    def _match_column(self, start: int, stems: tuple[str, ...]) -> tuple[int, int]:
        """Return the end of the tokens that name a column, and a grade: 4 full name, 3 part, 2 similar, 1 synonym."""
        end, near, left = start, False, list(stems)
        while end < len(self.tokens) and end not in self.taken_indexes:
            low = self._get_word(end)
            if low in lexicon.BY | lexicon.WHICH | lexicon.AND | lexicon.FILLERS and not (end > start and low in stems):
                break
            exact = next((one for one in left if one in {low, stem_word(low)}), None)
            found = exact or next((one for one in left if len(low) > 3 and lexicon.is_close(one, low)), None)
            if found is None:
                may_be_alike = end == start and len(low) > 2 and low not in lexicon.FOLDS
                return (end + 1, 1) if may_be_alike and any(lexicon.is_synonym(one, low) for one in stems) else (end, 2)
            left.remove(found)
            near = near or exact is None
            end += 1
        while (
            end > start and self._get_word(end - 1) in lexicon.BY
        ):  # in `cost per region`, `per` does not belong to a column `cost per unit`
            left.append(self._get_word(end := end - 1))
        return end, 2 if near else 3 if left else 4

    def _place_column(self, column: ProfiledColumn, start: int, end: int) -> None:
        """Use a column that the text names as the measure, the date, the group, or a word for the rows."""
        before = self._find_previous_word(start)
        word = self._get_word(before)
        if column.is_measure:
            other = self.query.measure
            self._decline(
                f"how to group by the figure “{column.name}”", condition=word in lexicon.BY and not self.query.most
            )
            self._decline(
                f"whether “{other.name if other else ''}” or “{column.name}” is meant",
                condition=other not in {None, column},
            )
            self._update_query(measure=column)
        elif column.is_date and self._get_word(start) in lexicon.UNITS:  # `_take_unit` reads the word as a period later
            self.taken_indexes -= set(range(start, end))
        elif column.is_date and self._says_time():
            self._decline("which of the dates is meant", condition=self.query.when not in {None, column})
            self._update_query(when=column)
        elif not column.is_date and self._is_group_introduced(before) and not (column.is_row_key and self.query.most):
            self._decline("how to show more than one group at once", condition=self.query.group not in {None, column})
            self.taken_indexes.add(before)
            self._set_group(self._get_word(before - 1) if word.isdigit() else word, group=column)
        elif column.is_row_key and stem_word(self._get_word(start)) in column.stems and self._is_noun(start):
            self.says_rows = True
        elif not any(one.column == column for one in self.query.filters):
            self.taken_indexes -= set(range(start, end))
            self.refused_indexes |= set() if column.is_date or column.is_row_key else set(range(start, end))

    def _is_noun(self, index: int) -> bool:
        """Return False for participles, such as `ordered`: they may not mean the rows."""
        return not self._get_word(index).endswith("ed")

    def _says_time(self) -> bool:
        return bool(self.query.period) or any(one.lower in lexicon.UNITS for one in self.tokens)

    def _is_group_introduced(self, index: int) -> bool:
        """Return True if the word at an index introduces a group, as do `by`, `which` and the number in `top 3`."""
        is_few = self._get_word(index).isdigit() and self.query.most > 0 and index in self.taken_indexes
        is_often = index in self.taken_indexes and any(
            self._get_word(index) == one[-1] for one in lexicon.PHRASES["often"]
        )
        return self._get_word(index) in lexicon.BY | lexicon.WHICH or is_few or is_often

    def _set_group(self, word: str, **fields: Any) -> None:
        """Set what rows are grouped by. In `which region has the largest revenue`, `largest` becomes an order."""
        self.says_per = self.says_per or word in lexicon.PER
        fold = self.query.fold
        if fold in {"max", "min"} and word in lexicon.WHICH:
            fields |= {"fold": None, "extreme": True, "upward": self.query.upward or fold == "min"}
        self._update_query(**fields)

    # ------------------------------------------------------------ units, dates, counts and fillers

    def _take_unit(self) -> None:
        """Read the unit of the periods that rows are grouped by: `per month`, `monthly`."""
        for at, token in enumerate(self.tokens) if self.table.date_columns else ():
            before = self._find_previous_word(at)
            word, alone = self._get_word(before), token.lower in lexicon.ADVERBS
            if token.lower in lexicon.UNITS and self._is_free(at) and (alone or word in lexicon.BY | lexicon.WHICH):
                self.taken_indexes |= {at} if alone else {at, before}
                self._set_group(word, unit=lexicon.UNITS[token.lower])

    def _take_trend(self) -> None:
        """Read words for a change over time, and a `why`, which figures alone do not answer."""
        if not self.table.date_columns:
            return
        changed = self._take_words(lexicon.CHANGE)
        self._decline("what changed within a period", condition=changed and self.query.period)
        if changed or self._take_words(lexicon.TREND):
            self._update_query(unit=self.query.unit or "auto", reasons=bool(self._take_words(lexicon.WHY)))

    def _take_row_words(self) -> None:
        """Read words for the rows: the last word of the file's name, such as `orders` of shop_orders.csv."""
        said = [word for word in split_words(PurePath(self.table.file).stem) if len(word) > 2 and not word.isdigit()]
        if not said or said[-1] in lexicon.PARTS:
            return
        noun = stem_word(said[-1])
        for at, token in enumerate(self.tokens):
            if self._is_free(at) and stem_word(token.lower) == noun and self._is_noun(at):
                self.taken_indexes.add(at)
                self.says_rows = self.says_rows or not any(lexicon.is_synonym(noun, one) for one in lexicon.MONEY)

    def _choose_date(self) -> None:
        """Choose the column of dates that the words name if there are several: `closed` names the closing date."""
        if not (self.query.period or self.query.unit) or self.query.when or len(self.table.date_columns) < 2:
            return
        said = {stem_word(one.lower) for one in self.tokens}
        named = [one for one in self.table.date_columns if said & {*one.stems}]
        self._decline("which of the dates is meant", condition=len(named) > 1 or (self.query.filters and not named))
        self._update_query(when=named[0] if named else None)

    def _choose_count(self, *, asks_how_often: bool) -> None:
        """Count rows if the request has words for rows, or for how often, in place of a figure."""
        query = self.query
        measures = [one for one in self.table.columns if one.is_measure and not query.measure]
        amounts = [one for one in measures if lexicon.AMOUNTS & {*one.stems}]
        if query.counting and query.filters and not self.says_rows and amounts:
            self._decline(f"{_COUNT_TROUBLE} “{amounts[0].name}”", condition=True)
        elif query.fold == "sum" and self.says_rows and measures:  # `total signups` of signups.csv
            self._decline(f"{_COUNT_TROUBLE} “{measures[0].name}”", condition=True)
        if query.measure or query.counting or query.fold in {"mean", "median", "max", "min", "share"}:
            return
        is_parted = query.group or query.unit or query.extreme
        self._update_query(counting=bool(is_parted and (asks_how_often or self.says_rows)))

    def _take_fillers(self) -> None:
        """Mark fillers as taken, and `now` beside a stock, which is reported for the last date anyway."""
        measure = self.query.measure
        if measure and measure.is_stock and not self.query.period:
            self._take_words(lexicon.NOW)
        averaged = measure and measure.is_flow and not measure.is_stock and self.query.fold in {"mean", "median"}
        self._decline("whether an average “per ...” is that of rows or of totals", condition=averaged and self.says_per)
        self._take_words(lexicon.CHART | lexicon.FILLERS | lexicon.AND)
