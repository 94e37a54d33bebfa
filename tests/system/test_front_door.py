"""One front door: the usual crew of a bot has the others as members, so that nobody needs to know which does what."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bot.app import open_crews
from bot.command_line.check import verdicts
from bot.settings import Settings, read_settings
from specialists.registry import available_crews
from tests.providers.wire import WireRequest
from tests.system.brains import connect, plan, provider, purposes, result, subtask
from tests.system.scene import Scene, rows

NEEDY = {"support": "LEADHAND_KNOWLEDGE", "ops": "LEADHAND_REPOSITORIES"}


def crew_of(folder: Path, member: str, file: str = "") -> Path:
    folder.mkdir(parents=True)
    page = f"---\nname: {member}\ndescription: Does it.\ntools: []\nmodel: fast\n---\nYou are the {member}.\n"
    (folder / f"{member}.md").write_text(page)
    (folder / "crew.yml").write_text(file or f"default: {member}\n")
    return folder


def settings_of(*folders: Path) -> Settings:
    return read_settings({"LEADHAND_CREW": ",".join(map(str, folders))})


def test_all_crews_that_come_along_are_there_and_those_are_members_that_have_what_they_need() -> None:
    crews = open_crews(read_settings({}))
    assert set(crews.names) == set(available_crews())
    assert crews.usual.name == "general"
    assert set(crews.usual.crews) == set(available_crews()) - {"general", *NEEDY}
    there = open_crews(read_settings(dict.fromkeys(NEEDY.values(), "docs=/srv/docs")))
    assert set(there.usual.crews) == set(available_crews()) - {"general"}
    assert not any(crew.crews for crew in there.by_name.values() if crew.name not in {"general", "review"})


def test_a_crew_that_can_be_no_member_is_still_chosen_by_its_name(tmp_path: Path) -> None:
    usual = crew_of(tmp_path / "desk", "clerk")
    silent = crew_of(tmp_path / "silent", "reader")
    same = crew_of(tmp_path / "clerk", "reader", "description: Files.\n")
    needy = crew_of(tmp_path / "needy", "reader", "description: Knows.\nneeds: [LEADHAND_NOWHERE]\n")
    deep = crew_of(tmp_path / "deep", "reader", "description: Is deep.\n")
    crew_of(deep / "deeper", "digger", "description: Digs.\n")
    crew_of(deep / "deeper" / "deepest", "miner", "description: Mines.\n")
    good = crew_of(tmp_path / "law", "reader", "description: Reads contracts.\n")
    crews = open_crews(settings_of(usual, silent, same, needy, deep, good))
    assert list(crews.usual.crews) == ["law"]
    assert crews.names == ("desk", "silent", "clerk", "needy", "deep", "law")


def test_a_bot_with_one_crew_has_nobody_else(tmp_path: Path) -> None:
    crews = open_crews(settings_of(crew_of(tmp_path / "desk", "clerk")))
    assert (crews.names, dict(crews.usual.crews)) == ((), {})


async def test_the_check_says_who_is_a_member_and_why_another_is_none(tmp_path: Path) -> None:
    usual = crew_of(tmp_path / "desk", "clerk")
    law = crew_of(tmp_path / "law", "reader", "description: Reads contracts.\n")
    needy = crew_of(tmp_path / "needy", "reader", "description: Knows.\nneeds: LEADHAND_NOWHERE\n")
    async with aclosing(verdicts(settings_of(usual, law, needy))) as found:
        told = [str(verdict) async for verdict in found if verdict.what == "crew"]
    assert told == [
        "ok    crew: desk (by “desk: ...”): clerk; members: law; no member: needy (without LEADHAND_NOWHERE)",
        "ok    crew: law (by “law: ...”): reader",
        "ok    crew: needy (by “needy: ...”): reader",
    ]


async def test_a_request_finds_the_crew_that_does_such_work_and_a_word_still_names_one(
    scene: Scene, tmp_path: Path
) -> None:
    usual = crew_of(tmp_path / "desk", "clerk")
    law = crew_of(tmp_path / "law", "reader", "description: Reads contracts.\n")
    told: list[str] = []

    def planner(request: WireRequest) -> Any:
        told.append(request.system)
        outside = "- law: Reads contracts." in request.system
        return plan(subtask("a", "law" if outside else "reader" if len(told) > 2 else "law/reader"))

    words = {"planner": planner, "reader": lambda _: result("The notice is three months.")}
    async with (
        provider(**words) as server,
        scene.bot(connect("chat", server), crew=open_crews(settings_of(usual, law))),
    ):
        talk = await scene.ask("What is the notice?")
        job = await talk.over()
        assert {name: state for name, (state, _) in rows(talk.cards()[0]).items()}["a"] == "complete"
        named = await scene.ask("law: what is the notice?")
        other = await named.over()
    assert job.latest.run.answer == other.latest.run.answer == "The notice is three months."
    assert (job.latest.request.crew, other.latest.request.crew) == ("desk", "law")
    assert Counter(purposes(server))["specialist:reader"] == 2
