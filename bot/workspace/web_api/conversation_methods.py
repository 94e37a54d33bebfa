"""Handlers of the conversations methods, and of users.conversations."""

import re
from collections.abc import Sequence

from bot.workspace.changes import Change
from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call, parse_ts
from bot.workspace.workspace_state import SCOPE_PREFIXES, Channel, Json, Message

KIND_BY_TYPE = {"public_channel": "channel", "private_channel": "group", "im": "im", "mpim": "mpim"}
CHANNEL_NAME = re.compile(r"[a-z0-9_\-]+")
MAX_NAME_CHARACTERS = 80
MAX_TOPIC_CHARACTERS = 250
DEFAULT_HISTORY_LIMIT = 100
DEFAULT_REPLIES_LIMIT = 1000


async def get_channel_info(call: Call) -> Answer:
    """Describe a channel."""
    channel = call.find_channel()
    call.require_scope(f"{SCOPE_PREFIXES[channel.kind]}:read")
    about = describe_channel(call, channel)
    if call.args.get("include_num_members"):
        about["num_members"] = len(channel.members)
    return {"channel": about}


async def list_history(call: Call) -> Answer:
    """List a page of a channel's top-level messages, newest first."""
    channel = _find_readable_channel(call)
    roots = [channel.messages[ts] for ts in _select_window(call, channel.roots, newest_first=True)]
    page, more, cursor = call.cut_page(roots, DEFAULT_HISTORY_LIMIT)
    return _make_messages_answer(call, page, more, cursor) | {"pin_count": 0}


async def list_replies(call: Call) -> Answer:
    """List a page of a thread's replies, oldest first. Each page begins with the root."""
    channel = _find_readable_channel(call)
    ts = call.args["ts"]
    root = channel.messages.get(ts)
    if root is None or _is_too_new(call, ts):
        raise Refusal("thread_not_found")
    replies = [
        channel.messages[reply] for reply in _select_window(call, channel.replies.get(ts, []), newest_first=False)
    ]
    page, more, cursor = call.cut_page(replies, DEFAULT_REPLIES_LIMIT)
    return _make_messages_answer(call, [root, *page], more, cursor)


def _read_channel_kinds(call: Call) -> list[str]:
    """Return the kinds of channels that the call asks for. Raises Refusal if the app lacks the scope of one."""
    kinds = []
    for name in str(call.args.get("types") or "public_channel").split(","):
        kind = KIND_BY_TYPE.get(name.strip())
        if kind is None:
            raise Refusal("invalid_types")
        call.require_scope(f"{SCOPE_PREFIXES[kind]}:read")
        kinds.append(kind)
    return kinds


async def list_own_channels(call: Call) -> Answer:
    """List the bot's channels, or only those shared with `user`. As on Slack, they come without `is_member`."""
    kinds, user = _read_channel_kinds(call), call.args.get("user")
    if user is not None and user not in call.state.users:
        raise Refusal("user_not_found")
    channels = [
        channel
        for channel in call.state.channels.values()
        if channel.kind in kinds
        and not (call.args.get("exclude_archived") and channel.archived)
        and call.state.has_bot_in(channel)
        and (user is None or user in channel.members)
    ]
    page, _, cursor = call.cut_page(channels, DEFAULT_HISTORY_LIMIT)
    descriptions = [
        {key: value for key, value in describe_channel(call, one).items() if key != "is_member"} for one in page
    ]
    return {"channels": descriptions, "response_metadata": {"next_cursor": cursor}}


async def list_channels(call: Call) -> Answer:
    """List the channels of the kinds `types`. Private ones are listed only if the bot is in them."""
    kinds = _read_channel_kinds(call)
    excludes_archived = bool(call.args.get("exclude_archived"))
    channels = [
        channel
        for channel in call.state.channels.values()
        if channel.kind in kinds
        and not (excludes_archived and channel.archived)
        and (channel.kind == "channel" or call.state.has_bot_in(channel))
    ]
    page, _, cursor = call.cut_page(channels, DEFAULT_HISTORY_LIMIT)
    return {
        "channels": [describe_channel(call, channel) for channel in page],
        "response_metadata": {"next_cursor": cursor},
    }


async def list_members(call: Call) -> Answer:
    """List the members of a channel."""
    channel = call.find_channel()
    call.require_scope(f"{SCOPE_PREFIXES[channel.kind]}:read")
    page, _, cursor = call.cut_page(channel.members, DEFAULT_HISTORY_LIMIT)
    return {"members": list(page), "response_metadata": {"next_cursor": cursor}}


async def open_dm(call: Call) -> Answer:
    """Return the direct message with one person, which always exists already. More people are refused."""
    call.require_scope("im:write")
    if "channel" in call.args:
        channel = call.find_channel()
    else:
        users = [each for each in str(call.args.get("users") or "").split(",") if each]
        if not users:
            raise Refusal("users_list_not_supplied")
        if any(user not in call.state.users for user in users):
            raise Refusal("user_not_found")
        if any(call.state.users[user].team != call.state.identity.team_id for user in users):
            raise Refusal("user_not_visible")
        if any(call.state.users[user].is_deleted for user in users):
            raise Refusal("user_disabled")
        direct_message = call.state.find_channel(users[0]) if len(users) == 1 else None
        if direct_message is None:
            raise Refusal("method_not_supported_for_channel_type")
        channel = direct_message
    about = describe_channel(call, channel) if call.args.get("return_im") else {"id": channel.id}
    return {"channel": about, "no_op": True, "already_open": True}


async def create_channel(call: Call) -> Answer:
    """Create a channel, public or private, with the bot as its only member."""
    private, name = bool(call.args.get("is_private")), str(call.args["name"])
    call.require_scope("groups:write" if private else "channels:manage")
    if len(name) > MAX_NAME_CHARACTERS:
        raise Refusal("invalid_name_maxlength")
    if not CHANNEL_NAME.fullmatch(name):
        raise Refusal("invalid_name_specials" if name else "invalid_name_required")
    if name in call.state.channel_ids:
        raise Refusal("name_taken")
    members = [call.state.identity.bot_user_id]
    return {
        "channel": describe_channel(
            call, call.state.create_channel(name, "group" if private else "channel", members, "")
        )
    }


async def invite_members(call: Call) -> Answer:
    """Add people to a channel: all of `users`, or none if one of them cannot be added. An id may be repeated."""
    channel = call.find_writable_channel()
    call.require_scope("groups:write" if channel.kind == "group" else "channels:manage", "channels:write.invites")
    if channel.kind not in ("channel", "group"):
        raise Refusal("method_not_supported_for_channel_type")
    users = dict.fromkeys(call.args["users"])
    for user in users:
        if user == call.state.identity.bot_user_id:
            raise Refusal("cant_invite_self")
        if user not in call.state.users:
            raise Refusal("user_not_found")
        if user in channel.members:
            raise Refusal("already_in_channel")
    channel.members += users
    call.state.save_channel(channel)
    call.state.changes.publish(Change({"type": "members", "channel": channel.id, "members": channel.members}))
    return {"channel": describe_channel(call, channel)}


async def set_topic(call: Call) -> Answer:
    """Set a channel's topic."""
    channel, topic = call.find_writable_channel(), str(call.args["topic"])
    call.require_scope("groups:write" if channel.kind == "group" else "channels:manage", "channels:write.topic")
    if len(topic) > MAX_TOPIC_CHARACTERS:
        raise Refusal("too_long")
    channel.topic = topic
    call.state.save_channel(channel)
    call.state.changes.publish(Change({"type": "topic", "channel": channel.id, "topic": topic}, channel=channel.id))
    return {"channel": describe_channel(call, channel)}


async def join_channel(call: Call) -> Answer:
    """Join a public channel."""
    call.require_scope("channels:join")
    channel = call.find_channel()
    if channel.kind != "channel":
        raise Refusal("method_not_supported_for_channel_type")
    if channel.archived:
        raise Refusal("is_archived")
    if call.state.has_bot_in(channel):
        call.warnings.append("already_in_channel")
    else:
        channel.members.append(call.state.identity.bot_user_id)
        call.state.save_channel(channel)
    return {"channel": describe_channel(call, channel)}


def describe_channel(call: Call, channel: Channel) -> Json:
    """Return a channel object of Slack's API. `is_member` is about the bot; direct messages lack it."""
    about: Json = {
        "id": channel.id,
        "created": channel.created,
        "is_archived": channel.archived,
        "is_channel": channel.kind == "channel",
        "is_group": channel.kind == "group",
        "is_im": channel.kind == "im",
        "is_mpim": channel.kind == "mpim",
        "is_private": channel.kind != "channel",
        "is_shared": channel.shared,
        "is_ext_shared": channel.shared,
        "is_org_shared": False,
        "context_team_id": call.state.identity.team_id,
    }
    if channel.kind == "im":
        return about | {"user": channel.members[0], "is_open": True}
    topic = {"value": channel.topic, "creator": "", "last_set": 0}
    name_fields = {"name": channel.name, "name_normalized": channel.name, "is_member": call.state.has_bot_in(channel)}
    return (
        about
        | name_fields
        | {"is_general": channel.name == "general", "topic": topic, "purpose": {**topic, "value": ""}}
    )


def _find_readable_channel(call: Call) -> Channel:
    channel = call.find_channel()
    call.require_scope(f"{SCOPE_PREFIXES[channel.kind]}:history")
    if not call.state.has_bot_in(channel):
        raise Refusal("not_in_channel")
    return channel


def _select_window(call: Call, sorted_ts: Sequence[str], *, newest_first: bool) -> list[str]:
    oldest, latest = call.read_ts("oldest"), call.read_ts("latest")
    inclusive = bool(call.args.get("inclusive"))
    window = []
    for ts in reversed(sorted_ts) if newest_first else sorted_ts:
        time = parse_ts(ts)
        if _is_too_new(call, ts) or (latest and (time > latest or (not inclusive and time == latest))):
            continue
        if oldest and (time < oldest or (not inclusive and time == oldest)):
            if newest_first:
                break
            continue
        window.append(ts)
    return window


def _is_too_new(call: Call, ts: str) -> bool:
    return bool(call.lag_seconds) and float(ts) > call.state.clock.now() - call.lag_seconds


def _make_messages_answer(call: Call, messages: Sequence[Message], has_more: bool, cursor: str) -> Answer:  # noqa: FBT001  # one private use
    with_metadata = bool(call.args.get("include_all_metadata"))
    message_bodies = [
        message.data if with_metadata else {key: value for key, value in message.data.items() if key != "metadata"}
        for message in messages
    ]
    answer: Answer = {"messages": message_bodies, "has_more": has_more}
    if cursor:
        answer["response_metadata"] = {"next_cursor": cursor}
    return answer
