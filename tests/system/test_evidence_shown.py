"""What stands below an answer: receipts from the log, and one click away all that it stands on."""

from __future__ import annotations

from typing import Any

from bot.slack.views.answer_message import SHOW_EVIDENCE, render_evidence_modal
from bot.workspace.blocks import check_view
from handoff.answering.fixed_words import render_phrase
from handoff.contracts import Finding, Place, Request, Result, Subtask
from handoff.evidence.work_receipts import collect_receipts, list_unsourced_statements
from handoff.state.job_state import Job, PlanRun, RequestState, SubtaskState
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import bot_with_provider, plan, purposes, result, subtask
from tests.system.scene import SAMPLE, Scene, Talk, block_of, extract_shown_text

CONTRACT = ("contract.txt", b"1. Term\nThe term is 24 months.\n\n2. Notice\nNotice is 90 days.\n")


async def open_evidence(scene: Scene, talk: Talk, who: str = "ben") -> dict[str, Any]:
    """The window that somebody sees who presses the Evidence button of the last message."""
    (answer,) = talk.words()
    buttons = block_of(answer, "actions")
    assert buttons is not None
    button = buttons["elements"][0]
    assert button["text"]["text"] == "Evidence"
    person = scene.person(who)
    await person.click(talk.channel, answer["ts"], SHOW_EVIDENCE, button["value"])
    await scene.workspace.until(person.views)
    (view,) = person.views()
    return view


async def test_a_click_below_the_answer_shows_its_queries_to_anybody_in_the_thread(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("What is the total revenue by region?", files=[SAMPLE])
        job = await talk.over()
        view = await open_evidence(scene, talk)
        timeline = extract_shown_text(await scene.command(f"trace {talk.key.job}"))
    asked = collect_receipts(job.latest_request).queries
    assert asked
    told = "".join(block["text"]["text"] for block in view["blocks"] if block["type"] == "section")
    for query in asked:
        assert query in told.replace("&gt;", ">").replace("&lt;", "<")
        assert query.split("\n")[0][:60] in timeline
    assert "sales.csv" in told


def test_any_evidence_fits_a_window() -> None:
    long = "SELECT '<&>```" + "&" * 10_000 + "'"
    findings = tuple(Finding(message="<&> " * 200 + str(n), severity="high", source="a.md") for n in range(60))
    queries = (long, *(f"SELECT {number}" for number in range(40)))
    found = Result(summary="s", content="c", findings=findings, queries=queries, failed_writes=("mail: " + "<" * 500,))
    subtask = SubtaskState(
        spec=Subtask(id="a", title="A", intent="Do it.", specialist="s"), specialist="s", result=found
    )
    request = RequestState(
        spec=Request(id="1.0", user="U1", text="x", at=1.0), run=PlanRun(answer="Yes."), subtasks={"a": subtask}
    )
    view = render_evidence_modal(
        Job(place=Place(team="T1", channel="C1", thread_ts="1.0"), requests=(request,)), request
    )
    assert len(view["blocks"]) <= 100
    assert all(len(block["text"]["text"]) <= 3000 for block in view["blocks"] if block["type"] == "section")
    assert "more are in the trace" in view["blocks"][-2]["elements"][0]["text"]
    check_view(view)


SALES = ("sales.txt", b"The first quarter brought 1,145 and the second 1,569.\n")


async def test_a_figure_that_was_worked_out_goes_back_once_and_is_shown_with_its_working(scene: Scene) -> None:
    tries = [
        result("It fell by 40,417.", 95),
        result("Up 424 [[= 1,569 - 1,145]], or 37.0306 % [[= 424 / 1,145]].", 95),
    ]
    told: list[str] = []

    def analyst(request: WireRequest) -> Reply:
        told.append(str(request.body))
        return tries[min(len(told), 2) - 1]

    async with bot_with_provider(scene, planner=plan(subtask("note", "writer")), writer=analyst):
        talk = await scene.ask("What changed from the first quarter to the second?", files=[SALES])
        await talk.over()
        view = await open_evidence(scene, talk)
    (answer,) = talk.words()
    assert "Up 424, or 37.0306 %." in extract_shown_text(answer)
    assert "Not from your files" not in extract_shown_text(answer)
    assert "write how behind it, as in 37 % [[=" in told[1]
    lines = "".join(block["text"]["text"] for block in view["blocks"] if block["type"] == "section")
    assert "*Worked out*• 424 = 1,569 - 1,145\n• 37.0306 % = 424 / 1,145" in lines


GRAVE = {"severity": "critical", "message": "The query joins user input into SQL, an injection.", "where": "app.py:3"}


async def test_a_critical_finding_that_the_answer_drops_is_added_with_the_count(scene: Scene) -> None:
    verdict = "No problems were found, so it can go live."
    async with bot_with_provider(
        scene,
        planner=plan(subtask("look", "reviewer"), subtask("sum", "writer")),
        reviewer=result("Not sound.", 95, findings=[GRAVE]),
        writer=result("A log line was added to the login page.", 90),
        synthesizer=Reply(verdict),
    ) as _:
        talk = await scene.ask("Review this change and say what it does")
        await talk.over()
    assert verdict in talk.join_bot_texts()
    assert "Serious findings: 1 critical" in talk.join_bot_texts()
    assert "The query joins user input into SQL, an injection. (critical, " in talk.join_bot_texts()


async def test_a_quotation_of_nothing_goes_back_once_and_is_then_listed(scene: Scene) -> None:
    request_text = "Was sagt der Vertrag?"
    answer = "In contract.txt steht: „Der Lieferant trägt alle Kosten der Reparatur.“"
    async with bot_with_provider(
        scene, planner=plan(subtask("read", "reviewer")), reviewer=result(answer, 95)
    ) as server:
        talk = await scene.ask(request_text, files=[CONTRACT])
        job = await talk.over()
    assert purposes(server).count("specialist:reviewer") == 2
    assert len(list_unsourced_statements(job.latest_request)) == 1
    assert render_phrase("not_from_files", request_text, what="") in talk.join_bot_texts()
