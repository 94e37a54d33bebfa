"""Reads what a specialist says it can and cannot do from its front matter, and refuses nonsense."""

from __future__ import annotations

import re
from typing import Any

from specialists.loading.crew_checks import tool_names
from specialists.loading.frontmatter import Page

LINE_LIMIT = 240
"""Characters of the one line that the planner sees: what it can do and what it cannot."""
ITEM_LIMIT = 60
MOST_ITEMS = 8
_NEGATED = re.compile(r"(cannot|can't|can not|can|does not|doesn't|do not|don't|never|not|no)\b", re.IGNORECASE)
_SAID_ALREADY = re.compile(r"\bcannot\b|\bcan't\b", re.IGNORECASE)
_NAMES_ALL = frozenset({"all", "anything", "everything", "anything else", "everything else", "nothing", "none", "n/a"})


def read(page: Page, description: str) -> tuple[str, tuple[str, ...]]:
    """Read the line on what it can do, and what it cannot. Faults are added to the page.

    `can` may stand in place of the description, or add to it; both keys take a list of a few words an item.
    """
    can, cannot = _items(page, "can"), _items(page, "cannot")
    if can:
        spelled = f"Can {', '.join(can)}."
        description = f"{description} {spelled}" if description else spelled
    for item in sorted({one.casefold() for one in can} & {one.casefold() for one in cannot}):
        page.fault(f"it says that it can and that it cannot {item}; take one out", key="cannot")
    if cannot and _SAID_ALREADY.search(description):
        page.fault("the description says what it cannot do, and so does cannot; say it in one place", key="cannot")
    for tool in tool_names(page) or ():
        if tool in cannot:
            page.fault(f"it cannot {tool}, and has that tool; take one out", key="cannot")
    if cannot and len(description) + sum(len(one) + 2 for one in cannot) > LINE_LIMIT:
        page.fault(f"the description, can and cannot make a line longer than {LINE_LIMIT}; shorten them", key="cannot")
    return description, cannot


def _items(page: Page, key: str) -> tuple[str, ...]:
    if key not in page.values:
        return ()
    value: Any = page.values[key]
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        page.fault(f"{key} must be a list of what it {key} do, such as [browse the web]; or leave it out", key=key)
        return ()
    if len(value) > MOST_ITEMS:
        page.fault(f"{key} has {len(value)} items; at most {MOST_ITEMS} are allowed", key=key)
    found: dict[str, str] = {}
    for item in (" ".join(one.split()).rstrip(".") for one in value):
        if fault := _fault(key, item):
            page.fault(fault, key=key)
        elif item.casefold() in found:
            page.fault(f"{key} says {item} twice; keep one", key=key)
        else:
            found[item.casefold()] = item
    return tuple(found.values())


def _fault(key: str, item: str) -> str:
    if not item:
        return f"{key} has an empty item; take it out"
    if len(item) > ITEM_LIMIT:
        return f"an item of {key} has {len(item)} characters, and at most {ITEM_LIMIT} are allowed; shorten it"
    if item.casefold() in _NAMES_ALL:
        return f"{key} says {item}, which tells the planner nothing; name what it {key} do"
    if found := _NEGATED.match(item):
        return f"{item!r} under {key}: leave out {found[0]!r}, and begin with what it {key} do"
    return ""
