"""A query on a table (measure, group, filters, period and order), and the reasons to decline a query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.models.rehearsal import word_lists as lexicon
from bot.models.rehearsal.periods import Period
from bot.models.rehearsal.table_profile import ProfiledColumn, ProfiledTable
from bot.models.rehearsal.word_lists import Aggregate

MAX_GROUPS = 25
"""Maximum number of groups that an answer shows."""
_MAX_LISTED_WORDS = 4
_NO_GROUP_REASON = "what the most or the least is asked of"


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter for the rows with one of `values` (in lower case) in a column, or if `excludes` for all other rows."""

    column: ProfiledColumn
    values: tuple[str, ...]
    excludes: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A request as a query on a table.

    Attributes:
        table: The table.
        aggregate: The aggregate function for the values of `measure`; None if the request names none.
        measure: The column with the figures.
        group: The column whose values group the rows.
        filters: Conditions on the rows.
        period: The period of the rows.
        period_unit: The length of the periods that group the rows, such as `month`; `auto` chooses one; "" for none.
        date_column: The column of dates that `period` and `period_unit` refer to.
        is_count: True if the figure is the number of rows.
        max_groups: How many groups are wanted; 0 for all.
        is_ascending: True if the lowest comes first.
        asks_for_extreme: True if the request asks for the largest or the smallest.
        is_sorted: True if the request asks for an order.
        asks_why: True if the request asks why.
        is_follow_up: True if the request continues the one before.
        unused_words: Words of the request that became no part of the query.
        decline_reason: The reason to decline the request, as a clause after "I can't tell"; "" if there is none.
        measure_choices: The columns of which a person must choose the measure.
    """

    table: ProfiledTable
    aggregate: Aggregate | None = None
    measure: ProfiledColumn | None = None
    group: ProfiledColumn | None = None
    filters: tuple[Filter, ...] = ()
    period: Period | None = None
    period_unit: str = ""
    date_column: ProfiledColumn | None = None
    is_count: bool = False
    max_groups: int = 0
    is_ascending: bool = False
    asks_for_extreme: bool = False
    is_sorted: bool = False
    asks_why: bool = False
    is_follow_up: bool = False
    unused_words: tuple[str, ...] = ()
    decline_reason: str = ""
    measure_choices: tuple[ProfiledColumn, ...] = ()


def complete_query(query: Query) -> Query:
    """Return the query with its measure or count if only one can be meant, otherwise with `choices` or a `trouble`."""
    query = replace(query, date_column=query.date_column or next(iter(query.table.date_columns), None))
    if query.decline_reason or query.unused_words:
        return replace(query, decline_reason=query.decline_reason or _describe_unused_words(query))
    is_asked = query.aggregate or query.asks_for_extreme or query.group or query.period_unit
    if not (query.measure or query.is_count or query.aggregate == "share"):
        measures = tuple(column for column in query.table.columns if column.is_measure)
        if query.filters and not (query.aggregate or query.asks_for_extreme):
            query = replace(query, is_count=True)
        elif query.filters and query.asks_for_extreme:  # `most open` may be the number of rows
            return replace(query, decline_reason=_NO_GROUP_REASON)
        elif is_asked and len(measures) > 1:
            return replace(query, measure_choices=measures)
        elif is_asked and measures:
            query = replace(query, measure=measures[0])
    if query.is_count and query.aggregate not in {None, "sum", "share"}:
        return replace(query, decline_reason=f"what the {query.aggregate} of a number is")
    query = replace(query, is_count=query.is_count and not query.measure)
    return replace(query, decline_reason=_find_decline_reason(query))


def _describe_unused_words(query: Query) -> str:
    """Return the trouble with unused words: the unknown words, or if all are names of columns, these."""
    columns = {one for column in query.table.columns for one in column.stems}
    meaningful_words = [word for word in query.unused_words if word.lower() not in lexicon.BY] or query.unused_words
    unknown_words = [
        word for word in meaningful_words if not any(lexicon.is_similar(word.lower(), one) for one in columns)
    ]
    *first, last = (f"“{word}”" for word in (unknown_words or meaningful_words)[:_MAX_LISTED_WORDS])
    if not unknown_words:
        return f"what you want of the column {' and '.join([*first, last])}"
    return f"what {', '.join(first)} and {last} stand for" if first else f"what {last} stands for"


def _find_decline_reason(query: Query) -> str:
    """Return why an answer would be a guess, such as a sum of rates or an unclear share; "" if the query is clear."""
    measure, group, is_grouped = query.measure, query.group, bool(query.group or query.period_unit)
    name, group_name = (one.name if one else "" for one in (measure, group))
    is_part = len(query.filters) == 1 and not query.filters[0].excludes
    is_ranked = query.asks_for_extreme or query.max_groups or query.is_sorted
    is_alone = group and any(one.column == group and len(one.values) == 1 for one in query.filters)
    is_single = group and group.distinct_count == query.table.row_count
    reasons = (
        ("what the share is of", query.aggregate == "share" and not (is_grouped or is_part)),
        ("which figure is meant", not measure and not query.is_count and query.aggregate != "share"),
        (
            f"what a total of “{name}” says, as it does not add up",
            query.aggregate in {None, "sum", "share"} and measure and measure.is_non_additive,
        ),
        (
            f"whether the average, the median or the total of “{name}” is meant",
            query.aggregate is None and measure and not measure.is_flow and not (is_ranked and is_single),
        ),
        (_NO_GROUP_REASON, is_ranked and not is_grouped),
        (f"which “{group_name}” comes first, as each row has another", query.is_count and is_single),
        ("the most or the least of one group", is_alone and (is_ranked or query.aggregate in {"max", "min"})),
        ("how to show groups and periods at once", group and query.period_unit),
        ("what the first or last few are asked of", query.max_groups and not group),
    )
    return next((what for what, holds in reasons if holds), "")
