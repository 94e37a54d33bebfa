"""Whom a payload is for, where the app is installed in several workspaces. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.request.async_request import AsyncBoltRequest


@dataclass(frozen=True, slots=True)
class Addressed:
    """The workspace that a payload is for, as far as it says.

    - team: the workspace; empty if it names none.
    - organisation: the organisation whose installation it is for; empty if it is for a workspace's own.
    - author: who wrote the message that was clicked in. In a shared channel the payload names the workspace of who
      clicked, and only the author, which is one of our bots, says whose message it is.
    """

    team: str = ""
    organisation: str = ""
    author: str = ""


def read_addressed(request: AsyncBoltRequest) -> Addressed:
    """Read whom a request is for."""
    body, context = request.body, request.context
    message = body.get("message")
    author = message.get("user") if isinstance(message, Mapping) else ""
    named = (context.team_id, body.get("context_team_id"), body.get("team_id"))
    team = next((_text_or_empty(one) for one in named if _text_or_empty(one).startswith("T")), "")
    organisation = _text_or_empty(context.enterprise_id) if context.is_enterprise_install else ""
    return Addressed(team, organisation, _text_or_empty(author))


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""
