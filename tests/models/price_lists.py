"""Price lists that come late or fail, as on a busy machine: the product's own script, held up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.models import prices

REAL = prices._SCRIPT


@dataclass
class HeldPriceList:
    """A price list that is not read before `release`. `has_started` says if a process has begun to read it."""

    folder: Path

    def release(self) -> None:
        (self.folder / "released").touch()

    async def has_started(self) -> bool:
        return (self.folder / "started").exists()


def held_price_list(folder: Path, monkeypatch: pytest.MonkeyPatch) -> HeldPriceList:
    """Have prices looked up by a process that waits until it is released."""
    script = f"""
import pathlib, runpy, time
folder = pathlib.Path({str(folder)!r})
(folder / "started").touch()
while not (folder / "released").exists():
    time.sleep(0.01)
runpy.run_path({str(REAL)!r}, run_name="__main__")
"""
    _look_up_by(script, folder, monkeypatch)
    return HeldPriceList(folder)


def failing_price_list(folder: Path, monkeypatch: pytest.MonkeyPatch, *, failures: int) -> Callable[[], int]:
    """Have the first lookups fail. Gives a function that counts lookups."""
    script = f"""
import pathlib, runpy, sys
log = pathlib.Path({str(folder)!r}) / "lookups"
with log.open("a") as file:
    file.write("x")
if len(log.read_text()) <= {failures}:
    sys.exit("no memory left")
runpy.run_path({str(REAL)!r}, run_name="__main__")
"""
    _look_up_by(script, folder, monkeypatch)
    return lambda: len((folder / "lookups").read_text())


def _look_up_by(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "lookup.py"
    path.write_text(script)
    found: dict[Any, Any] = {}
    monkeypatch.setattr(prices, "_SCRIPT", path)
    monkeypatch.setattr(prices, "_PRICES_CACHE", found)
