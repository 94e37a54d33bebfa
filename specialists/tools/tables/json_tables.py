"""Reads JSON as tables: an array, one object per line, or an object that holds one array of rows or named rows.

An object in a row becomes columns with dotted names. A list of objects in rows becomes a table of its own.
"""

from __future__ import annotations

import json
from typing import Any

from specialists.tools.tables.decoding import decode_table, note_decoding
from specialists.tools.tables.sheet import MAX_COLUMNS, Sheet, make_sheet
from specialists.tools.tables.sql_names import make_names_unique
from specialists.tools.tables.table_errors import TableRefused

_MAX_LISTS = 20
_MAX_DEPTH = 8
KEY_COLUMN = "key"
"""The column with the names of rows, if a file has its rows by name."""
ROW_COLUMN = "parent_row"
"""The column of a table of list entries that has the number of the row with the list, counted from 1."""


def read_json_sheets(data: bytes) -> list[Sheet]:
    """Read the sheets of a file: one of its rows, and one for each list of objects that rows hold.

    An object that only holds several lists of objects becomes one sheet for each list.

    Raises:
        TableRefused: the file is no JSON, or holds no list of rows.
    """
    decoded_text = decode_table(data)
    notes: list[str] = []
    try:
        value = json.loads(decoded_text.text)
        if _has_several_tables(value):
            sheets = [sheet for title, rows in value.items() for sheet in _make_sheets(rows, title)]
        else:
            sheets = _make_item_sheets(_find_rows(value, notes), notes)
    except RecursionError:
        raise TableRefused("is nested too deep to be a table; attach a flat list of objects") from None
    except ValueError as error:
        sheets = _make_item_sheets(_parse_lines(decoded_text.text, str(error), notes), notes)
    note_decoding(decoded_text, sheets[0])
    return sheets


def _make_item_sheets(items: list[Any], notes: list[str]) -> list[Sheet]:
    if not items:
        raise TableRefused("holds an empty list")
    sheets = _make_sheets(items, "")
    (sheets[0].faults if any("left out" in note for note in notes) else sheets[0].facts).extend(notes)
    return sheets


def _has_several_tables(value: Any) -> bool:
    """Return whether a value is an object of several lists of objects, like an export of a database."""
    return (
        isinstance(value, dict)
        and 1 < len(value) <= _MAX_LISTS
        and all(isinstance(rows, list) and rows and isinstance(rows[0], dict) for rows in value.values())
    )


def _find_rows(value: Any, facts: list[str], path: str = "") -> list[Any]:
    """Return the rows of a value, and add to `facts` where they stand. Raises TableRefused for a number or text.

    The rows are the list itself, the one list of objects that an object holds, however deep, or its similar named
    objects. Any other object is the one row.
    """
    if isinstance(value, list):
        if path:
            facts.append(f"rows are those of “{path}”")
        return value
    if isinstance(value, dict):
        lists = {key: inner for key, inner in value.items() if isinstance(inner, list) and inner}
        lists = {key: inner for key, inner in lists.items() if isinstance(inner[0], dict)}
        objects = {key: inner for key, inner in value.items() if isinstance(inner, dict)}
        if (rows := _find_rows_with_header(value)) is not None:
            return rows
        if not lists and len(objects) == len(value) and _are_alike_rows(objects):
            facts.append(
                f"rows are the objects{f' of “{path}”' if path else ''} with their names as column {KEY_COLUMN}"
            )
            name = _find_free_name(KEY_COLUMN, {each: None for inner in objects.values() for each in inner})
            return [{name: key, **inner} for key, inner in objects.items()]
        candidates = lists or objects
        if len(candidates) == 1 and (lists or len(value) == 1):
            key, inner = next(iter(candidates.items()))
            return _find_rows(inner, facts, f"{path}.{key}" if path else key)
        if path:
            facts.append(f"the one row is “{path}”")
        return [value]
    raise TableRefused("is a single JSON value, not a list of rows")


def _find_rows_with_header(value: dict[str, Any]) -> list[Any] | None:
    """Return header and rows of an object with a list `columns` and one list of rows of that width; else None."""
    header = value.get("columns")
    if not isinstance(header, list) or not header or not all(isinstance(head, str) for head in header):
        return None
    tables = [inner for inner in value.values() if isinstance(inner, list) and inner and isinstance(inner[0], list)]
    has_equal_widths = all(isinstance(row, list) and len(row) == len(header) for table in tables for row in table)
    return [header, *tables[0]] if len(tables) == 1 and has_equal_widths else None


def _are_alike_rows(objects: dict[str, Any]) -> bool:
    """Return whether named objects are rows of one table: several that have most of their keys in common."""
    first: dict[str, Any] = next(iter(objects.values()), {})
    return len(objects) > 1 and all(
        len(first.keys() & one.keys()) * 2 > max(len(first), len(one)) for one in objects.values()
    )


def _parse_lines(text: str, error: str, notes: list[str]) -> list[Any]:
    """Parse one JSON value per line. Other lines are left out and noted; TableRefused is raised if half or more are."""
    items, invalid_lines = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            items.append(json.loads(line))
        except (ValueError, RecursionError):
            invalid_lines.append(number)
    if len(invalid_lines) >= len(items):
        raise TableRefused(f"is not valid JSON ({error[:120]})")
    if invalid_lines:
        notes.append(
            f"{len(invalid_lines)} of {len(invalid_lines) + len(items)} lines are no JSON and were left out "
            f"(line {', '.join(map(str, invalid_lines[:5]))})"
        )
    return items


def _make_sheets(items: list[Any], title: str) -> list[Sheet]:
    """Make a sheet of rows, and one of each list of objects in them."""
    if all(isinstance(item, list) for item in items) and any(items):
        rows = [[_format_cell(cell) for cell in item] for item in items if item]
        return [make_sheet(rows, list(range(1, len(rows) + 1)))]
    objects = [item for item in items if isinstance(item, dict)]
    if not any(objects):
        return [Sheet(names=["value"], rows=[[_format_cell(item)] for item in items], title=title)]
    is_nested = any(isinstance(value, dict) for item in objects for value in item.values())
    flat = [_flatten_item(item) for item in objects] if is_nested else objects
    keys = list(dict.fromkeys(key for row in flat for key in row))
    kept_keys = keys[:MAX_COLUMNS]
    rows = [[_format_cell(row.get(key)) for key in kept_keys] for row in flat]
    sheet = Sheet(
        names=make_names_unique([" ".join(key.split()) or "column" for key in kept_keys]), rows=rows, title=title
    )
    if (other_count := len(items) - len(objects)) > 0:
        sheet.faults.append(f"{other_count} of {len(items)} entries are no objects and were left out")
    if len(keys) > len(kept_keys):
        sheet.faults.append(f"{len(keys):,} different keys: only the first {MAX_COLUMNS} were read")
    top_keys = {key for item in objects for key in item}
    if dotted_name := next((name for key, name in zip(kept_keys, sheet.names, strict=True) if key not in top_keys), ""):
        sheet.facts.append(f"objects in objects became columns such as {dotted_name}")
    return [sheet, *_make_list_sheets(flat, kept_keys, sheet)]


def _flatten_item(item: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Move the values of inner objects up, under their keys joined by dots."""
    flat_item: dict[str, Any] = {}
    for key, value in item.items():
        name = f"{prefix}.{key}" if prefix else key
        is_inner = isinstance(value, dict) and value and depth < _MAX_DEPTH
        for inner, inner_value in (_flatten_item(value, name, depth + 1) if is_inner else {name: value}).items():
            flat_item[_find_free_name(inner, flat_item)] = inner_value
    return flat_item


def _find_free_name(name: str, used_names: dict[str, Any]) -> str:
    """Return a name, with a number added if another key has it already, as in `{"a.b": 1, "a": {"b": 2}}`."""
    names = (name, *(f"{name}_{number}" for number in range(2, len(used_names) + 3)))
    return next(each for each in names if each not in used_names)


def _make_list_sheets(rows: list[dict[str, Any]], keys: list[str], sheet: Sheet) -> list[Sheet]:
    """Make a sheet of the entries of each list of objects, each with the number and first value of its row."""
    list_sheets: list[Sheet] = []
    names = dict(zip(keys, sheet.names, strict=True))
    first = next((key for key in keys if not any(isinstance(row.get(key), list | dict) for row in rows)), None)
    for key in keys:
        values = [row.get(key) for row in rows]
        lists = [value for value in values if isinstance(value, list) and value]
        if not lists:
            continue
        if not all(isinstance(entry, dict) for value in lists for entry in value) or len(list_sheets) >= _MAX_LISTS:
            sheet.facts.append(f"{names[key]} holds lists, each as one text such as {_format_cell(lists[0])[:40]}")
            continue
        entries = [
            {ROW_COLUMN: number, **({f"{ROW_COLUMN}.{first}": row.get(first)} if first else {}), **entry}
            for number, row in enumerate(rows, start=1)
            if isinstance(row.get(key), list)
            for entry in row[key]
        ]
        title = f"{sheet.title}.{names[key]}" if sheet.title else names[key]
        entry_sheets = _make_sheets(entries, title)
        entry_sheets[0].facts.append(
            f"the entries of the lists in {names[key]}; {ROW_COLUMN} is the number of the row that has them"
        )
        sheet.facts.append(f"{names[key]} holds lists of objects, which are a table of their own, [{title}]")
        list_sheets += entry_sheets
    return list_sheets


def _format_cell(value: Any) -> str:
    if value is None or value in ([], {}):
        return ""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    if isinstance(value, str):
        return value
    if type(value) in {int, float}:  # most values that are no text; json.dumps takes seconds for a large file
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
