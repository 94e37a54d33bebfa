"""The settings of a channel as they read: all values by section, with where each comes from. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.access.access_values import Access
from bot.slack.views.channel_words import SECTIONS, describe_channel, describe_value, names_in
from bot.slack.views.outgoing import Block, Outgoing, button, section, sections

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

    `handles` are those of the user groups that are named, by id. `form`: it is an admin who reads, and gets a button
    for each section. `newer`: what holds cannot be read here.
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
