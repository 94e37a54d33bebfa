"""Plays the cases of labelled sets, by the product and by the naive baseline, and records each outcome."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from bot.evaluation.cases import LabelledCase
from bot.evaluation.counting_model import CountingModel
from bot.evaluation.outcome import CaseOutcome, CaseTrial, PlayCase
from bot.evaluation.set_files import LabelledSet
from bot.evaluation.staged_job import CaseEnvironment
from bot.evaluation.trials.trial_registry import TRIALS
from bot.models.chosen_model import ChosenModel
from bot.store.values import StoreError
from handoff.contracts import Contract
from specialists.model import ModelError

PRODUCT_SIDE, NAIVE_SIDE = "product", "naive"
MAX_REPLY_CHARS = 4_000
"""Maximum characters of a reply, and of a fault, in a record."""
log = logging.getLogger(__name__)


class CaseRecord(Contract):
    """The record of one case on one side. `error` is the last failed call, or a bug; empty if there was none."""

    set: str
    side: str
    id: str
    tags: tuple[str, ...] = ()
    right: bool
    said: str = ""
    why: str = ""
    measures: dict[str, bool] = Field(default_factory=dict)
    error: str = ""
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, str]:
        """The set, the side and the id of the case, which identify the record."""
        return self.set, self.side, self.id


@dataclass(frozen=True, slots=True)
class CaseChoice:
    """Selects the cases to play, and how they are played."""

    limit: int = 0
    """The number of cases of each set; 0: all."""
    seed: int = 0
    """The random seed that draws the cases if there are more than `limit`."""
    tags: frozenset[str] = frozenset()
    """Cases must have one of these tags; empty: all cases."""
    include_naive: bool = True
    """True if the naive baseline is played too."""
    parallel: int = 1
    """The number of cases played at once."""

    def choose_cases(self, cases: Sequence[LabelledCase]) -> tuple[LabelledCase, ...]:
        """Return the cases that have a chosen tag, at most `limit` of them, in their order."""
        tagged_cases = [case for case in cases if not self.tags or self.tags & set(case.tags)]
        if not self.limit or self.limit >= len(tagged_cases):
            return tuple(tagged_cases)
        drawn_places = set(random.Random(self.seed).sample(range(len(tagged_cases)), self.limit))  # noqa: S311 - not a secret
        return tuple(case for place, case in enumerate(tagged_cases) if place in drawn_places)


@dataclass(frozen=True, slots=True)
class _PendingCase:
    """One case on one side that is yet to be played."""

    labelled_set: LabelledSet
    case: LabelledCase
    side: str
    play: PlayCase


async def play_sets(
    sets: Iterable[LabelledSet],
    environment: CaseEnvironment,
    model: ChosenModel,
    choice: CaseChoice,
    *,
    earlier_records: Iterable[CaseRecord] = (),
    on_record: Callable[[CaseRecord, int, int], None] = lambda *_: None,
    trials: Mapping[str, CaseTrial] = TRIALS,
) -> None:
    """Play the chosen cases, `choice.parallel` at once.

    Cases in `earlier_records` are not played again, unless they have an error. `on_record` is called with each new
    record, the number of finished cases, and their total.
    """
    recorded_keys = {record.key for record in earlier_records if not record.error}
    pending_cases = [turn for one in sets for turn in _list_pending_cases(one, trials[one.name], choice)]
    remaining_cases = [
        turn for turn in pending_cases if (turn.labelled_set.name, turn.side, turn.case.id) not in recorded_keys
    ]
    ready, finished_count = iter(remaining_cases), len(pending_cases) - len(remaining_cases)

    async def play_remaining_cases() -> None:
        nonlocal finished_count
        for turn in ready:  # the iterator is shared: each worker takes the next case
            record = await _play_case(turn, environment, model)
            finished_count += 1
            on_record(record, finished_count, len(pending_cases))

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, choice.parallel)):
            group.create_task(play_remaining_cases())


def _list_pending_cases(labelled_set: LabelledSet, trial: CaseTrial, choice: CaseChoice) -> list[_PendingCase]:
    """Return the chosen cases in pairs, so that an interrupted run has complete ones.

    Each case is played on the product's side and then on the naive side, if the trial has one and it is wanted.
    """
    sides = [(PRODUCT_SIDE, trial.product)]
    if choice.include_naive and trial.naive is not None:
        sides.append((NAIVE_SIDE, trial.naive))
    return [
        _PendingCase(labelled_set, case, side, play)
        for case in choice.choose_cases(labelled_set.cases)
        for side, play in sides
    ]


async def _play_case(pending_case: _PendingCase, environment: CaseEnvironment, model: ChosenModel) -> CaseRecord:
    counted_model, began = CountingModel(model), time.monotonic()
    environment = replace(environment, folders=(*pending_case.labelled_set.folders, *environment.folders))
    try:
        outcome = await pending_case.play(pending_case.case, environment, counted_model)
    except ModelError as error:
        outcome = CaseOutcome(False, fault=str(error))
    except StoreError as error:
        counted_model.errors.append(str(error))
        outcome = CaseOutcome(False, fault=str(error))
    except Exception as error:  # a bug ends this case alone, and counts as an error
        log.exception("%s, case %s broke", pending_case.labelled_set.name, pending_case.case.id)
        counted_model.errors.append(f"a bug: {type(error).__name__}: {error}")
        outcome = CaseOutcome(False, fault=counted_model.errors[-1])
    usage = counted_model.usage
    return CaseRecord(
        set=pending_case.labelled_set.name,
        side=pending_case.side,
        id=pending_case.case.id,
        tags=pending_case.case.tags,
        right=outcome.is_right,
        said=outcome.reply[:MAX_REPLY_CHARS],
        why=outcome.fault[:MAX_REPLY_CHARS],
        measures=dict(outcome.measures),
        error=counted_model.errors[-1] if counted_model.errors else "",
        calls=usage.calls,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        cost=usage.cost,
        seconds=round(time.monotonic() - began, 3),
    )
