"""Each child that other tests run in their own process works behind its walls, on files of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from specialists.tools.documents.document_tools import PublishArguments, publish_document
from specialists.tools.tables.table_tools import ProfileTableArguments, QueryTableArguments, profile_table, query_table
from specialists.tools.web.fetch import Download
from specialists.tools.web.web_tools import read_page

from .conftest import Bench

FILES = Path(__file__).parents[1] / "reading" / "files"
TABLES = {
    "sales.csv": FILES / "sales-sqlite.csv",
    "sales.xlsx": FILES / "sales.xlsx",
    "sales.xls": FILES / "sales.xls",
    "sales.ods": FILES / "sales.ods",
    "orders.json": FILES / "orders-jq.json",
    "page.xls": b"<table><tr><th>region</th><th>units</th></tr><tr><td>North</td><td>3</td></tr></table>",
}


@pytest.mark.parametrize("name", TABLES)
async def test_a_table_is_read(bench: Bench, name: str) -> None:
    source = TABLES[name]
    workbench = bench({name: source if isinstance(source, bytes) else source.read_bytes()})
    told = await profile_table(ProfileTableArguments(file=name), workbench)
    assert not told.failed, told.text
    counted = await query_table(QueryTableArguments(sql="SELECT table_name FROM duckdb_tables()"), workbench)
    assert not counted.failed, counted.text


async def test_a_page_is_read() -> None:
    text = "<html><body><article><h1>Prices</h1><p>Team costs 9 dollars a month.</p></article></body></html>"
    page = Download("https://x.example/prices", "text/html", "utf-8", text.encode(), is_whole=True)
    told = await read_page(page, 0)
    assert not told.failed, told.text
    assert "Team costs 9 dollars a month." in told.text


async def test_a_document_is_made(bench: Bench) -> None:
    told = await publish_document(PublishArguments(title="Note", markdown="# Note\n\nTea is *ready*."), bench({}))
    assert not told.failed, told.text
    assert [one.name for one in told.artifacts] == ["Note.docx"]
