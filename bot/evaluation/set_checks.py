"""Checks sets against the crew that they are for: that who and what they name is there, and that nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bot.evaluation.cases import (
    AggregationCase,
    LabelledCase,
    PlanExpected,
    PlanningCase,
    RequestCase,
    ReviewCase,
    RoutingCase,
    SpecialistCase,
    VerifierCase,
)
from bot.evaluation.set_files import LabelledSet, SetError
from bot.evaluation.staged_job import file_bytes
from bot.evaluation.trials.plan_trials import ARROW, LABELS
from specialists.crew import Crew


def check_sets(sets: Iterable[LabelledSet], crew: Crew, samples: Path) -> None:
    """Raise SetError with all faults, if there are any. `samples` are the product's own files."""
    faults = [
        f"{one.name}.yml, case {case.id}: {fault}."
        for one in sets
        for case in one.cases
        for fault in _find_faults(case, crew, (*one.folders, samples))
    ]
    if faults:
        raise SetError(faults)


def _find_faults(case: LabelledCase, crew: Crew, folders: tuple[Path, ...]) -> Iterator[str]:
    if isinstance(case, RoutingCase):
        yield from _find_unknown_names(case.expect, crew, LABELS)
    elif isinstance(case, PlanningCase):
        yield from _find_unknown_names(_collect_names(case.expect), crew)
        least, most = case.expect.parts
        if least > most:
            yield f"parts are from {least} to {most}; write the least first"
    elif isinstance(case, SpecialistCase):
        yield from _find_question_faults(case.specialist, case.files, crew, folders)
    elif isinstance(case, ReviewCase):
        yield from _find_question_faults(case.lens, case.files, crew, folders)
    elif isinstance(case, RequestCase):
        yield from _find_missing_files(case.files, folders)
    elif isinstance(case, AggregationCase | VerifierCase) and not crew.specialists:
        yield "the crew has no specialist of its own"


def _collect_names(expect: PlanExpected) -> list[str]:
    return [name.strip() for one in (*expect.must, *expect.may, *expect.must_not) for name in one.split(ARROW)]


def _find_unknown_names(names: Iterable[str], crew: Crew, others: tuple[str, ...] = ()) -> Iterator[str]:
    known = (*crew.specialists, *crew.crews, *others)
    for name in names:
        if name not in known:
            yield f"{name!r} is not in the crew; there are: {', '.join(known)}"


def _find_question_faults(name: str, files: Iterable[str], crew: Crew, folders: tuple[Path, ...]) -> Iterator[str]:
    specialist = crew.specialists.get(name)
    if specialist is None:
        yield from _find_unknown_names([name], crew)
        if name in crew.crews:
            yield f"{name} is a crew; name a specialist, or evaluate that crew with --crew"
    elif writing := [tool.name for tool in specialist.tools if tool.access == "write"]:
        yield f"{name} has tools that write ({', '.join(writing)}), and would write; leave the case out"
    yield from _find_missing_files(files, folders)


def _find_missing_files(files: Iterable[str], folders: tuple[Path, ...]) -> Iterator[str]:
    for file in files:
        if file_bytes(file, folders) is None:
            yield f"there is no file {file}; put it beside the set"
