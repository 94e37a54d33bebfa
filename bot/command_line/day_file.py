"""Reads the scenes of `leadhand try --demo-day` from `day_scenes.yml`, which explains its own format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

SCENES_FILE = Path(__file__).with_name("day_scenes.yml")

SceneEnd = Literal["answered", "in part", "failed", "cancelled", "question", "approval", "working", ""]
"""The state that a scene or a step must reach; empty if the player does not wait for one."""
_SPAN_PATTERN = re.compile(r"(\d{1,2}):([0-5]\d)")


class DayFileError(Exception):
    """The file of scenes cannot be used. The text says where and why."""


class _DayPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    who: str = ""
    say: str = ""
    ends: SceneEnd = ""


class LaterStep(_DayPart):
    """A later step of a scene. `later` is in seconds after the step before it."""

    later: float = 0.0
    press: str = ""
    react: str = ""
    stop: bool = False
    command: str = ""

    @field_validator("later", mode="before")
    @classmethod
    def _parse_seconds(cls, value: Any) -> float:
        return parse_span(value)

    @model_validator(mode="after")
    def _require_one_action(self) -> LaterStep:
        if sum(map(bool, (self.say, self.press, self.react, self.stop, self.command))) != 1:
            raise ValueError("a step says, presses, reacts, stops or gives a command: one of them")
        return self


class DayScene(_DayPart):
    """A thread of the day. `ago` is when it begins, in seconds before now."""

    ago: float
    title: str
    where: str
    files: tuple[str, ...] = ()
    demo: str = ""
    held: bool = False
    then: tuple[LaterStep, ...] = ()

    @field_validator("ago", mode="before")
    @classmethod
    def _parse_seconds(cls, value: Any) -> float:
        return parse_span(value)

    @model_validator(mode="after")
    def _require_one_request(self) -> DayScene:
        if bool(self.say) == bool(self.demo) or not self.who:
            raise ValueError("a scene has a `who`, and either `say` or `demo`")
        return self


class DemoDay(BaseModel):
    """All scenes in order, and the crews that play them, the usual one first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    crews: tuple[str, ...]
    scenes: tuple[DayScene, ...]

    @model_validator(mode="after")
    def _require_order(self) -> DemoDay:
        if not self.scenes or not self.crews:
            raise ValueError("a day has a crew and a scene")
        ago = [one.ago for one in self.scenes]
        if ago != sorted(ago, reverse=True):
            raise ValueError("the scenes stand in the order of the day: the clocks only go forward")
        return self


def parse_span(value: Any) -> float:
    """Parse hours and minutes, such as 7:50, into seconds. Raises ValueError."""
    match = _SPAN_PATTERN.fullmatch(str(value))
    if match is None:
        raise ValueError(f"{value!r} is no time like 7:50 (hours:minutes, in quotes)")
    return int(match[1]) * 3600.0 + int(match[2]) * 60.0


def read_day(path: Path = SCENES_FILE) -> DemoDay:
    """Read a file of scenes. Raises DayFileError."""
    try:
        return DemoDay.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        raise DayFileError(f"{path.name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (OSError, yaml.YAMLError) as error:
        raise DayFileError(f"{path.name} cannot be read: {' '.join(str(error).split())}") from None
