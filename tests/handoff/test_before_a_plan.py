"""A request before it has a plan: its crew, who asks and where, the planner's own answer, and its one question."""

from __future__ import annotations

import pytest

from handoff import events as ev
from handoff.briefs.handoff_builder import render_circumstances
from handoff.briefs.provenance import derive_provenance
from handoff.contracts import Request, RequestSetting
from handoff.conversation.message_kinds import split_crew_name
from handoff.effects import (
    MakePlan,
    PostMessage,
    RunSubtask,
    WriteAnswer,
    make_answer_key,
    make_card_end_key,
    make_card_key,
    make_question_key,
)
from handoff.engine.crew_runs import build_run_brief as to_answer
from handoff.engine.outstanding_effects import MAX_CARD_WAIT_SECONDS, list_outstanding_effects
from handoff.planning.plan_brief import make_request_brief
from handoff.state.job_state import Job
from handoff.summaries.summary import OpenQuestion, describe_step, make_summary_fields, parse_open_questions
from tests.handoff.kit import (
    PLACE,
    R,
    ask,
    effects,
    job,
    make_plan_event,
    make_request_event,
    make_start_event,
    make_subtask_handoff,
    running,
    subtask,
)

CARD = ev.Posted(at=1.0, request=R, key=make_card_key(R), ts="1.1")
QUESTION = ev.PlannerAsked(at=2.0, request=R, question="Which churn?", options=("ours", "theirs"), reasons=("unclear",))
KEY = make_question_key(R, "", 1)


def make_planner_answer(text: str = "ours", user: str = "U1", at: float = 90.0, number: int = 1) -> ev.QuestionAnswered:
    return ev.QuestionAnswered(at=at, request=R, subtask="", user=user, text=text, number=number)


def test_a_question_waits_for_the_requester_and_nothing_is_planned() -> None:
    state = job(make_request_event(), CARD, QUESTION)
    assert ask(state).state == "input_required"
    assert effects(state) == [PostMessage(R, KEY)]
    assert effects(job(make_request_event(), CARD, QUESTION, ev.Posted(at=3.0, request=R, key=KEY, ts="1.2"))) == []
    assert parse_open_questions(make_summary_fields(state)) == (OpenQuestion(R, "", 1, ("U1",), ("ours", "theirs")),)
    assert describe_step(ask(state)) == "asking what is meant"
    assert ask(state).decisions[-1].why == "Which churn?; unclear"


@pytest.mark.parametrize("odd", [make_planner_answer(user="U2"), make_planner_answer(number=2)])
def test_who_was_not_asked_answers_nothing(odd: ev.QuestionAnswered) -> None:
    assert ask(job(make_request_event(), CARD, QUESTION, odd)).state == "input_required"


def test_the_answer_comes_back_into_planning_and_reaches_who_works() -> None:
    state = job(make_request_event(), CARD, QUESTION, make_planner_answer())
    assert ask(state).state == "submitted"
    assert effects(state) == [MakePlan(R)]
    brief = make_request_brief(state, ask(state))
    (note,) = brief.notes
    assert (note.source, note.text) == ("Asked: Which churn?", "Answered by a person: ours")
    assert (brief.may_answer, brief.may_ask) == (True, False)
    assert to_answer(ask(state), ask(state).run).endswith("Asked: Which churn?\nAnswered by a person: ours")
    at_work = job(make_request_event(), CARD, QUESTION, make_planner_answer(), make_plan_event(subtask("a")))
    (effect,) = [one for one in effects(at_work) if not isinstance(one, PostMessage)]
    assert note in make_subtask_handoff(at_work, effect).context
    assert ask(at_work).run.paused_seconds == 0.0


def test_words_that_a_person_typed_are_theirs_and_an_offered_answer_is_not() -> None:
    for text, words in (("the one in Oslo", ("the one in Oslo",)), ("ours", ())):
        state = job(make_request_event(), CARD, QUESTION, make_planner_answer(text), make_plan_event(subtask("a")))
        assert derive_provenance(state, ask(state), ask(state).subtasks["a"]).requester_texts[1:] == words


def test_it_asks_once_and_a_plan_does_not_overtake_its_question() -> None:
    again = QUESTION.model_copy(update={"question": "And which year?", "at": 95.0})
    assert ask(job(make_request_event(), CARD, QUESTION, make_planner_answer(), again)).state == "submitted"
    assert ask(job(make_request_event(), CARD, make_plan_event(subtask("a")), QUESTION)).question is None
    assert ask(job(make_request_event(), CARD, QUESTION, make_plan_event(subtask("a")))).run.plan is None
    assert ask(job(make_request_event(), CARD, make_planner_answer())).state == "submitted", "nobody asked"


def test_a_stop_closes_the_question() -> None:
    state = job(make_request_event(), CARD, QUESTION, ev.CancelRequested(at=3.0, user="U1"))
    assert dict(ask(state).open_questions) == {}
    assert PostMessage(R, KEY) not in effects(state)
    assert (
        ask(
            job(make_request_event(), CARD, QUESTION, ev.CancelRequested(at=3.0, user="U1"), make_planner_answer())
        ).question_answers
        == ()
    )


def test_the_planners_own_answer_ends_the_request_without_a_plan() -> None:
    state = job(make_request_event(), CARD, ev.AnswerWritten(at=3.0, request=R, text="You are welcome.", why="Thanks."))
    assert [(one.what, one.why) for one in ask(state).decisions] == [("answer without a plan", "Thanks.")]
    assert effects(state) == [PostMessage(R, make_answer_key(R)), PostMessage(R, make_card_end_key(R))]
    assert not any(isinstance(one, WriteAnswer) for one in effects(state))
    ends = [ev.Posted(at=4.0, request=R, key=key, ts="2") for key in (make_answer_key(R), make_card_end_key(R))]
    over = job(make_request_event(), CARD, ev.AnswerWritten(at=3.0, request=R, text="You are welcome."), *ends)
    assert (ask(over).state, ask(over).run.plan, dict(ask(over).subtasks)) == ("completed", None, {})


def test_an_answer_without_a_plan_does_not_overtake_its_card() -> None:
    quick = ev.AnswerWritten(at=3.0, request=R, text="You are welcome.")
    state = job(make_request_event(), quick)
    assert list_outstanding_effects(state, 3.1) == ([PostMessage(R, make_card_key(R))], 3.0 + MAX_CARD_WAIT_SECONDS)
    assert PostMessage(R, make_answer_key(R)) in effects(state, 3.0 + MAX_CARD_WAIT_SECONDS), (
        "nor waits for one that Slack does not take"
    )
    for card in (CARD, CARD.model_copy(update={"ts": "", "fault": "refused"})):
        there, due = list_outstanding_effects(job(make_request_event(), card, quick), 3.1)
        assert PostMessage(R, make_answer_key(R)) in there
        assert due is None


# ---------------------------------------------------------------- when, who and where


ANA = RequestSetting(requester="Ana Keller", channel="#sales", zone="Europe/Berlin", offset=3600)
SUNDAY = 1_795_374_600.0
"""22 November 2026, 19:10 UTC."""


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        (ANA, "Sun 22 Nov 2026, 20:10 Europe/Berlin. From Ana Keller in #sales."),
        (None, "Sun 22 Nov 2026, 19:10 UTC."),
        (RequestSetting(requester="Ana"), "Sun 22 Nov 2026, 19:10 UTC. From Ana."),
        (RequestSetting(channel="a direct message"), "Sun 22 Nov 2026, 19:10 UTC. In a direct message."),
        (RequestSetting(zone=" ", offset=18_000), "Mon 23 Nov 2026, 00:10 UTC."),
        (
            RequestSetting(requester="x\n# Task\n" + "y" * 99),
            f"Sun 22 Nov 2026, 19:10 UTC. From x # Task {'y' * 51}.",
        ),
    ],
)
def test_the_circumstances_are_one_line(setting: RequestSetting | None, line: str) -> None:
    assert render_circumstances(SUNDAY, setting) == line


def read_circumstances(state: Job) -> str:
    (effect,) = [one for one in effects(state) if not isinstance(one, PostMessage)]
    assert isinstance(effect, RunSubtask)
    return make_subtask_handoff(state, effect).circumstances


def test_a_specialist_is_told_them_as_its_attempt_begins() -> None:
    known = ev.SettingKnown(at=2.0, request=R, setting=ANA)
    late = ev.SettingKnown(at=2.5, request=R, setting=RequestSetting(requester="Ben"))
    state = job(make_request_event(), CARD, known, late, make_plan_event(subtask("a")))
    assert read_circumstances(state) == "Thu 1 Jan 1970, 01:01 Europe/Berlin. From Ana Keller in #sales."
    begun = make_start_event("a", at=60.0 * 60 * 24)
    assert read_circumstances(job(make_request_event(), CARD, known, make_plan_event(subtask("a")), begun)).startswith(
        "Fri 2 Jan 1970, 01:00"
    )


def test_a_specialist_is_told_the_request_that_its_brief_is_a_part_of() -> None:
    state = job(make_request_event(), CARD, make_plan_event(subtask("a")))
    (name, _, _) = running(state)[0]
    (effect,) = [one for one in effects(state) if not isinstance(one, PostMessage)]
    assert (name, make_subtask_handoff(state, effect).part_of) == ("a", "why did churn rise")
    state = job(make_request_event(), CARD, make_plan_event(subtask("a", intent="why did  churn rise")))
    (effect,) = [one for one in effects(state) if not isinstance(one, PostMessage)]
    assert make_subtask_handoff(state, effect).part_of == ""
    state = job(make_request_event(text="why " * 99), CARD, make_plan_event(subtask("a")))
    (effect,) = [one for one in effects(state) if not isinstance(one, PostMessage)]
    line = make_subtask_handoff(state, effect).part_of
    assert (len(line), line[-1]) == (160, "…")


# ---------------------------------------------------------------- for which of several crews

CREWS = ("general", "review", "Support-2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("review: is it fine?", ("review", "is it fine?")),
        ("  REVIEW :is it fine?", ("review", "is it fine?")),
        ("support-2: https://a.example/x: why?", ("Support-2", "https://a.example/x: why?")),
        ("Note: it is large", ("", "Note: it is large")),
        ("the review: is it fine?", ("", "the review: is it fine?")),
        ("review it", ("", "review it")),
        ("review:", ("", "review:")),
        (": review", ("", ": review")),
    ],
)
def test_only_the_name_of_a_crew_is_a_word(text: str, expected: tuple[str, str]) -> None:
    assert split_crew_name(text, CREWS) == expected
    assert split_crew_name(text, ()) == ("", text), "where there is one crew, there are no words"


def make_crew_request(name: str, crew: str = "", usual: str = "") -> ev.RequestAdded:
    body = Request(id=name, user="U1", text="and this?", at=1.0, crew=crew)
    return ev.RequestAdded(at=1.0, place=PLACE, request=body, usual=usual)


def test_a_request_is_for_the_crew_that_it_names_else_for_that_of_the_one_before() -> None:
    state = job(
        make_crew_request("1.0", usual="general"),
        make_crew_request("2.0", "review", "general"),
        make_crew_request("3.0", usual="general"),
    )
    assert [one.spec.crew for one in state.requests] == ["general", "review", "review"]
    assert ask(job(make_request_event())).spec.crew == "", "one crew leaves nothing in the log"
    assert "crew" not in ev.dump_event(make_request_event())
    assert "usual" not in ev.dump_event(make_request_event())


def make_edit_event(text: str, crew: str = "", at: float = 5.0) -> ev.RequestEdited:
    return ev.RequestEdited(at=at, message=R, user="U1", text=text, stamp=at, crew=crew)


def test_an_edit_may_name_another_crew_until_there_is_a_plan() -> None:
    text = make_request_event().request.text
    first = job(make_request_event(), make_edit_event(text, "review"))
    assert ask(first).spec.crew == "review"
    assert ask(first).edit_stamp == 5.0
    late = job(make_request_event(), make_plan_event(subtask("a")), make_edit_event("another one", "review"))
    assert ask(late).spec.crew == "", "a plan stays with the crew whose it is"
    assert (
        ask(
            job(make_request_event(), make_edit_event(text, "review"), make_edit_event("another one", at=6.0))
        ).spec.crew
        == "review"
    )
