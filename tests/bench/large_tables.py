"""A large table through a specialist's tools, beside the same by hand: profile, query and chart; a second query."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from handoff.contracts import Artifact
from specialists.tools.charts.charts import DrawChart, draw_chart
from specialists.tools.tables.tables import ProfileTable, profile_table, run_query
from specialists.tools.tool import FolderWorkbench
from tests.bench.child import output

Row = Callable[..., None]

SEED = 7
ROWS, LARGE = 200_000, 30_000_000
ROUNDS = 5
SQL = "SELECT country, sum(revenue) AS revenue FROM orders GROUP BY 1 ORDER BY 2 DESC"
BY_HAND = "import duckdb, sys; duckdb.execute('CREATE VIEW orders AS FROM read_csv(' + repr(sys.argv[1]) + ')'); "
BY_HAND += "print(duckdb.execute(sys.argv[2]).fetchall())"
OTHER_SQL = "SELECT product, avg(price) AS price FROM orders WHERE country = 'DE' GROUP BY 1 ORDER BY 2 DESC LIMIT 5"


async def large_tables(data: Path, row: Row) -> None:
    """Both rows. Each round begins without anything kept of earlier ones."""
    before = os.environ.get("XDG_CACHE_HOME")
    fonts = Path(before or Path.home() / ".cache") / "leadhand" / "matplotlib"
    try:
        await _beside_by_hand(data, fonts, row)
        await _second_query(data, fonts, row)
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before


async def _beside_by_hand(data: Path, fonts: Path, row: Row) -> None:
    file = data / "orders.csv"
    file.write_text(orders(ROWS))
    ours, hands, starts = [], [], []
    for number in range(ROUNDS + 1):
        hand = await _seconds_of("-m", "tests.bench.table_by_hand", str(file), SQL, str(data / "hand.png"))
        start = await _seconds_of("-I", "-c", "import duckdb")
        seconds = await _ours(file, _fresh_cache(data / f"cache{number}", fonts), data / f"bench{number}")
        if number:  # the first warms the disk and the list of fonts
            ours.append(seconds)
            hands.append(hand)
            starts.append(start)
    whole, hand = statistics.median(map(sum, ours)), statistics.median(hands)
    row(f"profile, query, chart of {ROWS:,} rows", f"{whole:.2f} s", "", f"{hand:.2f} s")
    parts = " + ".join(f"{statistics.median(part):.2f}" for part in zip(*ours, strict=True))
    row("  of that each", f"{parts} s")
    row("  start of a process with DuckDB", f"{statistics.median(starts):.2f} s")
    over = [(sum(our) - start) / hand for our, hand, start in zip(ours, hands, starts, strict=True)]
    ratio = statistics.median(over)
    span = f"{min(over):.2f}-{max(over):.2f} x"
    row("  less one start, as a multiple of by hand", f"{ratio:.2f} x", "<= 2.00 x", span, met=ratio <= 2)


async def _second_query(data: Path, fonts: Path, row: Row) -> None:
    text = orders(LARGE * ROWS // len(orders(ROWS)))
    file = data / "large.csv"
    file.write_text(text)
    _fresh_cache(data / "cache-large", fonts)
    await run_query(SQL, workbench(file, data / "first"))
    times, hands = [], []
    for number in range(ROUNDS):
        hands.append(await _seconds_of("-c", BY_HAND, str(file), OTHER_SQL))
        began = time.perf_counter()
        answer = await run_query(OTHER_SQL, workbench(file, data / f"later{number}"))
        times.append(time.perf_counter() - began)
        if len(answer.rows) != 5:
            raise AssertionError("the query has not been answered")
    label = f"second query on a CSV of {len(text) / 1e6:.0f} MB"
    row(label, f"{statistics.median(times):.2f} s", "", f"{statistics.median(hands):.2f} s")
    over = sorted(our / hand for our, hand in zip(times, hands, strict=True))
    ratio, span = statistics.median(over), f"{over[0]:.2f}-{over[-1]:.2f} x"
    row("  as a multiple of DuckDB reading it anew", f"{ratio:.2f} x", "<= 1.00 x", span, met=ratio <= 1)


async def _ours(file: Path, _: Path, folder: Path) -> tuple[float, float, float]:
    bench = workbench(file, folder)
    marks = [time.perf_counter()]
    told = await profile_table(ProfileTable(file="orders.csv"), bench)
    marks.append(time.perf_counter())
    answer = await run_query(SQL, bench)
    marks.append(time.perf_counter())
    wish = DrawChart(title="Revenue by country", kind="bar", sql=SQL, x="country", y=["revenue"], unit="")
    drawn = await draw_chart(wish, bench)
    marks.append(time.perf_counter())
    if told.failed or drawn.failed or len(answer.rows) != 5:
        raise AssertionError(f"{told.text}\n{drawn.text}")
    first, second, third, fourth = marks
    return second - first, third - second, fourth - third


async def _seconds_of(*arguments: str) -> float:
    began = time.perf_counter()
    await output(*arguments)
    return time.perf_counter() - began


def _fresh_cache(folder: Path, fonts: Path) -> Path:
    """A folder for what is kept, empty but for the list of fonts, which takes seconds to make."""
    (folder / "leadhand").mkdir(parents=True)
    fonts.mkdir(parents=True, exist_ok=True)
    (folder / "leadhand" / "matplotlib").symlink_to(fonts)
    os.environ["XDG_CACHE_HOME"] = str(folder)
    return folder


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
