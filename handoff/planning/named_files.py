"""Finds files that a brief names and that are not there: a model took them from nowhere, or from an example."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from handoff.contracts import Plan

_ENDING = (
    "csv|tsv|xlsx|xlsm|xls|ods|parquet|jsonl|ndjson|json|pdf|docx|doc|odt|rtf|pptx|ppt|txt|md|log|xml|png|jpe?g|svg"
)
_NAMED = re.compile(rf"(?<![\w./@-])[\w-]+(?:\.[\w-]+)*\.(?:{_ENDING})(?![\w-])(?!\.\w)", re.IGNORECASE)
_TO_BE_MADE = re.compile(r"(?:\b(?:as|called|named|titled|into|to|file ?name)|:)\W*$", re.IGNORECASE)
"""Words before the name of a file that the brief wants to have made."""


def strange_files(plan: Plan, known: Sequence[str]) -> Iterator[str]:
    """Yield a fault for each subtask that names a file that is not there.

    `known` are the names of the files at hand, and all texts that the planner was given. A file that a subtask of the
    plan is to make may be named as well.
    """
    there = "\n".join(known).casefold()
    made = {name.casefold() for one in plan.subtasks for name, new in _names(one.intent) if new}
    for one in plan.subtasks:
        strange = [name for name, _ in _names(one.intent) if name.casefold() not in there]
        if lost := [name for name in dict.fromkeys(strange) if name.casefold() not in made]:
            yield (
                f"Subtask {one.id!r} names {', '.join(lost)}, which is not attached and which nobody mentioned; "
                "name only files that are listed, or none."
            )


def _names(text: str) -> Iterable[tuple[str, bool]]:
    """Yield the files that a text names, and whether they are to be made."""
    for found in _NAMED.finditer(text):
        yield found[0], bool(_TO_BE_MADE.search(text[: found.start()]))
