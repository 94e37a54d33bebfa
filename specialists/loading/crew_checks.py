"""Checks the files of a crew against each other: names and tools used twice, fallbacks to nowhere or in a circle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specialists.loading.frontmatter import Page, did_you_mean
from specialists.turns import finish_tools


def check(pages: Sequence[Page], crews: Mapping[str, Page], unread: Sequence[str]) -> None:
    """Add the faults to the pages.

    Args:
        pages: Those of the crew's own specialists. A tool belongs to one of them; a crew inside may have it as well,
            for no planner sees the specialists of both.
        crews: What the crews inside say of themselves, by their names.
        unread: Names of files that have faults of their own already.
    """
    owners: dict[str, Page] = {}
    holders: dict[str, Page] = {}
    for page in pages:
        name = str(page.values.get("name", page.path.stem))
        if name in owners:
            page.fault(f"the name {name} is that of {owners[name].path} too; rename one of them", key="name")
            continue
        owners[name] = page
        for tool in dict.fromkeys(tool_names(page) or ()):
            other = holders.setdefault(tool, page)
            if other is not page and tool not in finish_tools.NAMES:
                text = f"the tool {tool} belongs to {other.path} too; a tool belongs to one specialist"
                page.fault(text, key="tools")
    for name, page in crews.items():
        if name in owners or name in unread:
            page.fault(f"the folder's name {name} is that of a specialist too; rename one of them")
        owners.setdefault(name, page)
    fallbacks: dict[str, object] = dict.fromkeys(unread)
    fallbacks.update({name: page.values.get("fallback") for name, page in owners.items()})
    for name, page in owners.items():
        _check_fallback(name, page, fallbacks)


def tool_names(page: Page) -> list[str] | None:
    """Read the names under `tools`, a YAML list or separated by commas; None for anything else."""
    value = page.values.get("tools", [])
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return list(value)
    return None


def _check_fallback(name: str, page: Page, fallbacks: Mapping[str, object]) -> None:
    fallback = fallbacks[name]
    if not isinstance(fallback, str):
        return
    if fallback == name:
        page.fault(f"{name} is its own fallback; name another or leave the key out", key="fallback")
        return
    if fallback not in fallbacks:
        known = ", ".join(sorted(fallbacks))
        near = did_you_mean(fallback, fallbacks)
        page.fault(f"there is no specialist {fallback} to fall back to{near}; there are {known}", key="fallback")
        return
    way = [name]
    while isinstance(fallback, str) and fallback in fallbacks and fallback not in way:
        way.append(fallback)
        fallback = fallbacks[fallback]
    if fallback == name:
        circle = " -> ".join((*way, name))
        page.fault(f"the fallbacks go in a circle: {circle}; take one of them out", key="fallback")
