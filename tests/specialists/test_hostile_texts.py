"""Pages and documents that are built to take minutes: the child ends at its limits, and its parent notices nothing."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from specialists.sandbox.child_process import ChildLimits
from specialists.tools.documents import document_tools
from specialists.tools.documents.document_tools import PublishArguments, publish_document
from specialists.tools.tool import FolderWorkbench
from specialists.tools.web import web_tools
from specialists.tools.web.fetch import Download

SHORT = ChildLimits(memory_mb=1000, cpu_seconds=1)  # fewer than people get: that it ends is shown as well, and sooner
WORDS = b"<p>" + b"What a page says before it begins. " * 20 + b"</p>"
PAGES: dict[str, Callable[[], bytes]] = {
    "cells": lambda: WORDS + b"<table><tr>" + b"<td>a" * 180_000,
    "rows": lambda: WORDS + b"<table>" + b"<tr><td>a" * 100_000,
    "deep": lambda: WORDS + b"<div><b>" * 60_000 + b"x",
}
MEGABYTE = 1_000_000


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def read_page_text(body: bytes) -> str:
    outcome = await web_tools.read_page(Download("https://example.com/", "text/html", "utf-8", body, is_whole=True), 0)
    return outcome.text


@pytest.mark.parametrize("name", PAGES)
async def test_a_tangled_page_takes_no_more_processor_than_it_may(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_tools, "_LIMITS", SHORT)
    before = cpu_of_children()
    text = await read_page_text(PAGES[name]())
    assert cpu_of_children() - before < 2 * SHORT.cpu_seconds + 0.5
    assert "too tangled" in text or "What a page says" in text


async def test_four_at_once_cost_the_bot_neither_memory_nor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_tools, "_LIMITS", SHORT)
    body, me = PAGES["cells"](), psutil.Process()
    await read_page_text(WORDS)
    others = set(me.children())
    memory, busy, children, peak = me.memory_info().rss, time.process_time(), cpu_of_children(), 0

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, me.memory_info().rss)
            await asyncio.sleep(0.05)

    watching = asyncio.create_task(watch())
    texts = await asyncio.gather(*[read_page_text(body) for _ in range(4)])
    watching.cancel()
    assert all("too tangled" in text for text in texts)
    assert peak - memory < 100 * MEGABYTE
    assert time.process_time() - busy < 1.0, "the loop had next to nothing to do"
    assert cpu_of_children() - children < 4 * 2 * SHORT.cpu_seconds
    assert set(me.children()) <= others


@pytest.mark.parametrize(
    "markdown",
    ["|" + "a|" * 10_000 + "\n|" + "-|" * 10_000 + "\n|" + "b|" * 10_000, "|a|b|\n|-|-|\n" + "|x|y|\n" * 30_000],
    ids=["columns", "rows"],
)
async def test_a_document_that_never_ends_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, markdown: str
) -> None:
    monkeypatch.setattr(document_tools, "_LIMITS", SHORT)

    async def nowhere(_: str | bytes) -> bytes:
        raise AssertionError("nothing is kept")

    before, busy = cpu_of_children(), time.process_time()
    bench = FolderWorkbench((), nowhere, nowhere, tmp_path)  # type: ignore[arg-type]
    outcome = await publish_document(PublishArguments(title="Wide", markdown=markdown), bench)
    assert outcome.failed
    assert "shorten or split it" in outcome.text
    assert cpu_of_children() - before < 2 * SHORT.cpu_seconds + 0.5
    assert time.process_time() - busy < 1.0
