"""What came of a request is read off its job, whatever form the planner's replies have."""

from typing import Any

import pytest

from bot.evaluation.trials.plan_trials import read_decision
from handoff import events as ev
from handoff.engine.engine import fold
from tests.evaluation.eval_kit import one_set, played
from tests.handoff.kit import R, asked, planned, subtask
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.providers.wire import WireRequest

AT: dict[str, Any] = {"at": 2.0, "request": R}
FAILED = ev.RequestFailed(**AT, step="planning", reason="nobody in the crew can fly", advice="Ask for less.")


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (ev.AnswerWritten(**AT, text="You are welcome."), "answer: You are welcome."),
        (ev.PlannerAsked(**AT, question="Which two?", options=("A", "B")), "ask"),
        (ev.PlannerAsked(**AT, question="Which two?"), "ask"),
        (planned(subtask("a", specialist="writer")), "writer"),
        (planned(subtask("a"), subtask("b", "a", specialist="writer")), "analyst + writer(a)"),
        (FAILED, "nobody: nobody in the crew can fly"),
    ],
)
def test_each_decision_is_known_by_the_job_alone(event: ev.Event, said: str) -> None:
    job = fold((asked(), event))
    assert job is not None
    assert str(read_decision(job.asks[-1])) == said


def test_a_call_that_failed_is_no_word_of_the_planner() -> None:
    job = fold((asked(), FAILED))
    assert job is not None
    assert read_decision(job.asks[-1], erred=True).reply == "failed"


async def test_a_model_that_declines_does_not_say_that_nobody_can_do_it() -> None:
    def declining(request: WireRequest) -> Reply:
        return Reply("I will not.", stop="refused") if purpose_of(request) == "planner" else Reply("nobody")

    routed = one_set("routing", {"input": "Phone them", "expect": "nobody"})
    found = await played(routed, declining)
    assert (found["product c1"].right, found["product c1"].why) == (False, "failed, not nobody")
    assert found["naive c1"].right
