"""What Slack sends, one of each kind, and the same with any field replaced by what should not be there."""

import copy
import random
from collections.abc import Iterator
from typing import Any

from bot.features.channel_settings.window import SETTINGS_WINDOW
from bot.features.erasure.view import ERASURE_WINDOW
from bot.features.requests.actions import encode_shortcut
from bot.slack.receive.payloads import MessageShortcut
from handoff.contracts import Place

Json = dict[str, Any]

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, "", "x", "x" * 5_000, "\u202e\x00", "<@U1>", [], [1], [None], [[]], {}, {"id": 1}, {"": {}},
)  # fmt: skip
"""Values that no field expects everywhere."""

_MESSAGE: Json = {
    "type": "message",
    "channel": "C1",
    "channel_type": "channel",
    "user": "U1",
    "ts": "2.2",
    "thread_ts": "1.1",
    "text": "and by region?",
    "team": "T1",
    "blocks": [{"type": "rich_text", "elements": []}],
    "files": [{"id": "F1", "name": "a.csv", "mimetype": "text/csv", "size": 3, "url_private": "https://x.example/a"}],
}
_PLAIN_MESSAGE: Json = {"ts": "1.1", "user": "U1", "text": "do it"}
_CHANGE: Json = {"type": "message", "hidden": True, "channel": "C1", "ts": "3.3", "previous_message": _PLAIN_MESSAGE}
_EDITED_MESSAGE: Json = {**_PLAIN_MESSAGE, "text": "do that", "edited": {"user": "U1", "ts": "3.0"}}
_REACTION: Json = {"user": "U1", "reaction": "+1", "item": {"type": "message", "channel": "C1", "ts": "1.1"}}
_ENTITIES: list[Json] = [
    {
        "type": "slack#/types/message_context",
        "value": {"channel_id": "C1", "message_ts": "1.1"},
        "team_id": "T1",
    },
    {"type": "slack#/types/canvas_id", "value": "F1ABC", "team_id": "T1"},
]
_EVENTS: tuple[Json, ...] = (
    {
        **_MESSAGE,
        "type": "app_mention",
        "text": "<@UBOT> do it",
        "user_profile": {"team": "T1", "is_restricted": False},
    },
    _MESSAGE,
    {**_MESSAGE, "subtype": "file_share", "upload": True},
    {**_MESSAGE, "subtype": "thread_broadcast", "root": {"ts": "1.1", "reply_users": ["U1"]}},
    {**_CHANGE, "subtype": "message_changed", "message": _EDITED_MESSAGE},
    {**_CHANGE, "subtype": "message_deleted", "deleted_ts": "1.1"},
    {"type": "agent_session_stopped", "channel": "C1", "thread_ts": "1.1", "user": "U1", "streaming_message_ts": ["2"]},
    {"type": "app_home_opened", "channel": "D1", "user": "U1", "tab": "home", "view": {"id": "V1", "type": "home"}},
    {"type": "app_home_opened", "channel": "D1", "user": "U1", "tab": "messages", "context": {"entities": _ENTITIES}},
    {"type": "app_context_changed", "channel": "D1", "user": "U1", "context": {"entities": _ENTITIES}},
    {**_MESSAGE, "channel": "D1", "channel_type": "im", "app_context": {"entities": _ENTITIES}},
    {"type": "reaction_added", **_REACTION},
)
_AUTHORIZATION: Json = {"team_id": "T1", "enterprise_id": None, "user_id": "UBOT", "is_bot": True}
_ENVELOPE: Json = {
    "type": "event_callback",
    "team_id": "T1",
    "context_team_id": "T1",
    "event_time": 1,
    "is_ext_shared_channel": False,
    "authorizations": [_AUTHORIZATION],
}
_WHO: Json = {
    "team": {"id": "T1", "domain": "t"},
    "user": {"id": "U1", "team_id": "T1", "username": "ana"},
    "trigger_id": "1.2.3",
    "api_app_id": "A1",
    "enterprise": None,
    "is_enterprise_install": False,
}
_IN_CHANNEL: Json = {**_WHO, "channel": {"id": "C1", "name": "general"}}
_CLICK: Json = {
    **_IN_CHANNEL,
    "type": "block_actions",
    "container": {"type": "message", "channel_id": "C1", "message_ts": "2.0", "thread_ts": "1.1"},
    "message": {"ts": "2.0", "thread_ts": "1.1", "text": "?"},
}
_BUTTON: Json = {"type": "button", "block_id": "b", "action_ts": "2.5", "value": '{"request": "1.1"}'}
_ACTIONS = ("answer:0", "answer:other", "stop", "feedback", "show_evidence", "unheard_of")
_THREAD = Place(team="T1", channel="C1", thread_ts="1.1")
_OPENED_ON = encode_shortcut(MessageShortcut(_THREAD, "1.1", "", "", "U2", "a", ()))
_VIEW_STATE: Json = {"values": {"request": {"text": {"type": "plain_text_input", "value": "do it"}}}}
_VIEW: Json = {
    "id": "V1",
    "type": "modal",
    "callback_id": "start_job",
    "private_metadata": _OPENED_ON,
    "state": _VIEW_STATE,
}
_SHORTCUT: Json = {
    "type": "message_action",
    "callback_id": "start_job",
    "message": {**_PLAIN_MESSAGE, "files": _MESSAGE["files"]},
}
_COMMAND: Json = {"command": "/leadhand", "team_id": "T1", "channel_id": "C1", "user_id": "U1", "trigger_id": "1.2"}


def payloads() -> list[tuple[str, Json]]:
    """Give a whole payload of each kind, each with the way it comes: `json`, `payload` (in a form) or `form`."""
    events = [{**_ENVELOPE, "event_id": f"Ev{number}", "event": event} for number, event in enumerate(_EVENTS)]
    in_forms = [
        *({**_CLICK, "actions": [{**_BUTTON, "action_id": action}]} for action in _ACTIONS),
        {**_IN_CHANNEL, **_SHORTCUT},
        {**_WHO, "type": "shortcut", "callback_id": "anything"},
        {**_WHO, "type": "view_submission", "view": _VIEW, "response_urls": []},
        *(
            {**_WHO, "type": "view_submission", "view": {**_VIEW, "callback_id": name}}
            for name in (SETTINGS_WINDOW, ERASURE_WINDOW)
        ),
        {**_WHO, "type": "view_closed", "view": _VIEW, "is_cleared": False},
        {**_CLICK, "type": "block_suggestion", "action_id": "a", "block_id": "b", "value": "x"},
    ]
    words = ("help", "status", "trace 01ABC", "stop", "budget", "nonsense here")
    return [
        *(("json", event) for event in events),
        *(("payload", payload) for payload in in_forms),
        *(("form", {**_COMMAND, "text": each}) for each in words),
    ]


def make_broken_payloads(seed: int, count: int) -> Iterator[tuple[str, Json]]:
    """Give so many payloads with one to three fields replaced, dropped or doubled, drawn by `seed`."""
    random_ = random.Random(seed)
    whole = payloads()
    for _ in range(count):
        way, payload = random_.choice(whole)
        payload = copy.deepcopy(payload)
        for _ in range(random_.choice((1, 1, 2, 3))):
            _break(payload, random_)
        yield way, payload


def _break(payload: Json, random_: random.Random) -> None:
    _put_value(payload, random_.choice(list(_paths(payload))), random_.choice((*ODD, ...)))


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*before, key)
        yield from _paths(inner, (*before, key))


def _put_value(payload: Any, path: tuple[Any, ...], odd: Any) -> None:
    for key in path[:-1]:
        payload = payload[key]
    if odd is ...:
        del payload[path[-1]]
    else:
        payload[path[-1]] = copy.deepcopy(odd)
