"""Keeps an attempt's conversation with its model, and all that came out of it so far."""

from __future__ import annotations

import json
from collections import Counter

from handoff.contracts import Artifact, Finding, Result, ToolCall, ToolReply, Turn, Usage
from handoff.events import ToolReturned
from specialists.toolkits.tool import ToolOutcome
from specialists.turns import briefing, finish_tools
from specialists.turns.egress import EgressGuard
from specialists.turns.model import ModelMessage

_SOURCES_NAMED = 3
_FOUND_KEPT = 5
_FOUND_LENGTH = 1_500


class Conversation:
    """Messages, usage, files, gaps and sources, built up turn by turn, live or from a log.

    Attributes:
        egress: Decides which URLs the calls of its last turn may ask for.
        messages: All that the next model call sends.
        turns: How many turns were taken.
        cuts: How many of them were cut off at their length limit.
        blanks: How many of them held nothing at all.
        finishes: How many calls to hand back were wrong and got an answer.
        usage: The sum of all turns.
        last: The last turn, or None.
    """

    def __init__(self, opening: str, egress: EgressGuard) -> None:
        self.egress = egress
        self.messages = [ModelMessage(role="user", text=opening)]
        self.turns = 0
        self.cuts = 0
        self.blanks = 0
        self.finishes = 0
        self.usage = Usage()
        self.last: Turn | None = None
        self.artifacts: list[Artifact] = []
        self.gaps: list[str] = []
        self.sources: list[str] = []
        self._calls: tuple[ToolCall, ...] = ()
        self._replies: list[ToolReply | None] = []
        self._times: list[int] = []
        self._asked: Counter[str] = Counter()
        self._text = ""
        self._found: list[str] = []

    def add_turn(self, turn: Turn) -> None:
        """Add the model's turn. A call in a turn that did not stop for its tools is no call."""
        calls = turn.calls if turn.stop == "tool_use" else ()
        self.turns += 1
        self.egress.turn_ended()
        self.usage += turn.usage
        self.last = turn
        self._calls, self._replies = calls, [None] * len(calls)
        self._times = [self._asked_for(call) for call in calls]
        if turn.text.strip() and turn.stop != "refused":
            self._text = turn.text.strip()
        # Providers refuse an empty message of the assistant, so a blank one is written out.
        spoken = turn.text if turn.text.strip() or calls else "(nothing)"
        self.messages.append(ModelMessage(role="assistant", text=spoken, calls=calls))
        if turn.stop == "max_tokens":
            self.cuts += 1
            self.add_note("cut")
        elif not calls and not turn.text.strip():
            self.blanks += 1
            self.add_note("blank")

    def add_note(self, note: str, **values: str) -> None:
        """Add one of the runner's own messages, by the name of its file in `notes/`."""
        self.messages.append(ModelMessage(role="user", text=briefing.note(note, **values)))

    def add_reply(self, reply: ToolReply, brought: ToolReturned | ToolOutcome | None = None) -> None:
        """Add the reply to a call of the last turn, with the files, gaps and sources that the call brought.

        The message with the replies follows once all calls have one.
        """
        for index, call in enumerate(self._calls):
            # Some models give several calls of a turn the same id, so the first open one is meant.
            if self._replies[index] is None and call.id == reply.call_id:
                self._replies[index] = reply
                self.egress.reply_read(call.name, reply)
                self.finishes += call.name in finish_tools.NAMES and not self.mixed
                if not reply.failed:
                    self._found.append(f"{call.name}: {reply.text[:_FOUND_LENGTH]}")
                break
        if brought is not None:
            self.artifacts.extend(brought.artifacts)
            self.gaps.extend(gap for gap in brought.gaps if gap not in self.gaps)
            self.sources.extend(source for source in brought.sources if source not in self.sources)
        if self._replies and None not in self._replies:
            self.messages.append(ModelMessage(role="tool", replies=tuple(filter(None, self._replies))))

    @property
    def open_calls(self) -> list[tuple[ToolCall, int]]:
        """The calls of the last turn that have no reply, in order, and how often each was asked for by now."""
        calls = zip(self._calls, self._times, self._replies, strict=True)
        return [(call, times) for call, times, reply in calls if reply is None]

    @property
    def mixed(self) -> bool:
        """True if the last turn both called tools and wished to end."""
        return len({call.name in finish_tools.NAMES for call in self._calls}) > 1

    def complete(self, result: Result, *, gap: str = "") -> Result:
        """Complete a result with all that the specialist does not write itself: files, gaps, sources, usage."""
        gaps = dict.fromkeys((*result.gaps, *self.gaps, *((gap,) if gap else ())))
        return result.model_copy(
            update={
                "findings": tuple(self._sourced(finding) for finding in result.findings),
                "artifacts": tuple(self.artifacts),
                "gaps": tuple(gaps),
                "usage": self.usage,
            }
        )

    def partial(self, *, gap: str = "") -> Result | None:
        """Put together what there is so far, the last text and the tools' own words; None if there is nothing."""
        if not (self._text or self._found or self.artifacts):
            return None
        parts = [self._text] if self._text else []
        if self._found:
            parts.append("\n\n".join(("What the tools returned so far:", *self._found[-_FOUND_KEPT:])))
        if self.artifacts:
            parts.append("Files made so far: " + ", ".join(artifact.name for artifact in self.artifacts))
        draft = finish_tools.from_text("\n\n".join(parts))
        return self.complete(draft.model_copy(update={"confidence": 0}), gap=gap)

    def _asked_for(self, call: ToolCall) -> int:
        key = f"{call.name} {json.dumps(call.arguments, sort_keys=True)}"
        self._asked[key] += 1
        return self._asked[key]

    def _sourced(self, finding: Finding) -> Finding:
        if finding.source or not self.sources:
            return finding
        named, more = self.sources[:_SOURCES_NAMED], len(self.sources) - _SOURCES_NAMED
        source = ", ".join(named) + (f" and {more} more" if more > 0 else "")
        return finding.model_copy(update={"source": source})
