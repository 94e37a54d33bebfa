"""Reads from any payload who acts and where, as one `Action`. Pure.

What a payload says about a person counts only against them: it may show that they are a guest or of another workspace,
never that they are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bot.slack.receive.payload_reader import EVENT_READERS, PayloadContent
from bot.slack.receive.payloads import (
    AppContextChanged,
    Click,
    HomeOpened,
    Ignored,
    IncomingMessage,
    Json,
    MessageEdited,
    MessageShortcut,
    SlashCommand,
    StopPressed,
    ViewSubmission,
    find_window_channel,
)
from bot.slack.receive.reactions import ThumbReaction
from handoff.access.audit_entry import AuditAction
from handoff.contracts import Place

ActionKind = Literal["mention", "message", "edit", "stop", "home", "click", "command", "shortcut", "view", "event"]
"""What somebody did. A direct message to the bot counts as `mention`, any other message without one as `message`.
`event` is any event that has no kind of its own."""
AuditedDeeds = Mapping[str, AuditAction]
"""The deed that a click or a command would carry out, by the beginning of the button's action_id, or by a slash and the
first word of the command."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a person or another bot did in Slack.

    - user: the id of the person or bot that acts.
    - place: where it was done, and where a refusal is shown. Its `thread_ts` is empty if a reply in the thread would
      not be seen.
    - thread: the thread that the action concerns; its `thread_ts` may be empty.
    - dedupe_key: identifies the action, so that a refusal is told once, even if Slack repeats the payload.
    - teams: the ids of the workspaces that the payload says the person belongs to.
    - is_guest: True if the payload says that the person is a guest.
    - is_bot: True if another bot acts.
    - in_thread: True if the action was done in a thread.
    - deed: what the action would do, for the audit log; None if it is not recorded.
    """

    kind: ActionKind
    user: str
    place: Place
    thread: Place
    dedupe_key: str
    teams: frozenset[str] = frozenset()
    is_guest: bool = False
    is_bot: bool = False
    in_thread: bool = False
    deed: AuditAction | None = None

    @property
    def is_direct(self) -> bool:
        """True in a direct message with the bot."""
        return self.place.channel.startswith("D")


def read_installed_teams(body: Json) -> frozenset[str]:
    """Return the ids of the workspaces in the payload's `authorizations`, whose installations it is for; maybe none."""
    authorizations = body.get("authorizations")
    rows = [row for row in authorizations if isinstance(row, Mapping)] if isinstance(authorizations, list) else []
    return frozenset(row["team_id"] for row in rows if isinstance(row.get("team_id"), str) and row["team_id"])


def is_for_organisation(body: Json) -> bool:
    """Return True if an event is meant for the installation in a whole organisation, not in one workspace."""
    authorizations = body.get("authorizations")
    rows = [row for row in authorizations if isinstance(row, Mapping)] if isinstance(authorizations, list) else []
    return bool(rows) and all(row.get("is_enterprise_install") is True for row in rows)


def replace_workspace_id(body: Mapping[str, Any], team: str) -> dict[str, Any]:
    """Return the payload with the id of our workspace in it, since all data is stored under that id.

    In a channel that is shared with another workspace, Slack may name the person's workspace instead.
    """
    new_body: dict[str, Any] = dict(body)
    if isinstance(body.get("team"), Mapping) or "user" in body:
        team_field = body.get("team")
        new_body["team"] = {**(team_field if isinstance(team_field, Mapping) else {}), "id": team}
    if body.get("type") == "event_callback" or "command" in body:
        new_body["team_id"] = team
    return new_body


def read_action(body: Json, content: PayloadContent, deeds: AuditedDeeds) -> Action | None:
    """Return the action in a payload, or None if nobody acts.

    `body` comes from `replace_workspace_id`, and `content` from `read_payload`. `deeds` says what clicks and commands
    do.
    """
    if isinstance(content, Click):
        return _read_click(body, content, deeds)
    if isinstance(content, MessageShortcut):
        reply_place = content.place if content.place.thread_ts != content.message_ts else _drop_thread(content.place)
        return _make_action(body, "shortcut", content.user, reply_place, content.place, content.trigger_id, "asked")
    if isinstance(content, ViewSubmission):
        return _make_action(body, "view", content.user, content.place, content.place, content.id, "asked")
    if isinstance(content, SlashCommand):
        place = Place(team=content.team, channel=content.channel, thread_ts="")
        return _make_action(
            body,
            "command",
            content.user,
            place,
            place,
            content.trigger_id,
            deeds.get(f"/{content.first_word}", "asked"),
        )
    event = body.get("event")
    return _read_event(body, event, content) if isinstance(event, Mapping) else None


def _read_event(body: Json, event: Json, content: PayloadContent) -> Action | None:
    match content:
        case IncomingMessage():
            return _read_message(event, content)
        case MessageEdited(place, ts, user):
            return Action("edit", user, place, place, f"{ts}:edit", in_thread=True)
        case StopPressed(place, user):
            return Action("stop", user, place, place, f"{place.thread_ts}:stop", in_thread=True, deed="stopped")
        case ThumbReaction(team, channel):
            place = Place(team=team, channel=channel, thread_ts="")
            return Action("event", content.user, place, place, content.dedupe_key)
        case HomeOpened(place, user, direct):
            return Action("event" if direct else "home", user, place, place, str(body.get("event_id", "")))
        case AppContextChanged(place, user):
            return Action("event", user, place, place, str(body.get("event_id", "")))
        case Ignored() if event.get("type") not in EVENT_READERS:
            return _read_other_event(body, event)
        case _:
            return None  # everybody may delete their own message, and no listener takes the rest


def _read_message(event: Json, message: IncomingMessage) -> Action:
    profile = event.get("user_profile")
    profile = profile if isinstance(profile, Mapping) else {}
    is_addressed = message.mentions_bot or message.is_direct
    return Action(
        "mention" if is_addressed else "message",
        message.user,
        message.private_place,
        message.place,
        message.ts,
        teams=_select_team_ids(
            event.get("user_team"), event.get("team"), event.get("source_team"), profile.get("team")
        ),
        is_guest=profile.get("is_restricted") is True or profile.get("is_ultra_restricted") is True,
        is_bot=message.by_bot,
        in_thread=message.in_thread,
        deed="asked" if is_addressed and not message.has_mention_event else None,
    )


def _read_other_event(body: Json, event: Json) -> Action | None:
    """Return the action of any other event that names a user, so that event types added later are checked too."""
    user, channel = event.get("user"), event.get("channel")
    team = body.get("team_id")
    if not isinstance(user, str) or not user or not isinstance(team, str):
        return None
    place = Place(team=team, channel=channel if isinstance(channel, str) else "", thread_ts="")
    return Action("event", user, place, place, str(body.get("event_id", "")))


def _read_click(body: Json, click: Click, deeds: AuditedDeeds) -> Action:
    if not click.place.channel:  # in a window or a home, whose metadata says where it was opened
        place = click.place.model_copy(update={"channel": find_window_channel(click.metadata)})
        return _make_action(body, "view", click.user, place, place, click.window_id, "asked")
    usual: AuditAction = next((deeds[one] for one in deeds if click.action_id.startswith(one)), "asked")
    deed = deeds.get(click.action_id, usual)
    return _make_action(body, "click", click.user, click.place, click.place, click.dedupe_keys[0], deed)


def _make_action(
    body: Json, kind: ActionKind, user: str, place: Place, thread: Place, dedupe_key: str, deed: AuditAction
) -> Action:
    user_field = body.get("user")
    team = user_field.get("team_id") if isinstance(user_field, Mapping) else None
    return Action(
        kind, user, place, thread, dedupe_key, teams=_select_team_ids(team), in_thread=bool(thread.thread_ts), deed=deed
    )


def read_claimed_teams(body: Json) -> frozenset[str]:
    """Return the ids of the workspaces that an interactive payload or a command names.

    Call it with the payload as Slack sent it: `replace_workspace_id` overwrites these ids.
    """
    team = body.get("team")
    return _select_team_ids(
        team.get("id") if isinstance(team, Mapping) else None, body.get("team_id") if "command" in body else None
    )


def _select_team_ids(*values: object) -> frozenset[str]:
    """Return those of the values that are ids of workspaces (T...), not of organisations (E...)."""
    return frozenset(one for one in values if isinstance(one, str) and one.startswith("T"))


def _drop_thread(place: Place) -> Place:
    return place.model_copy(update={"thread_ts": ""})
