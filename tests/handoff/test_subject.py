"""Which request a thread is named after."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from handoff.contracts import Place, Request
from handoff.state.job_state import Ask, Job, Run
from handoff.summaries.subject import subject_of

PLACE = Place(team="T1", channel="C1", thread_ts="1.0")
FIRST = "Summarise the sales of the northern region by month"


def job(*said: str, answer: str = "Revenue fell in Oslo since two tandem dealers closed.") -> Job:
    asks = tuple(
        Ask(
            request=Request(id=str(at), user="U1", text=text, at=float(at)),
            run=Run(answer=answer),
            work=MappingProxyType({}),
        )
        for at, text in enumerate(said)
    )
    return Job(place=PLACE, asks=asks)


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
    found = subject_of(job(FIRST, later))
    assert found is not None
    assert found.request.text == FIRST


def test_something_else_takes_it_over_and_so_may_the_next() -> None:
    other = "Draft a job posting for a backend engineer in Lisbon"
    found = subject_of(job(FIRST, other, "shorter, please", answer=""))
    assert found is not None
    assert found.request.text == other
    back = subject_of(job(FIRST, other, FIRST, answer=""))
    assert back is not None
    assert back.id == "2"
    german = "Schreibe eine Stellenanzeige für Lissabon"
    found = subject_of(job(FIRST, german, answer=""))
    assert found is not None
    assert found.request.text == german


def test_what_was_withdrawn_names_nothing() -> None:

    one = job(FIRST)
    assert subject_of(replace(one, asks=(replace(one.asks[0], withdrawn=True),))) is None
