"""Pure functions that parse Slack's payloads (JSON) into dataclasses.

A payload without a required field becomes `Malformed`, and one that does not concern the bot `Ignored`. Neither is an
exception, and neither carries the body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.slack.receive.markup import PERSON_MENTION, to_plain_text
from bot.slack.receive.message_reader import read_message
from handoff.contracts import Attachment, Place
from handoff.text.invisible_characters import remove_invisible
from handoff.text.slack_ids import PERSON_ID

Json = Mapping[str, Any]

CHANNEL_EVENTS = {
    "channel": "message.channels",
    "group": "message.groups",
    "im": "message.im",
    "mpim": "message.mpim",
}
"""The `channel_type`s whose messages are read, and the event in the manifest that delivers them."""
_SPOKEN_SUBTYPES = frozenset({None, "file_share", "thread_broadcast", "me_message"})
"""Subtypes of messages in which a person says something. All others report changes, joins and the like."""
CHANGE_SUBTYPES = frozenset({"message_changed", "message_deleted"})
"""Subtypes that report a change of a message; `parse_change` reads them."""
_MAX_ID_LENGTH = 80
_CHANNEL_ID = re.compile(r"[CG][A-Z0-9]{2,40}")
_FILE_ID = re.compile(r"F[A-Z0-9]{2,40}")
_TIMESTAMP = re.compile(r"\d{1,12}(\.\d{1,9})?")
_MENTION = re.compile(rf"<(?:@({PERSON_ID.pattern})|!(?:subteam|here|channel|everyone))")


@dataclass(frozen=True, slots=True)
class Malformed:
    """A payload that cannot be read. `reason` names the field that is missing or of a wrong type."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """A payload that the bot does nothing about, and the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class AppContext:
    """What a person has open in Slack: a channel, a thread in it (by a message's `ts`), or a canvas (by its id)."""

    channel: str = ""
    thread_ts: str = ""
    canvas: str = ""


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message that somebody wrote.

    - user: the id of its author: a person, or another bot if `by_bot`.
    - text: its words as plain text, without the bot's own name and without forwarded messages.
    - attachments: its files, the tables that the author pasted, and the messages that the author forwards.
    - mentions_bot: True if it mentions the bot.
    - is_direct: True in a direct message with the bot.
    - in_thread: True for a reply in a thread.
    - has_mention_event: True if Slack sends the same message as an `app_mention` event too.
    - may_lack_files: True for an `app_mention` without files: Slack may have put them only into the `message` event.
    - mentions_others: True if it mentions other people, a user group or a whole channel.
    - dedupe_keys: the ids by which a repeated delivery is recognised.
    - open_view: in a direct message, what the author has open in Slack. It is kept only if the request points at it.
    """

    place: Place
    ts: str
    user: str
    text: str
    attachments: tuple[Attachment, ...]
    mentions_bot: bool
    is_direct: bool
    in_thread: bool
    has_mention_event: bool
    may_lack_files: bool
    by_bot: bool
    mentions_others: bool
    dedupe_keys: tuple[str, ...]
    app_context: AppContext | None = None

    @property
    def private_place(self) -> Place:
        """The place for an ephemeral reply to the author: in a thread without replies, Slack would not show it."""
        return self.place if self.in_thread else _drop_thread(self.place)


@dataclass(frozen=True, slots=True)
class MessageEdited:
    """A message whose author changed its words or a table in it.

    `text` and `tables` are its new content. `edited_at` is the time of the edit, in seconds since the epoch.
    """

    place: Place
    ts: str
    user: str
    text: str
    tables: tuple[Attachment, ...]
    edited_at: float
    dedupe_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MessageDeleted:
    """A message that was deleted. `user` is the id of its author; "" if Slack does not say."""

    place: Place
    ts: str
    dedupe_keys: tuple[str, ...]
    user: str = ""


@dataclass(frozen=True, slots=True)
class Click:
    """A click on a button, or on an entry of a menu.

    - place: the thread of the message that was clicked in; without a channel in a window or the App Home.
    - message_ts: the id of that message; empty in a window or the App Home.
    - value: the value of the button or entry; empty if it has none.
    - action: the action_id of the button or menu.
    - trigger_id: Slack's trigger_id, with which one window can be opened within three seconds.
    - window: the id of the window or App Home that was clicked in; empty in a message.
    - metadata: the `private_metadata` of that window or home.
    - in_home: True if it was clicked in the App Home.
    - values: the values of the input fields beside the button, by block and action.
    - response_url: the address at which the message of the button can be replaced.
    - is_posted: True if everybody sees the message, so that it can be edited; False for an ephemeral one.
    """

    place: Place
    message_ts: str
    user: str
    value: str
    dedupe_keys: tuple[str, ...]
    action_id: str = ""
    trigger_id: str = ""
    window_id: str = ""
    metadata: str = ""
    in_home: bool = False
    values: Json = field(default_factory=dict)
    response_url: str = ""
    is_posted: bool = False

    @property
    def private_place(self) -> Place:
        """The place for an ephemeral reply to the click: in a thread without replies, Slack would not show it."""
        return self.place if self.place.thread_ts != self.message_ts else _drop_thread(self.place)


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command.

    - word: its first word, in lower case.
    - rest: the words after the first, as they were typed.
    - trigger_id: Slack's trigger_id; empty if the command cannot open a window.
    - text: all its words as plain text; empty if it was not typed, as for a button that turns a page.
    """

    team: str
    channel: str
    user: str
    first_word: str
    rest: str
    trigger_id: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class MessageShortcut:
    """A use of the message shortcut, which makes a request from a message.

    - user: the id of the person who used the shortcut.
    - author: the id of the author of the message; empty if a bot without a user wrote it.
    - text: the words of the message as plain text. The job reads the message again, with all that it forwards.
    - cut: True if `text` is only the beginning of the words.
    """

    place: Place
    message_ts: str
    user: str
    trigger_id: str
    author: str
    text: str
    attachments: tuple[Attachment, ...]
    is_cut: bool = False

    @property
    def private_place(self) -> Place:
        """The place for an ephemeral reply about the shortcut: in a thread without replies, Slack would not show it."""
        return self.place if self.place.thread_ts != self.message_ts else _drop_thread(self.place)


@dataclass(frozen=True, slots=True)
class ViewSubmission:
    """A window that a person submitted.

    - hash: Slack's hash of the window's state, which differs each time that the same window is submitted.
    - metadata: the `private_metadata` that the window was opened with.
    - values: what the person filled in, by block and action.
    - root_id: the id of the lowest window under this one; empty if there is none.
    - first_block: the block_id of its first input field; empty if it has none.
    """

    id: str
    hash: str
    team: str
    user: str
    metadata: str
    values: Json
    root_id: str = ""
    first_block: str = ""

    @property
    def dedupe_keys(self) -> tuple[str, ...]:
        """The keys of this submission. After a fault, the same window may be submitted again, with another `hash`."""
        return (f"view:{self.id}:{self.hash}",)

    @property
    def place(self) -> Place:
        """The channel that the window was opened in, without a thread."""
        return Place(team=self.team, channel=find_window_channel(self.metadata), thread_ts="")

    def read_text(self, block: str, action: str) -> str:
        """Return the stripped text of an input field, by its block_id and action_id; "" if there is none."""
        return str(_read_mapping(_read_mapping(self.values, block), action).get("value") or "").strip()


@dataclass(frozen=True, slots=True)
class StopPressed:
    """A click on Slack's own Stop button of a thread. `event_id` is the id of the event."""

    place: Place
    user: str
    event_id: str = ""


@dataclass(frozen=True, slots=True)
class HomeOpened:
    """Somebody opened the App Home, or (if `is_direct`) the bot's direct messages.

    `app_context` is what they have open.
    """

    place: Place
    user: str
    is_direct: bool
    app_context: AppContext | None = None


@dataclass(frozen=True, slots=True)
class AppContextChanged:
    """A person opened something else in Slack.

    `app_context` is None if it cannot be read; `place` may lack a channel.
    """

    place: Place
    user: str
    app_context: AppContext | None


@dataclass(frozen=True, slots=True)
class FileRemoved:
    """A file was deleted. `file` is its id, which is all that Slack sends."""

    team: str
    file: str


def parse_message(body: Json, bot_user: str) -> IncomingMessage | Ignored | Malformed:
    """Read a `message` or `app_mention` event."""
    event = body.get("event")
    if not isinstance(event, Mapping):
        return Malformed("event")
    is_mention_event = event.get("type") == "app_mention"
    by_bot = bool(event.get("bot_id") or event.get("bot_profile"))
    if event.get("user") == bot_user or (by_bot and not is_mention_event):
        return Ignored("a bot")
    if event.get("subtype") not in (
        _SPOKEN_SUBTYPES if not by_bot else {*_SPOKEN_SUBTYPES, "bot_message"}
    ) or event.get("hidden"):
        return Ignored(f"subtype {event.get('subtype')}")
    user = event.get("user") or (event.get("bot_id") if by_bot else None)
    fields = _read_texts(
        {"team": _read_team(body), "channel": event.get("channel"), "user": user, "ts": event.get("ts")}
    )
    if isinstance(fields, Malformed):
        return fields
    kind = event.get("channel_type")
    if not is_mention_event and kind not in CHANNEL_EVENTS:
        return Ignored(f"channel_type {kind}")
    thread_ts = event.get("thread_ts") or fields["ts"]
    if not isinstance(event.get("text") or "", str) or not isinstance(thread_ts, str):
        return Malformed("thread_ts" if not isinstance(thread_ts, str) else "text")
    content = read_message(event)
    raw = content.own_words
    mentions_bot = is_mention_event or (bool(bot_user) and (f"<@{bot_user}>" in raw or f"<@{bot_user}|" in raw))
    ids = [f"message:{fields['channel']}:{fields['ts']}"]
    if isinstance(body.get("event_id"), str):
        ids.append(f"event:{body['event_id']}")
    attachments = content.list_attachments(fields["ts"])
    return IncomingMessage(
        place=Place(team=fields["team"], channel=fields["channel"], thread_ts=thread_ts),
        ts=fields["ts"],
        user=fields["user"],
        text=to_plain_text(raw, bot_user),
        attachments=attachments,
        mentions_bot=mentions_bot,
        is_direct=kind == "im",
        in_thread=thread_ts != fields["ts"],
        has_mention_event=mentions_bot and not is_mention_event and kind != "im",
        may_lack_files=is_mention_event and not attachments,
        by_bot=by_bot,
        mentions_others=any(user_id != bot_user for user_id in _MENTION.findall(raw)),
        dedupe_keys=tuple(ids),
        app_context=_parse_app_context(body, event) if kind == "im" else None,
    )


def parse_change(body: Json, bot_user: str) -> MessageEdited | MessageDeleted | Ignored | Malformed:
    """Read a `message` event about a message that was edited or deleted.

    An edit is `Ignored` unless the author changed words or tables: Slack also reports unfurled links and our own edits.
    If the first message of a thread is deleted, Slack reports an edit to a tombstone.
    """
    event = _read_mapping(body, "event")
    before, after = _read_mapping(event, "previous_message"), _read_mapping(event, "message")
    is_deleted = event.get("subtype") == "message_deleted" or after.get("subtype") == "tombstone"
    whole = before if event.get("subtype") == "message_deleted" else after
    if any(one.get("bot_id") or one.get("user") == bot_user for one in (before, after)):
        return Ignored("a bot")
    fields = _read_texts(
        {
            "team": _read_team(body),
            "channel": event.get("channel"),
            "ts": event.get("deleted_ts") or after.get("ts") or before.get("ts"),
        }
    )
    if isinstance(fields, Malformed):
        return fields
    thread_ts = str(whole.get("thread_ts") or before.get("thread_ts") or fields["ts"])
    place = Place(team=fields["team"], channel=fields["channel"], thread_ts=thread_ts)
    if is_deleted:
        return MessageDeleted(
            place, fields["ts"], (f"deleted:{fields['channel']}:{fields['ts']}",), str(before.get("user") or "")
        )
    edit = _read_mapping(after, "edited")
    words = _read_texts({"user": after.get("user"), "edited": edit.get("ts")})
    if isinstance(words, Malformed) or edit.get("user") not in {None, words["user"]}:
        return Ignored("not edited by its author")
    new, old = read_message(after), read_message({**before, "ts": fields["ts"]})
    if (new.own_words, new.tables) == (old.own_words, old.tables):
        return Ignored("the same words")
    dedupe = (f"edited:{fields['channel']}:{fields['ts']}:{words['edited']}",)
    stamp = float(words["edited"]) if _TIMESTAMP.fullmatch(words["edited"]) else 0.0
    return MessageEdited(
        place, fields["ts"], words["user"], to_plain_text(new.own_words, bot_user), new.tables, stamp, dedupe
    )


def parse_stop(body: Json) -> StopPressed | Malformed:
    """Read an `agent_session_stopped` event."""
    event = body.get("event")
    if not isinstance(event, Mapping):
        return Malformed("event")
    fields = _read_texts(
        {"team": _read_team(body), **{name: event.get(name) for name in ("channel", "user", "thread_ts")}}
    )
    if isinstance(fields, Malformed):
        return fields
    place = Place(team=fields["team"], channel=fields["channel"], thread_ts=fields["thread_ts"])
    return StopPressed(place, fields["user"], _read_text(body, "event_id"))


def parse_click(body: Json) -> Click | Malformed:
    """Read a `block_actions` payload, and the first action in it."""
    rows = body.get("actions")
    action = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], Mapping) else {}
    message, container, view = (
        _read_mapping(body, "message"),
        _read_mapping(body, "container"),
        _read_mapping(body, "view"),
    )
    where = {
        "channel": _read_mapping(body, "channel").get("id") or container.get("channel_id"),
        "message": message.get("ts") or container.get("message_ts"),
    }
    who = {
        "team": _read_mapping(body, "team").get("id") or _read_mapping(body, "user").get("team_id"),
        "user": _read_mapping(body, "user").get("id"),
        "action": action.get("action_id"),
    }
    fields = _read_texts({**who, "window": view.get("id")} if view else {**who, **where})
    if isinstance(fields, Malformed):
        return fields
    ts, trigger = fields.get("message", ""), _read_text(body, "trigger_id")
    mark = trigger or f"{ts}:{action.get('action_ts')}"
    thread_ts = message.get("thread_ts") or container.get("thread_ts") or ts
    return Click(
        place=Place(team=fields["team"], channel=fields.get("channel", ""), thread_ts=str(thread_ts)),
        message_ts=ts,
        user=fields["user"],
        value=_read_text(action, "value") or _read_text(_read_mapping(action, "selected_option"), "value"),
        dedupe_keys=(f"click:{mark}:{fields['user']}",),
        action_id=fields["action"],
        trigger_id=trigger,
        window_id=fields.get("window", ""),
        metadata=_read_text(view, "private_metadata"),
        in_home=view.get("type") == "home",
        values=_read_mapping(_read_mapping(body, "state"), "values"),
        response_url=_read_text(body, "response_url"),
        is_posted=bool(message),
    )


def parse_command(body: Json, bot_user: str = "") -> SlashCommand | Malformed:
    """Read a slash command's payload."""
    fields = _read_texts({name: body.get(name) for name in ("team_id", "channel_id", "user_id")})
    if isinstance(fields, Malformed):
        return fields
    text = body.get("text") or ""
    if not isinstance(text, str):
        return Malformed("text")
    command_text = remove_invisible(text).strip()
    if bot_user:
        command_text = re.sub(rf"^<@{bot_user}(?:\|[^<>]*)?>\s*", "", command_text)
    word, rest = (*command_text.split(None, 1), "", "")[:2]
    trigger, who = body.get("trigger_id"), fields["user_id"]
    opens = trigger if isinstance(trigger, str) else ""
    # A message names people by their ids alone.
    request_text = to_plain_text(PERSON_MENTION.sub(r"<@\1>", text), bot_user)
    return SlashCommand(fields["team_id"], fields["channel_id"], who, word.lower(), rest, opens, request_text)


def parse_shortcut(body: Json) -> MessageShortcut | Malformed:
    """Read a message shortcut's payload."""
    message = _read_mapping(body, "message")
    fields = _read_texts(
        {
            "team": _read_mapping(body, "team").get("id") or _read_mapping(body, "user").get("team_id"),
            "channel": _read_mapping(body, "channel").get("id"),
            "user": _read_mapping(body, "user").get("id"),
            "message": message.get("ts"),
            "trigger_id": body.get("trigger_id"),
        }
    )
    if isinstance(fields, Malformed):
        return fields
    thread_ts, content = message.get("thread_ts") or fields["message"], read_message(message)
    return MessageShortcut(
        place=Place(team=fields["team"], channel=fields["channel"], thread_ts=str(thread_ts)),
        message_ts=fields["message"],
        user=fields["user"],
        trigger_id=fields["trigger_id"],
        author=str(message.get("user") or ""),
        text=to_plain_text(content.own_words, ""),
        attachments=content.files,
    )


def parse_view_submission(body: Json) -> ViewSubmission | Malformed:
    """Read a `view_submission` payload."""
    view, user = _read_mapping(body, "view"), _read_mapping(body, "user")
    fields = _read_texts(
        {
            "id": view.get("id"),
            "team": _read_mapping(body, "team").get("id") or user.get("team_id"),
            "user": user.get("id"),
            "private_metadata": view.get("private_metadata"),
        }
    )
    if isinstance(fields, Malformed):
        return fields
    rows, root = view.get("blocks"), _read_text(view, "root_view_id")
    blocks = rows if isinstance(rows, list) else []
    inputs = [one for one in blocks if isinstance(one, Mapping) and one.get("type") == "input"]
    return ViewSubmission(
        fields["id"],
        _read_text(view, "hash"),
        fields["team"],
        fields["user"],
        fields["private_metadata"],
        _read_mapping(_read_mapping(view, "state"), "values"),
        root_id=root if root != fields["id"] else "",
        first_block=_read_text(inputs[0], "block_id") if inputs else "",
    )


def parse_home_opened(body: Json) -> HomeOpened | Malformed:
    """Read an `app_home_opened` event."""
    event = _read_mapping(body, "event")
    fields = _read_texts({"team": _read_team(body), "user": event.get("user")})
    if isinstance(fields, Malformed):
        return fields
    place = Place(team=fields["team"], channel=_read_text(event, "channel"), thread_ts="")
    return HomeOpened(place, fields["user"], event.get("tab") == "messages", _parse_app_context(body, event))


def parse_context_changed(body: Json) -> AppContextChanged | Malformed:
    """Read an `app_context_changed` event. Slack may name the person only in `authorizations`."""
    event, authorizations = _read_mapping(body, "event"), body.get("authorizations")
    first = (
        authorizations[0]
        if isinstance(authorizations, list) and authorizations and isinstance(authorizations[0], Mapping)
        else {}
    )
    user = event.get("user") or (None if first.get("is_bot") else first.get("user_id"))
    fields = _read_texts({"team": _read_team(body), "user": user})
    if isinstance(fields, Malformed):
        return fields
    place = Place(team=fields["team"], channel=_read_text(event, "channel"), thread_ts="")
    return AppContextChanged(place, fields["user"], _parse_app_context(body, event))


def parse_file_deleted(body: Json) -> FileRemoved | Malformed:
    """Read a `file_deleted` event."""
    fields = _read_texts({"team": _read_team(body), "file_id": _read_mapping(body, "event").get("file_id")})
    return fields if isinstance(fields, Malformed) else FileRemoved(fields["team"], fields["file_id"][:_MAX_ID_LENGTH])


def find_window_channel(metadata: str) -> str:
    """Return the channel that a window was opened in, from its metadata: `channel`, or that of `place`; "" if none."""
    try:
        data = json.loads(metadata)
        channel = data.get("channel") or data["place"]["channel"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    return channel if isinstance(channel, str) else ""


def _parse_app_context(body: Json, event: Json) -> AppContext | None:
    """Return the first view that a person has open and that can be read; None if there is none.

    Views of another workspace, lists, direct messages and unknown kinds are skipped.
    """
    context, team = _read_mapping(event, "app_context") or _read_mapping(event, "context"), _read_team(body)
    rows = context.get("entities")
    entities = [one for one in rows if isinstance(one, Mapping)] if isinstance(rows, list) else []
    ours = [one for one in entities if one.get("team_id") in (None, "", team)]
    channels = (one.get("value") for one in ours if str(one.get("type")).endswith("/channel_id"))
    channel = next((one for one in channels if _is_channel_id(one)), "")
    return next((view for one in ours if (view := _parse_context_entity(one, channel)) is not None), None)


def _parse_context_entity(entity: Json, channel: Any) -> AppContext | None:
    """Read one open view; None if it cannot be read. `channel` is the event's channel, which a thread's entry lacks."""
    value, name = entity.get("value"), str(entity.get("type")).rpartition("/")[2]
    if name == "canvas_id":
        return AppContext(canvas=value) if isinstance(value, str) and _FILE_ID.fullmatch(value) else None
    if name == "message_context":
        fields = value if isinstance(value, Mapping) else entity
        channel, ts = fields.get("channel_id"), fields.get("message_ts")
    elif name in {"channel_id", "thread_ts"}:
        channel, ts = (value, "") if name == "channel_id" else (channel, value)
    else:
        return None
    if (
        not _is_channel_id(channel)
        or not isinstance(ts, str)
        or (name != "channel_id" and not _TIMESTAMP.fullmatch(ts))
    ):
        return None
    return AppContext(channel=channel, thread_ts=ts)


def _is_channel_id(value: Any) -> bool:
    return isinstance(value, str) and _CHANNEL_ID.fullmatch(value) is not None


def _drop_thread(place: Place) -> Place:
    return place.model_copy(update={"thread_ts": ""})


def _read_team(body: Json) -> Any:
    if body.get("team_id"):
        return body["team_id"]
    return _read_mapping(body, "event").get("team")


def _read_mapping(body: Json, name: str) -> Json:
    value = body.get(name)
    return value if isinstance(value, Mapping) else {}


def _read_text(body: Json, name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _read_texts(fields: Mapping[str, Any]) -> dict[str, str] | Malformed:
    """Return the fields if all are non-empty strings, otherwise `Malformed` with the name of the first that is not."""
    texts = {name: value for name, value in fields.items() if isinstance(value, str) and value}
    missing_name = next((name for name in fields if name not in texts), "")
    return Malformed(missing_name) if missing_name else texts
