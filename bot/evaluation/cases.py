"""The labelled cases of each kind of set, as their YAML files hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from handoff.contracts import Contract, Strategy
from handoff.events import Aim


def _wrap_in_list(value: Any) -> Any:
    """Take one value for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


Texts = Annotated[tuple[str, ...], BeforeValidator(_wrap_in_list)]
"""Texts; in a file also a single one."""
Figures = Annotated[tuple[Annotated[str, BeforeValidator(str)], ...], BeforeValidator(_wrap_in_list)]
"""Numbers, kept as they are written: how many decimals are asked for counts."""
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
    """A case with its right answer. `tags` say of which sort it is: a language, a near miss, small talk.

    `feedback` is there if it was made of people's thumbs.
    """

    id: Label
    tags: Texts = ()
    feedback: RatedAnswer | None = None


class RoutingCase(LabelledCase):
    """A request for one specialist. `expect` names who may get it, or `answer`, `ask` or `nobody`."""

    input: str
    files: Texts = ()
    expect: Texts


class ExpectedPlan(Contract):
    """The plan that does the job.

    `must` holds specialists, and orders such as `analyst > writer`: some part of the one builds on a part of the
    other. Parts for others than those in `must` and `may` make a plan unclean, those in `must_not` make it wrong.
    `parts` are the least and the most parts. `missing`: whether it must say that nobody can do a part of the request.
    """

    reply: Annotated[tuple[Literal["plan", "answer", "ask"], ...], BeforeValidator(_wrap_in_list)] = ("plan",)
    must: Texts = ()
    may: Texts = ()
    must_not: Texts = ()
    parts: tuple[int, int] = (0, 20)
    strategy: Annotated[tuple[Strategy, ...], BeforeValidator(_wrap_in_list)] = ("merge", "reduce")
    missing: bool | None = None


class PlanningCase(LabelledCase):
    """A request and the plan that does the job."""

    input: str
    files: Texts = ()
    expect: ExpectedPlan


class ExpectedAnswer(Contract):
    """What an answer must and must not hold: `figures` in any way of writing them, `texts` in any case of letters."""

    figures: Figures = ()
    texts: Texts = ()
    must_not: Texts = ()


class SpecialistCase(LabelledCase):
    """A question to one specialist with the answer that is known. `files` are beside the set or among the samples."""

    specialist: str
    input: str
    files: Texts = ()
    done_when: str = ""
    expect: ExpectedAnswer


class GivenResult(Contract):
    """A specialist's result that a case gives. `failed`: why there is none."""

    by: str
    title: str
    content: str = ""
    source: str = ""
    confidence: int = 85
    gaps: Texts = ()
    failed: str = ""


class ExpectedCoverage(Contract):
    """What an answer makes of its results.

    All `facts` must stand in it, and all texts of each entry of `both` (the sides of a contradiction). Of each entry
    of `gaps` at least one text must. A text of `once` may stand in it at most once.
    """

    facts: Texts = ()
    both: tuple[Texts, ...] = ()
    gaps: tuple[Texts, ...] = ()
    once: Texts = ()
    must_not: Texts = ()


class AggregationCase(LabelledCase):
    """A request and the results of its parts, to be put together into one answer."""

    input: str
    results: Annotated[tuple[GivenResult, ...], Field(min_length=2)]
    instruction: str = ""
    expect: ExpectedCoverage


class VerifierCase(LabelledCase):
    """A statement of an answer beside the passage that it was made from, and what the verifier should say of it."""

    passage: str
    statement: str
    expect: Literal["supported", "contradicted", "not_found"]


class FiguresCase(LabelledCase):
    """A result beside all that was said to its specialist; `wrong` are its figures that are false or made up."""

    known: Texts
    result: str
    wrong: Figures


class ContradictionCase(LabelledCase):
    """What two results say on one question, and whether both can be true."""

    question: str
    a: str
    b: str
    contradict: bool


class DispatcherCase(LabelledCase):
    """A message in the thread of a job, and what it is for: any of `expect`.

    The job was asked for `asked`. It is over with an `answer`, or it waits for the answer to `question`, or else it
    works on `parts`. `before` are those who have spoken since the bot did.
    """

    asked: str
    answer: str = ""
    question: str = ""
    options: Texts = ()
    parts: Texts = ()
    before: tuple[Speaker, ...] = ()
    by: Speaker = "requester"
    mentioned: bool = False
    input: str
    expect: Annotated[tuple[Aim, ...], BeforeValidator(_wrap_in_list), Field(min_length=1)]


Place = Annotated[str, Field(pattern=r"^\S+:\d+$")]
"""A line of a file, such as shop/cart.py:12."""


class ReviewCase(LabelledCase):
    """A change for one lens of a review. At each place of `expect` it must find something, two lines off at most.

    `others` are places at which there is something for another lens: finding that is no false alarm.
    """

    lens: str
    input: str = "Review the change for what you look for."
    files: Texts
    expect: Annotated[tuple[Place, ...], BeforeValidator(_wrap_in_list)]
    others: tuple[Place, ...] = ()


class JobCase(LabelledCase):
    """A whole job: a request, what its models say, and whether people must see a mark.

    The first responder runs the `query` and the `code`, then it returns `say` with `findings`. If it is sent back, it
    returns the same, with `invented` as its flag. `moves` are instead all that each role and specialist says, in order,
    the last one again and again: one of `hand_over` (why), `plan` (id, specialist and title of each part), `query`,
    `code`, `text`, `say` with `findings`. `shows` are texts that code must have put into the thread: a part
    or a finding that the answer left out.
    """

    input: str
    files: Texts = ()
    query: str = ""
    code: str = ""
    say: str = ""
    findings: tuple[Mapping[str, Any], ...] = ()
    invented: bool = False
    moves: Mapping[str, tuple[Mapping[str, Any], ...]] = {}
    shows: Texts = ()
    expect: Literal["right", "marked"]


class RequestCase(LabelledCase):
    """A whole request as a person would send it, with what its answer must and must not hold."""

    input: str
    files: Texts = ()
    expect: ExpectedAnswer


KINDS: Mapping[str, type[LabelledCase]] = {
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
"""The kind of each set, by the name of its file."""
