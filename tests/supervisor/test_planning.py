"""Planning: when a decision is dated, what is told of files, calls that are too long, and plans without a planner."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.planner import CUT_OFF_FAULT, ask_planner, build_brief
from bot.supervisor.roles import call_within_context
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Artifact, Member, Note, Terms, Tier, Turn, Usage
from handoff.effects import MakePlan
from handoff.events import PlanProposed, PlanRejected, RequestFailed
from handoff.planning.plan_brief import PlanBrief
from specialists.crew import Crew
from specialists.model import ModelCall, ModelError
from tests.handoff.kit import R, ask, job, make_plan_event, make_request_event, make_start_event, subtask
from tests.specialists.crew_files import load_files, page
from tests.specialists.scripted_model import Looker, ScriptedModel, make_text_turn

GARBAGE = make_text_turn("{ I would ask the")
FAULTS = ("The reply is no JSON.",)


class Costless(ScriptedModel):
    """A model whose calls cost nothing, and that needs no warming."""

    async def warm(self) -> None:
        """Nothing to do."""

    def compute_price(self, tier: Tier, tokens_in: int, tokens_out: int) -> float:
        del tier, tokens_in, tokens_out
        return 0.0


def crew_in(folder: Path, outer: str = "", inner: str = "") -> Crew:
    """`writer` and `reader`, and inside it `legal` with `clerk` and `archivist`."""
    pages = {name: page(Path(name).name) for name in ("reader", "writer", "legal/archivist", "legal/clerk")}
    inside = f"description: Knows contracts.\n{inner}"
    return load_files(folder, {}, crew=outer, **pages, **{"legal/crew": inside})


async def plan_of(crew: Crew, effect: MakePlan, *moves: Any, text: str = "find the lease") -> PlanProposed:
    model: Any = Costless(list(moves))
    planning = CrewPlanner(crew, model, TrackRecord(), Terms())
    members = (Member(name="legal", crew=Terms()),)
    plan = make_plan_event(subtask("law", specialist="legal")).model_copy(update={"members": members})
    state = job(make_request_event(), plan, make_start_event("law").model_copy(update={"specialist": "legal"}))
    level = planning.find_by_path("legal") if effect.within else planning
    assert level is not None
    event = await level.make_plan(effect, PlanBrief(text), ask(state), now=lambda: 9.0)
    assert isinstance(event, PlanProposed)
    assert not model.moves, "no call more and none less"
    return event


@pytest.mark.parametrize(
    ("crew_text", "expected"), [("default: reader", "reader"), ("", "reader"), ("default: legal", "legal")]
)
async def test_what_cannot_be_planned_in_two_tries_goes_to_the_default(
    tmp_path: Path, crew_text: str, expected: str
) -> None:
    event = await plan_of(crew_in(tmp_path, crew_text), MakePlan(R, FAULTS), GARBAGE)
    (part,) = event.plan.subtasks
    assert (part.specialist, part.intent) == (expected, "find the lease")
    assert f"no usable plan in two tries, so {expected} gets it as it stands" in event.reasons[0]


@pytest.mark.parametrize(("crew_text", "expected"), [("default: clerk", "legal/clerk"), ("", "legal/archivist")])
async def test_a_crew_inside_has_a_default_of_its_own(tmp_path: Path, crew_text: str, expected: str) -> None:
    event = await plan_of(crew_in(tmp_path, inner=crew_text), MakePlan(R, FAULTS, "law", 1), GARBAGE)
    assert [(one.id, one.specialist) for one in event.plan.subtasks] == [("law/request", expected)]


PIPELINE = "pipeline:\n- {specialist: clerk, title: Find it, brief: 'Find it. {request}'}\n"


async def test_a_crew_inside_with_a_pipeline_asks_no_planner(tmp_path: Path) -> None:
    event = await plan_of(crew_in(tmp_path, inner=PIPELINE), MakePlan(R, (), "law", 1))
    assert event.pipeline
    assert [(one.id, one.intent) for one in event.plan.subtasks] == [("law/clerk", "Find it. find the lease")]


async def test_rules_come_before_the_pipeline(tmp_path: Path) -> None:
    steps = PIPELINE.replace("clerk", "reader")
    crew = crew_in(tmp_path, f"{steps}rules:\n- {{name: write, to: writer, when: ['^write']}}\n")
    event = await plan_of(crew, MakePlan(R), text="write a note")
    assert (event.rule, event.pipeline, event.plan.subtasks[0].specialist) == ("write", False, "writer")
    event = await plan_of(crew, MakePlan(R), text="read a note")
    assert (event.rule, event.pipeline, event.plan.subtasks[0].specialist) == ("", True, "reader")


TERMS = Terms()
WRITER = Member(name="writer", description="Writes texts.")
TO_WRITER: dict[str, Any] = {"members": (WRITER,), "default": "writer", "now": lambda: 1.0, "terms": TERMS}


async def test_a_plan_that_was_cut_off_is_rejected_and_the_next_call_holds_each_fault() -> None:
    model = ScriptedModel([make_text_turn('{"goal": "half a plan", "subtasks": [{"id": "a"', "max_tokens"), GARBAGE])
    rejected = await ask_planner(MakePlan(R), PlanBrief("Write."), model=model, **TO_WRITER)
    assert isinstance(rejected, PlanRejected)
    assert rejected.faults == (CUT_OFF_FAULT,)
    faults = (*rejected.faults, *FAULTS)
    await ask_planner(MakePlan(R, faults), PlanBrief("Write."), model=model, **TO_WRITER)
    assert all(f"- {fault}" in model.calls[1].messages[0].text for fault in faults)


# ---------------------------------------------------------------- decisions are dated when they are there


@pytest.mark.parametrize(
    "next_step",
    [
        {"who": "answer", "text": "You are welcome!"},
        {"who": "writer"},
        {"who": "ask", "text": "Which?"},
        {"who": "?"},
        None,
    ],
)
async def test_each_decision_has_the_time_at_which_it_was_there(next_step: dict[str, str] | None) -> None:
    clock = [100.0]

    async def think(_: ModelCall) -> Turn:
        clock[0] += 7
        if next_step is None:
            raise ModelError("unavailable", "It is away.", transient=True)
        return Turn(text=json.dumps({"why": "So it is.", "next": next_step}), stop="end", usage=Usage())

    event = await ask_planner(
        MakePlan("1.0"),
        PlanBrief("Thanks!", may_answer=True, may_ask=True),
        model=ScriptedModel([think]),
        **{**TO_WRITER, "now": lambda: clock[0]},
    )
    assert event.at == 107.0


# ---------------------------------------------------------------- calls that are too long for their model

NOTES = "A note that is longer than the rest. " * 600


async def plan_with_notes(model: ScriptedModel) -> PlanProposed | RequestFailed:
    brief = PlanBrief("Write a letter.", notes=(Note(source="memory", text=NOTES),))
    event = await call_within_context(
        model,
        TERMS,
        lambda model, terms: ask_planner(MakePlan("1.0"), brief, model=model, **{**TO_WRITER, "terms": terms}),
    )
    assert isinstance(event, PlanProposed | RequestFailed)
    return event


def server_with_room_for(characters: int) -> Callable[[ModelCall], object]:
    async def think(call: ModelCall) -> Turn:
        size = len(call.messages[0].text) + len(call.system)
        if size > characters:
            share = characters / size
            raise ModelError("too_long", "It is too long. Ask for less at once.", transient=False, share=share)
        return Turn(text=json.dumps({"why": "So it is.", "next": {"who": "writer"}}), stop="end", usage=Usage())

    return think


async def test_a_role_is_asked_once_more_with_less_material() -> None:
    whole = ScriptedModel([server_with_room_for(10**9)])
    assert isinstance(await plan_with_notes(whole), PlanProposed)
    size = len(whole.calls[0].messages[0].text) + len(whole.calls[0].system)
    model = ScriptedModel([server_with_room_for(size - len(NOTES) // 2)] * 2)
    assert isinstance(await plan_with_notes(model), PlanProposed)
    first, second = (call.messages[0].text for call in model.calls)
    assert NOTES.strip() in first
    assert NOTES[:150].strip() in second
    assert len(second) < len(first) / 2
    assert "Write a letter." in second


async def test_a_role_whose_call_never_fits_says_what_to_do() -> None:
    model = ScriptedModel([server_with_room_for(10)] * 2)
    event = await plan_with_notes(model)
    assert isinstance(event, RequestFailed)
    assert "Ask for less at once" in event.reason
    assert len(model.calls) == 2


# ---------------------------------------------------------------- what the planner is told about a file

ANALYST = Member(name="analyst", reads=(".csv", ".xlsx"))
LEDGER = Member(name="ledger", reads=(".csv",))
NO_READER = Member(name="writer")


def told_of(name: str, *members: Member) -> str:
    file = Artifact(id="1" * 64, name=name, media_type="text/csv", size=12)
    return build_brief(PlanBrief("Which month sold best?", files=(file,)), 8_000, members).text.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "members", "expected_text"),
    [
        ("orders.csv", (ANALYST, NO_READER), "- orders.csv (text/csv, 12 bytes, for analyst)"),
        ("ORDERS.CSV", (ANALYST, NO_READER), "- ORDERS.CSV (text/csv, 12 bytes, for analyst)"),
        ("orders.csv", (ANALYST, LEDGER, NO_READER), "- orders.csv (text/csv, 12 bytes, for analyst or ledger)"),
        ("orders.xlsx", (ANALYST, LEDGER, NO_READER), "- orders.xlsx (text/csv, 12 bytes, for analyst)"),
        ("letter.docx", (ANALYST, NO_READER), "- letter.docx (text/csv, 12 bytes)"),
        ("csv", (ANALYST, NO_READER), "- csv (text/csv, 12 bytes)"),
        ("orders.csv", (ANALYST, LEDGER), "- orders.csv (text/csv, 12 bytes)"),
    ],
)
def test_a_file_names_those_whose_tools_read_it_unless_all_do(
    name: str, members: tuple[Member, ...], expected_text: str
) -> None:
    assert told_of(name, *members) == expected_text


async def test_what_a_specialist_reads_is_what_its_tools_read_also_in_a_crew_inside(tmp_path: Path) -> None:
    table = replace(Looker().tool("tabulate"), endings=frozenset({".csv"}))
    files = {"writer": page("writer"), "figures/analyst": page("analyst", tools="[tabulate]")}
    crew = load_files(tmp_path, {"tabulate": table}, **files, **{"figures/crew": "description: Knows figures.\n"})
    model: Any = Costless([make_text_turn('{"why":"a sum","next":{"who":"figures"}}')])
    planning = CrewPlanner(crew, model, TrackRecord(), Terms())
    file = Artifact(id="1" * 64, name="orders.csv", media_type="text/csv", size=12)
    state = ask(job(make_request_event()))
    await planning.make_plan(MakePlan("1.0"), PlanBrief("Sum?", files=(file,)), state, now=lambda: 9.0)
    assert "- orders.csv (text/csv, 12 bytes, for figures)" in model.calls[0].messages[0].text
