"""Where a brief comes from: people's own words, and whether there is more in it than that. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from handoff.state import Ask, Job, Work


@dataclass(frozen=True, slots=True)
class Origin:
    """What people said in the job, in their own words, and whether a brief may hold what models and tools found."""

    words: tuple[str, ...] = ()
    told: bool = False


def origin(job: Job, ask: Ask, work: Work) -> Origin:
    """The origin of a subtask's brief.

    Its words are those of the request, of the requests before it in its thread, and what people typed to its questions;
    without the names of attached files, and without clicks on answers that a model had offered. There is more in it
    where the thread had an answer before, where the plan was changed on what came to light, where the subtask is inside
    another, and where it follows others or an attempt of its own.
    """
    asks = job.asks[: (job.place_of(ask.id) or 0) + 1]
    more = work.subtask.after or work.brief or work.within or work.attempt > 1 or ask.revisions
    return Origin((*(_without_files(one) for one in asks), *_typed(ask)), told=len(asks) > 1 or bool(more))


def _without_files(ask: Ask) -> str:
    text = ask.request.text
    for file in ask.request.attachments:
        text = text.replace(file.name, " ")
    return text


def _typed(ask: Ask) -> Iterator[str]:
    for work in ask.work.values():
        for said in work.answered:
            if said.text not in said.question.options:
                yield said.text
