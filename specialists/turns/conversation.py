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
from handoff.evidence.evidence_check import SourceDocument
from specialists.model import ModelMessage
from specialists.tools.tool import CODE_ARGUMENT, Tool, ToolOutcome
from specialists.turns import briefing, finish_tools, text_calls
from specialists.turns.context_window import READ_REPLY, ContextWindow
from specialists.turns.egress import EgressGuard
from specialists.turns.work_record import WorkRecord

MIN_REPEATED_REQUESTS = 3
"""How often a call has to be asked for to count as repeated. A turn of only repeated calls ends the attempt."""

_MAX_SOURCES = 3
_MAX_REPLIES = 5
_MAX_REPLY_CHARS = 1_500
_MAX_FAULT_CHARS = 160
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
        turn_count: How many turns were taken.
        cut_turn_count: How many of them were cut off: too long, or repeating themselves.
        silent_turn_count: How many turns in a row made no call, up to the last.
        best_text: The best text of those silent turns that were not cut off: the first if a tool returned anything,
            otherwise the longest.
        refused_finish_count: How many calls that end the work were refused with a reply.
        work_record: What the tools returned.
        is_idle: True if the last result was sent back because no work was behind it, and no tool was called since.
        readings: The names or addresses of what was read, each with True if all of it was.
        failed_writes: By tool name, why the last call of a writing tool failed.
        barred_replies: By call digest, the replies in place of writes that must not be made again. They do not count
            as failed writes.
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
        self.window = room
        self.turn_count = self.cut_turn_count = self.silent_turn_count = self.refused_finish_count = self.loop_turn = 0
        self.work_record = WorkRecord(opening.text, files, toolbox, task, has_other_material=has_other_material)
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
        self.replies: list[SourceDocument] = []
        self.barred_replies: Mapping[str, str] = {}
        self._toolbox = toolbox
        self._tool_names = (*toolbox, *sorted(finish_names))
        self._write_tools = frozenset(name for name, tool in toolbox.items() if tool.access == "write")
        self._calls: tuple[ToolCall, ...] = ()
        self._replies: list[ToolReply | None] = []
        self._request_counts: list[int] = []
        self._total_requests: Counter[str] = Counter()
        self._earlier_replies: dict[str, ToolReply] = {}
        self._last_text = ""
        self._reply_excerpts: list[str] = []
        room.add_message(opening)

    @property
    def messages(self) -> Sequence[ModelMessage]:
        """All that the next model call sends."""
        return self.window.messages

    def add_turn(self, turn: Turn) -> None:
        """Add the model's turn. Its calls are ignored unless it stopped for tool use."""
        calls = turn.calls if turn.stop == "tool_use" else ()
        self.window.omit_old_replies()  # as before the call of this turn: a replay gives the same messages
        self.window.correct_estimate(turn)
        self.turn_count += 1
        self.egress.begin_turn_calls()
        self.usage += turn.usage
        self.add_gaps(turn.unseen)
        self.last_turn = turn
        self._calls, self._replies = calls, [None] * len(calls)
        self._request_counts = self._count_requests(calls)
        if not self.loop_turn and self._is_repeating():
            self.loop_turn = self.turn_count
        # Providers refuse an empty message of the assistant, so it gets a placeholder.
        text = turn.text if turn.text.strip() or calls else "(nothing)"
        self.window.add_message(ModelMessage(role="assistant", text=text, calls=calls, thoughts=turn.thoughts))
        self._note_turn_fault(turn)

    def _note_turn_fault(self, turn: Turn) -> None:
        """Keep the turn's text, and tell the model what is wrong with a turn that makes no call."""
        text = turn.text.strip()
        holds_call = bool(text) and self.holds_unread_call(text)
        if text and turn.stop != "refused" and not holds_call:
            self._last_text = text
        if turn.stop == "max_tokens":
            self.cut_turn_count += 1
            self.add_note("cut")
            return
        self.silent_turn_count = 0 if self._calls else self.silent_turn_count + 1
        if not self.silent_turn_count:
            self.best_text = ""
            return
        if (
            text
            and not holds_call
            and not (self.best_text and (not self.work_record.has_no_replies or len(text) <= len(self.best_text)))
        ):
            self.best_text = text
        if holds_call:
            self.add_note("written_call", tools=", ".join(self._tool_names))
        else:
            self.add_note("words" if text else "blank")

    def add_gaps(self, gaps: Iterable[str]) -> None:
        """Add gaps of the result, each once."""
        self.gaps.extend(gap for gap in dict.fromkeys(gaps) if gap not in self.gaps)

    def add_note(self, note: str, **values: str) -> None:
        """Add one of the runner's own messages, by the name of its file in `notes/`."""
        self.window.add_message(ModelMessage(role="user", text=briefing.render_note(note, **values)))

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
            if not any(call.id == reply.call_id and call.name in self._write_tools for call in self._calls):
                self.sources.extend(source for source in outcome.sources if source not in self.sources)
        if self._replies and None not in self._replies:
            replies = zip(self._calls, filter(None, self._replies), strict=True)
            self.window.add_replies([(call.name, each, self._find_reply_number(call)) for call, each in replies])

    def _record_reading(self, call: ToolCall, reply: ToolReply, sources: Sequence[str]) -> None:
        """Record a reply as a document, and its sources as read. A query counts as reading the whole table."""
        tool = self._toolbox.get(call.name)
        name = sources[0] if sources else "a tool"
        query = str(call.arguments.get(tool.query) or "") if tool is not None else ""
        code = query or str(call.arguments.get(CODE_ARGUMENT) or "")
        is_read = tool is not None and tool.access == "read"
        self.replies.append(
            SourceDocument(name, reply.text, is_material=is_read and "://" in name, query=query, code=code)
        )
        if tool is None or not is_read:
            return
        for source in sources:
            self.readings[source] = self.readings.get(source, False) or tool.is_query_only

    def _record_reply(self, call: ToolCall, reply: ToolReply, target: str) -> None:
        """Update counts, findings and failed writes by the reply to a call."""
        self._count_replayed_call(call)
        self.egress.record_reply(call.name, reply, target)
        is_finish = call.name in finish_tools.FINISH_TOOLS
        self.refused_finish_count += is_finish and not self.has_mixed_calls
        self.is_idle = (
            is_finish
            and not self.has_mixed_calls
            and bool(self.work_record.explain_missing_work(finish_tools.read_result_content(call)))
        )
        if not is_finish and call.name != READ_REPLY and make_call_key(call) not in self._earlier_replies:
            self.work_record.record_reply(call, reply)
        if call.name in self._write_tools:
            self.failed_writes.pop(call.name, None)
        if reply.failed:
            if call.name in self._write_tools and reply.text not in self.barred_replies.values():
                self.failed_writes[call.name] = " ".join(reply.text.split())[:_MAX_FAULT_CHARS]
            return
        key, is_write = make_call_key(call), call.name in self._write_tools
        if key in self._earlier_replies:
            return
        if call.name in self._toolbox:
            self._reply_excerpts.append(f"{call.name}: {reply.text[:_MAX_REPLY_CHARS]}")
            query = str(call.arguments.get(self._toolbox[call.name].query) or "").strip()
            if query and query not in self.queries:
                self.queries.append(query)
        if is_write:  # what was read before may have changed
            self._earlier_replies.clear()
            self._total_requests = Counter(
                {each: n for each, n in self._total_requests.items() if _extract_tool_name(each) in self._write_tools}
            )
        else:
            self._earlier_replies[key] = reply

    def _count_replayed_call(self, call: ToolCall) -> None:
        """Let the egress guard count a call that an earlier owner made. It has already counted those made here."""
        tool = self._toolbox.get(call.name)
        if tool is None or not (tool.url or tool.sends) or make_call_key(call) in self._earlier_replies:
            return
        with suppress(ValidationError):  # a call with such arguments was never made
            self.egress.judge_call(tool, tool.arguments.model_validate(call.arguments))

    def _find_reply_number(self, call: ToolCall) -> int | None:
        return self.window.find_reply_number(call.arguments) if call.name == READ_REPLY else None

    def _count_requests(self, calls: Sequence[ToolCall]) -> list[int]:
        """Return how often each call was asked for by now.

        A writing call counts each time, a reading one once a turn.
        """
        seen_keys: set[str] = set()
        times = []
        for call in calls:
            key = make_call_key(call)
            self._total_requests[key] += key not in seen_keys or call.name in self._write_tools
            seen_keys.add(key)
            times.append(self._total_requests[key])
        return times

    def _is_repeating(self) -> bool:
        """Return True if the last turn has only reading calls, all of them made twice before."""
        excluded_tools = finish_tools.FINISH_TOOLS | self._write_tools
        repeat_flags = [
            times >= MIN_REPEATED_REQUESTS and call.name not in excluded_tools
            for call, times in zip(self._calls, self._request_counts, strict=True)
        ]
        return bool(repeat_flags) and all(repeat_flags)

    def holds_unread_call(self, text: str) -> bool:
        """Return True if a text seems to hold a call of one of the specialist's tools that was not run."""
        return text_calls.holds_unread_call(text, self._tool_names)

    def find_earlier_reply(self, call: ToolCall) -> ToolReply | None:
        """Return the reply that the very same call got before, if it only reads and nothing was written since."""
        return self._earlier_replies.get(make_call_key(call))

    @property
    def open_calls(self) -> list[tuple[ToolCall, int]]:
        """The unanswered calls of the last turn, in order: pairs of (call, how often it was asked for by now)."""
        calls = zip(self._calls, self._request_counts, self._replies, strict=True)
        return [(call, times) for call, times, reply in calls if reply is None]

    @property
    def answered_count(self) -> int:
        """How many calls of the last turn have a reply."""
        return sum(reply is not None for reply in self._replies)

    @property
    def has_mixed_calls(self) -> bool:
        """True if the last turn both called tools and tried to end the work."""
        return len({call.name in finish_tools.FINISH_TOOLS for call in self._calls}) > 1

    def complete_result(self, result: Result, *, gap: str = "") -> Result:
        """Return a result with what code adds: files, gaps, notes, queries, readings, failed writes and usage.

        Findings without a source get the sources of the attempt.
        """
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
        """Build a result of confidence 0 from the last text, replies and files; None if there are none."""
        if not (self._last_text or self._reply_excerpts or self.artifacts):
            return None
        parts = [self._last_text] if self._last_text else []
        if self._reply_excerpts:
            parts.append("\n\n".join(("What the tools returned so far:", *self._reply_excerpts[-_MAX_REPLIES:])))
        if self.artifacts:
            parts.append("Files made so far: " + ", ".join(artifact.name for artifact in self.artifacts))
        draft = finish_tools.make_text_result("\n\n".join(parts))
        return self.complete_result(draft.model_copy(update={"confidence": 0}), gap=gap)

    def _add_source(self, finding: Finding) -> Finding:
        if finding.source or not self.sources:
            return finding
        named_sources, more = self.sources[:_MAX_SOURCES], len(self.sources) - _MAX_SOURCES
        source = ", ".join(named_sources) + (f" and {more} more" if more > 0 else "")
        return finding.model_copy(update={"source": source})


def make_call_key(call: ToolCall) -> str:
    """Return a key for a call: equal for calls of one tool with the same arguments, and for no others."""
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True)}"


def _extract_tool_name(key: str) -> str:
    return key.partition(" ")[0]
