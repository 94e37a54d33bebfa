"""Keeps the messages of a conversation within its token limit: the oldest tool replies give way to references.

Which replies give way follows from the turns and replies alone. So another owner that resumes the attempt from its log
sends the very same messages, unless the model refused a call as too long. The replies themselves are kept for
`read_reply` and for the checks.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from handoff.contracts import ToolReply, Turn
from handoff.text.context_budget import estimate_token_count
from specialists.formats.picture_facts import estimate_picture_tokens
from specialists.model import ModelMessage
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.turns import briefing

READ_REPLY = "read_reply"
TARGET_SHARE = 0.7
"""Once a call exceeds the limit, replies are left out until it takes this share of the limit.

Many replies are left out at a time, as providers cache an unchanged beginning.
"""
MAX_CONTEXT_SHARE = 0.9
"""The share of a model's stated context size that a call may fill, since the reply has to fit too."""
MAX_KEPT_CHARS = 400
"""Replies of at most this many characters are never left out: a reference would save too little."""
MAX_PART_CHARS = 6_000
"""Most characters of a left-out reply that one `read_reply` returns; at most about a third of the limit."""
_MIN_PART_CHARS = 500
_MIN_FACTOR, _MAX_FACTOR = 0.5, 8.0
"""Bounds of the factor by which a provider's count of tokens differs from the estimate."""


class ReadReplyArguments(BaseModel):
    """The arguments of `read_reply`."""

    number: int = Field(ge=1)
    start: int = Field(default=0, ge=0)


@dataclass(slots=True)
class _ReplyRecord:
    """A tool's reply.

    `message_index` is the index of its message, and `reply_index` its index among that message's replies. `number` is
    the reply's own number, or that of the earlier reply which it repeats.
    """

    tool: str
    reply: ToolReply
    message_index: int
    reply_index: int
    number: int
    is_omitted: bool = False


class ContextWindow:
    """The messages of a conversation, kept within a number of tokens.

    Args:
        limit: The most tokens that a call may send.
        overhead: About how many tokens of it the system prompt and the tools take.

    Attributes:
        messages: What the next model call sends.
    """

    def __init__(self, limit: int, overhead: int = 0) -> None:
        self.messages: list[ModelMessage] = []
        self._limit = limit
        self._estimate = overhead
        self._factor = 1.0
        self._sizes: list[int] = []
        self._reply_records: list[_ReplyRecord] = []
        self._unread_index = -1
        self._has_omitted = False

    @property
    def read_tool(self) -> Tool | None:
        """The tool that returns left-out replies; None while no reply is left out."""
        return Tool(READ_REPLY, "read", ReadReplyArguments, self._read_reply) if self._has_omitted else None

    @property
    def estimated_tokens(self) -> float:
        """The estimated tokens of the next call, as the provider counts them."""
        return self._estimate * self._factor

    def add_message(self, message: ModelMessage) -> None:
        """Add a message without replies."""
        self.messages.append(message)
        self._sizes.append(_estimate_tokens(message))
        self._estimate += self._sizes[-1]

    def add_replies(self, replies: list[tuple[str, ToolReply, int | None]]) -> None:
        """Add a turn's replies as one message. Each is (tool name, reply, number of the repeated reply or None)."""
        message = ModelMessage(role="tool", replies=tuple(reply for _, reply, _ in replies))
        self._unread_index = len(self.messages)
        for reply_index, (tool, reply, repeated_number) in enumerate(replies):
            number = repeated_number or len(self._reply_records) + 1
            self._reply_records.append(_ReplyRecord(tool, reply, len(self.messages), reply_index, number))
        self.add_message(message)

    def correct_estimate(self, turn: Turn) -> None:
        """Correct the token estimate by what the provider counted for the call that brought this turn."""
        self._unread_index = -1
        if turn.usage.tokens_in and turn.usage.calls == 1:  # with several tries, the count is of no single one
            factor = turn.usage.tokens_in / max(1, self._estimate)
            self._factor = min(max(factor, _MIN_FACTOR), _MAX_FACTOR)

    def omit_old_replies(self) -> None:
        """Leave out the oldest replies until the next call fits; replies that no turn has read only if they must be."""
        if self.estimated_tokens <= self._limit:
            return
        for record in self._reply_records:
            goal = self._limit if record.message_index == self._unread_index else self._limit * TARGET_SHARE
            if self.estimated_tokens <= goal:
                return
            if not record.is_omitted and len(record.reply.text) > MAX_KEPT_CHARS:
                self._omit_reply(record)

    def shrink(self, share: float) -> bool:
        """Shrink the next call to a share of its size, after its model refused it. False if nothing can be left out.

        The new limit is not stored: another owner that resumes the attempt finds it anew.
        """
        before = self.estimated_tokens
        self._limit = int(min(before, self._limit) * share * MAX_CONTEXT_SHARE)
        self.omit_old_replies()
        return self.estimated_tokens < before

    def find_reply_number(self, arguments: object) -> int | None:
        """Return the number of the reply that arguments of `read_reply` ask for; None if there is no such reply."""
        number = arguments.get("number") if isinstance(arguments, dict) else None
        return number if isinstance(number, int) and 0 < number <= len(self._reply_records) else None

    def _omit_reply(self, reply_record: _ReplyRecord) -> None:
        length = f"{len(reply_record.reply.text):,}"
        text = briefing.render_note(
            "left_out",
            number=str(reply_record.number),
            tool=self._reply_records[reply_record.number - 1].tool,
            length=length,
        )
        message = self.messages[reply_record.message_index]
        replies = list(message.replies)
        replies[reply_record.reply_index] = reply_record.reply.model_copy(update={"text": text})
        self.messages[reply_record.message_index] = message.model_copy(update={"replies": tuple(replies)})
        size = _estimate_tokens(self.messages[reply_record.message_index])
        self._estimate += size - self._sizes[reply_record.message_index]
        self._sizes[reply_record.message_index] = size
        reply_record.is_omitted = self._has_omitted = True

    async def _read_reply(self, arguments: ReadReplyArguments, _workbench: Workbench) -> ToolOutcome:
        """Give a reply again that was left out for room, from a character on."""
        number = self.find_reply_number(arguments.model_dump())
        if number is None:
            return ToolOutcome(f"There are replies 1 to {len(self._reply_records)}.", failed=True)
        text, start = self._reply_records[number - 1].reply.text, arguments.start
        # About a quarter, at 3 or 4 characters a token.
        max_chars = max(_MIN_PART_CHARS, min(MAX_PART_CHARS, int(self._limit / self._factor)))
        part, end = text[start : start + max_chars], start + max_chars
        if not part:
            return ToolOutcome(f"Reply {number} has {len(text):,} characters.", failed=True)
        more = f"\n[{len(text) - end:,} characters follow, from {end} on]" if end < len(text) else ""
        return ToolOutcome(f"{part}{more}")


def _estimate_tokens(message: ModelMessage) -> int:
    """Estimate the tokens of a message."""
    size = estimate_token_count(message.text) + sum(estimate_token_count(reply.text) for reply in message.replies)
    size += sum(estimate_picture_tokens(picture.data) for picture in message.pictures)
    return size + sum(
        estimate_token_count(call.name) + estimate_token_count(str(call.arguments)) for call in message.calls
    )
