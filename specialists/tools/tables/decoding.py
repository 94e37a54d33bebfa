"""Decodes the text of a table, and notes in its sheet what is uncertain about the encoding."""

from __future__ import annotations

from specialists.formats.encodings import DecodedText, NotText, decode_text
from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.table_errors import TableRefused


def decode_table(data: bytes) -> DecodedText:
    """Decode the bytes of a table's file.

    Raises:
        TableRefused: the bytes are no text, or hold nothing but blanks.
    """
    try:
        decoded_text = decode_text(data)
    except NotText:
        raise TableRefused("is a binary file, not a table of text; attach CSV, TSV, XLSX, Parquet or JSON") from None
    if not decoded_text.text.strip():
        raise TableRefused("is empty")
    return decoded_text


def note_decoding(decoded_text: DecodedText, sheet: Sheet) -> None:
    """Note in a sheet that its encoding was guessed, and what may be wrong with its letters."""
    sheet.notes += [decoded_text.note] if decoded_text.note else []
    sheet.faults += [decoded_text.doubt] if decoded_text.doubt else []
