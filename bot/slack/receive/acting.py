"""Who acts where, by what Slack sends: pure, one value for every way in.

What a payload says of a person is used against them only: it may show that somebody is a guest or of another
workspace, never that they are not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bot.slack.receive.payloads import (
    CHANGES,
    Command,
    Edited,
    Incoming,
    Json,
    Malformed,
    parse_change,
    parse_click,
    parse_command,
    parse_message,
    parse_shortcut,
    parse_stop,
)
from bot.slack.receive.reactions import reaction_in
from handoff.access.audit_entry import Deed
from handoff.contracts import Place

Way = Literal["mention", "message", "edit", "stop", "home", "click", "command", "shortcut", "view", "event"]
"""How somebody comes in. `mention`: also a direct message to the bot. `message`: without one. `event`: any other."""
Deeds = Mapping[str, Deed]
"""What would be done, by what begins the action_id of a button, or by a slash and the word of a command."""


@dataclass(frozen=True, slots=True)
class Acting:
    """Somebody who acts.

    - place: where; a refusal is told there. Its `thread_ts` is empty where a reply in a thread would not be seen.
    - thread: the thread that it is about; its `thread_ts` may be empty.
    - mark: names what was done, so that what is delivered twice is told of once.
    - teams: the ids of workspaces that the payload says the person is of.
    - guest: True if the payload says that the person is a guest.
    - deed: what would be done, for the audit; empty: nothing that is worth a line.
    """

    way: Way
    user: str
    place: Place
    thread: Place
    mark: str
    teams: frozenset[str] = frozenset()
    guest: bool = False
    bot: bool = False
    in_thread: bool = False
    deed: Deed | None = None

    @property
    def direct(self) -> bool:
        """True in a direct message with the bot."""
        return self.place.channel.startswith("D")


def installed_in(body: Json) -> frozenset[str]:
    """Collect the workspaces whose installation a payload is meant for; empty if it does not say."""
    found = body.get("authorizations")
    rows = [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []
    return frozenset(row["team_id"] for row in rows if isinstance(row.get("team_id"), str) and row["team_id"])


def at_home(body: Mapping[str, Any], team: str) -> dict[str, Any]:
    """Give the payload with our workspace as the one that everything is kept by.

    In a channel that is shared with another workspace Slack may name that one, as whose the person is.
    """
    kept: dict[str, Any] = dict(body)
    if isinstance(body.get("team"), Mapping) or "user" in body:
        named = body.get("team")
        kept["team"] = {**(named if isinstance(named, Mapping) else {}), "id": team}
    if body.get("type") == "event_callback" or "command" in body:
        kept["team_id"] = team
    return kept


def acting(body: Json, bot_user: str, deeds: Deeds) -> Acting | None:
    """Read who acts where from a payload that is `at_home`; None if nobody does, or it cannot be read.

    `deeds` say what clicks and commands would do.
    """
    kind = body.get("type")
    if kind == "event_callback":
        return _of_event(body, bot_user)
    if kind == "block_actions":
        return _of_click(body, deeds)
    if kind == "message_action":
        shortcut = parse_shortcut(body)
        if isinstance(shortcut, Malformed):
            return None
        seen = shortcut.place if shortcut.place.thread_ts != shortcut.message_ts else _top(shortcut.place)
        return _person(body, "shortcut", shortcut.user, seen, shortcut.place, shortcut.trigger, "asked")
    if kind == "view_submission":
        return _of_view(body)
    command = parse_command(body) if kind is None and "command" in body else None
    return _of_command(body, command, deeds) if isinstance(command, Command) else None


def _of_event(body: Json, bot_user: str) -> Acting | None:
    event = body.get("event")
    if not isinstance(event, Mapping):
        return None
    kind = event.get("type")
    if kind in {"message", "app_mention"} and event.get("subtype") in CHANGES:
        change = parse_change(body, bot_user)
        if not isinstance(change, Edited):  # who takes back what they said needs no leave
            return None
        return Acting("edit", change.user, change.place, change.place, f"{change.ts}:edit", in_thread=True)
    if kind in {"message", "app_mention"}:
        said = parse_message(body, bot_user)
        return _of_message(event, said) if isinstance(said, Incoming) else None
    if kind == "agent_session_stopped":
        stopped = parse_stop(body)
        if isinstance(stopped, Malformed):
            return None
        mark = f"{stopped.place.thread_ts}:stop"
        return Acting("stop", stopped.user, stopped.place, stopped.place, mark, in_thread=True, deed="stopped")
    if kind in {"reaction_added", "reaction_removed"}:
        return _of_reaction(body, bot_user)
    return _of_other(body, event)


def _of_reaction(body: Json, bot_user: str) -> Acting | None:
    """Read a thumb on a message of ours; nobody is looked up for any other emoji."""
    found = reaction_in(body, bot_user)
    if found is None:
        return None
    place = Place(team=found.team, channel=found.channel, thread_ts="")
    return Acting("event", found.user, place, place, found.mark)


def _of_message(event: Json, said: Incoming) -> Acting:
    profile = event.get("user_profile")
    profile = profile if isinstance(profile, Mapping) else {}
    addressed = said.mentioned or said.direct
    return Acting(
        "mention" if addressed else "message",
        said.user,
        said.private_place,
        said.place,
        said.ts,
        teams=_teams(event.get("user_team"), event.get("team"), event.get("source_team"), profile.get("team")),
        guest=profile.get("is_restricted") is True or profile.get("is_ultra_restricted") is True,
        bot=said.by_bot,
        in_thread=said.in_thread,
        deed="asked" if addressed and not said.twin else None,
    )


def _of_other(body: Json, event: Json) -> Acting | None:
    """Read any other event that names somebody: what is listened to some day is not let through unseen."""
    user, channel = event.get("user"), event.get("channel")
    team = body.get("team_id")
    if not isinstance(user, str) or not user or not isinstance(team, str):
        return None
    place = Place(team=team, channel=channel if isinstance(channel, str) else "", thread_ts="")
    way: Way = "home" if event.get("type") == "app_home_opened" and event.get("tab") != "messages" else "event"
    return Acting(way, user, place, place, str(body.get("event_id", "")))


def _of_click(body: Json, deeds: Deeds) -> Acting | None:
    actions = body.get("actions")
    first = actions[0] if isinstance(actions, list) and actions and isinstance(actions[0], Mapping) else {}
    click = parse_click(body, {**first, "value": "-"})
    if isinstance(click, Malformed):  # in a window, unless it cannot be read
        return _of_view(body)
    name = str(first.get("action_id", ""))
    usual: Deed = next((deeds[one] for one in deeds if name.startswith(one)), "asked")
    deed = deeds.get(name, usual)
    return _person(body, "click", click.user, click.place, click.place, click.dedupe[0], deed)


def _of_view(body: Json) -> Acting | None:
    """Read a window that was sent, or clicked in. Its metadata (JSON) says where it was opened: see `_opened_in`."""
    user, view = body.get("user"), body.get("view")
    name = user.get("id") if isinstance(user, Mapping) else None
    if not isinstance(name, str) or not name or not isinstance(view, Mapping):
        return None
    place = Place(team=body["team"]["id"], channel=_opened_in(view.get("private_metadata")), thread_ts="")
    return _person(body, "view", name, place, place, str(view.get("id", "")), "asked")


def _opened_in(metadata: object) -> str:
    """Read the channel in a window's metadata: `channel`, or the second of `place`. Empty: what holds everywhere."""
    try:
        told = json.loads(str(metadata or "{}"))
        channel = told.get("channel") or told["place"][1]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return ""
    return channel if isinstance(channel, str) else ""


def _of_command(body: Json, command: Command, deeds: Deeds) -> Acting:
    place = Place(team=command.team, channel=command.channel, thread_ts="")
    mark = str(body.get("trigger_id", ""))
    return _person(body, "command", command.user, place, place, mark, deeds.get(f"/{command.word}", "asked"))


def _person(body: Json, way: Way, user: str, place: Place, thread: Place, mark: str, deed: Deed) -> Acting:
    named = body.get("user")
    team = named.get("team_id") if isinstance(named, Mapping) else None
    return Acting(way, user, place, thread, mark, teams=_teams(team), in_thread=bool(thread.thread_ts), deed=deed)


def claimed(body: Json) -> frozenset[str]:
    """Collect the workspaces that an interactive payload or a command names: to be read before `at_home`."""
    team = body.get("team")
    return _teams(
        team.get("id") if isinstance(team, Mapping) else None, body.get("team_id") if "command" in body else None
    )


def _teams(*named: object) -> frozenset[str]:
    """Keep the ids of workspaces; those of organisations (E...) say nothing of which one."""
    return frozenset(one for one in named if isinstance(one, str) and one.startswith("T"))


def _top(place: Place) -> Place:
    return place.model_copy(update={"thread_ts": ""})
