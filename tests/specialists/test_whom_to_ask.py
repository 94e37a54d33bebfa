"""A specialist says whom to ask and what it would assume, where its prompt speaks of it; a model is not told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handoff.contracts import Escalation, ToolCall
from specialists.registry import load_crew
from specialists.turns import finish_tools

HEAD = "---\nname: {name}\ndescription: Does {name}. Cannot do more.\ntools: []\nmodel: fast\n"
OF_TWO = HEAD + "{more}---\nYou are {name}.\n"


def told(**arguments: Any) -> Escalation:
    call = ToolCall(id="1", name=finish_tools.ESCALATE, arguments={"reason": "ambiguous_input", **arguments})
    strict, lenient = finish_tools.read(call), finish_tools.read_leniently(call)
    assert strict == lenient
    assert isinstance(strict, Escalation)
    return strict


def test_whom_and_what_is_assumed_are_read_where_they_are_given() -> None:
    assert told(message="which?").whom == ()
    given = told(message="which?", whom=["Ben", "U0CLEO"], assumption="the first")
    assert (given.whom, given.assumption) == (("Ben", "U0CLEO"), "the first")
    assert told(message="which?", whom="Ben", assumption=7).whom == ("Ben",)
    assert told(message="which?", whom=None, assumption=None) == told(message="which?")


def test_no_prompt_grew_by_it() -> None:
    (escalate,) = (spec for spec in finish_tools.SPECS if spec.name == finish_tools.ESCALATE)
    assert set(escalate.parameters["properties"]) == {"reason", "message", "options", "partial_result"}


def test_a_specialists_file_says_whom_it_asks(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(OF_TWO.format(name="a", more="asks: [requester, S0FINANCE]\n"))
    (tmp_path / "b.md").write_text(OF_TWO.format(name="b", more="asks: anyone\n"))
    (tmp_path / "crew.yml").write_text("asks_next: [U0BOSS]\n")
    crew = load_crew(tmp_path, {})
    assert crew.specialists["a"].asks == ("requester", "S0FINANCE")
    assert crew.specialists["b"].asks == ("anyone",)
    assert crew.asked == {"S0FINANCE", "U0BOSS"}


@pytest.mark.parametrize("more", ["asks: []\n", "asks: [ben]\n", "asks: [anyone, requester]\n"])
def test_whom_nobody_can_ask_is_a_fault_of_the_file(tmp_path: Path, more: str) -> None:
    (tmp_path / "a.md").write_text(OF_TWO.format(name="a", more=more))
    with pytest.raises(Exception, match=r"a\.md:6.*asks (takes|names)"):
        load_crew(tmp_path, {})
