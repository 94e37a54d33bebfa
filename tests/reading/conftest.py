"""What the tests of readers share: the files that other programs made, and a way to read bytes as a file."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from specialists.reading import file_reader
from specialists.reading.file_reading import FileReading
from tests.child_in_process import run_children_here

FILES = Path(__file__).parent / "files"
ReadSample = Callable[..., Awaitable[FileReading]]
_numbers = itertools.count()


@pytest.fixture
def read_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReadSample:
    """Reads bytes under a name, or one of the files: in this process, or in its own where that gets `cpu_seconds`."""

    async def read(name: str, data: bytes | None = None, media_type: str = "", *, cpu_seconds: int = 0) -> FileReading:
        path = FILES / name
        if data is not None:
            path = tmp_path / f"F{next(_numbers)}"  # as in the bot: where it lies says nothing of what it is
            path.write_bytes(data)
        if cpu_seconds:
            return await file_reader.read_file(path, name, media_type, cpu_seconds=cpu_seconds)
        with monkeypatch.context() as patch:
            run_children_here(patch, file_reader)
            return await file_reader.read_file(path, name, media_type)

    return read


def sections(reading: FileReading) -> dict[str, str]:
    """What stands in each section, by its name."""
    starts = [*(section.start for section in reading.outline), len(reading.text)]
    return {
        section.name: reading.text[start:end]
        for section, start, end in zip(reading.outline, starts, starts[1:], strict=False)
    }
