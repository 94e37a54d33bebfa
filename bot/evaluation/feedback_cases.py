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
"""Maximum characters of an answer in a case; the rest is cut off."""
MAX_FILES = 20
_NON_LABEL_CHARS = re.compile(r"[^\w.+/-]")
OmissionReason = Literal[
    "of private channels and direct messages (--private takes them too)",
    "of another crew",
    "deleted by their author",
    "without an answer",
    "with a thumb that was taken back",
]


@dataclass(frozen=True, slots=True)
class FeedbackCase:
    """A case that people have to label: the kind of its set, and the fields of its YAML."""

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
) -> list[FeedbackCase | OmissionReason]:
    """Return a case, or the reason why there is none, for each request with thumbs.

    `feedback` has the thumbs in the job. `crew` names the crew of the cases, and `specialists` names its members.
    With `include_private`, requests in private channels and direct messages are included; a place of unknown kind is
    private.
    """
    feedback_by_request: dict[str, list[ev.FeedbackGiven]] = {}
    for one in feedback:
        feedback_by_request.setdefault(one.request, []).append(one)
    return [
        _make_case(
            job,
            request,
            feedback_by_request[request.id],
            crew=crew,
            specialists=specialists,
            include_private=include_private,
        )
        for request in job.requests
        if request.id in feedback_by_request
    ]


def _make_case(
    job: Job,
    request: RequestState,
    feedback: list[ev.FeedbackGiven],
    *,
    crew: str,
    specialists: Collection[str],
    include_private: bool,
) -> FeedbackCase | OmissionReason:
    up, down = _count_thumbs(feedback)
    if request.is_withdrawn:
        return "deleted by their author"
    if not include_private and not _is_public(request):
        return "of private channels and direct messages (--private takes them too)"
    if request.spec.crew and crew and request.spec.crew != crew:
        return "of another crew"
    if not up and not down:
        return "with a thumb that was taken back"
    if request.run.answer is None:
        return "without an answer"
    kind, kind_fields = _classify_request(request, specialists)
    reasons = [one.reason for one in feedback if one.reason]
    rating = {"answered": _cut_answer(request.run.answer), "up": up, "down": down, "reasons": reasons}
    files = list(dict.fromkeys(file.name for file in request.artifacts))[:MAX_FILES]
    file_fields = {"files": files} if files else {}
    fields = {
        "id": _NON_LABEL_CHARS.sub("-", f"{job.id}-{request.id}")[:60],
        "tags": ["feedback"],
        **kind_fields,
        "input": request.text,
        **file_fields,
    }
    return FeedbackCase(kind, {**fields, "feedback": rating, "expect": None})


def _count_thumbs(feedback: Iterable[ev.FeedbackGiven]) -> tuple[int, int]:
    """Return a pair: the number of people whose last thumb is up, and of those whose last thumb is down."""
    last = {one.user: one for one in feedback}
    verdicts = [one.good for one in last.values() if not one.withdrawn]
    return sum(verdicts), len(verdicts) - sum(verdicts)


def _is_public(request: RequestState) -> bool:
    if request.setting is not None and request.setting.kind:
        return request.setting.kind == "public"
    kinds = {one.audience.kind for one in request.materials if one.audience is not None}
    return kinds == {"public"}


def _classify_request(
    request: RequestState, specialists: Collection[str]
) -> tuple[Literal["routing", "planning", "specialists"], dict[str, str]]:
    subtasks = [subtask for subtask in request.list_subtasks("") if not subtask.is_dropped]
    if len(subtasks) > 1:
        return "planning", {}
    if subtasks and subtasks[0].specialist in specialists:
        return "specialists", {"specialist": subtasks[0].specialist}
    return "routing", {}


def _cut_answer(answer: str) -> str:
    return answer if len(answer) <= MAX_ANSWER_CHARS else f"{answer[:MAX_ANSWER_CHARS]}\n(… cut here)"
