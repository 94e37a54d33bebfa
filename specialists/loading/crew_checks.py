"""Checks the files of a crew's specialists. Each fault names its file and line.

For each specialist it reads what it can and cannot do. For all together it finds names used twice, writing tools that
two specialists have, and fallbacks to nobody or in a circle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from handoff.contracts import ANYONE, REQUESTER
from handoff.text.slack_ids import is_group_id, is_person_id
from specialists.files.frontmatter import MarkdownPage, describe_value, suggest_name
from specialists.tools.tool import Tool

MAX_LINE_LENGTH = 240
"""The most characters of a specialist's line for the planner: its description, and what it cannot do."""
MAX_ITEM_LENGTH = 60
MAX_EXAMPLE_LENGTH = 160
_EXAMPLES_FAULT = 'examples must be requests, each with its kind of work, a line each: `"What is 8 % of 940?": a sum`'
"""The text of a fault in `examples`."""
MAX_ITEMS = 8
_LEADING_VERB = re.compile(r"(cannot|can't|can not|can|does not|doesn't|do not|don't|never|not|no)\b", re.IGNORECASE)
_CANNOT_WORDS = re.compile(r"\bcannot\b|\bcan't\b", re.IGNORECASE)
_EMPTY_CLAIMS = frozenset(
    {"all", "anything", "everything", "anything else", "everything else", "nothing", "none", "n/a"}
)


def read_abilities(page: MarkdownPage, description: str) -> tuple[str, tuple[str, ...]]:
    """Return a pair of (description, what the specialist cannot do). Faults are added to the page.

    The key `can` may replace the description or add to it. `can` and `cannot` are lists, with a few words per item.
    """
    can, cannot = _read_items(page, "can"), _read_items(page, "cannot")
    if can:
        ability_text = f"Can {', '.join(can)}."
        description = f"{description} {ability_text}" if description else ability_text
    for item in sorted({one.casefold() for one in can} & {one.casefold() for one in cannot}):
        page.add_fault(f"it says that it can and that it cannot {item}; take one out", key="cannot")
    if cannot and _CANNOT_WORDS.search(description):
        page.add_fault("the description says what it cannot do, and so does cannot; say it in one place", key="cannot")
    for tool in read_tool_names(page) or ():
        if tool in cannot:
            page.add_fault(f"it cannot {tool}, and has that tool; take one out", key="cannot")
    if cannot and len(description) + sum(len(one) + 2 for one in cannot) > MAX_LINE_LENGTH:
        page.add_fault(
            f"the description, can and cannot make a line longer than {MAX_LINE_LENGTH}; shorten them", key="cannot"
        )
    return description, cannot


def read_examples(page: MarkdownPage) -> tuple[tuple[str, str], ...]:
    """Read `examples`: pairs of (a request that only this specialist handles, kind of work). Faults go to the page."""
    value: Any = page.values.get("examples", {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        page.add_fault(f"{_EXAMPLES_FAULT}; {_describe_example_fault(value)}", key="examples")
        return ()
    if len(value) > MAX_ITEMS:
        page.add_fault(f"examples has {len(value)} items; at most {MAX_ITEMS} are allowed", key="examples")
    for request, kind in value.items():
        if not request.strip() or not kind.strip() or len(request) > MAX_EXAMPLE_LENGTH or len(kind) > MAX_ITEM_LENGTH:
            limits = f"a request of at most {MAX_EXAMPLE_LENGTH} characters and its kind of at most {MAX_ITEM_LENGTH}"
            page.add_fault(f"an example is {limits}; shorten {request[:40]!r}", key="examples")
    return tuple((request.strip(), kind.strip()) for request, kind in value.items())


def _describe_example_fault(value: Any) -> str:
    """Return the fault in the form of the examples, with the first one in the correct form."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict) and first:
        request, kind = next(iter(first.items()))
        if isinstance(value, list) and isinstance(request, str) and isinstance(kind, str):
            return f"this is a list, so leave the dashes out: {_make_example(request, kind)}"
        request, kind = next(pair for pair in first.items() if not all(isinstance(text, str) for text in pair))
        if not isinstance(request, str):
            return f"the request {str(request)[:40]!r} is {describe_value(request)}: put it in quotes"
        return f"the kind of work of {request[:40]!r} is {describe_value(kind)}: write it in words, in quotes"
    request, colon, kind = str(first).rpartition(": ")
    example = _make_example(request, kind) if colon else _make_example(str(first), "KIND OF WORK")
    return f"this is {describe_value(value)}: write {example}"


def _make_example(request: str, kind: str) -> str:
    text = " ".join(request.replace('"', "'").split())[:60]
    return f'`"{text}": {" ".join(kind.split())[:40]}`'


def _read_items(page: MarkdownPage, key: str) -> tuple[str, ...]:
    if key not in page.values:
        return ()
    value: Any = page.values[key]
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        text = f"{key} must be a list of what it {key} do, such as [browse the web]; or leave it out"
        page.add_fault(f"{text}: this is {describe_value(value)}", key=key)
        return ()
    if len(value) > MAX_ITEMS:
        page.add_fault(f"{key} has {len(value)} items; at most {MAX_ITEMS} are allowed", key=key)
    unique_items: dict[str, str] = {}
    for item in (" ".join(one.split()).rstrip(".") for one in value):
        if fault := _find_item_fault(key, item):
            page.add_fault(fault, key=key)
        elif item.casefold() in unique_items:
            page.add_fault(f"{key} says {item} twice; keep one", key=key)
        else:
            unique_items[item.casefold()] = item
    return tuple(unique_items.values())


def _find_item_fault(key: str, item: str) -> str:
    if not item:
        return f"{key} has an empty item; take it out"
    if len(item) > MAX_ITEM_LENGTH:
        return f"an item of {key} has {len(item)} characters, and at most {MAX_ITEM_LENGTH} are allowed; shorten it"
    if item.casefold() in _EMPTY_CLAIMS:
        return f"{key} says {item}, which tells the planner nothing; name what it {key} do"
    if match := _LEADING_VERB.match(item):
        return f"{item!r} under {key}: leave out {match[0]!r}, and begin with what it {key} do"
    return ""


def check_specialists(
    pages: Sequence[MarkdownPage],
    crews: Mapping[str, MarkdownPage],
    faulty_names: Sequence[str],
    tools: Mapping[str, Tool],
) -> None:
    """Check a crew's specialists together, and add the faults to their pages.

    Args:
        pages: The pages of the crew's own specialists. A writing tool may belong to only one of them, so that it is
            clear who did something, and on whose terms. A crew inside may have the same tool, as no planner sees the
            specialists of both.
        crews: The pages with the self-descriptions of the crews inside, by their names.
        faulty_names: The names of files that already have faults of their own. They are valid fallbacks.
        tools: All available tools by name.
    """
    owners: dict[str, MarkdownPage] = {}
    holders: dict[str, MarkdownPage] = {}
    for page in pages:
        name = page.name
        if name in owners:
            page.add_fault(f"the name {name} is that of {owners[name].path} too; rename one of them", key="name")
            continue
        owners[name] = page
        for tool in dict.fromkeys(read_tool_names(page) or ()):
            if tool not in tools or tools[tool].access == "read":
                continue
            other = holders.setdefault(tool, page)
            if other is not page:
                text = f"the tool {tool} writes, and {other.path} has it already; a tool that writes has one holder"
                page.add_fault(f"{text}: take it out of one of them", key="tools")
    for name, page in crews.items():
        if name in owners or name in faulty_names:
            page.add_fault(f"the folder's name {name} is that of a specialist too; rename one of them")
        owners.setdefault(name, page)
    fallbacks: dict[str, object] = dict.fromkeys(faulty_names)
    fallbacks.update({name: page.values.get("fallback") for name, page in owners.items()})
    for name, page in owners.items():
        _check_fallback(name, page, fallbacks)


def read_tool_names(page: MarkdownPage) -> list[str] | None:
    """Read the names under `tools`, a YAML list or text with commas; None for anything else."""
    value = page.values.get("tools", [])
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return list(value)
    return None


def _check_fallback(name: str, page: MarkdownPage, fallbacks: Mapping[str, object]) -> None:
    fallback = fallbacks[name]
    if not isinstance(fallback, str):
        return
    if fallback == name:
        page.add_fault(f"{name} is its own fallback; name another or leave the key out", key="fallback")
        return
    if fallback not in fallbacks:
        known_names = ", ".join(sorted(fallbacks))
        near = suggest_name(fallback, fallbacks)
        page.add_fault(
            f"there is no specialist {fallback} to fall back to{near}; there are {known_names}", key="fallback"
        )
        return
    chain = [name]
    while isinstance(fallback, str) and fallback in fallbacks and fallback not in chain:
        chain.append(fallback)
        fallback = fallbacks[fallback]
    if fallback == name:
        cycle = " -> ".join((*chain, name))
        page.add_fault(f"the fallbacks go in a circle: {cycle}; take one of them out", key="fallback")


def find_addressee_fault(addressees: Sequence[str], *, allow_anyone: bool = True) -> str:
    """Return the fault in the addressees of questions; "" if there is none.

    With `allow_anyone`, questions may be addressed to `ANYONE`, if nobody else is named.
    """
    known_words = (REQUESTER, ANYONE) if allow_anyone else (REQUESTER,)
    odd = [word for word in addressees if word not in known_words and not is_person_id(word) and not is_group_id(word)]
    if odd or not addressees:
        odd_hint = f" {odd[0]!r} is none of them" if odd else ""
        words = ", ".join(known_words)
        return f"takes {words}, or Slack ids of people (U...) and user groups (S...);{odd_hint or ' name one'}"
    if ANYONE in addressees and len(addressees) > 1:
        return f"names {ANYONE} beside others; keep {ANYONE} alone, or take it out"
    return ""
