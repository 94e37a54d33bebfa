"""A crew of three levels in the whole bot: plans inside plans, failures and questions up, answers and Stop down."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bot.tracing.steps import export_events, list_steps
from handoff import events as ev
from handoff.engine.answer import list_answer_gaps
from handoff.summaries.summary import TITLE_SEPARATOR
from specialists.crew import Crew
from tests.handoff.kit import level
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, Words, crew_of, plan, played_by, purposes, result, subtask
from tests.system.scene import Scene, block_of, card_title, extract_shown_text, rows

ROOT, LEGAL, CONTRACTS = ("- legal:", "- legal/reader:", "- legal/contracts/clerk:")
"""What only the planner of that crew sees."""


def crew_in(folder: Path, *, legal: str = "") -> Crew:
    """`analyst`, `writer` and the crew `legal`, which has a `reader`, a `checker` and the crew `contracts`."""
    contracts = folder / "legal" / "contracts"
    crew_of(contracts, ["clerk", "archivist"], "description: Knows every contract.\n")
    crew_of(folder / "legal", ["reader", "checker"], f"description: Reads and judges legal texts.\n{legal}")
    return crew_of(folder, ["analyst", "writer"])


OUTER = plan(
    subtask("figures", "analyst"),
    subtask("terms", "legal"),
    subtask("note", "writer", ["figures", "terms"]),
    goal="A note on the terms",
)
INNER = plan(
    subtask("read", "legal/reader"), subtask("find", "legal/contracts"), subtask("check", "legal/checker", ["read"])
)
INMOST = plan(subtask("search", "legal/contracts/clerk"))


def planners(**plans: Reply) -> Words:
    """What the planner of each level says: `root`, `legal` or `contracts`."""
    usual = {"root": OUTER, "legal": INNER, "contracts": INMOST, **plans}

    def say(request: WireRequest) -> Reply:
        found = {"root": ROOT, "legal": LEGAL, "contracts": CONTRACTS}
        return usual[next(name for name, line in found.items() if line in request.system)]

    return say


INSIDE = "The terms, put together inside."


def synthesizers(request: WireRequest) -> Reply:
    inner = "Write one sentence about part terms." in first_text(request).partition("# Plan")[0]
    return Reply(INSIDE if inner else "The note, put together outside.")


SPECIALIST_WORDS: Mapping[str, Words] = {
    "analyst": result("Figures: four thousand.", 90),
    "reader": result("The terms were read.", 85),
    "checker": result("The terms were checked.", 70, gaps=[]),
    "clerk": result("Contract 7 was found.", 95),
    "writer": result("The note is written.", 88),
    "synthesizer": synthesizers,
}


async def test_three_levels_bring_one_answer(scene: Scene, tmp_path: Path) -> None:
    words = {**SPECIALIST_WORDS, "planner": planners()}
    async with played_by(scene, crew_in(tmp_path), **words) as server:
        talk = await scene.ask("Write a note on the terms, with the figures")
        job = await talk.over()
        status = await scene.command(f"status {job.id}")
    request = job.latest_request
    assert request.state == "completed"
    assert {name: (subtask.specialist, level(request, name)) for name, subtask in request.subtasks.items()} == {
        "figures": ("analyst", 0),
        "terms": ("legal", 0),
        "note": ("writer", 0),
        "terms/read": ("legal/reader", 1),
        "terms/find": ("legal/contracts", 1),
        "terms/check": ("legal/checker", 1),
        "terms/find/search": ("legal/contracts/clerk", 2),
    }
    asked = Counter(purposes(server))
    assert asked == {
        "planner": 3,
        "synthesizer": 2,
        "verifier": 1,
        **{f"specialist:{name}": 1 for name in ("analyst", "reader", "checker", "clerk", "writer")},
    }
    assert request.subtasks["terms/find"].result is not None
    assert request.subtasks["terms/find"].result.content == "Contract 7 was found.", "one inner result stands as it is"
    terms = request.subtasks["terms"].result
    assert terms is not None
    assert (terms.content, terms.confidence) == (INSIDE, 70)
    assert "The note, put together outside." in talk.join_bot_texts()
    assert len(talk.words()) == 1
    assert INSIDE not in talk.join_bot_texts()
    assert request.usage.calls == len(server.requests)
    seen = next(first_text(one) for one in server.requests if purpose_of(one) == "specialist:writer")
    assert "The terms, put together inside." in seen
    assert "Contract 7" not in seen, "what is inside is nobody's business outside"
    outer = next(one.system for one in server.requests if ROOT in one.system)
    assert "- legal: Reads and judges legal texts." in outer
    assert "clerk" not in outer
    assert "archivist" not in outer
    listed = rows(talk.cards()[0])
    assert list(listed) == ["figures", "terms", "note"], "what is inside a part that is done is told as a number"
    assert "3 parts inside" in listed["terms"][1]
    assert "Do part terms · legal · done" in str(status)
    proposed = {one.within: [each.subtask for each in one.estimates] for one in await talk.of(ev.PlanProposed)}
    assert proposed == {
        "": ["figures", "terms", "note"],
        "terms": ["terms/read", "terms/find", "terms/check"],
        "terms/find": ["terms/find/search"],
    }
    told = await talk.timeline()
    assert "terms: plan of 3 subtasks" in told
    assert "terms/find: plan of 1 subtask" in told
    events = export_events(list_steps(await scene.store.jobs.read_log(talk.key)))
    assert [one["within"] for one in events if one["type"] == "PlanProposed" and "within" in one] == [
        "terms",
        "terms/find",
    ]


async def test_the_card_shows_the_levels_and_stop_reaches_down(scene: Scene, tmp_path: Path) -> None:
    gate = Gate(result("Too late."))
    words: dict[str, Words] = {**SPECIALIST_WORDS, "planner": planners(), "clerk": gate}
    async with played_by(scene, crew_in(tmp_path), **words) as server:
        talk = await scene.ask("Write a note on the terms, with the figures")
        await gate.arrival_event.wait()
        await talk.until(lambda job: job.latest_request.subtasks["terms/check"].state == "complete")
        shows = "terms/find/search"
        await talk.wait_until_seen(
            lambda: shows in rows(talk.cards()[0]) and rows(talk.cards()[0])["terms/check"][0] == "complete"
        )
        plan_block = block_of(talk.cards()[0], "plan")
        assert plan_block is not None
        assert [task["title"] for task in plan_block["tasks"]] == [
            "Do part figures",
            "Do part terms",
            f"Legal{TITLE_SEPARATOR}Do part read",
            f"Legal{TITLE_SEPARATOR}Do part find",
            f"Legal{TITLE_SEPARATOR}Contracts{TITLE_SEPARATOR}Do part search",
            f"Legal{TITLE_SEPARATOR}Do part check",
            "Do part note",
        ]
        listed = rows(talk.cards()[0])
        assert "legal · 2 of 3 parts done" in listed["terms"][1]
        assert "legal/contracts · 0 of 1 part done" in listed["terms/find"][1]
        assert card_title(talk.cards()[0]).startswith("Working, 1 of 3 done")
        job = await talk.job()
        assert job is not None
        status = str(await scene.command(f"status {job.id}"))
        assert (
            f"Legal{TITLE_SEPARATOR}Contracts{TITLE_SEPARATOR}Do part search · legal/contracts/clerk · under way"
            in status
        )
        before = len(server.requests)
        await scene.person().stop(talk.channel, talk.ts)
        job = await talk.over()
        gate.open()
        await scene.barrier()
    assert job.latest_request.state == "cancelled"
    assert len(server.requests) == before, "nothing was asked after it"
    report = extract_shown_text(talk.words()[0])
    assert f"*Done:* Do part figures, Legal{TITLE_SEPARATOR}Do part read, Legal{TITLE_SEPARATOR}Do part check" in report
    assert f"*Not finished:* Legal{TITLE_SEPARATOR}Contracts{TITLE_SEPARATOR}Do part search" in report
    assert await talk.of(ev.ResultReturned) == [
        one for one in await talk.of(ev.ResultReturned) if one.subtask in {"figures", "terms/read", "terms/check"}
    ]


async def test_a_crew_in_which_nobody_can_do_it_says_so(scene: Scene, tmp_path: Path) -> None:
    nobody = Reply(json.dumps({"goal": "", "subtasks": [], "strategy": "merge", "instruction": "", "missing": ["sue"]}))
    words = {**SPECIALIST_WORDS, "planner": planners(legal=nobody)}
    async with played_by(scene, crew_in(tmp_path), **words):
        talk = await scene.ask("Write a note on the terms, with the figures")
        job = await talk.over()
    (escalated,) = await talk.of(ev.Escalated)
    assert (escalated.subtask, escalated.escalation.reason) == ("terms", "out_of_scope")
    assert (
        list_answer_gaps(job.latest_request, job.latest_request.run)[0] == "Do part terms: nobody in that crew can sue"
    )
