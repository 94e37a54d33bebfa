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

from specialists.formats.contents import Blob, FileContents, UnreadableFile
from specialists.formats.file_kind import find_kind
from specialists.sandbox.confine import claim_stdout, make_input_path
from specialists.tools.extras import explain_install
from specialists.tools.tables.sheet_reading import list_sheet_columns


def outline_columns(data: bytes, name: str, contents: FileContents) -> None:
    """Add a section for each column of a table. A sheet with a title is one section, which names its columns."""
    for title, names in list_sheet_columns(data, name):
        if title:
            contents.begin_section(f"sheet {title}: {', '.join(names)}")
        else:
            for column in names:
                contents.begin_section(column)


Reader = Callable[[bytes, str, FileContents], None]

_DAMAGED_FAULT = "is damaged: its reader gave up. Open it, save it again and attach that"
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
    "markdown": "markdown_text:read_markdown",
    "diff": "diff_hunks:read_diff",
    "json": "json_yaml_text:read_json",
    "yaml": "json_yaml_text:read_yaml",
    "text": "plain_text:read_text",
}
"""The reader of each kind, as `module:function`. Imported only when needed, as most need a library."""
_PACKAGE_EXTRAS = {"python_calamine": "tables"}


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    reply = claim_stdout()
    sys.setrecursionlimit(2000)
    data = Path(make_input_path(request["file"])).read_bytes()
    contents = FileContents()
    reply_fields: dict[str, Any] = {"text": "", "fault": "", "broke": ""}
    try:
        if request["columns"]:
            outline_columns(data, request["name"], contents)
        else:
            read_contents(data, request["name"], request["media_type"], contents)
        reply_fields["text"] = contents.finish_text()
    except UnreadableFile as refusal:
        reply_fields["fault"] = str(refusal)
    except MemoryError:
        reply_fields["fault"] = "is far larger inside than it looks. Attach the part that matters"
    except ModuleNotFoundError as error:
        reply_fields["fault"] = _describe_missing_package(error.name or "")
    except Exception as error:  # noqa: BLE001  # libraries raise all kinds of errors for a broken file
        reply_fields |= {"fault": _DAMAGED_FAULT, "broke": f"{type(error).__name__} at {_find_error_line(error)}"}
    blobs = (
        []
        if reply_fields["fault"]
        else [*_describe_blobs(contents.pictures, "picture"), *_describe_blobs(contents.inner_files, "inside")]
    )
    sections = [(name, start, contents.skipped_per_section) for name, start in contents.outline]
    reply_fields |= {"outline": sections, "gaps": contents.gaps, "notes": contents.notes, "blobs": blobs}
    reply_json = json.dumps(reply_fields).encode()
    with reply:
        reply.write(len(reply_json).to_bytes(8, "big") + reply_json)
        if blobs:
            for blob in [*contents.pictures, *contents.inner_files]:
                reply.write(blob.data)


def read_contents(data: bytes, name: str, media_type: str, contents: FileContents) -> None:
    """Read a file's bytes with the reader for its kind. Raises `UnreadableFile`, or any error of a library."""
    module, _, function = _READERS[find_kind(data, name, media_type)].partition(":")
    reader: Reader = getattr(import_module(f"specialists.reading.{module}"), function)
    reader(data, name, contents)


def _describe_blobs(blobs: list[Blob], role: str) -> list[dict[str, Any]]:
    return [{"what": role, "name": b.name, "media_type": b.media_type, "size": len(b.data)} for b in blobs]


def _find_error_line(error: BaseException) -> str:
    """Return `file:line` of the last line of our code in a traceback; not its text, which may quote the file."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if "specialists" in frame.filename]
    return f"{Path(lines[-1].filename).name}:{lines[-1].lineno}" if lines else "nowhere"


def _describe_missing_package(module: str) -> str:
    package = module.partition(".")[0]
    return f"cannot be read here: {package} is missing. {explain_install(_PACKAGE_EXTRAS.get(package, 'files'))}"
