"""Renders the settings of a channel, and the window in which admins change a section of them. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.access.access_values import LONGEST_INSTRUCTIONS, MOST_NAMED, Access, ChannelValues, groups_in
from bot.access.channel_settings import FormValues, make_stamp
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.channel_words import (
    CHOICES,
    LABELS,
    LEFT_TO,
    SECTIONS,
    SettingsSection,
    describe_channel,
    describe_source,
    describe_value,
    describe_value_briefly,
    encode_option,
    history,
    names_in,
)
from bot.slack.views.outgoing import Block, Outgoing, button, context, section, sections
from handoff.contracts import Tier
from handoff.planning.tier_cap import TIERS
from handoff.text.member_ids import PERSON

SETTINGS = "channel_settings"
"""The callback_id of the window."""
AS_BEFORE = "as_before"
ROUND_SEPARATOR = "."
"""Separates a block's name from the number of times that the window was redrawn. Slack keeps what was typed into a
block, whatever it is redrawn with, as long as the block's id stays the same."""
FIRST_CHOICE = "A menu left at its first choice and an empty field set nothing here."
MEANWHILE = (
    ":warning: *Somebody else saved while this was open.* Nothing of yours is lost: it stands below. Look it over, and "
    "save again."
)
_HELP = {
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
_PICKED = {"users": "who may use it", "approvers": "who may approve"}
_TYPED = ("instructions", "budget", "quiet_hours", "zone")
"""The values that are typed; the others are chosen."""


@dataclass(frozen=True, slots=True)
class WindowContent:
    """The content of a window.

    - section: the section that it changes.
    - channel: the channel's id.
    - without: the values that would apply if the form had set none.
    - access: the values that apply.
    - form: the values that the form has set; the window carries their stamps.
    - shown: the values in the fields; None for those of `form`.
    - groups: the workspace's user groups as pairs of id and handle.
    - crews: the names of the crews to choose from, if there are several.
    - models: the name of each tier's model.
    - told: lines at the top, on what others changed meanwhile.
    - round: the number of times that the window was redrawn.
    """

    section: SettingsSection
    channel: str
    without: Access
    access: Access
    form: FormValues = field(default_factory=FormValues)
    shown: ChannelValues | None = None
    groups: Sequence[tuple[str, str]] = ()
    crews: Sequence[str] = ()
    models: Mapping[Tier, str] = field(default_factory=dict)
    told: Sequence[str] = ()
    round: int = 0


@dataclass(frozen=True, slots=True)
class SettingsWindow:
    """The decoded metadata of a window: its channel, its section, and the stamps of the values that it showed."""

    channel: str
    section: SettingsSection
    seen: Mapping[str, str]
    round: int = 0


@dataclass(frozen=True, slots=True)
class AboutSettings:
    """The metadata as it is encoded in a window: a `SettingsWindow` with the key of its section."""

    channel: str
    section: str
    seen: dict[str, str]
    round: int


def settings_modal(drawn: WindowContent) -> Block:
    """Build the window as a Slack modal."""
    names = names_in(drawn.section, drawn.channel, drawn.crews)
    shown = drawn.shown or drawn.form.values
    blocks: list[Block] = [section(line) for line in drawn.told]
    blocks.append(context(f"For {describe_channel(drawn.channel)}. {FIRST_CHOICE}"))
    for name in names:
        if name in _TYPED:
            blocks.append(_field_block(name, drawn, shown))
            continue
        blocks.append(_choice_block(name, drawn, shown))
        named: tuple[str, ...] = getattr(shown, name) or () if name in {"users", "approvers"} else ()
        if name in {"users", "approvers"}:
            blocks += _picker_blocks(name, named, drawn.groups)
        elif name == "strangers":
            blocks.append(_teams_block(shown.strangers or ()))
    for block in blocks if drawn.round else ():
        if "block_id" in block:
            block["block_id"] = f"{block['block_id']}{ROUND_SEPARATOR}{drawn.round}"
    seen = {name: drawn.form.stamp(name) for name in names}
    about = AboutSettings(drawn.channel, drawn.section.key, seen, drawn.round)
    return {
        "type": "modal",
        "callback_id": SETTINGS,
        "private_metadata": encode_data(about),
        "title": {"type": "plain_text", "text": drawn.section.title},
        "submit": {"type": "plain_text", "text": "Save"},
        "close": {"type": "plain_text", "text": "Cancel"},
        "blocks": [*blocks, context(history(drawn.access, names))],
    }


def read_window_data(metadata: str) -> SettingsWindow | None:
    """Decode a window's metadata; None if it is not that of a settings window."""
    about = decode_data(metadata, AboutSettings)
    of = next((one for one in SECTIONS if about is not None and one.key == about.section), None)
    if about is None or of is None or not about.channel:
        return None
    return SettingsWindow(about.channel, of, about.seen, about.round)


def merge_edits(
    given: ChannelValues, window: SettingsWindow, now: FormValues, names: Iterable[str]
) -> tuple[ChannelValues, tuple[str, ...]]:
    """Merge an admin's edits with what others saved meanwhile: values that the admin did not change are the others'.

    Returns the merged values, and the names of those that both changed.
    """
    touched = [name for name in names if make_stamp(given, name) != window.seen.get(name, "")]
    both = tuple(name for name in touched if now.stamp(name) != window.seen.get(name, now.stamp(name)))
    return now.values.model_copy(update={name: getattr(given, name) for name in touched}), both


def describe_conflicts(now: Access, changed: Iterable[str], both: Sequence[str]) -> list[str]:
    """Describe in mrkdwn what others changed while a window was open, and which value its fields show now."""
    lines = [MEANWHILE]
    for name in changed:
        by = now.origin(name)
        said = (
            f"“{clean(plain(describe_value_briefly(name, now), 200))}”"
            if name != "instructions"
            else clean(describe_value_briefly(name, now))
        )
        who = f"{mention(by.user)} set" if by.user else f"{describe_source(by)}:"
        end = "yours stands below instead" if name in both else "taken over below"
        lines.append(f"• *{LABELS[name]}:* {who} {said}; {end}.")
    return ["\n".join(lines)]


def _choice_block(name: str, drawn: WindowContent, shown: ChannelValues) -> Block:
    value = getattr(shown, name)
    chosen = AS_BEFORE if value is None else encode_option(value)
    options = [
        _option_object(AS_BEFORE, _describe_inherited(name, drawn)),
        *(_option_object(*one) for one in choices(name, shown, drawn)),
    ]
    initial = next(option for option in options if option["value"] == chosen)
    return _input_block(
        name, {"type": "static_select", "action_id": name, "options": options, "initial_option": initial}
    )


def choices(name: str, shown: ChannelValues, drawn: WindowContent) -> list[tuple[str, str]]:
    """List the choices for a value as pairs of (value, label). The crew that is set stays on the list."""
    if name == "crew":
        return [(one, one) for one in dict.fromkeys((*drawn.crews, *([shown.crew] if shown.crew else [])))]
    if name == "highest_tier":
        named = ((tier, drawn.models.get(tier, "")) for tier in TIERS)
        return [(tier, f"{tier} ({model})" if model else tier) for tier, model in named]
    return list(CHOICES[name])


def _field_block(name: str, drawn: WindowContent, shown: ChannelValues) -> Block:
    element: Block = {
        "type": "plain_text_input",
        "action_id": name,
        "placeholder": _text_object(_describe_inherited(name, drawn), 150),
    }
    if name == "instructions":
        element |= {"multiline": True, "max_length": LONGEST_INSTRUCTIONS}
    value = getattr(shown, name)
    if value is not None:
        element["initial_value"] = value or "off"
    off = "" if name == "zone" else " Write “off” for none."
    return _input_block(name, element, optional=True, more=off)


def _describe_inherited(name: str, drawn: WindowContent) -> str:
    """Describe the value that applies if the form sets none, and its source."""
    return f"{LEFT_TO.get(drawn.without.origin(name).source, '')}: {describe_value_briefly(name, drawn.without)}"


def _input_block(name: str, element: Block, *, optional: bool = False, more: str = "") -> Block:
    block: Block = {"type": "input", "block_id": name, "label": _text_object(LABELS[name]), "element": element}
    if optional:
        block["optional"] = True
    if name in _HELP:
        block["hint"] = _text_object(f"{_HELP[name]}{more}", 300)
    return block


def _picker_blocks(name: str, named: tuple[str, ...], groups: Sequence[tuple[str, str]]) -> list[Block]:
    people = [one for one in named if PERSON.fullmatch(one)]
    element: dict[str, Any] = {
        "type": "multi_users_select",
        "action_id": "people",
        "placeholder": _text_object("Choose people"),
    }
    if people:
        element["initial_users"] = people
    blocks = [_optional_block(f"{name}_people", f"People {_PICKED[name]}", element)]
    handles = dict(groups)
    # Groups already chosen come first: a group that the menu does not offer would be lost when the window is saved.
    keys = list(dict.fromkeys([*sorted(groups_in(named)), *handles]))[:MOST_NAMED]
    options = [_option_object(key, f"@{handles[key]}" if handles.get(key) else key) for key in keys]
    if options:
        menu: dict[str, Any] = {
            "type": "multi_static_select",
            "action_id": "groups",
            "placeholder": _text_object("Choose user groups"),
            "options": options,
        }
        if initial := [option for option in options if option["value"] in named]:
            menu["initial_options"] = initial
        blocks.append(_optional_block(f"{name}_groups", f"User groups {_PICKED[name]}", menu))
    return blocks


def _teams_block(named: Sequence[str]) -> Block:
    element: dict[str, Any] = {"type": "plain_text_input", "action_id": "teams", "max_length": 1000}
    element["placeholder"] = _text_object("T0123ABCD, T0456EFGH")
    if named:
        element["initial_value"] = ", ".join(named)
    return _optional_block("strangers_teams", "Ids of their workspaces, with commas", element)


def _optional_block(block_id: str, label: str, element: Block) -> Block:
    return {"type": "input", "block_id": block_id, "optional": True, "label": _text_object(label), "element": element}


def _option_object(value: str, label: str) -> Block:
    return {"text": _text_object(label, 75), "value": value}


def _text_object(words: str, most: int = 150) -> Block:
    return {"type": "plain_text", "text": plain(words, most)}


CHANGE = "change_settings_"
"""Prefix of the buttons' action_ids; the section's key follows."""
ADMINS_CHANGE = "Admins change this with `/leadhand settings` in the channel."
NEWER = (
    ":warning: A newer release set values here that this one does not know, so the channel is closed to be on the safe "
    "side. Bring all instances up to that release; nothing of it is lost."
)


def settings_text(
    channel: str,
    access: Access,
    handles: Mapping[str, str],
    *,
    form: bool,
    crews: Sequence[str] = (),
    newer: bool = False,
) -> Outgoing:
    """Render the settings of a channel and the source of each value; the crew only if there are several `crews`.

    `handles` has the handles of user groups by id. `form`: the reader is an admin, who gets a button for each
    section. `newer`: a newer release set values that this one cannot read.
    """
    title = f"What holds in {describe_channel(channel)}"
    blocks: list[Block] = [section(NEWER)] if newer else []
    for one in SECTIONS:
        lines = [describe_value(name, access, handles) for name in names_in(one, channel, crews)]
        head = section(f"*{one.title}*")  # in its own block, so that the button does not narrow the lines
        if form and not newer:
            head["accessory"] = button("Change", f"{CHANGE}{one.key}", channel)
        blocks += [head, *sections(lines)]
    end = [] if form else [section(ADMINS_CHANGE)]
    return Outgoing(text=title, blocks=(section(f"{title}:"), *blocks, *end))
