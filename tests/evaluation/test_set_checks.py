"""Sets that name what the crew does not have are refused before a model is asked."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.counted_model import CountedModel
from bot.evaluation.set_checks import check_sets
from bot.evaluation.set_files import SetError, read_sets
from bot.evaluation.staged_job import StagedJob
from handoff.contracts import Plan, Subtask
from specialists.crew import Crew
from specialists.registry import load_crew
from specialists.tools.tool import Tool
from tests.evaluation.eval_kit import GENERAL, SAMPLES, bench_of, model_of, one_set
from tests.own_tools import all_tools
from tests.providers.rendering import Reply
from tests.specialists.scripted_model import LookArguments


@pytest.fixture
def crew() -> Crew:
    return load_crew(GENERAL, all_tools()).without_first()


def faults(crew: Crew, name: str, **case: Any) -> tuple[str, ...]:
    with pytest.raises(SetError) as caught:
        check_sets([one_set(name, case)], crew, SAMPLES)
    return caught.value.faults


def test_who_is_named_must_be_there(crew: Crew) -> None:
    there = "there are: analyst, researcher, reviewer, writer"
    (fault,) = faults(crew, "routing", input="a", expect=["analyst", "poet"])
    assert fault == f"routing.yml, case c1: 'poet' is not in the crew; {there}, answer, ask, nobody."
    found = faults(crew, "planning", input="a", expect={"must": ["analyst > cook"], "parts": [3, 2]})
    assert found == (
        f"planning.yml, case c1: 'cook' is not in the crew; {there}.",
        "planning.yml, case c1: parts are from 3 to 2; write the least first.",
    )
    (fault,) = faults(crew, "specialists", specialist="cook", input="a", expect={})
    assert fault == f"specialists.yml, case c1: 'cook' is not in the crew; {there}."


def test_a_file_of_a_question_must_be_there(crew: Crew) -> None:
    (fault,) = faults(crew, "specialists", specialist="analyst", input="a", files="gone.csv", expect={})
    assert fault == "specialists.yml, case c1: there is no file gone.csv; put it beside the set."


def with_a_buyer(crew: Crew) -> Crew:
    """The crew with one who can write, and who would step in for the analyst."""

    async def run(_arguments: LookArguments, _bench: object, _key: str) -> None:
        """Order something."""

    order = Tool("order", "write", LookArguments, run, key="drops_repeats")
    buyer = replace(crew.specialists["writer"], name="buyer", tools=(order,))
    analyst = replace(crew.specialists["analyst"], fallback="buyer")
    return replace(crew, specialists={**crew.specialists, "analyst": analyst, "buyer": buyer})


def test_who_can_write_is_not_asked_questions(crew: Crew) -> None:
    (fault,) = faults(with_a_buyer(crew), "specialists", specialist="buyer", input="a", expect={})
    assert fault == (
        "specialists.yml, case c1: buyer has tools that write (order), and would write; leave the case out."
    )


async def test_who_can_write_does_not_step_in(crew: Crew) -> None:
    async with model_of(lambda _: Reply("")) as (model, _):
        bench = replace(bench_of(model), crew=with_a_buyer(crew))
        job = StagedJob(bench, CountedModel(model), "a question")
    part = Subtask(id="a", title="A", intent="Find the figure", specialist="analyst")
    job.plan(Plan(goal="g", subtasks=(part,)))
    members = job.ask.run.members
    assert members["analyst"].fallback == ""
    assert members["writer"].fallback == "reviewer"
    assert "buyer" not in members


def test_the_sets_of_the_product_are_in_order(crew: Crew) -> None:

    check_sets(read_sets(GENERAL), crew, Path(SAMPLES))
