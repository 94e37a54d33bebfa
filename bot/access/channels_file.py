"""Reads the values of channels from files: `channels.yml` beside a crew, and the key `channel` of crew.yml."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from bot.access.access_values import TEXT_VALUE_NAMES, VALUE_NAMES, ChannelValues
from handoff.text.slack_ids import CHANNEL_ID
from specialists.crew import Crew
from specialists.files.frontmatter import CrewFault, suggest_name
from specialists.files.yaml_nodes import read_yaml_root
from specialists.registry import CrewError

CHANNELS_FILE = "channels.yml"
MAX_FILE_BYTES = 1024 * 1024
_REMEDIES = {
    "bool_parsing": "it takes true or false",
    "bool_type": "it takes true or false",
    "tuple_type": "it takes a list of ids: [U0123ABCD, S0456EFGH]",
    "string_type": "it takes ids in letters and digits; put others in quotes",
}


@dataclass(slots=True)
class ChannelsFile:
    """A parsed `channels.yml`: the values by the channel's id, and the file's faults."""

    path: Path
    channels: dict[str, ChannelValues] = field(default_factory=dict)
    faults: list[CrewFault] = field(default_factory=list)

    def add_fault(self, node: yaml.Node, text: str) -> None:
        """Add a fault at a node's line."""
        self.faults.append(CrewFault(self.path, node.start_mark.line + 1, text))


def read_channels_file(folder: Path, crews: Sequence[str] = ()) -> ChannelsFile:
    """Read `channels.yml` in a crew's folder; a missing file sets nothing. Raises nothing: faults are in the result.

    `crews` are the names of the crews that a channel may choose from; if it is empty, a channel may name no crew.
    """
    file = ChannelsFile(folder / CHANNELS_FILE)
    if not file.path.exists():
        return file
    root = read_yaml_root(file.path, file.faults, max_bytes=MAX_FILE_BYTES)
    if root is not None:
        _parse_channels(file, root, crews)
    return file


def _parse_channels(file: ChannelsFile, root: yaml.Node, crews: Sequence[str]) -> None:
    if not isinstance(root, yaml.MappingNode):
        file.add_fault(
            root, "the file is not a list of channels; write a channel's id, a colon, and its values below it"
        )
        return
    for key, node in root.value:
        channel = str(key.value)
        if not CHANNEL_ID.fullmatch(channel):
            text = f"{channel[:40]} is no id of a channel; copy it from the channel's details in Slack: C0123ABCD"
            file.add_fault(key, text)
        elif channel in file.channels:
            file.add_fault(key, f"the channel {channel} is there twice; keep one")
        elif (channel_values := _parse_channel(file, node, crews)) is not None:
            file.channels[channel] = channel_values


def _parse_channel(file: ChannelsFile, node: yaml.Node, crews: Sequence[str]) -> ChannelValues | None:
    """Parse the values of one channel and add its faults to `file`. Returns None if a value is invalid."""
    if not isinstance(node, yaml.MappingNode):
        file.add_fault(node, f"a channel is not a list of `key: value` lines; the keys are {', '.join(VALUE_NAMES)}")
        return None
    value_nodes: dict[str, yaml.Node] = {}
    values: dict[str, Any] = {}
    for key, value in node.value:
        name = str(key.value)
        if name not in VALUE_NAMES:
            file.add_fault(
                key, f"unknown key {name}{suggest_name(name, VALUE_NAMES)}; the keys are {', '.join(VALUE_NAMES)}"
            )
        elif name in value_nodes:
            file.add_fault(key, f"the key {name} is there twice; keep one")
        else:
            value_nodes[name] = value
            values[name] = _parse_node_text(value) if name in TEXT_VALUE_NAMES else _parse_node_value(value)
            if name in TEXT_VALUE_NAMES and not values[name]:
                file.add_fault(value, f"{name}: it takes text; off, for none")
                return None
    crew_name = values.get("crew")
    if "crew" in value_nodes and crew_name not in crews:
        crews_hint = f"there are {', '.join(crews)}" if crews else "there is one crew; LEADHAND_CREW takes several"
        file.add_fault(
            value_nodes["crew"], f"there is no crew {crew_name}{suggest_name(str(crew_name), crews)}; {crews_hint}"
        )
        return None
    try:
        return ChannelValues.model_validate(values)
    except ValidationError as error:
        for one in error.errors():
            name = str(one["loc"][0])
            file.add_fault(value_nodes[name], f"{name}: {_REMEDIES.get(one['type']) or _describe_error(one, name)}")
        return None


def _parse_node_value(node: yaml.Node) -> Any:
    """Return a node's value: a bool, a text, a tuple of texts, or None. Ids stay texts, even numeric ones."""
    if isinstance(node, yaml.SequenceNode):
        return tuple(str(one.value) if isinstance(one, yaml.ScalarNode) else None for one in node.value)
    if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:bool":
        return node.value.lower() in ("true", "yes", "on")
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def _parse_node_text(node: yaml.Node) -> str:
    """Return a scalar as it is written, so that YAML does not turn `off` into False. Empty for a list or a mapping."""
    return str(node.value).strip() if isinstance(node, yaml.ScalarNode) else ""


def _describe_error(error: Any, name: str) -> str:
    text = str(error["msg"]).removeprefix("Value error, ")
    return text if ";" in text or name in TEXT_VALUE_NAMES else f"{text}; copy ids from Slack"


_SWITCH_WORDS = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


def parse_crew_values(channel: Mapping[str, tuple[str, CrewFault]]) -> tuple[ChannelValues, tuple[CrewFault, ...]]:
    """Parse the key `channel` of crew.yml: by name, the text of a value and its place.

    Returns the values, and a fault for each invalid one.
    """
    values: dict[str, Any] = {}
    faults: list[CrewFault] = []
    for name, (text, place) in channel.items():
        value: object = text if name in TEXT_VALUE_NAMES else _SWITCH_WORDS.get(text.casefold(), text)
        try:
            values[name] = getattr(ChannelValues.model_validate({name: value}), name)
        except ValidationError as error:
            message = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            faults.append(
                dataclasses.replace(
                    place, text=f"{name}: {message if name in TEXT_VALUE_NAMES else 'it takes on or off'}"
                )
            )
    return ChannelValues.model_validate(values), tuple(faults)


def require_valid_channel_values(crew: Crew, folder: Path) -> Crew:
    """Return the crew unchanged. Raises CrewError if its file in `folder` sets an invalid value for channels."""
    if faults := parse_crew_values(crew.channel)[1]:
        raise CrewError(folder, faults)
    return crew


def parse_all_crew_values(crews: Mapping[str, Crew]) -> Mapping[str, ChannelValues]:
    """Return the values that each crew's own file sets for channels, by the crew's name."""
    return {name: parse_crew_values(crew.channel)[0] for name, crew in crews.items()}
