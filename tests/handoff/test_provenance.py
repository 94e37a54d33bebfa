"""The words that count as people's own, and the cases in which a brief holds more than those."""

from __future__ import annotations

import pytest

from handoff import events as ev
from handoff.contracts import Artifact, Attachment, Material
from handoff.effects import GatherMaterial, MakePlan
from handoff.engine.outstanding import outstanding
from handoff.provenance import provenance_of
from handoff.state import Job
from tests.handoff.kit import PLACE, R, asked, escalated, job, planned, returned, started, subtask


def of(state: Job, name: str = "a") -> tuple[tuple[str, ...], bool]:
    found = provenance_of(state, state.asks[-1], state.asks[-1].work[name])
    return found.words, found.has_derived_content


def answered(text: str, number: int = 1) -> ev.QuestionAnswered:
    return ev.QuestionAnswered(at=9.0, request=R, subtask="a", user="U1", text=text, number=number)


def test_a_fresh_plan_holds_the_words_of_its_request_alone() -> None:
    assert of(job(asked(), planned(subtask("a")))) == (("why did churn rise",), False)


def test_what_follows_others_or_an_earlier_answer_holds_more() -> None:
    both = job(asked(), planned(subtask("a"), subtask("b", "a")), started("a"), returned("a"))
    assert of(both, "b")[1]
    assert not of(both, "a")[1]
    later = asked("2.0", at=3.0)
    assert of(job(asked(), planned(subtask("a")), later, planned(subtask("a"), request="2.0"))) == (
        ("why did churn rise", "why did churn rise"),
        True,
    )


@pytest.mark.parametrize(("text", "counts"), [("see acme.example", True), ("Option one", False)])
def test_what_people_type_counts_and_a_click_on_what_a_model_offered_does_not(text: str, *, counts: bool) -> None:
    asking = escalated("a", "ambiguous_input", options=["Option one", "Option two"])
    words, _ = of(job(asked(), planned(subtask("a")), started("a"), asking, answered(text)))
    assert (text in words) is counts


def test_the_name_of_a_file_names_no_host() -> None:
    request = asked().request.model_copy(
        update={"text": "total of report.zip", "attachments": (Attachment(file_id="F1", name="report.zip"),)}
    )
    event = ev.RequestAdded(at=1.0, place=PLACE, request=request)
    assert of(job(event, planned(subtask("a"))))[0] == ("total of  ",)


def test_what_others_said_and_attached_before_names_no_host() -> None:
    """What is said in a thread is data: only the request's own words may name where a tool may send something."""
    request = asked().request.model_copy(update={"text": "profile labs.zip for acme.example", "look_back": "thread"})
    labs = Material(name="labs.zip", file=Artifact(id="f" * 64, name="labs.zip"), author="Ben Okafor")
    said = Material(name="thread", kind="thread", text="a" * 64, size=40)
    read = ev.MaterialGathered(at=2.0, request=R, materials=(said, labs))
    state = job(ev.RequestAdded(at=1.0, place=PLACE, request=request), read, planned(subtask("a")))
    assert of(state) == (("profile   for acme.example",), True)


def test_a_request_inside_a_thread_is_not_planned_before_the_thread_was_read() -> None:
    for look_back in ("thread", "files"):
        request = asked().request.model_copy(update={"look_back": look_back})
        state = job(ev.RequestAdded(at=1.0, place=PLACE, request=request))
        assert GatherMaterial(R) in outstanding(state, 2.0)[0]
        assert not [effect for effect in outstanding(state, 2.0)[0] if isinstance(effect, MakePlan)]
        read = job(ev.RequestAdded(at=1.0, place=PLACE, request=request), ev.MaterialGathered(at=2.0, request=R))
        assert MakePlan(R) in outstanding(read, 2.0)[0]
