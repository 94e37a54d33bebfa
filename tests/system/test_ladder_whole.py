"""The ladder and the deadlines in the whole bot: who is asked, what it costs, and what people read."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from bot.slack.views.status import render_timeline
from bot.tracing.steps import export_events, list_steps
from handoff import events as ev
from handoff.contracts import Terms
from handoff.engine.answer import list_resultless_subtasks
from handoff.engine.ladder import RECOVERY_STEPS
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import task_of
from tests.system.brains import (
    Words,
    bot_with_provider,
    by_part,
    connect,
    escalation,
    in_turn,
    plan,
    provider,
    purposes,
    result,
    subtask,
)
from tests.system.scene import Scene, extract_shown_text

UNSURE = escalation("confidence_too_low", "I am not sure what is meant.")


def with_bad(fault: Fault) -> Words:
    """The fault for one part, and for the others a result."""
    return lambda request: fault if "part bad." in task_of(request) else result("Said.")


def revision(*added_subtasks: dict[str, Any], **lists: list[dict[str, Any]]) -> Reply:
    """A planner's reply about a plan under way."""
    empty: dict[str, Any] = {"why": "", "drop": [], "reassign": [], "rebrief": []}
    return Reply(json.dumps({**empty, "add": added_subtasks, **lists}))


def instead(of: str, name: str, specialist: str, why: str) -> dict[str, Any]:
    """A subtask in the place of another."""
    return {**subtask(name, specialist), "instead_of": of, "needed_by": [], "why": why}


async def test_the_trace_of_a_job_shows_each_step_of_the_ladder(scene: Scene) -> None:
    steps = by_part(
        retried=in_turn(Fault("unavailable"), result("Retried.")),
        stronger=in_turn(UNSURE, UNSURE, result("Stronger.")),
        replaced=in_turn(Fault("bad_request"), result("Replaced.")),
        asking=in_turn(escalation("ambiguous_input", "Which city?", ["Oslo", "Bergen"]), result("Asked.")),
        lost=Fault("bad_request"),
        mended=in_turn(result("TODO"), result("It is the third.")),
        split=escalation("out_of_scope", "I cannot open pages."),
        pages=result("Opened."),
        figures=result("Counted."),
        joined=result("Joined.", confidence=70),
    )
    names = {"retried": "analyst", "stronger": "researcher", "replaced": "writer", "asking": "analyst"}
    rows = [
        subtask(name, names.get(name, "analyst"))
        for name in ("retried", "stronger", "replaced", "asking", "lost", "mended", "split")
    ]
    rows.append(subtask("joined", "writer", ["split"]))
    halves = revision(
        instead("split", "pages", "researcher", "Only the researcher opens pages."),
        instead("split", "figures", "analyst", "The figures are the analyst's."),
    )
    brief = Reply(json.dumps({"intent": "Write one clear sentence about part stronger."}))
    minds: dict[str, Words] = {"refiner": brief, "replanner": halves}
    async with bot_with_provider(scene, planner=plan(*rows), specialist=steps, **minds) as server:
        talk = await scene.ask("Do eight things")
        question = await talk.question()
        await scene.person().click(talk.channel, question["ts"], "answer:1")
        job = await talk.over()

    request = job.latest_request
    assert {work.spec.id for work in list_resultless_subtasks(request, request.run)} == {"lost"}
    taken = {decision.what for decision in request.decisions}
    assert set(RECOVERY_STEPS) <= taken
    assert {"sent back", "brief rewritten"} <= taken
    entries = await scene.store.jobs.read_log(talk.key)
    told = [one for event in export_events(list_steps(entries)) for one in event.get("decided", ())]
    assert {(one["what"], bool(one["why"])) for one in told} >= {(rung, True) for rung in set(RECOVERY_STEPS)}
    text = render_timeline(job.id, list_steps(entries))
    for words in (
        "→ retried: retry: the same again",
        "→ stronger: refine:",
        "→ replaced: fallback:",
        "→ lost: without:",
        "→ mended: sent back: The content is “TODO”",
        "→ split: replan: the part is planned again: I cannot open pages.",
        "split: plan changed: split replaced, pages added, figures added; about",
        "→ split: plan changed: replaced: Only the researcher opens pages.",
        "→ figures: plan changed: added: The figures are the analyst's.",
    ):
        assert words in text, text
    counted = Counter(purposes(server))
    assert (counted["refiner"], counted["replanner"]) == (1, 1)
    (event,) = [event for event in export_events(list_steps(entries)) if event.get("type") == "PlanRevised"]
    assert [change["kind"] for change in event["changes"]] == ["replaced", "added", "added"]
    (joined,) = [call for call in server.requests if "part joined." in task_of(call)]
    assert "Opened." in joined.messages[0].text
    assert "Counted." in joined.messages[0].text
    mend = [call for call in server.requests if "mend exactly this" in call.messages[0].text]
    assert "“TODO”" in mend[0].messages[0].text
    assert "Missing" in talk.join_bot_texts()


async def test_at_the_jobs_deadline_people_get_what_is_there(scene: Scene) -> None:
    rows = plan(subtask("bad", "analyst"), subtask("good", "reviewer"), subtask("after", "writer", ["bad"]))
    async with (
        provider(planner=rows, specialist=with_bad(Fault("hang"))) as server,
        scene.bot(connect("chat", server), terms=Terms(job_seconds=1.5, subtask_seconds=60)),
    ):
        talk = await scene.ask("Do three things")
        job = await talk.over()
    assert [work.state for work in job.latest_request.subtasks.values()] == ["error", "complete", "skipped"]
    (reached,) = await talk.of(ev.DeadlineReached)
    assert reached.subtask == ""
    assert "the time for the whole request (1.5 s) ran out" in extract_shown_text(talk.words()[-1])
