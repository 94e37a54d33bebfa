"""Wrappers of the bot's parts that count calls and otherwise change nothing."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, cast

from bot.jobs.job_runner import Effects, ForwardingEffects, JobRunner
from bot.models.chosen_model import ChosenModel
from bot.models.named_models import get_model_name
from bot.operation.metrics import Metrics
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Commit, PayloadTooLarge, StoreError
from handoff.contracts import Tier, Turn, Usage
from handoff.engine.answer import list_resultless_subtasks
from handoff.state.job_state import Job, RequestState
from specialists.crew import Crew
from specialists.model import ModelCall, ModelError
from specialists.tools.tool import Tool, ToolOutcome, WorkbenchLost


class MeteredModel:
    """A `ChosenModel` whose turns are counted and timed."""

    def __init__(self, model: ChosenModel, metrics: Metrics) -> None:
        self._model = model
        self._metrics = metrics

    @property
    def label(self) -> str:
        """The name of the model for people."""
        return self._model.label

    @property
    def provider(self) -> str:
        """The provider of the model."""
        return self._model.provider

    @property
    def tiers(self) -> Mapping[Tier, str]:
        """The names of the models, by tier."""
        return self._model.tiers

    async def warm(self) -> None:
        """Make the model ready for its first call."""
        await self._model.warm()

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    async def register_models(self, names: Iterable[str]) -> Mapping[str, str]:
        """Register the models that specialists name. Returns the reason for each unavailable one, by its name."""
        return await self._model.register_models(names)

    def compute_price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """Return the price of a call in dollars, or None if no price is known."""
        return self._model.compute_price(tier, tokens_in, tokens_out, model)

    async def reply(self, call: ModelCall) -> Turn:
        """Make a turn, and count it by its outcome: "ok", the ModelError's kind, "cancelled", or else "broke"."""
        began = time.perf_counter()
        outcome, usage = "broke", Usage()
        try:
            turn = await self._model.reply(call)
            outcome, usage = "ok", turn.usage
        except ModelError as error:
            outcome, usage = error.kind, error.usage
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        else:
            return turn
        finally:
            self._metrics.count_model_reply(
                provider=self.provider,
                model=get_model_name(self._model, call),
                tier=call.tier,
                outcome=outcome,
                seconds=time.perf_counter() - began,
                usage=usage,
            )


class MeteredEffects(ForwardingEffects):
    """`Effects` that count how requests end."""

    def __init__(self, effects: Effects, metrics: Metrics) -> None:
        super().__init__(effects)
        self._metrics = metrics

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Count the requests that this change ended, and pass the change on."""
        for request, was in after.list_changed_requests(before):
            if request.is_over and not (was is not None and was.is_over) and not request.spec.opens:
                seconds = (request.ended_at or request.spec.at) - request.spec.at
                self._metrics.count_request_end(_classify_outcome(request), max(0.0, seconds), after.place.team)
        super().show_job_change(runner, before, after)


def meter_crew(crew: Crew, metrics: Metrics) -> Crew:
    """Return the crew with tools whose calls are counted."""
    specialists = {
        name: dataclasses.replace(one, tools=tuple(_meter_tool(tool, metrics) for tool in one.tools))
        for name, one in crew.specialists.items()
    }
    lent_tools = {name: _meter_tool(tool, metrics) for name, tool in crew.lent_tools.items()}
    crews = {path: meter_crew(inner, metrics) for path, inner in crew.crews.items()}
    return dataclasses.replace(crew, specialists=specialists, lent_tools=lent_tools, crews=crews)


def _meter_tool(tool: Tool, metrics: Metrics) -> Tool:
    """Return the tool with its calls counted. `wraps` keeps its docstring, which models read."""

    @functools.wraps(tool.run)
    async def run(*arguments: Any) -> ToolOutcome:
        outcome_label = "broke"
        try:
            outcome = await tool.run(*arguments)
            outcome_label = "failed" if outcome.failed else "ok"
        except (asyncio.CancelledError, WorkbenchLost):
            outcome_label = "cut"
            raise
        else:
            return outcome
        finally:
            metrics.count_tool_call(tool.name, outcome_label)

    return dataclasses.replace(tool, run=run)


def _classify_outcome(request: RequestState) -> str:
    """Return how a request ended, as people saw it: "partial" for an answer with gaps, otherwise its state."""
    return (
        "partial"
        if request.state == "completed"
        and (list_resultless_subtasks(request, request.run) or (request.run.plan and request.run.plan.missing))
        else request.state
    )


StoreMethod = Callable[..., Awaitable[Any]]
CallObserver = Callable[[tuple[Any, ...], Any], None]
"""A function that is called after a store call, with the call's positional arguments and its result."""
POLLING_CALLS = frozenset({"jobs.claim", "jobs.next_due", "store.explain_fullness"})
"""The store calls that an instance repeats while it polls for work."""
STORE_PARTS = (
    *("jobs", "outbox", "blobs", "schedules", "settings", "memories"),
    *("sign_ins", "installations", "audit", "board", "homes"),
)
"""The parts of a store, by the names of its attributes. The metric of failed calls is labelled by them."""
MAX_REMEMBERED_CLAIMS = 1000
"""Maximum number of claims whose start is remembered until their first commit."""


class Heartbeat:
    """The time at which the instance last polled for work. `last` is in seconds on the monotonic clock."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def compute_age(self) -> float:
        """Return the seconds since the instance last polled for work."""
        return time.monotonic() - self.last


def meter_store(store: Store, metrics: Metrics, heartbeat: Heartbeat) -> Store:
    """Return a proxy of the store that counts failed calls and changes of jobs, and updates the heartbeat."""
    jobs = _JobCounter(metrics)
    parts = {
        name: _StoreProxy(
            getattr(store, name), metrics, heartbeat, name=name, observers=jobs.observers if name == "jobs" else None
        )
        for name in STORE_PARTS
    }
    return cast("Store", _StoreProxy(store, metrics, heartbeat, parts=parts))


class _StoreProxy:
    """A proxy of a store, or of a part of it, that counts failed calls. Each method is wrapped at its first use.

    Errors are counted under the name of the part. `observers` maps method names to observers of their calls;
    `parts` replace the store's attributes of the same names.
    """

    def __init__(
        self,
        target: object,
        metrics: Metrics,
        heartbeat: Heartbeat,
        *,
        name: str = "store",
        observers: Mapping[str, CallObserver] | None = None,
        parts: Mapping[str, object] | None = None,
    ) -> None:
        self._target = target
        self._metrics = metrics
        self._heartbeat = heartbeat
        self._name = name
        self._observers = observers or {}
        self.__dict__.update(parts or {})

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._target, name)
        if not inspect.ismethod(attribute):
            return attribute
        if inspect.iscoroutinefunction(attribute):
            attribute = self._meter_call(name, attribute)
        setattr(self, name, attribute)
        return attribute

    def _meter_call(self, name: str, call: StoreMethod) -> StoreMethod:
        observer, looking = self._observers.get(name), f"{self._name}.{name}" in POLLING_CALLS

        @functools.wraps(call)
        async def call_and_count(*args: Any, **kwargs: Any) -> Any:
            if looking:
                self._heartbeat.last = time.monotonic()
            try:
                answer = await call(*args, **kwargs)
            except PayloadTooLarge:
                raise  # the caller's fault, not a failure of the store
            except StoreError:
                self._metrics.count_store_error(self._name)
                raise
            if observer is not None:
                observer(args, answer)
            return answer

        return call_and_count


class _JobCounter:
    """Counts claims, commits and releases of jobs from the results of store calls, by `observers` of the calls."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._claim_times: dict[str, float] = {}
        self.observers: Mapping[str, CallObserver] = {
            "claim": self._after_claim,
            "commit": self._after_commit,
            "release": self._after_release,
            "quarantine": self._after_quarantine,
            "release_quarantined": self._after_release_quarantined,
        }

    def _after_claim(self, _: tuple[Any, ...], claim: Claim | None) -> None:
        if claim is not None:
            self._metrics.count_claim(claim.key.team)
            self._claim_times[claim.owner] = time.monotonic()
            if len(self._claim_times) > MAX_REMEMBERED_CLAIMS:  # jobs lost before their first commit pile up
                del self._claim_times[next(iter(self._claim_times))]

    def _after_commit(self, args: tuple[Any, ...], outcome: Commit) -> None:
        self._metrics.count_commit(outcome.value)
        began = self._claim_times.pop(args[0].owner, None)
        if began is not None and outcome in {Commit.OK, Commit.DUP}:
            self._metrics.observe_first_commit(time.monotonic() - began)

    def _after_release(self, args: tuple[Any, ...], is_released: bool) -> None:  # noqa: FBT001 - the answer of a call
        self._claim_times.pop(args[0].owner, None)
        if is_released:
            self._metrics.count_event("let_go")

    def _after_quarantine(self, args: tuple[Any, ...], is_quarantined: bool) -> None:  # noqa: FBT001 - the same
        del is_quarantined  # counted from the log record of the instance that set the job aside
        self._claim_times.pop(args[0].owner, None)

    def _after_release_quarantined(self, args: tuple[Any, ...], is_released: bool) -> None:  # noqa: FBT001 - the same
        del args
        if is_released:
            self._metrics.count_event("released")
