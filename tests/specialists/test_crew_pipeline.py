"""A crew's fixed plan: what its file may say of it, that faults are named by line, and what comes of a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from handoff.contracts import Artifact, Material
from handoff.planning.pipeline import INLINE, Pipeline, planned, takes
from handoff.planning.plan_brief import PlanBrief
from specialists.registry import load_crew
from tests.handoff.kit import ask, asked, job
from tests.specialists.crew_of_two import faults, load

SIDE_BY_SIDE = """
pipeline:
  strategy: merge
  instruction: The likelier cause first.
  follow_ups: planner
  steps:
    - {specialist: a, title: Find the cause, brief: "Find the cause. {request}", needs: [files, .log]}
    - {specialist: b, title: Find the page, brief: Find the page that helps., needs: none, done_when: A page.}
    - {specialist: a, name: together, title: Put it together, brief: Write one answer., after: all, critical: true}
"""


def pipeline_of(folder: Path, text: str) -> Pipeline:
    found = load(folder, text).pipeline
    assert found is not None
    return found


def test_a_pipeline_is_a_plan_with_the_request_as_it_was_written(tmp_path: Path) -> None:
    pipeline = pipeline_of(tmp_path, SIDE_BY_SIDE)
    files = [Artifact(id="1", name="app.log"), Artifact(id="2", name="a.csv")]
    there = (Material(name="thread", kind="thread"), *(Material(name=one.name, file=one) for one in files))
    plan = planned(pipeline, PlanBrief("  why is  it down?\n", materials=there))
    first, second, last = plan.subtasks
    assert (first.id, first.specialist, first.intent) == ("a", "a", "Find the cause. why is  it down?")
    assert first.needs == ("app.log", "a.csv"), "each once"
    assert second.intent == "Find the page that helps.\n\nThe request:\nwhy is  it down?"
    assert (second.needs, second.done_when, second.after) == ((), "A page.", ())
    assert (last.id, last.specialist, last.after, last.needs, last.critical) == (
        "together",
        "a",
        ("a", "b"),
        None,
        True,
    )
    assert (plan.goal, plan.strategy, plan.instruction) == ("why is it down?", "merge", "The likelier cause first.")


def test_a_list_of_steps_is_a_pipeline_too(tmp_path: Path) -> None:
    text = "pipeline:\n- {specialist: a, title: One, brief: Find the bugs of it.}\n"
    (step,) = pipeline_of(tmp_path, text).steps
    assert (step.name, step.needs, step.after) == ("a", None, ())


def test_a_follow_up_goes_into_it_unless_the_crew_leaves_it_to_the_planner(tmp_path: Path) -> None:
    left = pipeline_of(tmp_path, SIDE_BY_SIDE)
    always = pipeline_of(tmp_path, SIDE_BY_SIDE.replace("follow_ups: planner", "follow_ups: pipeline"))
    first, later = PlanBrief("again"), PlanBrief("again", earlier=(ask(job(asked())),))
    assert [takes(left, one) for one in (first, later)] == [True, False]
    assert [takes(always, one) for one in (first, later)] == [True, True]
    assert not takes(None, first)


def test_a_long_request_is_given_as_material_instead(tmp_path: Path) -> None:
    pipeline, text = pipeline_of(tmp_path, SIDE_BY_SIDE), "+ a line of a diff\n" * INLINE
    there = (Material(name="request", kind="request", text="d", origin="requester"),)
    plan = planned(pipeline, PlanBrief(text, materials=there))
    assert [one.needs for one in plan.subtasks] == [("request",), ("request",), None]
    assert all("stands below, under 'request'" in one.intent for one in plan.subtasks[:2])
    inside = planned(pipeline, PlanBrief(text))  # the brief of a crew inside another is no material
    assert sum(len(one.intent) for one in inside.subtasks) < 41_000


STEP = "specialist: a, title: One, brief: Find the bugs of it."
WRONG = {
    "no steps": ("pipeline: {strategy: merge}", "1: the pipeline has no steps"),
    "no specialist": ("pipeline:\n- {title: One, brief: It.}", "2: the step has no specialist"),
    "unknown specialist": ("pipeline:\n- {specialist: c, title: One, brief: It.}", "2: there is no specialist c"),
    "unknown key": (f"pipeline:\n- {{{STEP}, wait: b}}", "2: unknown key wait"),
    "one name twice": (f"pipeline:\n- {{{STEP}}}\n- {{{STEP}}}", "3: two steps are called a"),
    "a step not before": (f"pipeline:\n- {{{STEP}, after: b}}", "2: there is no step b before this one"),
    "itself": (f"pipeline:\n- {{{STEP}, after: [a]}}", "2: there is no step a before this one"),
    "needs": (f"pipeline:\n- {{{STEP}, needs: [file]}}", "2: needs takes all, none, or a list of request"),
    "tier": (f"pipeline:\n- {{{STEP}, tier: huge}}", "2: tier takes fast, balanced, deep"),
    "strategy": (f"pipeline:\n  strategy: all\n  steps: [{{{STEP}}}]", "2: strategy takes merge, select, reduce"),
    "follow_ups": (f"pipeline:\n  follow_ups: x\n  steps: [{{{STEP}}}]", "2: follow_ups takes pipeline, planner"),
    "one piece of work": (
        "pipeline:\n" + "\n".join(f"- {{{STEP}, name: s{n}, after: {f's{n - 1}' if n else '[]'}}}" for n in range(4)),
        "2: the steps s0, s1, s2, s3 are a's work one after the other",
    ),
    "a decision twice": (
        (
            "pipeline:\n- {specialist: a, title: One, brief: Define the schema of orders.}\n"
            "- {specialist: b, title: Two, brief: Define the schema of orders.}"
        ),
        "2: the steps 'a' and 'b'",
    ),
    "too many": (
        "pipeline:\n" + "\n".join(f"- {{{STEP}, name: s{n}}}" for n in range(21)),
        "2: there are 21 steps; at most 20",
    ),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_a_fault_of_a_pipeline_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    lines = faults(tmp_path, text)
    assert any(line.startswith(expected) for line in lines), lines


def test_the_steps_of_a_crew_inside_go_to_its_own_members(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    load(tmp_path / "inner", "description: Finds bugs.\npipeline:\n- {specialist: a, title: One, brief: Find bugs.}\n")
    (tmp_path / "writer.md").write_text(
        "---\nname: writer\ndescription: Writes.\ntools: []\nmodel: fast\n---\nYou write.\n"
    )
    (tmp_path / "crew.yml").write_text("pipeline:\n- {specialist: inner, title: All, brief: Find the bugs of it.}\n")
    crew = load_crew(tmp_path, {})
    inner = crew.within("inner")
    assert inner is not None
    assert inner.pipeline is not None
    assert [step.specialist for step in inner.pipeline.steps] == ["inner/a"]
    assert crew.pipeline is not None
    assert [step.specialist for step in crew.pipeline.steps] == ["inner"]
