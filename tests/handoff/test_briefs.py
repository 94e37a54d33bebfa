"""What a specialist is given: as it was where it fits, the least important let go first where it does not."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from handoff.briefs.context import BRIEF, handoff_for
from handoff.contracts import Context, Member, Note, Place, Plan, Request, Result, Subtask
from handoff.state.job_state import Ask, Job, Run, Work
from handoff.text.context_budget import FULL

NOW = 100.0


def brief(intent: str, *results: tuple[str, Result | None], answers: tuple[Note, ...] = ()) -> tuple[Job, Ask, Work]:
    """The last subtask of a plan, which waits for the results by name."""
    works = {
        name: Work(
            subtask=Subtask(id=name, title=f"Part {name}", intent="i", specialist="a"),
            specialist="a",
            state="complete" if result else "error",
            reason="" if result else "it broke",
            result=result,
        )
        for name, result in results
    }
    last = Subtask(id="last", title="Last", intent=intent, specialist="b", after=tuple(works))
    work = Work(subtask=last, specialist="b", tier="fast", answers=answers)
    plan = Plan(goal="g", subtasks=(*(each.subtask for each in works.values()), last))
    ask = Ask(
        request=Request(id="1.0", user="U", text="t", at=1.0),
        run=Run(plan=plan, members=MappingProxyType({"b": Member(name="b")})),
        work=MappingProxyType({**works, "last": work}),
    )
    return Job(place=Place(team="T", channel="C", thread_ts="1.0"), asks=(ask,)), ask, work


def result(content: str, confidence: int = 80) -> Result:
    return Result(summary=f"summary of {content[:5]}", content=content, confidence=confidence)


INTENTS = (
    "Draft a two-page comparison for the product team as a Word document: prices, support, a recommendation.",
    "Übersetze den vorherigen Text vollständig ins Französische.",
    "Traduce el texto anterior completo.",
    "上記の結果を要約してください。",
)


@pytest.mark.parametrize("intent", INTENTS)
def test_results_go_in_whole_as_long_as_there_is_room_whatever_the_language(intent: str) -> None:
    six_pages = "Acme charges 12 euros a seat and month.\n" * 155
    handoff, packed = handoff_for(*brief(intent, ("q1", result(six_pages)), ("q2", result(six_pages))), NOW)
    assert [note.text for note in handoff.context] == [six_pages, six_pages]
    assert packed.left_out == ()
    assert not handoff.readable
    assert 0 < packed.tokens < packed.budget == Context().fast * BRIEF


def test_a_result_that_does_not_fit_goes_in_as_its_summary_and_the_passages_that_the_brief_is_about() -> None:
    lines = [f"Paragraph {n} is about the weather in the north.\n\n" for n in range(900)]
    lines[700] = "The cancellation period is three months.\n\n"
    long = "".join(lines)
    handoff, packed = handoff_for(*brief("Which cancellation period applies?", ("q2", result(long))), NOW)
    (note,) = handoff.context
    assert note.text.startswith("summary of Parag")
    assert lines[700].strip() in note.text
    assert packed.tokens > packed.budget * 0.7, "the room is used"
    assert packed.tokens <= packed.budget * FULL
    (line,) = packed.left_out
    assert line.startswith("Part q2: ")
    assert [(one.name, one.kind) for one in handoff.readable] == [("q2", "result")]


def test_the_least_sure_is_shortened_first_and_people_are_always_heard() -> None:
    said = Note(source="Asked: which?", text="Answered by a person: the blue one")
    names = [(f"q{n}", result(f"{n}" * 3_000, 60 + n)) for n in range(9)]
    handoff, packed = handoff_for(*brief("Write a note on all of it.", *names, answers=(said,)), NOW)
    assert said in handoff.context
    shortened = [len(note.text) < 3_000 for note in handoff.context[:-1]]
    assert shortened[0]
    assert not shortened[-1]
    assert shortened == sorted(shortened, reverse=True), "the less sure, the earlier it goes"
    assert packed.tokens <= packed.budget * FULL
    assert [line.split(":")[0] for line in packed.left_out] == [f"Part q{n}" for n in range(sum(shortened))]


def test_what_is_missing_is_said_in_place() -> None:
    handoff, _ = handoff_for(*brief("Write a note.", ("q1", None)), NOW)
    assert handoff.context[0].text.startswith("(not available: it broke.")
