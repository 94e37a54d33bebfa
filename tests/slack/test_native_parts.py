"""Charts and tables as blocks: what fits Slack's limits, and what stays a picture or text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.slack.views.native_blocks import MAX_CATEGORIES, make_chart_blocks, split_native_table
from bot.workspace.blocks import check_message_blocks
from handoff.contracts import Artifact, ChartSeries, ChartShape
from specialists.tools.charts.chart_data import ChartData, Series
from specialists.tools.charts.charts import make_chart_shape

BARS = ChartShape(
    kind="bar",
    title="Sales",
    categories=("North", "South"),
    series=(ChartSeries(name="2025", values=(3.0, -1.5)), ChartSeries(name="2026", values=(4.0, 2.0))),
    y_label="kEUR",
    notes=("2 rows left out",),
)


def make_bar_blocks(**changes: Any) -> list[dict[str, Any]]:
    """The blocks of such a chart, as the workspace takes them."""
    shape = BARS.model_copy(update=changes)
    return check_message_blocks(make_chart_blocks(Artifact(id="a", name="a.png", publish_as="file", chart=shape)))


def test_bars_are_a_block_with_their_notes_below() -> None:
    chart, notes = make_bar_blocks()
    assert chart["chart"]["series"][1] == {
        "name": "2026",
        "data": [{"label": "North", "value": 4.0}, {"label": "South", "value": 2.0}],
    }
    assert chart["chart"]["axis_config"] == {"categories": ["North", "South"], "y_label": "kEUR"}
    assert notes["elements"][0]["text"] == "2 rows left out"


def test_a_pie_is_a_block_of_slices() -> None:
    (pie,) = make_bar_blocks(kind="pie", series=(ChartSeries(name="s", values=(3.0, 1.0)),), notes=())
    assert pie["chart"] == {
        "type": "pie",
        "segments": [{"label": "North", "value": 3.0}, {"label": "South", "value": 1.0}],
    }


MANY = tuple(f"c{number}" for number in range(MAX_CATEGORIES + 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"categories": MANY, "series": (ChartSeries(name="s", values=(1.0,) * len(MANY)),)},
        {"categories": ("a name of more than twenty characters", "b")},
        {"categories": ("same", "same")},
        {"categories": ("", "b")},
        {"kind": "pie", "series": (ChartSeries(name="s", values=(3.0, 0.0)),)},
        {"kind": "pie"},
        {"series": tuple(ChartSeries(name=f"s{n}", values=(1.0, 2.0)) for n in range(13))},
        {"series": (ChartSeries(name="s", values=(1.0,)),)},
    ],
)
def test_what_does_not_fit_stays_a_picture(changes: dict[str, Any]) -> None:
    assert make_bar_blocks(**changes) == []


def test_words_in_a_chart_ping_nobody_and_hold_no_links() -> None:
    (chart, _) = make_bar_blocks(title="<!channel> @here " + "x" * 80, categories=("<@U1>", "@everyone"))
    assert len(chart["title"]) == 50
    assert "<" not in str(chart)
    assert "@everyone" not in str(chart)


def test_missing_values_are_no_zeros() -> None:
    data = ChartData("line", "text", ("a", "b"), (Series("s", (1.0, None)),))
    assert make_chart_shape(data, "t", "x", "y", "") is None
    whole = replace(data, series=(Series("s", (1.0, 2.0)),))
    shape = make_chart_shape(whole, "t", "x", "Revenue", "EUR")
    assert shape is not None
    assert shape.y_label == "Revenue (EUR)"
    assert make_chart_shape(replace(whole, kind="scatter"), "t", "x", "y", "") is None


def table(rows: int, cell: str = "10,200.5") -> str:
    lines = [f"| Town {number} &amp; more | {cell} |" for number in range(rows)]
    return "\n".join(["Above", "", "## By town", "", "| Town | Sales |", "|---|--:|", *lines, "", "Below"])


def test_a_long_table_is_a_block_between_its_texts() -> None:
    above, block, below = check_message_blocks(split_native_table({"type": "markdown", "text": table(9)}))
    assert (above["text"], below["text"]) == ("Above", "Below")
    assert block["caption"] == "By town"
    assert block["rows"][0] == [{"type": "raw_text", "text": "Town"}, {"type": "raw_text", "text": "Sales"}]
    assert block["rows"][9][0] == {"type": "raw_text", "text": "Town 8 & more"}
    assert block["rows"][9][1] == {"type": "raw_number", "value": 10200.5, "text": "10,200.5"}


@pytest.mark.parametrize("text", [table(7), table(101), table(9, "**10**"), f"```\n{table(9)}\n```", "no table | here"])
def test_short_ones_marked_up_ones_and_code_stay_text(text: str) -> None:
    block = {"type": "markdown", "text": text}
    assert split_native_table(block) == [block]


def test_a_cell_that_is_missing_leaves_the_table_as_it_is() -> None:
    block = {"type": "markdown", "text": table(9).replace("| Town 3 &amp; more |", "| ")}
    assert split_native_table(block) == [block]
