"""The settings of a channel as they read, and the window in which admins change a section of them. Pure."""

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
"""Stands between a block's name and the number of times that the window was drawn again: Slack leaves what was typed
into a block, whatever it is drawn with, as long as its id stays the same."""
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
    """What a window is drawn with.

    - section: what it changes.
    - channel: the channel's id.
    - without: what would hold if the form had set nothing.
    - access: what holds.
    - form: what the form set so far: its stamps are what the window was drawn by.
    - shown: the values that stand in the fields; those of `form` unless somebody typed others.
    - groups: the workspace's user groups by id and handle.
    - crews: the names to choose from where there are several.
    - models: the name of each tier's model.
    - told: lines on top, of what happened meanwhile.
    - round: how often it was drawn again.
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
    """What a window carries: where it was opened, for what, and the stamps of the values that it was drawn by."""

    channel: str
    section: SettingsSection
    seen: Mapping[str, str]
    round: int = 0


@dataclass(frozen=True, slots=True)
class AboutSettings:
    """What a window carries: a `SettingsWindow` with the key of its section."""

    channel: str
    section: str
    seen: dict[str, str]
    round: int


def settings_modal(drawn: WindowContent) -> Block:
    """Make the window."""
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
    """Read what a window carries. None if it is none of ours."""
    about = decode_data(metadata, AboutSettings)
    of = next((one for one in SECTIONS if about is not None and one.key == about.section), None)
    if about is None or of is None or not about.channel:
        return None
    return SettingsWindow(about.channel, of, about.seen, about.round)


def merge_edits(
    given: ChannelValues, window: SettingsWindow, now: FormValues, names: Iterable[str]
) -> tuple[ChannelValues, tuple[str, ...]]:
    """Merge what somebody typed with what others set meanwhile: a value that they did not touch is the others'.

    Also returns the values that both changed.
    """
    touched = [name for name in names if make_stamp(given, name) != window.seen.get(name, "")]
    both = tuple(name for name in touched if now.stamp(name) != window.seen.get(name, now.stamp(name)))
    return now.values.model_copy(update={name: getattr(given, name) for name in touched}), both


def describe_conflicts(now: Access, changed: Iterable[str], both: Sequence[str]) -> list[str]:
    """Say what others changed while a window was open, and what stands there now, in mrkdwn."""
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
    """List what a value may be set to, each with its words. The crew that is set stays on the list."""
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
    """Say what holds where the form sets nothing, and where that comes from."""
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
    # Those that are named come first: what is not offered would be lost when the window is saved.
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
"""What the action_ids of the buttons begin with; the section's key follows."""
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
    """Say what holds in a channel and where each value comes from; of the crew only if there are several `crews`.

    `handles` are those of the user groups that are named, by id. `form`: the reader is an admin, who gets a
    button for each section. `newer`: a newer release set values that this one cannot read.
    """
    title = f"What holds in {describe_channel(channel)}"
    blocks: list[Block] = [section(NEWER)] if newer else []
    for one in SECTIONS:
        lines = [describe_value(name, access, handles) for name in names_in(one, channel, crews)]
        head = section(f"*{one.title}*")  # alone beside its button, so that the lines have all of a phone's width
        if form and not newer:
            head["accessory"] = button("Change", f"{CHANGE}{one.key}", channel)
        blocks += [head, *sections(lines)]
    end = [] if form else [section(ADMINS_CHANGE)]
    return Outgoing(text=title, blocks=(section(f"{title}:"), *blocks, *end))
