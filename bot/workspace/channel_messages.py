"""Posts, edits, deletes and reacts to messages in channels, and sends apps the matching events."""

import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from bot.workspace.agent_sessions import AgentSessions
from bot.workspace.changes import Change
from bot.workspace.event_delivery import EventDelivery
from bot.workspace.message_streams import MessageStream
from bot.workspace.typed_text import make_rich_text
from bot.workspace.workspace_state import EVENT_BY_CHANNEL_KIND, Channel, Json, Message, WorkspaceState

STREAM_SECONDS = 300.0
ASSISTANT_THREAD_STARTED = "assistant_thread_started"
ASSISTANT_ROOT_SUBTYPE = "assistant_app_thread"
NEW_ASSISTANT_THREAD = {
    "subtype": ASSISTANT_ROOT_SUBTYPE,
    "text": "New Assistant Thread",
    "assistant_app_thread": {"title": "New Assistant Thread", "title_blocks": [], "artifacts": []},
}
FIELDS_HIDDEN_FROM_EVENTS = (
    "reply_count",
    "reply_users",
    "reply_users_count",
    "latest_reply",
    "subscribed",
    "is_locked",
)


class ChannelMessages:
    """Posts and changes messages, and sends the apps the matching events."""

    def __init__(
        self,
        state: WorkspaceState,
        delivery: EventDelivery,
        sessions: AgentSessions,
        first_app: "ChannelMessages | None" = None,
    ) -> None:
        self._state, self._delivery, self._sessions = state, delivery, sessions
        self.ephemerals: dict[str, dict[str, Message]] = first_app.ephemerals if first_app else defaultdict(dict)
        self._apps: list[ChannelMessages] = first_app._apps if first_app else []  # noqa: SLF001  # one of its own class
        """The `ChannelMessages` of each app in the workspace: every app gets the events."""
        self._apps.append(self)

    # -- posting ---------------------------------------------------------------------------------

    def post_as_person(
        self,
        channel: Channel,
        user_id: str,
        text: str,
        thread_ts: str | None,
        files: list[Json],
        attachments: Sequence[Json] = (),
        extra: Json | None = None,
    ) -> Message:
        """Post a person's message, with files, pasted tables and forwards, and send the apps the events.

        `text` is as `encode_typed_text` returns it. `extra` are fields of the event that the message does not have.
        """
        data: Json = {
            "type": "message",
            "user": user_id,
            "ts": self._state.clock.next_ts(),
            "client_msg_id": secrets.token_hex(16),
            "text": text,
            **self._make_author_teams(channel, user_id),
        }
        data |= {"blocks": _make_typed_blocks(text)} if text else {}
        data |= {"attachments": list(attachments)} if attachments else {}
        if files:
            data |= {"files": files, "upload": False, "display_as_bot": False, "subtype": "file_share"}
            for name in ("team", "user_team", "source_team", "client_msg_id"):  # Slack leaves them out here
                data.pop(name, None)
        message = self._add_to_channel(channel, Message(data), thread_ts)
        self._emit_message(channel, message, extra)
        self._emit_mention_to_apps(channel, message)
        return message

    def post_as_other_bot(self, channel: Channel, text: str, thread_ts: str | None) -> Message:
        """Post as the bot of another app, and send the apps the events."""
        who, bot = self._state.identity, self._state.other_bot
        profile = {"id": who.other_bot_id, "app_id": who.other_app_id, "name": bot.name, "team_id": who.team_id}
        data: Json = {
            "type": "message",
            "user": bot.id,
            "bot_id": who.other_bot_id,
            "app_id": who.other_app_id,
            "bot_profile": {**profile, "deleted": False},
            "team": who.team_id,
            "ts": self._state.clock.next_ts(),
            "text": text,
            "blocks": _make_typed_blocks(text),
        }
        message = self._add_to_channel(channel, Message(data), thread_ts)
        self._emit_message(channel, message)
        self._emit_mention_to_apps(channel, message)
        return message

    def post_as_bot(
        self, channel: Channel, content: Json, thread_ts: str | None, stream: MessageStream | None = None
    ) -> Message:
        """Post as the app. `content` has the fields of the call, such as text, blocks, metadata and files."""
        data = {**self.make_bot_fields(), "ts": self._state.clock.next_ts(), **content}
        if stream:
            data["blocks"] = stream.make_blocks()
            data["text"] = stream.text
            data["streaming_state"] = "in_progress"
        message = Message(data, stream)
        self.remember_elements(message)
        self._add_to_channel(channel, message, thread_ts)
        if thread_ts:
            self._sessions.clear_status(channel.id, thread_ts)
        self._emit_message(channel, message)
        if stream:
            self._state.clock.call_later(STREAM_SECONDS, lambda: self.end_stream(channel, message))
        return message

    def ensure_assistant_thread(self, channel: Channel, user_id: str, viewed_channel: str) -> Message:
        """Return the newest root if it begins an assistant thread without replies of the person; else post a new one.

        `viewed_channel` is the id of the channel that the person looked at before.
        """
        newest = channel.messages[channel.roots[-1]] if channel.roots else None
        if newest and newest.data.get("subtype") == ASSISTANT_ROOT_SUBTYPE:
            authors = (channel.messages[ts].data.get("user") for ts in channel.replies.get(newest.ts, ()))
            if user_id not in authors:
                return newest
        root = Message({**self.make_bot_fields(), "ts": self._state.clock.next_ts(), **NEW_ASSISTANT_THREAD})
        self._add_to_channel(channel, root, None)
        context = {"channel_id": viewed_channel, "team_id": self._state.identity.team_id, "enterprise_id": None}
        thread = {"user_id": user_id, "context": context, "channel_id": channel.id, "thread_ts": root.ts}
        event = {"type": ASSISTANT_THREAD_STARTED, "assistant_thread": thread, "event_ts": self._state.clock.next_ts()}
        self._delivery.emit(ASSISTANT_THREAD_STARTED, event)
        return root

    def post_ephemeral(self, channel: Channel, user_id: str, content: Json, thread_ts: str | None) -> Message:
        """Show a message to one person; it is not recorded.

        In a thread without replies it is accepted but never shown, as on Slack.
        """
        data = {**self.make_bot_fields(), "ts": self._state.clock.next_ts(), **content, "is_ephemeral": True}
        data["channel"] = channel.id
        if thread_ts:
            data["thread_ts"] = thread_ts
        message = Message(data)
        self.remember_elements(message)
        if thread_ts and not channel.replies.get(thread_ts):
            return message
        self.ephemerals[user_id][message.ts] = message
        self.show_ephemeral(user_id, message)
        return message

    def show_ephemeral(self, user_id: str, message: Message) -> None:
        """Show an ephemeral message, new or changed, on the person's page."""
        data = message.data
        body = {"type": "ephemeral", "channel": data["channel"], "thread_ts": data.get("thread_ts")}
        self._state.changes.publish(Change({**body, "message": message.as_shown()}, user=user_id))

    def drop_ephemeral(self, user_id: str, ts: str) -> None:
        """Remove an ephemeral message from the person's page."""
        message = self.ephemerals[user_id].pop(ts, None)
        if message:
            body = {"type": "deleted", "channel": message.data["channel"], "ts": ts}
            self._state.changes.publish(Change(body, user=user_id))

    # -- changing --------------------------------------------------------------------------------

    def edit_message(self, channel: Channel, message: Message, content: Json) -> None:
        """Replace fields of a message by those of `content`; a value of None removes the field."""
        before = dict(message.data)
        for key, value in content.items():
            if value is None:
                message.data.pop(key, None)
            else:
                message.data[key] = value
        edit_record = {"user": message.data["user"], "ts": self._state.clock.next_ts()}
        message.data["edited"] = edit_record
        self.remember_elements(message)
        self._state.save_message(channel, message)
        self._emit_change(channel, message, before)

    def edit_as_person(
        self, channel: Channel, message: Message, text: str, attachments: Sequence[Json] | None = None
    ) -> None:
        """Replace the text of a person's message, and its attachments unless they are None.

        `text` is as `encode_typed_text` returns it. As on Slack, a mention in it sends `app_mention` again.
        """
        content: Json = {"text": text, "blocks": _make_typed_blocks(text) if text else None}
        self.edit_message(channel, message, content | ({} if attachments is None else {"attachments": [*attachments]}))
        self._emit_mention_to_apps(channel, message)

    def delete_message(self, channel: Channel, message: Message) -> None:
        """Delete a message. As on Slack, a root with replies becomes a tombstone, and apps get `message_changed`."""
        self._state.record.drop("message", f"{channel.id}:{message.ts}")
        before = message.data
        if channel.replies.get(message.ts):
            tombstone = {"type": "message", "subtype": "tombstone", "text": "This message was deleted.", "hidden": True}
            kept_fields = {key: before[key] for key in (*FIELDS_HIDDEN_FROM_EVENTS, "ts", "thread_ts") if key in before}
            message.data = {**tombstone, **kept_fields, "user": "USLACKBOT"}
            message.stream = None
            self._state.save_message(channel, message)
            self._emit_change(channel, message, before)
            return
        channel.remove_message(message)
        if before.get("thread_ts", message.ts) != message.ts:
            self._state.recount_replies(channel, before["thread_ts"])
        body = {"type": "deleted", "channel": channel.id, "ts": message.ts}
        self._state.changes.publish(Change(body, channel=channel.id))
        event = {"subtype": "message_deleted", "hidden": True, "deleted_ts": message.ts, "previous_message": before}
        self._emit_message_event(channel, {"type": "message", **event, "ts": self._state.clock.next_ts()})

    def update_streamed_message(self, channel: Channel, message: Message) -> None:
        """Update a message from its stream, and show it."""
        stream = message.stream
        if stream is None:
            return
        message.data["text"] = stream.text
        message.data["blocks"] = stream.make_blocks()
        self._state.save_message(channel, message)

    def end_stream(self, channel: Channel, message: Message) -> None:
        """Finish a stream that the app or a person stopped, or that expired. Does nothing if it is finished."""
        stream = message.stream
        if stream is None or not stream.live:
            return
        stream.live = False
        before = dict(message.data)
        message.data["streaming_state"] = "completed"
        self.update_streamed_message(channel, message)
        self.remember_elements(message)
        self._emit_change(channel, message, before)

    def change_reaction(self, channel: Channel, message: Message, user_id: str, name: str, *, add: bool) -> bool:
        """Add or remove a reaction; return False when nothing changed."""
        reactions: list[Json] = message.data.setdefault("reactions", [])
        reaction = next((each for each in reactions if each["name"] == name), None)
        if (reaction is not None and user_id in reaction["users"]) == add:
            if not reactions:
                del message.data["reactions"]
            return False
        if add and reaction is None:
            reactions.append({"name": name, "users": [user_id], "count": 1})
        elif reaction is not None:
            reaction["users"] = [*reaction["users"], user_id] if add else [u for u in reaction["users"] if u != user_id]
            reaction["count"] = len(reaction["users"])
        remaining_reactions = [each for each in reactions if each["count"]]
        message.data["reactions"] = remaining_reactions
        if not remaining_reactions:
            del message.data["reactions"]
        self._state.save_message(channel, message)
        self._emit_reaction(channel, message, user_id, name, add=add)
        return True

    def remember_elements(self, message: Message) -> None:
        """Add the elements of a message to its `known_elements`, which people may press even after an edit."""
        for block, element in iterate_elements(message.data.get("blocks") or []):
            message.known_elements[block.get("block_id", ""), element.get("action_id", "")] = element

    def make_bot_fields(self) -> Json:
        """Return the fields that mark a message as the app's."""
        who = self._state.identity
        profile = {"id": who.bot_id, "app_id": who.app_id, "name": self._state.bot.name, "team_id": who.team_id}
        marks = {"user": who.bot_user_id, "bot_id": who.bot_id, "app_id": who.app_id, "team": who.team_id}
        return {"type": "message", **marks, "bot_profile": {**profile, "deleted": False}}

    # -- helpers ---------------------------------------------------------------------------------

    def _add_to_channel(self, channel: Channel, message: Message, thread_ts: str | None) -> Message:
        if thread_ts:
            message.data["thread_ts"] = thread_ts
            parent = channel.messages[thread_ts].data.get("user")
            if parent:
                message.data["parent_user_id"] = parent
        channel.add_message(message)
        if thread_ts:
            self._state.recount_replies(channel, thread_ts)
        self._state.save_message(channel, message)
        return message

    def _emit_message(self, channel: Channel, message: Message, extra: Json | None = None) -> None:
        data = {key: value for key, value in message.data.items() if key not in FIELDS_HIDDEN_FROM_EVENTS}
        self._emit_message_event(channel, {**data, **(extra or {}), "event_ts": message.ts})

    def _emit_change(self, channel: Channel, message: Message, previous: Json) -> None:
        event = {"subtype": "message_changed", "hidden": True, "message": dict(message.data)}
        stamp = self._state.clock.next_ts()
        self._emit_message_event(
            channel, {"type": "message", **event, "previous_message": previous, "ts": stamp, "event_ts": stamp}
        )

    def _emit_mention_to_apps(self, channel: Channel, message: Message) -> None:
        for app in self._apps:
            app._emit_mention(channel, message)  # noqa: SLF001  # one of its own class

    def _emit_mention(self, channel: Channel, message: Message) -> None:
        who = self._state.identity
        if f"<@{who.bot_user_id}>" not in message.data["text"] or channel.kind == "im":
            return
        if not self._state.has_bot_in(channel):
            text = f"@{self._state.bot.name} is not in #{channel.name}. Invite it to talk to it here."
            self._state.changes.publish(Change({"type": "error", "text": text}, user=message.data["user"]))
            return
        left_out = ("subtype", "parent_user_id")
        data = {key: value for key, value in message.data.items() if key not in left_out}
        data |= self._make_author_profile(message.data["user"])
        event = {**data, "type": "app_mention", "channel": channel.id, "event_ts": message.ts}
        self._delivery.emit("app_mention", event)

    def _make_author_teams(self, channel: Channel, user_id: str) -> Json:
        """Return the fields that name the author's workspace: one, or three in a channel of several workspaces."""
        team = self._state.users[user_id].team
        return {"team": team, **({"user_team": team, "source_team": team} if channel.shared else {})}

    def _make_author_profile(self, user_id: str) -> Json:
        """Return `user_profile` for an author of another workspace, whom the app may not know; otherwise no fields."""
        user = self._state.users[user_id]
        if user.team == self._state.identity.team_id:
            return {}
        names = {"name": user.name, "real_name": user.real_name, "display_name": user.name}
        return {"user_profile": {**names, "team": user.team, "is_restricted": False, "is_ultra_restricted": False}}

    def _emit_message_event(self, channel: Channel, event: Json) -> None:
        body = {**event, "channel": channel.id, "channel_type": channel.kind}
        body.setdefault("event_ts", event["ts"])
        self._emit_to_apps(channel, EVENT_BY_CHANNEL_KIND[channel.kind], body)

    def _emit_to_apps(self, channel: Channel, name: str, event: Json) -> None:
        for app in self._apps:
            if app._state.has_bot_in(channel):  # noqa: SLF001  # one of its own class
                app._delivery.emit(name, event)  # noqa: SLF001  # the same

    def _emit_reaction(self, channel: Channel, message: Message, user_id: str, name: str, *, add: bool) -> None:
        kind = "reaction_added" if add else "reaction_removed"
        item = {"type": "message", "channel": channel.id, "ts": message.ts}
        event: Json = {"type": kind, "user": user_id, "reaction": name, "item": item}
        event |= {"item_user": message.data.get("user"), "event_ts": self._state.clock.next_ts()}
        self._emit_to_apps(channel, kind, event)


def _make_typed_blocks(text: str) -> list[Json]:
    return [make_rich_text(text, secrets.token_hex(3))]


def iterate_elements(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Yield pairs of (block, element) for every element that has an action_id."""
    for block in blocks:
        for element in _list_elements(block):
            if isinstance(element, dict) and element.get("action_id"):
                yield block, element
        cards = [each for each in block.get("elements") or [] if isinstance(each, dict) and each.get("type") == "card"]
        yield from iterate_elements([*(block.get("child_blocks") or []), *cards])


def _list_elements(block: Json) -> list[Any]:
    return [
        *(block.get("elements") or []),
        *(block.get("actions") or []),
        *([block["accessory"]] if block.get("accessory") else []),
        *([block["element"]] if block.get("element") else []),
    ]
