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
from bot.evaluation.counted_model import CountingModel
from bot.evaluation.outcome import CaseOutcome, CaseTrial, PlayCase
from bot.evaluation.set_files import LabelledSet
from bot.evaluation.staged_job import CaseEnvironment
from bot.evaluation.trials.trial_table import TRIALS
from bot.models.chosen_model import ChosenModel
from bot.store.values import StoreError
from handoff.contracts import Contract
from specialists.model import ModelError

PRODUCT_SIDE, NAIVE_SIDE = "product", "naive"
MAX_REPLY_CHARS = 4_000
"""Characters at most of a reply in a record."""
log = logging.getLogger(__name__)


class CaseRecord(Contract):
    """The record of one case on one side. `error` describes a failed model call; empty if none failed."""

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
    """The choice of cases to play."""

    limit: int = 0
    """The number of cases of each set; 0: all."""
    seed: int = 0
    """Draws the cases if there are more than `limit`."""
    tags: frozenset[str] = frozenset()
    """Only cases with one of these tags; empty: all."""
    include_naive: bool = True
    """True if the naive baseline is played too."""
    parallel: int = 1
    """The number of cases played at once."""

    def choose_cases(self, cases: Sequence[LabelledCase]) -> tuple[LabelledCase, ...]:
        """Return the chosen ones of the cases, in their order."""
        tagged = [case for case in cases if not self.tags or self.tags & set(case.tags)]
        if not self.limit or self.limit >= len(tagged):
            return tuple(tagged)
        drawn = set(random.Random(self.seed).sample(range(len(tagged)), self.limit))  # noqa: S311 - not a secret
        return tuple(case for place, case in enumerate(tagged) if place in drawn)


@dataclass(frozen=True, slots=True)
class _CaseTurn:
    """One case on one side, still to be played."""

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
    record, the number of records so far, and the number of all.
    """
    known = {record.key for record in earlier_records if not record.error}
    turns = [turn for one in sets for turn in _list_case_turns(one, trials[one.name], choice)]
    left = [turn for turn in turns if (turn.labelled_set.name, turn.side, turn.case.id) not in known]
    ready, finished = iter(left), len(turns) - len(left)

    async def play_remaining_cases() -> None:
        nonlocal finished
        for turn in ready:  # the iterator is shared: each worker takes the next case
            record = await _play_case(turn, environment, model)
            finished += 1
            on_record(record, finished, len(turns))

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, choice.parallel)):
            group.create_task(play_remaining_cases())


def _list_case_turns(labelled_set: LabelledSet, trial: CaseTrial, choice: CaseChoice) -> list[_CaseTurn]:
    """Return the chosen cases, each on both sides in turn, so that an interrupted run has complete pairs."""
    sides = [(PRODUCT_SIDE, trial.product)]
    if choice.include_naive and trial.naive is not None:
        sides.append((NAIVE_SIDE, trial.naive))
    return [
        _CaseTurn(labelled_set, case, side, play)
        for case in choice.choose_cases(labelled_set.cases)
        for side, play in sides
    ]


async def _play_case(planned: _CaseTurn, environment: CaseEnvironment, model: ChosenModel) -> CaseRecord:
    counted, began = CountingModel(model), time.monotonic()
    environment = replace(environment, folders=(*planned.labelled_set.folders, *environment.folders))
    try:
        outcome = await planned.play(planned.case, environment, counted)
    except ModelError as error:
        outcome = CaseOutcome(False, fault=str(error))
    except StoreError as error:
        counted.errors.append(str(error))
        outcome = CaseOutcome(False, fault=str(error))
    except Exception as error:  # a bug ends this case alone, and counts as an error
        log.exception("%s, case %s broke", planned.labelled_set.name, planned.case.id)
        counted.errors.append(f"a bug: {type(error).__name__}: {error}")
        outcome = CaseOutcome(False, fault=counted.errors[-1])
    usage = counted.usage
    return CaseRecord(
        set=planned.labelled_set.name,
        side=planned.side,
        id=planned.case.id,
        tags=planned.case.tags,
        right=outcome.is_right,
        said=outcome.reply[:MAX_REPLY_CHARS],
        why=outcome.fault[:MAX_REPLY_CHARS],
        measures=dict(outcome.measures),
        error=counted.errors[-1] if counted.errors else "",
        calls=usage.calls,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        cost=usage.cost,
        seconds=round(time.monotonic() - began, 3),
    )
