"""The child process that reads a file of any kind, with the reader for that kind.

Input: `{"file", "name", "media_type", "columns"}`, where `file` is an input's name and `columns` asks for only the
columns of a table. Output: the length of a JSON in 8 bytes, the JSON `{"text", "outline", "gaps", "notes", "fault",
"broke", "blobs"}`, and the bytes of the pictures and inner files that `blobs` lists, in order.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from specialists.formats.contents import Blob, Contents, Unreadable
from specialists.formats.file_kind import kind_of
from specialists.sandbox.confine import claim_stdout, input_path
from specialists.tools.extras import describe_remedy
from specialists.tools.tables.sheet_sources import columns_of


def outline_columns(data: bytes, name: str, contents: Contents) -> None:
    """Make each column of a table a section. If there are several sheets, each sheet is one, with its columns."""
    for title, names in columns_of(data, name):
        if title:
            contents.begin_section(f"sheet {title}: {', '.join(names)}")
        else:
            for column in names:
                contents.begin_section(column)


Reader = Callable[[bytes, str, Contents], None]

_DAMAGED = "is damaged: its reader gave up. Open it, save it again and attach that"
_READERS = {
    "pdf": "pdf_pages:read_pdf",
    "docx": "word_text:read_docx",
    "pptx": "slide_text:read_pptx",
    "odt": "open_document:read_odt",
    "odp": "open_document:read_odp",
    "workbook": "sheet_text:read_workbook",
    "delimited": "sheet_text:read_delimited",
    "spreadsheet xml": "sheet_text:read_spreadsheet_xml",
    "picture": "picture_file:read_picture",
    "zip": "archive_members:read_zip",
    "mail": "mail_message:read_mail",
    "calendar": "calendar_entries:read_calendar",
    "html": "html_text:read_html",
    "markdown": "headed_text:read_markdown",
    "diff": "diff_hunks:read_diff",
    "json": "keyed_text:read_json",
    "yaml": "keyed_text:read_yaml",
    "text": "plain_text:read_text",
}
"""By kind, the module and function of its reader, imported only when needed, as most need a library."""
_EXTRA_OF = {"python_calamine": "tables"}


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    reply = claim_stdout()
    sys.setrecursionlimit(2000)
    data = Path(input_path(request["file"])).read_bytes()
    contents = Contents()
    told: dict[str, Any] = {"text": "", "fault": "", "broke": ""}
    try:
        if request["columns"]:
            outline_columns(data, request["name"], contents)
        else:
            read(data, request["name"], request["media_type"], contents)
        told["text"] = contents.finish()
    except Unreadable as refusal:
        told["fault"] = str(refusal)
    except MemoryError:
        told["fault"] = "is far larger inside than it looks. Attach the part that matters"
    except ModuleNotFoundError as error:
        told["fault"] = _describe_missing_package(error.name or "")
    except Exception as error:  # noqa: BLE001  # libraries raise all kinds of errors for a broken file
        told |= {"fault": _DAMAGED, "broke": f"{type(error).__name__} at {_find_error_place(error)}"}
    blobs = (
        []
        if told["fault"]
        else [*_describe_blobs(contents.pictures, "picture"), *_describe_blobs(contents.inside, "inside")]
    )
    sections = [(name, start, contents.unnamed) for name, start in contents.outline]
    told |= {"outline": sections, "gaps": contents.gaps, "notes": contents.notes, "blobs": blobs}
    line = json.dumps(told).encode()
    with reply:
        reply.write(len(line).to_bytes(8, "big") + line)
        if blobs:
            for blob in [*contents.pictures, *contents.inside]:
                reply.write(blob.data)


def read(data: bytes, name: str, media_type: str, contents: Contents) -> None:
    """Read a file's bytes with the reader for its kind. Raises `Unreadable`, or any error of a library."""
    module, _, function = _READERS[kind_of(data, name, media_type)].partition(":")
    reader: Reader = getattr(import_module(f"specialists.reading.{module}"), function)
    reader(data, name, contents)


def _describe_blobs(blobs: list[Blob], what: str) -> list[dict[str, Any]]:
    return [{"what": what, "name": b.name, "media_type": b.media_type, "size": len(b.data)} for b in blobs]


def _find_error_place(error: BaseException) -> str:
    """Return the last line of our code that an exception passed. Its text is left out, as it may quote the file."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if "specialists" in frame.filename]
    return f"{Path(lines[-1].filename).name}:{lines[-1].lineno}" if lines else "nowhere"


def _describe_missing_package(module: str) -> str:
    package = module.partition(".")[0]
    return f"cannot be read here: {package} is missing. {describe_remedy(_EXTRA_OF.get(package, 'files'))}"
