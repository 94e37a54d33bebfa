"""From results to one answer: read by a verifier before people, rivals chosen from, too much condensed."""

from __future__ import annotations

import json
from typing import Any

from handoff import events as ev
from handoff.contracts import ContextLimits, PackedSize, Terms
from handoff.engine.answer import list_answer_gaps
from handoff.text.context_budget import estimate_token_count
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest
from tests.system.brains import (
    Words,
    bot_with_provider,
    connect,
    escalation,
    in_turn,
    plan,
    provider,
    purposes,
    result,
    subtask,
    tool_call,
)
from tests.system.scene import Scene, extract_shown_text

LOW = "Churn in May 2026 was 4.2 %"
HIGH = "In May 2026, churn came to 6.1 percent"
CHURN_QUESTION = "What was churn in May 2026: 4.2 % or 6.1 %?"
"""It names both figures, so that they have a source: the specialists here use no tools."""
TWO = (subtask("file", "analyst"), subtask("page", "researcher"))


def make_finding_result(text: str, source: str = "", confidence: int = 90) -> Reply:
    """A specialist's result with one finding."""
    return result(text, confidence, findings=[{"message": text, "source": source, "confidence": confidence}])


def strategy(name: str, *subtasks: dict[str, Any]) -> Reply:
    made = json.loads(plan(*subtasks).text)
    return Reply(json.dumps({**made, "strategy": name}))


def verdicts(
    *sentences: tuple[int, str, str], unanswered_questions: tuple[str, ...] = (), apart: tuple[str, str] | None = None
) -> Reply:
    """What the verifier says: of sentences by their numbers, with the words that decide."""
    said = [{"number": number, "quotation": quotation, "verdict": verdict} for number, quotation, verdict in sentences]
    pairs = [{"one": apart[0], "other": apart[1]}] if apart is not None else []
    return Reply(json.dumps({"sentences": said, "unanswered": unanswered_questions, "contradictions": pairs}))


def of(server: ProviderServer, purpose: str) -> list[WireRequest]:
    return [request for request, who in zip(server.requests, purposes(server), strict=True) if who == purpose]


async def test_of_two_specialists_on_one_question_one_is_chosen_and_the_other_stays_in_the_trace(scene: Scene) -> None:
    chosen = Reply(json.dumps({"chosen": "page", "reason": "It names its source."}))
    async with bot_with_provider(
        scene,
        planner=strategy("select", *TWO),
        analyst=make_finding_result("The office opens at nine, I believe."),
        researcher=make_finding_result("The office opens at 8:30 (handbook)."),
        selector=chosen,
    ) as server:
        talk = await scene.ask("When does the office open?")
        job = await talk.over()

    assert "synthesizer" not in purposes(server)
    answer = job.latest_request.run.answer or ""
    assert answer.startswith("The office opens at 8:30 (handbook).")
    assert "over “Do part file” (analyst): It names its source." in answer
    (written,) = await talk.of(ev.AnswerWritten)
    assert (written.chosen, written.why) == ("page", "It names its source.")
    assert len(await talk.of(ev.ResultReturned)) == 2
    assert ("page", "select", "It names its source.") in [
        (one.subtask, one.what, one.why) for one in job.latest_request.decisions
    ]


async def test_a_choice_that_names_nobody_takes_the_surest_and_says_so(scene: Scene) -> None:
    async with bot_with_provider(
        scene,
        planner=strategy("select", *TWO),
        analyst=make_finding_result("Nine.", confidence=95),
        researcher=make_finding_result("Half past eight.", confidence=85),
        selector=Reply(json.dumps({"chosen": "nobody", "reason": ""})),
    ):
        talk = await scene.ask("When does the office open?")
        job = await talk.over()

    assert (job.latest_request.run.answer or "").startswith("Nine.")
    assert "the choice could not be read" in (job.latest_request.run.answer or "")


SALES_SENTENCE = "We sold 41,237 units at a price of $12."


async def test_a_wrong_figure_in_the_answer_is_written_again_and_then_marked(scene: Scene) -> None:
    async with bot_with_provider(
        scene,
        planner=plan(*TWO),
        analyst=make_finding_result(SALES_SENTENCE, "sales.csv"),
        researcher=make_finding_result("The market is calm."),
        synthesizer=in_turn(
            Reply("All is calm there, they say.\n\nThey sold 47,231 units at $21.", piece=8, pause=0.1),
            Reply("They sold 41,237 units at $21."),
        ),
    ) as server:
        talk = await scene.ask("We sold 41,237 units at $12, right?")
        job = await talk.over()

    _, again = of(server, "synthesizer")
    assert "47,231" in again.messages[0].text.partition("# Write it again")[2]
    assert job.latest_request.run.answer == "They sold 41,237 units at $21."
    assert "Not from your files: $21" in talk.join_bot_texts()
    assert "47,231" not in talk.join_bot_texts(), "nobody saw it, not even while it was written"
    assert extract_shown_text(talk.words()[0]).count("They sold 41,237") == 1
    assert [one.what for one in job.latest_request.decisions if "figures" in one.what] == ["figures of no source"]
    told = await talk.timeline()
    assert "figures of no source: 47,231, $21" in told


async def test_what_is_too_much_is_condensed_part_by_part_and_the_figure_asked_for_survives(scene: Scene) -> None:
    figure = "The refund rate in Norway was 7.3 %."
    long = "\n\n".join(
        [*(f"Remark r{n}: all of it is well and nothing of note came up there." for n in range(1300)), figure]
    )
    async with bot_with_provider(
        scene,
        planner=strategy("reduce", *TWO),
        analyst=result(long[:60_000] + f"\n\n{figure}", 90, findings=[{"message": "The tap drips."}]),
        researcher=result(long[:59_000].replace("well", "fine"), 90),
        reducer=Reply("- Nothing of note."),
        synthesizer=Reply("Done."),
    ) as server:
        talk = await scene.ask("What was the refund rate in Norway?")
        job = await talk.over()

    rounds = await talk.of(ev.MaterialReduced)
    assert len(rounds) == purposes(server).count("reducer") >= 2
    assert {event.round for event in rounds} == {1}
    (written,) = of(server, "synthesizer")
    assert figure in written.messages[0].text
    assert "- The tap drips." in written.messages[0].text, "no condensing loses a finding"
    assert len(written.messages[0].text) < 20_000
    assert job.latest_request.run.answer == "Done."
    assert any(decision.what.startswith("condense, round 1") for decision in job.latest_request.decisions)


async def test_what_stays_refuted_is_shown_beside_the_words_that_refute_it(scene: Scene) -> None:
    async with bot_with_provider(
        scene,
        planner=plan(TWO[0]),
        analyst=make_finding_result("The notice is 60 days."),
        synthesizer=Reply("The notice is 60 days."),
        verifier=verdicts((1, "with 90 days' notice", "contradicted"), unanswered_questions=("who signs",)),
    ) as server:
        contract = ("contract.txt", b"Either party may end it with 90 days' notice.\n")
        talk = await scene.ask("What is the notice, and who signs it?", files=[contract])
        await talk.over()

    assert purposes(server).count("verifier") == 2
    assert "with 90 days' notice" in of(server, "verifier")[0].messages[0].text, "it has the material"
    answer = talk.join_bot_texts()
    assert "What was read says otherwise" in answer
    assert "contract.txt" in answer
    assert "Not answered: “who signs”" in answer


async def test_a_part_that_nobody_could_condense_is_named_in_the_answer(scene: Scene) -> None:
    lines = "\n\n".join(f"Remark r{n}: all of it is well and nothing of note came up there." for n in range(600))
    async with bot_with_provider(
        scene,
        planner=strategy("reduce", *TWO),
        analyst=result(lines, 90),
        researcher=result(lines.replace("well", "fine"), 90),
        reducer=Fault("bad_request"),
        synthesizer=Reply("Done."),
    ) as server:
        talk = await scene.ask("How is it going?")
        job = await talk.over()

    told = of(server, "synthesizer")[0].messages[0].text
    assert "# Left out for length" in told
    assert "only the beginning of" in told
    assert any(
        "could not be read or kept in full" in gap
        for gap in list_answer_gaps(job.latest_request, job.latest_request.run)
    )
    assert "could not be read or kept in full" in talk.join_bot_texts()


async def test_every_role_is_given_a_pack_within_its_budget_and_the_trace_says_how_much(scene: Scene) -> None:
    long = "\n\n".join(f"Remark r{n}: all of it is well and nothing of note came up there." for n in range(200))
    unsure = escalation("confidence_too_low", "".join(f"I am not sure what row {n} means. " for n in range(300)))
    musing = Reply("Let me muse: xyzzy.", tool_call("calculate", expression="1+1").calls, "tool_use")
    file, page = TWO
    terms = Terms(context=ContextLimits(fast=2_000, balanced=2_000, deep=2_000))
    words: dict[str, Words] = {
        "planner": plan(file, page),
        "analyst": in_turn(musing, make_finding_result(f"{LOW}.\n\n{long}")),
        "researcher": in_turn(unsure, make_finding_result(HIGH)),
        "refiner": Reply(json.dumps({"intent": "Find what churn was in May 2026, with its source."})),
        "reducer": Reply("- All is well."),
        "synthesizer": Reply("Churn is disputed there."),
    }
    async with provider(**words) as server, scene.bot(connect("chat", server), terms=terms):
        talk = await scene.ask(CHURN_QUESTION)
        await talk.over()

    roles = ("refiner", "reducer", "synthesizer", "verifier")
    for role in roles:
        assert of(server, role), role
        for request in of(server, role):
            assert estimate_token_count(request.messages[0].text) <= 2_000, role
            assert "xyzzy" not in request.messages[0].text, "nobody sees another's transcript"
            assert "What was churn in May 2026" in request.messages[0].text
    kinds = (ev.PlanProposed, ev.AttemptStarted, ev.BriefRefined)
    for kind in (*kinds, ev.MaterialReduced, ev.AnswerWritten, ev.AnswerVerified):
        for event in await talk.of(kind):
            given = PackedSize.model_validate(event.model_dump()["pack"])
            assert 0 < given.tokens <= given.budget <= 2_000, kind
    (refined,) = await talk.of(ev.BriefRefined)
    assert refined.pack.left_out[0].startswith("the error: ")
    told = await talk.timeline()
    assert told.count("of 2,000 tokens)") >= len(roles)
