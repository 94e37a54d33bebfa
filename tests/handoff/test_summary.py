"""The read model: what is told of a job without its log, its rows and receipts, and which request names its thread."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff import events as ev
from handoff.contracts import (
    SCRIPTED_MODEL_NAME,
    Artifact,
    Attachment,
    Finding,
    Material,
    Plan,
    ReadSource,
    Request,
    Section,
    Usage,
)
from handoff.effects import MakePlan
from handoff.engine.answer import list_answer_gaps
from handoff.engine.engine import apply_event
from handoff.evidence.work_receipts import collect_receipts, render_receipt_lines
from handoff.planning.routing import FIRST_RESPONDER_ID, make_single_plan
from handoff.state.job_state import Job, PlanRun, RequestState
from handoff.summaries.card_rows import MAX_ROWS, ROWS_FIELD, CardRow, make_rows_field, parse_rows
from handoff.summaries.summary import (
    TITLE_SEPARATOR,
    describe_crew_progress,
    describe_speed_up,
    describe_step,
    list_card_rows,
    make_summary_fields,
    measure_parallel_work,
    parse_open_questions,
    render_title,
)
from handoff.summaries.thread_subject import find_subject_request
from handoff.text.reply_text import extract_json, is_nested_within, replace_surrogates
from tests.handoff.kit import (
    MEMBERS,
    PLACE,
    RUNNING_LOG,
    R,
    ask,
    effects,
    job,
    make_escalation_event,
    make_failure_event,
    make_plan_event,
    make_request_event,
    make_result_event,
    make_start_event,
    require,
    subtask,
)
from tests.handoff.test_levels import READ_AND_CHECK, at_law, finish_subtask, up, within


def make_posted_event(key: str, at: float = 9.0) -> ev.Posted:
    return ev.Posted(at=at, request=R, key=f"{R}:{key}", ts="200.1")


def make_written_answer_event(text: str = "42") -> ev.AnswerWritten:
    return ev.AnswerWritten(at=8.0, request=R, text=text)


TWO = make_plan_event(subtask("a"), subtask("b"))
WITH_A_FILE = make_request_event(text="why", attachments=(Attachment(file_id="F1", name="a.csv"),))
RETURN_EVENTS = (make_result_event("a"), make_result_event("b", at=6.0))


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ((WITH_A_FILE,), "reading the attached files"),
        ((make_request_event(),), "planning"),
        ((make_request_event(), TWO), "Part a (analyst), Part b (analyst)"),
        (
            (make_request_event(), make_plan_event(*map(subtask, "abc"))),
            "Part a (analyst), Part b (analyst) and 1 more",
        ),
        ((make_request_event(), TWO, make_start_event("a")), "Part a (analyst)"),
        (
            (make_request_event(), TWO, make_start_event("a"), make_start_event("b"), *RETURN_EVENTS),
            "writing the answer",
        ),
        (
            (
                make_request_event(),
                TWO,
                make_start_event("a"),
                make_start_event("b"),
                *RETURN_EVENTS,
                make_written_answer_event(),
            ),
            "posting the answer",
        ),
        (
            (make_request_event(), ev.RequestFailed(at=2.0, request=R, step="planning", reason="x", advice="y")),
            "saying how it ended",
        ),
        (
            (
                make_request_event(),
                TWO,
                make_start_event("a"),
                make_start_event("b"),
                *RETURN_EVENTS,
                make_written_answer_event(),
                make_posted_event("answer"),
                make_posted_event("card_end"),
            ),
            "",
        ),
    ],
)
def test_each_step_has_its_words(log: tuple[ev.Event, ...], words: str) -> None:
    assert describe_step(ask(job(*log))) == words


def test_a_second_look_at_the_plan_is_told_while_nothing_else_goes_on() -> None:
    upset = make_result_event("a", findings=(Finding(message="no bug here", where="plan"),))
    state = job(make_request_event(), make_plan_event(subtask("a"), subtask("b", "a")), make_start_event("a"), upset)
    assert describe_step(ask(state)) == "taking a second look at the plan"


def test_the_fields_of_a_job_follow_it_to_its_end() -> None:
    log = (make_request_event(), TWO, make_start_event("a"), make_start_event("b"), *RETURN_EVENTS)
    assert (make_summary_fields(job(*log[:1]))["state"], make_summary_fields(job(*log[:1]))["title"]) == (
        "submitted",
        "why did churn rise",
    )
    fields = make_summary_fields(job(*log))
    assert (fields["state"], fields["title"], fields["in_part"]) == ("synthesizing", "Find out", "")
    ended = make_summary_fields(
        job(*log, make_written_answer_event(), make_posted_event("answer"), make_posted_event("card_end"))
    )
    assert (ended["state"], ended["step"], ended["in_part"], ended["questions"]) == ("completed", "", "", "")


def test_an_answer_with_gaps_is_told_as_one_in_part() -> None:
    lost = make_failure_event("b", kind="unavailable")
    state = job(
        make_request_event(),
        TWO,
        make_start_event("a"),
        make_start_event("b"),
        make_result_event("a"),
        lost,
        make_written_answer_event(),
    )
    assert make_summary_fields(state)["in_part"] == "1"


def test_open_questions_are_told_with_whom_they_are_for() -> None:
    state = job(make_request_event(), TWO, make_start_event("a"), make_escalation_event("a", "ambiguous_input"))
    (question,) = parse_open_questions(make_summary_fields(state))
    assert (question.request, question.subtask, question.number, question.whom) == (R, "a", 1, ("U1",))
    assert (question.may_answer("U1"), question.may_answer("U2")) == (True, False)
    old = [{"request": R, "subtask": "a", "number": 1, "user": "U7"}]
    (question,) = parse_open_questions({"questions": json.dumps(old)})
    assert (question.may_answer("U7"), question.may_answer("U1")) == (True, False), "as an earlier release wrote it"
    new = [{"request": R, "subtask": "a", "number": 1, "whom": ["U8"]}]
    (question,) = parse_open_questions({"questions": json.dumps(new)})
    assert question.whom == ("U8",), "as a later release may write it"
    assert parse_open_questions({}) == parse_open_questions({"questions": ""}) == ()


def test_what_a_model_replies_is_read_as_leniently_as_can_be() -> None:
    assert extract_json('Here: ```json\n{"a": 1}\n```') == '{"a": 1}'
    assert extract_json("nothing") == ""
    half = {"a\ud83d": ["b\ude00", 1, None]}
    assert replace_surrogates(half) == {"a\ufffd": ["b\ufffd", 1, None]}
    assert is_nested_within({"a": [1]}, 2)
    assert not is_nested_within({"a": [1]}, 1)


# ---------------------------------------------------------------- the rows of a card


@given(st.lists(st.integers(0, 99), min_size=1, max_size=MAX_ROWS + 4, unique=True))
def test_lists_of_jobs_read_the_rows_that_the_card_shows(numbers: list[int]) -> None:
    names = [f"part-{number}" for number in numbers]
    kept, more = parse_rows(
        make_rows_field(job(make_request_event(), make_plan_event(*map(subtask, names)), make_start_event(names[0])))
    )
    assert [row.title for row in kept] == [f"Part {name}" for name in names[:MAX_ROWS]]
    assert more == max(0, len(names) - MAX_ROWS)
    assert kept[0] == CardRow("in_progress", f"Part {names[0]}", "analyst")


@pytest.mark.parametrize("rows_json", ["{", '[["a"]]', '[[["x", "y", "z", "and more"]], 0]', "7"])
def test_rows_of_another_release_are_left_out_and_a_job_without_a_plan_has_none(rows_json: str) -> None:
    assert (
        parse_rows({ROWS_FIELD: rows_json})
        == parse_rows({})
        == parse_rows(make_rows_field(job(make_request_event())))
        == ((), 0)
    )


def test_the_row_of_a_crew_says_how_far_it_is() -> None:
    state = at_law()
    assert describe_crew_progress(ask(state), ask(state).subtasks["law"]) == "planning"
    state = within(state, *READ_AND_CHECK)
    view = ask(state)
    assert describe_crew_progress(view, view.subtasks["law"]) == "0 of 2 parts done"
    assert describe_crew_progress(view, view.subtasks["law/read"]) == "", "nothing is inside"
    assert [render_title(view, subtask) for subtask in list_card_rows(view)] == [
        "Part law",
        f"Legal{TITLE_SEPARATOR}Part read",
        f"Legal{TITLE_SEPARATOR}Part check",
    ]
    state = finish_subtask(state, "law/read")
    assert describe_crew_progress(ask(state), ask(state).subtasks["law"]) == "1 of 2 parts done"
    state = finish_subtask(state, "law/check", at=8.0)
    state = up(apply_event(state, ev.AnswerWritten(at=9.0, request=R, within="law", text="Together.")), at=10.0)
    assert describe_crew_progress(ask(state), ask(state).subtasks["law"]) == "2 parts inside"


def test_work_side_by_side_is_told_by_what_it_gained() -> None:
    log = (
        make_request_event(),
        make_plan_event(subtask("a"), subtask("b")),
        make_start_event("a"),
        make_start_event("b"),
    )
    apart = ask(job(*log, make_result_event("a", at=13.0), make_result_event("b", at=13.0)))
    assert measure_parallel_work(apart) == (20.0, 10.0)
    assert describe_speed_up(apart) == "2 specialists side by side: 2.0x faster than one by one"
    scripted = replace(apart, usage=Usage(model=SCRIPTED_MODEL_NAME, calls=4))
    assert (measure_parallel_work(scripted), describe_speed_up(scripted)) == ((0.0, 0.0), ""), (
        "a script's times say nothing of a crew's"
    )
    make_single_plan = ask(job(*log[:3], make_result_event("a", at=13.0)))
    assert (measure_parallel_work(make_single_plan), describe_speed_up(make_single_plan)) == ((0.0, 0.0), "")


# ---------------------------------------------------------------- receipts, and the first responder

SALES = Material(name="sales.csv", file=Artifact(id="a", name="sales.csv"), text="1" * 64, size=9)
NOTES = Material(name="notes.md", file=Artifact(id="b", name="notes.md"), text="2" * 64, size=9)


def make_answered_request(*files: Material, **of_result: object) -> RequestState:
    """A request of one part that came back, with files that people attached."""
    log = (
        make_request_event(),
        ev.MaterialGathered(at=1.5, request=R, materials=files),
        make_plan_event(subtask("a")),
        make_start_event("a"),
        make_result_event("a", **of_result),
    )
    return ask(job(*log))


def test_what_was_read_asked_and_counted_stands_in_a_line_and_what_was_done_in_another() -> None:
    only = ("status = paid: 6 of 10 rows", "month = (SELECT min(month) FROM sales): 2 of 10 rows", "upper(a) = B")
    only += ("day >= DATE 2026-07-01 AND plan = Pro: 3 of 10 rows", "paid IS NULL: 4 of 10 rows")
    queries = {"queries": ("SELECT 1", "SELECT 2"), "filters": only}
    reading = (ReadSource(name="sales.csv", is_whole=True), ReadSource(name="https://a.example", is_whole=False))
    found = make_answered_request(SALES, NOTES, readings=reading, **queries)
    assert collect_receipts(found).unopened_files == ("notes.md",)
    assert render_receipt_lines(found) == [
        (
            "Read: sales.csv, https://a.example · Not opened: notes.md · "
            "Rows counted: status = paid (6/10), 2/10, day >= 2026-07-01, plan = Pro (3/10), 4/10 · Queries: 2"
        ),
        "Nothing was sent or changed",
    ]


def test_files_that_were_made_are_done_and_calls_that_failed_are_not() -> None:
    made = (Artifact(id="c", name="note.docx", publish_as="file"), Artifact(id="d", name="scratch.txt"))
    found = make_answered_request(artifacts=made, failed_writes=("send_mail: the server refused it",))
    assert collect_receipts(found).completed_actions == ("note.docx",)
    assert render_receipt_lines(found) == ["Done: note.docx · Not done: send_mail: the server refused it"]


def test_of_many_names_the_first_are_shown_and_without_work_there_is_no_receipt() -> None:
    reading = tuple(ReadSource(name=f"{n}.md", is_whole=True) for n in range(7))
    assert (
        render_receipt_lines(make_answered_request(readings=reading))[0] == "Read: 0.md, 1.md, 2.md, 3.md, and 3 more"
    )
    assert render_receipt_lines(ask(job(make_request_event(), make_plan_event(subtask("a"))))) == []


@pytest.mark.parametrize(("messages", "line"), [(1, "#sales (1 message)"), (2, "#sales (2 messages)"), (0, "#sales")])
def test_of_a_channel_the_receipt_says_how_many_messages_were_read(messages: int, line: str) -> None:
    outline = tuple(Section(name=f"message {number} by Ben", start=number) for number in range(messages))
    sales = Material(name="#sales", kind="thread", text="3" * 64, size=9, outline=outline)
    thread = sales.model_copy(update={"name": "thread"})
    found = make_answered_request(sales, thread, readings=(ReadSource(name="#sales", is_whole=True),))
    assert render_receipt_lines(found)[0] == f"Read: {line}"


def first(plan: Plan | None = None) -> ev.PlanProposed:
    plan = plan or make_single_plan("why did churn rise", "analyst", subtask=FIRST_RESPONDER_ID)
    return ev.PlanProposed(at=2.0, request=R, plan=plan, members=MEMBERS, is_first=True)


def handed_over(reason: str = "hand_over") -> Job:
    return job(
        make_request_event(),
        ev.MaterialGathered(at=1.5, request=R),
        first(),
        make_start_event(FIRST_RESPONDER_ID),
        make_escalation_event(FIRST_RESPONDER_ID, reason),
    )


@pytest.mark.parametrize("reason", ["hand_over", "out_of_scope", "confidence_too_low"])
def test_a_first_responder_that_cannot_do_it_brings_in_the_planner(reason: str) -> None:
    state = handed_over(reason)
    assert [one for one in effects(state) if isinstance(one, MakePlan)] == [MakePlan(R)]
    assert (ask(state).run.plan, ask(state).run.handover_reason) == (None, "which one?")
    assert list_card_rows(ask(state)) == (), "people see no step of it"


def test_what_comes_after_it_stands_alone_and_keeps_the_time_that_ran() -> None:
    state = handed_over()
    since = ask(state).run.clock_started
    later = make_plan_event(subtask("a"), at=9.0)
    done = ask(
        job(
            *(
                make_request_event(),
                ev.MaterialGathered(at=1.5, request=R),
                first(),
                make_start_event(FIRST_RESPONDER_ID),
            ),
            make_escalation_event(FIRST_RESPONDER_ID, "hand_over"),
            later,
            make_start_event("a", at=10.0),
            make_result_event("a", at=11.0, gaps=("no May",)),
        )
    )
    assert (done.run.clock_started, done.run.is_first_responder) == (since, False)
    assert [work.spec.id for work in list_card_rows(done)] == ["a"]
    assert list_answer_gaps(done, done.run) == ("no May",), "the only part needs no title before its gap"


def test_its_question_is_a_question_and_any_other_specialist_that_hands_over_is_helped() -> None:
    state = job(
        make_request_event(),
        ev.MaterialGathered(at=1.5, request=R),
        first(),
        make_start_event(FIRST_RESPONDER_ID),
        make_escalation_event(FIRST_RESPONDER_ID, "ambiguous_input"),
    )
    assert ask(state).subtasks[FIRST_RESPONDER_ID].state == "input_required"
    other = job(*RUNNING_LOG, make_escalation_event("a", "hand_over"))
    assert ask(other).run.plan is not None


# ---------------------------------------------------------------- which request names its thread

FIRST_SAID = "Summarise the sales of the northern region by month"


def thread_of(*texts: str, answer: str = "Revenue fell in Oslo since two tandem dealers closed.") -> Job:
    requests = tuple(
        RequestState(
            spec=Request(id=str(at), user="U1", text=text, at=float(at)),
            run=PlanRun(answer=answer),
            subtasks=MappingProxyType({}),
        )
        for at, text in enumerate(texts)
    )
    return Job(place=PLACE, requests=requests)


@pytest.mark.parametrize(
    "later",
    [
        "and in euros?",
        "the same for the southern region by month please",
        "Which tandem dealers in Oslo closed?",  # of the answer
        "thanks a lot",
    ],
)
def test_a_follow_up_keeps_the_name(later: str) -> None:
    assert require(find_subject_request(thread_of(FIRST_SAID, later))).spec.text == FIRST_SAID


OTHER, GERMAN = "Draft a job posting for a backend engineer in Lisbon", "Schreibe eine Stellenanzeige für Lissabon"


@pytest.mark.parametrize(
    ("later", "request_number"), [((OTHER, "shorter, please"), 1), ((OTHER, FIRST_SAID), 2), ((GERMAN,), 1)]
)
def test_something_else_takes_it_over_and_so_may_the_next(later: tuple[str, ...], request_number: int) -> None:
    assert require(find_subject_request(thread_of(FIRST_SAID, *later, answer=""))).id == str(request_number)


def test_what_was_withdrawn_names_nothing() -> None:

    one = thread_of(FIRST_SAID)
    assert find_subject_request(replace(one, requests=(replace(one.requests[0], is_withdrawn=True),))) is None
