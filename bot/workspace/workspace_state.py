"""Channels, messages and people as they are now, with indices to find them fast."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from bot.workspace.changes import Change, ChangePublisher
from bot.workspace.identity import OTHER_BOT, PEOPLE, USER_GROUPS, Identity, User, UserGroup, make_id
from bot.workspace.manifest import Manifest
from bot.workspace.message_streams import MessageStream
from bot.workspace.storage import WorkspaceStorage
from bot.workspace.virtual_clock import Clock

Json = dict[str, Any]
InstallScope = Literal["", "team", "organisation"]
MAX_SHOWN_REPLIERS = 5
MEMBER_NAMES = tuple(name for name, *_, standing in PEOPLE if standing == "member")
INITIAL_CHANNELS = (
    ("general", "channel", MEMBER_NAMES, "Everything and everybody"),
    ("sales", "channel", (*MEMBER_NAMES, "gus", "uma", OTHER_BOT[0]), "Numbers, customers, plans"),
    ("northwind", "channel", ("ana", "ben", "sol"), "Shared with Northwind"),
    ("leads", "group", ("ana", "ben", "gus"), "Who does what"),
    ("mpdm-ana--ben--gus-1", "mpim", ("ana", "ben", "gus"), ""),
)
"""The channels at the start: name, kind, who is in it beside the app, topic."""
SHARED_CHANNELS = frozenset({"northwind"})
"""The names of the channels shared with another workspace (Slack Connect)."""
ID_PREFIXES = {"channel": "C", "group": "C", "im": "D", "mpim": "G"}
EVENT_BY_CHANNEL_KIND = {
    "channel": "message.channels",
    "group": "message.groups",
    "im": "message.im",
    "mpim": "message.mpim",
}
SCOPE_PREFIXES = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}


@dataclass
class Message:
    """A message as Slack shows it, and the stream that is written into it.

    `known_elements` has every button and menu that the message ever had, by
    (block_id, action_id): a person whose screen is a moment old can still use
    it. `step` is the id of the workflow step run that it was posted for.
    """

    data: Json
    stream: MessageStream | None = None
    known_elements: dict[tuple[str, str], Json] = field(default_factory=dict)
    step: str = ""

    @property
    def ts(self) -> str:
        """The message's timestamp, which is its id within the channel."""
        return str(self.data["ts"])

    def as_shown(self) -> Json:
        """Return the message's fields for the page and the tests, with those of its stream."""
        extra = self.stream.as_shown() if self.stream else {"streaming": False}
        return {**self.data, **extra}

    def as_dict(self) -> Json:
        """Return the fields that are stored in the record."""
        return {"data": self.data, "stream": self.stream.as_dict() if self.stream else None, "step": self.step}


@dataclass
class Channel:
    """A channel or a direct message. `kind` is `channel`, `group`, `im` or `mpim`.

    `group` is a private channel. `shared` is True if people of another workspace are in it, by Slack Connect. `roots`
    has the ts of each message at the top level, and `replies` those of each thread's replies, oldest first.
    """

    id: str
    name: str
    kind: str
    members: list[str]
    topic: str = ""
    archived: bool = False
    created: int = 0
    shared: bool = False
    messages: dict[str, Message] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    replies: dict[str, list[str]] = field(default_factory=dict)

    def add_message(self, message: Message) -> None:
        """Add a message to the channel and, if it is a reply, to its thread."""
        data = message.data
        self.messages[message.ts] = message
        parent = data.get("thread_ts")
        if parent and parent != message.ts:
            insort(self.replies.setdefault(parent, []), message.ts)
        if not parent or parent == message.ts or data.get("subtype") == "thread_broadcast":
            insort(self.roots, message.ts)

    def remove_message(self, message: Message) -> None:
        """Remove a message from the channel."""
        del self.messages[message.ts]
        for index in (self.roots, self.replies.get(message.data.get("thread_ts", ""), [])):
            place = bisect_left(index, message.ts)
            if place < len(index) and index[place] == message.ts:
                del index[place]

    def iterate_thread(self, ts: str) -> Iterator[Message]:
        """Yield the root with the timestamp `ts`, then its replies, oldest first; nothing if there is no root."""
        if ts in self.messages:
            yield self.messages[ts]
            for reply_ts in self.replies.get(ts, ()):
                yield self.messages[reply_ts]

    def as_dict(self) -> Json:
        """Return the fields that are stored in the record."""
        return {key: getattr(self, key) for key in STORED_CHANNEL_FIELDS}


STORED_CHANNEL_FIELDS = ("name", "kind", "members", "topic", "archived", "created", "shared")


class WorkspaceState:
    """The workspace's data, its indices, and the record behind it.

    `preset_ids` maps names of channels to the ids that they get when they are opened; any other channel gets a new id.
    """

    def __init__(
        self,
        app: Manifest,
        record: WorkspaceStorage,
        clock: Clock,
        changes: ChangePublisher,
        identity: Identity | None = None,
        preset_ids: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.app, self.record, self.clock, self.changes = app, record, clock, changes
        self._ids = dict(preset_ids)
        stored_identity = dict(record.iterate_records("identity")).get("workspace")
        self.identity = Identity(**stored_identity) if stored_identity else identity or Identity()
        self.install_scope: InstallScope = "team"
        """How the app is installed here; empty if it is not."""
        record.put("identity", "workspace", self.identity.as_dict)
        self.users: dict[str, User] = {user.id: user for user in self.identity.make_users(app.bot_name, app.name)}
        self.by_name = {user.name: user for user in self.users.values()}
        for user_id, _ in record.iterate_records("deactivated"):
            self.deactivate_user(user_id)
        self.groups: dict[str, UserGroup] = {
            key: UserGroup(key, **body) for key, body in record.iterate_records("group")
        }
        self.channels: dict[str, Channel] = {}
        self.channel_ids: dict[str, str] = {}
        self.files: dict[str, Json] = dict(record.iterate_records("file"))
        self.lists: dict[str, Json] = dict(record.iterate_records("list"))
        self._load_record()
        self._add_missing_parts()

    def add_app(self, app: Manifest) -> "WorkspaceState":
        """Add a further app, and return its view of the workspace, with its own manifest, bot, tokens and DMs.

        Raises:
            ValueError: An app or a person of that name is here already.
        """
        if app.name == self.app.name or any(app.bot_name.lower() == name.lower() for name in self.by_name):
            raise ValueError(f"there is an app or a person called {app.name} or {app.bot_name} already")
        other = copy(self)
        other.app, other.record = app, self.record.make_app_view(app.name)
        stored_identity = dict(other.record.iterate_records("identity")).get("workspace")
        other.identity = Identity(**stored_identity) if stored_identity else self.identity.make_further_app()
        other.record.put("identity", "workspace", other.identity.as_dict)
        other.install_scope = next((row["how"] for _, row in other.record.iterate_records("installed")), "team")
        bot = next(
            user for user in other.identity.make_users(app.bot_name, app.name) if user.id == other.identity.bot_user_id
        )
        self.users[bot.id] = self.by_name[bot.name] = bot
        if not stored_identity:
            for channel in [each for each in self.channels.values() if each.kind != "im"]:
                channel.members.append(bot.id)
                self.save_channel(channel)
        other._open_direct_messages()  # noqa: SLF001  # one of its own class
        return other

    # -- finding ---------------------------------------------------------------------------------

    @property
    def bot(self) -> User:
        """The app's bot user."""
        return self.users[self.identity.bot_user_id]

    @property
    def people(self) -> list[User]:
        """All users but the bots."""
        return [user for user in self.users.values() if not user.is_bot]

    @property
    def other_bot(self) -> User:
        """The bot user of another app."""
        return self.users[self.identity.other_bot_user_id]

    def find_group(self, reference: str) -> UserGroup | None:
        """Find a user group by id or handle."""
        handle = reference.removeprefix("@")
        return next((group for group in self.groups.values() if reference == group.id or handle == group.handle), None)

    def is_stranger(self, user: User) -> bool:
        """Return True for a person of another workspace who shares no channel with the bot (Slack's `is_stranger`)."""
        shares_channel = any(user.id in each.members and self.has_bot_in(each) for each in self.channels.values())
        return user.team != self.identity.team_id and not shares_channel

    def find_channel(self, reference: str) -> Channel | None:
        """Find a channel by id, by name with or without `#`, or by a person's id for their DM with the bot."""
        if reference in self.channels:
            return self.channels[reference]
        if reference in self.users:
            return self.channels.get(self.channel_ids.get(_make_dm_key(reference, self.identity.bot_user_id), ""))
        return self.channels.get(self.channel_ids.get(reference.removeprefix("#"), ""))

    def has_bot_in(self, channel: Channel) -> bool:
        """Return True if the bot is a member of the channel."""
        return self.identity.bot_user_id in channel.members

    # -- changing --------------------------------------------------------------------------------

    def save_message(self, channel: Channel, message: Message) -> None:
        """Store a message, and show it on the page."""
        self.record.put("message", f"{channel.id}:{message.ts}", message.as_dict)
        if self.changes.watchers:
            body = {"type": "message", "channel": channel.id, "message": message.as_shown()}
            self.changes.publish(Change(body, channel=channel.id))
        else:
            self.changes.wake_waiters()

    def set_install_scope(self, scope: InstallScope) -> None:
        """Record how the app is installed from now on; empty if it is not."""
        self.install_scope = scope
        self.record.put("installed", "app", lambda: {"how": scope})
        self.changes.wake_waiters()

    def deactivate_user(self, user_id: str) -> None:
        """Mark a person's account as deleted, and store that."""
        deactivated_user = replace(self.users[user_id], is_deleted=True)
        self.users[user_id] = self.by_name[deactivated_user.name] = deactivated_user
        self.record.put("deactivated", user_id, dict)

    def save_group(self, group: UserGroup) -> None:
        """Add or replace a user group, and store it."""
        self.groups[group.id] = group
        self.record.put("group", group.id, group.as_dict)

    def create_channel(self, name: str, kind: str, members: list[str], topic: str) -> Channel:
        """Create a channel, or a direct message, whose first member must be the person."""
        creation_time = int(self.clock.now())
        channel_id = self._ids.pop(f"@{members[0]}" if kind == "im" else name, "") or make_id(ID_PREFIXES[kind])
        channel = Channel(channel_id, name, kind, members, topic, created=creation_time, shared=name in SHARED_CHANNELS)
        self.save_channel(channel)
        return channel

    def save_channel(self, channel: Channel) -> None:
        """Add or replace a channel, and store it."""
        self.channels[channel.id] = channel
        self.channel_ids[_make_dm_key(*channel.members) if channel.kind == "im" else channel.name] = channel.id
        self.record.put("channel", channel.id, channel.as_dict)

    def recount_replies(self, channel: Channel, root_ts: str) -> None:
        """Count a thread's replies in the fields of its root, and store the root. It does nothing without a root."""
        root = channel.messages.get(root_ts)
        if root is None:
            return
        replies = [channel.messages[ts] for ts in channel.replies.get(root_ts, [])]
        if replies:
            repliers = list(dict.fromkeys(user for each in replies if (user := each.data.get("user"))))
            root.data.update(
                thread_ts=root_ts,
                reply_count=len(replies),
                reply_users=repliers[:MAX_SHOWN_REPLIERS],
                reply_users_count=len(repliers),
                latest_reply=replies[-1].ts,
                is_locked=False,
                subscribed=True,
            )
        else:
            for key in ("reply_count", "reply_users", "reply_users_count", "latest_reply", "thread_ts"):
                root.data.pop(key, None)
        self.save_message(channel, root)

    # -- starting --------------------------------------------------------------------------------

    def _load_record(self) -> None:
        for _, row in self.record.iterate_records("installed"):
            self.install_scope = row["how"]
        for channel_id, body in self.record.iterate_records("channel"):
            self.save_channel(Channel(id=channel_id, **body))
        for key, body in self.record.iterate_records("message"):
            stream = MessageStream(**body["stream"]) if body["stream"] else None
            if stream:
                stream.live = False  # no stream survives a restart
            message = Message(body["data"], stream, step=body.get("step", ""))
            self.channels[key.partition(":")[0]].add_message(message)
            self.clock.skip_past(message.ts)

    def _add_missing_parts(self) -> None:
        """Create missing channels and groups: all at the first start, later those that an earlier release lacked."""
        for name, kind, members, topic in INITIAL_CHANNELS:
            if name not in self.channel_ids:
                inside = [self.by_name[member].id for member in members]
                self.create_channel(name, kind, [*inside, self.identity.bot_user_id], topic)
        self._open_direct_messages()
        for handle, name, members in USER_GROUPS:
            if self.find_group(handle) is None:
                self.save_group(UserGroup(make_id("S"), handle, name, [self.by_name[member].id for member in members]))

    def _open_direct_messages(self) -> None:
        for user in self.people:
            # Somebody of another workspace has no direct message with an app that is not installed in theirs.
            key = _make_dm_key(user.id, self.identity.bot_user_id)
            if user.standing != "stranger" and key not in self.channel_ids:
                self.create_channel("", "im", [user.id, self.identity.bot_user_id], "")


def _make_dm_key(user_id: str, bot_user_id: str) -> str:
    return f"@{user_id}:{bot_user_id}"
