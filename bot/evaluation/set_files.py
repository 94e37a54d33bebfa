"""Reads the labelled sets of the product and of a crew, and checks their names and files against the crew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from bot.evaluation.cases import (
    CASE_TYPES,
    AggregationCase,
    ExpectedPlan,
    JobCase,
    LabelledCase,
    PlanningCase,
    RequestCase,
    ReviewCase,
    RoutingCase,
    SpecialistCase,
    VerifierCase,
)
from bot.evaluation.staged_job import read_case_file
from bot.evaluation.trials.plan_trials import NO_SUBTASK_LABELS, ORDER_SIGN
from specialists.crew import Crew

PRODUCT_SETS_FOLDER = Path(__file__).parent / "sets"
UNLABELLED_FAULT = (
    "it is not labelled yet: write into `expect` what is right (docs/evaluation.md says how), or delete the case."
)
SETS_FOLDER_NAME = "evaluation"
"""The name of the folder with sets, inside a crew's folder."""


class SetError(Exception):
    """Sets cannot be used. The text names every fault with its file, its case and the remedy."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("The sets cannot be used:\n" + "\n".join(self.faults))


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set of cases of one kind. `folders` are searched for the files that cases name."""

    name: str
    cases: tuple[LabelledCase, ...]
    folders: tuple[Path, ...] = ()


def read_sets(
    crew: Path, wanted_names: Iterable[str] = (), *, product_sets: Path = PRODUCT_SETS_FOLDER
) -> tuple[LabelledSet, ...]:
    """Read the sets of the product (folder `product_sets`) and of a crew: all, or only those in `wanted_names`.

    Raises SetError with all faults.
    """
    wanted_names = tuple(dict.fromkeys(wanted_names))
    faults = [
        f"There is no set called {name!r}; there are: {', '.join(CASE_TYPES)}."
        for name in wanted_names
        if name not in CASE_TYPES
    ]
    files = _list_set_files((product_sets, crew / SETS_FOLDER_NAME), faults)
    cases_by_set: dict[str, list[LabelledCase]] = {}
    for name, path in files:
        if not wanted_names or name in wanted_names:
            cases_by_set.setdefault(name, []).extend(_read_cases(path, CASE_TYPES[name], faults))
    faults += [
        f"There is no set {name!r}: write {crew / SETS_FOLDER_NAME / name}.yml (docs/evaluation.md says how)."
        for name in wanted_names
        if name in CASE_TYPES and name not in cases_by_set
    ]
    for name, cases in cases_by_set.items():
        duplicate_ids = [one for one, count in Counter(case.id for case in cases).items() if count > 1]
        faults += [f"{name}.yml, case {one}: the id is given twice; ids must differ." for one in duplicate_ids]
    if faults:
        raise SetError(faults)
    # The files that a crew's cases name may also be those of its demo.
    folders = {name: (*(path.parent for other, path in files if other == name), crew / "demo") for name in cases_by_set}
    return tuple(
        LabelledSet(name, tuple(cases_by_set[name]), folders[name]) for name in CASE_TYPES if name in cases_by_set
    )


def _list_set_files(folders: Iterable[Path], faults: list[str]) -> list[tuple[str, Path]]:
    paths = [path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.y*ml"))]
    set_files = [(path.stem, path) for path in paths if path.stem in CASE_TYPES]
    faults += [
        f"{path}: {path.stem!r} is no kind of set; name the file after one of: {', '.join(CASE_TYPES)}."
        for path in paths
        if path.stem not in CASE_TYPES
    ]
    return set_files


def _read_cases(path: Path, kind: type[LabelledCase], faults: list[str]) -> list[LabelledCase]:
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        faults.append(f"{path}: it is no YAML: {' '.join(str(error).split())}")
        return []
    if not isinstance(entries, list) or not entries:
        faults.append(f"{path}: it must be a list of cases, each with `id`, `input` and `expect`.")
        return []
    cases = []
    for place, one in enumerate(entries, start=1):
        if _is_unlabelled(one):
            faults.append(f"{path}, {_describe_case(one, place)}: {UNLABELLED_FAULT}")
            continue
        try:
            cases.append(kind.model_validate(one))
        except ValidationError as error:
            faults += _describe_validation_faults(path, _describe_case(one, place), error)
    return cases


def _is_unlabelled(raw_case: Any) -> bool:
    """Return True if a case was made from feedback and its `expect` is still empty."""
    if not isinstance(raw_case, Mapping) or "feedback" not in raw_case:
        return False
    expect = raw_case.get("expect")
    return not (any(expect.values()) if isinstance(expect, Mapping) else expect)


def _describe_case(raw_case: Any, number: int) -> str:
    case_id = raw_case.get("id") if isinstance(raw_case, Mapping) else None
    return f"case {case_id}" if isinstance(case_id, str) and case_id else f"case number {number}"


def _describe_validation_faults(path: Path, case: str, error: ValidationError) -> list[str]:
    errors = error.errors(include_url=False, include_input=False)
    return [f"{path}, {case}: {'.'.join(map(str, one['loc'])) or 'the case'}: {one['msg']}." for one in errors]


def validate_sets(sets: Iterable[LabelledSet], crew: Crew, samples_folder: Path) -> None:
    """Check the names and files of sets against a crew. Raises SetError with all faults.

    `samples_folder` is also searched for the files that cases name.
    """
    faults = [
        f"{one.name}.yml, case {case.id}: {fault}."
        for one in sets
        for case in one.cases
        for fault in _find_case_faults(case, crew, (*one.folders, samples_folder))
    ]
    if faults:
        raise SetError(faults)


def _find_case_faults(case: LabelledCase, crew: Crew, folders: tuple[Path, ...]) -> Iterator[str]:
    if isinstance(case, RoutingCase):
        yield from _find_unknown_names(case.expect, crew, NO_SUBTASK_LABELS)
    elif isinstance(case, PlanningCase):
        yield from _find_unknown_names(_list_expected_names(case.expect), crew)
        least, most = case.expect.parts
        if least > most:
            yield f"parts are from {least} to {most}; write the least first"
    elif isinstance(case, SpecialistCase):
        yield from _find_specialist_faults(case.specialist, case.files, crew, folders)
    elif isinstance(case, ReviewCase):
        yield from _find_specialist_faults(case.lens, case.files, crew, folders)
    elif isinstance(case, JobCase | RequestCase):
        yield from _find_missing_files(case.files, folders)
    elif isinstance(case, AggregationCase | VerifierCase) and not crew.specialists:
        yield "the crew has no specialist of its own"


def _list_expected_names(expect: ExpectedPlan) -> list[str]:
    return [name.strip() for one in (*expect.must, *expect.may, *expect.must_not) for name in one.split(ORDER_SIGN)]


def _find_unknown_names(names: Iterable[str], crew: Crew, other_names: tuple[str, ...] = ()) -> Iterator[str]:
    known_names = (*crew.specialists, *crew.crews, *other_names)
    for name in names:
        if name not in known_names:
            yield f"{name!r} is not in the crew; there are: {', '.join(known_names)}"


def _find_specialist_faults(name: str, files: Iterable[str], crew: Crew, folders: tuple[Path, ...]) -> Iterator[str]:
    specialist = crew.specialists.get(name)
    if specialist is None:
        yield from _find_unknown_names([name], crew)
        if name in crew.crews:
            yield f"{name} is a crew; name a specialist, or evaluate that crew with --crew"
    elif writing_tools := [tool.name for tool in specialist.tools if tool.access == "write"]:
        yield f"{name} has tools that write ({', '.join(writing_tools)}), and would write; leave the case out"
    yield from _find_missing_files(files, folders)


def _find_missing_files(files: Iterable[str], folders: tuple[Path, ...]) -> Iterator[str]:
    for file in files:
        if read_case_file(file, folders) is None:
            yield f"there is no file {file}; put it beside the set"
