"""Who gets a request where no model is needed to say."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff.contracts import Artifact, Material, Member, Place, Plan, Request, Subtask
from handoff.engine.engine import apply
from handoff.events import RequestAdded
from handoff.planning.plan_brief import PlanBrief, of_request
from handoff.planning.plan_check import check
from handoff.planning.routing import LONGEST, Load, Rule, lightest, route, spread
from handoff.state.job_state import Job, replace


def rule(name: str, *to: str, when: str, unless: str = "", files: object = "any") -> Rule:
    compiled = [
        tuple(re.compile(text, re.IGNORECASE) for text in ([pattern] if pattern else [])) for pattern in (when, unless)
    ]
    return Rule(name, to, compiled[0], compiled[1], files)  # type: ignore[arg-type]


RULES = (
    rule("translate", "translator", when=r"\btranslate\b", unless=r"\b(write|and)\b"),
    rule("search", "researcher", when=r"^search", files="none"),
    rule("figures", "analyst", when=r"\btotal\b", files=("csv", "XLSX")),
    rule("proof", "reader_a", "reader_b", when=r"\bproofread\b"),
)


def asked(text: str, *files: str) -> Job:
    request = Request(id="1.0", user="U", text=text, at=1.0)
    job = apply(None, RequestAdded(at=1.0, place=Place(team="T", channel="C", thread_ts="1.0"), request=request))
    ask = replace(
        job.asks[0], materials=tuple(Material(name=name, file=Artifact(id=name, name=name)) for name in files)
    )
    return replace(job, asks=(ask,))


def brief(text: str, *files: str) -> PlanBrief:
    job = asked(text, *files)
    return of_request(job, job.asks[0])


def idle(_: str) -> Load:
    return Load()


def chosen(text: str, *files: str) -> str | None:
    routed = route(brief(text, *files), RULES, idle)
    return routed.plan.subtasks[0].specialist if routed else None


@pytest.mark.parametrize(
    ("text", "files", "to"),
    [
        ("Translate this into German: good morning", (), "translator"),
        ("translate this and write a note about it", (), None),
        ("search for train times", (), "researcher"),
        ("search for train times", ("a.csv",), None),
        ("what is the total by region", ("a.CSV", "b.xlsx"), "analyst"),
        ("what is the total by region", ("a.csv", "b.docx"), None),
        ("what is the total by region", (), None),
        ("search for the total of translate", (), None),
        ("hello", (), None),
        ("  ", (), None),
        ("translate " + "word " * LONGEST, (), None),
    ],
)
def test_a_request_goes_where_one_rule_sends_it(text: str, files: tuple[str, ...], to: str | None) -> None:
    assert chosen(text, *files) == to


def test_the_plan_of_a_rule_is_sound_and_names_it() -> None:
    routed = route(brief("Translate this into German: good morning to all of you"), RULES, idle)
    assert routed is not None
    assert check(routed.plan, {"translator": Member(name="translator")}) == ()
    assert routed.rule == "translate"
    assert routed.reasons == ("rule translate: translator alone, without asking the planner",)
    assert routed.plan.subtasks[0].intent == "Translate this into German: good morning to all of you"
    assert routed.plan.subtasks[0].title == "Translate this into German: good morning to all…"


def test_a_thread_that_goes_on_and_files_that_failed_are_the_planners() -> None:
    job = asked("translate this into German")
    (ask,) = job.asks
    assert route(of_request(job, ask), RULES, idle) is not None
    later = replace(ask, request=ask.request.model_copy(update={"id": "2.0", "at": 2.0}))
    assert route(of_request(replace(job, asks=(ask, later)), later), RULES, idle) is None
    assert route(of_request(job, replace(ask, file_faults=("a.csv: too large",))), RULES, idle) is None


def test_the_lightest_of_equals_is_chosen_and_it_is_said_why() -> None:
    loads = {"a": Load(waiting=2, seconds=1.0), "b": Load(waiting=0, seconds=2.5), "c": Load(out=True)}
    name, why = lightest(("a", "b", "c"), loads.__getitem__)
    assert name == "b"
    assert why == "b of a (2 under way, 1.0 s each), b (0 under way, 2.5 s each), c (0 under way, breaker open)"
    assert lightest(("a",), loads.__getitem__) == ("a", "")
    assert lightest(("c", "a"), loads.__getitem__)[0] == "a", "an open breaker comes last, whatever the load"
    assert lightest(("x", "y"), idle)[0] == "x", "a tie goes to the first"


def test_a_rule_chooses_among_its_equals_by_load() -> None:
    busy = {"reader_a": Load(waiting=3), "reader_b": Load()}
    routed = route(brief("proofread this"), RULES, busy.__getitem__)
    assert routed is not None
    assert routed.plan.subtasks[0].specialist == "reader_b"
    assert "reader_b of reader_a (3 under way)" in routed.reasons[1]


def test_parts_side_by_side_go_to_different_equals() -> None:
    parts = tuple(Subtask(id=f"s{n}", title="t", intent="i", specialist="a") for n in range(4))
    alone = Subtask(id="own", title="t", intent="i", specialist="z")
    plan, reasons = spread(Plan(goal="g", subtasks=(*parts, alone)), [("a", "b")], idle)
    assert [subtask.specialist for subtask in plan.subtasks] == ["a", "b", "a", "b", "z"]
    assert len(reasons) == 4


loads = st.builds(Load, st.integers(0, 50), st.one_of(st.none(), st.floats(0, 1000)), st.booleans())


@given(st.dictionaries(st.sampled_from("abcdef"), loads, min_size=1))
def test_nobody_who_is_out_is_chosen_while_somebody_is_not(known: dict[str, Load]) -> None:
    name, _ = lightest(tuple(known), known.__getitem__)
    assert name in known
    assert not known[name].out or all(load.out for load in known.values())
