"""Every message that people see: its blocks are taken by the strict workspace, and it says what it must."""

import json
import re
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import pytest

from bot.features.catalogue import SPOKEN_COMMANDS, SUBCOMMANDS
from bot.slack.receive.router import list_help_words, list_usage_lines
from bot.slack.views.answer_message import (
    MAX_MARKDOWN_CHARACTERS,
    list_detail_lines,
    list_sources,
    render_answer,
    render_answer_footer,
    render_evidence_modal,
)
from bot.slack.views.button_data import decode_data
from bot.slack.views.card import render_card_title, render_plan_card
from bot.slack.views.home import render_help, render_home, render_note_window, render_start_job_modal
from bot.slack.views.job_lines import JobLine, render_job_line
from bot.slack.views.outgoing import (
    SECTION_CHAR_LIMIT,
    Outgoing,
    format_duration,
    make_button,
    make_context,
    make_section,
    make_sections,
    render_moment,
)
from bot.slack.views.paging import HomeList, ListPage, select_page
from bot.slack.views.question import AnswerChoice, render_answered_question, render_dropped_question, render_question
from bot.slack.views.request_ends import render_cancellation, render_failure, render_refusal, render_undeliverable_end
from bot.slack.views.status import render_job_list, render_job_status, render_timeline, render_trace
from bot.store.values import LogEntry
from bot.tracing.steps import list_steps
from bot.workspace.blocks import check_message_blocks, check_view
from handoff import events as ev
from handoff.contracts import Attachment, Finding, Material, Place, Plan, Request, Result, Subtask, Usage
from handoff.engine.answer import list_answer_gaps, list_unfillable_gaps
from handoff.engine.unknown_writes import VERDICT_OPTIONS
from handoff.state.job_state import Job, PlanRun, RequestState, SubtaskState, SubtaskStatus
from handoff.state.state_values import Failure, Question, QuestionAnswer, UnknownWrite

PLACE = Place(team="T1", channel="C1", thread_ts="100.1")
EVIL = "<!channel> [x](https://evil.com) <@U0000000A> & https://evil.com \u202e"


def work(
    name: str, state: SubtaskStatus = "pending", *, title: str = "", after: tuple[str, ...] = (), **more: Any
) -> SubtaskState:
    subtask = Subtask(id=name, title=title or f"Do {name}", intent="i", specialist="analyst", after=after)
    if state == "complete":
        more = {"result": Result(summary="s", content="c"), **more}
    return SubtaskState(spec=subtask, specialist="analyst", state=state, **more)


OF_RUN = {field.name for field in fields(PlanRun)}
"""What a request has in its run."""


def change_request(request: RequestState, **changes: Any) -> RequestState:
    """The request with these fields of it, or of its run, changed."""
    run = replace(request.run, **{name: value for name, value in changes.items() if name in OF_RUN})
    return replace(request, run=run, **{name: value for name, value in changes.items() if name not in OF_RUN})


def ask_of(*subtasks: SubtaskState, **more: Any) -> RequestState:
    request = Request(id="100.1", user="U0000000A", text="compare the offers", at=1000.0)
    plan = Plan(goal="Compare the offers", subtasks=tuple(each.spec for each in subtasks)) if subtasks else None
    mapping = MappingProxyType({each.spec.id: each for each in subtasks})
    return change_request(
        RequestState(spec=request, is_gathered=True, subtasks=mapping), **{"state": "working", "plan": plan, **more}
    )


def job_of(request: RequestState) -> Job:
    return Job(place=PLACE, requests=(request,))


def dump_checked_blocks(message: Outgoing) -> str:
    """The blocks as JSON, once Slack's rules have been checked."""
    assert message.text
    check_message_blocks(json.loads(json.dumps(list(message.blocks))), outer_text=message.text)
    return json.dumps(message.blocks, ensure_ascii=False)


def rows(message: Outgoing) -> list[tuple[str, str, str]]:
    plan = message.blocks[0]
    return [
        (row["title"], row["status"], row["details"]["elements"][0]["elements"][0]["text"] if "details" in row else "")
        for row in plan["tasks"]
    ]


def question_work(**more: Any) -> SubtaskState:
    asked = Question(number=1, message="Which year?", options=("2025", "2026"), asked_at=1001.0, whom=("U0000000A",))
    return work("a", "input_required", question=asked, **more)


def asked_of(request: RequestState) -> Question:
    asked = request.subtasks["a"].question
    assert asked is not None
    return asked


def doubtful(what: str, reason: str) -> RequestState:
    """A request of which one subtask does not know whether it wrote something."""
    intent = ev.ToolStarted(at=1.0, request="100.1", subtask="a", attempt=1, call="c", tool="post_note", what=what)
    asked = Question(
        1,
        f"Was this carried out? {what}",
        VERDICT_OPTIONS,
        1.0,
        ("U0000000A",),
        UnknownWrite("c", "post", what, reason),
    )
    return ask_of(work("a", "input_required", question=asked, checkpoints=(intent,)))


def test_a_card_has_a_row_for_each_subtask() -> None:
    request = ask_of(
        work("a", "complete", started_at=1000.0, ended_at=1003.0),
        work("b", "in_progress", started_at=1002.0, attempt=2),
        work("c", "pending", after=("a", "b")),
        work("d", "error", reason="no such file"),
        work("e", "skipped", reason="it needed 'Do d'"),
        question_work(),
    )
    card = render_plan_card(job_of(request), request, 1010.0)
    assert rows(card) == [
        ("Do a", "in_progress", "analyst · waits for "),
        ("Do b", "in_progress", "analyst · attempt 2"),
        ("Do c", "pending", "analyst · waits for Do a, Do b"),
        ("Do d", "error", "analyst · no such file"),
        ("Do e", "error", "analyst · skipped, it needed 'Do d'"),
    ]
    assert "Stop" in dump_checked_blocks(card)
    assert card.priority == "card"
    asked = card.blocks[0]["tasks"][0]["details"]["elements"][0]["elements"]
    assert asked[1] == {"type": "user", "user_id": "U0000000A"}, "whom it waits for is named"


def test_a_row_waits_for_nothing_that_was_left_out() -> None:
    gone = work("b", "skipped", is_dropped=True, reason="no finding is high")
    request = ask_of(work("a", "in_progress", started_at=1000.0), gone, work("c", after=("a", "b")))
    assert rows(render_plan_card(job_of(request), request, 1001.0))[1:] == [
        ("Do b", "pending", "analyst · no finding is high"),
        ("Do c", "pending", "analyst · waits for Do a"),
    ]


def test_what_was_not_needed_is_told_below_a_card_that_is_over_and_leaves_no_open_circle() -> None:
    gone = work("b", "skipped", is_dropped=True, reason="no finding is high")
    request = ask_of(work("a", "complete", started_at=1000.0, ended_at=1001.0), gone, answer="x", concluded_at=1002.0)
    card = render_plan_card(job_of(request), request, 1003.0)
    assert [status for _, status, _ in rows(card)] == ["complete"]
    assert "Not needed: Do b (no finding is high)" in dump_checked_blocks(card)


def test_a_row_tells_no_time_that_stands_still() -> None:
    request = ask_of(work("a", "in_progress", started_at=1000.0), work("b"))

    def details(now: float) -> str:
        return rows(render_plan_card(job_of(request), request, now))[0][2]

    assert details(1000.2) == details(1029.0) == "analyst"
    assert details(1031.0) == details(1059.0) == "analyst · over 30 s"
    assert details(1125.0) == "analyst · over 2 min"
    done = ask_of(work("a", "complete", started_at=1000.0, ended_at=1012.0), work("b"))
    assert rows(render_plan_card(job_of(done), done, 1500.0))[0][2] == "analyst · 12 s"


def test_what_was_only_stopped_wears_no_red_cross_and_what_is_over_no_spinner() -> None:
    works = (
        work("a", "in_progress", started_at=1.0),
        question_work(),
        work("b", "complete", started_at=1.0, ended_at=2.0),
        work("c"),
        work("d", "error", reason="no such file"),
    )
    stopped = ask_of(works[0], *works[2:], cancelled_by="U0000000B", failure=Failure("j", "s"), concluded_at=5.0)
    card = render_plan_card(job_of(stopped), stopped, 6.0)
    assert "Stopped by <@U0000000B>" in (shown := dump_checked_blocks(card))
    assert '"button"' not in shown
    assert rows(card) == [
        ("Do a", "pending", "analyst · stopped"),
        ("Do b", "complete", "analyst · 1.0 s"),
        ("Do c", "pending", "analyst · not started"),
        ("Do d", "error", "analyst · no such file"),
    ]
    broke = ask_of(*works[1:3], failure=Failure("planning", "it broke"), concluded_at=5.0)
    assert [status for _, status, _ in rows(render_plan_card(job_of(broke), broke, 6.0))] == ["pending", "complete"]
    planning = ask_of(cancelled_by="U0000000B", failure=Failure("j", "s"), concluded_at=5.0)
    assert rows(render_plan_card(job_of(planning), planning, 6.0)) == [("Make a plan", "pending", "")]


def test_no_tick_stands_before_what_brought_nothing_or_lacks_something() -> None:
    def row(result: Result | None, *others: SubtaskState, **more: Any) -> tuple[str, str, str]:
        request = ask_of(work("a", "complete", result=result), *others, **more)
        return rows(render_plan_card(job_of(request), request, 6.0))[0]

    whole = Result(summary="s", content="c")
    gap = ("the year 2024 is not in the file",)
    assert row(whole) == ("Do a", "complete", "analyst · 0.0 s")
    assert row(None) == ("Do a", "error", "analyst · 0.0 s · it brought nothing")
    assert row(Result(summary="nothing found", content="", gaps=gap)) == (
        "Do a",
        "error",
        f"analyst · 0.0 s · {gap[0]}",
    )
    part = Result(summary="s", content="c", gaps=gap)
    assert row(part, work("b")) == ("Do a", "pending", f"analyst · 0.0 s · in part: {gap[0]}")
    missing = Plan(goal="Deploy it", subtasks=(work("a").spec,), missing=("deploy it",))
    assert row(whole, plan=missing) == (
        "Do a",
        "pending",
        "analyst · 0.0 s · in part: nobody in the crew can deploy it",
    )
    assert row(whole, work("b"), plan=missing)[1] == "complete", (
        "the part was done, it is the whole that lacks something"
    )
    request = ask_of(work("a", "complete", result=None), work("b", "complete"), work("c"))
    assert render_card_title(request, 6.0).startswith("Working, 1 of 3 done")
    file = Attachment(file_id="F1", name="scan.png")
    fetched = replace(ask_of(), spec=request.spec.model_copy(update={"attachments": (file,)}))
    assert rows(render_plan_card(job_of(fetched), fetched, 6.0))[0] == ("Fetch the attached file", "complete", "")
    lost = replace(fetched, file_faults=("scan.png is too large.",))
    assert rows(render_plan_card(job_of(lost), lost, 6.0))[0][1] == "error"


def test_a_card_has_no_stop_button_beside_slacks_own() -> None:
    request = ask_of(work("a", "in_progress", started_at=1.0))
    assert '"button"' not in dump_checked_blocks(render_plan_card(job_of(request), request, 6.0, with_stop=False))


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"plan": None, "subtasks": MappingProxyType({})}, "Planning…: compare the offers"),
        (
            {"plan": None, "subtasks": MappingProxyType({}), "rejections": (("x",),)},
            "Planning again…: compare the offers",
        ),
        (
            {"plan": None, "subtasks": MappingProxyType({}), "is_gathered": False},
            "Looking at what it names: compare the offers",
        ),
        ({}, "Working, 1 of 2 done: Compare the offers"),
        ({"state": "input_required"}, "Waiting for an answer: Compare the offers"),
        ({"state": "synthesizing"}, "Writing the answer: Compare the offers"),
        ({"answer": "x", "concluded_at": 1012.4}, "Done in 12 s: Compare the offers"),
        ({"answer": "x", "concluded_at": 1012.4, "file_faults": ("f",)}, "Done in part in 12 s: Compare the offers"),
        ({"failure": Failure("s", "r"), "concluded_at": 1065.0}, "Failed after 1 min 5 s: Compare the offers"),
        (
            {"failure": Failure("s", "r"), "cancelled_by": "U2", "concluded_at": 1002.0},
            "Stopped after 2.0 s: Compare the offers",
        ),
    ],
)
def test_the_cards_title_tells_the_phase(changes: dict[str, Any], title: str) -> None:
    request = change_request(ask_of(work("a", "complete", started_at=1000.0, ended_at=1001.0), work("b")), **changes)
    assert render_card_title(request, 1012.0) == title
    dump_checked_blocks(render_plan_card(job_of(request), request, 1012.0))


@pytest.mark.parametrize("count", [41, 400])
def test_many_rows_are_folded_and_fit(count: int) -> None:
    title = "Müller " * 30
    subtasks = [work(f"s{n}", "in_progress" if n == count - 1 else "complete", title=title) for n in range(count)]
    request = ask_of(*subtasks)
    card = render_plan_card(job_of(request), request, 1.0)
    dump_checked_blocks(card)
    shown = rows(card)
    assert len(shown) <= 40
    assert any(status == "in_progress" for _, status, _ in shown)
    assert shown[-1][0] == f"And {count - len(shown) + 1} more: {count - len(shown) + 1} done"


def test_a_question_offers_its_options_and_says_who_is_asked() -> None:
    request = ask_of(question_work())
    message = render_question(job_of(request), request, "a")
    shown = dump_checked_blocks(message)
    assert "<@U0000000A>" in shown
    assert "reply in this thread" in shown
    elements = message.blocks[1]["elements"]
    assert [each["text"]["text"] for each in elements] == ["2025", "2026"]
    assert [each["action_id"] for each in elements] == ["answer:0", "answer:1"]
    choice = decode_data(elements[1]["value"], AnswerChoice)
    assert choice is not None
    assert (choice.job, choice.request, choice.subtask, choice.number, choice.option) == (
        job_of(request).id,
        "100.1",
        "a",
        1,
        1,
    )


def test_long_and_many_options_become_numbers() -> None:
    options = tuple(f"{number} " + 'ä"\\' * 900 for number in range(9))
    asked = Question(number=1, message="x" * 9000, options=options, asked_at=1.0)
    request = ask_of(work("a", "input_required", question=asked))
    message = render_question(job_of(request), request, "a")
    dump_checked_blocks(message)
    buttons = message.blocks[2]["elements"]
    assert [each["text"]["text"] for each in buttons] == ["1", "2", "3", "4", "5"]
    assert [choice.option for each in buttons if (choice := decode_data(each["value"], AnswerChoice))] == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_an_answered_question_has_no_buttons_and_says_who_decided() -> None:
    request = ask_of(question_work())
    shown = dump_checked_blocks(
        render_answered_question("Do a", QuestionAnswer(asked_of(request), "U0000000A", "2026", 1005.0))
    )
    assert '"button"' not in shown
    assert "<@U0000000A> answered “2026”" in shown
    assert "Which year?" in shown


def test_a_question_links_what_the_requester_named_open_or_closed() -> None:
    named, made = "https://docs.example/x", "https://evil.com/?d=1"
    asked = Question(1, f"Do you mean {named} or {made}?", (f"{named} or {made}, the first of them",), 1000.0)
    request = ask_of(work("a", "input_required", question=asked))
    request = replace(request, spec=request.spec.model_copy(update={"text": f"Read {named}"}))
    known = {named}
    for message in (
        render_question(job_of(request), request, "a"),
        render_answered_question("Do a", QuestionAnswer(asked, "U0000000A", "yes", 1005.0), known),
        render_dropped_question("Do a", asked, known),
    ):
        shown = dump_checked_blocks(message)
        assert f"<{named}> or `{made}`" in shown
        assert f"<{made}" not in shown


def test_a_doubt_asks_what_happened_and_says_what_each_answer_does() -> None:
    request = doubtful("post_note(text='tea')", "I was interrupted while it was under way")
    message = render_question(job_of(request), request, "a")
    shown = dump_checked_blocks(message)
    assert "<@U0000000A> *Do a* needs you to check something. Was this carried out?" in shown
    assert "post_note(text='tea')" in shown
    assert "I cannot tell: I was interrupted while it was under way." in shown
    elements = message.blocks[1]["elements"]
    assert [each["text"]["text"] for each in elements] == ["It happened", "It did not happen", "Stop this part"]
    choices = [decode_data(each["value"], AnswerChoice) for each in elements]
    assert [choice.option for choice in choices if choice] == [0, 1, 2]


def test_what_may_have_been_carried_out_is_named_in_every_end() -> None:
    request = replace(doubtful("post_note(text='tea')", "it was cut off"), cancelled_by="U0000000A")
    assert "Unknown, please check* whether this was carried out:\\n• post_note(text='tea')" in dump_checked_blocks(
        render_cancellation(job_of(request), request)
    )
    broken = change_request(request, cancelled_by="", failure=Failure("Do a", "stopped by a person"))
    assert "• post_note(text='tea')" in dump_checked_blocks(render_failure(job_of(broken), broken))
    assert "• unknown, please check: post_note(text='tea')" in json.dumps(
        render_answer_footer(job_of(request), request, "m"), ensure_ascii=False
    )
    assert "This is unknown, please check." in dump_checked_blocks(render_dropped_question("Do a", asked_of(request)))


@pytest.mark.parametrize("value", ["", "{}", "[]", "null", '{"job": 1}', '{"job":"J","request":"r","subtask":"s"}'])
def test_a_foreign_buttons_value_is_no_choice(value: str) -> None:
    assert decode_data(value, AnswerChoice) is None


def make_answered_request(**more: Any) -> RequestState:
    finding = Finding(message="m", source="sales.csv")
    other = Finding(message="m", source="https://evil.com/report")
    result = Result(summary="s", content="c", findings=(finding, other, finding))
    request = ask_of(
        work("a", "complete", result=result, started_at=1000.0, ended_at=1006.0),
        work("b", "complete", result=result, started_at=1000.0, ended_at=1006.0),
        usage=Usage(model="m", calls=3, tokens_in=12_000, tokens_out=345, cost=0.0421),
        concluded_at=1007.0,
        answer="# Result\n\nSales rose.",
    )
    return change_request(request, **more)


def test_an_answer_tells_its_sources_cost_and_gain() -> None:
    request = make_answered_request()
    (message,) = render_answer(job_of(request), request, "claude (Anthropic)")
    shown = dump_checked_blocks(message)
    assert message.blocks[0] == {"type": "markdown", "text": "# Result\n\nSales rose."}
    assert list_sources(request) == ["sales.csv", "https://evil.com/report"]
    assert "Sources: sales.csv · `https://evil.com/report`" in shown
    assert '"text": "7.0 s"' in shown
    assert "claude" not in shown
    assert "tokens" not in shown
    details = [
        "Model: m",
        "Spent: 12.3k tokens, $0.04",
        "2 specialists side by side: 2.0x faster than one by one",
        f"Job {job_of(request).id}",
    ]
    assert list_detail_lines(job_of(request), request) == details
    assert render_evidence_modal(job_of(request), request)["blocks"][-1] == make_context("\n".join(details))
    assert "feedback_buttons" in shown
    assert "Answered in part" not in shown
    assert list(message.blocks[1:]) == render_answer_footer(job_of(request), request, "claude (Anthropic)")


def test_a_source_that_is_a_file_of_the_job_is_shown_by_its_plain_name() -> None:
    """Slack makes a link of `agreement.md` in text that it reads, and none in text that it takes as it is."""
    names = ("agreement.md, page 2", "evil.md", "run.py and backup.zip", "see agreement.md.evil.com")
    findings = tuple(Finding(message=name, source=name, confidence=90) for name in names)
    result = Result(summary="s", content="c", findings=findings)
    files = tuple(Material(name=name) for name in ("agreement.md", "run.py", "backup.zip"))
    request = replace(ask_of(work("a", "complete", result=result), concluded_at=1007.0, answer="A."), materials=files)
    (message,) = render_answer(job_of(request), request, "m")
    dump_checked_blocks(message)
    (sources,) = [block for block in message.blocks if "Sources:" in json.dumps(block)]
    assert sources["elements"] == [
        {"type": "plain_text", "text": "Sources: agreement.md, page 2 · run.py and backup.zip"},
        {"type": "mrkdwn", "text": "`evil.md` · see `agreement.md.evil.com`"},
    ]
    strange = replace(request, materials=())
    assert "plain_text" not in json.dumps(render_answer(job_of(strange), strange, "m")[0].blocks[1]), (
        "of no file it is code"
    )


def test_an_answer_in_part_names_its_gaps() -> None:
    request = make_answered_request(file_faults=("big.csv is too large",))
    assert "*Answered in part.* Missing:\\n• big.csv is too large" in dump_checked_blocks(
        render_answer(job_of(request), request, "m")[-1]
    )


@pytest.mark.parametrize(
    "text", ["word " * 20_000, "& " * 20_000, "```\n" + "x = 1\n" * 9000, "", "https://a.bc " * 3000]
)
def test_a_long_answer_comes_in_parts_that_fit(text: str) -> None:
    request = make_answered_request(answer=text)
    parts = render_answer(job_of(request), request, "m")
    for part in parts:
        dump_checked_blocks(part)
        assert len(part.blocks[0]["text"]) <= MAX_MARKDOWN_CHARACTERS
    assert all("continued below" in part.blocks[0]["text"] for part in parts[:-1])
    assert [len(part.blocks) > 1 for part in parts] == [False] * (len(parts) - 1) + [True]


def test_a_failure_names_step_reason_and_what_to_do() -> None:
    request = ask_of(work("a", "error", reason="r"), failure=Failure("Do a", "no key", "Set one."), concluded_at=1002.0)
    shown = dump_checked_blocks(render_failure(job_of(request), request))
    assert "*I could not answer this.*\\nno key\\nSet one." in shown
    assert "*Failed:*" not in shown, "the one part that there is was named"
    several = dump_checked_blocks(render_failure(job_of(two := two_parts(request)), two))
    assert "*Do a:* no key\\nSet one." in several
    assert "*Done:* Do b" in several


def test_a_failure_names_the_files_that_could_not_be_had_and_what_nobody_can_do() -> None:
    request = ask_of(
        work("a", "error", reason="r"), failure=Failure("Do a", "no key", ""), file_faults=("b.csv is too large.",)
    )
    assert request.run.plan is not None
    request = change_request(request, plan=request.run.plan.model_copy(update={"missing": ("read c.txt",)}))
    shown = dump_checked_blocks(render_failure(job_of(request), request))
    assert "*Missing from the start:*\\n• b.csv is too large.\\n• nobody in the crew can read c.txt" in shown
    assert list_answer_gaps(request, request.run)[:2] == list_unfillable_gaps(request, request.run)


def two_parts(request: RequestState) -> RequestState:
    done = work("b", "complete")
    return replace(request, subtasks=MappingProxyType({**request.subtasks, "b": done}))


def test_a_stop_leaves_a_report() -> None:
    request = ask_of(
        work("a", "complete"), work("b", "in_progress"), work("c"), cancelled_by="U0000000A", failure=Failure("j", "s")
    )
    shown = dump_checked_blocks(render_cancellation(job_of(request), request))
    assert "*Stopped* by <@U0000000A>." in shown
    assert "*Done:* Do a\\n*Not finished:* Do b\\n*Left:* Do c" in shown
    written = ask_of(work("a", "complete"), cancelled_by="U0000000A", failure=Failure("j", "s"))
    assert "the answer was being written" in dump_checked_blocks(render_cancellation(job_of(written), written))
    assert "the answer" not in shown
    unplanned = ask_of(cancelled_by="U0000000A", failure=Failure("j", "s"))
    assert "No plan was made yet" in dump_checked_blocks(render_cancellation(job_of(unplanned), unplanned))


def test_status_lists_and_tells() -> None:
    lines = [JobLine(f"J{n}", "input_required", EVIL, "C1", 1.0) for n in range(30)]
    assert "1 to 10 of 30" in dump_checked_blocks(render_job_list(select_page(lines, 1), "U0000000A"))
    assert "21 to 30 of 30" in dump_checked_blocks(render_job_list(select_page(lines, 9), "U0000000A")), (
        "a page beyond the end is the last"
    )
    assert "no jobs yet" in dump_checked_blocks(render_job_list(select_page([], 1), "U0000000A"))
    request = ask_of(work("a", "complete", started_at=1.0, ended_at=2.0), work("b", "in_progress", started_at=3.0))
    shown = dump_checked_blocks(render_job_status(job_of(request), 5.0, "U0000000A"))
    assert "Do b · analyst · under way · 2.0 s so far" in shown


def test_status_says_what_the_thread_says() -> None:
    ana, ben = "U0000000A", "U0000000B"

    def words(reader: str, state: str, **more: Any) -> str:
        return dump_checked_blocks(
            render_job_list(select_page([JobLine("J1", state, "t", "C1", 1.0, **more)], 1), reader)
        )

    assert ":white_check_mark: `J1` t · done · " in words(ana, "completed")
    in_part = words(ana, "completed", is_partial=True)
    assert ":warning: `J1` t · done in part · " in in_part
    assert "white_check_mark" not in in_part
    assert "t · waiting for you · " in words(ana, "input_required", awaited_people=(ana,))
    assert f"t · waiting for <@{ana}> · " in words(ben, "input_required", awaited_people=(ana,))
    assert "t · stopped · " in words(ana, "cancelled")
    asks = ask_of(question_work(started_at=1.0), state="input_required")
    assert "analyst · waiting for you" in dump_checked_blocks(render_job_status(job_of(asks), 5.0, ana))
    assert f"asked by <@{ana}> · waiting for <@{ana}>" in dump_checked_blocks(render_job_status(job_of(asks), 5.0, ben))
    gap = ask_of(
        work("a", "complete", result=Result(summary="s", content="", gaps=("g",))), state="completed", answer="x"
    )
    shown = dump_checked_blocks(render_job_status(job_of(gap), 5.0, ana))
    assert ":warning: *Done in part" in shown
    assert "Do a · analyst · brought nothing" in shown
    stopped = ask_of(
        work("a", "in_progress", started_at=1001.0), cancelled_by=ben, failure=Failure("j", "s"), concluded_at=1004.0,
        state="cancelled", ended_at=1005.0,
    )  # fmt: skip
    shown = dump_checked_blocks(render_job_status(job_of(stopped), 9999.0, ana))
    assert "Stopped after 4.0 s" in shown, "as the card says"
    assert "Do a · analyst · stopped · 3.0 s" in shown, "its time ended with it"


def log_of(*events: ev.Event) -> list[LogEntry]:
    return [LogEntry(seq, ev.dump_event(event)) for seq, event in enumerate(events, 1)]


def test_a_thumb_is_in_the_timeline() -> None:
    asked = ev.RequestAdded(at=1.0, place=PLACE, request=Request(id="100.1", user="U0000000A", text="t", at=1.0))
    thumb = ev.FeedbackGiven(at=3.0, request="100.1", user="U0000000A", good=False)
    shown = render_timeline(job_of(ask_of()).id, list_steps(log_of(asked, thumb)))
    assert "+2.0s  U0000000A found the answer bad" in shown


def test_a_timeline_is_short_and_readable() -> None:
    request = Request(id="100.1", user="U1", text="do it", at=1000.0)
    entries = [
        *log_of(
            ev.RequestAdded(at=1000.0, place=PLACE, request=request),
            ev.AttemptStarted(at=1001.5, request="100.1", subtask="a", attempt=1, specialist="analyst", tier="fast"),
            ev.TurnTaken(
                at=1002.0, request="100.1", subtask="a", attempt=1, turn={"text": "secret", "stop": "end", "usage": {}}
            ),
            ev.Posted(at=1003.0, request="100.1", key="100.1:answer", ts="1.2"),
        ),
        LogEntry(5, "not json"),
    ]
    job = Job(place=PLACE, requests=(RequestState(spec=request),))
    assert render_timeline(job.id, list_steps(entries)).split("\n") == [
        f"Job {job.id}, 5 events",
        "    +0.0s  asked by U1: do it",
        "    +1.5s  a: analyst starts (attempt 1, fast)",
        "    +3.0s  posted the outcome",
        "        ?  an entry that this version cannot read",
    ]
    many = log_of(*(ev.CancelRequested(at=float(n), user=EVIL) for n in range(500)))
    shown = render_timeline(job.id, list_steps(many))
    assert "lines left out" in shown
    assert len(shown.split("\n")) == 62
    assert "<!channel>" not in dump_checked_blocks(render_trace(job.id, shown, "in a file"))


def test_what_the_requester_is_told_alone_is_valid() -> None:
    request = make_answered_request()
    job = job_of(request)
    for end in (
        *render_answer(job, request, "m"),
        *render_answer(job, make_answered_request(answer="word " * 9000), "m")[:1],
    ):
        shown = dump_checked_blocks(render_undeliverable_end(job, EVIL, end))
        assert f"/leadhand trace {job.id}" in shown
        assert end.blocks[0] in render_undeliverable_end(job, EVIL, end).blocks, "what the thread should have shown"
        assert "feedback_buttons" not in shown, "they would be pressed in another thread"


def test_home_help_and_window_are_valid() -> None:
    lines = [JobLine(f"J{n}", "working", EVIL, "C1", 1.0) for n in range(30)]
    rows = [(make_section(render_job_line(line, "U0000000A")), make_context("more")) for line in lines] * 3
    part = HomeList("Under way", ListPage(tuple(rows), 1, 9, 90), "None.")
    full = render_home([("a", part), ("b", HomeList("Recent", select_page([], 1))), ("c", "away")])
    check_view(full)
    assert len(full["blocks"]) <= 100
    assert "more of these" in str(full)
    assert "Recent" not in str(full)
    check_view(render_home([]))
    check_view(render_note_window("closed"))
    check_view(render_start_job_modal("x" * 9000, "{}"))
    check_view(render_start_job_modal("", "{}"))
    dump_checked_blocks(render_help(list_usage_lines(SUBCOMMANDS), list_help_words(SPOKEN_COMMANDS)))
    dump_checked_blocks(render_refusal("no"))


def test_no_view_lets_hostile_words_through() -> None:
    attached = Attachment(file_id="F1", name=EVIL)
    spec = Request(id="100.1", user="U0000000A", text=EVIL, at=1.0, attachments=(attached,))
    asked = Question(number=1, message=EVIL, options=(EVIL, "b"), asked_at=1.0)
    finding = Finding(message=EVIL, source=EVIL)
    result = Result(summary=EVIL, content=EVIL, findings=(finding,), gaps=(EVIL,))
    subtask = Subtask(id="a", title=EVIL, intent=EVIL, specialist="analyst")
    states: tuple[SubtaskStatus, ...] = ("complete", "error", "skipped", "in_progress", "pending", "input_required")
    subtasks = {
        state: SubtaskState(
            spec=subtask.model_copy(update={"id": state}),
            specialist="analyst",
            state=state,
            reason=EVIL,
            result=result if state == "complete" else None,
            question=asked if state == "input_required" else None,
        )
        for state in states
    }
    plan = Plan(goal=EVIL, subtasks=(subtask,))
    request = RequestState(
        spec=spec,
        run=PlanRun(plan=plan, answer=EVIL, failure=Failure(EVIL, EVIL, EVIL), concluded_at=2.0),
        subtasks=MappingProxyType(subtasks),
        file_faults=(EVIL,),
    )
    job = job_of(request)
    in_doubt = change_request(doubtful(EVIL, EVIL), cancelled_by="U0000000A", failure=Failure(EVIL, EVIL, EVIL))
    messages = [
        render_plan_card(job, request, 3.0),
        render_plan_card(
            job, change_request(request, plan=None, subtasks=MappingProxyType({}), answer=None, failure=None), 3.0
        ),
        render_question(job, change_request(request, answer=None, failure=None), "input_required"),
        render_question(job, change_request(in_doubt, failure=None), "a"),
        render_question(
            job, replace(change_request(request, plan=None, answer=None, failure=None), question=asked), ""
        ),
        render_plan_card(job, change_request(request, plan=None, subtasks=MappingProxyType({}), failure=None), 3.0),
        render_answered_question(EVIL, QuestionAnswer(asked, "U0000000A", EVIL, 1.0)),
        render_dropped_question(EVIL, asked_of(in_doubt)),
        render_cancellation(job, in_doubt),
        render_failure(job, in_doubt),
        *render_answer(job, request, EVIL),
        render_failure(job, request),
        render_cancellation(job, replace(request, cancelled_by="U0000000A")),
        render_refusal(EVIL),
        render_job_list(select_page([JobLine("J1", EVIL, EVIL, "C1", 1.0)], 1), "U0000000A"),
        render_job_status(job, 3.0, "U0000000A"),
    ]
    for message in messages:
        dump_checked_blocks(message)
        marked = [message.text, *_texts(list(message.blocks), {"mrkdwn", "markdown"})]
        for text in marked:
            assert not re.search(r"<!(?!date)|<@U0000000A> &(?!amp;|lt;)|\]\(", text)
            assert not re.search(r"(?<![`./\w])(?:https://)?evil\.com", text)
        for text in [*marked, *_texts(list(message.blocks), {"plain_text", "text"})]:
            assert "\u202e" not in text


def _texts(node: Any, kinds: set[str]) -> list[str]:
    """The texts of these types, however deep."""
    if isinstance(node, dict):
        own = [node["text"]] if node.get("type") in kinds else []
        return own + [text for each in node.values() for text in _texts(each, kinds)]
    return [text for each in node for text in _texts(each, kinds)] if isinstance(node, list) else []


def test_a_paragraph_that_is_cut_leaves_no_code_open() -> None:
    cut = make_section("x" * (SECTION_CHAR_LIMIT - 20) + " `https://evil.com/a/b/c`")["text"]["text"]
    assert "evil" not in cut
    assert len(cut) <= SECTION_CHAR_LIMIT


def test_many_lines_take_as_many_paragraphs_as_they_need() -> None:
    blocks = make_sections(f"{number} " + "x" * 400 for number in range(20))
    assert len(blocks) == 3
    assert [int(line.split()[0]) for block in blocks for line in block["text"]["text"].split("\n")] == list(range(20))
    many = ask_of(*(work(f"s{n}", "error", title=f"{n} " + "y" * 100, reason="z" * 100) for n in range(20)))
    assert "19 yyy" in dump_checked_blocks(render_job_status(job_of(many), 5.0, "U0000000A"))


def test_a_time_can_be_read_where_slack_does_not_show_it() -> None:
    assert render_moment(1795294727.9) == "<!date^1795294727^{date_short_pretty} at {time}|2026-11-21 20:58 UTC>"


def test_a_buttons_value_that_slack_would_refuse_is_a_bug() -> None:
    with pytest.raises(ValueError, match="2000 characters"):
        make_button("x", "a", "x" * 2001)


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (-1, "0.0 s"),
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (65, "1 min 5 s"),
        (3600, "1 h"),
        (7800, "2 h 10 min"),
    ],
)
def test_durations_in_words(duration: float, words: str) -> None:
    assert format_duration(duration) == words
