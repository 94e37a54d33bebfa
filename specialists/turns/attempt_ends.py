"""Ends an attempt: with a result, with a doubted result taken from plain text, or with an escalation."""

from __future__ import annotations

from dataclasses import dataclass

from handoff.contracts import Escalation, EscalationReason, Result, Turn
from specialists.turns import briefing, finish_tools
from specialists.turns.conversation import Conversation


@dataclass(frozen=True, slots=True)
class AttemptEnding:
    """Ends the attempt of one conversation.

    `max_tokens` is the most output tokens of a turn. The `limit` of a method names the limit that the attempt has
    reached, for people to read; "" if none: then a fault may still be sent back to the model.
    """

    conversation: Conversation
    max_tokens: int

    def complete_result(self, result: Result, limit: str = "") -> Result:
        """Return the result with what the conversation adds, such as files; a `limit` adds a gap that names it."""
        gap = f"Stopped at {limit}; the work may be incomplete." if limit else ""
        return self.conversation.complete_result(result, gap=gap)

    def end_with_result(self, result: Result, limit: str) -> Result | Escalation:
        """End with a result that the specialist handed in.

        It is marked as doubted if no work is behind it. The attempt gives up if the result only repeats a failed call.
        """
        if self.conversation.work_record.repeats_failure(result.content):
            return self.give_up("confidence_too_low", result.content)
        doubt = self.conversation.work_record.find_doubt(result.content)
        return self.complete_result(finish_tools.mark_doubted(result, doubt) if doubt else result, limit)

    def end_with_cut_turn(self, turn: Turn, limit: str) -> Result | Escalation | None:
        """End with the earlier text, or with the turn that was cut off; None to ask the model once more."""
        if self.conversation.best_text:
            return self._complete_outcome(self._make_doubted_result(self.conversation.best_text), limit)
        if self.conversation.cut_turn_count == 1 and not limit:
            return None
        gap = f"The answer was cut off: it repeated itself, or went beyond {self.max_tokens:,} tokens."
        outcome = self._make_doubted_result(turn.text.strip(), empty_fault=gap)
        return outcome if isinstance(outcome, Escalation) else self.conversation.complete_result(outcome, gap=gap)

    def end_with_text(self, turn: Turn, limit: str) -> Result | Escalation | None:
        """End with a turn that makes no call; None for the first such turn: the model is asked again."""
        if self.conversation.silent_turn_count == 1 and not limit:
            return None
        text = turn.text.strip()
        # An unreadable call ends the attempt without a result, whatever was said before it.
        result_text = text if self.conversation.holds_unread_call(text) else self.conversation.best_text
        return self._complete_outcome(self._make_doubted_result(result_text), limit)

    def end_at_limit(self, turn: Turn, limit: str) -> Result | Escalation:
        """End at a limit without a valid finish call: read it leniently, otherwise take the turn's text, or give up."""
        ends = [call for call in turn.calls if call.name in finish_tools.FINISH_TOOLS]
        outcome = finish_tools.read_finish_call_leniently(ends[0]) if ends else None
        if isinstance(outcome, Escalation):
            return self.complete_escalation(outcome)
        if outcome is not None:
            return self.end_with_result(outcome, limit)
        fault = f"Reached {limit} without a result."
        return self._complete_outcome(self._make_doubted_result(turn.text.strip(), empty_fault=fault), limit)

    def complete_escalation(self, escalation: Escalation) -> Escalation:
        """Return a specialist's own escalation with its partial result completed.

        If it has none, but the specialist has made files, a partial result is made of what there is.
        """
        partial = escalation.partial_result
        partial_result = self.conversation.complete_result(partial) if partial else None
        if partial_result is None and self.conversation.artifacts:
            partial_result = self.conversation.make_partial_result()
        return escalation.model_copy(update={"partial_result": partial_result})

    def give_up(self, reason: EscalationReason, message: str) -> Escalation:
        """Escalate on behalf of the specialist, with the partial result so far."""
        return Escalation(
            reason=reason, message=message, partial_result=self.conversation.make_partial_result(gap=message)
        )

    def _complete_outcome(self, outcome: Result | Escalation, limit: str) -> Result | Escalation:
        return outcome if isinstance(outcome, Escalation) else self.complete_result(outcome, limit)

    def _make_doubted_result(self, text: str, *, empty_fault: str = "The model gave no answer.") -> Result | Escalation:
        """Return a text as a doubted result. Give up if it is empty, holds a call or has no work behind it."""
        if not text:
            return self.give_up("confidence_too_low", empty_fault)
        if self.conversation.holds_unread_call(text):
            return self.give_up("confidence_too_low", "The specialist wrote a tool call as text, and no result.")
        work_record = self.conversation.work_record
        if doubt := work_record.find_doubt(text) or (
            briefing.render_note("doubt_no_tool", file=work_record.unopened_file) if work_record.unopened_file else ""
        ):
            return Escalation(reason="confidence_too_low", message=doubt)  # the text may be a refusal
        return finish_tools.mark_doubted(finish_tools.make_text_result(text), briefing.render_note("doubt_in_words"))
