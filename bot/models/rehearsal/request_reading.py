"""Reads a request as a query on a table: a measure, a group, filters, a period and an order.

Each word of a request must become a part of the query or be a filler. A request with any other word is declined, so
that no request is half answered.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from bot.models.rehearsal import word_lists as lexicon
from bot.models.rehearsal.periods import find_period
from bot.models.rehearsal.table_profile import ProfiledColumn, ProfiledTable
from bot.models.rehearsal.table_query import MAX_GROUPS, Filter, Query, complete_query
from bot.models.rehearsal.word_lists import split_words
from handoff.text.text_words import stem_word

_TOKEN = re.compile(r"\d[\d.,]*\d|\d+[^\W\d_]*|[^\W\d_]+(?:['\u2019][^\W\d_]+)*\d*|[%<>=]")
_COUNT_DECLINE_REASON = "whether that counts rows or adds up"


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    lower_text: str
    start: int
    end: int


def read_request(
    table: ProfiledTable, text: str, file_names: Sequence[str] = (), earlier_requests: Sequence[str] = ()
) -> Query:
    """Read a text as a query on a table. Names in `file_names` count as fillers in the text.

    `earlier_requests` are sorted oldest first. A text that names no figure, or begins with "and", continues them.
    """
    query = _RequestReader(table, text, file_names).read()
    for earlier in reversed(earlier_requests):
        if not query.is_follow_up and (query.measure or query.is_count):
            break
        query = _merge_follow_up(_RequestReader(table, earlier, file_names).read(), query)
    return complete_query(query)


def _merge_follow_up(earlier: Query, follow_up: Query) -> Query:
    """Return the earlier query with the parts replaced that the follow-up names."""
    replaced_columns = {one.column for one in follow_up.filters}
    grouping_query = follow_up if follow_up.group or follow_up.period_unit else earlier
    return replace(
        follow_up if follow_up.measure or follow_up.is_count else earlier,
        aggregate=follow_up.aggregate or earlier.aggregate,
        group=grouping_query.group,
        period_unit=grouping_query.period_unit,
        asks_why=grouping_query.asks_why,
        date_column=follow_up.date_column or earlier.date_column,
        filters=(*(one for one in earlier.filters if one.column not in replaced_columns), *follow_up.filters),
        period=follow_up.period or earlier.period,
        is_sorted=follow_up.is_sorted or earlier.is_sorted,
        is_ascending=follow_up.is_ascending if follow_up.is_sorted else earlier.is_ascending,
        unused_words=(*earlier.unused_words, *follow_up.unused_words),
        decline_reason=follow_up.decline_reason or earlier.decline_reason,
    )


class _RequestReader:
    """Turns the words of a request into a query, the least ambiguous words first. Each word is used at most once."""

    def __init__(self, table: ProfiledTable, text: str, file_names: Sequence[str]) -> None:
        self.table, self.text, self.query = table, text, Query(table)
        self.tokens = [_Token(one[0], one[0].lower(), *one.span()) for one in _TOKEN.finditer(text)]
        self.column_names = {" ".join(split_words(column.name)) for column in table.columns}
        self.used_indexes: set[int] = set()
        self.unplaced_indexes: set[int] = set()
        """Indexes of words that name a column which has no part in the query. They stay unused."""
        self.says_rows = self.says_per = False
        for name in file_names:
            for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
                self._mark_span(match.span())

    def read(self) -> Query:
        """Read all words and return the query that they form."""
        self._update_query(is_follow_up=self._get_word(0) in lexicon.AND)
        self._read_period()
        self._read_order()
        self._update_query(is_count=bool(self._mark_phrases("count")))
        often_ends = self._mark_phrases("often")
        self._read_filters()
        columns = self._find_columns()
        self._read_aggregate()
        self._read_extremes(often_ends)
        for column, at, end in columns:
            self._place_column(column, at, end)
        self._read_period_unit()
        self._read_trend()
        self._read_row_words()
        self._choose_date_column()
        self._choose_count(asks_how_often=bool(often_ends))
        self._mark_fillers()
        unused_words = (one.text for at, one in enumerate(self.tokens) if at not in self.used_indexes)
        return replace(self.query, unused_words=tuple(dict.fromkeys(unused_words)))

    # ------------------------------------------------------------ words

    def _update_query(self, **fields: Any) -> None:
        self.query = replace(self.query, **fields)

    def _set_decline_reason(self, reason: str, *, condition: object) -> None:
        """Set `trouble` to a reason if `condition` is true, unless an earlier reason is set."""
        if condition and not self.query.decline_reason:
            self._update_query(decline_reason=reason)

    def _get_word(self, index: int) -> str:
        """Return the word at an index, in lower case; "" beyond the ends."""
        return self.tokens[index].lower_text if 0 <= index < len(self.tokens) else ""

    def _is_unused(self, index: int) -> bool:
        return index not in self.used_indexes and index not in self.unplaced_indexes

    def _find_previous_word(self, index: int) -> int:
        """Return the index of the nearest word before an index that is not an article."""
        index -= 1
        while index > 0 and self._get_word(index) in lexicon.ARTICLES:
            index -= 1
        return index

    def _mark_span(self, span: tuple[int, int]) -> None:
        """Mark all tokens in a span of the text as taken."""
        self.used_indexes |= {at for at, one in enumerate(self.tokens) if one.start < span[1] and span[0] < one.end}

    def _mark_words(self, words: Collection[str]) -> list[int]:
        """Mark all free tokens that are in `words` as taken, and return their indexes."""
        indexes = [at for at, one in enumerate(self.tokens) if self._is_unused(at) and one.lower_text in words]
        self.used_indexes.update(indexes)
        return indexes

    def _mark_phrases(self, role: str) -> list[int]:
        """Mark the phrases of a role as taken, except names of columns, and return the index after each phrase."""
        ends = []
        for phrase in lexicon.PHRASES[role]:
            for at in range(len(self.tokens) - len(phrase) + 1):
                span, words = (
                    range(at, at + len(phrase)),
                    tuple(one.lower_text for one in self.tokens[at : at + len(phrase)]),
                )
                if words == phrase and all(map(self._is_unused, span)) and " ".join(phrase) not in self.column_names:
                    self.used_indexes.update(span)
                    ends.append(at + len(phrase))
        return ends

    # ------------------------------------------------------------ period, order and fold

    def _read_period(self) -> None:
        dates = [day for column in self.table.date_columns for day in (column.first_date, column.last_date) if day]
        period = find_period(self.text, min(dates), max(dates)) if dates else None
        if period:
            before = next((one.lower_text for one in reversed(self.tokens) if one.end < period.span[0]), "")
            self._set_decline_reason(
                f"which days “{before} ...” means", condition=before in lexicon.PERIOD_PREPOSITIONS
            )
            self._mark_span(period.span)
            self._update_query(period=period)

    def _read_order(self) -> None:
        """Read the order (`highest first`) and how many groups are wanted (`top 3`, `which 2`)."""
        down, up = self._mark_phrases("highest first"), self._mark_phrases("lowest first")
        self._set_decline_reason("whether the highest or the lowest comes first", condition=down and up)
        self._update_query(is_sorted=bool(down or up), is_ascending=bool(up))
        for at, one in enumerate(self.tokens):
            number_word = self._get_word(at + 1)
            if (
                one.lower_text in lexicon.TOP | lexicon.BOTTOM | lexicon.WHICH
                and number_word.isdigit()
                and 0 < int(number_word) <= MAX_GROUPS
            ):
                self._set_decline_reason("how many groups are wanted", condition=self.query.max_groups)
                self._update_query(
                    max_groups=int(number_word), is_ascending=bool(up) or one.lower_text in lexicon.BOTTOM
                )
                self.used_indexes |= {at, at + 1}

    def _read_aggregate(self) -> None:
        """Read the fold (the aggregate function). `total` beside another fold counts as a filler."""
        aggregates = ["sum"] if self._mark_phrases("total") else []
        aggregates += [lexicon.AGGREGATES[self._get_word(at)] for at in self._mark_words(lexicon.AGGREGATES)]
        folds = [one for one in dict.fromkeys(aggregates) if one != "sum" or len(set(aggregates)) == 1]
        self._set_decline_reason(f"which of {' and '.join(folds)} is meant", condition=len(folds) > 1)
        self._update_query(aggregate=folds[0] if folds else None)

    def _read_extremes(self, often_ends: list[int]) -> None:
        most, least = self._mark_words(lexicon.MOST), self._mark_words(lexicon.LEAST)
        self._set_decline_reason("whether the most or the least is meant", condition=(most or often_ends) and least)
        self._update_query(
            asks_for_extreme=bool(most or least or often_ends), is_ascending=self.query.is_ascending or bool(least)
        )

    # ------------------------------------------------------------ filters

    def _read_filters(self) -> None:
        """Read filters from words that name values, longest first. A value that several columns have is ignored."""
        values_by_span: dict[tuple[int, int], list[tuple[ProfiledColumn, str]]] = {}
        for column in self.table.columns:
            for value in column.frequent_values if column.is_text else ():
                own = [one[0] for one in _TOKEN.finditer(value)] if not value.endswith("…") else []
                for at in range(len(self.tokens) - len(own) + 1) if own else ():
                    if self._is_value(self.tokens[at : at + len(own)], own):
                        values_by_span.setdefault((at, at + len(own)), []).append((column, value.casefold()))
        filters_by_start: dict[int, Filter] = {}
        for (at, end), column_values in sorted(
            values_by_span.items(), key=lambda one: (one[0][0] - one[0][1], one[0][0])
        ):
            if not self.used_indexes & set(range(at, end)) and len({column for column, _ in column_values}) == 1:
                self.used_indexes |= set(range(at, end))
                values = tuple(dict.fromkeys(value for _, value in column_values))
                filters_by_start[at] = Filter(column_values[0][0], values, excludes=self._read_exclusion(at))
                self.used_indexes |= {end} if self._get_word(end) in lexicon.ONLY else set()
        self._join_filters([one for _, one in sorted(filters_by_start.items())])

    def _join_filters(self, filters: Sequence[Filter]) -> None:
        """Set the query's filters. Values of the same column are joined as alternatives."""
        filter_by_column: dict[ProfiledColumn, Filter] = {}
        for one in filters:
            known_filter = filter_by_column.get(one.column)
            self._set_decline_reason(
                "what is both named and excluded", condition=known_filter and one.excludes and not known_filter.excludes
            )
            filter_by_column[one.column] = (
                replace(known_filter, values=(*known_filter.values, *one.values)) if known_filter else one
            )
        self._update_query(filters=tuple(filter_by_column.values()))

    def _read_exclusion(self, index: int) -> bool:
        """Return True if the word before a value is a negation. Marks that word, or an `only`, as taken."""
        before = self._find_previous_word(index)
        if self._get_word(before) in lexicon.ONLY | lexicon.NOT:
            self.used_indexes.add(before)
        return self._get_word(before) in lexicon.NOT

    def _is_value(self, tokens: Sequence[_Token], value_words: Sequence[str]) -> bool:
        """Return True if tokens are a value's words, or its singular or plural, and not the name of a column."""
        low, value = tokens[0].lower_text, value_words[0].lower()
        if len(value_words) > 1:
            return [one.lower_text for one in tokens] == [one.lower() for one in value_words]
        if len(low) < 3 or low in lexicon.FILLERS | lexicon.BY | lexicon.AGGREGATES.keys():
            return tokens[0].text == value_words[0]
        if low == value:
            return low not in self.column_names
        return stem_word(low) == stem_word(value) and stem_word(low) not in {
            stem_word(word) for one in self.column_names for word in one.split()
        }

    # ------------------------------------------------------------ columns

    def _find_columns(self) -> list[tuple[ProfiledColumn, int, int]]:
        """Mark words that name columns, fully, in part or by similar words. Returns triples of (column, start, end)."""
        candidates = []
        for column in self.table.columns:
            for at in range(len(self.tokens)):
                end, grade = self._match_column(at, column.stems)
                if end > at:
                    candidates.append(((at - end, -grade, len(column.stems), at), end, column))
        candidates.sort(key=lambda one: one[0])
        match_by_start: dict[int, tuple[tuple[int, int], ProfiledColumn, int]] = {}
        for (size, grade, _, at), end, column in candidates:
            if at in match_by_start and match_by_start[at][0] == (size, grade):
                self._set_decline_reason(
                    f"whether “{match_by_start[at][1].name}” or “{column.name}” is meant", condition=True
                )
            elif not self.used_indexes & set(range(at, end)):
                match_by_start[at] = (size, grade), column, end
                self.used_indexes |= set(range(at, end))
        column_spans = [(column, at, end) for at, (_, column, end) in sorted(match_by_start.items())]
        # In `total units`, `total` is a fold, even if a column is called `total`.
        starts = {at for column, at, _ in column_spans if column.is_measure}
        folds = [one for one in column_spans if self._get_word(one[1]) in lexicon.AGGREGATES and one[2] in starts]
        self.used_indexes -= {at for _, begin, end in folds for at in range(begin, end)}
        return [one for one in column_spans if one not in folds]

    def _match_column(self, start: int, stems: tuple[str, ...]) -> tuple[int, int]:
        """Return the end of the tokens that name a column, and a grade: 4 full name, 3 part, 2 similar, 1 synonym."""
        end, has_similar, unmatched_stems = start, False, list(stems)
        while end < len(self.tokens) and end not in self.used_indexes:
            word = self._get_word(end)
            if word in lexicon.BY | lexicon.WHICH | lexicon.AND | lexicon.FILLERS and not (
                end > start and word in stems
            ):
                break
            exact = next((one for one in unmatched_stems if one in {word, stem_word(word)}), None)
            matching_stem = exact or next(
                (one for one in unmatched_stems if len(word) > 3 and lexicon.is_similar(one, word)), None
            )
            if matching_stem is None:
                may_be_alike = end == start and len(word) > 2 and word not in lexicon.AGGREGATES
                return (
                    (end + 1, 1) if may_be_alike and any(lexicon.is_synonym(one, word) for one in stems) else (end, 2)
                )
            unmatched_stems.remove(matching_stem)
            has_similar = has_similar or exact is None
            end += 1
        # In `cost per region`, `per` does not belong to a column `cost per unit`.
        while end > start and self._get_word(end - 1) in lexicon.BY:
            unmatched_stems.append(self._get_word(end := end - 1))
        return end, 2 if has_similar else 3 if unmatched_stems else 4

    def _place_column(self, column: ProfiledColumn, start: int, end: int) -> None:
        """Use a column that the text names as the measure, the date, the group, or a word for the rows."""
        before = self._find_previous_word(start)
        word = self._get_word(before)
        if column.is_measure:
            other = self.query.measure
            self._set_decline_reason(
                f"how to group by the figure “{column.name}”",
                condition=word in lexicon.BY and not self.query.max_groups,
            )
            self._set_decline_reason(
                f"whether “{other.name if other else ''}” or “{column.name}” is meant",
                condition=other not in {None, column},
            )
            self._update_query(measure=column)
        elif column.is_date and self._get_word(start) in lexicon.PERIOD_UNITS:
            # `_read_period_unit` reads the word as a period later.
            self.used_indexes -= set(range(start, end))
        elif column.is_date and self._has_time_words():
            self._set_decline_reason(
                "which of the dates is meant", condition=self.query.date_column not in {None, column}
            )
            self._update_query(date_column=column)
        elif (
            not column.is_date
            and self._is_group_introduced(before)
            and not (column.is_unique and self.query.max_groups)
        ):
            self._set_decline_reason(
                "how to show more than one group at once", condition=self.query.group not in {None, column}
            )
            self.used_indexes.add(before)
            self._set_group(self._get_word(before - 1) if word.isdigit() else word, group=column)
        elif column.is_unique and stem_word(self._get_word(start)) in column.stems and self._may_be_noun(start):
            self.says_rows = True
        elif not any(one.column == column for one in self.query.filters):
            self.used_indexes -= set(range(start, end))
            self.unplaced_indexes |= set() if column.is_date or column.is_unique else set(range(start, end))

    def _may_be_noun(self, index: int) -> bool:
        """Return False for participles in -ed, such as `ordered`, which need not mean the rows."""
        return not self._get_word(index).endswith("ed")

    def _has_time_words(self) -> bool:
        return bool(self.query.period) or any(one.lower_text in lexicon.PERIOD_UNITS for one in self.tokens)

    def _is_group_introduced(self, index: int) -> bool:
        """Return True if the word at an index introduces a group, as do `by`, `which` and the number in `top 3`."""
        is_few = self._get_word(index).isdigit() and self.query.max_groups > 0 and index in self.used_indexes
        is_often = index in self.used_indexes and any(
            self._get_word(index) == one[-1] for one in lexicon.PHRASES["often"]
        )
        return self._get_word(index) in lexicon.BY | lexicon.WHICH or is_few or is_often

    def _set_group(self, word: str, **fields: Any) -> None:
        """Set the group or unit of the query. In `which region has the largest revenue`, `largest` becomes an order."""
        self.says_per = self.says_per or word in lexicon.PER
        fold = self.query.aggregate
        if fold in {"max", "min"} and word in lexicon.WHICH:
            fields |= {
                "aggregate": None,
                "asks_for_extreme": True,
                "is_ascending": self.query.is_ascending or fold == "min",
            }
        self._update_query(**fields)

    # ------------------------------------------------------------ units, dates, counts and fillers

    def _read_period_unit(self) -> None:
        """Read the unit of the periods that rows are grouped by: `per month`, `monthly`."""
        for at, token in enumerate(self.tokens) if self.table.date_columns else ():
            before = self._find_previous_word(at)
            word, is_adverb = self._get_word(before), token.lower_text in lexicon.ADVERBS
            if (
                token.lower_text in lexicon.PERIOD_UNITS
                and self._is_unused(at)
                and (is_adverb or word in lexicon.BY | lexicon.WHICH)
            ):
                self.used_indexes |= {at} if is_adverb else {at, before}
                self._set_group(word, period_unit=lexicon.PERIOD_UNITS[token.lower_text])

    def _read_trend(self) -> None:
        """Read words for a change over time, and a `why` beside them."""
        if not self.table.date_columns:
            return
        change_words = self._mark_words(lexicon.CHANGE)
        self._set_decline_reason("what changed within a period", condition=change_words and self.query.period)
        if change_words or self._mark_words(lexicon.TREND):
            self._update_query(
                period_unit=self.query.period_unit or "auto", asks_why=bool(self._mark_words(lexicon.WHY))
            )

    def _read_row_words(self) -> None:
        """Read words for the rows: the last word of the file's name, such as `orders` of shop_orders.csv."""
        name_words = [
            word for word in split_words(PurePath(self.table.file).stem) if len(word) > 2 and not word.isdigit()
        ]
        if not name_words or name_words[-1] in lexicon.PARTS:
            return
        noun = stem_word(name_words[-1])
        for at, token in enumerate(self.tokens):
            if self._is_unused(at) and stem_word(token.lower_text) == noun and self._may_be_noun(at):
                self.used_indexes.add(at)
                self.says_rows = self.says_rows or not any(lexicon.is_synonym(noun, one) for one in lexicon.MONEY)

    def _choose_date_column(self) -> None:
        """Choose the column of dates that the words name if there are several: `closed` names the closing date."""
        if (
            not (self.query.period or self.query.period_unit)
            or self.query.date_column
            or len(self.table.date_columns) < 2
        ):
            return
        request_stems = {stem_word(one.lower_text) for one in self.tokens}
        named_columns = [one for one in self.table.date_columns if request_stems & {*one.stems}]
        self._set_decline_reason(
            "which of the dates is meant",
            condition=len(named_columns) > 1 or (self.query.filters and not named_columns),
        )
        self._update_query(date_column=named_columns[0] if named_columns else None)

    def _choose_count(self, *, asks_how_often: bool) -> None:
        """Count rows if the request has words for rows, or for how often, in place of a figure."""
        query = self.query
        measures = [one for one in self.table.columns if one.is_measure and not query.measure]
        amounts = [one for one in measures if lexicon.AMOUNTS & {*one.stems}]
        if query.is_count and query.filters and not self.says_rows and amounts:
            self._set_decline_reason(f"{_COUNT_DECLINE_REASON} “{amounts[0].name}”", condition=True)
        elif query.aggregate == "sum" and self.says_rows and measures:  # `total signups` of signups.csv
            self._set_decline_reason(f"{_COUNT_DECLINE_REASON} “{measures[0].name}”", condition=True)
        if query.measure or query.is_count or query.aggregate in {"mean", "median", "max", "min", "share"}:
            return
        is_parted = query.group or query.period_unit or query.asks_for_extreme
        self._update_query(is_count=bool(is_parted and (asks_how_often or self.says_rows)))

    def _mark_fillers(self) -> None:
        """Mark fillers as taken, and also `now` beside a stock, since a stock is reported for the last date."""
        measure = self.query.measure
        if measure and measure.is_stock and not self.query.period:
            self._mark_words(lexicon.NOW)
        is_averaged_flow = (
            measure and measure.is_flow and not measure.is_stock and self.query.aggregate in {"mean", "median"}
        )
        self._set_decline_reason(
            "whether an average “per ...” is that of rows or of totals", condition=is_averaged_flow and self.says_per
        )
        self._mark_words(lexicon.CHART | lexicon.FILLERS | lexicon.AND)
