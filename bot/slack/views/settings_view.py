"""The settings of a channel: the window in which admins change them, and how they read. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bot.access.access_values import Access, ChannelValues, Origin, groups_in
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.outgoing import Block, Outgoing, context, moment, sections
from handoff.member_ids import PERSON

SETTINGS = "channel_settings"
"""The callback_id of the window."""
AS_BEFORE, YES, NO, EVERYBODY, NAMED = "as_before", "yes", "no", "everybody", "named"
MOST_GROUPS = 100
"""Options of a menu."""
_LABELS = {
    "allowed": "Use in this channel",
    "users": "Who may use it",
    "guests": "Guests of this workspace",
    "strangers": "People of other workspaces (Slack Connect)",
    "approvers": "Who may approve",
    "follow_ups": "Replies without a mention",
    "crew": "Which crew works",
}
_HELP = {
    "users": "With “Only these”: the people and user groups named below.",
    "strangers": "With “Only these”: those of the workspaces named below.",
    "approvers": "With “Only these”: the people and user groups named below.",
    "follow_ups": "Whether replies in threads that have a job are heard. Answers to questions always are.",
    "crew": "Of what names no other at its start, such as “review: ...”.",
}
_CHOICES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "allowed": ((YES, "Yes"), (NO, "No")),
    "users": ((EVERYBODY, "Everybody of this workspace"), (NAMED, "Only these")),
    "guests": ((YES, "May use it"), (NO, "May not")),
    "strangers": ((EVERYBODY, "May not"), (NAMED, "Only these")),
    "approvers": ((EVERYBODY, "As the crew says"), (NAMED, "Only these")),
    "follow_ups": ((YES, "Are heard"), (NO, "Are not heard")),
}
_SOURCES = {"default": "default", "environment": "from the environment", "file": "from channels.yml"}
_LEFT_TO = {"default": "Default", "environment": "Environment", "file": "channels.yml"}
_PICKED = {"users": "who may use it", "approvers": "who may approve"}


@dataclass(frozen=True, slots=True)
class Faults:
    """What is wrong with a form, by the block that it stands in."""

    errors: Mapping[str, str]


def settings_text(
    channel: str, access: Access, handles: Mapping[str, str], *, form: bool, crews: Sequence[str] = ()
) -> Outgoing:
    """Say what holds in a channel and where each value comes from; of the crew only if there are several `crews`.

    `handles` are those of the user groups that are named, by id. `form`: it is an admin who reads.
    """
    where = "in your direct messages with me" if channel.startswith("D") else f"in <#{channel}>"
    names = _names(channel, crews)
    lines = [f"• *{_LABELS[name]}:* {_said(name, access, handles)} ({_from(access.origin(name))})" for name in names]
    end = [] if form else ["Admins change this with `/leadhand settings` in the channel."]
    return Outgoing(text=f"What holds {where}", blocks=tuple(sections([f"What holds {where}:", *lines, *end])))


def settings_modal(
    channel: str,
    access: Access,
    without: Access,
    form: ChannelValues,
    groups: Sequence[tuple[str, str]],
    crews: Sequence[str] = (),
) -> Block:
    """Make the window for a channel.

    `form` is what it set before, `without` what would hold without it, `groups` are the workspace's user groups by id
    and handle, `crews` the names to choose from where there are several.
    """
    where = "your direct messages with me" if channel.startswith("D") else f"<#{channel}>"
    first = "The first choice of each menu is what holds where nothing is set here, and where that comes from."
    blocks: list[Block] = [context(f"For {where}. {first}")]
    for name in _names(channel, crews):
        blocks.append(_choice(name, form, without, _choices(name, form, crews)))
        named: tuple[str, ...] = getattr(form, name) or () if name in {"users", "approvers"} else ()
        if name in {"users", "approvers"}:
            blocks += _pickers(name, named, groups)
        elif name == "strangers":
            blocks.append(_teams(form.strangers or ()))
    blocks.append(context(_history(access)))
    return {
        "type": "modal",
        "callback_id": SETTINGS,
        "private_metadata": json.dumps({"channel": channel}),
        "title": {"type": "plain_text", "text": "Channel settings"},
        "submit": {"type": "plain_text", "text": "Save"},
        "close": {"type": "plain_text", "text": "Cancel"},
        "blocks": blocks,
    }


def settings_of(values: Mapping[str, Any], known: ChannelValues, crews: Sequence[str] = ()) -> ChannelValues | Faults:
    """Read what was put into the window (its `state.values`); `known` is what the form set before.

    Groups that Slack did not list when the window was opened stay as they were; so does the crew where this bot has
    none to choose from.
    """
    read: dict[str, Any] = {"crew": known.crew} if known.crew and not crews else {}
    errors: dict[str, str] = {}
    for name in _LABELS:
        choices, chosen = _choices(name, known, crews), _chosen(values, name)
        if chosen == AS_BEFORE or not chosen:
            continue
        if chosen not in dict(choices):
            errors[name] = "Choose one of these."
        elif chosen in {YES, NO} and name != "crew":
            read[name] = chosen == YES
        elif name == "crew":
            read[name] = chosen
        elif chosen == EVERYBODY:
            read[name] = ()
        else:
            read[name] = _named(values, name, known)
            if not read[name]:
                errors[_field(name)] = "Name at least one, or choose something else above."
    for name in list(read):
        try:
            ChannelValues.model_validate({name: read[name]})
        except ValidationError as error:
            errors[_field(name)] = str(error.errors()[0]["msg"]).removeprefix("Value error, ").capitalize() + "."
    return Faults(errors) if errors else ChannelValues.model_validate(read)


def _names(channel: str, crews: Sequence[str]) -> list[str]:
    """List the values that a channel has: a direct message cannot be left out, and one crew leaves no choice."""
    without = {*(["allowed"] if channel.startswith("D") else []), *([] if crews else ["crew"])}
    return [name for name in _LABELS if name not in without]


def _choices(name: str, form: ChannelValues, crews: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """List what a value may be set to, each with its words. A crew that was set stays to be chosen."""
    if name != "crew":
        return _CHOICES[name]
    return tuple((one, one) for one in dict.fromkeys((*crews, *([form.crew] if form.crew else []))))


def _choice(name: str, form: ChannelValues, without: Access, told: Sequence[tuple[str, str]]) -> Block:
    value = getattr(form, name)
    chosen = AS_BEFORE if value is None else _option_of(value)
    elsewhere = f"{_LEFT_TO.get(without.origin(name).source, '')}: {_short(name, without)}"
    options = [_option(AS_BEFORE, elsewhere), *(_option(key, label) for key, label in told)]
    initial = next(option for option in options if option["value"] == chosen)
    element = {"type": "static_select", "action_id": name, "options": options, "initial_option": initial}
    block: Block = {
        "type": "input",
        "block_id": name,
        "label": {"type": "plain_text", "text": _LABELS[name]},
        "element": element,
    }
    if name in _HELP:
        block["hint"] = {"type": "plain_text", "text": _HELP[name]}
    return block


def _pickers(name: str, named: tuple[str, ...], groups: Sequence[tuple[str, str]]) -> list[Block]:
    people = [one for one in named if PERSON.fullmatch(one)]
    element: dict[str, Any] = {
        "type": "multi_users_select",
        "action_id": "people",
        "placeholder": {"type": "plain_text", "text": "Choose people"},
    }
    if people:
        element["initial_users"] = people
    blocks = [_optional(f"{name}_people", f"People {_PICKED[name]}", element)]
    handles = dict(groups)
    # Those that are named come first: what is not offered would be lost when the window is saved.
    keys = list(dict.fromkeys([*sorted(groups_in(named)), *handles]))[:MOST_GROUPS]
    options = [_option(key, f"@{handles[key]}" if handles.get(key) else key) for key in keys]
    if options:
        menu: dict[str, Any] = {
            "type": "multi_static_select",
            "action_id": "groups",
            "placeholder": {"type": "plain_text", "text": "Choose user groups"},
            "options": options,
        }
        if initial := [option for option in options if option["value"] in named]:
            menu["initial_options"] = initial
        blocks.append(_optional(f"{name}_groups", f"User groups {_PICKED[name]}", menu))
    return blocks


def _teams(named: Sequence[str]) -> Block:
    element: dict[str, Any] = {"type": "plain_text_input", "action_id": "teams", "max_length": 1000}
    element["placeholder"] = {"type": "plain_text", "text": "T0123ABCD, T0456EFGH"}
    if named:
        element["initial_value"] = ", ".join(named)
    return _optional("strangers_teams", "Ids of their workspaces, with commas", element)


def _optional(block_id: str, label: str, element: Block) -> Block:
    text = {"type": "plain_text", "text": label}
    return {"type": "input", "block_id": block_id, "optional": True, "label": text, "element": element}


def _option(value: str, label: str) -> Block:
    return {"text": {"type": "plain_text", "text": plain(label, 75)}, "value": value}


def _option_of(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return NAMED if value else EVERYBODY
    return YES if value else NO


def _field(name: str) -> str:
    """Name the block in which what is wrong with a list is shown."""
    return {"users": "users_people", "approvers": "approvers_people", "strangers": "strangers_teams"}.get(name, name)


def _chosen(values: Mapping[str, Any], name: str) -> str:
    option = _given(values, name, name).get("selected_option")
    return str(option.get("value", "")) if isinstance(option, Mapping) else ""


def _named(values: Mapping[str, Any], name: str, known: ChannelValues) -> tuple[str, ...]:
    if name == "strangers":
        text = str(_given(values, "strangers_teams", "teams").get("value") or "")
        return tuple(one.strip().upper() for one in text.split(",") if one.strip())
    people = _given(values, f"{name}_people", "people").get("selected_users") or []
    if f"{name}_groups" not in values:
        groups = sorted(groups_in(getattr(known, name) or ()))
    else:
        options = _given(values, f"{name}_groups", "groups").get("selected_options") or []
        groups = [str(option.get("value", "")) for option in options if isinstance(option, Mapping)]
    return tuple(str(one) for one in [*people, *groups])


def _given(values: Mapping[str, Any], block: str, action: str) -> Mapping[str, Any]:
    held = values.get(block)
    found = held.get(action) if isinstance(held, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _said(name: str, access: Access, handles: Mapping[str, str]) -> str:
    """Say a value in mrkdwn, with everybody who is named."""
    value = getattr(access, name)
    if isinstance(value, tuple) and value:
        return ", ".join(_entity(one, handles) for one in value)
    return _short(name, access)


def _short(name: str, access: Access) -> str:
    """Say a value in a few words."""
    value = getattr(access, name)
    if name == "crew":
        return plain(str(value), 75)
    if isinstance(value, bool) or not value:
        words = dict(_CHOICES[name])
        return words[_option_of(value)].lower().replace("may not", "may not use it")
    return f"{len(value)} named"


def _entity(one: str, handles: Mapping[str, str]) -> str:
    if PERSON.fullmatch(one):
        return mention(one)
    handle = handles.get(one, "")
    return clean(f"{handle} ({one})" if handle else one)  # a mention of a group would notify all of it


def _from(origin: Origin) -> str:
    if origin.source != "form":
        return _SOURCES[origin.source]
    return f"set by {mention(origin.user)} {moment(origin.at)}" if origin.user else "set with the form"


def _history(access: Access) -> str:
    """Say who set what with the form, and when."""
    kept = [(name, access.origin(name)) for name in _LABELS]
    lines = [f"{_LABELS[name]}: {_from(origin)}" for name, origin in kept if origin.source == "form"]
    return "\n".join(lines) or "Nothing was set here yet."
