"""What ends an attempt, and what a model is told on the way."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from handoff.checking.result_checks import CheckSubject
from handoff.checking.result_checks import run_checks as check_result
from handoff.contracts import Artifact, Finding, Turn
from specialists.model import ModelCall, ModelError
from specialists.tools.tool import ToolOutcome
from specialists.turns import finish_tools
from specialists.turns.one_call import MAX_OUTPUT_CHARS, ToolCrashed
from specialists.turns.tool_calls import MAX_TURN_CALLS
from tests.patience import patience
from tests.specialists.scripted_model import (
    TURN_USAGE,
    KeptLog,
    LookArguments,
    Looker,
    calling,
    finish,
    give_up,
    make_text_turn,
    play,
    returning,
    silence,
)

LOOK = ("look", {"at": "sea"})
SEEN_TEXT = "It saw 11 and saw 12."


async def test_a_result_carries_what_the_call_said_and_the_usage_of_all_turns() -> None:
    looker = Looker()
    finding = {"message": "It is blue.", "severity": "low", "where": "sea", "source": "eyes"}
    outcome, model, log = await finish([calling(LOOK), returning(findings=[finding])], looker.tool())
    assert (outcome.summary, outcome.content, outcome.confidence) == ("In short.", "All of it.", 90)
    assert outcome.findings == (Finding(message="It is blue.", severity="low", where="sea", source="eyes"),)
    assert outcome.usage == TURN_USAGE + TURN_USAGE
    assert (outcome.usage.calls, outcome.usage.tokens_in) == (2, 20)
    assert looker.seen_places == ["sea"]
    assert [reply.text for reply in log.replies] == ["saw sea"]
    assert not model.moves


async def test_rows_are_put_into_a_summary_too() -> None:
    async def then(_: LookArguments) -> ToolOutcome:
        return ToolOutcome("country | total\nDE | 931.8\n(1 row)")

    tool = replace(Looker(then).tool(), query="at")
    moves = [
        calling(("look", {"at": "sea"})),
        returning("DE has 931.8.", summary="[[rows 2]]"),
        returning("DE has 931.8.", summary="In short: [[rows]]"),
    ]
    outcome, model, _ = await finish(moves, tool)
    assert "only 1 query brought rows" in model.calls[2].messages[-1].replies[0].text
    assert outcome.summary == "In short: \n| country | total |\n| --- | --- |\n| DE | 931.8 |\n"


async def test_the_model_sees_prompt_protocol_task_tools_and_limits() -> None:
    _, model, _ = await play([calling(LOOK), returning()], Looker().tool(), done_when="The colour is named.")
    first, second = model.calls
    assert first.system.startswith("You are the scout.\n\nHand in your work with return_result")
    assert [message.role for message in first.messages] == ["user"]
    assert first.messages[0].text == "# Task\nLook at the sea.\n\n# Done when\nThe colour is named."
    assert [tool.name for tool in first.tools] == ["look", "return_result", "escalate"]
    assert (first.purpose, first.tier, first.max_tokens) == ("specialist:scout", "deep", 500)
    assert [message.role for message in second.messages] == ["user", "assistant", "tool"]
    assert second.messages[2].replies[0].text == "saw sea"


def test_the_two_finishing_tools_stay_small() -> None:
    specs = [
        {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
        for spec in finish_tools.FINISH_SPECS
    ]
    assert len(json.dumps(specs, separators=(",", ":"))) / 4 <= 190


async def test_calls_of_one_turn_run_side_by_side_and_are_answered_in_order() -> None:
    both = asyncio.Barrier(2)

    async def meet(arguments: LookArguments) -> ToolOutcome:
        await both.wait()
        return ToolOutcome(f"met at {arguments.at}")

    turn = calling(("look", {"at": "a"}), ("look", {"at": "b"}))
    _, model, _ = await finish([turn, returning()], Looker(meet).tool())
    assert [reply.text for reply in model.calls[1].messages[2].replies] == ["met at a", "met at b"]


async def test_of_very_many_calls_in_one_turn_the_first_are_run_and_the_others_told_why() -> None:
    looker = Looker()
    turn = calling(*[("look", {"at": str(number)}) for number in range(MAX_TURN_CALLS + 8)])
    _, model, _ = await finish([turn, returning(SEEN_TEXT)], looker.tool())
    assert sorted(map(int, looker.seen_places)) == [*range(MAX_TURN_CALLS)]
    replies = model.calls[1].messages[2].replies
    assert [reply.text for reply in replies[:MAX_TURN_CALLS]] == [f"saw {number}" for number in range(MAX_TURN_CALLS)]
    assert all(reply.failed and f"at most {MAX_TURN_CALLS} calls" in reply.text for reply in replies[MAX_TURN_CALLS:])


async def test_a_takeover_runs_and_refuses_the_same_calls_of_a_long_turn() -> None:
    turn = calling(*[("look", {"at": str(number)}) for number in range(MAX_TURN_CALLS + 8)])
    _, _, log = await play([turn, returning(SEEN_TEXT)], Looker().tool())
    for kept in (1, 10, MAX_TURN_CALLS + 1, MAX_TURN_CALLS + 4):
        again = Looker()
        await play([returning(SEEN_TEXT)], again.tool(), log=KeptLog(log.history[:kept]))
        assert len(again.seen_places) == max(0, MAX_TURN_CALLS + 1 - kept)


async def test_an_escalation_keeps_reason_options_and_part_of_the_work() -> None:
    wish = {"reason": "ambiguous_input", "message": "Which sea?", "options": ["North", "Baltic"]}
    outcome, _, _ = await give_up([calling(("escalate", {**wish, "partial_result": "Both are wet. And cold."}))])
    assert (outcome.reason, outcome.message, outcome.options) == ("ambiguous_input", "Which sea?", ("North", "Baltic"))
    assert outcome.partial_result
    assert outcome.partial_result.content == "Both are wet. And cold."
    assert outcome.partial_result.usage == TURN_USAGE


async def test_files_made_before_an_escalation_are_not_lost() -> None:
    made = Artifact(id="0", name="map.png")

    async def draw(_: LookArguments) -> ToolOutcome:
        return ToolOutcome("drawn", artifacts=(made,))

    wish = ("escalate", {"reason": "out_of_scope", "message": "No."})
    outcome, _, _ = await give_up([calling(LOOK), calling(wish)], Looker(draw).tool())
    assert outcome.partial_result
    assert outcome.partial_result.artifacts == (made,)


async def test_plain_text_is_sent_back_and_then_a_result_in_doubt() -> None:
    text = make_text_turn("# The sea\n\n| a | b |\n\n" + "The sea is blue. " * 40)
    outcome, model, _ = await finish([text, text])
    assert "Words alone end nothing" in model.calls[1].messages[-1].text
    assert [call.tool_choice for call in model.calls] == ["auto", "required"]
    assert outcome.confidence == 50
    (doubt,) = check_result(CheckSubject(outcome)).doubts
    assert "given in plain words and never handed in" in doubt
    assert outcome.content == text.text.strip()
    assert outcome.summary.startswith("The sea is blue. The sea")
    assert outcome.summary.endswith(".")
    assert len(outcome.summary) <= 300


async def test_gaps_files_and_sources_of_tools_go_into_the_result_whatever_the_model_says() -> None:
    made = Artifact(id="0", name="map.png")

    async def draw(arguments: LookArguments) -> ToolOutcome:
        return ToolOutcome("ok", (made,) if arguments.at == "a" else (), ("3 rows skipped",), ("https://a.example",))

    turn = calling(("look", {"at": "a"}), ("look", {"at": "b"}))
    findings = [{"message": "own", "source": "https://b.example"}, {"message": "bare"}]
    outcome, _, _ = await finish([turn, returning(findings=findings)], Looker(draw).tool())
    assert outcome.artifacts == (made,)
    assert outcome.gaps == ("3 rows skipped",)
    assert [finding.source for finding in outcome.findings] == ["https://b.example", "https://a.example"]


@pytest.mark.parametrize(
    ("call", "expected_words"),
    [
        (("loook", {}), "There is no tool 'loook'. Your tools: look;"),
        (("look", {"at": ""}), "look was not run. Correct its arguments: at: String should have at least 1 character"),
        (("look", {"at": "a", "times": 9}), "times: Input should be less than or equal to 5"),
        (("look", {}), "at: Field required"),
        (("look", {"where": "sea"}), "look was not run: there is no 'where'; the names there are: at"),
    ],
)
async def test_a_wrong_call_is_told_its_exact_fault_and_not_run(
    call: tuple[str, dict[str, Any]], expected_words: str
) -> None:
    looker = Looker()
    _, model, log = await finish([calling(call), returning(), returning()], looker.tool())
    assert looker.seen_places == []
    reply = model.calls[1].messages[-1].replies[0]
    assert reply.failed
    assert expected_words in reply.text
    assert log.replies[0] == reply


async def test_a_tools_own_timeout_is_an_expected_failure() -> None:
    async def late(_: LookArguments) -> ToolOutcome:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
        raise AssertionError

    _, model, _ = await finish([calling(LOOK), returning(), returning()], Looker(late).tool())
    assert model.calls[1].messages[-1].replies[0].text == "look took too long and was stopped."


async def test_a_broken_tool_is_logged_and_ends_the_attempt_and_its_siblings(caplog: pytest.LogCaptureFixture) -> None:
    stopped = asyncio.Event()

    async def act(arguments: LookArguments) -> ToolOutcome:
        if arguments.at == "bug":
            return ToolOutcome(str(1 // 0))
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    turn = calling(("look", {"at": "slow"}), ("look", {"at": "bug"}))
    with caplog.at_level(logging.ERROR), pytest.raises(ToolCrashed, match="look broke: ZeroDivisionError") as broke:
        await play([turn], Looker(act).tool())
    assert stopped.is_set()
    assert broke.value.usage == TURN_USAGE
    assert "Traceback" in caplog.text


async def test_the_same_call_again_brings_its_earlier_reply_and_the_third_time_the_end() -> None:
    looker = Looker()
    outcome, model, log = await finish([*[calling(LOOK)] * 3, returning()], looker.tool())
    assert looker.seen_places == ["sea"]
    for reply in log.replies[1:]:
        assert "You made this very call before, and it was not run again." in reply.text
        assert reply.text.endswith("\n\nsaw sea")
        assert not reply.failed
    assert [call.tool_choice for call in model.calls] == ["auto", "auto", "auto", "required"]
    assert {tool.name for tool in model.calls[-1].tools} == {spec.name for spec in finish_tools.FINISH_SPECS}
    assert outcome.gaps == ("Stopped at the limit of three turns with the same calls; the work may be incomplete.",)


async def test_loops_of_several_calls_end_too_and_new_calls_beside_old_ones_do_not() -> None:
    looker = Looker()
    turns = [calling(("look", {"at": at})) for at in "abababab"]
    given_up, model, _ = await give_up(turns, looker.tool(), max_turns=20)
    assert looker.seen_places == ["a", "b"]
    assert given_up.message == "Reached the limit of three turns with the same calls without a result."
    assert len(model.calls) == 6
    looker = Looker()
    beside = [calling(("look", {"at": "a"}), ("look", {"at": at})) for at in "bcdef"]
    outcome, _, _ = await finish([*beside, returning()], looker.tool(), max_turns=20)
    assert looker.seen_places == ["a", "b", "c", "d", "e", "f"]
    assert outcome.gaps == ()


async def test_a_call_that_failed_may_be_made_again() -> None:
    said = iter([ToolOutcome("away", failed=True), ToolOutcome("here")])

    async def then(_: LookArguments) -> ToolOutcome:
        return next(said)

    _, _, log = await finish([calling(LOOK), calling(LOOK), calling(LOOK), returning()], Looker(then).tool())
    assert [reply.text.rpartition("\n")[2] for reply in log.replies] == ["away", "here", "here"]


async def test_the_same_call_twice_in_one_turn_is_made_once() -> None:
    looker = Looker()
    outcome, model, _ = await finish([calling(LOOK, LOOK, LOOK), returning()], looker.tool())
    assert looker.seen_places == ["sea"]
    assert [reply.text[-7:] for reply in model.calls[1].messages[2].replies] == ["saw sea"] * 3
    assert outcome.gaps == ()


async def test_a_long_output_is_capped_with_a_note() -> None:
    async def long(_: LookArguments) -> ToolOutcome:
        return ToolOutcome("x" * 50_000, gaps=("kept",), notes=("told",))

    outcome, _, log = await finish([calling(LOOK), returning()], Looker(long).tool())
    assert log.replies[0].text.endswith("[cut: the first 12,000 of 50,000 characters]")
    assert len(log.replies[0].text) < MAX_OUTPUT_CHARS + 100
    assert (outcome.gaps, outcome.notes) == (("kept",), ("told",))


async def test_a_result_beside_other_calls_waits_for_them() -> None:
    looker = Looker()
    early = calling(LOOK, ("return_result", {"summary": "s", "content": "early", "confidence": 1}))
    outcome, model, _ = await finish([early, returning("late")], looker.tool())
    assert outcome.content == "late"
    assert looker.seen_places == ["sea"]
    replies = model.calls[1].messages[-1].replies
    assert [reply.failed for reply in replies] == [False, True]
    assert "The other calls of this turn ran first" in replies[1].text


async def test_wrong_arguments_of_a_result_are_mended_once_then_taken_leniently() -> None:
    wrong = {
        "summary": "Short.",
        "content": ["a", 1],
        "confidence": "85 %",
        "findings": ["one", {"message": "two"}, {}],
    }
    outcome, model, log = await finish([calling(("return_result", wrong)), calling(("return_result", wrong))])
    assert len(model.calls) == 2
    assert log.replies[0].text.startswith("return_result was not accepted. Correct its arguments: content:")
    assert (outcome.content, outcome.confidence) == ('["a", 1]', 85)
    assert [finding.message for finding in outcome.findings] == ["one", "two"]


async def test_a_result_without_any_content_twice_is_given_up() -> None:
    outcome, _, _ = await give_up([calling(("return_result", {})), calling(("return_result", {}))])
    assert outcome.reason == "confidence_too_low"


async def test_waiting_for_tools_does_not_use_up_the_one_mend() -> None:
    early = calling(LOOK, ("return_result", {}))
    outcome, model, _ = await finish([early, calling(("return_result", {})), returning("mended")], Looker().tool())
    assert outcome.content == "mended"
    assert len(model.calls) == 3


async def test_an_escalation_of_unknown_reason_is_mended_once_then_taken() -> None:
    bad = calling(("escalate", {"reason": "tired", "message": "No."}))
    outcome, _, log = await give_up([bad, bad])
    assert "reason: Input should be 'out_of_scope'" in log.replies[0].text
    assert (outcome.reason, outcome.message) == ("out_of_scope", "No.")


async def test_the_last_call_offers_no_tools_and_says_why() -> None:
    looker = Looker()
    moves = [calling(("look", {"at": str(number)})) for number in range(2)]
    outcome, model, _ = await finish([*moves, returning()], looker.tool(), max_turns=2)
    assert looker.seen_places == ["0", "1"]
    assert [tool.name for tool in model.calls[2].tools] == ["return_result", "escalate"]
    assert "You have reached the limit of 2 turns" in model.calls[2].messages[-1].text
    assert outcome.gaps == ("Stopped at the limit of 2 turns; the work may be incomplete.",)


async def test_a_tool_wished_for_in_the_last_call_is_not_run() -> None:
    looker = Looker()
    moves = [calling(LOOK), calling(("look", {"at": "more"}), text="So far it is blue.")]
    outcome, _, _ = await finish(moves, looker.tool(), max_turns=1)
    assert looker.seen_places == ["sea"]
    assert outcome.content == "So far it is blue."
    assert outcome.gaps


async def test_a_last_call_without_any_answer_hands_over_what_the_tools_said() -> None:
    outcome, _, _ = await give_up([calling(LOOK), calling(("look", {"at": "more"}))], Looker().tool(), max_turns=1)
    assert outcome.reason == "confidence_too_low"
    assert outcome.partial_result
    assert "look: saw sea" in outcome.partial_result.content
    assert outcome.partial_result.confidence == 0


async def test_spent_tokens_bring_the_last_call() -> None:
    outcome, model, _ = await finish([calling(LOOK), returning()], Looker().tool(), token_limit=15)
    assert "the limit of 15 tokens" in model.calls[1].messages[-1].text
    assert outcome.gaps


async def test_near_the_end_of_the_time_tools_are_cut_for_the_last_call() -> None:
    async def stuck(_: LookArguments) -> ToolOutcome:
        await asyncio.Event().wait()
        raise AssertionError

    outcome, model, log = await finish(
        [calling(LOOK), returning()], Looker(stuck).tool(), seconds=100.0, elapsed_seconds=84.7
    )
    assert log.replies[0].text == "look was stopped: the time for this task is nearly up."
    assert "the end of the time for this task (100 s)" in model.calls[1].messages[-1].text
    assert "Stopped at the end of the time" in outcome.gaps[0]


async def test_a_call_that_comes_too_late_is_not_run() -> None:
    looker = Looker()

    async def slow(_: ModelCall) -> Turn:
        await asyncio.sleep(0.5)
        return calling(LOOK)

    _, _, log = await finish([slow, returning()], looker.tool(), seconds=100.0, elapsed_seconds=84.7)
    assert looker.seen_places == []
    assert log.replies[0].text == "Not run: the work has to end now."


async def test_a_silent_model_ends_in_a_timeout_with_what_there_was() -> None:
    outcome, model, _ = await give_up([calling(LOOK), silence], Looker().tool(), seconds=0.3)
    assert outcome.reason == "timeout"
    assert outcome.partial_result
    assert "saw sea" in outcome.partial_result.content
    assert outcome.partial_result.gaps == ("The time for this task (0.3 s) ran out before it was done.",)
    assert model.calls[1].timeout_seconds < 1.5


async def test_time_spent_before_counts() -> None:
    outcome, model, _ = await give_up([silence], seconds=100.0, elapsed_seconds=99.9)
    assert outcome.reason == "timeout"
    assert outcome.partial_result is None
    assert "the end of the time" in model.calls[0].messages[-1].text


async def test_a_timeout_error_of_the_log_is_no_timeout_of_the_work() -> None:
    class BrokenLog(KeptLog):
        async def keep_turn(self, turn: Turn) -> None:  # noqa: ARG002  # the protocol names it
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await play([returning()], log=BrokenLog())


async def test_a_cut_off_turn_runs_nothing_and_is_asked_for_once_more() -> None:
    looker = Looker()
    cut = Turn(text="", calls=calling(LOOK).calls, stop="max_tokens", usage=TURN_USAGE)
    outcome, model, _ = await finish([cut, returning("shorter")], looker.tool())
    assert looker.seen_places == []
    assert (outcome.content, outcome.gaps) == ("shorter", ())
    note = model.calls[1].messages[-1].text
    assert "was cut off, as it was too long or repeated itself" in note
    assert "{" not in note
    assert not model.calls[1].messages[-2].calls


async def test_cut_off_twice_is_a_result_with_a_gap() -> None:
    outcome, model, _ = await finish(
        [make_text_turn("Half of", "max_tokens"), make_text_turn("Half again", "max_tokens")]
    )
    assert len(model.calls) == 2
    assert outcome.content == "Half again"
    assert outcome.gaps == ("The answer was cut off: it repeated itself, or went beyond 500 tokens.",)


async def test_cut_off_twice_without_a_word_is_given_up() -> None:
    outcome, _, _ = await give_up([make_text_turn("", "max_tokens"), make_text_turn("", "max_tokens")])
    assert outcome.reason == "confidence_too_low"


async def test_a_refusal_runs_nothing_and_is_out_of_scope() -> None:
    looker = Looker()
    refused = Turn(text="I will not.", calls=calling(LOOK).calls, stop="refused", usage=TURN_USAGE)
    outcome, _, _ = await give_up([refused], looker.tool())
    assert looker.seen_places == []
    assert (outcome.reason, outcome.message) == ("out_of_scope", "The model refused this task: I will not.")
    assert outcome.partial_result is None


async def test_an_empty_turn_is_asked_again_once() -> None:
    _, model, _ = await finish([make_text_turn(" "), returning()])
    note = model.calls[1].messages[-1].text
    assert "Your last reply was empty" in note
    assert "{" not in note
    assert model.calls[1].messages[1].text == "(nothing)"
    await give_up([make_text_turn(""), make_text_turn("")])


async def test_a_model_error_goes_on_with_the_usage_of_the_attempt() -> None:
    error = ModelError("unavailable", "down", transient=True, usage=TURN_USAGE)
    with pytest.raises(ModelError) as raised:
        await play([calling(LOOK), error], Looker().tool())
    assert raised.value.transient
    assert raised.value.usage == TURN_USAGE + TURN_USAGE


async def test_cancelling_an_attempt_stops_its_tools() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def stuck(_: LookArguments) -> ToolOutcome:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    turn = calling(("look", {"at": "a"}), ("look", {"at": "b"}))
    task = asyncio.create_task(play([turn], Looker(stuck).tool()))
    await asyncio.wait_for(started.wait(), patience())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()
