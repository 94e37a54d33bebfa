"""Names of tables and columns, as SQL needs them."""

from __future__ import annotations


def make_names_unique(wanted: list[str], taken: set[str] | None = None) -> list[str]:
    """Put a number behind names that occur again (in any case). `taken` is in lower case."""
    seen = set(taken or ())
    names = []
    for want in wanted:
        name, number = want, 1
        while name.casefold() in seen:
            number += 1
            name = f"{want}_{number}"
        seen.add(name.casefold())
        names.append(name)
    return names


def quote_name(name: str) -> str:
    """Quote a name as SQL needs it."""
    return '"' + name.replace('"', '""') + '"'
