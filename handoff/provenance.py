"""The provenance of a brief: the words that people wrote, and whether models or tools may have added to them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from handoff.state import Ask, Job, Work


@dataclass(frozen=True, slots=True)
class Provenance:
    """The sources of a brief.

    `words` are the texts that people wrote in the job. `has_derived_content` is True if the brief may also hold
    content that models or tools produced.
    """

    words: tuple[str, ...] = ()
    has_derived_content: bool = False


def provenance_of(job: Job, ask: Ask, work: Work) -> Provenance:
    """Say where the brief of a subtask comes from.

    People's words are the texts of this request and of the requests before it in the thread, without the names of
    attached files, and what people typed as answers to questions. A click on an answer that a model offered does not
    count as their words.

    The brief may hold derived content if the thread had an earlier request, the plan was revised, the brief was
    rewritten, the subtask is inside another one, builds on others, or has been attempted before.
    """
    asks = job.asks[: (job.place_of(ask.id) or 0) + 1]
    derived = work.subtask.after or work.brief or work.within or work.attempt > 1 or ask.revisions
    words = (*(_without_file_names(one) for one in asks), *_typed_answers(ask))
    return Provenance(words, has_derived_content=len(asks) > 1 or bool(derived))


def _without_file_names(ask: Ask) -> str:
    text = ask.request.text
    for file in ask.request.attachments:
        text = text.replace(file.name, " ")
    return text


def _typed_answers(ask: Ask) -> Iterator[str]:
    for work in ask.work.values():
        for said in work.answered:
            if said.text not in said.question.options:
                yield said.text
