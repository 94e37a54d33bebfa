"""Reads JSON and YAML as text, with the outermost keys as the outline. JSON with a very long line is indented."""

from __future__ import annotations

import json
import re
from typing import Any

from specialists.formats.contents import FileContents
from specialists.reading.plain_text import add_with_line_outline, decode_file

_LONGEST_UNINDENTED_LINE = 1_000
_MAX_KEYS = 200
_YAML_KEY = re.compile(r"(?P<key>[\w\"'][^:#\n]{0,100}?)\s*:(?:\s|$)")
_JSON_KEY = re.compile(r"(?: {1,8}|\t)\"(?P<key>[^\"\\]{1,100})\"\s*:")
_MAX_NOTEBOOK_CELLS = 2_000


def read_json(data: bytes, name: str, contents: FileContents) -> None:
    """Read JSON. A notebook becomes its cells. JSON lines and invalid JSON are read as plain text."""
    text = decode_file(data, contents)
    try:
        value = json.loads(text)
    except RecursionError:
        contents.add_gap("it is nested too deeply for its keys to be listed")
        add_with_line_outline(text, contents)
        return
    except ValueError as error:
        if not _is_json_lines(text):
            contents.add_gap(f"it is no valid JSON ({str(error)[:100]}) and read as plain text")
        add_with_line_outline(text, contents)
        return
    if name.lower().endswith(".ipynb") and isinstance(value, dict) and isinstance(value.get("cells"), list):
        _read_notebook(value["cells"], contents)
        return
    if max(map(len, text.split("\n"))) > _LONGEST_UNINDENTED_LINE:
        text = json.dumps(value, indent=1, ensure_ascii=False)
    del value
    _add_with_key_outline(text, _JSON_KEY, contents)


def read_yaml(data: bytes, name: str, contents: FileContents) -> None:
    """Read YAML. It is not loaded, so no anchors are ever expanded."""
    del name
    _add_with_key_outline(decode_file(data, contents), _YAML_KEY, contents)


def _is_json_lines(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    try:
        return isinstance(json.loads(first), dict | list)
    except (ValueError, RecursionError):
        return False


def _add_with_key_outline(text: str, pattern: re.Pattern[str], contents: FileContents) -> None:
    """Add the text, with the least indented keys as its outline; line numbers if there is one key or too many."""
    keys, start = [], 0
    for number, line in enumerate(text.split("\n"), start=1):
        if key := pattern.match(line):
            indent = len(line) - len(line.lstrip())
            keys.append((indent, f"line {number}: {key['key'].strip(chr(34) + chr(39))}", start))
        start += len(line) + 1
    least_indent = min((indent for indent, _, _ in keys), default=0)
    outermost = [(name, place) for indent, name, place in keys if indent == least_indent]
    if not 1 < len(outermost) <= _MAX_KEYS:
        add_with_line_outline(text, contents)
        return
    contents.add_text(text)
    contents.outline = outermost


def _read_notebook(cells: list[Any], contents: FileContents) -> None:
    for number, cell in enumerate(cells[:_MAX_NOTEBOOK_CELLS], start=1):
        if not isinstance(cell, dict):
            continue
        kind = str(cell.get("cell_type", "cell"))[:20]
        contents.begin_section(f"cell {number}")
        contents.add_text(f"[cell {number}, {kind}]\n{_join_lines(cell.get('source'))}\n")
        for output in cell.get("outputs") or []:
            data = output.get("data") if isinstance(output, dict) else None
            output_text = output.get("text") or (data or {}).get("text/plain") if isinstance(output, dict) else None
            if output_text:
                contents.add_text(f"[output]\n{_join_lines(output_text)}\n")
            elif data:
                contents.add_gap("pictures in its cells' output are not read")
        contents.add_text("\n")
    if len(cells) > _MAX_NOTEBOOK_CELLS:
        contents.add_gap(f"only the first {_MAX_NOTEBOOK_CELLS:,} of {len(cells):,} cells are read")


def _join_lines(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
