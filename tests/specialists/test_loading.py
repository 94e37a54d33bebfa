"""Libraries are imported off the loop, one after the other: nobody gets hold of one that is not whole yet."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import ModuleType

import pytest

from specialists.tools.blocking import load

SIGNS = """
from threading import Event
began, other_began = Event(), Event()
"""
LARGE = """
import loading_signs
loading_signs.began.set()
loading_signs.other_began.wait(1)
whole = True
"""
OTHER = """
import sys
import loading_signs
loading_signs.other_began.set()
found_whole = hasattr(sys.modules["loading_large"], "whole")
"""


@pytest.fixture
def signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Two modules that can be imported: while `loading_large` is, it gives another thread time to begin."""
    for name, text in {"signs": SIGNS, "large": LARGE, "other": OTHER}.items():
        (tmp_path / f"loading_{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return __import__("loading_signs")


async def test_a_library_that_is_being_loaded_is_waited_for(signs: ModuleType) -> None:
    first = asyncio.create_task(load("loading_large"))
    assert await asyncio.to_thread(signs.began.wait, 60)
    other = asyncio.create_task(load("loading_other"))
    await load("loading_large")
    assert hasattr(sys.modules["loading_large"], "whole")
    await asyncio.gather(first, other)
    assert sys.modules["loading_other"].found_whole


async def test_what_cannot_be_imported_is_said_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="loading_none"):
            await load("loading_none")
