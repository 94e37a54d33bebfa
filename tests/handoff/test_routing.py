"""Who gets a request where no model is needed to say: rules, pipelines, loads; and what a part is likely to take."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff.contracts import Artifact, Material, Member, Place, Plan, Request, Subtask, Tier, Usage
from handoff.engine.engine import apply_event
from handoff.events import RequestAdded
from handoff.planning.estimates import NO_PAST_USAGE, PastUsage, SpecialistProfile, estimate_plan, estimate_subtask
from handoff.planning.pipeline import (
    MAX_INLINE_LENGTH,
    Pipeline,
    PipelineStep,
    applies_to_request,
    build_pipeline_plan,
    find_pipeline_faults,
)
from handoff.planning.plan_brief import PlanBrief, make_request_brief
from handoff.planning.plan_check import find_plan_faults
from handoff.planning.routing import (
    MAX_ROUTED_LENGTH,
    KnownLoad,
    RoutingRule,
    choose_least_loaded,
    route_request,
    spread_load,
)
from handoff.state.job_state import Job, replace
from tests.handoff.kit import ask, job, make_request_event, require


def rule(name: str, *to: str, when: str, unless: str = "", files: object = "any") -> RoutingRule:
    compiled = [
        tuple(re.compile(text, re.IGNORECASE) for text in ([pattern] if pattern else [])) for pattern in (when, unless)
    ]
    return RoutingRule(name, to, compiled[0], compiled[1], files)  # type: ignore[arg-type]


RULES = (
    rule("translate", "translator", when=r"\btranslate\b", unless=r"\b(write|and)\b"),
    rule("search", "researcher", when=r"^search", files="none"),
    rule("figures", "analyst", when=r"\btotal\b", files=("csv", "XLSX")),
    rule("proof", "reader_a", "reader_b", when=r"\bproofread\b"),
)


def request_of(text: str, *files: str) -> Job:
    spec = Request(id="1.0", user="U", text=text, at=1.0)
    job = apply_event(None, RequestAdded(at=1.0, place=Place(team="T", channel="C", thread_ts="1.0"), request=spec))
    request = replace(
        job.requests[0], materials=tuple(Material(name=name, file=Artifact(id=name, name=name)) for name in files)
    )
    return replace(job, requests=(request,))


def brief(text: str, *files: str) -> PlanBrief:
    job = request_of(text, *files)
    return make_request_brief(job, job.requests[0])


def idle(_: str) -> KnownLoad:
    return KnownLoad()


def choose_specialist(text: str, *files: str) -> str | None:
    routed = route_request(brief(text, *files), RULES, idle)
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
        ("translate " + "word " * MAX_ROUTED_LENGTH, (), None),
    ],
)
def test_a_request_goes_where_one_rule_sends_it(text: str, files: tuple[str, ...], to: str | None) -> None:
    assert choose_specialist(text, *files) == to


def test_the_plan_of_a_rule_is_sound_and_names_it() -> None:
    routed = require(route_request(brief("Translate this into German: good morning to all of you"), RULES, idle))
    assert find_plan_faults(routed.plan, {"translator": Member(name="translator")}) == ()
    assert routed.rule == "translate"
    assert routed.reasons == ("rule translate: translator alone, without asking the planner",)
    assert routed.plan.subtasks[0].intent == "Translate this into German: good morning to all of you"
    assert routed.plan.subtasks[0].title == "Translate this into German: good morning to all…"


def test_a_thread_that_goes_on_and_files_that_failed_are_the_planners() -> None:
    job = request_of("translate this into German")
    (request,) = job.requests
    assert route_request(make_request_brief(job, request), RULES, idle) is not None
    later = replace(request, spec=request.spec.model_copy(update={"id": "2.0", "at": 2.0}))
    assert route_request(make_request_brief(replace(job, requests=(request, later)), later), RULES, idle) is None
    assert (
        route_request(make_request_brief(job, replace(request, file_faults=("a.csv: too large",))), RULES, idle) is None
    )


def test_the_lightest_of_equals_is_chosen_and_it_is_said_why() -> None:
    loads = {
        "a": KnownLoad(running_attempts=2, attempt_seconds=1.0),
        "b": KnownLoad(running_attempts=0, attempt_seconds=2.5),
        "c": KnownLoad(has_open_breaker=True),
    }
    name, why = choose_least_loaded(("a", "b", "c"), loads.__getitem__)
    assert name == "b"
    assert why == "b of a (2 under way, 1.0 s each), b (0 under way, 2.5 s each), c (0 under way, breaker open)"
    assert choose_least_loaded(("a",), loads.__getitem__) == ("a", "")
    assert choose_least_loaded(("c", "a"), loads.__getitem__)[0] == "a", "an open breaker comes last, whatever the load"
    assert choose_least_loaded(("x", "y"), idle)[0] == "x", "a tie goes to the first"


def test_a_rule_chooses_among_its_equals_by_load() -> None:
    busy = {"reader_a": KnownLoad(running_attempts=3), "reader_b": KnownLoad()}
    routed = require(route_request(brief("proofread this"), RULES, busy.__getitem__))
    assert routed.plan.subtasks[0].specialist == "reader_b"
    assert "reader_b of reader_a (3 under way)" in routed.reasons[1]


def test_parts_side_by_side_go_to_different_equals() -> None:
    parts = tuple(Subtask(id=f"s{n}", title="t", intent="i", specialist="a") for n in range(4))
    alone = Subtask(id="own", title="t", intent="i", specialist="z")
    plan, reasons = spread_load(Plan(goal="g", subtasks=(*parts, alone)), [("a", "b")], idle)
    assert [subtask.specialist for subtask in plan.subtasks] == ["a", "b", "a", "b", "z"]
    assert len(reasons) == 4


loads = st.builds(KnownLoad, st.integers(0, 50), st.one_of(st.none(), st.floats(0, 1000)), st.booleans())


@given(st.dictionaries(st.sampled_from("abcdef"), loads, min_size=1))
def test_nobody_who_is_out_is_chosen_while_somebody_is_not(known_loads: dict[str, KnownLoad]) -> None:
    name, _ = choose_least_loaded(tuple(known_loads), known_loads.__getitem__)
    assert name in known_loads
    assert not known_loads[name].has_open_breaker or all(load.has_open_breaker for load in known_loads.values())


# ---------------------------------------------------------------- a crew's own plan

CAUSE = PipelineStep("cause", "a", "Find the cause", "Find the cause. {request}", needs=("files", ".log"))
PAGE = PipelineStep("page", "b", "Find the page", "Find the page that helps.", done_when="A page.", needs=())
LAST = PipelineStep(
    "last", "a", "Put it together", "Write one answer.", after=("cause", "page"), critical=True, tier="deep"
)
PIPELINE = Pipeline((CAUSE, PAGE, LAST), strategy="reduce", instruction="The likelier cause first.")


def test_a_pipeline_is_a_plan_with_the_request_as_it_was_written() -> None:
    files = [Artifact(id="1", name="app.log"), Artifact(id="2", name="a.csv")]
    there = (Material(name="thread", kind="thread"), *(Material(name=one.name, file=one) for one in files))
    plan = build_pipeline_plan(PIPELINE, PlanBrief("  why is  it down?\n", materials=there))
    first, second, last = plan.subtasks
    assert (first.id, first.specialist, first.intent) == ("cause", "a", "Find the cause. why is  it down?")
    assert first.needs == ("app.log", "a.csv"), "each once"
    assert second.intent == "Find the page that helps.\n\nThe request:\nwhy is  it down?"
    assert (second.needs, second.done_when, second.after) == ((), "A page.", ())
    assert (last.after, last.needs, last.critical, last.tier) == (("cause", "page"), None, True, "deep")
    assert (plan.goal, plan.strategy, plan.instruction) == ("why is it down?", "reduce", "The likelier cause first.")
    assert PIPELINE.reason == "pipeline: the crew's own plan of 3 steps, without asking the planner"


def test_where_there_is_nothing_a_step_needs_nothing() -> None:
    assert [one.needs for one in build_pipeline_plan(PIPELINE, PlanBrief("why?")).subtasks] == [None, None, None]


def test_a_kind_of_material_or_an_ending_says_what_is_given() -> None:
    log = Material(name="App.LOG", file=Artifact(id="1", name="App.LOG"))
    there = (Material(name="thread", kind="thread"), Material(name="answer", kind="answer"), log)
    for words, names in ((("thread",), ("thread",)), (("answers", ".log"), ("answer", "App.LOG")), ((".csv",), ())):
        step = PipelineStep("a", "a", "One", "Find it. {request}", needs=words)
        assert build_pipeline_plan(Pipeline((step,)), PlanBrief("why?", materials=there)).subtasks[0].needs == names


def test_a_follow_up_goes_into_it_unless_the_crew_leaves_it_to_the_planner() -> None:
    left = Pipeline(PIPELINE.steps, follow_ups="planner")
    first, later = PlanBrief("again"), PlanBrief("again", earlier_requests=(ask(job(make_request_event())),))
    assert [applies_to_request(left, one) for one in (first, later)] == [True, False]
    assert [applies_to_request(PIPELINE, one) for one in (first, later)] == [True, True]
    assert not applies_to_request(None, first)
    assert applies_to_request(
        left, PlanBrief("again", earlier_requests=(ask(job(make_request_event(refusal="It was empty."))),))
    )


def test_a_long_request_is_given_as_material_instead() -> None:
    text = "+ a line of a diff\n" * MAX_INLINE_LENGTH
    there = (Material(name="request", kind="request", text="d", origin="requester"),)
    plan = build_pipeline_plan(PIPELINE, PlanBrief(text, materials=there))
    assert [one.needs for one in plan.subtasks] == [("request",), ("request",), None]
    assert all("stands below, under 'request'" in one.intent for one in plan.subtasks)
    inside = build_pipeline_plan(PIPELINE, PlanBrief(text))  # the brief of a crew inside another is no material
    assert sum(len(one.intent) for one in inside.subtasks) < 41_000
    assert len(plan.goal) == MAX_INLINE_LENGTH


def test_steps_are_checked_as_any_plan_is() -> None:
    assert find_pipeline_faults(PIPELINE, ("a", "b")) == ()
    assert "unknown specialist 'b'" in find_pipeline_faults(PIPELINE, ("a",))[0]
    circle = Pipeline(
        (PipelineStep("x", "a", "X", "Find x.", after=("y",)), PipelineStep("y", "a", "Y", "Find y.", after=("x",)))
    )
    assert "cycle" in find_pipeline_faults(circle, ("a",))[0]


# ---------------------------------------------------------------- estimates

ALONE = SpecialistProfile(tier="fast", prompt_tokens=300, max_turns=3, has_tools=False)
BUSY = SpecialistProfile(tier="balanced", prompt_tokens=900, max_turns=15, has_tools=True)


def price(tier: Tier, tokens_in: int, tokens_out: int) -> float | None:
    return (
        {"fast": 1.0, "balanced": 3.0}.get(tier, 0.0) * (tokens_in + 5 * tokens_out) / 1e6 if tier != "deep" else None
    )


def part(intent: str = "Find the total", **more: object) -> Subtask:
    return Subtask.model_validate({"id": "a", "title": "t", "intent": intent, "specialist": "s", **more})


def test_without_tools_it_is_one_call_of_prompt_and_brief() -> None:
    made = estimate_subtask(part("x" * 400), ALONE, NO_PAST_USAGE, price)
    assert (made.calls, made.tokens) == (1, 300 + 100 + 450)
    assert made.cost is not None
    assert abs(made.cost - (400 + 5 * 450) / 1e6) < 1e-9


def test_tools_dependencies_and_a_longer_brief_take_more() -> None:
    short = estimate_subtask(part(), BUSY, NO_PAST_USAGE, price)
    assert short.tokens > estimate_subtask(part(), ALONE, NO_PAST_USAGE, price).tokens
    assert estimate_subtask(part("word " * 400), BUSY, NO_PAST_USAGE, price).tokens > short.tokens
    assert estimate_subtask(part(after=["b", "c"]), BUSY, NO_PAST_USAGE, price).tokens > short.tokens


def test_a_tier_of_the_subtasks_own_sets_the_price() -> None:
    assert estimate_subtask(part(tier="deep"), BUSY, NO_PAST_USAGE, price).cost is None
    cheap, dear = (
        estimate_subtask(part(tier="fast"), BUSY, NO_PAST_USAGE, price),
        estimate_subtask(part(), BUSY, NO_PAST_USAGE, price),
    )
    assert cheap.cost is not None
    assert dear.cost is not None
    assert dear.cost == 3 * cheap.cost


def test_what_such_work_took_weighs_more_the_more_often_it_was_seen() -> None:
    usage = Usage(calls=2, tokens_in=1_000, tokens_out=200)
    past, tokens = NO_PAST_USAGE, [estimate_subtask(part(), BUSY, NO_PAST_USAGE, price).tokens]
    for _ in range(30):
        past = past.with_attempt(usage, 2.0, window=20)
        tokens.append(estimate_subtask(part(), BUSY, past, price).tokens)
    assert tokens == sorted(tokens, reverse=True)
    assert abs(tokens[-1] - 1_200) < 1_200 * 0.25
    assert (past.attempts, past.calls, past.seconds) == (30, 2.0, 2.0)


def test_an_older_way_of_working_fades() -> None:
    past = NO_PAST_USAGE
    for tokens in [10_000] * 50 + [1_000] * 50:
        past = past.with_attempt(Usage(calls=1, tokens_in=tokens), 1.0, window=20)
    assert past.tokens_in < 2_000


@given(
    intent=st.text(max_size=5_000),
    after=st.lists(st.sampled_from("bcdef"), unique=True),
    turns=st.integers(1, 50),
    past=st.builds(
        PastUsage, st.integers(0, 100), *(st.floats(0, top) for top in (50, 1e6, 1e5, 3600)),
    ),
)  # fmt: skip
def test_an_estimate_is_always_there_and_sound(intent: str, after: list[str], turns: int, past: PastUsage) -> None:
    worker = SpecialistProfile(tier="balanced", prompt_tokens=100, max_turns=turns, has_tools=True)
    plan = Plan(goal="g", subtasks=(part(intent, after=after),))
    (made,) = estimate_plan(plan, {"s": worker}, lambda *_: past, price)
    assert made.subtask == "a"
    assert made.calls >= 1
    assert made.tokens >= 0
    assert made.cost is not None
    assert made.cost >= 0
