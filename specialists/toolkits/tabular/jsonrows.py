"""Reads JSON: an array, one object per line, or an object with one array of rows in it."""

from __future__ import annotations

import json
from typing import Any

from specialists.toolkits.tabular.naming import unlike
from specialists.toolkits.tabular.refused import TableRefused
from specialists.toolkits.tabular.sheet import MOST_COLUMNS, Sheet, sheet_of
from specialists.toolkits.tabular.sniff import text_of

_MOST_LISTS = 20


def json_sheets(data: bytes) -> list[Sheet]:
    """Read the sheets of the file: one, or one for each list of objects if an object holds several and nothing else.

    Raises:
        TableRefused: it is no JSON, or nothing in it is a list of rows.
    """
    text, _ = text_of(data)
    if not text.strip():
        raise TableRefused("is empty")
    notes: list[str] = []
    try:
        value = json.loads(text)
        if _is_several(value):
            return [_sheet(rows, title) for title, rows in value.items()]
        items = _items(value, notes)
    except RecursionError:
        raise TableRefused("is nested too deep to be a table; attach a flat list of objects") from None
    except ValueError as error:
        items = _per_line(text, str(error), notes)
    if not items:
        raise TableRefused("holds an empty list")
    sheet = _sheet(items)
    (sheet.faults if any("left out" in note for note in notes) else sheet.facts).extend(notes)
    return [sheet]


def _is_several(value: Any) -> bool:
    """Say if it is several lists of objects, by name, as an export of a database is."""
    return (
        isinstance(value, dict)
        and 1 < len(value) <= _MOST_LISTS
        and all(isinstance(rows, list) and rows and isinstance(rows[0], dict) for rows in value.values())
    )


def _items(value: Any, facts: list[str]) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        lists = {key: inner for key, inner in value.items() if isinstance(inner, list) and inner}
        lists = {key: inner for key, inner in lists.items() if isinstance(inner[0], dict)}
        if len(lists) == 1:
            key, rows = next(iter(lists.items()))
            facts.append(f"rows are those of “{key}”")
            return list(rows)
        return [value]
    raise TableRefused("is a single JSON value, not a list of rows")


def _per_line(text: str, whole: str, notes: list[str]) -> list[Any]:
    """Read one JSON value per line. Lines that are none are left out and named; too many of them refuse the file."""
    items, bad = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            items.append(json.loads(line))
        except (ValueError, RecursionError):
            bad.append(number)
    if len(bad) >= len(items):
        raise TableRefused(f"is not valid JSON ({whole[:120]})")
    if bad:
        notes.append(
            f"{len(bad)} of {len(bad) + len(items)} lines are no JSON and were left out "
            f"(line {', '.join(map(str, bad[:5]))})"
        )
    return items


def _sheet(items: list[Any], title: str = "") -> Sheet:
    if all(isinstance(item, list) for item in items) and any(items):
        rows = [[_text(cell) for cell in item] for item in items if item]
        return sheet_of(rows, list(range(1, len(rows) + 1)))
    keys: dict[str, None] = {}
    odd = 0
    for item in items:
        if isinstance(item, dict):
            keys.update(dict.fromkeys(item))
        else:
            odd += 1
    if not keys:
        return Sheet(names=["value"], rows=[[_text(item)] for item in items])
    kept = list(keys)[:MOST_COLUMNS]
    rows = [[_text(item.get(key)) for key in kept] for item in items if isinstance(item, dict)]
    sheet = Sheet(names=unlike([" ".join(key.split()) or "column" for key in kept]), rows=rows, title=title)
    if odd:
        sheet.faults.append(f"{odd} of {len(items)} entries are no objects and were left out")
    if len(keys) > len(kept):
        sheet.faults.append(f"{len(keys):,} different keys: only the first {MOST_COLUMNS} were read")
    return sheet


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if type(value) in {int, float}:  # most of what is no text; json.dumps takes seconds for a large file
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
