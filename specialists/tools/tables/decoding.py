"""Decodes the text of a table, and notes in its sheet what is uncertain about the encoding."""

from __future__ import annotations

from specialists.formats.encodings import Decoded, NoText, decode_text
from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.table_refused import TableRefused


def text_of(data: bytes) -> Decoded:
    """Decode the bytes of a table's file.

    Raises:
        TableRefused: the bytes are no text, or hold nothing but blanks.
    """
    try:
        read = decode_text(data)
    except NoText:
        raise TableRefused("is a binary file, not a table of text; attach CSV, TSV, XLSX, Parquet or JSON") from None
    if not read.text.strip():
        raise TableRefused("is empty")
    return read


def note_decoding(read: Decoded, sheet: Sheet) -> None:
    """Note in a sheet that its encoding was guessed, and what may be wrong with its letters."""
    sheet.apart += [read.note] if read.note else []
    sheet.faults += [read.doubt] if read.doubt else []
