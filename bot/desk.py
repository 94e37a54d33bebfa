"""Takes in what people do in Slack: records it in the store, and tells the instance that something came in."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.instance import Instance
from bot.slack.desk import AnswerVerdict, CancelVerdict, Denied, ReplyVerdict
from bot.slack.views.status import JobLine
from handoff import events as ev
from handoff.contracts import Attachment, Place, Request
from handoff.engine import fold
from handoff.job import ENDED, Job
from handoff.store.interface import Entry, Head, JobKey, Store

TITLE = 200


class JobDesk:
    """The `Desk` of a running bot. What returns has been recorded; a StoreError means that it was not.

    Args:
        store: where jobs live.
        instance: told at once of what came in for jobs that it owns.
        admins: Slack ids of people who may see and cancel every job.
    """

    def __init__(self, store: Store, instance: Instance, *, admins: frozenset[str]) -> None:
        self._store = store
        self._instance = instance
        self._admins = admins

    async def request(self, place: Place, request: Request, *, dedupe: tuple[str, ...], refusal: str = "") -> bool:
        """Record a request; False for a duplicate."""
        event = ev.RequestAdded(at=request.at, place=place, request=request, refusal=refusal)
        key = _key(place)
        new = await self._store.ingest(
            key,
            ev.dump(event),
            dedupe=dedupe,
            user=request.user,
            fields={
                "state": "submitted",
                "title": request.text[:TITLE],
                "user": request.user,
                "channel": place.channel,
                "thread_ts": place.thread_ts,
                "asked": str(request.at),
            },
        )
        self._instance.nudge(key)
        return new

    async def reply(
        self,
        place: Place,
        *,
        user: str,
        text: str,
        attachments: tuple[Attachment, ...],
        ts: str,
        dedupe: tuple[str, ...],
    ) -> ReplyVerdict:
        """A message in the thread: taken if it answers an open question of its author, else ignored."""
        del attachments, ts
        head = await self._store.head(_key(place))
        question = next((one for one in _questions(head) if one.user == user), None)
        if question is None or not text.strip():
            return "ignored"
        await self._answered(place, question, user, text, dedupe)
        return "taken"

    async def answer(
        self, place: Place, *, request: str, subtask: str, number: int, user: str, text: str, dedupe: tuple[str, ...]
    ) -> AnswerVerdict:
        """A click on an answer's button."""
        head = await self._store.head(_key(place))
        if head is None:
            return "unknown"
        for question in _questions(head):
            if (question.request, question.subtask, question.number) == (request, subtask, number):
                if question.user != user:
                    return "not_yours"
                await self._answered(place, question, user, text, dedupe)
                return "taken"
        return "stale"

    async def _answered(self, place: Place, question: _Open, user: str, text: str, dedupe: tuple[str, ...]) -> None:
        event = ev.QuestionAnswered(
            at=time.time(), request=question.request, subtask=question.subtask, user=user, text=text.strip()
        )
        await self._store.signal(_key(place), ev.dump(event), dedupe=dedupe)
        self._instance.nudge(_key(place))

    async def cancel(self, team: str, job: str | None, place: Place | None, *, user: str) -> CancelVerdict:
        """Stop a job, named by its id or by its place. Who asked for something in it may, and admins."""
        key = _key(place) if place is not None else JobKey(team, (job or "").upper())
        head = await self._store.head(key)
        if head is None:
            return "unknown"
        if not await self._may_see(key, head, user):
            return "not_yours"
        if head.fields.get("state") in ENDED:
            return "nothing"
        event = ev.CancelRequested(at=time.time(), user=user)
        await self._store.signal(key, ev.dump(event), dedupe=())
        self._instance.nudge(key)
        return "cancelling"

    async def jobs(self, team: str, user: str) -> list[JobLine]:
        """The jobs that a person asked for, newest first."""
        return [_line(head) for head in await self._store.jobs_of(team, user)]

    async def job(self, team: str, job: str, user: str) -> Job | Denied:
        """One job, if the person may see it."""
        entries = await self.trace(team, job, user)
        if isinstance(entries, str):
            return entries
        key = JobKey(team, job.upper())
        waiting = await self._store.inbox(key) if not entries else []
        folded = fold(ev.load(entry.payload) for entry in [*entries, *waiting])
        return folded if folded is not None else "unknown"

    async def trace(self, team: str, job: str, user: str) -> list[Entry] | Denied:
        """A job's log, if the person may see it."""
        key = JobKey(team, job.upper())
        head = await self._store.head(key)
        if head is None:
            return "unknown"
        return await self._store.log(key) if await self._may_see(key, head, user) else "not_yours"

    async def feedback(self, place: Place, *, request: str, user: str, good: bool, dedupe: tuple[str, ...]) -> None:
        """A thumb below an answer: a fact in the job's log."""
        event = ev.FeedbackGiven(at=time.time(), request=request, user=user, good=good)
        await self._store.signal(_key(place), ev.dump(event), dedupe=dedupe)
        self._instance.nudge(_key(place))

    async def _may_see(self, key: JobKey, head: Head, user: str) -> bool:
        """Whether this person asked for something in the job, or is an admin."""
        if user in self._admins or head.fields.get("user") == user:
            return True
        return any(other.key == key for other in await self._store.jobs_of(key.team, user, limit=100))


@dataclass(frozen=True, slots=True)
class _Open:
    """An open question, as the head of a job tells it. `user` is who may answer."""

    request: str
    subtask: str
    number: int
    user: str


def _questions(head: Head | None) -> Sequence[_Open]:
    text = head.fields.get("questions", "") if head else ""
    found: list[dict[str, Any]] = json.loads(text) if text else []
    return [_Open(**one) for one in found]


def _key(place: Place) -> JobKey:
    return JobKey(place.team, place.job_id)


def _line(head: Head) -> JobLine:
    return JobLine(
        job=head.key.job,
        title=head.fields.get("title", ""),
        state=head.fields.get("state", "submitted"),
        channel=head.fields.get("channel", ""),
        updated=head.updated,
    )
