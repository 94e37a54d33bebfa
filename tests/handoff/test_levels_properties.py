"""Crews in crews: whatever happens on whatever level, a job comes to one end, within its caps, and nothing twice."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from handoff import events as ev
from handoff.contracts import ContextLimits, Escalation, Member, Note, Place, Plan, Request, Subtask, Terms, Usage
from handoff.effects import (
    Effect,
    MakePlan,
    ReduceMaterial,
    ReportCrewOutcome,
    RevisePlan,
    RunSubtask,
    SelectAnswer,
    VerifyAnswer,
    WriteAnswer,
)
from handoff.engine.answer import list_answer_gaps
from handoff.engine.crew_runs import (
    MAX_SUBTASKS_IN_ALL,
    count_addable_subtasks,
    is_crew_working,
    make_crew_outcome,
    prefix_plan_ids,
)
from handoff.engine.engine import apply_event, fold_log
from handoff.engine.ladder import MAX_FAILURES, MAX_QUESTIONS
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.engine.replan import MAX_REVISIONS
from handoff.engine.replay import parse_log
from handoff.engine.returned_results import MAX_FAULTY_RESULTS
from handoff.planning.revision import MAX_ADDED_SUBTASKS
from handoff.state.job_state import ENDED_STATES, SETTLED_STATES, Job, RequestState, SubtaskState
from tests.handoff.kit import level, require
from tests.handoff.test_engine_properties import OUTCOMES, REPLIES, World

PLACE = Place(team="T", channel="C", thread_ts="1.0")
REQUEST = Request(id="1.0", user="U", text="t", at=1.0)
CALL = Usage(calls=1)
SMALL = ContextLimits(fast=1_000, balanced=1_000, deep=1_000)
AT_MOST = 4 + MAX_ADDED_SUBTASKS * MAX_REVISIONS
"""Subtasks of one plan: the first ones, and those that revisions add."""


def members(path: str, depth: int) -> tuple[Member, ...]:
    """Two specialists, one of them made for the plan, and above the third level a crew that it stands in for."""
    names = [f"{path}{name}" for name in "abc"]
    made = Member(name=names[1], made=True, tiers=("fast", "balanced"))
    found = [Member(name=names[0], fallback=names[1]), made, Member(name=names[2])]
    if depth < 2:
        terms = Terms(job_seconds=200.0, subtask_seconds=60.0, confidence=30, context=SMALL)
        found[2] = Member(name=names[2], fallback=names[1], crew=terms)
    return tuple(found)


class Levels(World):
    """The same world, where `c` is a crew, and `c/c` one inside that."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.handoff_counts: dict[tuple[str, int], int] = {}
        self.calls = 0
        self.pace = self.rng.choice((0.5, 0.5, 8.0, 30.0))
        """Seconds that anything takes: at the slower ones deadlines are reached on all levels."""
        self.reads = self.rng.random() < 0.5
        """Whether nothing is written: then no call's end is ever in doubt, and each is charged when it ends."""
        self.outcomes = self.rng.choice((OUTCOMES, (*OUTCOMES, *["result"] * 9)))

    def content(self) -> str:
        """What contradicts another result, or is too long for one call."""
        figure = f"The revenue of Tea Ltd in 2025 was {self.rng.choice((10, 12))} million euros."
        return self.rng.choice(("c", figure, figure, "All of it is long. " * 400))

    def plan(self, path: str) -> Plan:
        names = [f"s{n}" for n in range(self.rng.randint(1, 4))]
        return Plan(
            goal="g",
            strategy=self.rng.choice(("merge", "select")),
            subtasks=tuple(
                Subtask(
                    id=name,
                    title=name,
                    intent="do all of this",
                    specialist=path + self.rng.choice("abcc"),
                    after=tuple(other for other in names[:n] if self.rng.random() < 0.3),
                    critical=self.rng.random() < 0.1,
                )
                for n, name in enumerate(names)
            ),
        )

    def perform(self, job: Job, effect: Effect) -> list[ev.Event]:
        request = require(job.find_request(effect.request))
        events = self.perform_effect(request, job, effect)
        self.calls += sum(_calls(event) for event in events)
        return events

    def perform_effect(self, request: RequestState, job: Job, effect: Effect) -> list[ev.Event]:
        of: dict[str, Any] = {"at": self.now, "request": request.id}
        if isinstance(effect, ReportCrewOutcome):
            key = (effect.subtask, effect.attempt)
            self.handoff_counts[key] = self.handoff_counts.get(key, 0) + 1
            return [make_crew_outcome(request, request.subtasks[effect.subtask], self.now)]
        if isinstance(effect, MakePlan):
            if effect.within:
                return [self.inner(request, effect, of)]
            of |= {"terms": Terms(context=SMALL), "usage": CALL}
            return [ev.PlanProposed(**of, plan=self.plan(""), members=members("", 0))]
        if isinstance(effect, ReduceMaterial | VerifyAnswer | SelectAnswer | WriteAnswer):
            return [self.towards_the_answer(effect, of)]
        if isinstance(effect, RunSubtask):
            self.may_run(request, effect)
        return [_add_usage(event) for event in super().perform(Job(job.place, (request,)), effect)]

    def towards_the_answer(
        self,
        effect: ReduceMaterial | VerifyAnswer | SelectAnswer | WriteAnswer,
        of: dict[str, Any],
    ) -> ev.Event:
        """One step from the results to the answer, on whatever level."""
        of = {**of, "within": effect.within, "usage": CALL}
        if isinstance(effect, SelectAnswer | WriteAnswer):
            draft = not effect.within and self.rng.random() < 0.5
            return ev.AnswerWritten(**of, text="made of all", draft=draft)
        if isinstance(effect, VerifyAnswer):
            return ev.AnswerVerified(**of, unanswered=self.rng.choice(((), ("all of it",))))
        notes = (Note(source="all", text="short"),)
        return ev.MaterialReduced(**of, round=effect.round, part=effect.part, notes=notes)

    def writes(self, subtask: SubtaskState, of: dict[str, Any]) -> list[ev.Event]:
        return [] if self.reads else super().writes(subtask, of)

    def may_run(self, request: RequestState, effect: RunSubtask) -> None:
        """A specialist works only while the crews around it are at it, before their deadlines, on what is ready."""
        subtask = request.subtasks[effect.subtask]
        assert effect.timeout <= max(1.0, request.run.terms.job_seconds)
        while subtask.within:
            outer = request.subtasks[subtask.within]
            deadline = request.get_run(subtask.within).deadline
            assert is_crew_working(outer)
            assert deadline is None or self.now < deadline
            assert all(request.subtasks[name].state in SETTLED_STATES for name in outer.spec.after)
            subtask = outer

    def inner(self, request: RequestState, effect: MakePlan, of: dict[str, Any]) -> ev.Event:
        subtask = request.subtasks[effect.within]
        attempt: dict[str, Any] = {**of, "subtask": effect.within, "attempt": effect.attempt}
        if subtask.state == "pending":
            self.attempts[effect.within] = self.attempts.get(effect.within, 0) + 1
            return ev.AttemptStarted(**attempt, specialist=subtask.specialist, tier="balanced")
        fate, plan, path = self.rng.random(), self.plan(f"{subtask.specialist}/"), f"{subtask.specialist}/"
        if fate < 0.1 or len(plan.subtasks) > count_addable_subtasks(request):
            return ev.PlanRejected(**of, within=effect.within, faults=("no",), usage=CALL)
        if fate < 0.15:
            return ev.AttemptFailed(**attempt, kind="model", message="m", usage=CALL)
        if fate < 0.2:
            return ev.Escalated(**attempt, escalation=Escalation(reason="out_of_scope", message="m"), usage=CALL)
        crew = members(path, level(request, effect.within) + 1)
        return ev.PlanProposed(
            **of, within=effect.within, plan=prefix_plan_ids(subtask, plan), members=crew, usage=CALL
        )


def _add_usage(event: ev.Event) -> ev.Event:
    """With what its one call took, where it is of a kind that makes one; an answer from people makes none."""
    if isinstance(event, ev.ResultReturned):
        return event.model_copy(update={"result": event.result.model_copy(update={"usage": CALL})})
    return event.model_copy(update={"usage": CALL}) if "usage" in type(event).model_fields else event


def _calls(event: ev.Event) -> int:
    usage = event.result.usage if isinstance(event, ev.ResultReturned) else getattr(event, "usage", Usage())
    return 0 if isinstance(event, ev.ToolInDoubt) else usage.calls


@given(seed=st.integers(0, 2**32), cancel_at=st.one_of(st.none(), st.none(), st.integers(0, 60)))
@settings(max_examples=30, deadline=None)
def test_crews_in_crews_end_once_and_within_their_caps(seed: int, cancel_at: int | None) -> None:
    world = Levels(seed)
    log: list[ev.Event] = [ev.RequestAdded(at=1.0, place=PLACE, request=REQUEST)]
    job = apply_event(None, log[0])
    for step in range(3_000):
        new = world.take_step(job) if step != cancel_at else [ev.CancelRequested(at=world.now, user="U")]
        if new is None:
            break
        world.now += world.pace if new else 0.0
        log += new
        for event in new:
            job = apply_event(job, event)
            assert all(len(job.requests[0].list_subtasks(name)) <= AT_MOST for name in job.requests[0].subtasks)
    request = job.requests[0]
    assert request.state in ENDED_STATES
    assert world.answers == 1
    assert set(world.handoff_counts.values()) <= {1}, "a crew hands up once an attempt"
    assert len(request.subtasks) <= MAX_SUBTASKS_IN_ALL
    assert all(level(request, name) <= 2 for name in request.subtasks)
    assert all(count <= MAX_FAILURES + MAX_QUESTIONS + MAX_FAULTY_RESULTS for count in world.attempts.values())
    assert all(len(subtask.failures) <= MAX_FAILURES for subtask in request.subtasks.values())
    if not request.cancelled_by:
        assert all(subtask.state in SETTLED_STATES for subtask in request.list_subtasks(""))
        assert request.usage.calls <= world.calls
        assert request.usage.calls == world.calls or not world.reads, "each call is counted once"
    assert sum(subtask.usage.calls for subtask in request.list_subtasks("")) <= request.usage.calls, (
        "what is inside is counted with what is around"
    )
    if request.run.answer is not None:
        assert not any(is_crew_working(subtask) for subtask in request.subtasks.values())
        assert len(set(list_answer_gaps(request, request.run))) == len(list_answer_gaps(request, request.run))
    assert fold_log(ev.load_event(ev.dump_event(event)) for event in log) == job, (
        "a replay of the stored log gives the same job"
    )


class Busy:
    """One job as its owners see it: effects side by side, what they report later or too late, owners that are lost."""

    def __init__(self, seed: int) -> None:
        self.world = Levels(seed)
        self.rng = self.world.rng
        self.log: list[ev.Event] = []
        self.job: Job | None = None
        self.pending_events: dict[Effect, list[ev.Event]] = {}
        self.trouble = self.rng.choice((0.0, 0.02, 0.1))

    def add(self, *events: ev.Event) -> None:
        for event in events:
            self.log.append(event)
            self.job = apply_event(self.job, event)

    def step(self) -> bool:
        """Something happens; False where nothing can any more."""
        assert self.job is not None
        effects, due = list_outstanding_effects(self.job, self.world.now)
        self.match(effects)
        self.world.now += self.world.pace * self.rng.random() / 4
        if self.rng.random() < self.trouble:
            self.add(*self.befalls())
        elif self.pending_events:
            effect = self.rng.choice(list(self.pending_events))
            self.add(self.pending_events[effect].pop(0))
            if not self.pending_events[effect]:
                del self.pending_events[effect]
        elif due is not None:
            assert due > self.world.now - self.world.pace
            self.world.now = max(due, self.world.now)
        elif (new := self.world.take_step(self.job)) is not None:
            self.add(*new)
        else:
            return False
        return True

    def match(self, effects: list[Effect]) -> None:
        """Begin what is new. What is no longer wanted is cut off, but for what it had reported by then."""
        assert self.job is not None
        for gone in [effect for effect in self.pending_events if effect not in effects]:
            assert not any(same_work(gone, effect) for effect in effects), "cut off and begun again"
            late = self.pending_events.pop(gone)[:1]
            self.add(*late if self.rng.random() < 0.3 else ())
        for effect in list_outstanding_effects(self.job, self.world.now)[0]:
            if isinstance(effect, RevisePlan) and effect.within:
                assert is_crew_working(self.job.requests[0].subtasks[effect.within]), "nobody works by that plan"
            if effect not in self.pending_events:
                self.pending_events[effect] = self.pace_events(self.world.perform(self.job, effect))

    def pace_events(self, events: list[ev.Event]) -> list[ev.Event]:
        """With the checkpoints of an attempt that only reads; or without a call, which a limit or budget forbade."""
        first, last = events[0], events[-1]
        if not isinstance(first, ev.AttemptStarted) or len(events) != 2:
            return events
        of = {"at": self.world.now, "request": first.request, "subtask": first.subtask, "attempt": first.attempt}
        if self.rng.random() < 0.2:
            passing = self.rng.random() < 0.5
            more = {"transient": passing, "pause": 5.0 * passing, "failed_calls": 0}
            return [first, ev.AttemptFailed.model_validate({**of, **more, "kind": "unavailable", "message": "m"})]
        turn = ev.TurnTaken.model_validate({**of, "turn": {"text": "t", "stop": "end", "usage": {}}})
        reply = ev.ToolReturned.model_validate({**of, "reply": {"call_id": "c", "text": ""}})
        return [first, *[turn, reply] * self.rng.randint(0, 2), last]

    def befalls(self) -> list[ev.Event]:
        """What comes from outside: another owner, an absence, an answer to nothing; or a bug in what a crew is at."""
        assert self.job is not None
        at, crews = (
            self.world.now,
            [subtask for subtask in self.job.requests[0].subtasks.values() if is_crew_working(subtask)],
        )
        kind = self.rng.choice(("taken over", "away", "answer", "broken", "again"))
        if kind == "broken" and crews:
            subtask = self.rng.choice(crews)
            of = {"at": at, "request": "1.0", "subtask": subtask.spec.id, "attempt": subtask.attempt}
            return [ev.AttemptFailed.model_validate({**of, "kind": "crew", "message": "it broke"})]
        if kind == "answer" and self.job.requests[0].subtasks:
            name = self.rng.choice(list(self.job.requests[0].subtasks))
            return [ev.QuestionAnswered(at=at, request="1.0", subtask=name, user="U", text=self.rng.choice(REPLIES))]
        if kind == "again":
            return [self.rng.choice(self.log)]
        self.pending_events.clear()
        if kind == "taken over":
            return [ev.TakenOver(at=at, owner="o", lost=1)]
        self.world.now += 500.0
        return [ev.WorkResumed(at=self.world.now, away=500.0)]


def same_work(one: Effect, other: Effect) -> bool:
    """Whether they are of one piece of work, and not a next step of it."""
    if type(one) is not type(other) or isinstance(one, VerifyAnswer | SelectAnswer | WriteAnswer | MakePlan):
        return False
    names = ("request", "within", "subtask", "attempt", "round", "part", "key")
    return all(getattr(one, name, None) == getattr(other, name, None) for name in names)


@given(seed=st.integers(0, 2**32), cancel_at=st.one_of(st.none(), st.none(), st.integers(0, 200)))
@example(seed=153, cancel_at=None)  # a crew's attempt ends while one inside it has read something private
@settings(max_examples=20, deadline=None)
def test_whatever_happens_at_once_a_job_ends(seed: int, cancel_at: int | None) -> None:
    busy = Busy(seed)
    busy.add(ev.RequestAdded(at=1.0, place=PLACE, request=REQUEST))
    for step in range(3_000):
        if step == cancel_at:
            busy.add(ev.CancelRequested(at=busy.world.now, user="U"))
        if not busy.step():
            break
    job = require(busy.job)
    request = job.requests[0]
    assert request.state in ENDED_STATES
    assert request.revision_count <= MAX_REVISIONS
    assert len(request.subtasks) <= MAX_SUBTASKS_IN_ALL
    for subtask in request.subtasks.values():
        assert subtask.attempt <= MAX_FAILURES + MAX_QUESTIONS + MAX_FAULTY_RESULTS
        assert len(subtask.failures) <= MAX_FAILURES
        assert subtask.usage.calls >= sum(one.usage.calls for one in request.list_subtasks(subtask.spec.id)), (
            "charged all around"
        )
    lines = [ev.dump_event(event) for event in busy.log]
    assert parse_log(lines) == fold_log(map(ev.load_event, lines)) == job, "opened quickly, or replayed"
    cut = lines[: busy.rng.randint(1, len(lines))]
    assert parse_log(cut) == fold_log(map(ev.load_event, cut))
