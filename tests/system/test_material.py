"""What a job has to work on reaches who needs it: seen in the bodies of model calls, on both wires."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.supervisor.prompts import prompt
from handoff import events as ev
from handoff.briefs.context import BRIEF
from handoff.contracts import Context, ToolCall
from handoff.engine.answer import gaps
from handoff.text.context_budget import FULL, tokens
from specialists.crew import Crew
from specialists.registry import load_crew
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of
from tests.providers.server import ProviderServer
from tests.providers.wire import Api, WireRequest
from tests.system.brains import Words, connect, in_turn, plan, played, provider, purposes, result, subtask, tool_call
from tests.system.scene import Scene, rows

BOTH: tuple[Api, ...] = ("anthropic", "responses")
both = pytest.mark.parametrize("api", BOTH)
LOG = "\n".join(f"10:{n:02} worker {n} finished its batch after {n * 7} s" for n in range(60))
TERMS = "Terms of delivery\n\nThe supplier pays 5 % of the price for each week of delay.\n\nThe court is in Bergen.\n"


def texts(server: ProviderServer, purpose: str) -> list[str]:
    """The first messages of the calls of a purpose."""
    return [first_text(request) for request in server.requests if purpose_of(request) == purpose]


def with_needs(part: dict[str, Any], *needs: str) -> dict[str, Any]:
    return {**part, "needs": list(needs)}


def tools_of(server: ProviderServer, purpose: str) -> set[str]:
    return {tool.name for one in server.requests if purpose_of(one) == purpose for tool in one.tools}


DONE: dict[str, Words] = {
    "reviewer": lambda _: result("Read."),
    "writer": lambda _: result("Written."),
    "synthesizer": lambda _: Reply("Done."),
}
READERS = {"read_material", "search_material"}


async def test_the_report_writer_gets_six_page_results_whole(scene: Scene) -> None:
    pages = {name: f"{name} charges 12 euros a seat and month, support included.\n" * 105 for name in ("Acme", "Bolt")}
    intent = "Draft a two-page comparison report for the product team: prices, support, a table, recommendation."
    parts = [subtask("acme", "researcher"), subtask("bolt", "reviewer")]
    planned = plan(*parts, subtask("report", "writer", ["acme", "bolt"], intent=intent))
    async with played(
        scene,
        api="responses",
        planner=lambda _: planned,
        researcher=lambda _: result(pages["Acme"]),
        reviewer=lambda _: result(pages["Bolt"]),
        writer=lambda _: result("The report."),
        synthesizer=lambda _: Reply("The report."),
    ) as server:
        talk = await scene.ask("Compare Acme and Bolt and write a report")
        await talk.over()
    (brief,) = texts(server, "specialist:writer")
    assert all(text.strip() in brief for text in pages.values())
    assert not tools_of(server, "specialist:writer") & READERS, "nothing was left out, so nothing is offered"
    assert not any(one.pack.left_out for one in await talk.of(ev.AttemptStarted))


async def test_a_pasted_log_reaches_who_needs_it_once(scene: Scene) -> None:
    parts = (
        with_needs(subtask("read", "reviewer", intent="Say which worker was the slowest."), "request"),
        with_needs(subtask("invite", "writer", intent="Write one line that invites to the review at noon.")),
    )
    words = {"reviewer": lambda _: result("Worker 59."), "writer": lambda _: result("Come at noon.")}
    async with played(scene, planner=lambda _: plan(*parts), **words) as server:
        talk = await scene.ask(f"Which worker is slow, and invite us to the review at noon\n{LOG}")
        await talk.over()
    (reviewer,), (writer,) = texts(server, "specialist:reviewer"), texts(server, "specialist:writer")
    assert reviewer.count(LOG) == 1
    assert "worker 7 finished" not in writer
    (planner,) = texts(server, "planner")
    assert planner.count(LOG) == 1
    assert "- request (this request, word for word" in planner


async def test_the_last_answer_goes_to_the_writer_unchanged(scene: Scene) -> None:
    answer = "\n\n".join(f"The tenant keeps window {chr(97 + n % 26) * 9} clean." for n in range(140))
    alone = Reply(json.dumps({"why": "a text", "next": {"who": "writer"}}))
    said = in_turn(result(answer), result("Done."))
    async with played(scene, planner=lambda _: alone, writer=said) as server:
        talk = await scene.ask("Write the house rules")
        await talk.over()
        await talk.say("@leadhand put your last answer into a Word document, unchanged")
        await talk.over(2)
    first, second = texts(server, "specialist:writer")
    assert "# Source material" not in first
    assert answer in second
    _, planner = texts(server, "planner")
    assert f"- answer (the last answer in this thread, {len(answer):,} characters)" in planner


@both
async def test_an_attached_text_is_read_by_who_needs_it_and_seen_by_the_planner(scene: Scene, api: Api) -> None:
    parts = (
        with_needs(subtask("risk", "reviewer", intent="Name the penalty for delay."), "terms.txt"),
        with_needs(subtask("note", "writer", ["risk"], intent="Write a note to the board on the penalty.")),
    )
    words = {"reviewer": lambda _: result("5 % a week."), "writer": lambda _: result("The penalty is 5 % a week.")}
    async with played(scene, api=api, planner=lambda _: plan(*parts), **words) as server:
        talk = await scene.ask("what is the penalty? note to the board", files=[("terms.txt", TERMS.encode())])
        job = await talk.over()
    (planner,), (reviewer,), (writer,) = (
        texts(server, purpose) for purpose in ("planner", "specialist:reviewer", "specialist:writer")
    )
    assert "- terms.txt (text/plain" in planner
    assert "The supplier pays 5 % of the price" in planner
    assert f"## terms.txt\n{TERMS.strip()}" in reviewer
    assert "Bergen" not in writer
    assert gaps(job.latest, job.latest.run) == (), "and 5 % stands in a source"
    (gathered,) = await talk.of(ev.MaterialGathered)
    assert TERMS not in gathered.model_dump_json(), "the log has no text of it"


async def test_a_long_text_fits_a_call_and_the_rest_is_searched_and_read(scene: Scene) -> None:
    chapters = [f"# Chapter {n}\n\n" + f"Item {n} of the manual is about the pump. " * 70 for n in range(100)]
    chapters[73] += "\n\nThe warranty ends after thirty-one months of service."
    manual = "\n\n".join(chapters)
    assert len(manual) > 280_000, "a hundred pages"
    asks = "When does the guarantee end?"
    alone = Reply(json.dumps({"why": "a text", "next": {"who": "reviewer"}}))

    def reviewer(request: WireRequest) -> Reply:
        replies = [reply.text for message in request.messages for reply in message.replies]
        if not replies:
            return tool_call("search_material", words="warranty months")
        if len(replies) == 1:
            wanted = {"name": "manual.md", "part": "Chapter 73"}
            return Reply(calls=(ToolCall(id="c2", name="read_material", arguments=wanted),), stop="tool_use")
        return result("It ends after thirty-one months (manual.md, Chapter 73).")

    async with played(scene, planner=lambda _: alone, reviewer=reviewer) as server:
        talk = await scene.ask(asks, files=[("manual.md", manual.encode())])
        await talk.over()
    first, *_, last = [request for request in server.requests if purpose_of(request) == "specialist:reviewer"]
    size = tokens(first_text(first))
    assert Context().deep * BRIEF * FULL * 0.7 < size <= Context().deep * BRIEF
    assert tools_of(server, "specialist:reviewer") >= READERS
    searched, read = (reply.text for message in last.messages for reply in message.replies)
    assert re.search(r"\[manual\.md, [^]]*Chapter 73\]\nThe warranty ends", searched)
    assert "thirty-one months" in searched
    assert re.match(r"\[manual\.md, [^]]*Chapter 73\]\n# Chapter 73\n", read)
    assert len(searched) < 8_000
    (start,) = await talk.of(ev.AttemptStarted)
    assert start.pack.left_out[0].startswith("manual.md: ")
    (planner,) = texts(server, "planner")
    assert len(planner) < 4_000, "the planner is shown its beginning"


async def test_a_need_that_is_not_there_is_a_fault_that_the_planner_mends(scene: Scene) -> None:
    wrong = plan(with_needs(subtask("risk", "reviewer"), "contract.pdf"), with_needs(subtask("note", "writer")))
    right = plan(with_needs(subtask("risk", "reviewer"), "TERMS"), with_needs(subtask("note", "writer")))
    async with played(scene, planner=in_turn(wrong, right), **DONE) as server:
        talk = await scene.ask("what is the penalty? note to the board", files=[("terms.txt", TERMS.encode())])
        job = await talk.over()
    (rejected,) = await talk.of(ev.PlanRejected)
    assert rejected.faults == ("Subtask 'risk' needs 'contract.pdf', which is not there; there are: terms.txt.",)
    assert rejected.faults[0] in texts(server, "planner")[1]
    assert job.latest.work["risk"].subtask.needs == ("terms.txt",)


async def test_what_nobody_needs_is_said(scene: Scene) -> None:
    parts = (with_needs(subtask("risk", "reviewer"), "terms.txt"), with_needs(subtask("note", "writer")))
    files = [("terms.txt", TERMS.encode()), ("menu.txt", b"Soup on Monday.\n")]
    async with played(scene, planner=lambda _: plan(*parts), **DONE):
        talk = await scene.ask("what is the penalty? note to the board", files=files)
        job = await talk.over()
    assert gaps(job.latest, job.latest.run) == ("menu.txt was not read: no part of the plan needed it",)
    assert "menu.txt was not read" in talk.said()


async def test_what_cannot_be_read_is_said_whatever_the_model_says(scene: Scene) -> None:
    alone = Reply(json.dumps({"why": "a text", "next": {"who": "reviewer"}}))
    broken = bytes(range(256)) * 20
    async with played(scene, planner=lambda _: alone, reviewer=lambda _: result("It is sound.")) as server:
        talk = await scene.ask("check the contract", files=[("contract.bin", broken)])
        job = await talk.over()
    (gathered,) = await talk.of(ev.MaterialGathered)
    assert [name for name in gathered.faults if name.startswith("contract.bin")]
    assert gathered.faults[0] in gaps(job.latest, job.latest.run)
    assert "contract.bin" in talk.said()
    assert "# Files that could not be read" in texts(server, "planner")[0]
    assert rows(talk.cards()[0])["request"][1].startswith("reviewer")


async def test_a_table_goes_as_its_columns_and_no_dump(scene: Scene) -> None:
    table = "month,region,churned\n" + "".join(f"2026-0{n % 9 + 1},north,{n}\n" for n in range(3_000))
    alone = Reply(json.dumps({"why": "figures", "next": {"who": "analyst"}}))
    async with played(scene, planner=lambda _: alone, analyst=lambda _: result("Done.")) as server:
        talk = await scene.ask("how is churn?", files=[("churn.csv", table.encode())])
        await talk.over()
    for purpose in ("planner", "specialist:analyst"):
        brief, *_ = texts(server, purpose)
        assert "columns: month, region, churned" in brief
        assert "2026-01,north" not in brief
    assert not tools_of(server, "specialist:analyst") & READERS, "it has tools for tables"


async def test_a_request_with_nothing_to_read_is_told_nothing_of_needs(scene: Scene) -> None:
    async with played(scene) as server:
        talk = await scene.ask("Draft a short note about tea")
        await talk.over()
    (planner,) = [request for request in server.requests if purpose_of(request) == "planner"]
    assert prompt("planner_needs") not in planner.system
    assert '"needs"' not in json.dumps(planner.answer_schema)
    assert "# Source material" not in first_text(planner)


def crew_of_two_levels(folder: Path) -> Crew:
    def write(path: Path, names: list[str], crew_file: str) -> None:
        path.mkdir(parents=True, exist_ok=True)
        for name in names:
            front = f"name: {name}\ndescription: Does what a {name} does.\ntools: []\nmodel: fast"
            (path / f"{name}.md").write_text(f"---\n{front}\n---\nYou are the {name}.\n")
        (path / "crew.yml").write_text(crew_file)

    write(folder, ["writer"], "")
    write(folder / "legal", ["reader", "checker"], "description: Reads and judges legal texts.\n")
    return load_crew(folder, {})


async def test_inside_a_crew_parts_need_what_their_subtask_needs(scene: Scene, tmp_path: Path) -> None:
    law, note = (
        with_needs(subtask("law", "legal"), "terms.txt"),
        with_needs(subtask("note", "writer", ["law"]), "secret.txt"),
    )
    outer = plan(law, note)
    inner = plan(
        with_needs(subtask("read", "legal/reader"), "terms.txt"),
        with_needs(subtask("check", "legal/checker", ["read"])),
    )
    planner: Callable[[WireRequest], Reply] = lambda one: inner if "- legal/reader:" in one.system else outer  # noqa: E731
    files = [("terms.txt", TERMS.encode()), ("secret.txt", b"The margin is 40 %.\n")]
    names = ("reader", "checker", "writer")
    words = {name: (lambda _: result("Read.")) for name in names}
    words |= {"planner": planner, "synthesizer": lambda _: Reply("Done.")}
    crew = crew_of_two_levels(tmp_path)
    async with provider(**words) as server, scene.bot(connect("chat", server), crew=crew):
        talk = await scene.ask("what is the penalty? note to the board", files=files)
        await talk.over()
    (reader,), (checker,) = texts(server, "specialist:reader"), texts(server, "specialist:checker")
    assert TERMS.strip() in reader
    assert "Bergen" not in checker
    assert "margin" not in reader
    _, inside = texts(server, "planner")
    assert "terms.txt" in inside
    assert "secret.txt" not in inside
    assert purposes(server).count("planner") == 2
