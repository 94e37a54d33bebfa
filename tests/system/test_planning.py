"""Between a request and its work: rules, what the planner settles itself, and plans that are changed under way."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from handoff import events as ev
from handoff.engine.answer import list_answer_gaps
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of, task_of
from tests.providers.wire import WireRequest
from tests.system.brains import (
    Gate,
    bot_with_provider,
    by_part,
    crew_of,
    in_turn,
    plan,
    played_by,
    purposes,
    result,
    subtask,
)
from tests.system.scene import SAMPLE, Scene, block_of, buttons, card_title, extract_shown_text, rows

ONE_SKILL = "what was the total revenue by region?"
FIGURES = "Revenue by region: Oslo has the most, then Bergen, from all rows of sales.csv."


def reply(*subtasks: dict[str, Any], missing_parts: list[str] | None = None) -> Reply:
    """A planner's reply that may name what nobody can do."""
    made = json.loads(plan(*subtasks).text)
    return Reply(json.dumps({**made, "missing": missing_parts or []}))


async def test_a_request_of_one_skill_goes_straight_there(scene: Scene) -> None:
    async with bot_with_provider(scene, analyst=in_turn(result(FIGURES, 90))) as server:
        talk = await scene.ask(ONE_SKILL, files=[SAMPLE])
        job = await talk.over()
    assert "planner" not in purposes(server), "no model was asked who should do it"
    assert set(purposes(server)) == {"specialist:analyst"}
    assert job.latest_request.state == "completed"
    (planned,) = await talk.of(ev.PlanProposed)
    assert planned.rule == "figures-of-a-table"
    assert planned.usage.calls == 0
    assert [decision.why for decision in job.latest_request.decisions if decision.what == "planned"] == [
        "rule figures-of-a-table: analyst alone, without asking the planner"
    ]
    async with scene.bot():
        trace = await scene.command(f"trace {job.id}")
    assert "rule figures-of-a-table: analyst alone" in str(trace)


async def test_equals_share_the_work_and_every_role_is_told_when_who_and_where(scene: Scene, tmp_path: Path) -> None:
    crew = crew_of(tmp_path, ["poet", "poet_b", "singer"], "confidence: 60\nequals:\n- [poet, poet_b]\n")
    parts = plan(subtask("a", "poet"), subtask("b", "poet"), subtask("c", "singer"))
    said = in_turn(result("A line.", 90))
    async with played_by(scene, crew, planner=in_turn(parts), specialist=said) as server:
        talk = await scene.ask("three lines about the sea")
        job = await talk.over()
    assert "- poet:" in server.requests[0].system
    assert "poet_b" not in server.requests[0].system
    assert {name: work.specialist for name, work in job.latest_request.subtasks.items()} == {
        "a": "poet",
        "b": "poet_b",
        "c": "singer",
    }
    assert job.latest_request.run.terms.confidence == 60, "the crew's own word comes before the settings'"
    assert any("b: poet_b of poet (1 under way" in decision.why for decision in job.latest_request.decisions)
    first_lines = {purpose_of(one): one.messages[0].text.partition("\n")[0] for one in server.requests}
    for role in ("planner", "synthesizer"):
        line = first_lines[role]
        assert re.search(r"^\w{3} \d{1,2} \w{3} 20\d\d, \d\d:\d\d UTC\. From Ana Duarte in #general\.$", line), line
    setting = job.latest_request.setting
    assert setting is not None
    assert (setting.requester, setting.channel, setting.zone) == ("Ana Duarte", "#general", "UTC")
    assert len(await talk.of(ev.SettingKnown)) == 1


HELLO = "Hello! I plan work and give it to an analyst, a researcher, a reviewer and a writer."


def make_decision(who: str, **fields: Any) -> Reply:
    """A planner's reply in the form that its schema asks for."""
    return Reply(json.dumps({"why": "so it is", "next": {"who": who, **fields}}))


WHICH = make_decision("ask", text="Which fair do you mean?", options=["Spring", "Autumn"])
WRITER = make_decision("writer")


async def test_a_greeting_is_answered_without_a_plan(scene: Scene) -> None:
    async with bot_with_provider(scene, planner=in_turn(make_decision("answer", text=HELLO))) as server:
        talk = await scene.ask("Hello! What can you do?")
        job = await talk.over()
        await talk.wait_until_seen(lambda: talk.status() == "active")
    assert job.latest_request.state == "completed"
    assert purposes(server) == ["planner"]
    assert await talk.of(ev.PlanProposed) == []
    assert HELLO in talk.join_bot_texts()
    card = talk.replies()[0]
    assert extract_shown_text(card).startswith("Replied in ")
    assert block_of(card, "plan") is None, "no tick stands before nothing"


async def test_the_planner_asks_once_and_plans_with_the_answer(scene: Scene) -> None:
    said = in_turn(result("Come to the autumn fair!"))
    async with bot_with_provider(scene, planner=in_turn(WHICH, WRITER), writer=said) as server:
        talk = await scene.ask("invite the team to the fair")
        question = await talk.question()
        assert list(buttons(question)) == ["Spring", "Autumn"]
        assert "Which fair do you mean?" in extract_shown_text(question)
        await talk.wait_until_seen(lambda: talk.status() == "suspended")
        await talk.wait_until_seen(lambda: card_title(talk.cards()[0]).startswith("Waiting for an answer"))
        assert rows(talk.cards()[0])["plan"] == ("in_progress", "waits for ")
        assert "· waiting for you ·" in extract_shown_text(await scene.command("status"))
        await scene.person("ben").click(talk.channel, question["ts"], "answer:1")
        told = await talk.wait_until_seen(lambda: scene.person("ben").ephemerals(talk.channel))
        assert "nobody else can answer it" in told[0]["text"]
        await scene.person().click(talk.channel, question["ts"], "answer:1")
        job = await talk.over()
        await talk.wait_until_seen(lambda: not buttons(talk.words()[0]))
    assert job.latest_request.state == "completed"
    first, second, writer = server.requests
    note = "# Known: Asked: Which fair do you mean?\nAnswered by a person: Autumn"
    assert note in second.messages[0].text
    assert '"ask"' in json.dumps(first.answer_schema)
    assert '"ask"' not in json.dumps(second.answer_schema), "it asks once"
    assert "Answered by a person: Autumn" in writer.messages[0].text
    closed, answer = talk.words()
    assert f"<@{scene.person().id}> answered “Autumn”" in extract_shown_text(closed)
    assert "Come to the autumn fair!" in extract_shown_text(answer)
    assert job.latest_request.run.paused_seconds == 0.0, "the wait before the plan is not added to the time for it"


FINDING_TEXT = "No bug here: in billing.yml send_twice is on."
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
REVISION = {
    "why": "It is configuration.",
    "add": [OPTION],
    "drop": [],
    "reassign": [],
    "rebrief": [
        {"id": "note", "intent": "Tell the board which option is set, in part note.", "done_when": "", "why": "News."}
    ],
}


def doubting(_: WireRequest) -> Reply:
    return result("It is configuration.", findings=[{"message": FINDING_TEXT, "where": "plan", "severity": "high"}])


async def test_a_plan_is_changed_and_everybody_sees_why(scene: Scene) -> None:
    planner, letter = Gate(Reply(json.dumps(REVISION))), Gate(result("Proofread."))
    work = by_part(result("Said."), cause=doubting, letter=letter)
    async with bot_with_provider(scene, planner=lambda _: BILLS, specialist=work, replanner=planner) as server:
        talk = await scene.ask("find the bug that doubles invoices, fix it and tell the board")
        await planner.arrival_event.wait()
        await talk.wait_until_seen(lambda: "second look at the plan" in card_title(talk.cards()[0]))
        assert rows(talk.cards()[0])["fix"][1].startswith("analyst · waits for a second look")
        letter.open()  # what has started goes on
        await talk.until(lambda job: job.latest_request.subtasks["letter"].state == "complete")
        assert "specialist:writer" not in purposes(server)
        planner.open()
        job = await talk.over()

        trace = await scene.command(f"trace {job.id}")
    request = job.latest_request
    assert (request.state, list_answer_gaps(request, request.run)) == ("completed", ())
    assert purposes(server).count("replanner") == 1
    card = rows(talk.cards()[0])
    assert list(card) == ["cause", "letter", "option", "note"], "what was replaced has no row in the end"
    assert (card["option"][0], "new: It is an option, not the code." in card["option"][1]) == ("complete", True)
    assert "new brief: News." in card["note"][1]
    assert "Plan changed: Do part fix (replaced: It is an option" in extract_shown_text(talk.cards()[0])
    text = json.dumps(trace, ensure_ascii=False)
    for words in (
        "cause: ask the planner again",
        "fix: plan changed: replaced",
        "note: plan changed: rebriefed: News.",
    ):
        assert words in text, text
    (note,) = [call for call in server.requests if "part note." in task_of(call)]
    assert "## Set the option" in note.messages[0].text
    assert "Do part fix" not in note.messages[0].text
    assert request.subtasks["option"].estimate is not None


async def test_a_planner_that_fails_leaves_the_plan_as_it_was(scene: Scene) -> None:
    replies: dict[str, Fault | Reply | None] = {
        "could not be asked (home-server refused the request (400)": Fault("bad_request"),
        "no usable reply": Reply("Bananas!"),
        "the rehearsal keeps to its plan": None,
    }
    work, replanner = by_part(result("Said."), cause=doubting), in_turn(*replies.values())
    async with bot_with_provider(scene, planner=lambda _: BILLS, specialist=work, replanner=replanner) as server:
        for count, fault in enumerate(replies, 1):
            talk = await scene.ask("find the bug")
            job = await talk.over()
            assert [subtask.state for subtask in job.latest_request.subtasks.values()] == ["complete"] * 4
            (looked,) = await talk.of(ev.PlanRevised)
            assert looked.plan is None
            assert fault in looked.faults[0]
            assert purposes(server).count("replanner") == count
