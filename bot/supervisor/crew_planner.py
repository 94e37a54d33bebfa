"""Makes plans for a crew: by a routing rule, pipeline or first responder, otherwise by the planner; with estimates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bot.models.chosen_model import ChosenModel
from bot.supervisor.retry_plan import RetryPlan, choose_retry_plan
from bot.supervisor.roles import call_within_context
from bot.supervisor.track_record import TrackRecord
from handoff.briefs.handoff_builder import render_circumstances
from handoff.contracts import (
    DEFAULT_CHANNEL_TERMS,
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
from handoff.engine.crew_runs import prefix_plan_ids
from handoff.events import AttemptFailed, Escalated, PlanProposed, PlanRevised, RequestFailed
from handoff.materials.material_lists import find_needed_material, list_material
from handoff.planning.estimates import CHARACTERS_PER_TOKEN, SpecialistProfile, estimate_plan, sum_estimates
from handoff.planning.pipeline import applies_to_request, build_pipeline_plan
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.routing import FIRST_RESPONDER_ID, make_single_plan, route_request, spread_load
from handoff.planning.tier_cap import cap_members, cap_plan, cap_tier
from handoff.state.job_state import Job, PlanRun, RequestState, replace
from specialists.crew import AdhocNotAllowed, Crew, build_adhoc_specialist
from specialists.model import Model
from specialists.specialist import Specialist

if TYPE_CHECKING:
    from bot.supervisor.planner import PlannerEvent

WORKING_MEMBERS = 2
"""Rule of thumb: how many members of an inner crew work on a subtask."""
MAX_DESCRIPTION_CHARS = 120
"""Most characters of a specialist's description, in a list of the crew for people."""


class CrewPlanner:
    """Makes and revises plans for one crew on one instance. Keeps no state: an uncommitted plan is made again.

    `terms` come from the settings; the crew's own file overrides them.
    """

    def __init__(self, crew: Crew, model: ChosenModel, track_record: TrackRecord, terms: Terms) -> None:
        self._crew = crew
        asking = AskingTerms.model_validate({**terms.asking.model_dump(), **crew.asking_terms})
        context = _merge_context_limits(terms.context, crew.terms.get("context", {}))
        self._terms = Terms.model_validate({**terms.model_dump(), **crew.terms, "asking": asking, "context": context})
        self._roles = {**terms.roles, **crew.roles}
        self._words = crew.prompts.texts_by_role
        self._model = model
        self._track_record = track_record
        self._inner_plannings = {
            path: CrewPlanner(inner, model, track_record, terms) for path, inner in crew.crews.items()
        }
        specialists = (_make_member(one) for one in crew.specialists.values())
        self._members = (*specialists, *(inner.as_member() for inner in self._inner_plannings.values()))
        self._fixed_model_members = frozenset(
            name for name, one in crew.specialists.items() if one.model_overrides.name
        )
        self._stand_ins = {name for group in crew.equals for name in group[1:]}
        apart = {*self._stand_ins, crew.first}
        self._offered_members = tuple(member for member in self._members if member.name not in apart) or self._members
        self._default = crew.default or self._offered_members[0].name
        self._workers = {one.name: make_specialist_worker(one) for one in crew.specialists.values()}

    def with_role_terms(
        self, run: PlanRun, circumstances_text: str, channel_terms: ChannelTerms = DEFAULT_CHANNEL_TERMS
    ) -> PlanRun:
        """Return the run with terms for calls of roles: their tiers, `circumstances_text`, and the words of the crew.

        `channel_terms` add the channel's instructions and cap the tiers at its highest one.
        """
        return replace(run, terms=self._make_role_terms(run.terms, circumstances_text, channel_terms))

    def _make_role_terms(self, terms: Terms, circumstances_text: str, channel_terms: ChannelTerms) -> Terms:
        words = {"crew_words": self._words, "channel_words": channel_terms.instructions}
        terms = terms.model_copy(update={"roles": self._roles, "circumstances": circumstances_text, **words})
        roles = (
            {role: cap_tier(terms.get_tier(role), channel_terms.highest) for role in ROLES}
            if channel_terms.highest != "deep"
            else {}
        )
        return terms.model_copy(update={"roles": roles}) if roles else terms

    @property
    def question_contacts(self) -> tuple[str, ...]:
        """The Slack ids of the people whom the crew names for questions."""
        return tuple(sorted(one for one in self._crew.addressee_ids if one[:1] in {"U", "W"}))

    @property
    def contact(self) -> str:
        """The contact that the crew names for failures; empty if it names none."""
        return self._crew.contact

    def find_by_path(self, path: str) -> CrewPlanner | None:
        """Return the planning of the crew with that path, at any depth; None if there is no such crew (any more)."""
        if path == self._crew.path:
            return self
        return next(
            (planner for inner in self._inner_plannings.values() if (planner := inner.find_by_path(path))), None
        )

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

    async def make_plan(
        self,
        effect: MakePlan,
        brief: PlanBrief,
        request: RequestState,
        *,
        now: Callable[[], float],
        model: Model | None = None,
        allows_first_responder: bool = True,
    ) -> PlannerEvent | AttemptFailed | Escalated:
        """Try once to plan `brief`. Returns the plan, another decision of the planner, or a failure.

        No model is called if a retry reuses a plan, a rule or the pipeline fits, or a first responder gets the request.

        Args:
            effect: The effect to perform. With `faults`, which name what was wrong before, this is the second try.
            brief: What is to be planned.
            request: The request.
            now: Returns seconds since the epoch.
            model: Charged to the job's account; None: the crew's model, charged to no job.
            allows_first_responder: True if a first responder may get the request.
        """
        await self._track_record.read_other_loads()
        here = request.setting.here if request.setting is not None else DEFAULT_CHANNEL_TERMS
        retry_plan = RetryPlan() if effect.within or effect.faults else choose_retry_plan(request, self.has_member)
        fixed_fields = (
            None
            if effect.faults
            else retry_plan.fields or self._plan_without_planner(brief, allows_first_responder=allows_first_responder)
        )
        if fixed_fields is not None:
            base_fields: dict[str, Any] = {"at": now(), "request": request.id, "within": effect.within}
            event = PlanProposed.model_validate({**base_fields, **fixed_fields})
        else:
            from bot.supervisor.adhoc_offer import list_adhoc_members, make_adhoc_offer  # noqa: PLC0415 - only where a model plans
            from bot.supervisor.planner import ask_planner  # noqa: PLC0415 - the same

            offer = make_adhoc_offer(self._crew, here.highest)
            planner_event = await call_within_context(
                model or self._model,
                self._make_role_terms(self._terms, render_circumstances(now(), request.setting), here),
                lambda model, terms: ask_planner(
                    effect,
                    brief,
                    members=self._offered_members,
                    default=self._default,
                    model=model,
                    now=now,
                    terms=terms,
                    adhoc_offer=offer,
                ),
            )
            if isinstance(planner_event, RequestFailed) and effect.within:
                return _fail_crew_attempt(effect, planner_event)
            if not isinstance(planner_event, PlanProposed):
                return planner_event
            event = planner_event
            if not event.plan.subtasks:
                return (
                    _escalate_out_of_scope(effect, event)
                    if effect.within
                    else self._fail_impossible_request(event, request)
                )
            plan, reasons = spread_load(event.plan, self._crew.equals, self._track_record.find_load)
            adhoc_members, why = list_adhoc_members(plan, offer)
            reasons = (*event.reasons, *why, *reasons)
            event = event.model_copy(update={"plan": plan, "members": adhoc_members, "reasons": reasons})
        members = (*self._members, *event.members)
        if here.highest != "deep":
            event = event.model_copy(update={"plan": cap_plan(event.plan, here.highest)})
            members = cap_members(members, here.highest, own_model_names=self._fixed_model_members)
        event = event.model_copy(update={"anew": retry_plan.replanning_reason})
        await self._model.warm()  # loads prices: without them the estimates would have no cost
        event = event.model_copy(
            update={"members": members, "terms": self._terms, "estimates": self.estimate_plan(event.plan)}
        )
        return rename_inner_ids(event, request) if effect.within else event

    def _plan_without_planner(self, brief: PlanBrief, *, allows_first_responder: bool) -> dict[str, Any] | None:
        """Return the fields of `PlanProposed` if a rule, the pipeline or the first responder takes the request.

        None if the planner has to decide.
        """
        load, pipeline = self._track_record.find_load, self._crew.pipeline
        if route := route_request(brief, self._crew.rules, load):
            return {"plan": route.plan, "rule": route.rule, "reasons": route.reasons}
        if pipeline is not None and applies_to_request(pipeline, brief):
            plan, reasons = spread_load(build_pipeline_plan(pipeline, brief), self._crew.equals, load)
            return {"plan": plan, "pipeline": True, "reasons": (pipeline.reason, *reasons)}
        name = self._crew.first
        if not name or not allows_first_responder or brief.handover_reason:
            return None
        reason = f"first responder: {name} gets it as it stands, and may hand it over to the planner"
        return {
            "plan": make_single_plan(brief.text, name, subtask=FIRST_RESPONDER_ID),
            "is_first": True,
            "reasons": (reason,),
        }

    def has_own_member(self, name: str) -> bool:
        """Return True if the crew has a member of that name."""
        return any(member.name == name for member in self._members)

    def has_member(self, crew_path: str, name: str) -> bool:
        """Return True if the crew with the path `crew_path` (empty: this one) exists and has a member of that name."""
        crew = self.find_by_path(crew_path) if crew_path else self
        return crew is not None and crew.has_own_member(name)

    async def revise_plan(
        self, effect: RevisePlan, job: Job, request: RequestState, *, now: float, model: Model | None = None
    ) -> PlanRevised:
        """Have the replanner revise the plan once. The event has `faults` and no plan if the trigger is gone.

        Among equals, added subtasks go to the specialist with the least load, as in a first plan.
        """
        from bot.supervisor.replanner import ask_replanner  # noqa: PLC0415 - imported only where a plan is revised

        await self._track_record.read_other_loads()
        run = request.get_run(effect.within)
        trigger = replan.find_due_trigger(request)
        if trigger is None or (trigger.within, trigger.subtask) != (effect.within, effect.subtask):
            base_fields = {"at": now, "request": request.id, "within": effect.within, "subtask": effect.subtask}
            return PlanRevised.model_validate({**base_fields, "faults": ("There is nothing left to ask about.",)})
        offered_members = [member for member in run.members.values() if member.name not in self._stand_ins]
        run = self.with_role_terms(
            run,
            render_circumstances(now, request.setting),
            request.setting.here if request.setting else DEFAULT_CHANNEL_TERMS,
        )
        outer = request.subtasks.get(run.within)
        materials = (
            find_needed_material(job, request, outer).all_material if outer is not None else list_material(job, request)
        )
        event = await call_within_context(
            model or self._model,
            run.terms,
            lambda model, terms: ask_replanner(
                request,
                replace(run, terms=terms),
                trigger,
                members=offered_members,
                model=model,
                now=now,
                materials=materials,
            ),
        )
        if event.plan is None:
            return event
        added_ids = {change.subtask for change in event.changes if change.kind == "added"}
        added_subtasks = tuple(subtask for subtask in event.plan.subtasks if subtask.id in added_ids)
        spread_plan, _ = spread_load(
            event.plan.model_copy(update={"subtasks": added_subtasks}), self._crew.equals, self._track_record.find_load
        )
        spread_subtasks = {subtask.id: subtask for subtask in spread_plan.subtasks}
        plan = event.plan.model_copy(
            update={"subtasks": tuple(spread_subtasks.get(one.id, one) for one in event.plan.subtasks)}
        )
        changed_ids = {change.subtask for change in event.changes}
        expected = tuple(one for one in self.estimate_plan(plan) if one.subtask in changed_ids)
        return event.model_copy(update={"plan": plan, "estimates": expected})

    def estimate_plan(self, plan: Plan) -> tuple[Estimate, ...]:
        """Estimate the usage of each subtask; empty if the model's calls cost nothing."""
        if self._model.compute_price("balanced", 1_000_000, 0) == 0.0:
            return ()
        adhoc_workers = {one.name: self._make_adhoc_worker(one) for one in plan.made}
        workers = {
            **self._workers,
            **adhoc_workers,
            **{path: inner.make_crew_worker() for path, inner in self._inner_plannings.items()},
        }
        estimates = estimate_plan(plan, workers, self._track_record.find_past_usage, self._model.compute_price)
        return tuple(
            self._estimate_by_steps(subtask) or one for subtask, one in zip(plan.subtasks, estimates, strict=True)
        )

    def _estimate_by_steps(self, subtask: Subtask) -> Estimate | None:
        """Return the sum of the steps if the subtask goes to an inner crew with a pipeline; otherwise None."""
        inner = self._inner_plannings.get(subtask.specialist)
        steps = inner.estimate_steps(subtask.intent) if inner is not None else ()
        return sum_estimates(subtask.id, steps) if steps else None

    def estimate_steps(self, text: str) -> tuple[Estimate, ...]:
        """Return the estimates of the steps of the crew's pipeline for a text; empty if it has no pipeline."""
        pipeline = self._crew.pipeline
        return self.estimate_plan(build_pipeline_plan(pipeline, PlanBrief(text))) if pipeline is not None else ()

    def make_crew_worker(self) -> SpecialistProfile:
        """Return this crew as a worker for estimates: about `WORKING_MEMBERS` average members do the work."""
        workers = [*self._workers.values(), *(inner.make_crew_worker() for inner in self._inner_plannings.values())]
        turns = WORKING_MEMBERS * sum(one.max_turns for one in workers) // len(workers)
        prompt = sum(one.prompt_tokens for one in workers) // len(workers)
        return SpecialistProfile(tier="balanced", prompt_tokens=prompt, max_turns=turns, has_tools=True)

    def _make_adhoc_worker(self, specialist: MadeSpecialist) -> SpecialistProfile:
        """Return an ad-hoc specialist as a worker for estimates; without tools if the crew no longer lends them."""
        try:
            return make_specialist_worker(build_adhoc_specialist(self._crew, specialist))
        except AdhocNotAllowed:
            return SpecialistProfile(
                tier=specialist.tier,
                prompt_tokens=len(specialist.brief) // CHARACTERS_PER_TOKEN,
                max_turns=1,
                has_tools=False,
            )

    def _fail_impossible_request(self, event: PlanProposed, request: RequestState) -> RequestFailed:
        """Return the failure of a request that nobody in the crew can do any part of."""
        return RequestFailed(
            at=event.at,
            request=request.id,
            step="planning",
            reason="nobody in the crew can " + "; or ".join(event.plan.missing),
            advice="Ask for what the crew can do, or have a specialist added. "
            f"There are {_describe_members(self._members)}.",
            usage=event.usage,
        )


def _merge_context_limits(operator_limits: ContextLimits, crew_tokens: Mapping[str, int]) -> ContextLimits:
    """Return the context tokens by tier: as the operator set them, else as the crew wants, else the default."""
    usual = ContextLimits()
    crew_limits = {
        tier: tokens for tier, tokens in crew_tokens.items() if getattr(operator_limits, tier) == getattr(usual, tier)
    }
    return ContextLimits.model_validate({**operator_limits.model_dump(), **crew_limits})


def _fail_crew_attempt(effect: MakePlan, failure: RequestFailed) -> AttemptFailed:
    """Return the failed attempt of an inner crew without a plan: its subtask takes the next step of the ladder."""
    base_fields: dict[str, Any] = {"at": failure.at, "request": failure.request, "subtask": effect.within}
    message = f"{failure.step}: {failure.reason}"
    return AttemptFailed(**base_fields, attempt=effect.attempt, kind="model", message=message, usage=failure.usage)


def _escalate_out_of_scope(effect: MakePlan, event: PlanProposed) -> Escalated:
    """Return the escalation of a subtask that nobody in the inner crew can do any part of."""
    base_fields: dict[str, Any] = {"at": event.at, "request": event.request, "subtask": effect.within}
    message = "nobody in that crew can " + "; or ".join(event.plan.missing)
    escalation = Escalation(reason="out_of_scope", message=message)
    return Escalated(**base_fields, attempt=effect.attempt, escalation=escalation, usage=event.usage)


def rename_inner_ids(event: PlanProposed, request: RequestState) -> PlanProposed:
    """Return the plan of an inner crew with its subtask ids changed to ids that are unique in the request."""
    plan = prefix_plan_ids(request.subtasks[event.within], event.plan)
    names = dict(zip((one.id for one in event.plan.subtasks), (one.id for one in plan.subtasks), strict=True))
    expected = tuple(one.model_copy(update={"subtask": names[one.subtask]}) for one in event.estimates)
    return event.model_copy(update={"plan": plan, "estimates": expected})


def _make_member(specialist: Specialist) -> Member:
    return Member(
        name=specialist.name,
        description=specialist.description,
        cannot=specialist.cannot,
        tier=specialist.tier,
        tiers=(specialist.tier,)
        if specialist.model_overrides.name
        else (),  # a specialist with a model of its own has no other tier
        fallback=specialist.fallback or "",
        examples=specialist.examples,
        reads=tuple(sorted(specialist.readable_endings)),
        asks=specialist.asks,
    )


def make_specialist_worker(specialist: Specialist) -> SpecialistProfile:
    """Return a specialist as a worker for estimates."""
    tool_schemas: list[Mapping[str, object]] = [spec.parameters for spec in specialist.specs]
    size = len(specialist.system_prompt) + sum(len(spec.name) + len(spec.description) for spec in specialist.specs)
    size += sum(len(json.dumps(parameters, separators=(",", ":"))) for parameters in tool_schemas)
    return SpecialistProfile(
        tier=specialist.tier,
        prompt_tokens=size // CHARACTERS_PER_TOKEN,
        max_turns=specialist.max_turns,
        has_tools=bool(specialist.tools),
        model=specialist.model_overrides.name,
    )


def _describe_members(members: tuple[Member, ...]) -> str:
    """Describe each specialist in a few words."""
    descriptions = []
    for member in members:
        can = member.description.partition(". ")[0].rstrip(".")
        short = can if len(can) <= MAX_DESCRIPTION_CHARS else can[:MAX_DESCRIPTION_CHARS].rpartition(" ")[0] + "…"
        descriptions.append(f"{member.name} ({short[:1].lower()}{short[1:]})")
    return ", ".join(descriptions)
