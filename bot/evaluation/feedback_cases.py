"""Makes cases for people to label from feedback on answers, in the form of the crew's own sets. Pure.

A request that one specialist answered becomes a case of `specialists`, a request of several parts a case of `planning`,
and any other a case of `routing`. A case does not name the requester or the people who gave feedback.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from handoff import events as ev
from handoff.state.job_state import Job, RequestState

MAX_ANSWER_CHARS = 4_000
"""Characters at most of an answer in a case."""
MAX_FILES = 20
_NON_LABEL_CHARS = re.compile(r"[^\w.+/-]")
LeftOutReason = Literal[
    "of private channels and direct messages (--private takes them too)",
    "of another crew",
    "deleted by their author",
    "without an answer",
    "with a thumb that was taken back",
]


@dataclass(frozen=True, slots=True)
class FeedbackCase:
    """A case to be labelled: the kind of its set, and the fields of its YAML."""

    kind: Literal["routing", "planning", "specialists"]
    fields: dict[str, Any]

    @property
    def id(self) -> str:
        """The name of the case."""
        return str(self.fields["id"])


def make_cases(
    job: Job,
    feedback: Iterable[ev.FeedbackGiven],
    *,
    crew: str = "",
    specialists: Collection[str] = (),
    include_private: bool = False,
) -> list[FeedbackCase | LeftOutReason]:
    """Return for each request with thumbs a case, or the reason why it is left out.

    `feedback` are the thumbs in the job. `crew` is the crew for which cases are made, and `specialists` are its own.
    With `include_private`, requests in private channels and direct messages are included; a place of unknown kind is
    private.
    """
    said: dict[str, list[ev.FeedbackGiven]] = {}
    for one in feedback:
        said.setdefault(one.request, []).append(one)
    return [
        _make_case(job, ask, said[ask.id], crew=crew, specialists=specialists, include_private=include_private)
        for ask in job.asks
        if ask.id in said
    ]


def _make_case(
    job: Job,
    ask: RequestState,
    feedback: list[ev.FeedbackGiven],
    *,
    crew: str,
    specialists: Collection[str],
    include_private: bool,
) -> FeedbackCase | LeftOutReason:
    up, down = _count_thumbs(feedback)
    if ask.withdrawn:
        return "deleted by their author"
    if not include_private and not _is_public(ask):
        return "of private channels and direct messages (--private takes them too)"
    if ask.request.crew and crew and ask.request.crew != crew:
        return "of another crew"
    if not up and not down:
        return "with a thumb that was taken back"
    if ask.run.answer is None:
        return "without an answer"
    kind, of = _classify_request(ask, specialists)
    reasons = [one.reason for one in feedback if one.reason]
    heard = {"answered": _cut_answer(ask.run.answer), "up": up, "down": down, "reasons": reasons}
    files = list(dict.fromkeys(file.name for file in ask.artifacts))[:MAX_FILES]
    named = {"files": files} if files else {}
    about = {
        "id": _NON_LABEL_CHARS.sub("-", f"{job.id}-{ask.id}")[:60],
        "tags": ["feedback"],
        **of,
        "input": ask.text,
        **named,
    }
    return FeedbackCase(kind, {**about, "feedback": heard, "expect": None})


def _count_thumbs(feedback: Iterable[ev.FeedbackGiven]) -> tuple[int, int]:
    """Return a pair: the number of people whose last thumb is up, and of those whose last thumb is down."""
    last = {one.user: one for one in feedback}
    verdicts = [one.good for one in last.values() if not one.withdrawn]
    return sum(verdicts), len(verdicts) - sum(verdicts)


def _is_public(ask: RequestState) -> bool:
    if ask.setting is not None and ask.setting.kind:
        return ask.setting.kind == "public"
    kinds = {one.audience.kind for one in ask.materials if one.audience is not None}
    return kinds == {"public"}


def _classify_request(
    ask: RequestState, specialists: Collection[str]
) -> tuple[Literal["routing", "planning", "specialists"], dict[str, str]]:
    works = [work for work in ask.list_subtasks("") if not work.dropped]
    if len(works) > 1:
        return "planning", {}
    if works and works[0].specialist in specialists:
        return "specialists", {"specialist": works[0].specialist}
    return "routing", {}


def _cut_answer(answer: str) -> str:
    return answer if len(answer) <= MAX_ANSWER_CHARS else f"{answer[:MAX_ANSWER_CHARS]}\n(… cut here)"
