"""What a specialist is given: as it was where it fits, the least important let go first where it does not."""

from __future__ import annotations

from types import MappingProxyType

from handoff.context import BRIEF, WHOLE_CONTENT, handoff_for
from handoff.contracts import Context, Member, Note, Place, Plan, Request, Result, Subtask
from handoff.state import Ask, Job, Run, Work

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


def test_short_results_go_in_whole_and_long_ones_as_their_summary() -> None:
    long = "z" * (WHOLE_CONTENT + 1)
    handoff, packed = handoff_for(*brief("Write a note on it.", ("q1", result("short")), ("q2", result(long))), NOW)
    assert [note.text for note in handoff.context] == ["short", "summary of zzzzz"]
    assert packed.left_out == ("Part q2: its summary for 3,001 characters, which the brief does not need",)
    assert 0 < packed.tokens < packed.budget == Context().fast * BRIEF


def test_a_long_result_goes_in_whole_where_the_brief_is_about_it() -> None:
    long = "z" * 20_000
    for intent in ("Write a note on q2.", "Proofread the text.", "Write down what Part q2 says."):
        handoff, _ = handoff_for(*brief(intent, ("q2", result(long))), NOW)
        assert handoff.context[0].text == long
        handoff, packed = handoff_for(*brief(intent, ("q2", result(long * 2))), NOW)
        assert handoff.context[0].text == "summary of zzzzz"
        assert packed.left_out == ("Part q2: 16 of 40,000 characters",)


def test_at_four_fifths_the_least_sure_goes_first_and_people_are_always_heard() -> None:
    said = Note(source="Asked: which?", text="Answered by a person: the blue one")
    names = [(f"q{n}", result(f"{n}" * WHOLE_CONTENT, 60 + n)) for n in range(9)]
    handoff, packed = handoff_for(*brief("Write a note on all of it.", *names, answers=(said,)), NOW)
    assert said in handoff.context
    shortened = [len(note.text) < WHOLE_CONTENT for note in handoff.context[:-1]]
    assert shortened[0]
    assert not shortened[-1]
    assert shortened == sorted(shortened, reverse=True), "the less sure, the earlier it goes"
    assert packed.tokens <= packed.budget * 0.8
    assert [line.split(":")[0] for line in packed.left_out] == [f"Part q{n}" for n in range(sum(shortened))]


def test_what_is_missing_is_said_in_place() -> None:
    handoff, _ = handoff_for(*brief("Write a note.", ("q1", None)), NOW)
    assert handoff.context[0].text.startswith("(not available: it broke.")
