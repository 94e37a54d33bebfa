"""Renders the settings of a channel, and the window in which admins change a section of them. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.access.access_values import MAX_IDS, MAX_INSTRUCTIONS_CHARS, ChannelValues, EffectiveValues, pick_groups
from bot.access.channel_settings import FormValues, make_stamp
from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.channel_setting_words import (
    SETTING_CHOICES,
    SETTING_LABELS,
    SETTINGS_SECTIONS,
    SOURCE_LABELS,
    SettingsSection,
    describe_channel,
    describe_value_briefly,
    describe_value_origin,
    encode_option,
    list_setting_names,
    render_history,
    render_setting_line,
)
from bot.slack.views.outgoing import Block, Outgoing, make_button, make_context, make_section, make_sections
from handoff.contracts import Tier
from handoff.planning.tier_cap import TIERS
from handoff.text.slack_ids import PERSON_ID

SETTINGS_WINDOW = "channel_settings"
"""The callback_id of the window."""
INHERIT_VALUE = "as_before"
ROUND_SEPARATOR = "."
"""Separates a block's name from the number of the window's redraws. A new id makes Slack show the new value: in a
block with the same id it keeps the typed text."""
INHERIT_HINT = "A menu left at its first choice and an empty field set nothing here."
CONFLICT_WARNING = (
    ":warning: *Somebody else saved while this was open.* Nothing of yours is lost: it stands below. Look it over, and "
    "save again."
)
_HINTS = {
    "users": "With “Only these”: the people and user groups named below.",
    "strangers": "With “Only these”: those of the workspaces named below.",
    "approvers": "With “Only these”: the people and user groups named below.",
    "follow_ups": "Whether replies in threads that have a job are heard. Answers to questions always are.",
    "crew": "Of what names no other at its start, such as “review: ...”.",
    "instructions": "House rules for every answer here, such as “Amounts in EUR, in German, no tables.”",
    "highest_tier": "Models of a higher tier are not used here: “balanced” means no deep ones.",
    "budget": "Such as “$5, 200k tokens” a day. When it is used up, admins can allow more.",
    "quiet_hours": "Such as “20-8, weekends”: no reminders, no scheduled runs, no replies without a mention.",
    "zone": "Such as “Europe/Berlin”: quiet hours are in it.",
}
_PICKER_LABELS = {"users": "who may use it", "approvers": "who may approve"}
_TYPED_NAMES = ("instructions", "budget", "quiet_hours", "zone")
"""Names of the values that are typed. The others are chosen from a menu."""


@dataclass(frozen=True, slots=True)
class WindowContent:
    """The content of a window.

    - section: the section that it changes.
    - channel: the channel's id.
    - inherited: the values that would apply if the form had set none.
    - access: the values that apply.
    - form: the values that the form has set; the window carries their stamps.
    - field_values: the values in the fields; None for those of `form`.
    - groups: the workspace's user groups as pairs of id and handle.
    - crews: the names of the crews to choose from, if there are several.
    - models: the name of each tier's model.
    - top_lines: lines at the top, on what others changed meanwhile.
    - round: the number of times that the window was redrawn after a conflict.
    """

    section: SettingsSection
    channel: str
    inherited_values: EffectiveValues
    access: EffectiveValues
    form: FormValues = field(default_factory=FormValues)
    field_values: ChannelValues | None = None
    groups: Sequence[tuple[str, str]] = ()
    crews: Sequence[str] = ()
    models: Mapping[Tier, str] = field(default_factory=dict)
    top_lines: Sequence[str] = ()
    round: int = 0


@dataclass(frozen=True, slots=True)
class SettingsWindow:
    """The decoded metadata of a window: its channel, its section, and the stamps of its values by name."""

    channel: str
    section: SettingsSection
    stamps: Mapping[str, str]
    round: int = 0


@dataclass(frozen=True, slots=True)
class SettingsWindowData:
    """The encoded form of `SettingsWindow`: with the key of the section, and the stamps as `seen`."""

    channel: str
    section: str
    seen: dict[str, str]
    round: int


def render_settings_window(content: WindowContent) -> Block:
    """Build the window as a Slack modal."""
    names = list_setting_names(content.section, content.channel, content.crews)
    field_values = content.field_values or content.form.values
    blocks: list[Block] = [make_section(line) for line in content.top_lines]
    blocks.append(make_context(f"For {describe_channel(content.channel)}. {INHERIT_HINT}"))
    for name in names:
        if name in _TYPED_NAMES:
            blocks.append(_make_field_block(name, content, field_values))
            continue
        blocks.append(_make_choice_block(name, content, field_values))
        people_ids: tuple[str, ...] = getattr(field_values, name) or () if name in {"users", "approvers"} else ()
        if name in {"users", "approvers"}:
            blocks += _make_picker_blocks(name, people_ids, content.groups)
        elif name == "strangers":
            blocks.append(_make_teams_block(field_values.strangers or ()))
    for block in blocks if content.round else ():
        if "block_id" in block:
            block["block_id"] = f"{block['block_id']}{ROUND_SEPARATOR}{content.round}"
    stamps = {name: content.form.compute_stamp(name) for name in names}
    about = SettingsWindowData(content.channel, content.section.key, stamps, content.round)
    return {
        "type": "modal",
        "callback_id": SETTINGS_WINDOW,
        "private_metadata": encode_data(about),
        "title": {"type": "plain_text", "text": content.section.title},
        "submit": {"type": "plain_text", "text": "Save"},
        "close": {"type": "plain_text", "text": "Cancel"},
        "blocks": [*blocks, make_context(render_history(content.access, names))],
    }


def decode_window_data(metadata: str) -> SettingsWindow | None:
    """Decode a window's metadata; None if it is not that of a settings window."""
    data = decode_data(metadata, SettingsWindowData)
    section = next((one for one in SETTINGS_SECTIONS if data is not None and one.key == data.section), None)
    if data is None or section is None or not data.channel:
        return None
    return SettingsWindow(data.channel, section, data.seen, data.round)


def merge_edits(
    edits: ChannelValues, window: SettingsWindow, stored_form: FormValues, names: Iterable[str]
) -> tuple[ChannelValues, tuple[str, ...]]:
    """Merge an admin's edits into the values that others saved meanwhile.

    A value that the admin did not change is taken from `stored_form`. Returns the merged values, and the names of those
    that both sides changed.
    """
    edited_names = [name for name in names if make_stamp(edits, name) != window.stamps.get(name, "")]
    edited_by_both = tuple(
        name
        for name in edited_names
        if stored_form.compute_stamp(name) != window.stamps.get(name, stored_form.compute_stamp(name))
    )
    return stored_form.values.model_copy(update={name: getattr(edits, name) for name in edited_names}), edited_by_both


def describe_conflicts(
    access: EffectiveValues, changed_names: Iterable[str], edited_by_both: Sequence[str]
) -> list[str]:
    """Return mrkdwn lines: each value that others changed while a window was open, and whose value its field shows."""
    lines = [CONFLICT_WARNING]
    for name in changed_names:
        by = access.find_origin(name)
        value_text = (
            f"“{clean_mrkdwn(to_plain_line(describe_value_briefly(name, access), 200))}”"
            if name != "instructions"
            else clean_mrkdwn(describe_value_briefly(name, access))
        )
        who = f"{render_mention(by.user)} set" if by.user else f"{describe_value_origin(by)}:"
        end = "yours stands below instead" if name in edited_by_both else "taken over below"
        lines.append(f"• *{SETTING_LABELS[name]}:* {who} {value_text}; {end}.")
    return ["\n".join(lines)]


def _make_choice_block(name: str, content: WindowContent, field_values: ChannelValues) -> Block:
    value = getattr(field_values, name)
    choice = INHERIT_VALUE if value is None else encode_option(value)
    options = [
        _make_option(INHERIT_VALUE, _describe_inherited(name, content)),
        *(_make_option(*one) for one in list_choices(name, field_values, content)),
    ]
    initial = next(option for option in options if option["value"] == choice)
    return _make_input_block(
        name, {"type": "static_select", "action_id": name, "options": options, "initial_option": initial}
    )


def list_choices(name: str, field_values: ChannelValues, content: WindowContent) -> list[tuple[str, str]]:
    """List the choices for a value as pairs of (value, label). The crew that is set stays on the list."""
    if name == "crew":
        return [
            (one, one) for one in dict.fromkeys((*content.crews, *([field_values.crew] if field_values.crew else [])))
        ]
    if name == "highest_tier":
        tier_models = ((tier, content.models.get(tier, "")) for tier in TIERS)
        return [(tier, f"{tier} ({model})" if model else tier) for tier, model in tier_models]
    return list(SETTING_CHOICES[name])


def _make_field_block(name: str, content: WindowContent, field_values: ChannelValues) -> Block:
    element: Block = {
        "type": "plain_text_input",
        "action_id": name,
        "placeholder": _make_text(_describe_inherited(name, content), 150),
    }
    if name == "instructions":
        element |= {"multiline": True, "max_length": MAX_INSTRUCTIONS_CHARS}
    value = getattr(field_values, name)
    if value is not None:
        element["initial_value"] = value or "off"
    off_hint = "" if name == "zone" else " Write “off” for none."
    return _make_input_block(name, element, optional=True, extra_hint=off_hint)


def _describe_inherited(name: str, content: WindowContent) -> str:
    """Describe the value that applies if the form sets none, and its source."""
    return (
        f"{SOURCE_LABELS.get(content.inherited_values.find_origin(name).source, '')}: "
        f"{describe_value_briefly(name, content.inherited_values)}"
    )


def _make_input_block(name: str, element: Block, *, optional: bool = False, extra_hint: str = "") -> Block:
    block: Block = {"type": "input", "block_id": name, "label": _make_text(SETTING_LABELS[name]), "element": element}
    if optional:
        block["optional"] = True
    if name in _HINTS:
        block["hint"] = _make_text(f"{_HINTS[name]}{extra_hint}", 300)
    return block


def _make_picker_blocks(name: str, ids: tuple[str, ...], groups: Sequence[tuple[str, str]]) -> list[Block]:
    people = [one for one in ids if PERSON_ID.fullmatch(one)]
    element: dict[str, Any] = {
        "type": "multi_users_select",
        "action_id": "people",
        "placeholder": _make_text("Choose people"),
    }
    if people:
        element["initial_users"] = people
    blocks = [_make_optional_block(f"{name}_people", f"People {_PICKER_LABELS[name]}", element)]
    handles = dict(groups)
    # Groups already chosen come first: a group that the menu does not offer would be lost when the window is saved.
    keys = list(dict.fromkeys([*sorted(pick_groups(ids)), *handles]))[:MAX_IDS]
    options = [_make_option(key, f"@{handles[key]}" if handles.get(key) else key) for key in keys]
    if options:
        menu: dict[str, Any] = {
            "type": "multi_static_select",
            "action_id": "groups",
            "placeholder": _make_text("Choose user groups"),
            "options": options,
        }
        if initial := [option for option in options if option["value"] in ids]:
            menu["initial_options"] = initial
        blocks.append(_make_optional_block(f"{name}_groups", f"User groups {_PICKER_LABELS[name]}", menu))
    return blocks


def _make_teams_block(ids: Sequence[str]) -> Block:
    element: dict[str, Any] = {"type": "plain_text_input", "action_id": "teams", "max_length": 1000}
    element["placeholder"] = _make_text("T0123ABCD, T0456EFGH")
    if ids:
        element["initial_value"] = ", ".join(ids)
    return _make_optional_block("strangers_teams", "Ids of their workspaces, with commas", element)


def _make_optional_block(block_id: str, label: str, element: Block) -> Block:
    return {"type": "input", "block_id": block_id, "optional": True, "label": _make_text(label), "element": element}


def _make_option(value: str, label: str) -> Block:
    return {"text": _make_text(label, 75), "value": value}


def _make_text(words: str, max_chars: int = 150) -> Block:
    return {"type": "plain_text", "text": to_plain_line(words, max_chars)}


CHANGE_PREFIX = "change_settings_"
"""Prefix of the buttons' action_ids; the section's key follows."""
ADMINS_CHANGE_TEXT = "Admins change this with `/leadhand settings` in the channel."
CLOSED_BY_NEWER_TEXT = (
    ":warning: A newer release set values here that this one does not know, so the channel is closed to be on the safe "
    "side. Bring all instances up to that release; nothing of it is lost."
)


def render_settings(
    channel: str,
    access: EffectiveValues,
    handles: Mapping[str, str],
    *,
    can_change: bool,
    crews: Sequence[str] = (),
    is_newer: bool = False,
) -> Outgoing:
    """Render the settings of a channel and the source of each value; the crew only if there are several `crews`.

    `handles` has the handles of user groups by id. `can_change`: the reader is an admin, who gets a button for each
    section. `is_newer`: a newer release set values that this one cannot read.
    """
    title = f"What holds in {describe_channel(channel)}"
    blocks: list[Block] = [make_section(CLOSED_BY_NEWER_TEXT)] if is_newer else []
    for one in SETTINGS_SECTIONS:
        lines = [render_setting_line(name, access, handles) for name in list_setting_names(one, channel, crews)]
        head = make_section(f"*{one.title}*")  # in its own block, so that the button does not narrow the lines
        if can_change and not is_newer:
            head["accessory"] = make_button("Change", f"{CHANGE_PREFIX}{one.key}", channel)
        blocks += [head, *make_sections(lines)]
    end = [] if can_change else [make_section(ADMINS_CHANGE_TEXT)]
    return Outgoing(text=title, blocks=(make_section(f"{title}:"), *blocks, *end))
