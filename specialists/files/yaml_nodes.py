"""Reads the values of a YAML file by its nodes, so that each fault can name its line."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import yaml

from specialists.files.frontmatter import CrewFault, describe_yaml_fault, suggest_name

NodeMapping = dict[str, tuple[yaml.Node, yaml.Node]]
"""A YAML mapping: key -> (node of the key, for its line; node of the value)."""


class FaultCollector(Protocol):
    """Collects the faults of a file; `crew_file.CrewFile` is one."""

    def add_fault(self, node: yaml.Node, text: str) -> None:
        """Record a fault at a node's line."""


def _describe_node(node: yaml.Node) -> str:
    """Return a few words for the value of a node, which follow "this is"."""
    if isinstance(node, yaml.SequenceNode):
        return "a list, each item behind a dash or a comma" if node.value else "an empty list"
    if isinstance(node, yaml.MappingNode):
        return "a mapping of `key: value` lines"
    value_text = str(node.value).strip()
    return f"the text {value_text[:40]!r}" if value_text else "empty"


def read_mapping(collector: FaultCollector, node: yaml.Node, keys: tuple[str, ...], mapping_name: str) -> NodeMapping:
    """Read a mapping. An unknown key is a fault and left out. A repeated key is a fault, and its first value counts.

    `mapping_name` names the mapping in faults. If the node is no mapping, return an empty one, with a fault.
    """
    if not isinstance(node, yaml.MappingNode):
        fault_text = f"{mapping_name} is not a list of `key: value` lines; the keys are {', '.join(keys)}"
        collector.add_fault(node, f"{fault_text}: this is {_describe_node(node)}")
        return {}
    mapping: NodeMapping = {}
    for key_node, value in node.value:
        key = str(key_node.value)
        if key not in keys:
            collector.add_fault(key_node, f"unknown key {key}{suggest_name(key, keys)}; the keys are {', '.join(keys)}")
        elif key in mapping:
            collector.add_fault(key_node, f"the key {key} is there twice; keep one")
        else:
            mapping[key] = (key_node, value)
    return mapping


def read_sequence(collector: FaultCollector, node: yaml.Node, key: str) -> list[yaml.Node]:
    """Return the items of a list; empty, with a fault, if the node is no list or has no items."""
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        collector.add_fault(
            node, f"{key} must be a list with something in it, such as [one, two]: this is {_describe_node(node)}"
        )
        return []
    return list(node.value)


def read_text(collector: FaultCollector, node: yaml.Node, key: str) -> str:
    """Return a text as written; "", with a fault, if the node is no text or blank."""
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        collector.add_fault(node, f"{key} takes text: this is {_describe_node(node)}")
        return ""
    return str(node.value)


def read_texts(collector: FaultCollector, node: yaml.Node, key: str) -> list[str]:
    """Return the texts of a list; other items are faults and left out."""
    return [text for one in read_sequence(collector, node, key) if (text := read_text(collector, one, key))]


def read_names(collector: FaultCollector, node: yaml.Node, key: str, known_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of specialists and crews in a text or list; unknown or repeated ones are faults, left out."""
    nodes = [node] if isinstance(node, yaml.ScalarNode) else read_sequence(collector, node, key)
    names = []
    for one in nodes:
        name = read_text(collector, one, key)
        if name and name not in known_names:
            available_names = ", ".join(sorted(known_names))
            collector.add_fault(
                one, f"there is no specialist {name}{suggest_name(name, known_names)}; there are {available_names}"
            )
        elif name in names:
            collector.add_fault(one, f"{key} names {name} twice; keep one")
        elif name:
            names.append(name)
    return tuple(names)


def read_number(collector: FaultCollector, node: yaml.Node, key: str, bounds: tuple[int, int]) -> int:
    """Return a whole number within `bounds`, both included; the lower bound, with a fault, for anything else."""
    low, high = bounds
    text = node.value if isinstance(node, yaml.ScalarNode) else ""
    if not (text.isascii() and text.isdigit() and low <= int(text[:9]) <= high and len(text) < 9):
        collector.add_fault(node, f"{key} takes a whole number from {low} to {high:,}")
        return low
    return int(text)


def read_choice(collector: FaultCollector, node: yaml.Node, key: str, words: tuple[str, ...]) -> str:
    """Return the text if it is one of `words`; the first of them, with a fault, for anything else."""
    text = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
    if text not in words:
        collector.add_fault(node, f"{key} takes {' or '.join(words)}")
        return words[0]
    return text


def read_boolean(collector: FaultCollector, node: yaml.Node, key: str) -> bool:
    """Return True for true or yes; False for false or no and, with a fault, for anything else."""
    text = str(node.value).lower() if isinstance(node, yaml.ScalarNode) else ""
    if text not in {"true", "yes", "false", "no"}:
        collector.add_fault(node, f"{key} takes true or false")
    return text in {"true", "yes"}


def read_plain_value(node: yaml.Node) -> object:
    """Return a text, a list of texts, or a dict of such values by name; None for anything else."""
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.SequenceNode) and all(isinstance(one, yaml.ScalarNode) for one in node.value):
        return [str(one.value) for one in node.value]
    if isinstance(node, yaml.MappingNode):
        return {str(key.value): read_plain_value(value) for key, value in node.value}
    return None


def read_yaml_root(
    path: Path, faults: list[CrewFault], *, hint: str = "", max_bytes: int | None = None
) -> yaml.Node | None:
    """Return the root node of a YAML file; None if it is empty or, with a fault, if it cannot be read.

    `hint` is the advice in faults of invalid YAML, in place of the usual one. A file of more than `max_bytes` bytes is
    a fault.
    """
    try:
        data = path.read_bytes()
        if max_bytes is not None and len(data) > max_bytes:
            faults.append(CrewFault(path, 1, f"the file has {len(data)} bytes; at most {max_bytes} are read"))
            return None
        loader = yaml.SafeLoader(data.decode("utf-8-sig"))
        loader.name = str(path)  # so that each node knows its file
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except (OSError, UnicodeDecodeError) as error:
        faults.append(CrewFault(path, 1, f"the file cannot be read ({error}); save it as UTF-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        words = describe_yaml_fault(error, hint) if hint else describe_yaml_fault(error)
        faults.append(CrewFault(path, mark.line + 1 if mark else 1, f"the file is not valid YAML: {words}"))
    except RecursionError:
        faults.append(CrewFault(path, 1, "the file is nested too deep"))
    return None
