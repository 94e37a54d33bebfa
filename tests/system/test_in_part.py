"""What people read where a part failed, where nobody was sure, and where they asked in another language."""

from __future__ import annotations

import json

import pytest

from handoff import events as ev
from handoff.engine.answer import gaps
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import task_of
from tests.providers.wire import WireRequest
from tests.system.brains import Words, in_turn, plan, played, result, subtask, tool_call
from tests.system.scene import Scene, card_title, rows, shown

FIVE = plan(
    subtask("t1", "analyst"),
    subtask("t2", "reviewer"),
    subtask("t3", "analyst", ["t1"]),
    subtask("t4", "reviewer", ["t2"]),
    subtask("t5", "reviewer", ["t3", "t4"]),
)


def by_task(**said: Words) -> Words:
    """What a specialist says, by the part that its own task names."""

    def say(request: WireRequest) -> Reply | Fault | None:
        name = next(name for name in said if f"part {name}." in task_of(request))
        reply = said[name](request)
        assert reply is None or isinstance(reply, Reply | Fault)
        return reply

    return say


async def test_of_five_tasks_the_ones_that_can_be_done_are_delivered(scene: Scene) -> None:
    """T3 needs T1, T4 needs T2, T5 needs T3 and T4, and T1 fails for good."""
    specialists = by_task(
        t1=lambda _: Fault("bad_request"),
        t2=lambda _: result("Beta is done.", 95),
        t3=lambda _: result("never", 95),
        t4=lambda _: result("Delta is done.", 88),
        t5=lambda _: result("Only Delta could be weighed; what part t3 would say is missing.", 70),
    )
    async with played(scene, planner=lambda _: FIVE, specialist=specialists) as server:
        talk = await scene.ask("Do five things")
        job = await talk.over()
    works = job.latest.work
    states = {name: work.state for name, work in works.items()}
    assert states == {"t1": "error", "t2": "complete", "t3": "skipped", "t4": "complete", "t5": "complete"}
    (last,) = [request for request in server.requests if "part t5." in task_of(request)]
    assert "(not available: it needed 'Do part t1'. Work without it, and say what is missing.)" in last.messages[0].text
    assert works["t5"].result is not None
    assert works["t5"].result.gaps == ("Do part t5: done without 'Do part t3'",)
    told = next(request for request in server.requests if "# Results" in request.messages[0].text).messages[0].text
    assert "# Gaps\n- Do part t1: " in told
    end = shown(talk.words()[-1])
    for words in (
        "Beta is done.",
        "Delta is done.",
        "Only Delta could be weighed",
        "Answered in part.* Missing:\n• Do part t1: ",
        "refused the request",
        "• Do part t3: it needed 'Do part t1'",
        "• Do part t5: done without 'Do part t3'",
    ):
        assert words in end, words
    assert "never" not in end
    card = talk.cards()[0]
    assert card_title(card).startswith("Done in part in ")
    assert {name: status for name, (status, _) in rows(card).items()} == {
        "t1": "error",
        "t2": "complete",
        "t3": "error",
        "t4": "complete",
        "t5": "pending",  # in part, which Slack has no state for
    }


def planned(goal: str, *parts: tuple[str, str, str, str]) -> Reply:
    """A plan of parts side by side: id, specialist, brief and criterion of each."""
    fields = [
        {"id": name, "title": brief, "intent": brief, "specialist": who, "after": [], "done_when": done}
        for name, who, brief, done in parts
    ]
    return Reply(json.dumps({"goal": goal, "subtasks": fields, "strategy": "merge", "instruction": ""}))


LANGUAGES = {
    "german": (
        "Werte die Zahlen aus und prüfe den Text",
        planned(
            "Auswerten",
            ("zahlen", "analyst", "Summe der Stückzahlen", "Nennt die Summe und die Quelle der Zahl."),
            ("text", "reviewer", "Prüfe den Text", "Nennt jeden Fehler."),
        ),
        "Süden: 41.207 Stück, 12,5 % Anteil (Quelle: acme.de). Todo el equipo grüßt.",
        "Keine Fehler. Der Text ist stimmig.",
    ),
    "japanese": (
        "売上を集計して文章を確認してください",
        planned(
            "集計",
            ("goukei", "analyst", "売上を集計", "合計を示す。"),
            ("kakunin", "reviewer", "文章を確認", "誤りをすべて挙げる。"),
        ),
        "南部は41,207個、割合は12.5%です。",
        "誤りはありません。",
    ),
}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_in_other_languages_nothing_honest_is_held_up(scene: Scene, language: str) -> None:
    asked, parts, figures, checked = LANGUAGES[language]
    calls = [tool_call("calculate", code="206035 // 5, 12.5"), result(figures, 90)]
    async with played(scene, planner=lambda _: parts, analyst=in_turn(*calls), reviewer=in_turn(result(checked, 90))):
        talk = await scene.ask(f"{asked} (206035, 12.5 %)")
        job = await talk.over()
    assert not await talk.of(ev.PlanRejected)
    assert gaps(job.latest, job.latest.run) == ()
    assert figures.partition("(")[0] in talk.said()
