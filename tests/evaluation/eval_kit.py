"""A model of a scripted server, a bench, and cases, for the tests of the harness."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from bot.evaluation.cases import CASE_TYPES
from bot.evaluation.harness import CaseChoice, CaseRecord, play_sets
from bot.evaluation.set_files import LabelledSet
from bot.evaluation.staged_job import CaseEnvironment
from bot.models.call_retrier import RetryPolicy
from bot.models.openai_chat import OpenAIChat
from bot.models.provider_model import ProviderModel
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Terms
from specialists.registry import CREWS_FOLDER, load_crew
from tests.own_tools import all_tools
from tests.providers.server import Brain, ProviderServer

GENERAL = CREWS_FOLDER / "general"
SAMPLES = CREWS_FOLDER.parent / "samples"


@asynccontextmanager
async def model_of(brain: Brain) -> AsyncIterator[tuple[ProviderModel, ProviderServer]]:
    """A model whose replies a brain makes, over a real wire."""
    async with ProviderServer(brain) as server:
        tiers = {"fast": "m", "balanced": "m", "deep": "m"}
        retries = RetryPolicy(first_pause_seconds=0.01, max_pause_seconds=0.02)
        model = ProviderModel(OpenAIChat("key", server.openai_url), tiers, provider="home", retry_policy=retries)
        try:
            yield model, server
        finally:
            await model.close()


def bench_of(model: ProviderModel) -> CaseEnvironment:
    crew = load_crew(GENERAL, all_tools()).without_first_responder()
    return CaseEnvironment(crew, CrewPlanner(crew, model, TrackRecord(), Terms()), Terms(), (SAMPLES,))


def one_set(name: str, *cases: dict[str, Any]) -> LabelledSet:
    made = tuple(CASE_TYPES[name].model_validate({"id": f"c{n}", **case}) for n, case in enumerate(cases, start=1))
    return LabelledSet(name, made, (GENERAL / "evaluation",))


async def collect_records(
    sets: LabelledSet | Iterable[LabelledSet], brain: Brain, **choice: Any
) -> dict[str, CaseRecord]:
    """Play sets; the records by side and case."""
    records: list[CaseRecord] = []
    async with model_of(brain) as (model, _):
        listed = [sets] if isinstance(sets, LabelledSet) else sets
        await play_sets(
            listed, bench_of(model), model, CaseChoice(**choice), on_record=lambda one, *_: records.append(one)
        )
    return {f"{one.side} {one.id}": one for one in records}
