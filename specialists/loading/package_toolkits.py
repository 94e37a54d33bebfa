"""Loads the toolkits of installed packages, Leadhand's own included, by their entry points (`leadhand.toolkits`).

An entry point names a callable that returns tools, or a module written like a file in a crew's folder `toolkits`.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from specialists.files.frontmatter import CrewFault
from specialists.loading import toolkit_files
from specialists.loading.crew_toolkits import drop_clashing_tools
from specialists.loading.toolkit_files import UnusableModule
from specialists.tools.toolkit import Toolkit, ToolSettings

ENTRY_POINT_GROUP = "leadhand.toolkits"
_ROOT = Path(__file__).parents[2]


class NotInstalled(Exception):
    """Leadhand runs from files that are not installed, so its own tools are not found."""


def load_toolkits(settings: ToolSettings) -> tuple[tuple[Toolkit, ...], tuple[CrewFault, ...]]:
    """Load the toolkits: first Leadhand's own, then the others by name. A tool with a taken name is left out.

    If a package cannot be used, its tools are left out and a fault is returned. The origin of Leadhand's own tools is
    empty, or the setting that enables them. No service is contacted here; `prove` of a toolkit does that.

    Args:
        settings: What toolkits are set up with.

    Returns:
        A pair of (toolkits, faults of the packages).

    Raises:
        NotInstalled: None of Leadhand's own were found. The text says what to do.
    """
    faults: list[CrewFault] = []
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda one: (one.name, one.value))
    own_points = [point for point in points if _is_own(point)]
    if not own_points:
        raise NotInstalled(
            f"Leadhand's own tools are not found: the copy in {_ROOT} is not installed, or was installed by an earlier "
            f"version. Run `make install` there, or `pip install --editable {_ROOT}`."
        )
    own_toolkits = _load_points(own_points, settings, faults)
    others = _load_points([point for point in points if point not in own_points], settings, faults)
    own_tools = {tool.name: tool for toolkit in own_toolkits for tool in toolkit.tools}
    return (*own_toolkits, *drop_clashing_tools(others, own_tools, Path(), faults)), tuple(faults)


def _is_own(point: EntryPoint) -> bool:
    return point.module.partition(".")[0] == __name__.partition(".")[0]


def _load_points(points: list[EntryPoint], settings: ToolSettings, faults: list[CrewFault]) -> list[Toolkit]:
    return [toolkit for point in points if (toolkit := _load_toolkit(point, settings, faults)) is not None]


def _load_toolkit(point: EntryPoint, settings: ToolSettings, faults: list[CrewFault]) -> Toolkit | None:
    path = _find_file(point)
    origin = "" if _is_own(point) else _describe_package(point)

    def add_fault(text: str, line: int = 0) -> None:
        faults.append(CrewFault(path, line or 1, f"{_describe_package(point)}: {text}"))

    try:
        # Only packages of others have a time limit: ours may be slow to load on a slow machine.
        loaded_object = point.load() if _is_own(point) else toolkit_files.import_with_timeout(point.load, str(path))
        if isinstance(loaded_object, ModuleType):
            return replace(toolkit_files.collect_module_tools(loaded_object, origin, settings, add_fault), path=path)
        return replace(toolkit_files.collect_tools(loaded_object, origin, settings, add_fault), path=path)
    except UnusableModule as error:
        add_fault(str(error), error.line)
        return None


def _describe_package(point: EntryPoint) -> str:
    return f"the package {point.dist.name if point.dist is not None else point.module}"


def _find_file(point: EntryPoint) -> Path:
    """Return the file of an entry point's module, without importing it; the module's name if no file is found."""
    try:
        spec = find_spec(point.module)
    except (ImportError, ValueError, AttributeError):
        spec = None
    return Path(spec.origin) if spec is not None and spec.origin else Path(point.module)
