"""Makes plans for a crew: by a routing rule, pipeline or first responder, otherwise by the planner; with estimates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bot.models.chosen_model import ChosenModel
from bot.supervisor.retry_plan import RetryPlan, choose_retry_plan
from bot.supervisor.roles import call_within_context
from bot.supervisor.track_record import TrackRecord
from handoff.briefs.context import circumstances
from handoff.contracts import (
    NO_TERMS,
    AskingTerms,
    ChannelTerms,
    ContextLimits,
    Escalation,
    Estimate,
    MadeSpecialist,
    Member,
    Plan,
    Subtask,
    Terms,
)
from handoff.effects import ROLES, MakePlan, RevisePlan
from handoff.engine import replan
from handoff.engine.nested import inner_plan
from handoff.events import AttemptFailed, Escalated, PlanProposed, PlanRevised, RequestFailed
from handoff.materials.material_lists import find_needed_material, material_of
from handoff.planning.estimates import CHARACTERS, EstimatedWorker, estimates, sum_estimates
from handoff.planning.pipeline import build_pipeline_plan, takes_request
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.routing import FIRST, make_single_plan, route, spread_load
from handoff.planning.tier_cap import cap_tier, capped_members, capped_plan
from handoff.state.job_state import Job, PlanRun, RequestState, replace
from specialists.crew import Crew, NotLent, adhoc_specialist
from specialists.model import Model
from specialists.specialist import Specialist

if TYPE_CHECKING:
    from bot.supervisor.planner import PlannerEvent

MEMBERS = 2
"""Rule of thumb: how many members of an inner crew work on a subtask."""
SHOWN = 120
"""Characters at most of a specialist's description, in a list of the crew for people."""


class Planning:
    """Makes and revises plans for one crew on one instance. Keeps no state: an uncommitted plan is made again.

    `terms` are those of the settings; the crew's own file overrides them.
    """

    def __init__(self, crew: Crew, model: ChosenModel, record: TrackRecord, terms: Terms) -> None:
        self._crew = crew
        asking = AskingTerms.model_validate({**terms.asking.model_dump(), **crew.asking})
        context = _merge_contexts(terms.context, crew.terms.get("context", {}))
        self._terms = Terms.model_validate({**terms.model_dump(), **crew.terms, "asking": asking, "context": context})
        self._roles = {**terms.roles, **crew.roles}
        self._words = crew.words.for_roles
        self._model = model
        self._record = record
        self._inside = {path: Planning(inner, model, record, terms) for path, inner in crew.crews.items()}
        specialists = (_make_member(one) for one in crew.specialists.values())
        self._members = (*specialists, *(inner.as_member() for inner in self._inside.values()))
        self._own_model = frozenset(name for name, one in crew.specialists.items() if one.wish.name)
        self._stand_ins = {name for group in crew.equals for name in group[1:]}
        apart = {*self._stand_ins, crew.first}
        self._offered = tuple(member for member in self._members if member.name not in apart) or self._members
        self._default = crew.default or self._offered[0].name
        self._workers = {one.name: worker_of(one) for one in crew.specialists.values()}

    def with_role_terms(self, run: PlanRun, told: str, here: ChannelTerms = NO_TERMS) -> PlanRun:
        """Return the run with terms for calls of roles: their tiers, the circumstances `told`, and the crew's words.

        `here` are the terms of the channel.
        """
        return replace(run, terms=self._terms_for_roles(run.terms, told, here))

    def _terms_for_roles(self, terms: Terms, told: str, here: ChannelTerms) -> Terms:
        words = {"crew_words": self._words, "channel_words": here.instructions}
        terms = terms.model_copy(update={"roles": self._roles, "circumstances": told, **words})
        roles = {role: cap_tier(terms.tier_of(role), here.highest) for role in ROLES} if here.highest != "deep" else {}
        return terms.model_copy(update={"roles": roles}) if roles else terms

    @property
    def question_contacts(self) -> tuple[str, ...]:
        """The Slack ids of the people whom the crew names for questions."""
        return tuple(sorted(one for one in self._crew.addressees if one[:1] in {"U", "W"}))

    @property
    def contact(self) -> str:
        """The contact that the crew names for failures; empty if it names none."""
        return self._crew.contact

    def find_inner(self, path: str) -> Planning | None:
        """Return the planning of the crew with that path, at any depth; None if there is no such crew (any more)."""
        if path == self._crew.path:
            return self
        return next((found for inner in self._inside.values() if (found := inner.find_inner(path))), None)

    def as_member(self) -> Member:
        """Return this crew as a member of its outer crew."""
        about = self._crew.about
        return Member(
            name=self._crew.path,
            description=about.description,
            cannot=about.cannot,
            fallback=about.fallback,
            reads=tuple(sorted({ending for one in self._members for ending in one.reads})),
            crew=self._terms,
        )

    async def plan(
        self,
        effect: MakePlan,
        brief: PlanBrief,
        ask: RequestState,
        *,
        now: Callable[[], float],
        model: Model | None = None,
        first: bool = True,
    ) -> PlannerEvent | AttemptFailed | Escalated:
        """Try once to plan `brief`. Returns the plan, another decision of the planner, or a failure.

        No model is called if a retry reuses a plan, a rule or the pipeline fits, or a first responder gets the request.

        Args:
            effect: The effect to perform; its `faults` are those of the first try.
            brief: What is to be planned.
            ask: The request.
            now: Returns seconds since the epoch.
            model: Charged to the job's account; None: the crew's model, charged to no job.
            first: True if a first responder may get the request.
        """
        await self._record.read_other_loads()
        here = ask.setting.here if ask.setting is not None else NO_TERMS
        taken = RetryPlan() if effect.within or effect.faults else choose_retry_plan(ask, self.has_member)
        fixed = None if effect.faults else taken.fields or self._plan_without_planner(brief, first=first)
        if fixed is not None:
            of: dict[str, Any] = {"at": now(), "request": ask.id, "within": effect.within}
            event = PlanProposed.model_validate({**of, **fixed})
        else:
            from bot.supervisor.adhoc_offer import list_made_members, make_adhoc_offer  # noqa: PLC0415 - only where a model plans
            from bot.supervisor.planner import ask_planner  # noqa: PLC0415 - the same

            making = make_adhoc_offer(self._crew, here.highest)
            replied = await call_within_context(
                model or self._model,
                self._terms_for_roles(self._terms, circumstances(now(), ask.setting), here),
                lambda model, terms: ask_planner(
                    effect,
                    brief,
                    members=self._offered,
                    default=self._default,
                    model=model,
                    now=now,
                    terms=terms,
                    making=making,
                ),
            )
            if isinstance(replied, RequestFailed) and effect.within:
                return _fail_crew_attempt(effect, replied)
            if not isinstance(replied, PlanProposed):
                return replied
            event = replied
            if not event.plan.subtasks:
                return (
                    _escalate_out_of_scope(effect, event)
                    if effect.within
                    else self._fail_impossible_request(event, ask)
                )
            plan, reasons = spread_load(event.plan, self._crew.equals, self._record.find_load)
            made, why = list_made_members(plan, making)
            reasons = (*event.reasons, *why, *reasons)
            event = event.model_copy(update={"plan": plan, "members": made, "reasons": reasons})
        members = (*self._members, *event.members)
        if here.highest != "deep":
            event = event.model_copy(update={"plan": capped_plan(event.plan, here.highest)})
            members = capped_members(members, here.highest, own_model=self._own_model)
        event = event.model_copy(update={"anew": taken.anew})
        await self._model.warm()  # loads prices: without them the estimates would have no cost
        event = event.model_copy(
            update={"members": members, "terms": self._terms, "estimates": self.estimates(event.plan)}
        )
        return rename_inner_ids(event, ask) if effect.within else event

    def _plan_without_planner(self, brief: PlanBrief, *, first: bool) -> dict[str, Any] | None:
        """Return the fields of `PlanProposed` if a rule, the pipeline or the first responder takes the request.

        None if the planner has to decide.
        """
        load, pipeline = self._record.find_load, self._crew.pipeline
        if routed := route(brief, self._crew.rules, load):
            return {"plan": routed.plan, "rule": routed.rule, "reasons": routed.reasons}
        if pipeline is not None and takes_request(pipeline, brief):
            plan, reasons = spread_load(build_pipeline_plan(pipeline, brief), self._crew.equals, load)
            return {"plan": plan, "pipeline": True, "reasons": (pipeline.reason, *reasons)}
        name = self._crew.first
        if not name or not first or brief.handed_over:
            return None
        reason = f"first responder: {name} gets it as it stands, and may hand it over to the planner"
        return {"plan": make_single_plan(brief.text, name, subtask=FIRST), "is_first": True, "reasons": (reason,)}

    def has(self, name: str) -> bool:
        """Return True if the crew has a member of that name."""
        return any(member.name == name for member in self._members)

    def has_member(self, inside: str, name: str) -> bool:
        """Return True if the crew with the path `inside` (empty: this one) exists and has a member of that name."""
        crew = self.find_inner(inside) if inside else self
        return crew is not None and crew.has(name)

    async def revise(
        self, effect: RevisePlan, job: Job, ask: RequestState, *, now: float, model: Model | None = None
    ) -> PlanRevised:
        """Have the replanner revise the plan once.

        Among equals, added subtasks go to the specialist with the least load, as in a first plan.
        """
        from bot.supervisor.replanner import ask_replanner  # noqa: PLC0415 - imported only where a plan is revised

        await self._record.read_other_loads()
        run = ask.run_of(effect.within)
        trigger = replan.current_trigger(ask)
        if trigger is None or (trigger.within, trigger.subtask) != (effect.within, effect.subtask):
            of = {"at": now, "request": ask.id, "within": effect.within, "subtask": effect.subtask}
            return PlanRevised.model_validate({**of, "faults": ("There is nothing left to ask about.",)})
        offered = [member for member in run.members.values() if member.name not in self._stand_ins]
        run = self.with_role_terms(run, circumstances(now, ask.setting), ask.setting.here if ask.setting else NO_TERMS)
        outer = ask.work.get(run.within)
        there = find_needed_material(job, ask, outer).all if outer is not None else material_of(job, ask)
        event = await call_within_context(
            model or self._model,
            run.terms,
            lambda model, terms: ask_replanner(
                ask, replace(run, terms=terms), trigger, members=offered, model=model, now=now, there=there
            ),
        )
        if event.plan is None:
            return event
        fresh = {change.subtask for change in event.changes if change.kind == "added"}
        added = tuple(subtask for subtask in event.plan.subtasks if subtask.id in fresh)
        given, _ = spread_load(
            event.plan.model_copy(update={"subtasks": added}), self._crew.equals, self._record.find_load
        )
        theirs = {subtask.id: subtask for subtask in given.subtasks}
        plan = event.plan.model_copy(update={"subtasks": tuple(theirs.get(one.id, one) for one in event.plan.subtasks)})
        changed = {change.subtask for change in event.changes}
        expected = tuple(one for one in self.estimates(plan) if one.subtask in changed)
        return event.model_copy(update={"plan": plan, "estimates": expected})

    def estimates(self, plan: Plan) -> tuple[Estimate, ...]:
        """Estimate the usage of each subtask; empty if the model's calls cost nothing."""
        if self._model.price("balanced", 1_000_000, 0) == 0.0:
            return ()
        made = {one.name: self._find_made_worker(one) for one in plan.made}
        workers = {**self._workers, **made, **{path: inner.worker() for path, inner in self._inside.items()}}
        found = estimates(plan, workers, self._record.find_past_usage, self._model.price)
        return tuple(self._estimate_by_steps(subtask) or one for subtask, one in zip(plan.subtasks, found, strict=True))

    def _estimate_by_steps(self, subtask: Subtask) -> Estimate | None:
        """Return the sum of the steps if the subtask goes to an inner crew with a pipeline; otherwise None."""
        inner = self._inside.get(subtask.specialist)
        steps = inner.estimate_steps(subtask.intent) if inner is not None else ()
        return sum_estimates(subtask.id, steps) if steps else None

    def estimate_steps(self, text: str) -> tuple[Estimate, ...]:
        """Return the estimates of the steps of the crew's pipeline for a text; empty if it has no pipeline."""
        pipeline = self._crew.pipeline
        return self.estimates(build_pipeline_plan(pipeline, PlanBrief(text))) if pipeline is not None else ()

    def worker(self) -> EstimatedWorker:
        """Return this crew as a worker for estimates: about `MEMBERS` average members do the work."""
        workers = [*self._workers.values(), *(inner.worker() for inner in self._inside.values())]
        turns = MEMBERS * sum(one.max_turns for one in workers) // len(workers)
        prompt = sum(one.prompt for one in workers) // len(workers)
        return EstimatedWorker(tier="balanced", prompt=prompt, max_turns=turns, has_tools=True)

    def _find_made_worker(self, one: MadeSpecialist) -> EstimatedWorker:
        """Return an ad-hoc specialist as a worker for estimates; without tools if the crew no longer lends them."""
        try:
            return worker_of(adhoc_specialist(self._crew, one))
        except NotLent:
            return EstimatedWorker(tier=one.tier, prompt=len(one.brief) // CHARACTERS, max_turns=1, has_tools=False)

    def _fail_impossible_request(self, event: PlanProposed, ask: RequestState) -> RequestFailed:
        """Return the failure of a request that nobody in the crew can do any part of."""
        return RequestFailed(
            at=event.at,
            request=ask.id,
            step="planning",
            reason="nobody in the crew can " + "; or ".join(event.plan.missing),
            advice="Ask for what the crew can do, or have a specialist added. "
            f"There are {_describe_members(self._members)}.",
            usage=event.usage,
        )


def _merge_contexts(set_up: ContextLimits, crews: Mapping[str, int]) -> ContextLimits:
    """Return the context tokens by tier: as the operator set them, else as the crew wants, else the default."""
    usual = ContextLimits()
    wanted = {tier: tokens for tier, tokens in crews.items() if getattr(set_up, tier) == getattr(usual, tier)}
    return ContextLimits.model_validate({**set_up.model_dump(), **wanted})


def _fail_crew_attempt(effect: MakePlan, failed: RequestFailed) -> AttemptFailed:
    """Return the failed attempt of an inner crew without a plan: its subtask takes the next step of the ladder."""
    of: dict[str, Any] = {"at": failed.at, "request": failed.request, "subtask": effect.within}
    message = f"{failed.step}: {failed.reason}"
    return AttemptFailed(**of, attempt=effect.attempt, kind="model", message=message, usage=failed.usage)


def _escalate_out_of_scope(effect: MakePlan, event: PlanProposed) -> Escalated:
    """Return the escalation of a subtask that nobody in the inner crew can do any part of."""
    of: dict[str, Any] = {"at": event.at, "request": event.request, "subtask": effect.within}
    message = "nobody in that crew can " + "; or ".join(event.plan.missing)
    escalation = Escalation(reason="out_of_scope", message=message)
    return Escalated(**of, attempt=effect.attempt, escalation=escalation, usage=event.usage)


def rename_inner_ids(event: PlanProposed, ask: RequestState) -> PlanProposed:
    """Return the plan of an inner crew with its subtask ids changed to ids that are unique in the request."""
    plan = inner_plan(ask.work[event.within], event.plan)
    names = dict(zip((one.id for one in event.plan.subtasks), (one.id for one in plan.subtasks), strict=True))
    expected = tuple(one.model_copy(update={"subtask": names[one.subtask]}) for one in event.estimates)
    return event.model_copy(update={"plan": plan, "estimates": expected})


def _make_member(one: Specialist) -> Member:
    return Member(
        name=one.name,
        description=one.description,
        cannot=one.cannot,
        tier=one.tier,
        tiers=(one.tier,) if one.wish.name else (),  # a specialist with a model of its own has no other tier
        fallback=one.fallback or "",
        examples=one.examples,
        reads=tuple(sorted(one.readable_endings)),
        asks=one.asks,
    )


def worker_of(one: Specialist) -> EstimatedWorker:
    """Return a specialist as a worker for estimates."""
    offered: list[Mapping[str, object]] = [spec.parameters for spec in one.specs]
    size = len(one.system) + sum(len(spec.name) + len(spec.description) for spec in one.specs)
    size += sum(len(json.dumps(parameters, separators=(",", ":"))) for parameters in offered)
    return EstimatedWorker(
        tier=one.tier,
        prompt=size // CHARACTERS,
        max_turns=one.max_turns,
        has_tools=bool(one.tools),
        model=one.wish.name,
    )


def _describe_members(members: tuple[Member, ...]) -> str:
    """Describe each specialist in a few words."""
    told = []
    for member in members:
        can = member.description.partition(". ")[0].rstrip(".")
        short = can if len(can) <= SHOWN else can[:SHOWN].rpartition(" ")[0] + "…"
        told.append(f"{member.name} ({short[:1].lower()}{short[1:]})")
    return ", ".join(told)
