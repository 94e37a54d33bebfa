"""A large table through a specialist's tools, beside the same by hand: profile, query and chart; a second query."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import random
import statistics
import time
from pathlib import Path

from handoff.contracts import Artifact
from specialists.tools.charts.charts import DrawChartArguments, draw_chart
from specialists.tools.tables.table_tools import ProfileTableArguments, profile_table, run_query
from specialists.tools.tool import FolderWorkbench
from tests.bench.stage import compare, seconds_of
from tests.proof_kit import row

SEED = 7
ROWS, LARGE = 200_000, 30_000_000
ROUNDS = 5
SQL = "SELECT country, sum(revenue) AS revenue FROM orders GROUP BY 1 ORDER BY 2 DESC"
BY_HAND = "import duckdb, sys; duckdb.execute('CREATE VIEW orders AS FROM read_csv(' + repr(sys.argv[1]) + ')'); "
BY_HAND += "print(duckdb.execute(sys.argv[2]).fetchall())"
OTHER_SQL = "SELECT product, avg(price) AS price FROM orders WHERE country = 'DE' GROUP BY 1 ORDER BY 2 DESC LIMIT 5"


async def large_tables(data: Path) -> None:
    """Both rows. Each round begins without anything kept of earlier ones."""
    before = os.environ.get("XDG_CACHE_HOME")
    fonts = Path(before or Path.home() / ".cache") / "leadhand" / "matplotlib"
    try:
        await _beside_by_hand(data, fonts)
        await _second_query(data, fonts)
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before


async def _beside_by_hand(data: Path, fonts: Path) -> None:
    file = data / "orders.csv"
    file.write_text(orders(ROWS))
    ours, hands, starts = [], [], []
    for number in range(ROUNDS + 1):
        hand = await seconds_of("-m", "tests.bench.table_by_hand", str(file), SQL, str(data / "hand.png"))
        start = await seconds_of("-I", "-c", "import duckdb")
        _empty_cache(data / f"cache{number}", fonts)
        seconds = await _ours(file, data / f"bench{number}")
        if number:  # the first warms the disk and the list of fonts
            ours.append(seconds)
            hands.append(hand)
            starts.append(start)
    less = [sum(our) - start for our, start in zip(ours, starts, strict=True)]
    compare(f"profile, query, chart of {ROWS:,} rows, less one start", less, hands, 2.0)
    parts = " + ".join(f"{statistics.median(part):.2f}" for part in zip(*ours, strict=True))
    row("  of that each", f"{parts} s")
    row("  start of a process with DuckDB", f"{statistics.median(starts):.2f} s")


async def _second_query(data: Path, fonts: Path) -> None:
    text = orders(LARGE * ROWS // len(orders(ROWS)))
    file = data / "large.csv"
    file.write_text(text)
    _empty_cache(data / "cache-large", fonts)
    await run_query(SQL, workbench(file, data / "first"))
    times, hands = [], []
    for number in range(ROUNDS):
        hands.append(await seconds_of("-c", BY_HAND, str(file), OTHER_SQL))
        began = time.perf_counter()
        answer = await run_query(OTHER_SQL, workbench(file, data / f"later{number}"))
        times.append(time.perf_counter() - began)
        assert len(answer.rows) == 5, "the query has not been answered"
    compare(f"second query on a CSV of {len(text) / 1e6:.0f} MB, beside DuckDB", times, hands, 1.0)


async def _ours(file: Path, folder: Path) -> tuple[float, float, float]:
    bench = workbench(file, folder)
    marks = [time.perf_counter()]
    told = await profile_table(ProfileTableArguments(file="orders.csv"), bench)
    marks.append(time.perf_counter())
    answer = await run_query(SQL, bench)
    marks.append(time.perf_counter())
    wish = DrawChartArguments(title="Revenue by country", kind="bar", sql=SQL, x="country", y=["revenue"], unit="")
    drawn = await draw_chart(wish, bench)
    marks.append(time.perf_counter())
    assert not told.failed, told.text
    assert not drawn.failed, drawn.text
    assert len(answer.rows) == 5
    first, second, third, fourth = marks
    return second - first, third - second, fourth - third


def _empty_cache(folder: Path, fonts: Path) -> None:
    """A folder for what is kept, empty but for the list of fonts, which takes seconds to make."""
    (folder / "leadhand").mkdir(parents=True)
    fonts.mkdir(parents=True, exist_ok=True)
    (folder / "leadhand" / "matplotlib").symlink_to(fonts)
    os.environ["XDG_CACHE_HOME"] = str(folder)


def workbench(file: Path, folder: Path) -> FolderWorkbench:
    """The workbench of a subtask that holds the file under the name orders.csv."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    kept: dict[str, bytes] = {digest: file.read_bytes()}

    async def fetch(blob: str) -> bytes:
        return kept[blob]

    async def store(blob: bytes) -> str:
        kept[name := hashlib.sha256(blob).hexdigest()] = blob
        return name

    return FolderWorkbench((Artifact(id=digest, name="orders.csv"),), fetch, store, folder)


def orders(rows: int) -> str:
    """A CSV of orders, the same for each seed."""
    rng, first = random.Random(SEED), dt.date(2025, 1, 1)
    lines = ["order_id,date,country,product,units,price,revenue,note"]
    for number in range(1, rows + 1):
        units, cents = rng.randint(1, 9), rng.randint(500, 20_000)
        day = first + dt.timedelta(days=rng.randint(0, 540))
        place = f"{rng.choice(('US', 'DE', 'FR', 'JP', 'BR'))},P{rng.randint(1, 40)}"
        money = f"{cents / 100:.2f},{units * cents / 100:.2f}"
        lines.append(f"{number},{day},{place},{units},{money},note {rng.randint(1, 10**6)}")
    return "\n".join(lines) + "\n"
