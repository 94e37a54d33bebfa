"""A plan that turns out wrong under way: who is asked, what waits, and what people see of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot.supervisor.prompts import prompt
from handoff import events as ev
from handoff.engine.answer import gaps
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of, task_of
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, Words, in_turn, plan, played, purposes, result, subtask
from tests.system.scene import Scene, card_title, rows, shown
from tests.system.test_crews_in_crews import SAID, crew_in, planners
from tests.system.test_planning import played_by

FOUND = "No bug here: in billing.yml send_twice is on."
BILLS = plan(
    subtask("cause", "analyst"),
    subtask("letter", "reviewer"),
    subtask("fix", "analyst", ["cause"]),
    subtask("note", "writer", ["fix"]),
    goal="Invoices once",
)
OPTION = {
    **subtask("option", "writer", ["cause"], "In billing.yml set send_twice to off, and say how to check part option."),
    "title": "Set the option",
    "instead_of": "fix",
    "needed_by": [],
    "why": "It is an option, not the code.",
}
CHANGED = {
    "why": "It is configuration.",
    "add": [OPTION],
    "drop": [],
    "reassign": [],
    "rebrief": [
        {"id": "note", "intent": "Tell the board which option is set, in part note.", "done_when": "", "why": "News."}
    ],
}


def by_part(**parts: Words) -> Words:
    """What a specialist says, by the part that its task names."""

    def say(request: WireRequest) -> Any:
        name = next((name for name in parts if f"part {name}." in task_of(request)), "")
        return parts[name](request) if name else result("Said.")

    return say


def doubting(_: WireRequest) -> Reply:
    return result("It is configuration.", findings=[{"message": FOUND, "where": "plan", "severity": "high"}])


async def test_a_plan_is_changed_and_everybody_sees_why(scene: Scene) -> None:
    planner, letter = Gate(Reply(json.dumps(CHANGED))), Gate(result("Proofread."))
    work = by_part(cause=doubting, letter=letter)
    async with played(scene, planner=lambda _: BILLS, specialist=work, replanner=planner) as server:
        talk = await scene.ask("find the bug that doubles invoices, fix it and tell the board")
        await planner.reached.wait()
        await talk.seen(lambda: "second look at the plan" in card_title(talk.cards()[0]))
        assert rows(talk.cards()[0])["fix"][1].startswith("analyst · waits for a second look")
        letter.open()  # what has started goes on
        await talk.until(lambda job: job.latest.work["letter"].state == "complete")
        assert "specialist:writer" not in purposes(server)
        planner.open()
        job = await talk.over()

        trace = await scene.command(f"trace {job.id}")
    ask = job.latest
    assert (ask.state, gaps(ask, ask.run)) == ("completed", ())
    assert purposes(server).count("replanner") == 1
    card = rows(talk.cards()[0])
    assert list(card) == ["cause", "letter", "option", "note"], "what was replaced has no row in the end"
    assert (card["option"][0], "new: It is an option, not the code." in card["option"][1]) == ("complete", True)
    assert "new brief: News." in card["note"][1]
    assert "Plan changed: Do part fix (replaced: It is an option" in shown(talk.cards()[0])
    text = json.dumps(trace, ensure_ascii=False)
    for words in (
        "cause: ask the planner again",
        "fix: plan changed: replaced",
        "note: plan changed: rebriefed: News.",
    ):
        assert words in text, text
    (note,) = [request for request in server.requests if "part note." in task_of(request)]
    assert "## Set the option" in note.messages[0].text
    assert "Do part fix" not in note.messages[0].text
    assert ask.work["option"].estimate is not None


async def test_a_planner_that_fails_leaves_the_plan_as_it_was(scene: Scene) -> None:
    replies: dict[str, Fault | Reply | None] = {
        "could not be asked (home-server refused the request (400)": Fault("bad_request"),
        "no usable reply": Reply("Bananas!"),
        "the rehearsal keeps to its plan": None,
    }
    for fault, reply in replies.items():
        async with played(
            scene, planner=lambda _: BILLS, specialist=by_part(cause=doubting), replanner=in_turn(reply)
        ) as server:
            talk = await scene.ask("find the bug")
            job = await talk.over()
        assert [work.state for work in job.latest.work.values()] == ["complete"] * 4
        (looked,) = await talk.of(ev.PlanRevised)
        assert looked.plan is None
        assert fault in looked.faults[0]
        assert purposes(server).count("replanner") == 1


async def test_a_crew_inside_the_crew_changes_its_own_plan(scene: Scene, tmp_path: Path) -> None:
    recheck = {**subtask("recheck", "legal/checker"), "instead_of": "terms/check", "needed_by": [], "why": "Old terms."}

    def replanner(request: WireRequest) -> Reply:
        text = first_text(request)
        inside = "- terms/check (legal/checker, after terms/read)" in text
        assert inside != ("- note (writer" in text), "nobody sees the plan of another level"
        return Reply(json.dumps({**CHANGED, "add": [recheck] if inside else [], "rebrief": []}))

    doubts = result("Read.", findings=[{"message": "These terms are not in force.", "where": "plan"}])
    inner = plan(subtask("read", "legal/reader"), subtask("check", "legal/checker", ["read"]))
    words: dict[str, Words] = {**SAID, "planner": planners(legal=inner), "reader": lambda _: doubts}
    async with played_by(scene, crew_in(tmp_path), replanner=replanner, **words) as server:
        talk = await scene.ask("Write a note on the terms, with the figures")
        job = await talk.over()
    work = job.latest.work
    assert (work["terms/check"].state, work["terms/check"].dropped) == ("skipped", True)
    assert (work["terms/recheck"].state, work["terms/recheck"].within) == ("complete", "terms")
    assert work["terms/recheck"].subtask.after == ("terms/read",)
    assert [event.within for event in await talk.of(ev.PlanRevised)] == ["terms", ""], "it travels up"
    assert purposes(server).count("replanner") == 2
    assert gaps(job.latest, job.latest.run) == ()
    spent = sum(request.prompt_tokens for request in server.requests)
    assert job.latest.usage.tokens_in == spent


async def test_an_added_part_gets_the_material_that_it_needs_and_no_other(scene: Scene) -> None:
    bills = plan(*({**part, "needs": []} for part in json.loads(BILLS.text)["subtasks"]), goal="Invoices once")
    more = {**CHANGED, "add": [{**OPTION, "needs": ["billing.md"]}]}
    files = [("billing.md", b"send_twice doubles each invoice"), ("menu.md", b"Soup on Monday")]
    async with played(
        scene,
        planner=lambda _: bills,
        specialist=by_part(cause=doubting),
        replanner=lambda _: Reply(json.dumps(more)),
    ) as server:
        talk = await scene.ask("find the bug that doubles invoices, fix it and tell the board", files=files)
        job = await talk.over()
    assert job.latest.work["option"].subtask.needs == ("billing.md",)
    (asked,) = [request for request in server.requests if purpose_of(request) == "replanner"]
    assert prompt("planner_needs") in json.dumps(asked.body, ensure_ascii=False).replace('\\"', '"')
    (brief,) = [first_text(one) for one in server.requests if "part option." in task_of(one)]
    assert "send_twice doubles each invoice" in brief
    assert "Soup" not in brief
