"""The sets that come with the product and with the crew `general`: large enough, in several languages, and possible."""

from collections import Counter
from typing import get_args

import pytest

from bot.evaluation.cases import (
    DispatcherCase,
    PlanningCase,
    RoutingCase,
    SpecialistCase,
    VerifierCase,
)
from bot.evaluation.set_files import LabelledSet, read_sets
from bot.evaluation.staged_job import file_bytes
from bot.evaluation.trials.plan_trials import ARROW, LABELS
from handoff.events import Aim
from specialists.registry import load_crew
from tests.evaluation.eval_kit import GENERAL, SAMPLES, played
from tests.own_tools import all_tools
from tests.providers.faults import Fault

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
    return set(load_crew(GENERAL, all_tools()).without_first().specialists)


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_a_set_is_large_enough_and_says_each_thing_once(name: str, least: int) -> None:
    cases = SETS[name].cases
    assert len(cases) >= least
    contents = [case.model_dump_json(exclude={"id", "tags"}) for case in cases]
    assert len(set(contents)) == len(contents)
    assert set(LANGUAGES) <= set(tags(SETS[name]))


def test_routing_names_who_is_there_and_has_near_misses_unclear_ones_and_small_talk() -> None:
    cases = [case for case in SETS["routing"].cases if isinstance(case, RoutingCase)]
    known = {*specialists(), *LABELS}
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
        named = {name.strip() for one in (*expect.must, *expect.may, *expect.must_not) for name in one.split(ARROW)}
        assert named <= known, case.id
        assert not {*expect.must, *expect.may} & set(expect.must_not), case.id
        alone = [one for one in expect.must if ARROW not in one]
        assert len(alone) <= expect.parts[1], case.id
        assert expect.must or expect.reply != ("plan",) or expect.missing, case.id
    assert {"one", "several", "order", "missing", "small", "unclear", "near"} <= set(tags(SETS["planning"]))


def test_files_of_questions_are_there_and_specialists_too() -> None:
    known, folders = specialists(), (*SETS["specialists"].folders, SAMPLES)
    for case in SETS["specialists"].cases:
        assert isinstance(case, SpecialistCase)
        assert case.specialist in known
        assert all(file_bytes(name, folders) for name in case.files), case.id
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
    assert {aim for case in cases for aim in case.expect} == set(get_args(Aim)) - {
        "unknown"
    }  # what is said where no model could tell


async def test_no_message_is_sorted_wrongly_by_the_rules_alone() -> None:
    """Where the rules leave doubt, this model brings nothing: those cases are errors, and not right."""
    found = await played(SETS["dispatcher"], lambda _: Fault("bad_request"), naive=False)
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
