"""Sets are read whole or refused with every fault: the file, the case, and what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.evaluation.cases import CASE_TYPES
from bot.evaluation.set_files import SetError, read_sets

Write = Callable[[str, str], Path]


@pytest.fixture
def crew(tmp_path: Path) -> Path:
    (tmp_path / "evaluation").mkdir()
    return tmp_path


@pytest.fixture
def write(crew: Path) -> Write:
    def write_set_file(name: str, text: str) -> Path:
        path = crew / "evaluation" / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_set_file


def faults(crew: Path, *set_names: str) -> tuple[str, ...]:
    with pytest.raises(SetError) as caught:
        read_sets(crew, set_names, product_sets=crew / "none")
    return caught.value.faults


def test_a_crews_set_is_read_and_single_values_are_lists_of_one(crew: Path, write: Write) -> None:
    write("routing.yml", "- {id: r1, input: Hello, expect: answer, tags: en}\n- {id: 2, input: a, expect: [x, y]}\n")
    (found,) = read_sets(crew, product_sets=crew / "none")
    assert found.name == "routing"
    assert [(case.id, case.tags, case.expect) for case in found.cases] == [  # type: ignore[attr-defined]
        ("r1", ("en",), ("answer",)),
        ("2", (), ("x", "y")),
    ]
    assert found.folders == (crew / "evaluation", crew / "demo")


def test_all_faults_are_told_at_once_each_with_its_file_and_case(crew: Path, write: Write) -> None:
    routing = write("routing.yml", "- {id: r1, input: Hello}\n- {input: Hi, expect: answer, colour: red}\n- nothing\n")
    verifier = write("verifier.yml", "- {id: v1, passage: a, statement: b, expect: maybe}\n")
    found = faults(crew)
    assert f"{routing}, case r1: expect: Field required." in found
    assert f"{routing}, case number 2: id: Field required." in found
    assert f"{routing}, case number 2: colour: Extra inputs are not permitted." in found
    assert any(one.startswith(f"{routing}, case number 3: the case: Input should be") for one in found)
    assert f"{verifier}, case v1: expect: Input should be 'supported', 'contradicted' or 'not_found'." in found


def test_an_id_may_be_given_once(crew: Path, write: Write) -> None:
    write("routing.yml", "- {id: r1, input: a, expect: answer}\n- {id: r1, input: b, expect: answer}\n")
    assert faults(crew) == ("routing.yml, case r1: the id is given twice; ids must differ.",)


def test_a_file_that_is_no_set(crew: Path, write: Write) -> None:
    strange, broken, empty = write("poems.yml", "- a"), write("verifier.yml", "- {id: ["), write("figures.yml", "")
    found = faults(crew)
    assert f"{strange}: 'poems' is no kind of set; name the file after one of: {', '.join(CASE_TYPES)}." in found
    assert any(one.startswith(f"{broken}: it is no YAML: ") for one in found)
    assert f"{empty}: it must be a list of cases, each with `id`, `input` and `expect`." in found


def test_a_set_that_is_asked_for_must_be_there(crew: Path) -> None:
    assert faults(crew, "poems") == (f"There is no set called 'poems'; there are: {', '.join(CASE_TYPES)}.",)
    (fault,) = faults(crew, "planning")
    assert fault.startswith(f"There is no set 'planning': write {crew / 'evaluation' / 'planning'}.yml")
