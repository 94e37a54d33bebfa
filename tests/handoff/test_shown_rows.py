"""The rows of a card are the same when they are read from a job's head; and what a crew's rows say of its parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff import events as ev
from handoff.contracts import SCRIPTED_REPLIES, Usage
from handoff.engine.engine import apply
from handoff.summaries.shown_rows import MOST, ROWS, ShownRow, rows_of, shown_rows
from handoff.summaries.summary import APART, gain_words, parts_words, rows, side_by_side, title_of
from tests.handoff.kit import R, ask, asked, job, planned, returned, started, subtask
from tests.handoff.test_levels import READ_AND_CHECK, at_law, done, up, within


@given(st.lists(st.integers(0, 99), min_size=1, max_size=MOST + 4, unique=True))
def test_lists_of_jobs_read_the_rows_that_the_card_shows(numbers: list[int]) -> None:
    names = [f"part-{number}" for number in numbers]
    kept, more = rows_of(shown_rows(job(asked(), planned(*map(subtask, names)), started(names[0]))))
    assert [row.title for row in kept] == [f"Part {name}" for name in names[:MOST]]
    assert more == max(0, len(names) - MOST)
    assert kept[0] == ShownRow("in_progress", f"Part {names[0]}", "analyst")


def test_a_job_without_a_plan_or_after_its_end_has_no_rows() -> None:
    assert rows_of(shown_rows(job(asked()))) == ((), 0)
    assert rows_of({}) == ((), 0)


@pytest.mark.parametrize("written", ["{", '[["a"]]', '[[["x", "y", "z", "and more"]], 0]', "7"])
def test_rows_of_another_release_are_left_out(written: str) -> None:
    assert rows_of({ROWS: written}) == ((), 0)


def test_the_row_of_a_crew_says_how_far_it_is() -> None:
    state = at_law()
    assert parts_words(ask(state), ask(state).work["law"]) == "planning"
    state = within(state, *READ_AND_CHECK)
    view = ask(state)
    assert parts_words(view, view.work["law"]) == "0 of 2 parts done"
    assert parts_words(view, view.work["law/read"]) == "", "nothing is inside"
    assert [title_of(view, work) for work in rows(view)] == [
        "Part law",
        f"Legal{APART}Part read",
        f"Legal{APART}Part check",
    ]
    state = done(state, "law/read")
    assert parts_words(ask(state), ask(state).work["law"]) == "1 of 2 parts done"
    state = done(state, "law/check", at=8.0)
    state = up(apply(state, ev.AnswerWritten(at=9.0, request=R, within="law", text="Together.")), at=10.0)
    assert parts_words(ask(state), ask(state).work["law"]) == "2 parts inside"


def test_work_side_by_side_is_told_by_what_it_gained() -> None:
    log = (asked(), planned(subtask("a"), subtask("b")), started("a"), started("b"))
    apart = ask(job(*log, returned("a", at=13.0), returned("b", at=13.0)))
    assert side_by_side(apart) == (20.0, 10.0)
    assert gain_words(apart) == "2 specialists side by side: 2.0x faster than one by one"
    scripted = replace(apart, usage=Usage(model=SCRIPTED_REPLIES, calls=4))
    assert (side_by_side(scripted), gain_words(scripted)) == ((0.0, 0.0), ""), (
        "a script's times say nothing of a crew's"
    )
    alone = ask(job(*log[:3], returned("a", at=13.0)))
    assert (side_by_side(alone), gain_words(alone)) == ((0.0, 0.0), "")
