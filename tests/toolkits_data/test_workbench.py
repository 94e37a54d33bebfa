"""The workbench: files come once, stay read-only, and names can do no harm."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from handoff.contracts import Artifact
from specialists.tools.tool import FolderWorkbench, Workbench

from .conftest import Bench, Blobs


async def test_a_file_is_fetched_once_and_cannot_be_written(tmp_path: Path, blobs: Blobs) -> None:
    artifact = Artifact(id=await blobs.store(b"hello"), name="a.txt", size=5)
    fetched: list[str] = []

    async def fetch(blob_id: str) -> bytes:
        fetched.append(blob_id)
        await asyncio.sleep(0)
        return blobs[blob_id]

    workbench: Workbench = FolderWorkbench((artifact,), fetch, blobs.store, tmp_path)
    paths = await asyncio.gather(*(workbench.path(artifact) for _ in range(5)))
    assert len(set(paths)) == 1
    assert paths[0].read_bytes() == b"hello"
    assert paths[0].name == "a.txt"
    assert os.stat(paths[0]).st_mode & 0o222 == 0  # noqa: PTH116 - the mode alone is asked
    assert fetched == [artifact.id]


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "/etc/passwd", "..", "", "a\\..\\b.csv", "x" * 400 + ".csv", "ü" * 300]
)
async def test_no_name_leaves_the_folder(tmp_path: Path, blobs: Blobs, name: str) -> None:
    artifact = Artifact(id=await blobs.store(b"x"), name=name)
    workbench = FolderWorkbench((artifact,), blobs.fetch, blobs.store, tmp_path)
    path = await workbench.path(artifact)
    assert Path(os.path.realpath(path)).is_relative_to(os.path.realpath(tmp_path))  # noqa: ASYNC240 - no wait
    assert path.read_bytes() == b"x"


async def test_new_files_are_kept_under_names_of_their_own(bench: Bench, blobs: Blobs) -> None:
    workbench = bench({"chart.png": b"old"})
    one = await workbench.keep("chart.png", b"1", media_type="image/png", about="one", publish_as="file")
    two = await workbench.keep("chart.png", b"2", media_type="image/png", about="two", publish_as="file")
    assert [one.name, two.name] == ["chart-2.png", "chart-3.png"]
    assert (one.size, blobs[one.id]) == (1, b"1")
    assert workbench.new_artifacts == (one, two)
    assert [artifact.name for artifact in workbench.artifacts] == ["chart.png", "chart-2.png", "chart-3.png"]
    assert (await workbench.path(two)).read_bytes() == b"2"


async def test_an_unknown_way_to_publish_is_a_bug(bench: Bench) -> None:
    with pytest.raises(ValidationError):
        await bench({}).keep("a", b"", media_type="text/plain", about="", publish_as="telegram")
