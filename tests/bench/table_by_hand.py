"""What somebody writes who knows DuckDB and matplotlib: read a CSV, look at its columns, ask it, draw the answer."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


def main(file: str, sql: str, picture: str) -> None:
    """Print the rows of the query, and draw them."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE orders AS FROM read_csv(?)", [file])
    connection.execute("SUMMARIZE orders").fetchall()
    connection.execute("FROM orders LIMIT 3").fetchall()
    rows = connection.execute(sql).fetchall()
    figure = Figure(figsize=(8.0, 4.5), dpi=200, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.bar([str(row[0]) for row in rows], [row[1] for row in rows])
    axes.set_title("Revenue by country")
    figure.savefig(picture, format="png")
    sys.stdout.write(f"{rows}\n{Path(picture).stat().st_size}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
