"""Puts the settings of a channel into words: the label of each, its value, and where the value comes from. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.access.access_values import Access, ValueOrigin
from bot.access.quiet_hours import OFF
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.outgoing import render_moment
from handoff.contracts import NO_QUIET, ChannelTerms
from handoff.text.member_ids import PERSON

YES, NO, EVERYBODY, NAMED = "yes", "no", "everybody", "named"
"""The values of options in menus."""
SHOWN = 280
"""Most characters of the instructions that the list of all settings shows."""


@dataclass(frozen=True, slots=True)
class SettingsSection:
    """A section of the settings, which are changed in one window."""

    key: str
    title: str
    values: tuple[str, ...]


SECTIONS = (
    SettingsSection("people", "People", ("allowed", "users", "guests", "strangers", "approvers")),
    SettingsSection("work", "How I work", ("crew", "instructions", "highest_tier", "budget")),
    SettingsSection("times", "When I speak", ("follow_ups", "quiet_hours", "zone")),
)
LABELS: Mapping[str, str] = {
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
CHOICES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "allowed": ((YES, "Yes"), (NO, "No")),
    "users": ((EVERYBODY, "Everybody of this workspace"), (NAMED, "Only these")),
    "guests": ((YES, "May use it"), (NO, "May not")),
    "strangers": ((EVERYBODY, "May not"), (NAMED, "Only these")),
    "approvers": ((EVERYBODY, "As the crew says"), (NAMED, "Only these")),
    "follow_ups": ((YES, "Are heard"), (NO, "Are not heard")),
}
_SOURCES = {
    "default": "default",
    "environment": "from the environment",
    "crew": "from the crew's crew.yml",
    "file": "from channels.yml",
}
LEFT_TO = {"default": "Default", "environment": "Environment", "crew": "crew.yml", "file": "channels.yml"}
_NOTHING = {"instructions": "none", "budget": "none of the channel's own", "quiet_hours": "none"}


def names_in(section: SettingsSection, channel: str, crews: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a section's settings, without `allowed` in direct messages and `crew` if `crews` is empty."""
    without = {*(["allowed"] if channel.startswith("D") else []), *([] if crews else ["crew"])}
    return tuple(name for name in section.values if name not in without)


def describe_channel(channel: str) -> str:
    """Return the channel's name for use in a sentence, in mrkdwn."""
    return "your direct messages with me" if channel.startswith("D") else f"<#{channel}>"


def describe_value(name: str, access: Access, handles: Mapping[str, str]) -> str:
    """Return a line (mrkdwn) with a setting's value, everybody whom it names, and where it comes from."""
    value = getattr(access, name)
    said = describe_value_briefly(name, access)
    if isinstance(value, tuple) and value:
        said = ", ".join(_mention_entity(one, handles) for one in value)
    shown = said if value and isinstance(value, tuple) else clean(said)
    return f"• *{LABELS[name]}:* {shown} ({describe_origin(access, name)})"


def describe_value_briefly(name: str, access: Access) -> str:
    """Return a setting's value in a few words of plain text."""
    value = getattr(access, name)
    if name in _NOTHING and value in {"", OFF}:
        return _NOTHING[name]
    if name == "instructions":
        words = " ".join(str(value).split())
        return f"“{words}”" if len(words) <= SHOWN else f"“{words[:SHOWN].rstrip()} …” ({len(value):,} characters)"
    if name not in CHOICES:
        return plain(str(value), 75)
    if isinstance(value, bool) or not value:
        return dict(CHOICES[name])[encode_option(value)].lower().replace("may not", "may not use it")
    return f"{len(value)} named"


def encode_option(value: object) -> str:
    """Return the value of the option that a menu has for a setting's value."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return NAMED if value else EVERYBODY
    return YES if value else NO


def describe_origin(access: Access, name: str) -> str:
    """Return where a setting's value comes from, in mrkdwn; for the form, with who set it and when."""
    return describe_source(access.origin(name))


def describe_source(found: ValueOrigin) -> str:
    """Return the words for an origin, in mrkdwn; for the form, with who set the value and when."""
    if found.source != "form":
        return _SOURCES[found.source]
    return f"set by {mention(found.user)} {render_moment(found.at)}" if found.user else "set with the form"


def history(access: Access, names: Iterable[str]) -> str:
    """Return lines (mrkdwn) with who set which setting with the form, and when."""
    kept = [(name, access.origin(name)) for name in names]
    lines = [f"{LABELS[name]}: {describe_source(found)}" for name, found in kept if found.source == "form"]
    return "\n".join(lines) or "Nothing was set here yet."


def terms_words(here: ChannelTerms) -> str:
    """Return which of the channel's settings apply to a request, in plain text; "" if none does."""
    told = (
        f"instructions of {len(here.instructions):,} characters" if here.instructions else "",
        f"no tier above {here.highest}" if here.highest != "deep" else "",
        "quiet hours" if here.quiet != NO_QUIET else "",
    )
    words = ", ".join(filter(None, told))
    return f"the channel asks for {words}" if words else ""


def _mention_entity(one: str, handles: Mapping[str, str]) -> str:
    if PERSON.fullmatch(one):
        return mention(one)
    handle = handles.get(one, "")
    return clean(f"{handle} ({one})" if handle else one)  # a mention of a group would notify all of it
