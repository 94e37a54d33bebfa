"""What people say in a thread: what free rules make of it, what it answers, who may correct or withdraw what."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from handoff import events as ev
from handoff.contracts import Plan, PlanChange, Request, Subtask
from handoff.conversation import message_kinds
from handoff.effects import (
    AcknowledgeMessage,
    ClassifyMessage,
    MakePlan,
    RevisePlan,
    make_answer_key,
    make_card_end_key,
    make_card_key,
)
from handoff.engine import thread_messages
from handoff.engine.corrections import CORRECTION_SOURCE, MAX_CORRECTIONS
from handoff.engine.engine import apply_event
from handoff.engine.thread_messages import (
    FOLLOW_UP_QUESTION_SECONDS,
    MAX_FOLLOW_UP_SECONDS,
    classify_by_rules,
    find_waiting_message,
    is_plain_answer,
)
from handoff.events import MessageAim
from handoff.state.job_state import Job
from handoff.state.state_values import HeardMessage
from tests.handoff.kit import (
    MEMBERS,
    R,
    ask,
    effects,
    job,
    make_escalation_event,
    make_plan_event,
    make_request_event,
    make_result_event,
    make_start_event,
    require,
    running,
    subtask,
)

CARD = ev.Posted(at=1.5, request=R, key=make_card_key(R), ts="1.1")
AT_WORK = (make_request_event(), CARD, make_plan_event(subtask("a"), subtask("b", "a")), make_start_event("a"))
ENDED_LOG = (
    make_request_event(),
    CARD,
    ev.AnswerWritten(at=5.0, request=R, text="The note.", why="It is short."),
    ev.Posted(at=6.0, request=R, key=make_card_end_key(R), ts="1.1"),
    ev.Posted(at=6.0, request=R, key=make_answer_key(R), ts="1.2"),
)
QUESTION = ev.PlannerAsked(at=2.0, request=R, question="Which tone?", options=("Formal", "Friendly"))


def make_heard(text: str, name: str = "2.0", user: str = "U1", *, is_mentioned: bool = False) -> ev.MessageHeard:
    return ev.MessageHeard(at=10.0, message=Request(id=name, user=user, text=text, at=10.0), mentioned=is_mentioned)


def make_sorted(aim: MessageAim, name: str = "2.0") -> ev.MessageSorted:
    return ev.MessageSorted(at=11.0, message=name, aim=aim)


def make_heard_and_sorted(text: str, aim: MessageAim, name: str = "2.0", user: str = "U1") -> tuple[ev.Event, ev.Event]:
    return make_heard(text, name, user), make_sorted(aim, name)


def outcome(state: Job, name: str = "2.0") -> str:
    one = find_waiting_message(state, name)
    return one.outcome if one is not None else "gone"


def test_a_message_is_sorted_once_then_acknowledged_once() -> None:
    state = job(*ENDED_LOG, make_heard("shorter"))
    (effect,) = effects(state)
    assert isinstance(effect, ClassifyMessage)
    assert (effect.text, effect.aims, effect.default_aim) == ("shorter", ("request", "thanks", "nothing"), "unknown")
    state = job(
        *ENDED_LOG, make_heard("shorter"), make_heard("shorter"), make_sorted("request"), make_sorted("nothing")
    )
    assert effects(state) == [AcknowledgeMessage("2.0", R)]
    assert outcome(state) == "request"
    assert (
        effects(
            job(
                *ENDED_LOG, *make_heard_and_sorted("shorter", "request"), ev.MessageAcknowledged(at=12.0, receipt="2.0")
            )
        )
        == []
    )
    assert effects(job(*ENDED_LOG, *make_heard_and_sorted("ok", "nothing"))) == []
    assert outcome(job(*ENDED_LOG, make_heard("hm", is_mentioned=True), make_sorted("nothing"))) == "request", (
        "it was mentioned"
    )


def test_what_is_for_others_is_only_counted() -> None:
    others = ev.MessageHeard(at=10.0, message=Request(id="2.0", user="U1", text="", at=10.0), others=True)
    state = job(*ENDED_LOG, others)
    assert effects(state) == []
    assert (state.thread_activity.speakers, state.thread_activity.is_for_others) == (("U1",), True)
    posted = ev.Posted(at=20.0, request=R, key="x", ts="3.0")
    assert job(*ENDED_LOG, others, posted).thread_activity.speakers == ()


def test_a_new_request_waits_for_the_one_under_way_and_that_is_said() -> None:
    second = make_request_event("5.0", at=9.0)
    state = job(*AT_WORK, second)
    assert AcknowledgeMessage("5.0+", R) in effects(state)
    assert job(*ENDED_LOG, second).pending_messages == ()
    assert job(*AT_WORK, make_request_event("5.0", at=9.0, refusal="No.")).pending_messages == ()


def test_a_correction_is_part_of_the_request_and_reaches_who_works() -> None:
    state = job(*AT_WORK, *make_heard_and_sorted("in euros please", "correction"))
    now = ask(state)
    assert now.text.endswith("Said since then, by the same person: in euros please")
    assert now.spec.text == "why did churn rise"
    one = require(find_waiting_message(state, "2.0"))
    assert (one.outcome, one.told_count, one.waiting_count) == ("applied", 1, 1)
    assert [note.text for note in now.subtasks["a"].answer_notes if note.source == CORRECTION_SOURCE] == [
        "in euros please"
    ]


def test_the_planner_revises_what_waits_and_other_triggers_keep_their_number() -> None:
    log = (*AT_WORK, *make_heard_and_sorted("in euros please", "correction"))
    state = job(*log)
    (revise,) = [effect for effect in effects(state) if isinstance(effect, RevisePlan)]
    assert (revise.within, revise.reason) == ("", "in euros please")
    plan = require(ask(state).run.plan)
    new = plan.subtasks[1].model_copy(update={"intent": "Do it in euros"})
    changes = (PlanChange(kind="rebriefed", subtask="b", why="Euros."),)
    of = {"plan": Plan(goal=plan.goal, subtasks=(plan.subtasks[0], new)), "changes": changes}
    event = ev.PlanRevised(at=12.0, request=R, subtask=revise.subtask, **of)
    after = ask(job(*log, event))
    assert after.subtasks["b"].spec.intent == "Do it in euros"
    assert (after.revision_count, after.replan_triggers) == (0, ()), "people's words count as no revision"
    kept = job(*log, event.model_copy(update={"plan": None}))
    assert ("", "plan kept") in [(one.subtask, one.what) for one in ask(kept).decisions]
    late = job(*log, make_result_event("a").model_copy(update={"corrected": 1}), event)
    assert ask(late).subtasks["b"].spec.intent == "Do it in euros", "b waited for the planner"


def test_a_result_that_was_made_without_the_correction_is_sent_back() -> None:
    """An attempt's beginning is reported after its handoff is made, so a correction may come between the two."""
    correction = make_heard_and_sorted("in euros please", "correction")
    for log in ((*AT_WORK, *correction), (*AT_WORK[:-1], *correction, AT_WORK[-1])):
        wanting = require(ask(job(*log, make_result_event("a"))).subtasks["a"].rejected_candidate)
        assert wanting.faults == ("The requester has said since: “in euros please” It was not taken in.",)
    made = make_result_event("a").model_copy(update={"corrected": 1})
    assert ask(job(*AT_WORK, *correction, made)).subtasks["a"].state == "complete"


def test_a_correction_before_the_plan_has_it_planned_anew() -> None:
    before = (make_request_event(), CARD, *make_heard_and_sorted("in euros please", "correction"))
    assert MakePlan(R, correction_count=1) in effects(job(*before))
    assert ask(job(*before, make_plan_event(subtask("a")))).run.plan is None, "that planner did not know"
    assert ask(job(*before, QUESTION)).question is None
    rejected = ev.PlanRejected(at=12.0, request=R, faults=("It is vague.",))
    assert ask(job(*before, rejected)).run.rejections == ()
    knows = make_plan_event(subtask("a"), corrected=1)
    state = job(*before, knows)
    assert running(state) == [("a", 1, "analyst")]
    assert outcome(state) == "applied"


def test_only_the_requester_corrects_and_not_for_ever() -> None:
    assert outcome(job(*AT_WORK, *make_heard_and_sorted("in euros", "correction", user="U2"))) == "request"
    many = [
        event
        for number in range(MAX_CORRECTIONS + 1)
        for event in make_heard_and_sorted("no", "correction", f"2.{number}")
    ]
    state = job(*AT_WORK, *many)
    assert ask(state).correction_count == MAX_CORRECTIONS
    assert outcome(state, f"2.{MAX_CORRECTIONS}") == "request"
    assert outcome(job(*ENDED_LOG, *make_heard_and_sorted("in euros", "correction"))) == "request", (
        "there is nothing to correct"
    )


def test_rules_while_something_is_under_way() -> None:
    def rule(event: ev.MessageHeard, *log: ev.Event) -> MessageAim | None:
        state = job(*(log or AT_WORK), event)
        return classify_by_rules(state, state.pending_messages[-1])

    assert rule(make_heard("in euros")) is None
    assert rule(make_heard("in euros", user="U2")) == "nothing"
    assert rule(make_heard("in euros", user="U2", is_mentioned=True)) == "request"
    done = (*AT_WORK, make_result_event("a"), make_start_event("b", at=6.0), make_result_event("b", at=7.0))
    assert rule(make_heard("in euros", is_mentioned=True), *done) == "request", "the answer is being written"
    assert rule(make_heard("in euros"), *done) is None
    open_one = (make_request_event(), CARD, QUESTION)
    assert rule(make_heard("Formal"), *open_one) == "answer"
    assert rule(make_heard("use euros, not dollars", is_mentioned=True), *open_one) is None


def test_an_answer_and_a_question_asked_back() -> None:
    log = (make_request_event(), CARD, QUESTION)
    state = job(*log, make_heard("an old friend's"))
    (effect,) = [one for one in effects(state) if isinstance(one, ClassifyMessage)]
    assert effect.aims == ("answer", "explain", "correction", "request", "thanks", "nothing")
    assert effect.default_aim == "answer"
    answered = job(*log, *make_heard_and_sorted("an old friend's", "answer"))
    assert [one.text for one in ask(answered).question_answers] == ["an old friend's"]
    assert outcome(answered) == "taken"
    back = job(*log, *make_heard_and_sorted("what do you mean?", "explain"))
    assert ask(back).question is not None
    assert outcome(back) == "explained"
    (asks_back,) = [one for one in effects(job(*log, make_heard("which?"))) if isinstance(one, ClassifyMessage)]
    assert asks_back.default_aim == "explain"
    other = job(*log, *make_heard_and_sorted("use euros", "correction"))
    assert ask(other).question is not None
    assert ask(other).correction_count == 1
    gone = (*log, ev.QuestionAnswered(at=9.0, request=R, subtask="", user="U1", text="Formal"))
    assert outcome(job(*gone, *make_heard_and_sorted("Friendly", "answer"))) == "gone"


def test_an_edited_request_is_corrected_or_answered_already() -> None:
    edit = ev.RequestEdited(at=12.0, message=R, user="U1", text="why did churn fall")
    state = job(*AT_WORK, edit)
    assert ask(state).spec.text == "why did churn fall"
    assert ask(state).correction_count == 1
    (one,) = state.pending_messages
    assert (one.outcome, one.message.id, one.told_count, one.waiting_count) == ("applied", R, 1, 1)
    same = ev.RequestEdited(at=12.0, message=R, user="U1", text="Why did  churn rise")
    assert ask(job(*AT_WORK, same)).correction_count == 0
    late = job(*ENDED_LOG, edit)
    assert ask(late).spec.text == "why did churn rise"
    assert [one.outcome for one in late.pending_messages] == ["too_late"]
    first, last = (edit.model_copy(update={"text": f"churn {stamp}", "stamp": stamp}) for stamp in (1.0, 2.0))
    assert ask(job(*AT_WORK, last, first)).spec.text == "churn 2.0", "they may come in any order"
    much_later = edit.model_copy(update={"at": 10_000.0})
    assert job(*ENDED_LOG, much_later).pending_messages == ()
    unknown = ev.RequestEdited(at=12.0, message="9.9", user="U1", text="x")
    assert job(*AT_WORK, unknown).pending_messages == ()
    waits = job(
        *AT_WORK, make_request_event("5.0", at=9.0), ev.RequestEdited(at=12.0, message="5.0", user="U1", text="other")
    )
    assert (waits.requests[1].spec.text, waits.pending_messages[-1].outcome) == ("other", "replaced")
    unsorted = job(
        *ENDED_LOG, make_heard("shorter"), ev.RequestEdited(at=12.0, message="2.0", user="U1", text="longer")
    )
    assert [one.message.text for one in unsorted.pending_messages] == ["longer"]


def test_a_deleted_request_is_withdrawn() -> None:
    gone = ev.RequestWithdrawn(at=12.0, message=R)
    state = job(*AT_WORK, gone)
    assert ask(state).is_withdrawn
    assert ask(state).cancelled_by == "U1"
    assert running(state) == []
    written = job(*AT_WORK[:2], ENDED_LOG[2], gone)
    assert ask(written).run.answer is None, "it was not posted yet"
    assert not ask(job(*ENDED_LOG, gone)).is_withdrawn
    posted = ev.Posted(at=6.0, request=R, key=make_answer_key(R), ts="1.2")
    assert not ask(job(*AT_WORK[:2], ENDED_LOG[2], posted, gone)).is_withdrawn, "people have seen it"
    assert job(*ENDED_LOG, make_heard("shorter"), ev.RequestWithdrawn(at=12.0, message="2.0")).pending_messages == ()
    twice = job(*AT_WORK, gone, gone)
    assert ask(twice).is_withdrawn


# ---------------------------------------------------------------- which of several questions

TITLES = {"place": "Find a place", "food": "Order the food", "time": "Set the time"}
OPTIONS = {"place": ["Oslo", "Bergen"], "food": ["Soup", "Fish"], "time": []}


def open_questions(*names: str) -> Job:
    parts = tuple(Subtask(id=name, title=TITLES[name], intent="Do it", specialist="analyst") for name in names)
    plan = ev.PlanProposed(at=2.0, request=R, plan=Plan(goal="Meet", subtasks=parts), members=MEMBERS)
    asks = [make_escalation_event(name, "ambiguous_input", message=f"{name}?", options=OPTIONS[name]) for name in names]
    return job(make_request_event(), plan, *(make_start_event(name) for name in names), *asks)


def add_reply(state: Job, text: str, user: str = "U1") -> Job:
    message = Request(id="5.0", user=user, text=text, at=6.0)
    return apply_event(state, ev.MessageHeard(at=6.0, message=message))


def sort(state: Job, aim: ev.MessageAim = "answer") -> Job:
    return apply_event(state, ev.MessageSorted(at=7.0, message="5.0", aim=aim))


def the_message(state: Job) -> HeardMessage:
    (one,) = state.pending_messages
    return one


@pytest.mark.parametrize(
    ("text", "subtask", "answer"),
    [
        ("Bergen", "place", "Bergen"),
        ("the fish please", "food", "the fish please"),
        ("Food: whatever", "food", "whatever"),
        ("find a place: Trondheim", "place", "Trondheim"),
        ("Set: at nine", "time", "at nine"),
        ("time: 9:30", "time", "9:30"),
    ],
)
def test_a_reply_is_for_the_question_that_it_names_or_whose_answers_it_chooses_from(
    text: str, subtask: str, answer: str
) -> None:
    state = sort(add_reply(open_questions("place", "food", "time"), text))
    assert the_message(state).outcome == "taken"
    answered = {
        name: [one.text for one in work.question_answers]
        for name, work in ask(state).subtasks.items()
        if work.question_answers
    }
    assert answered == {subtask: [answer]}


@pytest.mark.parametrize("text", ["nine", "Oslo and fish", "1", "the: same", "both of them, if you can"])
def test_a_reply_that_could_be_for_two_is_for_none_and_its_author_is_asked_which(text: str) -> None:
    state = sort(add_reply(open_questions("place", "food", "time"), text))
    assert the_message(state).outcome == "which"
    assert not any(subtask.question_answers for subtask in ask(state).subtasks.values())


def test_who_asks_back_is_asked_which_too_unless_it_is_named() -> None:
    for words, outcome, question in (("", "which", ""), ("food: ", "explained", "food")):
        found = the_message(sort(add_reply(open_questions("place", "food"), f"{words}what do you mean?"), "explain"))
        assert (found.outcome, found.question_subtask) == (outcome, question)


def test_the_only_question_takes_any_answer_of_those_it_is_for() -> None:
    state = sort(add_reply(open_questions("time"), "food: at nine"))
    assert [one.text for one in ask(state).subtasks["time"].question_answers] == ["food: at nine"]
    state = add_reply(open_questions("place"), "Oslo", user="U2")
    assert thread_messages.list_answerable_questions(state, the_message(state)) == []
    assert thread_messages.find_meant_question(state, the_message(state)) is None
    assert thread_messages.classify_by_rules(state, the_message(state)) == "nothing"


@pytest.mark.parametrize(
    ("text", "aim"), [("Fish", "answer"), ("I should say that we rather do not eat at all, it is too late", None)]
)
def test_free_rules_know_an_answer_to_any_of_them(text: str, aim: MessageAim | None) -> None:
    state = add_reply(open_questions("place", "food"), text)
    assert thread_messages.classify_by_rules(state, the_message(state)) == aim


# ---------------------------------------------------------------- what free rules make of messages

IDS = {"ana": "U1", "ben": "U2", "cleo": "U3"}
NAMES = {"ana": ("Ana Duarte", "ana"), "ben": ("Ben Okafor", "ben"), "cleo": ("Cleo Martin", "cleo")}
ANSWERED_LOG = (
    make_request_event(),
    ev.AnswerWritten(at=5.0, request=R, text="The note.", why="It is short."),
    *(ev.Posted(at=6.0, request=R, key=f"{R}:{kind}", ts="1.1") for kind in ("card", "card_end", "answer")),
)


def sorted_as(who: str, words: str, *before: ev.Event, at: float = 60.0, has_names: bool = True) -> MessageAim | None:
    """What the rules say of a message; `has_names`: the names of the others in the thread."""
    message = Request(id="9.0", user=IDS[who], text=words, at=at)
    state = job(*ANSWERED_LOG, *before, ev.MessageHeard(at=at, message=message))
    assert state.current_request is None
    names = [name for other, theirs in NAMES.items() if other != who for name in theirs]
    return classify_by_rules(state, state.pending_messages[-1], names if has_names else ())


def earlier(who: str, words: str, at: float = 50.0, *, others: bool = False) -> ev.MessageHeard:
    """An earlier message of the thread."""
    return ev.MessageHeard(at=at, message=Request(id=f"8.{at}", user=IDS[who], text=words, at=at), others=others)


def cases() -> list[tuple[str, str, str]]:
    """200 messages in five languages: who says it, what it is for, and the words.

    Ana asked for a note, and the bot has answered it within the last minutes. `request`: for the bot. `other`: for
    another person. `people`: for nobody in particular, or for all. `thanks`: a thank-you.
    """
    lines = (Path(__file__).parent / "heard" / "messages.txt").read_text(encoding="utf-8").splitlines()
    return [(who, kind, words) for who, kind, words in (line.split(" ", 2) for line in lines)]


RIGHT: dict[str, set[MessageAim | None]] = {
    "request": {"request", None},
    "other": {"nothing", None},
    "people": {"nothing", None},
    "thanks": {"thanks"},
}
"""What the rules may say; None leaves it to the dispatcher, which is never wrong of them."""


@pytest.mark.parametrize("has_names", [True, False])
def test_of_two_hundred_messages_none_is_taken_for_what_it_is_not(has_names: bool) -> None:  # noqa: FBT001
    found = [(kind, sorted_as(who, words, has_names=has_names), words) for who, kind, words in cases()]
    assert len(found) == 200
    assert [(kind, aim, words) for kind, aim, words in found if aim not in RIGHT[kind]] == []
    free = Counter(kind for kind, aim, _ in found if aim is not None)
    assert free["thanks"] == 29
    assert free["request"] >= 30
    assert free["other"] >= (41 if has_names else 0)


def test_who_was_asked_last_and_who_spoke_decide() -> None:
    to_ben = earlier("ana", "", others=True)
    assert sorted_as("ben", "the median is 3?", to_ben) == "nothing", "he was asked"
    assert sorted_as("ana", "and by region?", to_ben) is None, "the bot did not speak last"
    assert sorted_as("ana", "and by region?", earlier("ben", "too long")) is None
    assert sorted_as("ben", "shorter please", earlier("cleo", "hm")) == "nothing", "people talk among themselves"
    assert sorted_as("ben", "shorter please") is None, "he may mean the bot, which spoke last"
    assert sorted_as("ana", "and by region?") == "request"
    assert sorted_as("ana", "and by region?", earlier("ana", "hm")) == "request"


def test_time_makes_the_rules_careful() -> None:
    assert sorted_as("ana", "and by region?", at=6.0 + FOLLOW_UP_QUESTION_SECONDS) == "request"
    assert sorted_as("ana", "and by region?", at=7.0 + FOLLOW_UP_QUESTION_SECONDS) is None
    assert sorted_as("ana", "shorter", at=7.0 + MAX_FOLLOW_UP_SECONDS) == "nothing"


def test_names_are_called_at_the_beginning_or_the_end() -> None:
    names = ("Ben Okafor",)
    for text in ("Ben, can you?", "ben?", "Ben Okafor can you", "is it so, Ben?", "Benさん、いいですか"):
        assert message_kinds.is_addressed_to(text, names), text
    for text in ("Benefit or cost?", "ask Ben about it", "the Okafor file, shorter", "", "shorter"):
        assert not message_kinds.is_addressed_to(text, names), text
    assert not message_kinds.is_addressed_to("anything", ("", " "))


@pytest.mark.parametrize("text", ["", "?", "!!!", "thanks?", "thanks, shorter", ":x:", "🤔", "thanks for nothing"])
def test_these_are_no_thanks(text: str) -> None:
    assert not message_kinds.is_thanks(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Formal", True),
        ("friendly please, like a letter to a friend", True),
        ("2", True),
        ("Trondheim", True),
        ("what do you mean?", False),
        ("Formal?", False),
        ("use euros, not dollars", False),
    ],
)
def test_an_answer_without_a_doubt_names_an_option_or_is_a_word_or_two(text: str, plain: bool) -> None:  # noqa: FBT001
    assert is_plain_answer(text, ("Formal", "Friendly")) is plain
