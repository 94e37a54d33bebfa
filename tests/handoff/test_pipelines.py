"""A crew's fixed plan: what comes of a request, which requests go into it, and what is wrong with its steps."""

from __future__ import annotations

from handoff.contracts import Artifact, Material
from handoff.planning.pipeline import INLINE, Pipeline, Step, build_pipeline_plan, faults_of, takes
from handoff.planning.plan_brief import PlanBrief
from tests.handoff.kit import ask, asked, job

CAUSE = Step("cause", "a", "Find the cause", "Find the cause. {request}", needs=("files", ".log"))
PAGE = Step("page", "b", "Find the page", "Find the page that helps.", done_when="A page.", needs=())
LAST = Step("last", "a", "Put it together", "Write one answer.", after=("cause", "page"), critical=True, tier="deep")
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
        step = Step("a", "a", "One", "Find it. {request}", needs=words)
        assert build_pipeline_plan(Pipeline((step,)), PlanBrief("why?", materials=there)).subtasks[0].needs == names


def test_a_follow_up_goes_into_it_unless_the_crew_leaves_it_to_the_planner() -> None:
    left = Pipeline(PIPELINE.steps, follow_ups="planner")
    first, later = PlanBrief("again"), PlanBrief("again", earlier=(ask(job(asked())),))
    assert [takes(left, one) for one in (first, later)] == [True, False]
    assert [takes(PIPELINE, one) for one in (first, later)] == [True, True]
    assert not takes(None, first)
    assert takes(left, PlanBrief("again", earlier=(ask(job(asked(refusal="It was empty."))),)))


def test_a_long_request_is_given_as_material_instead() -> None:
    text = "+ a line of a diff\n" * INLINE
    there = (Material(name="request", kind="request", text="d", origin="requester"),)
    plan = build_pipeline_plan(PIPELINE, PlanBrief(text, materials=there))
    assert [one.needs for one in plan.subtasks] == [("request",), ("request",), None]
    assert all("stands below, under 'request'" in one.intent for one in plan.subtasks)
    inside = build_pipeline_plan(PIPELINE, PlanBrief(text))  # the brief of a crew inside another is no material
    assert sum(len(one.intent) for one in inside.subtasks) < 41_000
    assert len(plan.goal) == INLINE


def test_steps_are_checked_as_any_plan_is() -> None:
    assert faults_of(PIPELINE, ("a", "b")) == ()
    assert "unknown specialist 'b'" in faults_of(PIPELINE, ("a",))[0]
    circle = Pipeline((Step("x", "a", "X", "Find x.", after=("y",)), Step("y", "a", "Y", "Find y.", after=("x",))))
    assert "cycle" in faults_of(circle, ("a",))[0]
