"""The labelled cases of each kind of set, in the form of their YAML files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from handoff.contracts import Contract, Strategy
from handoff.events import MessageAim


def _wrap_in_list(value: Any) -> Any:
    """Return a list or tuple as it is, and any other value in a list."""
    return value if isinstance(value, list | tuple) else [value]


Texts = Annotated[tuple[str, ...], BeforeValidator(_wrap_in_list)]
"""A tuple of texts. A case file may give a single text instead of a list."""
Figures = Annotated[tuple[Annotated[str, BeforeValidator(str)], ...], BeforeValidator(_wrap_in_list)]
"""Numbers as text. A number in an answer matches if it rounds to the same value at these decimals."""
Speaker = Literal["requester", "colleague"]
Label = Annotated[str, BeforeValidator(str), Field(pattern=r"^[\w][\w.+/-]*$", max_length=60)]
"""A name without spaces, or a number."""


class RatedAnswer(Contract):
    """The answer that a case was made from, and its ratings: for the person who labels the case, not scored."""

    answered: str = ""
    up: int = 0
    down: int = 0
    reasons: Texts = ()


class LabelledCase(Contract):
    """A case with its right answer. `tags` are its categories, such as a language, a near miss, small talk.

    `feedback` is set if the case was made from people's thumbs.
    """

    id: Label
    tags: Texts = ()
    feedback: RatedAnswer | None = None


class RoutingCase(LabelledCase):
    """A request for one specialist. `expect` names the specialists that may get it, or `answer`, `ask` or `nobody`."""

    input: str
    files: Texts = ()
    expect: Texts


class ExpectedPlan(Contract):
    """The requirements on a right plan."""

    reply: Annotated[tuple[Literal["plan", "answer", "ask"], ...], BeforeValidator(_wrap_in_list)] = ("plan",)
    """The decisions that are right."""
    must: Texts = ()
    """Specialists that need a part, and orders: `analyst > writer` means that a part of writer builds on analyst's."""
    may: Texts = ()
    """Specialists that may have a part. A part for any other makes the plan unclean."""
    must_not: Texts = ()
    """Specialists for which a part makes the plan wrong."""
    parts: tuple[int, int] = (0, 20)
    """The minimum and the maximum number of parts."""
    strategy: Annotated[tuple[Strategy, ...], BeforeValidator(_wrap_in_list)] = ("merge", "reduce")
    """The strategies that are right, for a plan of several parts."""
    missing: bool | None = None
    """Whether the plan must say that nobody can do some part of the request; None: either is right."""


class PlanningCase(LabelledCase):
    """A request and the plan that is right for it."""

    input: str
    files: Texts = ()
    expect: ExpectedPlan


class ExpectedAnswer(Contract):
    """What an answer must and must not contain: `figures` in any notation, `texts` and `must_not` in any case."""

    figures: Figures = ()
    texts: Texts = ()
    must_not: Texts = ()


class SpecialistCase(LabelledCase):
    """A question to one specialist with its known answer. `files` lie beside the set or among the samples."""

    specialist: str
    input: str
    files: Texts = ()
    done_when: str = ""
    expect: ExpectedAnswer


class CannedResult(Contract):
    """A specialist's result that is part of a case. `failed` is the reason of a failure; empty for a success."""

    by: str
    title: str
    content: str = ""
    source: str = ""
    confidence: int = 85
    gaps: Texts = ()
    failed: str = ""


class ExpectedCoverage(Contract):
    """The texts of the results that an answer must keep, may repeat only once, or must not have."""

    facts: Texts = ()
    """Texts that must all be in the answer."""
    both: tuple[Texts, ...] = ()
    """Contradictions: all texts (sides) of each entry must be in the answer."""
    gaps: tuple[Texts, ...] = ()
    """Gaps: at least one text of each entry must be in the answer."""
    once: Texts = ()
    """Texts that may be in the answer at most once."""
    must_not: Texts = ()
    """Texts that must not be in the answer."""


class AggregationCase(LabelledCase):
    """A request and the results of its parts, from which one answer is to be written."""

    input: str
    results: Annotated[tuple[CannedResult, ...], Field(min_length=2)]
    instruction: str = ""
    expect: ExpectedCoverage


class VerifierCase(LabelledCase):
    """A statement in an answer, the passage that it is based on, and the right verdict of the verifier."""

    passage: str
    statement: str
    expect: Literal["supported", "contradicted", "not_found"]


class FiguresCase(LabelledCase):
    """A result, and in `known` the texts that its specialist had. `wrong` are the figures in it that are false."""

    known: Texts
    result: str
    wrong: Figures


class ContradictionCase(LabelledCase):
    """Two results on one question, and whether they contradict each other."""

    question: str
    a: str
    b: str
    contradict: bool


class DispatcherCase(LabelledCase):
    """A message in the thread of a job, and its aim: any of `expect` is right.

    With `answer`, the job is over. With `question`, it waits for people. With neither, it works on `parts`.
    """

    asked: str
    """The request of the job."""
    answer: str = ""
    question: str = ""
    options: Texts = ()
    """The options of the question."""
    parts: Texts = ()
    """The titles of the subtasks under way."""
    before: tuple[Speaker, ...] = ()
    """The authors of the messages since the bot's last one."""
    by: Speaker = "requester"
    """The author of the message."""
    mentioned: bool = False
    input: str
    expect: Annotated[tuple[MessageAim, ...], BeforeValidator(_wrap_in_list), Field(min_length=1)]


CodeLine = Annotated[str, Field(pattern=r"^\S+:\d+$")]
"""A line of a file, such as shop/cart.py:12."""


class ReviewCase(LabelledCase):
    """A change for one lens of a review. It must find a fault within two lines of each place in `expect`.

    `others` are places of faults for other lenses: a finding there is no false alarm.
    """

    lens: str
    input: str = "Review the change for what you look for."
    files: Texts
    expect: Annotated[tuple[CodeLine, ...], BeforeValidator(_wrap_in_list)]
    others: tuple[CodeLine, ...] = ()


class JobCase(LabelledCase):
    """A whole job: a request, the scripted replies of its models, and whether the answer must have a mark of doubt.

    Without `moves`, the first responder runs the `query` and the `code`, then it returns `say` with `findings`. If the
    result is sent back, it returns the same, with `invented` as its flag.
    """

    input: str
    files: Texts = ()
    query: str = ""
    code: str = ""
    say: str = ""
    findings: tuple[Mapping[str, Any], ...] = ()
    invented: bool = False
    moves: Mapping[str, tuple[Mapping[str, Any], ...]] = {}
    """By role or specialist, its replies in order; the last one is repeated.

    Each is one of `hand_over` (why), `plan` (id, specialist and title of each part), `query`, `code`, `text`, or `say`
    with `findings`.
    """
    shows: Texts = ()
    """Texts that code must have posted in the thread, such as a finding that the answer left out."""
    expect: Literal["right", "marked"]


class RequestCase(LabelledCase):
    """A whole request as a person would send it, with what its answer must and must not contain."""

    input: str
    files: Texts = ()
    expect: ExpectedAnswer


CASE_TYPES: Mapping[str, type[LabelledCase]] = {
    "routing": RoutingCase,
    "planning": PlanningCase,
    "specialists": SpecialistCase,
    "aggregation": AggregationCase,
    "figures": FiguresCase,
    "contradictions": ContradictionCase,
    "verifier": VerifierCase,
    "dispatcher": DispatcherCase,
    "reviews": ReviewCase,
    "jobs": JobCase,
    "requests": RequestCase,
}
"""The class of the cases of each set, by the name of its file without suffix."""
