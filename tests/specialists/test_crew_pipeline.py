"""A crew's fixed plan: what its file may say of it, and that faults are named by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from handoff.contracts import OnlyFor
from handoff.planning.pipeline import Pipeline
from specialists.registry import load_crew
from tests.specialists.crew_of_two import faults, load

SIDE_BY_SIDE = """
pipeline:
  strategy: reduce
  instruction: The likelier cause first.
  follow_ups: planner
  steps:
    - {specialist: a, title: Find the cause, brief: "Find the cause. {request}", needs: [files, .log]}
    - {specialist: b, title: Find the page, brief: Find the page that helps., needs: none, done_when: A page.}
    - {specialist: a, name: together, title: Last, brief: Write one., after: all, critical: true, tier: deep}
    - {specialist: b, name: look, title: Look, brief: Look at it., after: a, only_for: {severity: high, below: 80}}
"""


def pipeline_of(folder: Path, text: str) -> Pipeline:
    found = load(folder, text).pipeline
    assert found is not None
    return found


def test_all_that_a_pipeline_may_say_is_read(tmp_path: Path) -> None:
    pipeline = pipeline_of(tmp_path, SIDE_BY_SIDE)
    first, second, last, look = pipeline.steps
    assert (first.name, first.specialist, first.title, first.needs) == ("a", "a", "Find the cause", ("files", ".log"))
    assert (second.name, second.needs, second.after, second.done_when) == ("b", (), (), "A page.")
    assert (last.name, last.specialist, last.after, last.critical) == ("together", "a", ("a", "b"), True)
    assert (last.needs, last.tier, last.only_for) == (None, "deep", None)
    assert look.only_for == OnlyFor(severity="high", below=80)
    assert (pipeline.strategy, pipeline.follow_ups) == ("reduce", "planner")
    assert pipeline.instruction == "The likelier cause first."


def test_a_list_of_steps_is_a_pipeline_too(tmp_path: Path) -> None:
    text = "pipeline:\n- {specialist: a, title: One, brief: Find the bugs of it.}\n"
    (step,) = pipeline_of(tmp_path, text).steps
    assert (step.name, step.needs, step.after) == ("a", None, ())


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
    "only_for first": (
        f"pipeline:\n- {{{STEP}, only_for: {{below: 80}}}}",
        "2: only_for is about the findings",
    ),
    "only_for nothing": (f"pipeline:\n- {{{STEP}, only_for: {{}}}}", "2: only_for has severity or below, or both"),
    "only_for severe": (f"pipeline:\n- {{{STEP}, only_for: {{severity: bad}}}}", "2: severity takes info, low"),
    "only_for below": (
        f"pipeline:\n- {{{STEP}, only_for: {{below: 0}}}}",
        "2: below takes a whole number",
    ),
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
