"""What the listeners need of the rest of the bot: record what people did, and tell what jobs are at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from bot.tracing.whole_trace import Trace
from handoff.contracts import Place, Request
from handoff.state import Job

if TYPE_CHECKING:
    from bot.slack.views.erasure import Forgettable
    from bot.slack.views.question import Choice

AnswerVerdict = Literal["taken", "stale", "not_yours", "unknown", "forgotten"]
"""`stale`: the question is answered or its request over. `not_yours`: it is for somebody else."""
ReplyVerdict = Literal["taken", "heard", "ignored", "quarantined", "not_yours"]
"""`taken`: it answers a question. `heard`: it was recorded, and the job finds out what it is for. `not_yours`: it
answers a question that is for somebody else.
`quarantined`: ignored, as the thread's job is in quarantine."""
CancelVerdict = Literal["cancelling", "noted", "nothing", "not_yours", "unknown", "forgotten"]
"""`noted`: the job is set aside with requests of others, so the Stop counts once it is released. `nothing`: the job is
over. `unknown`: there is no such job, or none in that thread. `forgotten`: it was erased on somebody's wish."""
ReleaseVerdict = Literal["released", "not_quarantined", "not_admin", "unknown", "forgotten"]
Thumbed = Literal["recorded", "ask", "again", "forgotten"]
"""What became of a thumb. `ask`: it is the person's first one down, so that they may be asked why. `again`: nothing
new. `forgotten`: the job is forgotten by now, or had no such request."""
Denied = Literal["unknown", "not_yours", "newer", "unreadable", "forgotten"]
"""`newer`: a newer release works on the job, and only that can tell. `unreadable`: its log is damaged."""


@dataclass(frozen=True, slots=True)
class OverBudget:
    """A budget that is used up: its scope, its name in words, and what its author is told; empty if that was told."""

    scope: str
    named: str
    words: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of an answer, or of a message that may be one.

    `whom`, if the person may answer none of the open questions: who may.
    """

    verdict: AnswerVerdict | ReplyVerdict
    whom: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """What became of a Stop. `others` are the Slack ids of those whose requests of the job it does not end."""

    verdict: CancelVerdict
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Traced:
    """The trace of a job that a person may see; `whole`: that is all of it, for an admin.

    `job` is None if its log cannot be read, and `why` says so.
    """

    trace: Trace
    job: Job | None
    why: Denied = "unreadable"
    whole: bool = False


class Service(Protocol):
    """Where listeners hand in. Everything that returns has been recorded; an exception means that it was not.

    `dedupe` ids name what happened, so that a second delivery changes nothing
    and is answered as the first was. Who may do what is decided here, not by
    the listeners.
    """

    @property
    def admins(self) -> frozenset[str]:
        """Slack ids of the people who may do anything with any job."""

    @property
    def crews(self) -> Mapping[str, str]:
        """The names of the crews that people choose from, the usual one first, with what each says of itself."""

    def clock(self) -> float:
        """Return the time on the clock that all times of jobs are on."""

    async def request(self, place: Place, request: Request, *, dedupe: tuple[str, ...], refusal: str = "") -> bool:
        """Record a request; False for a duplicate. `refusal`: why it will not be worked on, told in the thread."""

    async def knows(self, place: Place) -> bool:
        """Return True if the thread has a job."""

    async def turns_away(self, place: Place, bot: str) -> bool:
        """Return True if another bot is to be told that it asks in vain: once an hour in a channel."""

    async def over_budget(self, place: Place, user: str, ts: str) -> OverBudget | None:
        """Return the budget that a request (its id is `ts`) goes beyond; None if it can be paid for."""

    async def asks_for_more(self, place: Place, user: str, scope: str) -> bool:
        """Return True if the admins are to be asked for more of a budget: once an hour."""

    async def raise_budget(self, place: Place, user: str, scope: str, *, by: str, operation: str) -> str | None:
        """Let an admin raise a budget by as much again, once for the operation. Returns what it is now, in words.

        `place` and `user` are whose budget it is. None: that person is no admin. Empty: there is no such budget.
        """

    async def left(self, team: str, channel: str, user: str, job: str = "") -> list[str]:
        """Say what is spent and left of each budget, a line each; that of a job only if one is named."""

    async def offers(self, place: Place, text: str) -> bool:
        """Return True if an open question of the thread offers just these words as an answer."""

    async def reply(
        self, place: Place, message: Request, *, mentioned: bool, others: bool, dedupe: tuple[str, ...]
    ) -> Answer:
        """Take a message in the thread if it answers an open question, or may be for its job; else ignore it.

        `mentioned`: it names the bot, or is in a direct message. `others`: it names other people and not the bot.
        What is ignored leaves no trace: the same dedupe ids may come again with `request`, as those of a mention do
        that begins something new. What was taken is taken again when it comes twice.
        """

    async def edited(
        self, place: Place, message: str, *, user: str, text: str, stamp: float, dedupe: tuple[str, ...]
    ) -> bool:
        """Record that a message was edited; `text` is how it reads now. False if the job does not know the message."""

    async def deleted(self, place: Place, message: str, *, dedupe: tuple[str, ...]) -> bool:
        """Record that a message was deleted. False if the job does not know the message."""

    async def file_deleted(self, team: str, file: str) -> int:
        """Record that a file was deleted, in all jobs that read it. Returns how many these are."""

    async def answer(
        self, place: Place, choice: Choice, *, user: str, dedupe: tuple[str, ...], words: str = ""
    ) -> Answer:
        """Record a click on an answer's button; with `words`, these in place of what the button says."""

    async def cancel(self, team: str, job: str | None, place: Place | None, *, user: str) -> Stop:
        """Stop what the person may stop of a job, named by its id or by its place: their requests, for an admin all."""

    async def release(self, team: str, job: str, *, user: str) -> ReleaseVerdict:
        """Let a job that is set aside go on. Only admins may."""

    async def forgettable(self, team: str, user: str, *, job: str = "", person: str = "") -> Forgettable | Denied:
        """Tell what would be forgotten, of one job or of all that a person asked for, if they may have that done."""

    async def forget(self, team: str, user: str, mark: str, *, job: str = "", person: str = "") -> bool:
        """Have it forgotten. `mark` tells one wish from its repeat. False if there is nothing, or they may not."""

    async def trouble(self) -> str:
        """Say why no work is begun at the moment, in words for people; empty if it is."""

    async def job(self, team: str, job: str, user: str) -> Job | Denied:
        """Give one job, if the person may see what its thread showed: if they spoke in it."""

    async def trace(self, team: str, job: str, user: str) -> Traced | Denied:
        """Give the steps of a person's own requests in a job; all of it to an admin."""

    async def job_of_thread(self, place: Place) -> Job | None:
        """Return the job of a thread, for whoever can read the thread; None if it has expired."""

    async def feedback(
        self,
        place: Place,
        *,
        request: str,
        user: str,
        good: bool,
        dedupe: tuple[str, ...],
        reason: str = "",
        withdrawn: bool = False,
    ) -> Thumbed:
        """Record a thumb on an answer, the reason of one, or that it was taken back (`withdrawn`)."""
