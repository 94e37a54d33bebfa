"""The state of a job, as `engine.apply` builds it from the log. Values only: no rule lives here.

Dataclasses rather than pydantic models: nothing here crosses a boundary, and
a job is rebuilt with every event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from handoff.contracts import (
    Artifact,
    Conflict,
    Member,
    Note,
    Place,
    Plan,
    Request,
    Result,
    Terms,
    Usage,
)
from handoff.doubts import PLEASE_CHECK
from handoff.work import (
    NOTHING,
    PLAIN,
    Decision,
    Failure,
    RequestState,
    Upset,
    Work,
)

ENDED: frozenset[RequestState] = frozenset({"completed", "failed", "cancelled"})
UNJUDGED = 5
"""Of the claims that nobody judged, those that people are told by name."""


@dataclass(frozen=True)
class Ask:
    """One request of a job, from its arrival to its visible end.

    `posted` maps the keys of its messages to their Slack ids (an empty id: it can never be posted). `paused` is the
    seconds in which nobody could work on it, `waits_since` when it began to wait for people. `conflicts` is what the
    arbiter left of the claims that may contradict each other (None: it has not looked) and `unjudged` those too many
    for it; `reduced` the condensed notes by round and part and `let_go` what they lack, `draft` an answer that the
    critic reads first, and `review` its faults (None: it has not). `chosen` is the subtask whose result was picked
    among rivals.

    `within`, where it is a crew inside a crew that is looked at (see `handoff.levels`), is the subtask that it is at.
    `revising` is what the planner is still to be asked about, one after the other; it was asked `revisions` times.
    """

    request: Request
    within: str = ""
    state: RequestState = "submitted"
    refusal: str = ""
    fetched: bool = False
    artifacts: tuple[Artifact, ...] = ()
    file_faults: tuple[str, ...] = ()
    plan: Plan | None = None
    members: Mapping[str, Member] = field(default_factory=lambda: NOTHING)
    rejections: tuple[tuple[str, ...], ...] = ()
    planned: float | None = None
    terms: Terms = PLAIN
    paused: float = 0.0
    waits_since: float | None = None
    work: Mapping[str, Work] = field(default_factory=lambda: NOTHING)
    decisions: tuple[Decision, ...] = ()
    unjudged: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] | None = None
    reduced: Mapping[tuple[int, int], tuple[Note, ...]] = field(default_factory=lambda: NOTHING)
    let_go: tuple[str, ...] = ()
    draft: str | None = None
    review: tuple[str, ...] | None = None
    revising: tuple[Upset, ...] = ()
    revisions: int = 0
    answer: str | None = None
    chosen: str = ""
    failure: Failure | None = None
    cancelled_by: str = ""
    posted: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    usage: Usage = Usage()
    written: float | None = None
    ended: float | None = None

    @property
    def id(self) -> str:
        """The request's id: the `ts` of its message."""
        return self.request.id

    @property
    def over(self) -> bool:
        """Whether people have seen its end."""
        return self.state in ENDED

    @property
    def own(self) -> tuple[Work, ...]:
        """The subtasks of its own plan, without those inside them."""
        within = self.within
        return tuple([work for work in self.work.values() if work.within == within])

    @property
    def missing(self) -> tuple[Work, ...]:
        """The subtasks that brought no result. What is missing inside a subtask is a gap of its result."""
        return tuple(work for work in self.own if work.state in {"error", "skipped"} and not work.dropped)

    @property
    def out_of_reach(self) -> tuple[str, ...]:
        """What no work could bring, in words: files that could not be had, and what nobody in the crew can do."""
        missing = self.plan.missing if self.plan else ()
        return (*self.file_faults, *(f"nobody in the crew can {part}" for part in missing))

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the answer lacks, each in words fit for people."""
        lines = [f"{work.subtask.title}: {work.reason}" for work in self.missing]
        lines += [gap for work in self.own if work.result is not None for gap in self._gaps_of(work, work.result)]
        if self.let_go:
            lines.append(f"{len(self.let_go)} passages of long results could not be read or kept in full")
        if self.unjudged:
            claims = "; ".join(self.unjudged[:UNJUDGED]) + ("; …" if len(self.unjudged) > UNJUDGED else "")
            lines.append(f"{len(self.unjudged)} more statements may contradict each other, unjudged: {claims}")
        if not self.within:  # it is named once, on the outermost level
            lines += [f"{PLEASE_CHECK}: {what}" for what in self.unknown]
        return tuple(dict.fromkeys((*self.out_of_reach, *lines)))

    def _gaps_of(self, work: Work, result: Result) -> list[str]:
        """Those of one result, by its title where there are several."""
        title = work.subtask.title
        alone = len(self.own) == 1
        return [gap if alone or gap.startswith(title) else f"{title}: {gap}" for gap in result.gaps]

    @property
    def sureness(self) -> int | None:
        """How sure the answer is, 0 to 100: as its least sure part that was handed in whole. None without any."""
        sure = [work.result.confidence for work in self.own if work.result and work.result.confidence]
        return min(sure) if sure else None

    @property
    def deadline(self) -> float | None:
        """When its time is up, in seconds since the epoch; None before there is a plan, and while it waits."""
        if self.planned is None or self.waits_since is not None:
            return None
        return self.planned + self.terms.job_seconds + self.paused

    @property
    def unknown(self) -> tuple[str, ...]:
        """What its subtasks began to write and nobody knows the end of, each in a few words for people."""
        return tuple(what for work in self.work.values() for what in work.unknown)

    @property
    def side_by_side(self) -> float:
        """The gain: the sum of subtask times over the wall time from the first start to the last end."""
        around = {work.within for work in self.work.values()}  # what others are inside of is not counted beside them
        works = [
            work
            for work in self.work.values()
            if work.started is not None and work.ended is not None and work.subtask.id not in around
        ]
        if len(works) < 2:
            return 1.0
        wall = max(work.ended or 0.0 for work in works) - min(work.started or 0.0 for work in works)
        return sum(work.duration for work in works) / wall if wall > 0 else 1.0


@dataclass(frozen=True)
class Job:
    """A thread and everything asked in it. `seq` is the number of events folded in.

    `takeovers` counts the owners that were lost. `aside`, where the job was set aside, is the step and the reason.
    """

    place: Place
    asks: tuple[Ask, ...] = ()
    seq: int = 0
    takeovers: int = 0
    aside: Failure | None = None

    @property
    def id(self) -> str:
        """The job's id, which follows from its place."""
        return self.place.job_id

    @property
    def current(self) -> Ask | None:
        """The first request that has not ended: requests of one thread are worked on in order."""
        return next((ask for ask in self.asks if not ask.over), None)

    @property
    def latest(self) -> Ask:
        """The current request, or the last one where all have ended."""
        return self.current or self.asks[-1]

    def ask(self, request_id: str) -> Ask | None:
        """The request of that id, or None."""
        place = self.place_of(request_id)
        return None if place is None else self.asks[place]

    def place_of(self, request_id: str) -> int | None:
        """Where in `asks` the request of that id is. The last ones are looked at first: most events are of those."""
        for place in range(len(self.asks) - 1, -1, -1):
            if self.asks[place].request.id == request_id:
                return place
        return None
