"""Reads a crew that builds on another, by `extends` and `without` in its `crew.yml`.

A crew is read as layers, the lowest crew first. A file or folder replaces one of the same name in a layer below,
`without` removes names of the layers below, and a key in a file above wins. Nothing is copied, so each fault names the
file that it stands in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os.path import normpath
from pathlib import Path
from typing import Any

import yaml

from specialists.files.frontmatter import CrewFault, MarkdownPage, suggest_name
from specialists.files.yaml_nodes import read_yaml_root
from specialists.loading import crew_context, crew_folders
from specialists.loading.crew_context import CrewContext
from specialists.loading.crew_file import FILE_NAME
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit

MAX_EXTENDED_CREWS = 3
"""Most crews that a crew may build on, through `extends` of `extends`."""


@dataclass(frozen=True, slots=True)
class CrewLayer:
    """One crew of a chain of `extends`: its folder, and the root of its crew file (None: no file, or not readable).

    `removed_names` maps each name under `without` to its line.
    """

    folder: Path
    root: yaml.Node | None = None
    removed_names: Mapping[str, int] = field(default_factory=dict)
    extends_line: int = 1
    """The line of `extends` in the crew's file."""

    @property
    def path(self) -> Path:
        """The path of its crew file, which may not exist."""
        return self.folder / FILE_NAME


@dataclass(frozen=True, slots=True)
class CrewLayers:
    """The layers of a crew, the lowest first and the crew's own last."""

    layers: tuple[CrewLayer, ...]

    @property
    def lower_roots(self) -> list[yaml.Node]:
        """The root nodes of the crew files below the crew's own, without files that could not be read."""
        return [one.root for one in self.layers[:-1] if one.root is not None]

    def merge_paths(self, list_paths: Callable[[Path], Iterable[Path]]) -> list[Path]:
        """Return what `list_paths` finds in all layers, without paths that an upper layer removes or replaces.

        A path replaces one with the same stem in a layer below.
        """
        paths: list[Path] = []
        for layer in self.layers:
            own = list(list_paths(layer.folder))
            hidden_names = {*layer.removed_names, *(one.stem for one in own)}
            paths = [one for one in paths if one.stem not in hidden_names] + own
        return paths

    def read_toolkits(
        self, read_folder: Callable[[Path, Mapping[str, Tool]], tuple[Toolkit, ...]], tools: Mapping[str, Tool]
    ) -> tuple[Toolkit, ...]:
        """Read the toolkits of all layers, without those whose file or folder a layer above has too."""
        toolkits: list[tuple[CrewLayer, Toolkit]] = []
        for layer in self.layers:
            toolkits = [(below, one) for below, one in toolkits if not _is_replaced(one, below.folder, layer.folder)]
            lower_tools = {tool.name: tool for _, one in toolkits for tool in one.tools}
            toolkits += [(layer, one) for one in read_folder(layer.folder, {**tools, **lower_tools})]
        return tuple(one for _, one in toolkits)

    def add_crew_parts(
        self, surroundings: CrewContext, toolkits: tuple[Toolkit, ...]
    ) -> tuple[CrewContext, list[CrewFault]]:
        """Add the tools, skills and house rules in the folders of all layers.

        Returns a pair of (surroundings, warnings).
        """
        warnings: list[CrewFault] = []
        for layer in self.layers:
            surroundings, layer_warnings = crew_context.add_crew_parts(layer.folder, surroundings, toolkits)
            warnings += layer_warnings
        return surroundings, warnings

    def read_pages(self, surroundings: CrewContext, faults: list[CrewFault]) -> list[MarkdownPage]:
        """Read the specialists' pages of all layers, without those that an upper layer removes or replaces.

        Files in the wrong place are added to `faults`.
        """
        pages: list[MarkdownPage] = []
        for layer in self.layers:
            crews = crew_folders.list_inner_crews(layer.folder)
            own = crew_context.read_pages(layer.folder, crews, surroundings, faults)
            hidden_names = {*layer.removed_names, *(page.name for page in own), *(one.name for one in crews)}
            pages = [page for page in pages if page.name not in hidden_names] + own
        return pages

    def find_without_faults(self) -> list[CrewFault]:
        """Return a fault for each name under `without` that no layer below has."""
        *below, top = self.layers
        crews = {layer.folder: crew_folders.list_inner_crews(layer.folder) for layer in below}
        files = (one for folder, inside in crews.items() for one in crew_folders.list_specialist_files(folder, inside))
        lower_names = sorted({one.stem for inside in crews.values() for one in inside} | {one.stem for one in files})
        known_names = ", ".join(lower_names)
        return [
            CrewFault(
                top.path, line, f"without names {name}{suggest_name(name, lower_names)}; below there are {known_names}"
            )
            for name, line in top.removed_names.items()
            if below and name not in lower_names
        ]

    def add_extends_hint(self, faults: Iterable[CrewFault]) -> list[CrewFault]:
        """Return the faults; those in a file of a lower layer also name the `extends` that brought the file in."""
        top = self.layers[-1]
        below = [one.folder for one in self.layers[:-1]]
        from_there = f"; it comes from a crew that {top.path}:{top.extends_line} extends: override it there"
        return [
            replace(one, text=f"{one.text}{from_there}")
            if any(folder in one.path.parents for folder in below) and from_there not in one.text
            else one
            for one in faults
        ]


def _is_replaced(toolkit: Toolkit, below: Path, above: Path) -> bool:
    place = toolkit.path
    return place is not None and below in place.parents and (above / place.relative_to(below)).exists()


def find_layers(folder: Path, crews_folder: Path, faults: list[CrewFault]) -> CrewLayers:
    """Find the layers of a crew by the `extends` of its file and of those below; faults are added to `faults`.

    `extends` takes the name of a crew that comes with Leadhand, in the folder `crews_folder`, or a path with a slash,
    relative to the crew's folder.
    """
    layers = [_read_layer(folder, faults)]
    while (extends := _read_extends(layers[0], faults)) is not None:
        base, line = _resolve_extended_folder(extends[0], layers[0].folder, crews_folder), extends[1]
        fault = _find_base_fault(extends[0], base, [one.folder for one in layers], crews_folder)
        if fault:
            faults.append(CrewFault(layers[0].path, line, fault))
            break
        layers[0] = replace(layers[0], extends_line=line)
        layers.insert(0, _read_layer(base, faults))
    return CrewLayers(tuple(layers))


def _find_base_fault(name: str, base: Path, upper_folders: list[Path], crews_folder: Path) -> str:
    if not base.is_dir():
        crew_names = sorted(one.name for one in crews_folder.iterdir() if one.is_dir() and one.name[0] not in "._")
        hint = (
            f"{suggest_name(name, crew_names)}; there are {', '.join(crew_names)}, and a folder is written "
            f"with a slash: ./{name}"
        )
        return f"extends names {name}, and there is no such crew{hint if not _is_path(name) else ': ' + str(base)}"
    places = [one.resolve() for one in upper_folders]
    if base.resolve() in places:
        chain = " -> ".join(one.name for one in (base, *upper_folders)[::-1])
        return f"extends goes in a circle: {chain}; take one of them out"
    if any(base.resolve() in place.parents for place in places):
        return f"extends names {name}, in which this crew lies; name another, or move this one out"
    if len(upper_folders) > MAX_EXTENDED_CREWS:
        return f"more than {MAX_EXTENDED_CREWS} crews lie below {upper_folders[-1].name}; put some of them together"
    return ""


def _resolve_extended_folder(name: str, folder: Path, crews_folder: Path) -> Path:
    return Path(normpath(folder / Path(name).expanduser())) if _is_path(name) else crews_folder / name


def _is_path(name: str) -> bool:
    return "/" in name or name.startswith(".")


def _read_layer(folder: Path, faults: list[CrewFault]) -> CrewLayer:
    path = folder / FILE_NAME
    root = read_yaml_root(path, faults, hint="put patterns in single quotes") if path.exists() else None
    without: dict[str, int] = {}
    if (node := _index_keys(root).get("without")) is not None:
        items: list[Any] = node.value if isinstance(node, yaml.SequenceNode) else []
        if not items or not all(isinstance(one, yaml.ScalarNode) for one in items):
            faults.append(CrewFault(path, node.start_mark.line + 1, "without takes a list of names: [reviewer]"))
        elif "extends" not in _index_keys(root):
            faults.append(CrewFault(path, node.start_mark.line + 1, "without leaves out of what extends names; add it"))
        else:
            without = {str(one.value): one.start_mark.line + 1 for one in items}
    return CrewLayer(folder, root, without)


def _read_extends(layer: CrewLayer, faults: list[CrewFault]) -> tuple[str, int] | None:
    node = _index_keys(layer.root).get("extends")
    if node is None:
        return None
    line = node.start_mark.line + 1
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        faults.append(CrewFault(layer.path, line, "extends takes the name of a crew, or its folder: ../office"))
        return None
    return str(node.value).strip(), line


def _index_keys(root: yaml.Node | None) -> dict[str, yaml.Node]:
    return {str(key.value): value for key, value in root.value} if isinstance(root, yaml.MappingNode) else {}
