"""The words of a request and its corrections stay apart: edits and deletions of either change that one alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff import events as ev
from handoff.briefs.handoff_builder import make_handoff
from handoff.briefs.provenance import list_requester_words
from handoff.contracts import Note, Request
from handoff.effects import ClassifyMessage
from handoff.engine.corrections import CORRECTION_SOURCE, MAX_CORRECTIONS
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.engine.thread_messages import SORTING_DELAY_SECONDS
from handoff.state.job_state import CORRECTIONS_HEADING, Job
from tests.handoff.kit import R, ask, effects, job, make_plan_event, make_request_event, make_start_event, subtask

AT_WORK = (make_request_event(), make_plan_event(subtask("a"), subtask("b", "a")), make_start_event("a"))


def correction(number: int, text: str) -> tuple[ev.Event, ev.Event]:
    """A reply that the dispatcher takes for a correction."""
    name = f"2.{number}"
    message = Request(id=name, user="U1", text=text, at=10.0)
    return ev.MessageHeard(at=10.0, message=message), ev.MessageSorted(at=11.0, message=name, aim="correction")


def edit(message: str, text: str, stamp: float) -> ev.RequestEdited:
    return ev.RequestEdited(at=20.0 + stamp, message=message, user="U1", text=text, stamp=stamp)


def notes(state: Job) -> str:
    """All that anybody who works on the request is told, now or later."""
    now = ask(state)
    said = [note.text for subtask in now.subtasks.values() for note in subtask.answer_notes]
    return "\n".join(
        [
            now.text,
            *said,
            *now.correction_texts,
            *(one.words for one in now.replan_triggers),
            *(d.why for d in now.decisions),
        ]
    )


def test_a_correction_survives_a_later_edit_of_the_request() -> None:
    state = job(*AT_WORK, *correction(1, "only the Sales team"), edit(R, "compare the meals", 1.0))
    assert ask(state).text == f"compare the meals\n\n{CORRECTIONS_HEADING} only the Sales team"
    assert ask(state).correction_texts[-1].endswith(ask(state).text), "who works on it is told both"
    assert list_requester_words(state, ask(state)) == (ask(state).text.replace(f"{CORRECTIONS_HEADING} ", ""),)


_STEPS = st.lists(
    st.tuples(st.sampled_from(["correct", "edit", "edit correction", "delete"]), st.integers(0, 2), st.uuids()),
    max_size=8,
)


@settings(deadline=None, max_examples=100)
@given(_STEPS)
def test_whatever_is_said_edited_and_deleted_in_any_order_the_text_is_what_stands_there_now(
    steps: list[tuple[str, int, object]],
) -> None:
    """A thread as people see it: the request, and below it the replies that are still there, as they read now."""
    request, replies, gone, log = "why did churn rise", dict[str, str](), set[str](), list[ev.Event]()
    changes = 0
    for place, (what, number, word) in enumerate(steps):
        name, words = f"2.{number}", f"word {word}"
        if what == "edit":
            request, changes = words, changes + 1
            log.append(edit(R, words, place + 1.0))
        elif what == "correct" and name not in replies and name not in gone and changes < MAX_CORRECTIONS:
            replies[name], changes = words, changes + 1
            log += correction(number, words)
        elif what == "edit correction" and name in replies:
            replies[name], changes = words, changes + 1
            log.append(edit(name, words, place + 1.0))
        elif what == "delete" and name in replies:
            gone.add(name)
            del replies[name]
            changes += 1
            log.append(ev.RequestWithdrawn(at=30.0, message=name))
    state = job(*AT_WORK, *log)
    assert ask(state).text == "\n\n".join([request, *(f"{CORRECTIONS_HEADING} {words}" for words in replies.values())])
    assert ask(state).correction_count == changes, "who works on it is told of each change"


def test_a_deleted_correction_leaves_no_words_behind() -> None:
    said = (*correction(1, "my salary is 4711"), edit(R, "compare the meals", 1.0))
    state = job(*AT_WORK, *said, ev.RequestWithdrawn(at=30.0, message="2.1"))
    assert "4711" in notes(job(*AT_WORK, *said))
    assert "4711" not in notes(state)
    assert (
        ask(state).correction_texts[-1]
        == "A correction of the request was taken back. The request now reads: compare the meals"
    )
    assert [one.outcome for one in state.pending_messages if "~" in one.receipt] == ["applied", "dropped"]
    assert not ask(state).is_withdrawn, "it is no deletion of the request"


def test_an_edited_correction_is_told_anew_and_others_may_not_edit_it() -> None:
    said = correction(1, "in euros")
    state = job(*AT_WORK, *said, edit("2.1", "in pounds", 1.0))
    assert ask(state).text.endswith(f"{CORRECTIONS_HEADING} in pounds")
    assert "in euros" not in notes(state)
    other = edit("2.1", "in yen", 1.0).model_copy(update={"user": "U2"})
    assert ask(job(*AT_WORK, *said, other)).text.endswith("in euros")
    late = (*AT_WORK, *said, edit("2.1", "in pounds", 2.0), edit("2.1", "in yen", 1.0))
    assert ask(job(*late)).text.endswith("in pounds"), "edits may come in any order"


def test_a_part_that_begins_before_the_planner_has_answered_knows_the_correction() -> None:
    state = job(
        make_request_event(),
        make_plan_event(subtask("a"), subtask("b", "a")),
        *correction(1, "in euros"),
        make_start_event("a"),
    )
    for name in ("a", "b"):
        handoff = make_handoff(state, ask(state), ask(state).subtasks[name], 12.0)[0]
        assert Note(source=CORRECTION_SOURCE, text="in euros") in handoff.context


# ---------------------------------------------------------------- when nobody can tell


def unknown(at: float) -> ev.MessageSorted:
    return ev.MessageSorted(at=at, message="2.1", aim="unknown", why="nobody could be asked")


def test_a_message_of_which_nobody_can_tell_what_it_is_for_is_looked_at_again() -> None:
    state = job(*AT_WORK, correction(1, "in euros")[0], unknown(11.0))
    assert [one.outcome for one in state.pending_messages] == ["", "unsorted"], "its author is told"
    found, due = list_outstanding_effects(state, 12.0)
    assert not any(isinstance(effect, ClassifyMessage) for effect in found)
    assert due is not None
    assert due <= 11.0 + SORTING_DELAY_SECONDS[0]
    assert any(
        isinstance(effect, ClassifyMessage)
        for effect in list_outstanding_effects(state, 11.0 + SORTING_DELAY_SECONDS[0])[0]
    )
    again = job(*AT_WORK, correction(1, "in euros")[0], unknown(11.0), unknown(40.0), correction(1, "")[1])
    assert ask(again).text.endswith(f"{CORRECTIONS_HEADING} in euros")
    assert [one.outcome for one in again.pending_messages] == ["applied", "unsorted"], "its author is told once"


@pytest.mark.parametrize(
    ("user", "is_mentioned", "outcomes"),
    [
        ("U1", False, ["unclear"]),
        ("U1", True, ["request"]),  # a mention is for the bot, whatever it is for
        ("U9", False, []),  # people who talk among themselves are not told about it
    ],
)
def test_in_the_end_its_author_is_told_that_nobody_could_tell(
    user: str, outcomes: list[str], *, is_mentioned: bool
) -> None:
    message = Request(id="2.1", user=user, text="in euros", at=10.0)
    said = ev.MessageHeard(at=10.0, message=message, mentioned=is_mentioned)
    state = job(*AT_WORK, said, *(unknown(100.0 * number) for number in range(len(SORTING_DELAY_SECONDS) + 1)))
    assert [one.outcome for one in state.pending_messages if one.receipt == "2.1"] == outcomes
    assert user == "U1" or state.pending_messages == ()


@pytest.mark.parametrize(("user", "otherwise"), [("U1", "unknown"), ("U9", "request")])
def test_a_mentioned_correction_waits_for_the_dispatcher_too(user: str, otherwise: str) -> None:
    message = Request(id="2.1", user=user, text="in euros", at=10.0)
    state = job(*AT_WORK, ev.MessageHeard(at=10.0, message=message, mentioned=True))
    (sort,) = [one for one in effects(state) if isinstance(one, ClassifyMessage)]
    assert sort.default_aim == otherwise
