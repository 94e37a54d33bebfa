"""Several crews in one bot: one front door, chosen by a word and by channel, and whom people are sent to."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bot.app import load_crews
from bot.command_line.check import run_checks
from bot.settings import Settings, read_settings
from handoff import events as ev
from specialists.crew import Crew
from specialists.crew_set import CrewSet
from specialists.registry import list_crew_names
from tests.providers.faults import Fault
from tests.providers.scripts import first_text, purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, connect, crew_of, in_turn, plan, provider, purposes, result, subtask
from tests.system.scene import Scene, eventually, rows

PIPELINE = """\
description: Reviews changes.
contact: it-help@acme.org
pipeline:
- {specialist: bugs, title: Bugs, brief: 'Look for bugs. {request}'}
- {specialist: history, title: History, brief: Look at who changed it before.}
"""


def crews_in(folder: Path) -> tuple[Crew, Crew]:
    """The crew `desk`, with a clerk, and the crew `review`, with a fixed plan."""
    desk = crew_of(folder / "desk", ["clerk"], "description: Files things.\n")
    return desk, crew_of(folder / "review", ["bugs", "history"], PIPELINE)


async def test_a_word_chooses_the_crew_and_only_an_instance_that_has_it_works(scene: Scene, tmp_path: Path) -> None:
    desk, review = crews_in(tmp_path)
    gate = Gate(result("Filed."))
    words = {
        "planner": lambda _: plan(subtask("file", "clerk")),
        "clerk": gate,
        "bugs": lambda _: result("No bugs."),
        "history": lambda _: result("Ana wrote it."),
        "synthesizer": lambda _: None,
    }
    async with provider(**words) as server:
        model = connect("chat", server)
        async with scene.bot(model, crew=CrewSet.from_crews([desk, review]), slots=1):
            busy = await scene.ask("File the note", who="ben", channel="#sales")
            await gate.arrival_event.wait()
            async with scene.bot(model, crew=desk, hears=False):
                talk = await scene.ask("Review: is change 12 fine?")

                async def is_released() -> bool:
                    head = await scene.store.jobs.read_head(talk.key)
                    return head is not None and head.epoch >= 1 and not head.owner

                assert await eventually(is_released), "the one that lacks the crew took it, and let go of it"
                assert "specialist:bugs" not in purposes(server)
                gate.open()
                job = await talk.over()
                await busy.over()
            told = await scene.command("help")
            status, trace = await scene.command(f"status {job.id}"), await scene.command(f"trace {job.id}")
            await talk.say("@leadhand and change 13?")
            again = await talk.over(requests=2)
    first, second = again.requests
    assert (first.spec.crew, first.spec.text) == ("review", "is change 12 fine?")
    assert second.spec.crew == "review", "a follow-up stays with the crew of the request before it"
    assert purposes(server).count("planner") == 1, "the desk's"
    planned = (await talk.of(ev.PlanProposed))[0]
    assert planned.pipeline
    assert planned.reasons == ("pipeline: the crew's own plan of 2 steps, without asking the planner",)
    assert [one.intent for one in planned.plan.subtasks] == [
        "Look for bugs. is change 12 fine?",
        "Look at who changed it before.\n\nThe request:\nis change 12 fine?",
    ]
    assert job.latest_request.state == "completed"
    assert "of the crew review" in str(status)
    assert "of the crew review: is change 12 fine?" in str(trace)
    assert "pipeline: the crew's own plan of 2 steps" in str(trace)
    assert "begin with the name of one, such as “review: ...”" in str(told)
    bugs = next(request for request in server.requests if purpose_of(request) == "specialist:bugs")
    assert "is change 12 fine?" in first_text(bugs)


async def test_a_channel_has_its_crew_and_a_failure_says_who_can_go_on(scene: Scene, tmp_path: Path) -> None:
    desk, review = crews_in(tmp_path)
    for channel, crew in (("#sales", "review"), ("@leadhand", "law")):
        row = json.dumps({"values": {"crew": crew}, "set": {}})
        await scene.store.settings.put(scene.workspace.team_id, scene.person().find_channel(channel).id, row)
    lost = Fault(400, "no such thing")
    words = {"bugs": in_turn(result("No bugs."), lost), "history": in_turn(lost), "clerk": lambda _: result("Filed.")}
    words |= {"planner": lambda _: plan(subtask("file", "clerk"))}
    async with provider(**words) as server, scene.bot(connect("chat", server), crew=CrewSet.from_crews([desk, review])):
        part = await scene.ask("Note: change 12 is large", channel="#sales")
        in_part = await part.over()
        await part.say("@leadhand desk: file it then")
        filed = await part.over(requests=2)
        nothing = await scene.ask("and change 13?", channel="#sales")
        failed = await nothing.over()
        nowhere = await scene.ask("is this legal?", channel="@leadhand")
        gone = await nowhere.over()
    assert (in_part.latest_request.spec.crew, in_part.latest_request.spec.text) == (
        "review",
        "Note: change 12 is large",
    )
    assert in_part.latest_request.state == "completed"
    assert "For the rest, turn to `it-help@acme.org`." in part.join_bot_texts()
    assert (filed.latest_request.spec.crew, filed.latest_request.spec.text) == ("desk", "file it then")
    assert failed.latest_request.state == "failed"
    assert nothing.join_bot_texts().count("Somebody at `it-help@acme.org` can take it from here.") == 1
    assert gone.latest_request.state == "failed"
    assert "it is for the crew 'law', which is not there (any more)" in nowhere.join_bot_texts()
    assert "There is desk, review." in nowhere.join_bot_texts()


NEEDY = {"support": "LEADHAND_KNOWLEDGE", "ops": "LEADHAND_REPOSITORIES"}


def folder_of(folder: Path, member: str, file: str = "") -> Path:
    folder.mkdir(parents=True)
    page = f"---\nname: {member}\ndescription: Does it.\ntools: []\nmodel: fast\n---\nYou are the {member}.\n"
    (folder / f"{member}.md").write_text(page)
    (folder / "crew.yml").write_text(file or f"default: {member}\n")
    return folder


def settings_of(*folders: Path) -> Settings:
    return read_settings({"LEADHAND_CREW": ",".join(map(str, folders))})


def test_all_crews_that_come_along_are_there_and_those_are_members_that_have_what_they_need() -> None:
    crews = load_crews(read_settings({}))
    assert set(crews.names) == set(list_crew_names())
    assert crews.usual_crew.name == "general"
    assert set(crews.usual_crew.crews) == set(list_crew_names()) - {"general", *NEEDY}
    there = load_crews(read_settings(dict.fromkeys(NEEDY.values(), "docs=/srv/docs")))
    assert set(there.usual_crew.crews) == set(list_crew_names()) - {"general"}
    assert not any(crew.crews for crew in there.by_name.values() if crew.name not in {"general", "review"})


def test_a_crew_that_can_be_no_member_is_still_chosen_by_its_name(tmp_path: Path) -> None:
    usual = folder_of(tmp_path / "desk", "clerk")
    silent = folder_of(tmp_path / "silent", "reader")
    same = folder_of(tmp_path / "clerk", "reader", "description: Files.\n")
    needy = folder_of(tmp_path / "needy", "reader", "description: Knows.\nneeds: [LEADHAND_NOWHERE]\n")
    deep = folder_of(tmp_path / "deep", "reader", "description: Is deep.\n")
    folder_of(deep / "deeper", "digger", "description: Digs.\n")
    folder_of(deep / "deeper" / "deepest", "miner", "description: Mines.\n")
    good = folder_of(tmp_path / "law", "reader", "description: Reads contracts.\n")
    crews = load_crews(settings_of(usual, silent, same, needy, deep, good))
    assert list(crews.usual_crew.crews) == ["law"]
    assert crews.names == ("desk", "silent", "clerk", "needy", "deep", "law")


def test_a_name_that_the_usual_crew_removes_or_has_inside_is_free_for_a_member(tmp_path: Path) -> None:
    base = folder_of(tmp_path / "base", "law")
    folder_of(base / "sales", "audit", "description: Sells.\n")
    usual = folder_of(tmp_path / "desk", "clerk", f"extends: {base}\nwithout: [law]\ndefault: clerk\n")
    law = folder_of(tmp_path / "law", "reader", "description: Reads contracts.\n")
    audit = folder_of(tmp_path / "audit", "reader", "description: Audits.\n")
    sales = folder_of(tmp_path / "sales", "reader", "description: Sells more.\n")
    crews = load_crews(settings_of(usual, law, audit, sales))
    assert set(crews.usual_crew.specialists) == {"clerk"}
    assert sorted(crews.usual_crew.crews) == ["audit", "law", "sales"]
    assert "sales/audit" in crews.usual_crew.all_specialists


def test_a_bot_with_one_crew_has_nobody_else(tmp_path: Path) -> None:
    crews = load_crews(settings_of(folder_of(tmp_path / "desk", "clerk")))
    assert (crews.names, dict(crews.usual_crew.crews)) == ((), {})


async def test_the_check_says_who_is_a_member_and_why_another_is_none(tmp_path: Path) -> None:
    usual = folder_of(tmp_path / "desk", "clerk")
    law = folder_of(tmp_path / "law", "reader", "description: Reads contracts.\n")
    needy = folder_of(tmp_path / "needy", "reader", "description: Knows.\nneeds: LEADHAND_NOWHERE\n")
    async with aclosing(run_checks(settings_of(usual, law, needy))) as found:
        told = [str(verdict) async for verdict in found if verdict.subject == "crew"]
    assert told == [
        "ok    crew: desk (by “desk: ...”): clerk; members: law; no member: needy (without LEADHAND_NOWHERE)",
        "ok    crew: law (by “law: ...”): reader",
        "ok    crew: needy (by “needy: ...”): reader",
    ]


async def test_a_request_finds_the_crew_that_does_such_work_and_a_word_still_names_one(
    scene: Scene, tmp_path: Path
) -> None:
    usual = folder_of(tmp_path / "desk", "clerk")
    law = folder_of(tmp_path / "law", "reader", "description: Reads contracts.\n")
    told: list[str] = []

    def planner(request: WireRequest) -> Any:
        told.append(request.system)
        outside = "- law: Reads contracts." in request.system
        return plan(subtask("a", "law" if outside else "reader" if len(told) > 2 else "law/reader"))

    words = {"planner": planner, "reader": lambda _: result("The notice is three months.")}
    async with (
        provider(**words) as server,
        scene.bot(connect("chat", server), crew=load_crews(settings_of(usual, law))),
    ):
        talk = await scene.ask("What is the notice?")
        job = await talk.over()
        assert {name: state for name, (state, _) in rows(talk.cards()[0]).items()}["a"] == "complete"
        named = await scene.ask("law: what is the notice?")
        other = await named.over()
    assert job.latest_request.run.answer == other.latest_request.run.answer == "The notice is three months."
    assert (job.latest_request.spec.crew, other.latest_request.spec.crew) == ("desk", "law")
    assert Counter(purposes(server))["specialist:reader"] == 2
