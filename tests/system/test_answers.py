"""From results to one answer: contradictions shown, rivals chosen from, too much condensed, a critic before people."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.slack.views.status import trace_timeline
from bot.supervisor.arbiter import SURE, read
from bot.tracing.steps import steps_of
from handoff import events as ev
from handoff.context_budget import tokens
from handoff.contracts import Conflict, Context, Packed, Side, Terms
from handoff.engine.answer import gaps
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest
from tests.system.brains import (
    Gate,
    Words,
    connect,
    escalation,
    in_turn,
    plan,
    played,
    provider,
    purposes,
    result,
    subtask,
    tool_call,
)
from tests.system.scene import Scene, shown

LOW = "Churn in May 2026 was 4.2 %"
HIGH = "In May 2026, churn came to 6.1 percent"
ASKED = "What was churn in May 2026: 4.2 % or 6.1 %?"
"""It names both figures, so that they have a source: the specialists here use no tools."""
TWO = (subtask("file", "analyst"), subtask("page", "researcher"))


def found(text: str, source: str = "", confidence: int = 90) -> Reply:
    """A specialist's result with one finding."""
    return result(text, confidence, findings=[{"message": text, "source": source, "confidence": confidence}])


def strategy(name: str, *subtasks: dict[str, Any]) -> Reply:
    made = json.loads(plan(*subtasks).text)
    return Reply(json.dumps({**made, "strategy": name}))


SETTLED = Reply(
    json.dumps(
        {
            "doubts": [{"number": n, "reason": "It is on the page.", "harmless": True} for n in range(1, 11)],
            "faults": [],
            "verdict": "accept",
        }
    )
)


def judged(verdict: str = "contradict", supported: str = "A") -> Reply:
    one = {"pair": 1, "verdict": verdict, "supported": supported, "confidence": 90, "reason": "The file has the rows."}
    return Reply(json.dumps({"judgements": [one]}))


def report(one: str = LOW, other: str = HIGH) -> Reply:
    """The synthesizer's word that two results contradict each other."""
    sides = [{"result": "file", "statement": one}, {"result": "page", "statement": other}]
    return Reply(json.dumps({"contradictions": [{"claim": "churn", "sides": sides}]}))


def reports_first(answer: Reply, first: Reply | None = None) -> Words:
    """A synthesizer that reports a contradiction where it is asked to look for one, and writes where it is not."""
    return lambda request: (first or report()) if "# First" in request.messages[0].text else answer


@asynccontextmanager
async def criticized(scene: Scene, **words: Words) -> AsyncIterator[ProviderServer]:
    """A bot whose answers the critic reads."""
    async with provider(**words) as server, scene.bot(connect("chat", server), terms=Terms(critic=True)):
        yield server


def of(server: ProviderServer, purpose: str) -> list[WireRequest]:
    return [request for request, who in zip(server.requests, purposes(server), strict=True) if who == purpose]


async def test_a_contradiction_is_judged_by_its_evidence_alone_and_shown_with_both_sides(scene: Scene) -> None:
    async with played(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(LOW, "churn.csv"),
        researcher=lambda _: found(HIGH, "https://example.org/churn"),
        arbiter=lambda _: judged(),
        synthesizer=reports_first(Reply("Churn was about 4 %.")),
    ) as server:
        talk = await scene.ask(ASKED)
        job = await talk.over()

    assert purposes(server).count("arbiter") == 1
    (asked,) = of(server, "arbiter")
    assert LOW in asked.messages[0].text
    assert "churn.csv" in asked.messages[0].text
    for hidden in ("analyst", "researcher", "file", "What was churn", "Do part"):
        assert hidden not in asked.messages[0].text, "who said it, and the job, are no evidence"
    looked, written = of(server, "synthesizer")
    assert "# Contradictions" not in looked.messages[0].text
    assert "# First" not in written.messages[0].text
    assert "# Contradictions" in written.messages[0].text
    assert "The file has the rows" in written.messages[0].text
    answer = shown(talk.words()[0])
    assert answer.count("The results contradict each other") == 1
    for part in (LOW, HIGH, "churn.csv", "example.org/churn", "supports the first"):
        assert part in answer
    (conflict,) = job.latest.run.conflicts or ()
    assert (conflict.verdict, conflict.favours) == ("contradict", "file")
    assert [decision.what for decision in job.latest.decisions if "contra" in decision.what] == [
        "contradiction: contradict"
    ]


async def test_what_the_model_tells_itself_is_not_told_twice(scene: Scene) -> None:
    told = "The file says 4.2 % (churn.csv), the page 6.1 % (example.org/churn); the file is right, 90 % sure."
    async with played(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(LOW, "churn.csv"),
        researcher=lambda _: found(HIGH, "example.org/churn"),
        arbiter=lambda _: judged(),
        synthesizer=reports_first(Reply(f"Churn in May 2026 is disputed. {told}")),
    ):
        talk = await scene.ask(ASKED)
        job = await talk.over()

    assert job.latest.run.answer == f"Churn in May 2026 is disputed. {told}"


async def test_what_the_arbiter_finds_to_be_the_same_is_not_shown(scene: Scene) -> None:
    async with played(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(LOW),
        researcher=lambda _: found(HIGH),
        arbiter=lambda _: judged("same", "none"),
        synthesizer=reports_first(Reply("Churn was 4.2 %.")),
    ) as server:
        talk = await scene.ask(ASKED)
        job = await talk.over()

    assert job.latest.run.answer == "Churn was 4.2 %."
    assert "# Contradictions" not in of(server, "synthesizer")[1].messages[0].text


async def test_an_arbiter_that_fails_or_babbles_leaves_the_contradiction_open_and_shown(scene: Scene) -> None:
    for reply in (Fault("bad_request"), Reply("I would rather not say.")):
        async with played(
            scene,
            planner=lambda _: plan(*TWO),
            analyst=lambda _: found(LOW),
            researcher=lambda _: found(HIGH),
            arbiter=in_turn(reply),
            synthesizer=reports_first(Reply("Churn was 4.2 %.")),
        ):
            talk = await scene.ask(ASKED)
            job = await talk.over()

        assert "Not settled: " in (job.latest.run.answer or "")
        assert LOW in (job.latest.run.answer or "")


def one_judged(**given: Any) -> dict[str, Any]:
    return {"pair": 1, "verdict": "contradict", "supported": "A", "confidence": 90, "reason": "So it is.", **given}


@pytest.mark.parametrize(
    ("judgements", "verdicts"),
    [
        ([one_judged(), one_judged(pair=2, verdict="same")], ["contradict", "same"]),
        ([one_judged(pair="2", verdict="same"), one_judged()], ["contradict", "same"]),
        ([one_judged(verdict="same", confidence=SURE - 1), one_judged(pair=2)], ["open", "contradict"]),
        ([one_judged(verdict="same", confidence=None), one_judged(pair=2)], ["open", "contradict"]),
        ([one_judged(pair=0), one_judged(verdict="same")], ["open", "open"]),
        ([one_judged(), one_judged(verdict="same")], ["open", "open"]),
        ([one_judged(verdict="same"), one_judged(pair=3)], ["open", "open"]),
        ([{"verdict": "same", "confidence": 95}, {"verdict": "same", "confidence": 95}], ["open", "open"]),
        ([one_judged(verdict="maybe")], ["open", "open"]),
    ],
)
def test_what_the_arbiter_says_unclearly_settles_nothing(judgements: list[dict[str, Any]], verdicts: list[str]) -> None:
    sides = (Side(subtask="a", statement="4 %"), Side(subtask="b", statement="6 %"))
    disputed = [Conflict(claim=claim, sides=sides) for claim in ("churn", "load")]
    assert [one.verdict for one in read(json.dumps({"judgements": judgements}), disputed)] == verdicts


@pytest.mark.parametrize(
    "said",
    [
        Reply('{"contradictions": []}'),
        Reply('{"contradictions": []}\n\nChurn was 4.2 %.'),
        report("Churn was 17 %", HIGH),
        Reply('```json\n{"contradictions": "none"}\n```\nChurn was 4.2 %.'),
    ],
)
async def test_a_report_of_nothing_leads_to_the_answer_and_to_no_arbiter(scene: Scene, said: Reply) -> None:
    async with played(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(LOW),
        researcher=lambda _: found("Churn came to 4.2 percent in May 2026."),
        synthesizer=reports_first(Reply("Churn was 4.2 %."), said),
    ) as server:
        talk = await scene.ask(ASKED)
        job = await talk.over()

    assert job.latest.run.answer == "Churn was 4.2 %."
    assert "arbiter" not in purposes(server)
    assert "contradictions" not in talk.said()


async def test_results_that_agree_never_reach_the_arbiter(scene: Scene) -> None:
    async with played(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(LOW),
        researcher=lambda _: found("Churn came to 4.2 percent in May 2026."),
    ) as server:
        talk = await scene.ask(ASKED)
        await talk.over()

    assert "arbiter" not in purposes(server)


async def test_of_two_specialists_on_one_question_one_is_chosen_and_the_other_stays_in_the_trace(scene: Scene) -> None:
    chosen = Reply(json.dumps({"chosen": "page", "reason": "It names its source."}))
    async with played(
        scene,
        planner=lambda _: strategy("select", *TWO),
        analyst=lambda _: found("The office opens at nine, I believe."),
        researcher=lambda _: found("The office opens at 8:30 (handbook)."),
        selector=lambda _: chosen,
    ) as server:
        talk = await scene.ask("When does the office open?")
        job = await talk.over()

    assert "synthesizer" not in purposes(server)
    answer = job.latest.run.answer or ""
    assert answer.startswith("The office opens at 8:30 (handbook).")
    assert "over “Do part file” (analyst): It names its source." in answer
    (written,) = await talk.of(ev.AnswerWritten)
    assert (written.chosen, written.why) == ("page", "It names its source.")
    assert len(await talk.of(ev.ResultReturned)) == 2
    assert ("page", "select", "It names its source.") in [
        (one.subtask, one.what, one.why) for one in job.latest.decisions
    ]


async def test_a_choice_that_names_nobody_takes_the_surest_and_says_so(scene: Scene) -> None:
    async with played(
        scene,
        planner=lambda _: strategy("select", *TWO),
        analyst=lambda _: found("Nine.", confidence=95),
        researcher=lambda _: found("Half past eight.", confidence=85),
        selector=lambda _: Reply(json.dumps({"chosen": "nobody", "reason": ""})),
    ):
        talk = await scene.ask("When does the office open?")
        job = await talk.over()

    assert (job.latest.run.answer or "").startswith("Nine.")
    assert "the choice could not be read" in (job.latest.run.answer or "")


async def test_rivals_are_not_compared_as_contradictions(scene: Scene) -> None:
    async with played(
        scene,
        planner=lambda _: strategy("select", *TWO),
        analyst=lambda _: found(LOW, "churn.csv"),
        researcher=lambda _: found(HIGH, "https://example.org/churn"),
        selector=lambda _: Reply(json.dumps({"reason": "It is newer.", "chosen": "page"})),
    ) as server:
        talk = await scene.ask(ASKED)
        job = await talk.over()

    assert purposes(server)[-1] == "selector"
    assert "arbiter" not in purposes(server)
    assert (job.latest.run.answer or "").startswith(HIGH)


async def test_no_sentence_of_an_answer_is_deleted_where_it_is_less_sure(scene: Scene) -> None:
    said = (
        "Acme promises a reply within 4 hours (acme.example/sla). Globex promises a reply within 4 hours as well. "
        "Neither publishes how often it keeps that promise."
    )
    findings = [
        {"message": "Acme promises a reply within 4 hours", "source": "acme.example/sla", "confidence": 75},
        {"message": "Globex promises a reply within 4 hours", "confidence": 70},
    ]
    terms = Terms(confidence=80)
    words: dict[str, Words] = {
        "planner": lambda _: plan(subtask("page", "researcher")),
        "researcher": lambda _: result(said, 75, findings=findings),
    }
    async with provider(**words) as server, scene.bot(connect("chat", server), terms=terms):
        talk = await scene.ask("Wie schnell antworten die Anbieter?")
        job = await talk.over()

    answer = job.latest.run.answer or ""
    assert answer.startswith(said)
    assert answer.endswith(
        "_Weniger sicher: “Acme promises a reply within 4 hours”, “Globex promises a reply within 4 hours”_"
    )


SOLD = "We sold 41,237 units at a price of $12."


async def test_a_wrong_figure_in_the_answer_is_written_again_and_then_marked(scene: Scene) -> None:
    async with played(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(SOLD, "sales.csv"),
        researcher=lambda _: found("The market is calm."),
        synthesizer=in_turn(
            Reply("All is calm there, they say.\n\nThey sold 47,231 units at $21.", piece=8, pause=0.1),
            Reply("They sold 41,237 units at $21."),
        ),
    ) as server:
        talk = await scene.ask("We sold 41,237 units at $12, right?")
        job = await talk.over()

    _, again = of(server, "synthesizer")
    assert "47,231" in again.messages[0].text.partition("# Write it again")[2]
    assert job.latest.run.answer == "They sold 41,237 units at $21."
    assert "Not from your files: $21" in talk.said()
    assert "47,231" not in talk.said(), "nobody saw it, not even while it was written"
    assert shown(talk.words()[0]).count("They sold 41,237") == 1
    assert [one.what for one in job.latest.decisions if "figures" in one.what] == ["figures of no source"]
    timeline = trace_timeline(job, steps_of(await scene.store.jobs.log(talk.key)))
    assert "figures of no source: 47,231, $21" in timeline


async def test_a_figure_that_a_single_specialist_makes_up_is_marked(scene: Scene) -> None:
    async with played(
        scene,
        planner=lambda _: plan(subtask("file", "analyst")),
        analyst=lambda _: result("Sales in the North were 35,264,754 EUR.", 90),
    ) as server:
        talk = await scene.ask("What were our sales in the North?")
        job = await talk.over()

    assert "synthesizer" not in purposes(server), "a mark needs no model"
    assert (job.latest.run.answer or "").startswith("Sales in the North were 35,264,754 EUR.")
    assert "Not from your files: 35,264,754" in talk.said()


async def test_what_a_model_copies_of_its_brief_does_not_stand_in_the_answer(scene: Scene) -> None:
    copied = (
        '# Results\n## Do part file\n<result id="file" sure="90"/>\nChurn was 4.2 %.\n\n'
        "## Do part page (researcher, confidence 90)\nThe price rose."
    )
    async with played(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(LOW),
        researcher=lambda _: found("The price rose."),
        synthesizer=lambda _: Reply(copied),
    ):
        talk = await scene.ask(ASKED)
        job = await talk.over()

    assert job.latest.run.answer == "## Do part file\nChurn was 4.2 %.\n\n## Do part page\nThe price rose."


async def test_what_is_too_much_is_condensed_part_by_part_and_the_figure_asked_for_survives(scene: Scene) -> None:
    figure = "The refund rate in Norway was 7.3 %."
    long = "\n\n".join(
        [*(f"Remark r{n}: all of it is well and nothing of note came up there." for n in range(1300)), figure]
    )
    async with played(
        scene,
        planner=lambda _: strategy("reduce", *TWO),
        analyst=lambda _: result(long[:60_000] + f"\n\n{figure}", 90, findings=[{"message": "The tap drips."}]),
        researcher=lambda _: result(long[:59_000].replace("well", "fine"), 90),
        reducer=lambda _: Reply("- Nothing of note."),
        synthesizer=lambda _: Reply("Done."),
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
    assert job.latest.run.answer == "Done."
    assert any(decision.what.startswith("condense, round 1") for decision in job.latest.decisions)


async def test_a_critic_sends_an_answer_back_once_and_nobody_sees_the_draft(scene: Scene) -> None:
    fault = 'The answer says "2.4 %"; the results say 4.2 %.'
    async with criticized(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(LOW),
        researcher=lambda _: found("The price rose in May."),
        synthesizer=in_turn(Reply("Churn was 2.4 %."), Reply("Churn was 4.2 %.")),
        critic=in_turn(Reply(json.dumps({"faults": [fault]}))),
    ) as server:
        talk = await scene.ask(ASKED)
        job = await talk.over()

    assert purposes(server)[-3:] == ["synthesizer", "critic", "synthesizer"]
    assert "Churn was 2.4 %." in of(server, "critic")[0].messages[0].text
    assert fault in of(server, "synthesizer")[1].messages[0].text
    assert job.latest.run.answer == "Churn was 4.2 %."
    assert "2.4" not in talk.said()
    assert ("write the answer again", fault) in [(one.what, one.why) for one in job.latest.decisions]


async def test_the_critic_reads_what_a_single_specialist_says_too(scene: Scene) -> None:
    fault = 'The answer says "about 4 %"; the results say 4.2 %.'
    one, _ = TWO
    async with criticized(
        scene,
        planner=lambda _: plan(one),
        analyst=lambda _: result("Churn was about 4 %, or 4.2 %.", 90),
        synthesizer=lambda _: Reply("Churn was 4.2 %."),
        critic=in_turn(Reply(json.dumps({"faults": [fault]})), Reply(json.dumps({"faults": []}))),
    ) as server:
        talk = await scene.ask(ASKED)
        mended = await talk.over()
        talk = await scene.ask(ASKED)
        fine = await talk.over()

    assert mended.latest.run.answer == "Churn was 4.2 %."
    assert fine.latest.run.answer == "Churn was about 4 %, or 4.2 %."
    assert (purposes(server).count("critic"), purposes(server).count("synthesizer")) == (2, 1)


async def test_what_a_critic_makes_up_does_not_touch_the_answer(scene: Scene) -> None:
    faults = ['The answer says "9.9 %" for May.', "The results say 17.5 % for May."]
    async with criticized(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(LOW),
        researcher=lambda _: found("The price rose in May."),
        synthesizer=lambda _: Reply("Churn was 4.2 %."),
        critic=lambda _: Reply(json.dumps({"faults": faults})),
    ) as server:
        talk = await scene.ask(ASKED)
        job = await talk.over()

    assert job.latest.run.answer == "Churn was 4.2 %."
    assert purposes(server).count("synthesizer") == 1
    (reviewed,) = await talk.of(ev.AnswerReviewed)
    assert all(fault in reviewed.doubt for fault in faults), "it stays in the trace"


async def test_a_part_that_nobody_could_condense_is_named_in_the_answer(scene: Scene) -> None:
    lines = "\n\n".join(f"Remark r{n}: all of it is well and nothing of note came up there." for n in range(600))
    async with played(
        scene,
        planner=lambda _: strategy("reduce", *TWO),
        analyst=lambda _: result(lines, 90),
        researcher=lambda _: result(lines.replace("well", "fine"), 90),
        reducer=lambda _: Fault("bad_request"),
        synthesizer=lambda _: Reply("Done."),
    ) as server:
        talk = await scene.ask("How is it going?")
        job = await talk.over()

    told = of(server, "synthesizer")[0].messages[0].text
    assert "# Left out for length" in told
    assert "only the beginning of" in told
    assert any("could not be read or kept in full" in gap for gap in gaps(job.latest, job.latest.run))
    assert "could not be read or kept in full" in talk.said()


async def test_every_role_is_given_a_pack_within_its_budget_and_the_trace_says_how_much(scene: Scene) -> None:
    long = "\n\n".join(f"Remark r{n}: all of it is well and nothing of note came up there." for n in range(200))
    unsure = escalation("confidence_too_low", "".join(f"I am not sure what row {n} means. " for n in range(300)))
    musing = Reply("Let me muse: xyzzy.", tool_call("calculate", expression="1+1").calls, "tool_use")
    file, page = TWO
    terms = Terms(critic=True, context=Context(fast=2_000, balanced=2_000, deep=2_000))
    words: dict[str, Words] = {
        "planner": lambda _: plan({**file, "critical": True}, page),
        "analyst": in_turn(musing, found(f"{LOW}.\n\n{long}")),
        "researcher": in_turn(unsure, found(HIGH)),
        "judge": lambda _: SETTLED,
        "refiner": lambda _: Reply(json.dumps({"intent": "Find what churn was in May 2026, with its source."})),
        "arbiter": lambda _: judged(),
        "reducer": lambda _: Reply("- All is well."),
        "synthesizer": reports_first(Reply("Churn is disputed.")),
        "critic": lambda _: Reply(json.dumps({"faults": []})),
    }
    async with provider(**words) as server, scene.bot(connect("chat", server), terms=terms):
        talk = await scene.ask(ASKED)
        job = await talk.over()

    roles = ("judge", "refiner", "arbiter", "reducer", "synthesizer", "critic")
    for role in roles:
        assert of(server, role), role
        for request in of(server, role):
            assert tokens(request.messages[0].text) <= 2_000, role
            assert "xyzzy" not in request.messages[0].text, "nobody sees another's transcript"
            assert role == "arbiter" or "What was churn in May 2026" in request.messages[0].text
    kinds = (ev.PlanProposed, ev.AttemptStarted, ev.ResultJudged, ev.BriefRefined, ev.ConflictsJudged)
    for kind in (*kinds, ev.MaterialReduced, ev.AnswerWritten, ev.AnswerReviewed):
        for event in await talk.of(kind):
            given = Packed.model_validate(event.model_dump()["pack"])
            assert 0 < given.tokens <= given.budget <= 2_000, kind
    looked = next(one for one in await talk.of(ev.ResultJudged) if one.subtask == file["id"])
    assert looked.pack.left_out[0].startswith("the result: ")
    (refined,) = await talk.of(ev.BriefRefined)
    assert refined.pack.left_out[0].startswith("the error: ")
    assert any(one.what == "pack" and "the result: " in one.why for one in job.latest.decisions)
    timeline = trace_timeline(job, steps_of(await scene.store.jobs.log(talk.key)))
    assert timeline.count("of 2,000 tokens)") >= len(roles)


async def test_a_restart_between_the_steps_repeats_none_of_them(scene: Scene) -> None:
    gate, draft = Gate(), Reply("Churn was 4.2 % or 6.1 %.")
    words: dict[str, Words] = {
        "planner": lambda _: plan(*TWO),
        "analyst": lambda _: found(LOW),
        "researcher": lambda _: found(HIGH),
        "judge": lambda _: SETTLED,
        "arbiter": lambda _: judged(),
        "synthesizer": reports_first(draft),
        "critic": gate,
    }
    async with provider(**words) as server:
        async with scene.bot(connect("chat", server), terms=Terms(critic=True)):
            talk = await scene.ask(ASKED)
            await gate.reached.wait()
        gate.open()
        async with scene.bot(connect("chat", server), terms=Terms(critic=True)):
            await talk.over()

    assert purposes(server).count("critic") == 2, "the call that was in flight"
    for once in ("planner", "specialist:analyst", "specialist:researcher", "arbiter"):
        assert purposes(server).count(once) == 1
    assert purposes(server).count("synthesizer") == 2, "a report and a draft"


async def test_what_is_added_to_a_streamed_answer_is_streamed_too(scene: Scene) -> None:
    words = " ".join(f"word{n}" for n in range(400))
    async with played(
        scene,
        planner=lambda _: plan(*TWO),
        analyst=lambda _: found(LOW),
        researcher=lambda _: found(HIGH),
        arbiter=lambda _: judged(),
        synthesizer=reports_first(Reply(words, piece=300, pause=0.12)),
    ):
        talk = await scene.ask(ASKED)
        job = await talk.over()

    assert scene.workspace.call_count("chat.startStream") == 1
    answer = shown(talk.words()[0])
    assert words[-60:] in answer
    assert answer.count("The results contradict each other") == 1
    assert "The results contradict each other" in (job.latest.run.answer or "")


async def test_a_critic_that_finds_nothing_or_fails_lets_the_answer_out(scene: Scene) -> None:
    for reply in (Reply(json.dumps({"faults": []})), Reply("Looks fine to me."), Fault("bad_request")):
        async with criticized(
            scene,
            planner=lambda _: plan(*TWO),
            analyst=lambda _: found(LOW),
            researcher=lambda _: found("The price rose in May."),
            synthesizer=lambda _: Reply("Churn was 4.2 %."),
            critic=in_turn(reply),
        ) as server:
            talk = await scene.ask(ASKED)
            job = await talk.over()

        assert job.latest.run.answer == "Churn was 4.2 %."
        assert purposes(server).count("synthesizer") == purposes(server).count("critic") == 1
