"""Makes names of tables and columns unique, and quotes them for SQL."""

from __future__ import annotations


def make_names_unique(candidates: list[str], used_names: set[str] | None = None) -> list[str]:
    """Add a number to names that occur again, in upper or lower case, or that are in `used_names` (in lower case)."""
    taken_names = set(used_names or ())
    names = []
    for candidate in candidates:
        name, number = candidate, 1
        while name.casefold() in taken_names:
            number += 1
            name = f"{candidate}_{number}"
        taken_names.add(name.casefold())
        names.append(name)
    return names


def quote_name(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'
