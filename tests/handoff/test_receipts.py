"""Receipts and the first responder, rule by rule: what the log says is what people are told, and no more."""

from __future__ import annotations

import pytest

from handoff import events as ev
from handoff.contracts import Artifact, Material, Plan, Reading, Section
from handoff.effects import MakePlan
from handoff.engine.answer import gaps
from handoff.evidence.work_receipts import receipt_lines, receipts_of
from handoff.planning.routing import FIRST, alone
from handoff.state.job_state import Ask, Job
from handoff.summaries.summary import rows
from tests.handoff.kit import MEMBERS, R, ask, asked, effects, escalated, job, planned, returned, started, subtask

SALES = Material(name="sales.csv", file=Artifact(id="a", name="sales.csv"), text="1" * 64, size=9)
NOTES = Material(name="notes.md", file=Artifact(id="b", name="notes.md"), text="2" * 64, size=9)


def answered(*files: Material, **of_result: object) -> Ask:
    """A request of one part that came back, with files that people attached."""
    log = (
        asked(),
        ev.MaterialGathered(at=1.5, request=R, materials=files),
        planned(subtask("a")),
        started("a"),
        returned("a", **of_result),
    )
    return ask(job(*log))


def test_what_was_read_asked_and_counted_stands_in_a_line_and_what_was_done_in_another() -> None:
    only = ("status = paid: 6 of 10 rows", "month = (SELECT min(month) FROM sales): 2 of 10 rows", "upper(a) = B")
    only += ("day >= DATE 2026-07-01 AND plan = Pro: 3 of 10 rows", "paid IS NULL: 4 of 10 rows")
    queries = {"queries": ("SELECT 1", "SELECT 2"), "filters": only}
    reading = (Reading(name="sales.csv", is_whole=True), Reading(name="https://a.example", is_whole=False))
    found = answered(SALES, NOTES, readings=reading, **queries)
    assert receipts_of(found).not_opened == ("notes.md",)
    assert receipt_lines(found) == [
        (
            "Read: sales.csv, https://a.example · Not opened: notes.md · "
            "Rows counted: status = paid (6/10), 2/10, day >= 2026-07-01, plan = Pro (3/10), 4/10 · Queries: 2"
        ),
        "Nothing was sent or changed",
    ]


def test_files_that_were_made_are_done_and_calls_that_failed_are_not() -> None:
    made = (Artifact(id="c", name="note.docx", publish_as="file"), Artifact(id="d", name="scratch.txt"))
    found = answered(artifacts=made, failed_writes=("send_mail: the server refused it",))
    assert receipts_of(found).done == ("note.docx",)
    assert receipt_lines(found) == ["Done: note.docx · Not done: send_mail: the server refused it"]


def test_of_many_names_the_first_are_shown_and_without_work_there_is_no_receipt() -> None:
    reading = tuple(Reading(name=f"{n}.md", is_whole=True) for n in range(7))
    assert receipt_lines(answered(readings=reading))[0] == "Read: 0.md, 1.md, 2.md, 3.md, and 3 more"
    assert receipt_lines(ask(job(asked(), planned(subtask("a"))))) == []


@pytest.mark.parametrize(("messages", "line"), [(1, "#sales (1 message)"), (2, "#sales (2 messages)"), (0, "#sales")])
def test_of_a_channel_the_receipt_says_how_many_messages_were_read(messages: int, line: str) -> None:
    outline = tuple(Section(name=f"message {number} by Ben", start=number) for number in range(messages))
    sales = Material(name="#sales", kind="thread", text="3" * 64, size=9, outline=outline)
    thread = sales.model_copy(update={"name": "thread"})
    found = answered(sales, thread, readings=(Reading(name="#sales", is_whole=True),))
    assert receipt_lines(found)[0] == f"Read: {line}"


def first(plan: Plan | None = None) -> ev.PlanProposed:
    plan = plan or alone("why did churn rise", "analyst", subtask=FIRST)
    return ev.PlanProposed(at=2.0, request=R, plan=plan, members=MEMBERS, is_first=True)


def handed_over(reason: str = "hand_over") -> Job:
    return job(asked(), ev.MaterialGathered(at=1.5, request=R), first(), started(FIRST), escalated(FIRST, reason))


@pytest.mark.parametrize("reason", ["hand_over", "out_of_scope", "confidence_too_low"])
def test_a_first_responder_that_cannot_do_it_brings_in_the_planner(reason: str) -> None:
    state = handed_over(reason)
    assert [one for one in effects(state) if isinstance(one, MakePlan)] == [MakePlan(R)]
    assert (ask(state).run.plan, ask(state).run.handed_over) == (None, "which one?")
    assert rows(ask(state)) == (), "people see no step of it"


def test_what_comes_after_it_stands_alone_and_keeps_the_time_that_ran() -> None:
    state = handed_over()
    since = ask(state).run.since
    later = planned(subtask("a")).model_copy(update={"at": 9.0})
    done = ask(
        job(
            *(asked(), ev.MaterialGathered(at=1.5, request=R), first(), started(FIRST)),
            escalated(FIRST, "hand_over"),
            later,
            started("a", at=10.0),
            returned("a", at=11.0, gaps=("no May",)),
        )
    )
    assert (done.run.since, done.run.is_first) == (since, False)
    assert [work.subtask.id for work in rows(done)] == ["a"]
    assert gaps(done, done.run) == ("no May",), "the only part needs no title before its gap"


def test_its_question_is_a_question_and_any_other_specialist_that_hands_over_is_helped() -> None:
    state = job(
        asked(), ev.MaterialGathered(at=1.5, request=R), first(), started(FIRST), escalated(FIRST, "ambiguous_input")
    )
    assert ask(state).work[FIRST].state == "input_required"
    other = job(asked(), planned(subtask("a")), started("a"), escalated("a", "hand_over"))
    assert ask(other).run.plan is not None
