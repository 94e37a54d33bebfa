"""Gathering: files are kept with their texts once, tables with their columns, files inside files under both names."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from bot.jobs.material_gathering import (
    MAX_INNER_FILES,
    GatheredMaterial,
    fit_into_log_event,
    gather_attachments,
    is_table,
)
from bot.store.redis.redis_store import Store
from bot.store.values import BLOB_LIMIT, EVENT_LIMIT, JobKey
from handoff import events as ev
from handoff.contracts import Attachment
from handoff.materials.outline import name_place
from specialists.reading import file_reader
from tests.child_in_process import run_children_here

KEY = JobKey("T1", "J0000000001")
FILES = Path(__file__).parent.parent / "reading" / "files"
NOTE = "# Terms\n\nThe fee is due.\n\n# Court\n\nBergen.\n"
TABLE = b"month;region;churned\n2026-01;north;4\n"


@pytest.fixture(autouse=True)
def children_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in this process: what a child's walls are is shown by the tests of reading."""
    run_children_here(monkeypatch, file_reader)


def pack_files(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return data.getvalue()


async def gather_files(store: Store, *files: tuple[str, bytes]) -> tuple[GatheredMaterial, dict[str, str]]:
    """What was gathered, and the texts by the names of the material."""
    contents = dict(files)

    async def fetch(attachment: Attachment) -> tuple[Attachment, bytes] | str:
        data = contents[attachment.name]
        return (attachment, data) if data else f"{attachment.name} did not arrive."

    attachments = [Attachment(file_id=name, name=name) for name in contents]
    found = await gather_attachments(attachments, fetch, store, KEY)
    texts = {one.name: (await store.blobs.get(KEY, one.text)).decode() for one in found.materials if one.text}
    return found, texts


async def test_texts_lie_in_the_store_and_outlines_in_the_event(store: Store) -> None:
    found, texts = await gather_files(store, ("terms.md", NOTE.encode()), ("gone.txt", b""), ("a.csv", TABLE))
    terms, table = found.materials
    assert texts["terms.md"].strip() == NOTE.strip()
    assert [one.name.rpartition(": ")[2] for one in terms.outline] == ["Terms", "Court"]
    assert terms.size == len(texts["terms.md"])
    assert (table.is_table, [one.name for one in table.outline]) == (True, ["month", "region", "churned"])
    assert table.file is not None
    assert table.text == table.file.id, "a table in UTF-8 is its own text"
    assert found.faults == ("gone.txt did not arrive.",)


async def test_a_workbook_has_its_sheets_and_its_text(store: Store) -> None:
    found, texts = await gather_files(store, ("sales.xlsx", (FILES / "sales.xlsx").read_bytes()))
    (sales,) = found.materials
    assert sales.is_table
    assert [one.name for one in sales.outline] == ["sheet t: Region, Umsatz, Datum"]
    assert "Nord" in texts["sales.xlsx"]


async def test_a_picture_is_kept_as_models_are_to_see_it(store: Store) -> None:
    data = (FILES / "photo-turned.jpg").read_bytes()
    found, _ = await gather_files(store, ("photo-turned.jpg", data))
    (photo,) = found.materials
    assert photo.file is not None
    assert (photo.file.media_type, photo.pictures) == ("image/png", ())
    kept = await store.blobs.get(KEY, photo.file.id)
    assert kept.startswith(b"\x89PNG")
    assert b"Exif" not in kept


async def test_a_file_that_the_store_does_not_take_is_said_and_the_others_are_read(store: Store) -> None:
    found, texts = await gather_files(store, ("huge.csv", bytes(BLOB_LIMIT + 1)), ("terms.md", NOTE.encode()))
    assert [one.name for one in found.materials] == ["terms.md"]
    assert set(texts) == {"terms.md"}
    (fault,) = found.faults
    assert fault.startswith("huge.csv could not be kept: a file of ")


async def test_what_was_gathered_fits_into_an_event_of_the_log(store: Store) -> None:
    long = "".join(
        f"# A heading on part {n} of the manual, in so many words that it is long\n\nText.\n\n" for n in range(999)
    )
    found, _ = await gather_files(
        store, *((f"{n}.md", (long + str(n)).encode()) for n in range(4)), ("a.md", NOTE.encode())
    )
    assert [bool(one.outline) for one in found.materials] == [True] * 5
    kept = fit_into_log_event(replace(found, speakers=("U1",)))
    assert kept.speakers == ("U1",)
    event = ev.MaterialGathered(at=1.0, request="1.0", materials=kept.materials, faults=kept.faults)
    assert len(ev.dump_event(event).encode()) < EVENT_LIMIT
    assert [one.name for one in kept.materials] == [one.name for one in found.materials]
    assert kept.materials[4].outline, "the longest outlines go first"
    many = fit_into_log_event(GatheredMaterial(found.materials[4:] * 3_000, ("x.pdf is broken.",) * 3_000))
    event = ev.MaterialGathered(at=1.0, request="1.0", materials=many.materials, faults=many.faults)
    assert len(ev.dump_event(event).encode()) < EVENT_LIMIT
    assert "of 3,000 files are more than one request can hold" in many.faults[0]
    assert many.faults[-1].startswith("and 2,961 more files")


async def test_files_in_a_file_are_material_of_their_own(store: Store) -> None:
    inside = {f"f{n}_txt": f"File {n} says hello.".encode() for n in range(MAX_INNER_FILES + 2)}
    found, texts = await gather_files(store, ("all.zip", pack_files(rows_csv=TABLE, **inside)))
    names = [one.name for one in found.materials]
    assert names[:3] == ["all.zip", "all.zip/rows.csv", "all.zip/f0.txt"]
    assert texts["all.zip/f0.txt"].strip() == "File 0 says hello."
    assert found.materials[1].is_table
    assert len(names) == 1 + MAX_INNER_FILES
    assert any("all.zip" in fault for fault in found.faults), "that some were not read is said"


@pytest.mark.parametrize(
    ("name", "data", "table"),
    [
        ("a.CSV", b"x", True),
        ("a.parquet", b"x", True),
        ("a.json", b' \n[{"a": 1}]', True),
        ("a.json", b'{"a": 1}', False),
        ("a.txt", b"a,b\n", False),
    ],
)
def test_a_table_is_told_by_its_ending_or_its_rows(name: str, data: bytes, *, table: bool) -> None:
    assert is_table(name, data) is table


async def test_a_table_is_outlined_as_queries_name_its_columns(store: Store) -> None:
    page = b"<table><tr><th rowspan=2>Team<th colspan=2>Travel<tr><th>Flights<th>Hotel<tr><td>Ops<td>1<td>2</table>"
    rows = [{"id": 1, "service": {"name": "login"}}]
    found, texts = await gather_files(
        store,
        ("grouped.csv", b"Team,Travel,,Other,\n,Flights,Hotel,Flights,Hotel\nOps,1,2,3,4\nIT,5,6,7,8\n"),
        ("nested.json", json.dumps(rows).encode()),
        ("chinese.csv", "姓名,城市\n王伟,北京\n李娜,上海\n".encode("gb18030")),
        ("erp.xls", page),
    )
    outlines = {one.name: [section.name for section in one.outline] for one in found.materials}
    assert outlines == {
        "grouped.csv": ["Team", "Travel / Flights", "Travel / Hotel", "Other / Flights", "Other / Hotel"],
        "nested.json": ["id", "service.name"],
        "chinese.csv": ["姓名", "城市"],
        "erp.xls": ["Team", "Travel / Flights", "Travel / Hotel"],
    }
    assert "Ops | 1 | 2" in texts["erp.xls"]
    grouped = next(one for one in found.materials if one.name == "grouped.csv")
    assert name_place(texts["grouped.csv"], grouped.outline, texts["grouped.csv"].index("IT,5")) == "line 4"
