"""Crews inside a crew: where they lie, and the names that they and their specialists have outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from handoff.engine.nested import SLASH
from handoff.planning.routing import Rule
from specialists.loading import crew_file
from specialists.loading.crew_file import CrewFile

LEVELS = 3
"""Crews that lie in each other, the outermost counted."""


def crew_folders(folder: Path) -> list[Path]:
    """List the folders inside a crew's that are crews of their own, those with a `crew.yml`, in order.

    Their files are their own. Other folders inside a crew are only there for order.
    """
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        if not path.is_dir() or path.name.startswith("."):
            continue
        found += [path] if (path / crew_file.NAME).exists() else crew_folders(path)
    return found


def outside(path: str, name: str) -> str:
    """Name a member as the crews around its crew do; `path` is its crew's own, empty for the outermost."""
    return f"{path}{SLASH}{name}" if path and name else name


def renamed(own: CrewFile, path: str) -> CrewFile:
    """Put the names that specialists have outside of their crew into what the crew's file says."""
    if not path:
        return own
    rules = tuple(_renamed(rule, path) for rule in own.rules)
    equals = tuple(tuple(outside(path, name) for name in group) for group in own.equals)
    make = own.make
    if make is not None:
        taken = frozenset(outside(path, name) for name in make.taken)
        make = replace(make, fallback=outside(path, make.fallback), taken=make.taken | taken)
    return replace(own, rules=rules, equals=equals, make=make)


def _renamed(rule: Rule, path: str) -> Rule:
    return replace(rule, to=tuple(outside(path, name) for name in rule.to))
