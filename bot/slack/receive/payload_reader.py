"""Reads each payload from Slack once, into the value that the gate and the features work with. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.request.async_request import AsyncBoltRequest

from bot.slack.receive.payloads import (
    CHANGE_SUBTYPES,
    AppContextChanged,
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
    ViewSubmission,
    parse_change,
    parse_click,
    parse_command,
    parse_context_changed,
    parse_file_deleted,
    parse_home_opened,
    parse_message,
    parse_shortcut,
    parse_stop,
    parse_view_submission,
)
from bot.slack.receive.reactions import ThumbReaction, parse_reaction

PayloadContent = (
    IncomingMessage
    | MessageEdited
    | MessageDeleted
    | StopPressed
    | ThumbReaction
    | HomeOpened
    | AppContextChanged
    | FileRemoved
    | Click
    | SlashCommand
    | MessageShortcut
    | ViewSubmission
    | Malformed
    | Ignored
)
"""The content of a payload, or `Malformed` or `Ignored` with the reason why it is not used."""
CONTENT_KEY = "read"
"""The key in Bolt's context under which the gate passes the content of the payload to the listeners."""


def _read_message(body: Json, bot_user: str) -> PayloadContent:
    is_change = isinstance(event := body.get("event"), Mapping) and event.get("subtype") in CHANGE_SUBTYPES
    return (parse_change if is_change else parse_message)(body, bot_user)


def _read_reaction(body: Json, bot_user: str) -> PayloadContent:
    return parse_reaction(body, bot_user) or Ignored("an emoji that says nothing here")


EVENT_READERS: Mapping[object, Callable[[Json, str], PayloadContent]] = {
    "agent_session_stopped": lambda body, _: parse_stop(body),
    "app_context_changed": lambda body, _: parse_context_changed(body),
    "app_home_opened": lambda body, _: parse_home_opened(body),
    "app_mention": _read_message,
    "file_deleted": lambda body, _: parse_file_deleted(body),
    "message": _read_message,
    "reaction_added": _read_reaction,
    "reaction_removed": _read_reaction,
}
"""The functions that read an event, by the event's type. Events of other types are ignored."""
_PAYLOAD_READERS: Mapping[object, Callable[[Json], PayloadContent]] = {
    "block_actions": parse_click,
    "message_action": parse_shortcut,
    "view_submission": parse_view_submission,
}


def read_payload(body: Json, bot_user: str) -> PayloadContent:
    """Return the content of a payload that `replace_workspace_id` returned. `bot_user` is the bot's own user id."""
    kind, event = body.get("type"), body.get("event")
    if kind == "event_callback":
        name = event.get("type") if isinstance(event, Mapping) else None
        return (
            EVENT_READERS[name](body, bot_user)
            if isinstance(name, str) and name in EVENT_READERS
            else Ignored("another event")
        )
    if isinstance(kind, str) and kind in _PAYLOAD_READERS:
        return _PAYLOAD_READERS[kind](body)
    return parse_command(body, bot_user) if kind is None and "command" in body else Ignored("another payload")


@dataclass(frozen=True, slots=True)
class PayloadAddressee:
    """The installation that a payload is for, as far as the payload says.

    - team: the id of the workspace; empty if it names none.
    - organisation: the id of the organisation whose installation it is for; empty if the workspace has its own.
    - author: the user id of the bot that wrote the message that was clicked in; empty for any other payload. In a
      shared channel the payload names the workspace of the person who clicked, so only the author shows which
      installation is meant.
    """

    team: str = ""
    organisation: str = ""
    author: str = ""


def read_addressee(request: AsyncBoltRequest) -> PayloadAddressee:
    """Read which installation a request is for."""
    body, context = request.body, request.context
    message = body.get("message")
    author = message.get("user") if isinstance(message, Mapping) else ""
    team_ids = (context.team_id, body.get("context_team_id"), body.get("team_id"))
    team = next((_text_or_empty(one) for one in team_ids if _text_or_empty(one).startswith("T")), "")
    organisation = _text_or_empty(context.enterprise_id) if context.is_enterprise_install else ""
    return PayloadAddressee(team, organisation, _text_or_empty(author))


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""
