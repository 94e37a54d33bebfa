"""Reads emoji reactions. Only thumbs up and down on the bot's own messages count. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

THUMBS_UP, THUMBS_DOWN = frozenset({"+1", "thumbsup"}), frozenset({"-1", "thumbsdown"})


@dataclass(frozen=True, slots=True)
class ThumbReaction:
    """A thumb that somebody added to a message of the bot's, or removed from it if `is_added` is False.

    `is_up` is True for a thumb up. `dedupe_key` identifies the reaction, so that a repeated delivery counts once.
    """

    team: str
    channel: str
    ts: str
    user: str
    is_up: bool
    is_added: bool
    dedupe_key: str


def parse_reaction(body: Mapping[str, Any], bot_user: str) -> ThumbReaction | None:
    """Read a thumb on a message of the bot's; None for any other emoji or message, and for the bot's own thumb."""
    event = body.get("event")
    item = event.get("item") if isinstance(event, Mapping) else None
    if not isinstance(event, Mapping) or not isinstance(item, Mapping) or item.get("type") != "message":
        return None
    name = str(event.get("reaction") or "").partition("::")[0]
    raw_values = [event.get("user"), item.get("channel"), item.get("ts"), body.get("team_id")]
    user, channel, ts, team = (one if isinstance(one, str) else "" for one in raw_values)
    if name not in THUMBS_UP | THUMBS_DOWN or event.get("item_user") != bot_user or user == bot_user:
        return None
    if not (user and channel and ts and team):
        return None
    mark = f"reaction:{event.get('event_ts') or body.get('event_id')}:{user}"
    return ThumbReaction(team, channel, ts, user, name in THUMBS_UP, event.get("type") == "reaction_added", mark)
