"""Two who work side by side must not both decide what they have to agree on."""

import pytest

from handoff.contracts import Plan, Subtask
from handoff.planning.plan_check import yield_duplicate_decision_faults


def plan(*parts: tuple[str, str, tuple[str, ...]]) -> Plan:
    return Plan(
        goal="g",
        subtasks=tuple(
            Subtask(id=name, title=name, intent=intent, specialist="s", after=after) for name, intent, after in parts
        ),
    )


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        ("Define the schema and write the exporter", "Write the importer; define the schema it reads", "schema"),
        ("Design the JSON format for orders and emit it", "Choose a format for orders and parse it", "format"),
        (
            "Agree on the naming scheme, then rename the tables",
            "Decide on a naming scheme, then fill the columns",
            "naming scheme",
        ),
        (
            "Draw up an outline of the report and write part one",
            "Pick an outline for the report, write part two",
            "outline",
        ),
    ],
)
def test_two_sides_that_each_decide_the_same(one: str, other: str, what: str) -> None:
    found = list(yield_duplicate_decision_faults(plan(("a", one, ()), ("b", other, ()))))
    said = f"Subtasks 'a' and 'b' run side by side and each define the {what}; "
    assert found == [said + "let one subtask define it first, and both wait for that."]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Define the schema of the orders table", "Define the schema of the users table in prose"),
        ("Write the exporter for the schema defined earlier", "Write the importer for the schema defined earlier"),
        ("Define the schema of events", "Use the schema that the exporter defines"),
        ("Define the metrics for churn", "Define the criteria for hiring"),
        ("Explain the format of the file", "Choose the format of the file and write it"),
    ],
)
def test_what_only_looks_alike_passes(one: str, other: str) -> None:
    assert list(yield_duplicate_decision_faults(plan(("a", one, ()), ("b", other, ())))) == []


def test_rivals_and_those_who_wait_may_decide_the_same() -> None:
    side = "Design the API of the billing service and say why"
    both = plan(("a", side, ()), ("b", side, ()))
    assert list(yield_duplicate_decision_faults(both)) != []
    assert list(yield_duplicate_decision_faults(both.model_copy(update={"strategy": "select"}))) == []
    assert list(yield_duplicate_decision_faults(plan(("a", side, ()), ("b", side, ("a",))))) == []
    first = ("schema", "Define the schema of the export: names, types, keys", ())
    sides = [(name, "Define the schema as code, by the earlier result", ("schema",)) for name in ("a", "b")]
    assert list(yield_duplicate_decision_faults(plan(first, *sides))) == [], "a decision that both wait for settles it"
