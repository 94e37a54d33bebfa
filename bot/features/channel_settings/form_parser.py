"""Parses the submitted window of a channel's settings. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bot.access.access_values import ChannelValues, pick_groups
from bot.features.channel_settings.window import INHERIT_VALUE, ROUND_SEPARATOR, SettingsWindow
from bot.slack.views.channel_setting_words import EVERYBODY, NO, SETTING_CHOICES, YES, list_setting_names
from handoff.text.capitalization import capitalize_first

_FAULT_BLOCKS = {"users": "users_people", "approvers": "approvers_people", "strangers": "strangers_teams"}
"""The ids of the blocks that show the faults of a list of ids, by the name of the value."""
_MENU_NAMES = frozenset({*SETTING_CHOICES, "crew", "highest_tier"})


@dataclass(frozen=True, slots=True)
class FormFaults:
    """The faults of a submitted window: error texts by block id."""

    errors: Mapping[str, str]


def parse_settings(
    state: Mapping[str, Any], form_values: ChannelValues, window: SettingsWindow, crews: Sequence[str] = ()
) -> ChannelValues | FormFaults:
    """Parse a submitted window (its `state.values`). `form_values` has the values that the form set before.

    If the window had no menu of groups, the groups stay as they were.
    """
    values = {block.partition(ROUND_SEPARATOR)[0]: elements for block, elements in state.items()}
    parsed_values: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name in list_setting_names(window.section, window.channel, crews):
        value = _parse_value(values, name, form_values)
        if value is None:
            continue
        if name == "crew" and value not in {*crews, form_values.crew}:
            errors[name] = "Choose one of these."
            continue
        if value == () and _parse_option(values, name) not in {EVERYBODY, ""}:
            errors[_FAULT_BLOCKS[name]] = "Name at least one, or choose something else above."
            continue
        try:
            parsed_values[name] = getattr(ChannelValues.model_validate({name: value}), name)
        except ValidationError as error:
            message = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            errors[_FAULT_BLOCKS.get(name, name)] = f"{capitalize_first(message)}{'' if message.endswith('?') else '.'}"
    if errors:
        return FormFaults({make_block_id(block, window): text for block, text in errors.items()})
    return ChannelValues.model_validate(parsed_values)


def make_block_id(name: str, window: SettingsWindow) -> str:
    """Return the id of a value's block in a window."""
    return f"{name}{ROUND_SEPARATOR}{window.round}" if window.round else name


def _parse_value(values: Mapping[str, Any], name: str, form_values: ChannelValues) -> object:
    """Return the entered value; None if the admin left it to the other sources."""
    if name not in _MENU_NAMES:
        return str(_find_input(values, name, name).get("value") or "").strip() or None
    option = _parse_option(values, name)
    if option in {INHERIT_VALUE, ""}:
        return None
    if name in {"crew", "highest_tier"}:
        return option
    if option in {YES, NO}:
        return option == YES
    return () if option == EVERYBODY else _parse_ids(values, name, form_values)


def _parse_option(values: Mapping[str, Any], name: str) -> str:
    option = _find_input(values, name, name).get("selected_option")
    return str(option.get("value", "")) if isinstance(option, Mapping) else ""


def _parse_ids(values: Mapping[str, Any], name: str, form_values: ChannelValues) -> tuple[str, ...]:
    if name == "strangers":
        text = str(_find_input(values, "strangers_teams", "teams").get("value") or "")
        return tuple(one.strip().upper() for one in text.split(",") if one.strip())
    people = _find_input(values, f"{name}_people", "people").get("selected_users") or []
    if f"{name}_groups" not in values:
        groups = sorted(pick_groups(getattr(form_values, name) or ()))
    else:
        options = _find_input(values, f"{name}_groups", "groups").get("selected_options") or []
        groups = [str(option.get("value", "")) for option in options if isinstance(option, Mapping)]
    return tuple(str(one) for one in [*people, *groups])


def _find_input(values: Mapping[str, Any], block: str, action: str) -> Mapping[str, Any]:
    elements = values.get(block)
    element = elements.get(action) if isinstance(elements, Mapping) else None
    return element if isinstance(element, Mapping) else {}
