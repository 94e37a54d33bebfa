"""What a crew's own file sets for the channels it works in: how it works there, never who may use it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.access.access_values import TEXTS, ChannelValues
from specialists.crew import Crew
from specialists.files.frontmatter import CrewFault
from specialists.registry import CrewError

_SWITCHES = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


def read(channel: Mapping[str, tuple[str, CrewFault]]) -> tuple[ChannelValues, tuple[CrewFault, ...]]:
    """Read the key `channel` of a crew's file, see `CrewFile.channel`; a fault for each value that cannot be had."""
    values: dict[str, Any] = {}
    faults: list[CrewFault] = []
    for name, (text, place) in channel.items():
        value: object = text if name in TEXTS else _SWITCHES.get(text.casefold(), text)
        try:
            values[name] = getattr(ChannelValues.model_validate({name: value}), name)
        except ValidationError as error:
            said = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            faults.append(dataclasses.replace(place, text=f"{name}: {said if name in TEXTS else 'it takes on or off'}"))
    return ChannelValues.model_validate(values), tuple(faults)


def check_channel_values(crew: Crew, folder: Path) -> Crew:
    """Return the crew of a folder. Raises CrewError if its file sets a value for channels that cannot be had."""
    if faults := read(crew.channel)[1]:
        raise CrewError(folder, faults)
    return crew


def list_crew_values(crews: Mapping[str, Crew]) -> Mapping[str, ChannelValues]:
    """Return what each of a bot's crews sets, by its name."""
    return {name: read(crew.channel)[0] for name, crew in crews.items()}
