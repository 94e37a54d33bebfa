"""Keeps an attempt's conversation with its model, and what it has brought so far: files, gaps, sources, usage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from pydantic import ValidationError

from handoff.briefs.addresses import filter_cited_addresses
from handoff.contracts import Artifact, Finding, ReadSource, Result, ToolCall, ToolReply, Turn, Usage
from handoff.events import ToolReturned
from handoff.evidence.binding import ReadDocument
from specialists.model import ModelMessage
from specialists.tools.tool import CODE_ARGUMENT, Tool, ToolOutcome
from specialists.turns import briefing, finish_tools, text_calls
from specialists.turns.attempt_work import WorkRecord
from specialists.turns.context_room import READ_REPLY, ContextWindow
from specialists.turns.egress import EgressGuard

REPEATED_FROM = 3
"""How often a call has to be asked for to count as repeated. A turn of only repeated calls ends the attempt."""

_MAX_SOURCES = 3
_MAX_REPLIES = 5
_REPLY_LENGTH = 1_500
_FAULT_LENGTH = 160
"""Characters of the reason why a call of a writing tool failed."""


class Conversation:
    """Messages, usage, files, gaps and sources, built up turn by turn, live or from a log.

    Args:
        opening: The first message, with the pictures that the task is about.
        files: The names of the files that its tools may open.
        has_other_material: True if it was also given other texts, so that it need not open the files.
        egress: Rules on what the calls of its last turn may send out.
        room: Keeps the messages within the tokens that a call may send.
        toolbox: The specialist's own tools by name.
        task: The part of the brief that says what to do.
        finish_names: The names of the tools that end its work.

    Attributes:
        turns: How many turns were taken.
        cut_turns: How many of them were cut off: too long, or repeating themselves.
        silent_turns: How many turns in a row made no call, up to the last.
        best_text: The best text of those silent turns that were not cut off: the first if a tool returned anything,
            otherwise the longest.
        refused_finishes: How many calls that end the work were refused with a reply.
        work_done: What the tools returned.
        is_idle: True if the last result was sent back because no work was behind it, and no tool was called since.
        readings: The names or addresses of what was read, each with True if all of it was.
        failed_writes: By tool name, why the last call of a writing tool failed.
        barred_replies: By call digest, the replies in place of writes that must not be made again. Such a call did not
            fail.
        replies: What tools replied, as documents that a result can be bound to.
        loop_turn: The number of the first turn that only repeated calls made twice before; 0 if none did.
        usage: The sum of all turns.
        last_turn: The last turn, or None.
    """

    def __init__(
        self,
        opening: ModelMessage,
        files: Iterable[str],
        egress: EgressGuard,
        room: ContextWindow,
        toolbox: Mapping[str, Tool],
        task: str = "",
        finish_names: Iterable[str] = (finish_tools.RETURN_RESULT, finish_tools.ESCALATE),
        *,
        has_other_material: bool = False,
    ) -> None:
        self.egress = egress
        self.room = room
        self.turns = self.cut_turns = self.silent_turns = self.refused_finishes = self.loop_turn = 0
        self.work_done = WorkRecord(opening.text, files, toolbox, task, has_other_material=has_other_material)
        self.is_idle = False
        self.best_text = ""
        self.usage = Usage()
        self.last_turn: Turn | None = None
        self.artifacts: list[Artifact] = []
        self.gaps: list[str] = []
        self.notes: list[str] = []
        self.sources: list[str] = []
        self.queries: list[str] = []
        self.readings: dict[str, bool] = {}
        self.failed_writes: dict[str, str] = {}
        self.replies: list[ReadDocument] = []
        self.barred_replies: Mapping[str, str] = {}
        self._toolbox = toolbox
        self._names = (*toolbox, *sorted(finish_names))
        self._writing = frozenset(name for name, tool in toolbox.items() if tool.access == "write")
        self._calls: tuple[ToolCall, ...] = ()
        self._replies: list[ToolReply | None] = []
        self._times: list[int] = []
        self._asked: Counter[str] = Counter()
        self._said: dict[str, ToolReply] = {}
        self._text = ""
        self._found: list[str] = []
        room.add_message(opening)

    @property
    def messages(self) -> Sequence[ModelMessage]:
        """All that the next model call sends."""
        return self.room.messages

    def add_turn(self, turn: Turn) -> None:
        """Add the model's turn. Its calls are ignored unless it stopped for tool use."""
        calls = turn.calls if turn.stop == "tool_use" else ()
        self.room.make_room()  # as before the call that brought this turn, so that a replay gives the same messages
        self.room.correct_estimate(turn)
        self.turns += 1
        self.egress.note_turn_end()
        self.usage += turn.usage
        self.add_gaps(turn.unseen)
        self.last_turn = turn
        self._calls, self._replies = calls, [None] * len(calls)
        self._times = self._count_requests(calls)
        if not self.loop_turn and self._is_repeating():
            self.loop_turn = self.turns
        # Providers refuse an empty message of the assistant, so it gets a placeholder.
        spoken = turn.text if turn.text.strip() or calls else "(nothing)"
        self.room.add_message(ModelMessage(role="assistant", text=spoken, calls=calls, thoughts=turn.thoughts))
        self._note_turn_fault(turn)

    def _note_turn_fault(self, turn: Turn) -> None:
        """Keep the turn's text, and tell the model what is wrong with a turn that makes no call."""
        text = turn.text.strip()
        unread = bool(text) and self.holds_unread_call(text)
        if text and turn.stop != "refused" and not unread:
            self._text = text
        if turn.stop == "max_tokens":
            self.cut_turns += 1
            self.add_note("cut")
            return
        self.silent_turns = 0 if self._calls else self.silent_turns + 1
        if not self.silent_turns:
            self.best_text = ""
            return
        if (
            text
            and not unread
            and not (self.best_text and (not self.work_done.gave_nothing or len(text) <= len(self.best_text)))
        ):
            self.best_text = text
        if unread:
            self.add_note("written_call", tools=", ".join(self._names))
        else:
            self.add_note("words" if text else "blank")

    def add_gaps(self, gaps: Iterable[str]) -> None:
        """Add gaps of the result, each once."""
        self.gaps.extend(gap for gap in dict.fromkeys(gaps) if gap not in self.gaps)

    def add_note(self, note: str, **values: str) -> None:
        """Add one of the runner's own messages, by the name of its file in `notes/`."""
        self.room.add_message(ModelMessage(role="user", text=briefing.render_note(note, **values)))

    def add_reply(self, reply: ToolReply, outcome: ToolReturned | ToolOutcome | None = None) -> None:
        """Add the reply to a call of the last turn, with the files, gaps, notes and sources that it brought.

        Once all calls have a reply, the message with the replies is added.
        """
        for index, call in enumerate(self._calls):
            # Some models give several calls of a turn the same id, so the first open one is meant.
            if self._replies[index] is None and call.id == reply.call_id:
                self._replies[index] = reply
                self._record_reply(call, reply, outcome.target if outcome is not None else "")
                if outcome is not None and not reply.failed:
                    self._record_reading(call, reply, outcome.sources)
                break
        if outcome is not None:
            self.artifacts.extend(outcome.artifacts)
            if not (reply.failed and outcome.sources and all(self.readings.get(one) for one in outcome.sources)):
                self.add_gaps(outcome.gaps)  # a source that was given whole has no gap if a tool cannot read it
            self.notes.extend(note for note in outcome.notes if note not in self.notes)
            if not any(call.id == reply.call_id and call.name in self._writing for call in self._calls):
                self.sources.extend(source for source in outcome.sources if source not in self.sources)
        if self._replies and None not in self._replies:
            replies = zip(self._calls, filter(None, self._replies), strict=True)
            self.room.add_replies([(call.name, each, self._find_reply_number(call)) for call, each in replies])

    def _record_reading(self, call: ToolCall, reply: ToolReply, sources: Sequence[str]) -> None:
        """Record a reply as a document, and its sources as read. A query counts as reading the whole table."""
        tool = self._toolbox.get(call.name)
        name = sources[0] if sources else "a tool"
        query = str(call.arguments.get(tool.query) or "") if tool is not None else ""
        code = query or str(call.arguments.get(CODE_ARGUMENT) or "")
        reads = tool is not None and tool.access == "read"
        self.replies.append(ReadDocument(name, reply.text, is_material=reads and "://" in name, query=query, code=code))
        if tool is None or not reads:
            return
        for source in sources:
            self.readings[source] = self.readings.get(source, False) or tool.only_queries

    def _record_reply(self, call: ToolCall, reply: ToolReply, target: str) -> None:
        """Update counts, findings and failed writes by the reply to a call."""
        self._count_replayed_call(call)
        self.egress.record_reply(call.name, reply, target)
        ends = call.name in finish_tools.FINISH_TOOLS
        self.refused_finishes += ends and not self.is_mixed
        self.is_idle = (
            ends and not self.is_mixed and bool(self.work_done.explain_missing_work(finish_tools.read_content(call)))
        )
        if not ends and call.name != READ_REPLY and make_call_key(call) not in self._said:
            self.work_done.record_reply(call, reply)
        if call.name in self._writing:
            self.failed_writes.pop(call.name, None)
        if reply.failed:
            if call.name in self._writing and reply.text not in self.barred_replies.values():
                self.failed_writes[call.name] = " ".join(reply.text.split())[:_FAULT_LENGTH]
            return
        key, writes = make_call_key(call), call.name in self._writing
        if key in self._said:
            return
        if call.name in self._toolbox:
            self._found.append(f"{call.name}: {reply.text[:_REPLY_LENGTH]}")
            query = str(call.arguments.get(self._toolbox[call.name].query) or "").strip()
            if query and query not in self.queries:
                self.queries.append(query)
        if writes:  # what was read before may have changed
            self._said.clear()
            self._asked = Counter(
                {each: n for each, n in self._asked.items() if _extract_tool_name(each) in self._writing}
            )
        else:
            self._said[key] = reply

    def _count_replayed_call(self, call: ToolCall) -> None:
        """Let the egress guard count a call that an earlier owner made. It has already counted those made here."""
        tool = self._toolbox.get(call.name)
        if tool is None or not (tool.url or tool.sends) or make_call_key(call) in self._said:
            return
        with suppress(ValidationError):  # a call with such arguments was never made
            self.egress.judge(tool, tool.arguments.model_validate(call.arguments))

    def _find_reply_number(self, call: ToolCall) -> int | None:
        return self.room.find_reply_number(call.arguments) if call.name == READ_REPLY else None

    def _count_requests(self, calls: Sequence[ToolCall]) -> list[int]:
        """Return how often each call was asked for by now.

        A writing call counts each time, a reading one once a turn.
        """
        seen: set[str] = set()
        times = []
        for call in calls:
            key = make_call_key(call)
            self._asked[key] += key not in seen or call.name in self._writing
            seen.add(key)
            times.append(self._asked[key])
        return times

    def _is_repeating(self) -> bool:
        """Return True if the last turn has only reading calls, all of them made twice before."""
        apart = finish_tools.FINISH_TOOLS | self._writing
        repeated = [
            times >= REPEATED_FROM and call.name not in apart
            for call, times in zip(self._calls, self._times, strict=True)
        ]
        return bool(repeated) and all(repeated)

    def holds_unread_call(self, text: str) -> bool:
        """Return True if a text seems to hold a tool call that is not accepted; see `text_calls.holds_unread_call`."""
        return text_calls.holds_unread_call(text, self._names)

    def find_earlier_reply(self, call: ToolCall) -> ToolReply | None:
        """Return the reply that the very same call got before, if it only reads and nothing was written since."""
        return self._said.get(make_call_key(call))

    @property
    def open_calls(self) -> list[tuple[ToolCall, int]]:
        """The unanswered calls of the last turn, in order: pairs of (call, how often it was asked for by now)."""
        calls = zip(self._calls, self._times, self._replies, strict=True)
        return [(call, times) for call, times, reply in calls if reply is None]

    @property
    def answered_count(self) -> int:
        """How many calls of the last turn have a reply."""
        return sum(reply is not None for reply in self._replies)

    @property
    def is_mixed(self) -> bool:
        """True if the last turn both called tools and tried to end the work."""
        return len({call.name in finish_tools.FINISH_TOOLS for call in self._calls}) > 1

    def complete_result(self, result: Result, *, gap: str = "") -> Result:
        """Return a result with what the specialist does not write itself: files, gaps, sources, usage."""
        gaps = dict.fromkeys((*result.gaps, *self.gaps, *((gap,) if gap else ())))
        result = result.model_copy(update={"findings": tuple(self._add_source(one) for one in result.findings)})
        return result.model_copy(
            update={
                "addresses": filter_cited_addresses(result, self.egress.citable_addresses),
                "artifacts": tuple(self.artifacts),
                "gaps": tuple(gaps),
                "notes": tuple(self.notes),
                "queries": tuple(self.queries),
                "readings": tuple(ReadSource(name=name, is_whole=whole) for name, whole in self.readings.items()),
                "failed_writes": tuple(f"{tool}: {fault}" for tool, fault in self.failed_writes.items()),
                "usage": self.usage,
            }
        )

    def make_partial_result(self, *, gap: str = "") -> Result | None:
        """Build a result from the last text, the last replies and the files so far; None if there are none."""
        if not (self._text or self._found or self.artifacts):
            return None
        parts = [self._text] if self._text else []
        if self._found:
            parts.append("\n\n".join(("What the tools returned so far:", *self._found[-_MAX_REPLIES:])))
        if self.artifacts:
            parts.append("Files made so far: " + ", ".join(artifact.name for artifact in self.artifacts))
        draft = finish_tools.make_text_result("\n\n".join(parts))
        return self.complete_result(draft.model_copy(update={"confidence": 0}), gap=gap)

    def _add_source(self, finding: Finding) -> Finding:
        if finding.source or not self.sources:
            return finding
        named, more = self.sources[:_MAX_SOURCES], len(self.sources) - _MAX_SOURCES
        source = ", ".join(named) + (f" and {more} more" if more > 0 else "")
        return finding.model_copy(update={"source": source})


def make_call_key(call: ToolCall) -> str:
    """Return a key for a call: equal for calls of one tool with the same arguments, and for no others."""
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True)}"


def _extract_tool_name(key: str) -> str:
    return key.partition(" ")[0]
