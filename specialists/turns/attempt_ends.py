"""The ends of an attempt: a result, one in doubt that was only said in words, or an escalation with what there is."""

from __future__ import annotations

from dataclasses import dataclass

from handoff.contracts import Escalation, EscalationReason, Result, Turn
from specialists.turns import briefing, finish_tools
from specialists.turns.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Endings:
    """Ends the attempt of a conversation, whose turns may have `max_tokens` tokens.

    A `limit` names the limit that was reached; empty: none was, and what is wrong may be sent back.
    """

    conversation: Conversation
    max_tokens: int

    def complete(self, result: Result, limit: str = "") -> Result:
        """Complete a result, and name the limit at which the work stopped."""
        gap = f"Stopped at {limit}; the work may be incomplete." if limit else ""
        return self.conversation.complete(result, gap=gap)

    def hand_in(self, result: Result, limit: str) -> Result | Escalation:
        """End with a result that was handed in, in doubt if no work is behind it; give up if it only tells failures."""
        if self.conversation.work_done.is_failure(result.content):
            return self.give_up("confidence_too_low", result.content)
        doubt = self.conversation.work_done.doubt(result.content)
        return self.complete(finish_tools.doubt_result(result, doubt) if doubt else result, limit)

    def end_cut_off(self, turn: Turn, limit: str) -> Result | Escalation | None:
        """End with a turn that was cut off, or the whole words said before it; None if the model is asked once more."""
        if self.conversation.words:
            return self._complete_outcome(self._end_with_words(self.conversation.words), limit)
        if self.conversation.cuts == 1 and not limit:
            return None
        gap = f"The answer was cut off: it repeated itself, or went beyond {self.max_tokens:,} tokens."
        found = self._end_with_words(turn.text.strip(), fault=gap)
        return found if isinstance(found, Escalation) else self.conversation.complete(found, gap=gap)

    def end_with_text(self, turn: Turn, limit: str) -> Result | Escalation | None:
        """End with a turn that makes no call; None for the first such turn, whose words are sent back."""
        if self.conversation.silent == 1 and not limit:
            return None
        text = turn.text.strip()
        # A call that cannot be read is no result, whatever was said before it.
        said = text if self.conversation.holds_call(text) else self.conversation.words
        return self._complete_outcome(self._end_with_words(said), limit)

    def end_without_finish(self, turn: Turn, limit: str) -> Result | Escalation:
        """Hand over what the last call said though it brought no end, or give up."""
        ends = [call for call in turn.calls if call.name in finish_tools.NAMES]
        outcome = finish_tools.read_leniently(ends[0]) if ends else None
        if isinstance(outcome, Escalation):
            return self.escalate(outcome)
        if outcome is not None:
            return self.hand_in(outcome, limit)
        fault = f"Reached {limit} without a result."
        return self._complete_outcome(self._end_with_words(turn.text.strip(), fault=fault), limit)

    def escalate(self, escalation: Escalation) -> Escalation:
        """Complete the partial result of a specialist's own escalation."""
        partial = escalation.partial_result
        whole = self.conversation.complete(partial) if partial else None
        if whole is None and self.conversation.artifacts:
            whole = self.conversation.make_partial_result()
        return escalation.model_copy(update={"partial_result": whole})

    def give_up(self, reason: EscalationReason, message: str) -> Escalation:
        """Escalate in the specialist's place, with what there is so far."""
        return Escalation(
            reason=reason, message=message, partial_result=self.conversation.make_partial_result(gap=message)
        )

    def _complete_outcome(self, outcome: Result | Escalation, limit: str) -> Result | Escalation:
        return outcome if isinstance(outcome, Escalation) else self.complete(outcome, limit)

    def _end_with_words(self, text: str, *, fault: str = "The model gave no answer.") -> Result | Escalation:
        """Take what was said in words, in doubt; give up if no work is behind it: it may be talk, or a refusal."""
        if not text:
            return self.give_up("confidence_too_low", fault)
        if self.conversation.holds_call(text):
            return self.give_up("confidence_too_low", "The specialist wrote a tool call as text, and no result.")
        done = self.conversation.work_done
        if doubt := done.doubt(text) or (
            briefing.read_note("doubt_no_tool", file=done.unopened_file) if done.unopened_file else ""
        ):
            return Escalation(reason="confidence_too_low", message=doubt)  # the words are no part of a result
        return finish_tools.doubt_result(finish_tools.make_text_result(text), briefing.read_note("doubt_in_words"))
