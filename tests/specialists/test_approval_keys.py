"""What a crew and its specialists say on approvals: the nearest file counts; what nobody could approve is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from handoff.approval_values import ASK, ApprovalTerms
from specialists.crew import Crew
from specialists.registry import CrewError, load_crew
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from tests.specialists.far_side import NoteArguments
from tests.specialists.scripted_model import Looker
from tests.specialists.test_nesting import tree
from tests.specialists.test_registry import page


async def _run(_arguments: NoteArguments, _bench: Workbench) -> ToolOutcome:
    """Post."""
    return ToolOutcome("posted")


TOOLS: dict[str, Tool] = {
    "look": Looker().tool(),
    **{name: Tool(name, "write", NoteArguments, _run) for name in ("post", "send", "burn")},
}


def load(folder: Path, crew: str = "", *lines: str, **more: str) -> Crew:
    files = {"clerk": page("clerk", *lines, tools="[post, send]"), **({"crew": crew} if crew else {}), **more}
    return load_crew(tree(folder, **files), TOOLS)


def faults(folder: Path, crew: str = "", *lines: str) -> list[str]:
    with pytest.raises(CrewError) as raised:
        load(folder, crew, *lines)
    return [str(fault).removeprefix(f"{folder}/") for fault in raised.value.faults]


def test_without_a_word_who_asked_is_asked(tmp_path: Path) -> None:
    clerk = load(tmp_path).specialists["clerk"]
    assert clerk.approvals == {"post": ASK, "send": ASK}
    assert clerk.terms_of("anything else") == ASK


def test_a_specialist_says_more_than_its_crew_and_a_crew_more_than_the_one_around_it(tmp_path: Path) -> None:
    crew = load(
        tmp_path,
        "approve: {post: always, send: never}\napprovers: [admins, U12AB]\nquorum: 2\nself: no\n",
        "approve: {send: ask}",
        "quorum: 1",
        **{
            "legal/crew": "description: Law.\napprovers: S777\n",
            "legal/scribe": page("scribe", tools="[post, burn]"),
        },
    )
    who = {"approvers": ("admins", "U12AB"), "own": False}
    assert crew.specialists["clerk"].approvals == {
        "post": ApprovalTerms(mode="always", **who),
        "send": ApprovalTerms(**who),
    }
    scribe = crew.crews["legal"].specialists["legal/scribe"]
    inside = {"approvers": ("S777",), "quorum": 2, "own": False}
    assert scribe.approvals == {"post": ApprovalTerms(mode="always", **inside), "burn": ApprovalTerms(**inside)}
    assert crew.terms == {"approvers": ("admins", "U12AB"), "quorum": 2, "own_approval": False}


def test_a_crew_may_let_a_tool_be_called_without_asking(tmp_path: Path) -> None:
    clerk = load(tmp_path, "approve:\n  post: never\n").specialists["clerk"]
    assert clerk.approvals == {"post": None, "send": ASK}


@pytest.mark.parametrize(
    ("value", "terms"),
    [
        ("$2.50", {"ask_above_cost": 2.5, "ask_above_tokens": 0}),
        ("300_000", {"ask_above_cost": 0.0, "ask_above_tokens": 300_000}),
    ],
)
def test_a_crew_says_what_is_costly(tmp_path: Path, value: str, terms: dict[str, float]) -> None:
    assert load(tmp_path, f"ask_above: {value}\n").terms == terms


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("\napprove: {post: maybe}", "crew.yml:2: approve says 'maybe' of post; it takes ask, never, always"),
        ("approve: post", "crew.yml:1: approve must name tools, each with ask, never or always: {post_note: never}"),
        ("approve: {}", "crew.yml:1: approve must name tools, each with ask, never or always: {post_note: never}"),
        ("approve: {pots: ask}", "crew.yml:1: approve names the unknown tool pots (did you mean post?)"),
        ("approve: {look: ask}", "crew.yml:1: the tool look only reads, so nobody approves its calls"),
        ("approvers: []", "crew.yml:1: approvers must be a list of requester, admins, and Slack ids"),
        ("approvers: [requestor]", "crew.yml:1: approvers names requestor (did you mean requester?)"),
        ("approvers: [U12, U12]", "crew.yml:1: approvers names U12 twice; keep one"),
        ("quorum: 0", "crew.yml:1: quorum must be a whole number from 1 to 10"),
        ("quorum: many", "crew.yml:1: quorum must be a whole number from 1 to 10"),
        ("quorum: 2", "crew.yml:1: quorum is 2, and approvers names 1; name more people, or lower the quorum"),
        ("self: maybe", "crew.yml:1: self takes true or false"),
        ("\nself: false", "crew.yml:2: self is false, and the requester is the only approver; name others"),
        (
            "approvers: [requester, U12]\nquorum: 2\nself: false",
            "crew.yml:1: quorum is 2, and approvers names 1; name more people, or lower the quorum",
        ),
        ("ask_above: much", "crew.yml:1: ask_above takes dollars such as $2.50, or a number of tokens such as 300000"),
        ("ask_above: $0", "crew.yml:1: ask_above takes dollars such as $2.50, or a number of tokens such as 300000"),
    ],
)
def test_a_fault_names_the_file_the_line_and_what_to_do(tmp_path: Path, text: str, fault: str) -> None:
    (found,) = faults(tmp_path, f"{text}\n")
    assert found.startswith(fault)


def test_a_fault_of_a_specialist_is_told_at_its_own_line(tmp_path: Path) -> None:
    (found,) = faults(tmp_path, "approvers: [U12]\n", "approve: {burn: ask}")
    assert found.startswith("clerk.md:6: approve names the unknown tool burn; its own tools are post, send")
    (found,) = faults(tmp_path, "approvers: [U12]\n", "quorum: 3")
    assert found.startswith("clerk.md:6: quorum is 3, and approvers names 1")
    assert load(tmp_path, "approvers: [U12, S34]\n", "quorum: 3").specialists["clerk"].usual.quorum == 3
