"""Response URLs, by which the app may answer a person's action up to five times within thirty minutes."""

import secrets
from dataclasses import dataclass

from bot.workspace.blocks import check_message_blocks
from bot.workspace.channel_messages import ChannelMessages
from bot.workspace.refusal import Refusal
from bot.workspace.workspace_state import Channel, Json, Message, WorkspaceState

URL_LIFETIME_SECONDS = 1800.0
MAX_URL_USES = 5
MESSAGE_FIELDS = ("text", "blocks", "attachments", "metadata")


@dataclass
class ResponseUrl:
    """One response URL, for an action of a person on `message` (None: a command). `expires_at` is workspace time."""

    user_id: str
    channel: Channel
    message: Message | None
    expires_at: float
    uses: int = 0


class ResponseUrls:
    """Hands out response URLs, and posts the messages that apps send to them."""

    def __init__(self, state: WorkspaceState, messages: ChannelMessages) -> None:
        self._state, self._messages = state, messages
        self._open: dict[str, ResponseUrl] = {}
        self.base_url = ""

    def make_url(self, user_id: str, channel: Channel, message: Message | None = None) -> str:
        """Return a new response URL. It accepts `MAX_URL_USES` messages within `URL_LIFETIME_SECONDS`."""
        key = secrets.token_urlsafe(24)
        self._open[key] = ResponseUrl(user_id, channel, message, self._state.clock.now() + URL_LIFETIME_SECONDS)
        return f"{self.base_url}/response/{key}"

    def is_known(self, key: str) -> bool:
        """Return True if `key` is that of a response URL of this app, even an expired one."""
        return key in self._open

    def post_response(self, key: str, body: Json) -> None:
        """Apply what the app sent to a response URL: post a message, or replace or delete the original one.

        Raises:
            Refusal: `invalid_url`, `expired_url`, `used_url`, or the error of a message that Slack refuses.
        """
        response = self._open.get(key)
        if response is None:
            raise Refusal("invalid_url")
        if response.expires_at < self._state.clock.now():
            raise Refusal("expired_url")
        if response.uses >= MAX_URL_USES:
            raise Refusal("used_url")
        self._apply_response(response, body)
        response.uses += 1

    def post_ack_message(self, body: Json | None, user_id: str, channel: Channel) -> None:
        """Post the message in a command's acknowledgement, if there is one. Raises Refusal if it is invalid."""
        if body and (body.get("text") or body.get("blocks")):
            response = ResponseUrl(user_id, channel, None, 0.0)
            self._apply_response(response, body)

    def _apply_response(self, response: ResponseUrl, body: Json) -> None:
        message, channel = response.message, response.channel
        is_deleted = (
            message and not message.data.get("is_ephemeral") and channel.messages.get(message.ts) is not message
        )
        if is_deleted and (body.get("delete_original") or body.get("replace_original")):
            raise Refusal("message_not_found")
        if message and body.get("delete_original"):
            if message.data.get("is_ephemeral"):
                self._messages.drop_ephemeral(response.user_id, message.ts)
            else:
                self._messages.delete_message(channel, message)
            return
        content = {key: body[key] for key in MESSAGE_FIELDS if body.get(key)}
        if not content:
            raise Refusal("no_text")
        if not isinstance(content.get("text", ""), str):
            raise Refusal("invalid_arguments", "[ERROR] must be a string [json-pointer:/text]")
        thread_ts = body.get("thread_ts")
        if thread_ts and (not isinstance(thread_ts, str) or thread_ts not in channel.messages):
            raise Refusal("thread_not_found")
        if "blocks" in content:
            content["blocks"] = check_message_blocks(content["blocks"])
        content.setdefault("text", "")
        if message and body.get("replace_original"):
            self._replace_original(response, message, content)
        elif body.get("response_type") == "in_channel":
            self._messages.post_as_bot(channel, content, thread_ts)
        else:
            self._messages.post_ephemeral(channel, response.user_id, content, thread_ts)

    def _replace_original(self, response: ResponseUrl, message: Message, content: Json) -> None:
        whole = {**dict.fromkeys(("blocks", "attachments")), **content}
        if message.data.get("is_ephemeral"):
            message.data |= {key: value for key, value in whole.items() if value is not None}
            for key, value in whole.items():
                if value is None:
                    message.data.pop(key, None)
            self._messages.remember_elements(message)
            self._messages.show_ephemeral(response.user_id, message)
        else:
            self._messages.edit_message(response.channel, message, whole)
