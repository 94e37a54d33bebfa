"""A query on a table (measure, group, filters, period and order), and the reasons to decline a query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.models.rehearsal import rehearsed_words as lexicon
from bot.models.rehearsal.rehearsed_periods import Period
from bot.models.rehearsal.rehearsed_profile import ProfiledColumn, ProfiledTable
from bot.models.rehearsal.rehearsed_words import Fold

MAX_GROUPS = 25
"""Most groups that an answer shows."""
_MAX_NAMED_WORDS = 4
_NO_GROUP_TROUBLE = "what the most or the least is asked of"


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter for the rows that have one of `values` in a column, or for all other rows if `excludes`."""

    column: ProfiledColumn
    values: tuple[str, ...]
    excludes: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A request as a query on a table.

    Attributes:
        table: The table.
        fold: How the values of `measure` become one figure; None if the request does not say.
        measure: The column with the figures.
        group: The column whose values group the rows.
        filters: Conditions on the rows.
        period: The period of the rows.
        unit: The length of the periods that group the rows, such as `month`; `auto` chooses one; "" for none.
        when: The column of dates that `period` and `unit` refer to.
        counting: True if the figure is the number of rows.
        most: How many groups are wanted; 0 for all.
        upward: True if the lowest comes first.
        extreme: True if the request asks for the largest or the smallest.
        is_sorted: True if the request asks for an order.
        reasons: True if the request asks why.
        goes_on: True if the request continues the one before.
        unused: Words of the request that are no part of the query.
        trouble: The reason to decline the request, as a clause after "I can't tell"; "" if there is none.
        choices: The columns of which a person must choose the measure.
    """

    table: ProfiledTable
    fold: Fold | None = None
    measure: ProfiledColumn | None = None
    group: ProfiledColumn | None = None
    filters: tuple[Filter, ...] = ()
    period: Period | None = None
    unit: str = ""
    when: ProfiledColumn | None = None
    counting: bool = False
    most: int = 0
    upward: bool = False
    extreme: bool = False
    is_sorted: bool = False
    reasons: bool = False
    goes_on: bool = False
    unused: tuple[str, ...] = ()
    trouble: str = ""
    choices: tuple[ProfiledColumn, ...] = ()


def complete_query(query: Query) -> Query:
    """Return the query with its figure, if only one or a count can be meant; otherwise with `choices` or `trouble`."""
    query = replace(query, when=query.when or next(iter(query.table.date_columns), None))
    if query.trouble or query.unused:
        return replace(query, trouble=query.trouble or _describe_unused_words(query))
    is_asked = query.fold or query.extreme or query.group or query.unit
    if not (query.measure or query.counting or query.fold == "share"):
        measures = tuple(column for column in query.table.columns if column.is_measure)
        if query.filters and not (query.fold or query.extreme):
            query = replace(query, counting=True)
        elif query.filters and query.extreme:  # `most open` may be the number of rows
            return replace(query, trouble=_NO_GROUP_TROUBLE)
        elif is_asked and len(measures) > 1:
            return replace(query, choices=measures)
        elif is_asked and measures:
            query = replace(query, measure=measures[0])
    if query.counting and query.fold not in {None, "sum", "share"}:
        return replace(query, trouble=f"what the {query.fold} of a number is")
    query = replace(query, counting=query.counting and not query.measure)
    return replace(query, trouble=_find_trouble(query))


def _describe_unused_words(query: Query) -> str:
    """Return the trouble with unused words: with the unknown ones, or if all are known, with those for columns."""
    columns = {one for column in query.table.columns for one in column.stems}
    others = [word for word in query.unused if word.lower() not in lexicon.BY] or query.unused
    strange = [word for word in others if not any(lexicon.is_close(word.lower(), one) for one in columns)]
    *first, last = (f"“{word}”" for word in (strange or others)[:_MAX_NAMED_WORDS])
    if not strange:
        return f"what you want of the column {' and '.join([*first, last])}"
    return f"what {', '.join(first)} and {last} stand for" if first else f"what {last} stands for"


def _find_trouble(query: Query) -> str:
    """Return why an answer would be a guess, such as a sum of rates or an unclear share; "" if it would not."""
    measure, group, parted = query.measure, query.group, bool(query.group or query.unit)
    name, group_name = (one.name if one else "" for one in (measure, group))
    is_part = len(query.filters) == 1 and not query.filters[0].excludes
    is_ranked = query.extreme or query.most or query.is_sorted
    is_alone = group and any(one.column == group and len(one.values) == 1 for one in query.filters)
    is_single = group and group.distinct_count == query.table.row_count
    reasons = (
        ("what the share is of", query.fold == "share" and not (parted or is_part)),
        ("which figure is meant", not measure and not query.counting and query.fold != "share"),
        (
            f"what a total of “{name}” says, as it does not add up",
            query.fold in {None, "sum", "share"} and measure and measure.is_rate,
        ),
        (
            f"whether the average, the median or the total of “{name}” is meant",
            query.fold is None and measure and not measure.is_flow and not (is_ranked and is_single),
        ),
        (_NO_GROUP_TROUBLE, is_ranked and not parted),
        (f"which “{group_name}” comes first, as each row has another", query.counting and is_single),
        ("the most or the least of one group", is_alone and (is_ranked or query.fold in {"max", "min"})),
        ("how to show groups and periods at once", group and query.unit),
        ("what the first or last few are asked of", query.most and not group),
    )
    return next((what for what, holds in reasons if holds), "")
