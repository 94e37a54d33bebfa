"""Whatever specialists do, a job comes to exactly one end, within its caps."""

import json
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from handoff import events as ev
from handoff.approval_values import Approval, ApprovalTerms, compute_call_digest
from handoff.contracts import Escalation, Finding, Member, Place, Plan, PlanChange, Request, Result, Subtask, Usage
from handoff.effects import (
    Effect,
    MakePlan,
    PostMessage,
    RecordDeadline,
    RefineBrief,
    RevisePlan,
    RunSubtask,
    SelectAnswer,
    VerifyAnswer,
    WriteAnswer,
)
from handoff.engine.engine import apply_event, fold_log
from handoff.engine.ladder import MAX_FAILURES, MAX_QUESTIONS
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.engine.replan import MAX_REVISIONS, find_due_trigger, list_changeable_ids
from handoff.engine.returned_results import MAX_FAULTY_RESULTS
from handoff.engine.unknown_writes import VERDICT_OPTIONS
from handoff.planning.revision import Revision, parse_revision
from handoff.state.job_state import ENDED_STATES, Job, RequestState, SubtaskState
from tests.handoff.kit import require

MEMBERS = tuple(Member(name=name, fallback=fallback) for name, fallback in [("a", "b"), ("b", "c"), ("c", "")])
REPLIES = ("that", *VERDICT_OPTIONS)
OUTCOMES = ("result", "model", "passing", "tool", "bad_reply", "timeout", "out_of_scope", "ambiguous_input", "partial")


def acyclic_plan(rng: random.Random) -> Plan:
    names = [f"s{n}" for n in range(rng.randint(1, 7))]
    return Plan(
        goal="g",
        subtasks=tuple(
            Subtask(
                id=name,
                title=name,
                intent="do all of this",
                specialist=rng.choice("abc"),
                after=tuple(sorted(other for other in names[:n] if rng.random() < 0.4)),
                critical=rng.random() < 0.2,
            )
            for n, name in enumerate(names)
        ),
    )


def wild_reply(rng: random.Random, ids: list[str], crew: list[str]) -> dict[str, Any]:
    """What a planner may say of a plan under way: some of it can be done."""

    def some(most: int) -> list[str]:
        return rng.sample([*ids, *(["ghost"] if rng.random() < 0.1 else ())], min(rng.randint(0, most), len(ids)))

    fresh = [f"n{rng.randint(0, 999)}" for _ in range(rng.choice((0, 0, 0, 1, 1, 1, 1, 2, 2, 8)))]
    return {
        "why": "w",
        "add": [
            {
                "id": name,
                "title": name,
                "intent": f"List the prices of tea in Oslo for {name}.",
                "specialist": rng.choice([*crew, *crew, *crew, "x"]),
                "after": [*some(1), *(fresh[:1] if rng.random() < 0.2 else ())],
                "needed_by": some(1) if rng.random() < 0.3 else [],
                "instead_of": rng.choice(["", rng.choice(ids)]),
                "why": "w" if rng.random() < 0.9 else "",
            }
            for name in fresh
        ],
        "drop": [{"id": name, "needless": rng.random() < 0.6, "why": "w"} for name in some(2)],
        "reassign": [{"id": name, "specialist": rng.choice(crew), "why": "w"} for name in some(1)],
        "rebrief": [{"id": name, "intent": "Count the cups in Bergen.", "why": "w"} for name in some(1)],
    }


class World:
    """Performs effects at random, and counts what the caps are about."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 1000.0
        self.attempts: dict[str, int] = {}
        self.answers = 0
        self.refinement_counts: dict[str, int] = {}
        self.revision_count = 0
        self.outcomes: tuple[str, ...] = OUTCOMES
        self.approvals = 0.0
        """How often an attempt comes to a call that people have to approve."""

    def content(self) -> str:
        """What a result says."""
        return "c"

    def take_step(self, job: Job) -> list[ev.Event] | None:
        """What happens next: work, a person's answer, or a wait, which has no events; None: nothing can happen."""
        effects, due = list_outstanding_effects(job, self.now)
        if effects:
            return self.perform(job, self.rng.choice(effects))
        if due is not None:
            assert due > self.now
            self.now = due
            return []
        request = job.current_request
        return self.answer_question(request) if request is not None and request.open_questions else None

    def answer_question(self, request: RequestState) -> list[ev.Event]:
        """What a person says to one of the open questions."""
        waiting = [one for one in request.subtasks.values() if one.state == "input_required" and one.question]
        subtask = self.rng.choice(waiting)
        of = {"at": self.now, "request": request.id, "subtask": subtask.spec.id}
        return [ev.QuestionAnswered(**of, user="U", text=self.rng.choice(REPLIES)), *self.decisions(subtask)]

    def perform(self, job: Job, effect: Effect) -> list[ev.Event]:
        at = self.now
        if isinstance(effect, MakePlan):
            if self.rng.random() < 0.2:
                return [ev.PlanRejected(at=at, request=effect.request, faults=("no",))]
            return [ev.PlanProposed(at=at, request=effect.request, plan=acyclic_plan(self.rng), members=MEMBERS)]
        if isinstance(effect, PostMessage):
            self.answers += effect.key.endswith(":answer")
            return [ev.Posted(at=at, request=effect.request, key=effect.key, ts=str(at))]
        if isinstance(effect, WriteAnswer | SelectAnswer):
            return [ev.AnswerWritten(at=at, request=effect.request, text="the answer", draft=self.rng.random() < 0.5)]
        if isinstance(effect, VerifyAnswer):
            unanswered = self.rng.choice(((), ("t",)))
            return [ev.AnswerVerified(at=at, request=effect.request, unanswered=unanswered)]
        if isinstance(effect, RefineBrief | RecordDeadline):
            return [self.supervise_subtask(effect)]
        if isinstance(effect, RevisePlan):
            return [self.revision(job, effect)]
        assert isinstance(effect, RunSubtask)
        return self.attempt(job, effect)

    def revision(self, job: Job, effect: RevisePlan) -> ev.Event:
        """What a planner says that has no sense, read as any planner's words are; or a plan that nobody checked."""
        self.revision_count += 1
        request = require(job.find_request(effect.request))
        trigger = require(find_due_trigger(request))
        run = request.get_run(effect.within)
        ids = sorted(list_changeable_ids(request, trigger)) if self.rng.random() < 0.8 else list(request.subtasks)
        made = parse_revision(json.dumps(wild_reply(self.rng, ids, list(run.members))), request, run, trigger)
        if run.plan is not None and self.rng.random() < 0.1:
            made = Revision(acyclic_plan(self.rng), (PlanChange(kind="dropped", subtask="s0", why="w"),))
        of = {"at": self.now, "request": effect.request, "within": effect.within, "subtask": effect.subtask}
        return ev.PlanRevised.model_validate(
            {**of, "plan": made.plan, "changes": made.changes, "faults": made.faults, "usage": Usage(calls=1)}
        )

    def supervise_subtask(self, effect: RefineBrief | RecordDeadline) -> ev.Event:
        """What the refiner or the clock says."""
        if isinstance(effect, RecordDeadline):
            return ev.DeadlineReached(at=self.now, request=effect.request, subtask=effect.subtask)
        of: dict[str, Any] = {"at": self.now, "request": effect.request, "subtask": effect.subtask}
        of["attempt"] = effect.attempt
        self.refinement_counts[effect.subtask] = self.refinement_counts.get(effect.subtask, 0) + 1
        return ev.BriefRefined(**of, intent=self.rng.choice(("", "do it in another way")))

    def attempt(self, job: Job, effect: RunSubtask) -> list[ev.Event]:
        request = require(job.find_request(effect.request))
        for name in request.subtasks[effect.subtask].spec.after:
            assert request.subtasks[name].state in {"complete", "error", "skipped"}, (
                "it started before its dependencies ended"
            )
        subtask = request.subtasks[effect.subtask]
        if subtask.state == "pending":
            self.attempts[effect.subtask] = self.attempts.get(effect.subtask, 0) + 1
            assert not subtask.open_intents, "a fresh attempt over a call in doubt"
        of = {"at": self.now, "request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}
        log: list[ev.Event] = [ev.AttemptStarted(**of, specialist=effect.specialist, tier=effect.tier)]
        log += self.writes(subtask, of)
        if self.rng.random() < self.approvals:
            call, terms = (
                f"a{len(subtask.checkpoints)}",
                ApprovalTerms(quorum=self.rng.choice((1, 1, 2)), approvers=("U", "V")),
            )
            asked = {"tool": "post", "what": "post", "arguments": {"text": call}, "terms": terms}
            return [
                *log,
                ev.ApprovalAsked(
                    **of, approval=Approval(call=call, digest=compute_call_digest("post", asked["arguments"]), **asked)
                ),
            ]
        outcome = self.rng.choice(self.outcomes)
        findings = (Finding(message="it is not so", where="plan"),) if self.rng.random() < 0.3 else ()
        result = Result(summary="s", content=self.content(), findings=findings)
        if outcome == "result":
            doubts = self.rng.choice(((), (), ("is it so?",)))
            faults = self.rng.choice(((), (), ("it is not so",)))
            took = self.rng.choice((0.0, 1.0, 120.0))
            log.append(ev.ResultReturned(**of, result=result, doubts=doubts, faults=faults, took=took))
        elif outcome in {"model", "tool", "bad_reply"}:
            log.append(ev.AttemptFailed(**of, kind=outcome, message="m"))
        elif outcome == "passing":
            log.append(ev.AttemptFailed(**of, kind="model", message="m", transient=True))
        elif outcome == "partial":
            escalation = Escalation(reason="timeout", message="m", partial_result=result)
            log.append(ev.Escalated(**of, escalation=escalation))
        else:
            log.append(ev.Escalated(**of, escalation=Escalation(reason=outcome, message="m")))
        return log

    def decisions(self, subtask: SubtaskState) -> list[ev.Event]:
        """What a person clicks on a card, which may show what is no longer asked."""
        question = subtask.question
        if question is None or question.approval is None:
            return []
        of = {"at": self.now, "request": "1.0", "subtask": subtask.spec.id, "digest": question.approval.digest}
        number = question.number - self.rng.choice((0, 0, 1))
        choice = self.rng.choice(("approve", "approve_alike", "edit", "deny"))
        arguments = {"text": f"edited {number}"} if choice == "edit" else {}
        user = self.rng.choice(("U", "V", "W"))
        return [ev.ApprovalDecided(**of, number=number, user=user, decision=choice, arguments=arguments)]

    def writes(self, subtask: SubtaskState, of: dict[str, Any]) -> list[ev.Event]:
        """Calls that write: with an outcome, in doubt, or left open for whatever the attempt's end makes of it."""
        log: list[ev.Event] = []
        wishes = [(one.call, False) for one in subtask.open_intents] if subtask.state == "in_progress" else []
        wishes += [(f"c{len(subtask.checkpoints)}.{n}", True) for n in range(self.rng.choice((0, 0, 0, 0, 1, 2)))]
        for call, fresh in wishes:
            if fresh:
                log.append(ev.ToolStarted(**of, call=call, tool="post", what=call, digest=call))
            fate = self.rng.choice(("returned", "failed", "doubt", "open"))
            if fate in {"returned", "failed"}:
                log.append(ev.ToolReturned(**of, reply={"call_id": call, "text": "", "failed": fate == "failed"}))
            elif fate == "doubt":
                log.append(ev.ToolInDoubt(**of, call=call, tool="post", what=call, reason="r"))
        return log


@given(seed=st.integers(0, 2**32), cancel_at=st.one_of(st.none(), st.integers(0, 40)))
@settings(max_examples=90, deadline=None)
def test_every_request_ends_once_and_within_its_caps(seed: int, cancel_at: int | None) -> None:
    world = World(seed)
    world.approvals = 0.15
    spec = Request(id="1.0", user="U", text="t", at=1.0)
    place = Place(team="T", channel="C", thread_ts="1.0")
    log: list[ev.Event] = [ev.RequestAdded(at=1.0, place=place, request=spec)]
    job = apply_event(None, log[0])
    for step in range(400):
        new = world.take_step(job) if step != cancel_at else [ev.CancelRequested(at=world.now, user="U")]
        if new is None:
            break
        world.now += 0.5 if new else 0.0
        log += new
        for event in new:
            job = apply_event(job, event)
    request = job.requests[0]
    assert request.state in ENDED_STATES
    assert world.answers == 1
    assert (request.run.answer is None) == (request.state != "completed")
    assert all(count <= MAX_FAILURES + MAX_QUESTIONS + MAX_FAULTY_RESULTS for count in world.attempts.values())
    assert all(
        count <= MAX_FAULTY_RESULTS for subtask in request.subtasks.values() for count in [subtask.faulty_result_count]
    )
    assert all(count <= 1 for count in world.refinement_counts.values()), "a brief is rewritten once"
    assert world.revision_count == request.revision_count <= MAX_REVISIONS or request.cancelled_by
    assert all(len(subtask.failures) <= MAX_FAILURES for subtask in request.subtasks.values())
    rulings = [
        one for subtask in request.subtasks.values() for one in subtask.question_answers if one.ruling is not None
    ]
    assert all(set(one.ruling.users) <= {"U", "V"} for one in rulings if one.ruling is not None), "W may not decide"
    assert fold_log(ev.load_event(ev.dump_event(event)) for event in log) == job, (
        "a replay of the stored log gives the same job"
    )
