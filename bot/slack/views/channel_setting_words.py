"""Renders the settings of a channel in words: the label and value of each, and where the value comes from. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.access.access_values import EffectiveValues, ValueOrigin
from bot.access.quiet_hours import OFF
from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.outgoing import render_moment
from handoff.contracts import NO_QUIET_TIMES, ChannelTerms
from handoff.text.slack_ids import PERSON_ID

YES, NO, EVERYBODY, NAMED_MEMBERS = "yes", "no", "everybody", "named"
"""The values of the options in the menus of `SETTING_CHOICES`."""
MAX_INSTRUCTIONS_CHARACTERS = 280
"""Maximum number of characters of the instructions in the list of all settings."""


@dataclass(frozen=True, slots=True)
class SettingsSection:
    """A group of settings that are changed in one window."""

    key: str
    title: str
    setting_names: tuple[str, ...]


SETTINGS_SECTIONS = (
    SettingsSection("people", "People", ("allowed", "users", "guests", "strangers", "approvers")),
    SettingsSection("work", "How I work", ("crew", "instructions", "highest_tier", "budget")),
    SettingsSection("times", "When I speak", ("follow_ups", "quiet_hours", "zone")),
)
SETTING_LABELS: Mapping[str, str] = {
    "allowed": "Use in this channel",
    "users": "Who may use it",
    "guests": "Guests of this workspace",
    "strangers": "People of other workspaces (Slack Connect)",
    "approvers": "Who may approve",
    "crew": "Which crew works",
    "instructions": "Instructions",
    "highest_tier": "Highest model tier",
    "budget": "Budget a day",
    "follow_ups": "Replies without a mention",
    "quiet_hours": "Quiet hours",
    "zone": "Time zone",
}
SETTING_CHOICES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "allowed": ((YES, "Yes"), (NO, "No")),
    "users": ((EVERYBODY, "Everybody of this workspace"), (NAMED_MEMBERS, "Only these")),
    "guests": ((YES, "May use it"), (NO, "May not")),
    "strangers": ((EVERYBODY, "May not"), (NAMED_MEMBERS, "Only these")),
    "approvers": ((EVERYBODY, "As the crew says"), (NAMED_MEMBERS, "Only these")),
    "follow_ups": ((YES, "Are heard"), (NO, "Are not heard")),
}
_SOURCE_PHRASES = {
    "default": "default",
    "environment": "from the environment",
    "crew": "from the crew's crew.yml",
    "file": "from channels.yml",
}
SOURCE_LABELS = {"default": "Default", "environment": "Environment", "crew": "crew.yml", "file": "channels.yml"}
_EMPTY_WORDS = {"instructions": "none", "budget": "none of the channel's own", "quiet_hours": "none"}


def list_setting_names(section: SettingsSection, channel: str, crews: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a section's settings, without `allowed` in direct messages and `crew` if `crews` is empty."""
    without = {*(["allowed"] if channel.startswith("D") else []), *([] if crews else ["crew"])}
    return tuple(name for name in section.setting_names if name not in without)


def describe_channel(channel: str) -> str:
    """Return the channel's name for use in a sentence, in mrkdwn."""
    return "your direct messages with me" if channel.startswith("D") else f"<#{channel}>"


def render_setting_line(name: str, access: EffectiveValues, handles: Mapping[str, str]) -> str:
    """Return a line (mrkdwn) with a setting's value, naming each person and group, and where the value comes from."""
    value = getattr(access, name)
    value_text = describe_value_briefly(name, access)
    if isinstance(value, tuple) and value:
        value_text = ", ".join(_render_member(one, handles) for one in value)
    shown_text = value_text if value and isinstance(value, tuple) else clean_mrkdwn(value_text)
    return f"• *{SETTING_LABELS[name]}:* {shown_text} ({describe_setting_origin(access, name)})"


def describe_value_briefly(name: str, access: EffectiveValues) -> str:
    """Return a setting's value in a few words of plain text."""
    value = getattr(access, name)
    if name in _EMPTY_WORDS and value in {"", OFF}:
        return _EMPTY_WORDS[name]
    if name == "instructions":
        words = " ".join(str(value).split())
        return (
            f"“{words}”"
            if len(words) <= MAX_INSTRUCTIONS_CHARACTERS
            else f"“{words[:MAX_INSTRUCTIONS_CHARACTERS].rstrip()} …” ({len(value):,} characters)"
        )
    if name not in SETTING_CHOICES:
        return to_plain_line(str(value), 75)
    if isinstance(value, bool) or not value:
        return dict(SETTING_CHOICES[name])[encode_option(value)].lower().replace("may not", "may not use it")
    return f"{len(value)} named"


def encode_option(value: object) -> str:
    """Return the menu option for a setting's value: a string itself, or `YES`, `NO`, `EVERYBODY` or `NAMED_MEMBERS`."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return NAMED_MEMBERS if value else EVERYBODY
    return YES if value else NO


def describe_setting_origin(access: EffectiveValues, name: str) -> str:
    """Return where a setting's value comes from, in mrkdwn, with who set it and when if that was in the form."""
    return describe_value_origin(access.find_origin(name))


def describe_value_origin(origin: ValueOrigin) -> str:
    """Return an origin in mrkdwn words, with who set the value and when if that was in the form."""
    if origin.source != "form":
        return _SOURCE_PHRASES[origin.source]
    return f"set by {render_mention(origin.user)} {render_moment(origin.at)}" if origin.user else "set with the form"


def render_history(access: EffectiveValues, names: Iterable[str]) -> str:
    """Return a line (mrkdwn) for each setting that was set in the form: who set it, and when."""
    origins = [(name, access.find_origin(name)) for name in names]
    lines = [
        f"{SETTING_LABELS[name]}: {describe_value_origin(origin)}"
        for name, origin in origins
        if origin.source == "form"
    ]
    return "\n".join(lines) or "Nothing was set here yet."


def describe_terms(terms: ChannelTerms) -> str:
    """Return which of the channel's settings apply to a request, in plain text; "" if none does."""
    phrases = (
        f"instructions of {len(terms.instructions):,} characters" if terms.instructions else "",
        f"no tier above {terms.highest}" if terms.highest != "deep" else "",
        "quiet hours" if terms.quiet != NO_QUIET_TIMES else "",
    )
    words = ", ".join(filter(None, phrases))
    return f"the channel asks for {words}" if words else ""


def _render_member(member_id: str, handles: Mapping[str, str]) -> str:
    if PERSON_ID.fullmatch(member_id):
        return render_mention(member_id)
    handle = handles.get(member_id, "")
    # A mention of a group would notify all of it.
    return clean_mrkdwn(f"{handle} ({member_id})" if handle else member_id)
