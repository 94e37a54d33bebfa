"""What the tests of readers share: the files that other programs made, and a way to read bytes as a file."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from specialists.reading.reader import CPU_SECONDS, read_file
from specialists.reading.reading import Reading

FILES = Path(__file__).parent / "files"
Given = Callable[..., Awaitable[Reading]]
_numbers = itertools.count()


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """Reads bytes under a name, or one of the files."""

    async def read(
        name: str, data: bytes | None = None, media_type: str = "", *, cpu_seconds: int = CPU_SECONDS
    ) -> Reading:
        if data is None:
            return await read_file(FILES / name, name, media_type)
        path = tmp_path / f"F{next(_numbers)}"  # as in the bot: where it lies says nothing of what it is
        path.write_bytes(data)
        return await read_file(path, name, media_type, cpu_seconds=cpu_seconds)

    return read


def sections(reading: Reading) -> dict[str, str]:
    """What stands in each section, by its name."""
    starts = [*(section.start for section in reading.outline), len(reading.text)]
    return {
        section.name: reading.text[start:end]
        for section, start, end in zip(reading.outline, starts, starts[1:], strict=False)
    }
