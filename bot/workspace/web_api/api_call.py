"""A Web API call with its checked arguments, and the description of a Web API method."""

import base64
import binascii
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.workspace.app_parts import AppParts
from bot.workspace.rate_limits import MethodRate
from bot.workspace.refusal import Refusal
from bot.workspace.workspace_state import Channel, Message, WorkspaceState

Answer = dict[str, Any]
ArgumentKind = Literal["text", "json", "bool", "int", "ids"]
"""`ids` is a JSON array of texts, or one text with commas between them, as the SDK sends it."""
MAX_PAGE_ITEMS = 999


@dataclass
class Call:
    """The checked arguments of a call, and the workspace that it works on.

    `lag_seconds` is an injected fault: history omits the messages of the last `lag_seconds` seconds.
    """

    world: AppParts
    method: str
    args: dict[str, Any]
    lag_seconds: float = 0.0
    warnings: list[str] = field(default_factory=list)
    has_organisation_token: bool = False
    """True if the call was made with a token of an organisation, which is valid in all its workspaces."""
    step_run_id: str = ""
    """The id of the workflow step run that the token was made for; empty for any other token."""

    @property
    def state(self) -> WorkspaceState:
        """Channels, messages and people."""
        return self.world.state

    def require_scope(self, *scopes: str) -> None:
        """Refuse the call unless the app has one of the scopes.

        Raises:
            Refusal: `missing_scope`, with what is needed and what is provided.
        """
        app_scopes = self.state.app.scopes
        if not any(scope in app_scopes for scope in scopes):
            raise Refusal("missing_scope", needed=",".join(scopes), provided=",".join(sorted(app_scopes)))

    def find_channel(self, key: str = "channel") -> Channel:
        """Return the channel that the argument `key` names.

        Raises:
            Refusal: `channel_not_found`, also for private ones that the bot is not in.
        """
        reference = str(self.args[key])
        by_name = self.method == "chat.postMessage"  # any other method takes ids only
        channel = self.state.find_channel(reference) if by_name else self.state.channels.get(reference)
        if channel is None or (channel.kind != "channel" and not self.state.has_bot_in(channel)):
            raise Refusal("channel_not_found")
        return channel

    def find_writable_channel(self, key: str = "channel") -> Channel:
        """Return the channel that the argument `key` names, if the bot may write there.

        Raises:
            Refusal: `channel_not_found`, `not_in_channel`, `is_archived`, `messages_tab_disabled`.
        """
        channel = self.find_channel(key)
        if channel.archived:
            raise Refusal("is_archived")
        if channel.kind == "im" and not self.state.app.has_messages_tab:
            raise Refusal("messages_tab_disabled")
        if not self.state.has_bot_in(channel):
            raise Refusal("not_in_channel")
        return channel

    def find_message(self, channel: Channel, key: str = "ts") -> Message:
        """Return the message that the argument `key` names.

        Raises:
            Refusal: `message_not_found`.
        """
        message = channel.messages.get(str(self.args[key]))
        if message is None or message.data.get("subtype") == "tombstone":
            raise Refusal("message_not_found")
        return message

    def find_thread_ts(self, channel: Channel) -> str | None:
        """Return the ts of the thread to reply in; None if the call names no thread.

        Raises:
            Refusal: `thread_not_found`, or `cannot_reply_to_message` for the ts of a reply.
        """
        ts = self.args.get("thread_ts")
        if not ts:
            return None
        parent = channel.messages.get(ts)
        if parent is None:
            raise Refusal("thread_not_found")
        if parent.data.get("thread_ts", ts) != ts:
            raise Refusal("cannot_reply_to_message")
        return str(ts)

    def read_limit(self, default: int) -> int:
        """Return the number of items that the call asks for, at most `MAX_PAGE_ITEMS`; `default` if it names no limit.

        Raises:
            Refusal: `invalid_limit`.
        """
        limit = self.args.get("limit")
        if limit is None:
            return default
        if not 0 < limit <= MAX_PAGE_ITEMS + 1:
            raise Refusal("invalid_limit")
        return min(int(limit), MAX_PAGE_ITEMS)

    def cut_page(self, results: Sequence[Any], default: int) -> tuple[Sequence[Any], bool, str]:
        """Return the page of `results` that the call asks for, whether more follow, and the cursor of the next page.

        The cursor is empty on the last page. `default` is the page's size if the call names no limit.

        Raises:
            Refusal: `invalid_cursor`, `invalid_limit`.
        """
        start = 0
        if self.args.get("cursor"):
            try:
                start = int(base64.b64decode(self.args["cursor"], validate=True).decode().removeprefix("next:"))
            except (binascii.Error, ValueError):
                raise Refusal("invalid_cursor") from None
        end = start + self.read_limit(default)
        more = end < len(results)
        cursor = base64.b64encode(f"next:{end}".encode()).decode() if more else ""
        return results[start:end], more, cursor

    def read_ts(self, key: str) -> tuple[int, int] | None:
        """Return the timestamp in the argument `key` as (seconds, microseconds); None if the call names none.

        Raises:
            Refusal: `invalid_ts_` and the key, such as `invalid_ts_oldest`.
        """
        ts = self.args.get(key)
        try:
            return parse_ts(ts) if ts else None
        except ValueError:
            raise Refusal(f"invalid_ts_{key}") from None


def parse_ts(ts: str) -> tuple[int, int]:
    """Return a timestamp as (seconds, microseconds), which can be compared. Raises ValueError."""
    seconds, _, micro = ts.partition(".")
    return int(seconds), int(micro.ljust(6, "0")[:6] or 0)


@dataclass(frozen=True)
class ApiMethod:
    """A Web API method: its handler, arguments and rate limit, and what a call needs.

    `arguments` maps each name to its kind; `required_arguments` are those that a call
    must have. Any one of `scopes` is enough. `allows_get` is True for methods that change nothing
    and may be called by GET. `auth_kind` is the kind of token that a call needs.
    """

    handler: Callable[[Call], Awaitable[Answer]]
    arguments: dict[str, ArgumentKind]
    rate: MethodRate
    required_arguments: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    allows_get: bool = False
    auth_kind: Literal["bot", "app", "none"] = "bot"
