"""Real pictures: drawn in the child, checked as PNG."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import specialists
from specialists.tools.charts.charts import DrawChart, draw_chart, tools
from specialists.tools.tool import ToolOutcome

from .conftest import Bench, Blobs

SALES = (Path(specialists.__file__).parent / "samples" / "sales.csv").read_bytes()


def picture(blobs: Blobs, outcome: ToolOutcome) -> Image.Image:
    """The picture, once it is known to be one of the right size with something in it."""
    assert not outcome.failed, outcome.text
    (artifact,) = outcome.artifacts
    assert (artifact.media_type, artifact.publish_as) == ("image/png", "file")
    with Image.open(io.BytesIO(blobs[artifact.id])) as image:
        assert image.format == "PNG"
        assert image.size == (1600, 900)
        colours = image.convert("RGB")
    assert len(colours.getcolors(1_000_000) or []) > 20
    return colours


def has(image: Image.Image, colour: str) -> bool:
    wanted = tuple(bytes.fromhex(colour))
    return any(value == wanted for _, value in image.getcolors(1_000_000) or [])


async def test_lines_of_the_sample(bench: Bench, blobs: Blobs) -> None:
    workbench = bench({"sales.csv": SALES})
    told = await draw_chart(
        DrawChart(
            title="Churned customers by region",
            kind="line",
            sql="SELECT month, region, sum(churned_customers) AS churned FROM sales GROUP BY ALL",
            x="month",
            y=["churned"],
            unit="customers",
        ),
        workbench,
    )
    image = picture(blobs, told)
    assert all(has(image, colour) for colour in ("0072b2", "d55e00", "009e73", "cc79a7"))
    assert told.artifacts[0].name == "churned-customers-by-region.png"
    assert told.artifacts[0].about == "Churned customers by region"
    assert workbench.made == told.artifacts
    assert told.sources == ("sales.csv",)
    assert "South: 2025-07-01 32, 2025-08-01 30" in told.text


_VALUES = "SELECT * FROM (VALUES {}) t(x, v)"
_HARD: list[dict[str, Any]] = [
    {"title": "Negative, empty, not a number", "kind": "bar", "rows": "('a',-5.5),('b',NULL),('c','nan'::DOUBLE)"},
    {"title": "One point", "kind": "line", "rows": "(DATE '2026-03-01', 42)"},
    {"title": "All the same", "kind": "line", "rows": "(1, 0), (2, 0)"},
    {
        "title": "東京 🚀 $x_1^2$ \\frac{",
        "kind": "barh",
        "rows": "('東京 🗼', 1), ('$\\alpha$', 2), ('🙂', 3), ('عربى', 4)",
    },
    {"title": "T " * 200, "kind": "pie", "rows": "('a', 1), ('b', 2)", "unit": "EUR " * 30},
    {"title": "", "kind": "scatter", "rows": "(1e300, 1e300), (-1e300, -1e300), (0, 1)"},
]


async def test_hard_data_is_drawn_all_the_same(bench: Bench, blobs: Blobs) -> None:
    workbench = bench({"a.csv": "n\n1\n"})
    two_at_once = asyncio.Semaphore(2)

    async def draw(case: dict[str, Any]) -> ToolOutcome:
        rest = {key: value for key, value in case.items() if key != "rows"}
        async with two_at_once:
            return await draw_chart(DrawChart(sql=_VALUES.format(case["rows"]), x="x", y=["v"], **rest), workbench)

    outcomes = await asyncio.gather(*map(draw, _HARD))
    for outcome in outcomes:
        picture(blobs, outcome)
        assert outcome.artifacts[0].name.endswith(".png")
        assert len(outcome.artifacts[0].name) < 70
    assert len(workbench.made) == len(_HARD)


async def test_200_categories_with_long_names(bench: Bench, blobs: Blobs) -> None:
    told = await draw_chart(
        DrawChart(
            title="Revenue by customer",
            kind="bar",
            sql="SELECT 'Customer ' || range || ' of Example Holdings' AS c, range AS v FROM range(200), a",
            x="c",
            y=["v"],
        ),
        bench({"a.csv": "n\n1\n"}),
    )
    picture(blobs, told)
    assert "a barh chart (horizontal, because of the labels) of 30 values" in told.text
    assert "the 30 largest of 200; 170 others not shown" in told.text


async def test_what_cannot_be_drawn_is_told_and_nothing_is_kept(bench: Bench) -> None:
    workbench = bench({"sales.csv": SALES})
    wrong_sql = DrawChart(title="t", kind="bar", sql="SELECT nope FROM sales", x="nope", y=["v"])
    wrong_y = DrawChart(title="t", kind="bar", sql="SELECT region, plan FROM sales", x="region", y=["plan"])
    for arguments, said in ((wrong_sql, "nope"), (wrong_y, "not a number")):
        told = await draw_chart(arguments, workbench)
        assert told.failed
        assert said in told.text
    assert workbench.made == ()


def test_the_tool_takes_what_a_model_writes() -> None:
    (tool,) = tools()
    assert tool.spec.parameters["required"] == ["title", "kind", "sql", "x", "y"]
    with pytest.raises(ValueError, match="kind"):
        DrawChart.model_validate({"title": "t", "kind": "radar", "sql": "s", "x": "x", "y": ["y"]})
