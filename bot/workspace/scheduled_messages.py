"""Scheduled messages of the app: each is posted when it is due, unless it is deleted before."""

from dataclasses import asdict, dataclass

from bot.workspace.channel_messages import ChannelMessages
from bot.workspace.identity import make_id
from bot.workspace.refusal import Refusal
from bot.workspace.workspace_state import Channel, Json, WorkspaceState

MAX_SECONDS_AHEAD = 120 * 86_400
WINDOW_SECONDS = 300
MAX_MESSAGES_IN_WINDOW = 30


@dataclass
class ScheduledMessage:
    """One scheduled message. `post_at` and `date_created` are in whole seconds since the epoch."""

    id: str
    channel_id: str
    post_at: int
    date_created: int
    content: Json
    thread_ts: str | None


class ScheduledMessages:
    """Stores scheduled messages, and posts each on time if its channel is not archived and the bot is still in it."""

    def __init__(self, state: WorkspaceState, messages: ChannelMessages) -> None:
        self._state, self._messages = state, messages
        self.messages_by_id = {key: ScheduledMessage(**body) for key, body in state.record.iterate_records("scheduled")}
        for each in self.messages_by_id.values():
            self._start_timer(each)

    def add(self, channel: Channel, post_at: int, content: Json, thread_ts: str | None) -> ScheduledMessage:
        """Schedule a message. Raises Refusal: `time_in_past`, `time_too_far`, `restricted_too_many`."""
        now = self._state.clock.now()
        if post_at <= now:
            raise Refusal("time_in_past")
        if post_at > now + MAX_SECONDS_AHEAD:
            raise Refusal("time_too_far")
        near = [each for each in self.messages_by_id.values() if each.channel_id == channel.id]
        if sum(abs(each.post_at - post_at) < WINDOW_SECONDS for each in near) >= MAX_MESSAGES_IN_WINDOW:
            raise Refusal("restricted_too_many")
        scheduled_message = ScheduledMessage(make_id("Q"), channel.id, post_at, int(now), content, thread_ts)
        self.messages_by_id[scheduled_message.id] = scheduled_message
        self._state.record.put("scheduled", scheduled_message.id, lambda: asdict(scheduled_message))
        self._start_timer(scheduled_message)
        return scheduled_message

    def delete(self, channel: Channel, scheduled_id: str) -> None:
        """Delete a message that is not posted yet. Raises Refusal: `invalid_scheduled_message_id`."""
        scheduled_message = self.messages_by_id.get(scheduled_id)
        if scheduled_message is None or scheduled_message.channel_id != channel.id:
            raise Refusal("invalid_scheduled_message_id")
        self._remove(scheduled_id)

    def _start_timer(self, scheduled_message: ScheduledMessage) -> None:
        self._state.clock.call_later(
            scheduled_message.post_at - self._state.clock.now(), lambda: self._post(scheduled_message)
        )

    def _post(self, scheduled_message: ScheduledMessage) -> None:
        if scheduled_message.id not in self.messages_by_id:
            return
        self._remove(scheduled_message.id)
        channel = self._state.channels[scheduled_message.channel_id]
        if not channel.archived and self._state.has_bot_in(channel):
            self._messages.post_as_bot(channel, scheduled_message.content, scheduled_message.thread_ts)

    def _remove(self, scheduled_id: str) -> None:
        del self.messages_by_id[scheduled_id]
        self._state.record.drop("scheduled", scheduled_id)
