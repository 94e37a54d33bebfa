"""The labelled sets that come with Leadhand are large enough and possible for their crews; no prompt shows one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest
import yaml

from bot.evaluation.cases import DispatcherCase, PlanningCase, RoutingCase, SpecialistCase, VerifierCase
from bot.evaluation.counting_model import CountingModel
from bot.evaluation.set_files import (
    PRODUCT_SETS_FOLDER,
    SETS_FOLDER_NAME,
    LabelledSet,
    SetError,
    read_sets,
    validate_sets,
)
from bot.evaluation.staged_job import StagedJob, read_case_file
from bot.evaluation.trials.plan_trials import NO_SUBTASK_LABELS, ORDER_SIGN
from handoff.contracts import Plan, Subtask, ToolCall
from handoff.events import MessageAim
from specialists.crew import Crew
from specialists.registry import CREWS_FOLDER, list_crew_names, load_crew
from specialists.tools.tool import Tool, ToolOutcome
from tests.command_line.command import ROOT
from tests.evaluation.eval_kit import GENERAL, SAMPLES, bench_of, collect_records, model_of, one_set
from tests.own_tools import all_tools
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.specialists.scripted_model import LookArguments

SETS = {one.name: one for one in read_sets(GENERAL)}
LEAST = {
    "routing": 200,
    "planning": 40,
    "specialists": 14,
    "aggregation": 12,
    "figures": 200,
    "contradictions": 120,
    "verifier": 150,
    "dispatcher": 60,
    "requests": 20,
}
LANGUAGES = ("en", "de", "es")


def tags(of: LabelledSet) -> Counter[str]:
    return Counter(tag for case in of.cases for tag in case.tags)


def specialists() -> set[str]:
    return set(load_crew(GENERAL, all_tools()).without_first_responder().specialists)


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_a_set_is_large_enough_and_says_each_thing_once(name: str, least: int) -> None:
    cases = SETS[name].cases
    assert len(cases) >= least
    contents = [case.model_dump_json(exclude={"id", "tags"}) for case in cases]
    assert len(set(contents)) == len(contents)
    assert set(LANGUAGES) <= set(tags(SETS[name]))


def test_routing_names_who_is_there_and_has_near_misses_unclear_ones_and_small_talk() -> None:
    cases = [case for case in SETS["routing"].cases if isinstance(case, RoutingCase)]
    known = {*specialists(), *NO_SUBTASK_LABELS}
    assert {name for case in cases for name in case.expect} == known
    counted = tags(SETS["routing"])
    assert all(counted[language] >= 50 for language in LANGUAGES)
    assert counted["near"] >= 30
    assert counted["unclear"] >= 20
    assert counted["small"] >= 20


def test_plans_are_possible_for_the_crew() -> None:
    known = specialists()
    for case in SETS["planning"].cases:
        assert isinstance(case, PlanningCase)
        expect = case.expect
        named = {
            name.strip() for one in (*expect.must, *expect.may, *expect.must_not) for name in one.split(ORDER_SIGN)
        }
        assert named <= known, case.id
        assert not {*expect.must, *expect.may} & set(expect.must_not), case.id
        alone = [one for one in expect.must if ORDER_SIGN not in one]
        assert len(alone) <= expect.parts[1], case.id
        assert expect.must or expect.reply != ("plan",) or expect.missing, case.id
    assert {"one", "several", "order", "missing", "small", "unclear", "near"} <= set(tags(SETS["planning"]))


def test_files_of_questions_are_there_and_specialists_too() -> None:
    known, folders = specialists(), (*SETS["specialists"].folders, SAMPLES)
    for case in SETS["specialists"].cases:
        assert isinstance(case, SpecialistCase)
        assert case.specialist in known
        assert all(read_case_file(name, folders) for name in case.files), case.id
    counted = tags(SETS["specialists"])
    assert counted["arithmetic"] >= 8
    assert counted["table"] >= 6


def test_messages_of_a_thread_are_of_each_sort_in_each_language_and_as_often_for_others() -> None:
    cases = [case for case in SETS["dispatcher"].cases if isinstance(case, DispatcherCase)]
    for language in LANGUAGES:
        mine = [case for case in cases if language in case.tags]
        counted = Counter(tag for case in mine for tag in case.tags)
        assert len(mine) >= 20
        assert counted["near"] >= 6
        assert all(counted[sort] for sort in ("order", "question", "thanks", "other", "talk", "correction", "explain"))
        for_others = sum(case.expect == ("nothing",) for case in mine)
        assert 0.35 <= for_others / len(mine) <= 0.55
    # What is said where no model could tell.
    assert {aim for case in cases for aim in case.expect} == set(get_args(MessageAim)) - {"unknown"}


async def test_no_message_is_sorted_wrongly_by_the_rules_alone() -> None:
    """Where the rules leave doubt, this model brings nothing: those cases are errors, and not right."""
    found = await collect_records(SETS["dispatcher"], lambda _: Fault("bad_request"), include_naive=False)
    assert [(one.id, one.said) for one in found.values() if not one.right and not one.error] == []
    free = [one for one in found.values() if one.measures["decided without a call"]]
    assert len(free) >= 25
    assert all(one.calls == 0 for one in free)


def test_half_of_the_statements_are_borne_out_in_each_of_four_languages() -> None:
    cases = [case for case in SETS["verifier"].cases if isinstance(case, VerifierCase)]
    counted = Counter((case.tags[0], case.expect) for case in cases)
    assert {language for language, _ in counted} == {*LANGUAGES, "fr"}
    for language in (*LANGUAGES, "fr"):
        wrong = counted[language, "contradicted"], counted[language, "not_found"]
        assert counted[language, "supported"] == sum(wrong) >= 18
        assert min(wrong) >= 6


@pytest.mark.parametrize(
    "name", [name for name in list_crew_names() if (CREWS_FOLDER / name / SETS_FOLDER_NAME).is_dir()]
)
def test_the_sets_of_a_crew_can_be_played(name: str) -> None:
    sets = read_sets(CREWS_FOLDER / name, product_sets=CREWS_FOLDER / name / "none")
    validate_sets(sets, load_crew(CREWS_FOLDER / name, all_tools()), SAMPLES)
    found = {path.stem for path in (CREWS_FOLDER / name / SETS_FOLDER_NAME).glob("*.yml")}
    assert {"routing", "planning"} <= found
    assert {"specialists", "reviews"} & found


# ---------------------------------------------------------------- sets that name what the crew does not have


@pytest.fixture
def crew() -> Crew:
    return load_crew(GENERAL, all_tools()).without_first_responder()


def faults(crew: Crew, name: str, **case: Any) -> tuple[str, ...]:
    with pytest.raises(SetError) as caught:
        validate_sets([one_set(name, case)], crew, SAMPLES)
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
    (fault,) = faults(crew, "jobs", input="a", files="gone.csv", expect="right")
    assert fault == "jobs.yml, case c1: there is no file gone.csv; put it beside the set."


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
        job = StagedJob(bench, CountingModel(model), "a question")
    part = Subtask(id="a", title="A", intent="Find the figure", specialist="analyst")
    job.set_plan(Plan(goal="g", subtasks=(part,)))
    members = job.request.run.members
    assert members["analyst"].fallback == ""
    assert members["writer"].fallback == "reviewer"
    assert "buyer" not in members


async def test_a_tool_that_breaks_fails_its_part_and_not_the_case(crew: Crew) -> None:
    async def run(_arguments: LookArguments, _bench: object) -> ToolOutcome:
        raise ZeroDivisionError("the tool broke")

    look = Tool("look", "read", LookArguments, run)
    analyst = replace(crew.specialists["analyst"], tools=(look,), fallback="")
    call = ToolCall(id="1", name="look", arguments={"at": "it"})
    async with model_of(lambda _: Reply(calls=(call,), stop="tool_use")) as (model, _):
        bench = replace(bench_of(model), crew=replace(crew, specialists={"analyst": analyst}))
        job = StagedJob(bench, CountingModel(model), "a question")
        part = Subtask(id="a", title="A", intent="Find the figure", specialist="analyst")
        job.set_plan(Plan(goal="g", subtasks=(part,)), with_fallbacks=False)
        await job.play(lambda request: bool(request.subtasks["a"].failures))
    (failure,) = job.request.subtasks["a"].failures
    assert "look" in failure


# ---------------------------------------------------------------- no example of a prompt is a case

QUOTATION = re.compile(r'"((?:[^"\\]|\\.){6,400})"|“([^”]{6,400})”')
FEWEST = 3
"""Words of an example: two of them stand in cases by chance."""
ALIKE = 0.6
"""The share of the words of both that an example and a case may have in common."""


def words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", text.casefold()))


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one)


def cases() -> Iterator[tuple[str, str]]:
    """Each text of each case, with the name of the case."""
    for path in (*PRODUCT_SETS_FOLDER.glob("*.yml"), *CREWS_FOLDER.glob("**/evaluation/*.yml")):
        for case in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
            given = {name: value for name, value in case.items() if name not in {"id", "tags", "expect"}}
            yield from ((f"{path.parent.parent.name}/{path.name} {case['id']}", text) for text in texts_in(given))


def examples() -> Iterator[tuple[str, str]]:
    """Each text that a prompt quotes, and each request that a specialist names as its own, with the prompt's name."""
    prompts = (ROOT / "bot" / "supervisor").glob("*.md")
    people = (path for path in CREWS_FOLDER.glob("**/*.md") if not {"evaluation", "knowledge"} & set(path.parts))
    for path in (*prompts, *people):
        text = path.read_text(encoding="utf-8")
        if text.startswith("---"):
            _, front, text = text.split("---", 2)
            yield from ((path.name, each) for each in yaml.safe_load(front).get("examples") or ())
        yield from ((path.name, found[1] or found[2]) for found in QUOTATION.finditer(text))


def leaks(prompt_examples: list[tuple[str, str]], labelled_cases: list[tuple[str, str]]) -> list[str]:
    known = [(name, text, of) for name, text in labelled_cases if len(of := words(text)) >= FEWEST]
    return [
        f"{prompt}: {example!r} is like {name}: {text!r}"
        for prompt, example in prompt_examples
        if len(mine := words(example)) >= FEWEST
        for name, text, of in known
        if len(mine & of) > ALIKE * len(mine | of)
    ]


def test_no_example_is_a_case() -> None:
    shown, labelled = list(examples()), list(cases())
    assert len(shown) > 200
    assert len(labelled) > 2_000
    assert leaks(shown, labelled) == []


def test_a_leak_is_found_whatever_its_case_and_signs() -> None:
    told = [("planner.md", "Gracias, es todo!")]
    assert leaks(told, [("es-050", "gracias, eso es todo")]) == [
        "planner.md: 'Gracias, es todo!' is like es-050: 'gracias, eso es todo'"
    ]
    assert leaks(told, [("es-051", "Resume el contrato en tres frases")]) == []
