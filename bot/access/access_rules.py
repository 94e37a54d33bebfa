"""Decides whether a person may use the bot in a channel: `find_access_refusal` is the table of rules, without I/O."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from bot.access.access_values import EffectiveValues
from bot.access.person_facts import PersonFacts

AccessRefusal = Literal["unknown", "gone", "bot", "place", "stranger", "guest", "not_named"]
"""Why a person may not use the bot. `unknown`: Slack could not be asked about them."""


def find_access_refusal(
    access: EffectiveValues,
    user: str,
    facts: PersonFacts | None,
    *,
    groups: Collection[str],
    is_direct: bool,
    is_admin: bool,
) -> AccessRefusal | None:
    """Return why a person may not use the bot in a channel, or None if they may.

    Args:
        access: the values that apply in the channel.
        user: the person's id.
        facts: what Slack says of them; None if it could not be asked.
        groups: the user groups they are in, of those that `access` names.
        is_direct: True in their direct message with the bot, which no setting of channels can close.
        is_admin: True for an admin, who may use the bot everywhere: its operator named them.
    """
    if not (access.allowed or is_direct or is_admin):
        return "place"
    if facts is None:
        return "unknown"
    if facts.standing in ("gone", "bot"):
        return "gone" if facts.standing == "gone" else "bot"
    if is_admin:
        return None
    if user in access.users:  # a person named by their own id may, guest or not
        return None
    if facts.standing == "stranger" and facts.team not in access.strangers:
        return "stranger"
    if facts.standing == "guest" and not access.guests:
        return "guest"
    is_named = not access.users or any(group in access.users for group in groups)
    return None if is_named else "not_named"
