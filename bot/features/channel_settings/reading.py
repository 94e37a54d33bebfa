"""Parses the submitted window of a channel's settings. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bot.access.access_values import ChannelValues, groups_in
from bot.features.channel_settings.window import AS_BEFORE, ROUND_SEPARATOR, SettingsWindow
from bot.slack.views.channel_words import CHOICES, EVERYBODY, NO, YES, names_in

_FIELDS = {"users": "users_people", "approvers": "approvers_people", "strangers": "strangers_teams"}
"""The blocks at which the faults of a list of ids are shown, by the name of the value."""
_MENU_VALUES = frozenset({*CHOICES, "crew", "highest_tier"})


@dataclass(frozen=True, slots=True)
class FormFaults:
    """The faults of a submitted window: error texts by block id."""

    errors: Mapping[str, str]


def parse_settings(
    state: Mapping[str, Any], known: ChannelValues, window: SettingsWindow, crews: Sequence[str] = ()
) -> ChannelValues | FormFaults:
    """Parse a submitted window (its `state.values`). `known` has the values that the form set before.

    If the window had no menu of groups, the groups stay as they were.
    """
    values = {block.partition(ROUND_SEPARATOR)[0]: held for block, held in state.items()}
    read: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name in names_in(window.section, window.channel, crews):
        value = _read_value(values, name, known)
        if value is None:
            continue
        if name == "crew" and value not in {*crews, known.crew}:
            errors[name] = "Choose one of these."
            continue
        if value == () and _read_option(values, name) not in {EVERYBODY, ""}:
            errors[_FIELDS[name]] = "Name at least one, or choose something else above."
            continue
        try:
            read[name] = getattr(ChannelValues.model_validate({name: value}), name)
        except ValidationError as error:
            said = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            errors[_FIELDS.get(name, name)] = f"{said[:1].upper()}{said[1:]}{'' if said.endswith('?') else '.'}"
    if errors:
        return FormFaults({field_of(block, window): text for block, text in errors.items()})
    return ChannelValues.model_validate(read)


def field_of(name: str, window: SettingsWindow) -> str:
    """Return the id of a value's block in a window."""
    return f"{name}{ROUND_SEPARATOR}{window.round}" if window.round else name


def _read_value(values: Mapping[str, Any], name: str, known: ChannelValues) -> object:
    """Return what was entered for a value; None if the value is left to the other sources."""
    if name not in _MENU_VALUES:
        return str(_find_input(values, name, name).get("value") or "").strip() or None
    chosen = _read_option(values, name)
    if chosen in {AS_BEFORE, ""}:
        return None
    if name in {"crew", "highest_tier"}:
        return chosen
    if chosen in {YES, NO}:
        return chosen == YES
    return () if chosen == EVERYBODY else _read_ids(values, name, known)


def _read_option(values: Mapping[str, Any], name: str) -> str:
    option = _find_input(values, name, name).get("selected_option")
    return str(option.get("value", "")) if isinstance(option, Mapping) else ""


def _read_ids(values: Mapping[str, Any], name: str, known: ChannelValues) -> tuple[str, ...]:
    if name == "strangers":
        text = str(_find_input(values, "strangers_teams", "teams").get("value") or "")
        return tuple(one.strip().upper() for one in text.split(",") if one.strip())
    people = _find_input(values, f"{name}_people", "people").get("selected_users") or []
    if f"{name}_groups" not in values:
        groups = sorted(groups_in(getattr(known, name) or ()))
    else:
        options = _find_input(values, f"{name}_groups", "groups").get("selected_options") or []
        groups = [str(option.get("value", "")) for option in options if isinstance(option, Mapping)]
    return tuple(str(one) for one in [*people, *groups])


def _find_input(values: Mapping[str, Any], block: str, action: str) -> Mapping[str, Any]:
    held = values.get(block)
    found = held.get(action) if isinstance(held, Mapping) else None
    return found if isinstance(found, Mapping) else {}
