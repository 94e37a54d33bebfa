"""Finds the toolkits of installed packages, by their entry points in the group `leadhand.toolkits`.

An entry point names a callable that gives tools, or a module in the form of a file in a crew's folder `toolkits`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from specialists.files.frontmatter import CrewFault
from specialists.loading import toolkit_files
from specialists.loading.crew_toolkits import without_clashes
from specialists.loading.toolkit_files import Unfit
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit, ToolSettings

GROUP = "leadhand.toolkits"


def read(tools: Mapping[str, Tool], settings: ToolSettings) -> tuple[tuple[Toolkit, ...], tuple[CrewFault, ...]]:
    """Load them, in the order of their names. A package that cannot be used costs its tools and nothing else.

    Args:
        tools: The tools that are there already, whose names are taken.
        settings: What toolkits are set up with.

    Returns:
        The toolkits, and what is wrong with the packages.
    """
    faults: list[CrewFault] = []
    points = sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value))
    found = [toolkit for point in points if (toolkit := _read(point, settings, faults)) is not None]
    return without_clashes(found, tools, Path(), faults), tuple(faults)


def _read(point: EntryPoint, settings: ToolSettings, faults: list[CrewFault]) -> Toolkit | None:
    package = point.dist.name if point.dist is not None else point.module
    path = _file(point)

    def fault(text: str, line: int = 0) -> None:
        faults.append(CrewFault(path, line or 1, f"the package {package}: {text}"))

    origin = f"the package {package}"
    try:
        given = toolkit_files.in_time(point.load, str(path))
        if isinstance(given, ModuleType):
            return replace(toolkit_files.toolkit_of(given, origin, settings, fault), path=path)
        return replace(toolkit_files.given_by(given, origin, settings, fault), path=path)
    except Unfit as error:
        fault(str(error), error.line)
        return None


def _file(point: EntryPoint) -> Path:
    """Return the file that an entry point names, as far as it can be told without running it."""
    try:
        spec = find_spec(point.module)
    except (ImportError, ValueError, AttributeError):
        spec = None
    return Path(spec.origin) if spec is not None and spec.origin else Path(point.module)
