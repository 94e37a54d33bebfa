"""Reads each payload of Slack's once, whatever it is; what the gate and the features get is what this gives. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.request.async_request import AsyncBoltRequest

from bot.slack.receive.payloads import (
    CHANGES,
    Click,
    FileRemoved,
    HomeOpened,
    Ignored,
    IncomingMessage,
    Json,
    Malformed,
    MessageDeleted,
    MessageEdited,
    MessageShortcut,
    SlashCommand,
    StopPressed,
    ViewChanged,
    ViewSubmission,
    parse_change,
    parse_click,
    parse_command,
    parse_file_deleted,
    parse_message,
    parse_opened,
    parse_shortcut,
    parse_stop,
    parse_view_changed,
    parse_window,
)
from bot.slack.receive.reactions import Reaction, parse_reaction

Read = (
    IncomingMessage
    | MessageEdited
    | MessageDeleted
    | StopPressed
    | Reaction
    | HomeOpened
    | ViewChanged
    | FileRemoved
    | Click
    | SlashCommand
    | MessageShortcut
    | ViewSubmission
    | Malformed
    | Ignored
)
"""What a payload says, or why nothing comes of it."""
READ = "read"
"""Where the gate keeps it in Bolt's context, for the listeners."""


def _read_message(body: Json, bot_user: str) -> Read:
    changed = isinstance(event := body.get("event"), Mapping) and event.get("subtype") in CHANGES
    return (parse_change if changed else parse_message)(body, bot_user)


def _read_thumb(body: Json, bot_user: str) -> Read:
    return parse_reaction(body, bot_user) or Ignored("an emoji that says nothing here")


EVENTS: Mapping[object, Callable[[Json, str], Read]] = {
    "agent_session_stopped": lambda body, _: parse_stop(body),
    "app_context_changed": lambda body, _: parse_view_changed(body),
    "app_home_opened": lambda body, _: parse_opened(body),
    "app_mention": _read_message,
    "file_deleted": lambda body, _: parse_file_deleted(body),
    "message": _read_message,
    "reaction_added": _read_thumb,
    "reaction_removed": _read_thumb,
}
"""The events that are read, by their type."""
_OTHERS: Mapping[object, Callable[[Json], Read]] = {
    "block_actions": parse_click,
    "message_action": parse_shortcut,
    "view_submission": parse_window,
}


def read_payload(body: Json, bot_user: str) -> Read:
    """Read a payload that `set_own_workspace` returned. `bot_user` is the id of the bot's own user."""
    kind, event = body.get("type"), body.get("event")
    if kind == "event_callback":
        name = event.get("type") if isinstance(event, Mapping) else None
        return EVENTS[name](body, bot_user) if isinstance(name, str) and name in EVENTS else Ignored("another event")
    if isinstance(kind, str) and kind in _OTHERS:
        return _OTHERS[kind](body)
    return parse_command(body, bot_user) if kind is None and "command" in body else Ignored("another payload")


@dataclass(frozen=True, slots=True)
class PayloadAddressee:
    """The workspace that a payload is for, as far as it says.

    - team: the workspace; empty if it names none.
    - organisation: the organisation whose installation it is for; empty if it is for a workspace's own.
    - author: who wrote the message that was clicked in. In a shared channel the payload names the workspace of who
      clicked, and only the author, which is one of our bots, says whose message it is.
    """

    team: str = ""
    organisation: str = ""
    author: str = ""


def read_addressed(request: AsyncBoltRequest) -> PayloadAddressee:
    """Read whom a request is for."""
    body, context = request.body, request.context
    message = body.get("message")
    author = message.get("user") if isinstance(message, Mapping) else ""
    named = (context.team_id, body.get("context_team_id"), body.get("team_id"))
    team = next((_text_or_empty(one) for one in named if _text_or_empty(one).startswith("T")), "")
    organisation = _text_or_empty(context.enterprise_id) if context.is_enterprise_install else ""
    return PayloadAddressee(team, organisation, _text_or_empty(author))


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""
