from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from handoff.contracts import Artifact
from specialists.tools.tables import table_tools
from specialists.tools.tool import FolderWorkbench
from tests.child_in_process import run_children_here

Bench = Callable[[dict[str, bytes | str]], FolderWorkbench]
Cell = str | float | bool | None


class Blobs(dict[str, bytes]):
    async def fetch(self, blob_id: str) -> bytes:
        return self[blob_id]

    async def store(self, data: bytes) -> str:
        blob_id = hashlib.sha256(data).hexdigest()
        self[blob_id] = data
        return blob_id


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test finds what another one left; only the list of fonts, which takes seconds to make, is shared."""
    home = tmp_path_factory.mktemp("cache")
    fonts = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leadhand" / "matplotlib"
    fonts.mkdir(parents=True, exist_ok=True)
    (home / "leadhand").mkdir()
    (home / "leadhand" / "matplotlib").symlink_to(fonts)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    return home / "leadhand" / "tables"


@pytest.fixture
def children_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are read in this process."""
    run_children_here(monkeypatch, table_tools)


@pytest.fixture
def blobs() -> Blobs:
    return Blobs()


@pytest.fixture
def bench(tmp_path: Path, blobs: Blobs) -> Bench:
    """A workbench with these files on it."""

    def make(files: dict[str, bytes | str]) -> FolderWorkbench:
        artifacts = []
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            blob_id = hashlib.sha256(data).hexdigest()
            blobs[blob_id] = data
            artifacts.append(Artifact(id=blob_id, name=name, size=len(data)))
        return FolderWorkbench(tuple(artifacts), blobs.fetch, blobs.store, tmp_path)

    return make


def workbook_bytes(sheets: dict[str, list[list[Cell]]]) -> bytes:
    """The bytes of a workbook with these sheets: just enough XML for a reader."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    link = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"/>'
        for number, name in zip(numbers, sheets, strict=True)
    )
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{link}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number in numbers
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="rId1" Type="{link}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{link}"><sheets>{listed}</sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
        )
        for number, rows in zip(numbers, sheets.values(), strict=True):
            body = "".join(_row(index + 1, row) for index, row in enumerate(rows))
            archive.writestr(
                f"xl/worksheets/sheet{number}.xml",
                f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>',
            )
    return target.getvalue()


def patch_book(book: bytes, *changes: tuple[str, str], member: str = "xl/worksheets/sheet1.xml") -> bytes:
    """The workbook with texts of one of its files replaced."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode()
            for before, after in changes if name == member else ():
                assert before in text
                text = text.replace(before, after)
            new.writestr(name, text)
    return target.getvalue()


def _row(number: int, cells: list[Cell]) -> str:
    parts = []
    for index, cell in enumerate(cells):
        place = f"{chr(65 + index)}{number}"
        if cell is None:
            continue
        if isinstance(cell, bool):
            parts.append(f'<c r="{place}" t="b"><v>{int(cell)}</v></c>')
        elif isinstance(cell, str):
            parts.append(f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>')
        else:
            parts.append(f'<c r="{place}"><v>{cell}</v></c>')
    return f'<row r="{number}">{"".join(parts)}</row>'
