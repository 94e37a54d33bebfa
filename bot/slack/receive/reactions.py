"""Reads emoji reactions. Only thumbs up and down on the bot's own messages count. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UP, DOWN = frozenset({"+1", "thumbsup"}), frozenset({"-1", "thumbsdown"})


@dataclass(frozen=True, slots=True)
class Reaction:
    """A thumb that somebody added to a message of the bot's, or removed from it if `added` is False.

    `good` is True for a thumb up. `mark` identifies the reaction, so that a repeated delivery counts once.
    """

    team: str
    channel: str
    ts: str
    user: str
    good: bool
    added: bool
    mark: str


def parse_reaction(body: Mapping[str, Any], bot_user: str) -> Reaction | None:
    """Read a thumb on a message of the bot's; None for any other emoji or message, and for the bot's own thumb."""
    event = body.get("event")
    item = event.get("item") if isinstance(event, Mapping) else None
    if not isinstance(event, Mapping) or not isinstance(item, Mapping) or item.get("type") != "message":
        return None
    name = str(event.get("reaction") or "").partition("::")[0]
    named = [event.get("user"), item.get("channel"), item.get("ts"), body.get("team_id")]
    user, channel, ts, team = (one if isinstance(one, str) else "" for one in named)
    if name not in UP | DOWN or event.get("item_user") != bot_user or user == bot_user:
        return None
    if not (user and channel and ts and team):
        return None
    mark = f"reaction:{event.get('event_ts') or body.get('event_id')}:{user}"
    return Reaction(team, channel, ts, user, name in UP, event.get("type") == "reaction_added", mark)
