"""A job service that keeps what it is given: the rules of `Service` without a store."""

import time
from dataclasses import dataclass, field

from bot.slack.receive.home_tab import Pages, Publish
from bot.slack.receive.lists import Filter
from bot.slack.receive.service import Answer, Denied, OverBudget, ReleaseVerdict, Stop, Thumbed, Traced
from bot.slack.send.budget import Budget
from bot.slack.send.web_calls import WebCalls
from bot.slack.views.erasure import Forgettable, ToForget
from bot.slack.views.job_rows import JobLine
from bot.slack.views.paging import Page, page_of
from bot.slack.views.question import Choice
from bot.store.interface import Entry, StoreError
from bot.tracing.whole_trace import read_trace
from handoff import events as ev
from handoff.contracts import Place, Request
from handoff.engine.engine import fold
from handoff.state import Job


@dataclass
class MemoryService:
    """Jobs by place; open questions as (place, request, subtask, number, asker)."""

    requests: list[tuple[Place, Request, str]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    thumbs: list[tuple[str, bool]] = field(default_factory=list)
    open: list[tuple[Place, str, str, int, str]] = field(default_factory=list)
    admins: frozenset[str] = frozenset()
    quarantined: set[str] = field(default_factory=set)
    away: bool = False
    broke: set[str] = field(default_factory=set)
    over: dict[str, str] = field(default_factory=dict)
    kept: dict[Place, Job] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)
    forgotten: list[tuple[str, str, str, str]] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def clock(self) -> float:
        return time.time()

    def _fresh(self, dedupe: tuple[str, ...]) -> bool:
        if self.away:
            raise StoreError("the store is away")
        known = self._seen.intersection(dedupe)
        self._seen.update(dedupe)
        return not known

    async def request(self, place: Place, request: Request, *, dedupe: tuple[str, ...], refusal: str = "") -> bool:
        if not self._fresh(dedupe):
            return False
        self.requests.append((place, request, refusal))
        return True

    async def knows(self, place: Place) -> bool:
        if self.away:
            raise StoreError("the store is away")
        return bool(self.requests) or any(where == place for where, *_ in self.open)

    async def offers(self, place: Place, text: str) -> bool:
        del place, text
        return False

    async def turns_away(self, place: Place, bot: str) -> bool:
        return self._fresh((f"{place.channel}/{bot}",))

    async def over_budget(self, place: Place, user: str, ts: str) -> OverBudget | None:
        del place, ts
        return OverBudget("person", "the budget", self.over.pop(user, "")) if user in self.broke else None

    async def asks_for_more(self, place: Place, user: str, scope: str) -> bool:
        return self._fresh((f"more {place.channel} {user} {scope}",))

    async def raise_budget(self, place: Place, user: str, scope: str, *, by: str, operation: str) -> str | None:
        del place, scope, operation
        self.broke.discard(user)
        return "More." if by in self.admins else None

    async def left(self, team: str, channel: str, user: str, job: str = "") -> list[str]:
        del team, channel, job
        return [f"{user}: nothing left"] if user in self.broke else []

    async def reply(
        self, place: Place, message: Request, *, mentioned: bool, others: bool, dedupe: tuple[str, ...]
    ) -> Answer:
        del mentioned, others
        user, text = message.user, message.text
        asked = next((each for each in self.open if each[0] == place and each[4] == user), None)
        if asked is None:
            if self._seen.issuperset(dedupe[:1]) and text in self.answers:
                return Answer("taken")
            return Answer("quarantined" if place.job_id in self.quarantined else "ignored")
        self._fresh(dedupe)
        self.open.remove(asked)
        self.answers.append(text)
        return Answer("taken")

    @property
    def crews(self) -> dict[str, str]:
        return {}

    async def edited(
        self, place: Place, message: str, *, user: str, text: str, stamp: float, dedupe: tuple[str, ...]
    ) -> bool:
        del place, user, stamp
        return self._fresh(dedupe) and not self.changes.append(f"{message}: {text}")  # type: ignore[func-returns-value]

    async def deleted(self, place: Place, message: str, *, dedupe: tuple[str, ...]) -> bool:
        del place
        return self._fresh(dedupe) and not self.changes.append(f"{message} is gone")  # type: ignore[func-returns-value]

    async def answer(
        self, place: Place, choice: Choice, *, user: str, dedupe: tuple[str, ...], words: str = ""
    ) -> Answer:
        del words
        named = (place, choice.request, choice.subtask, choice.number)
        asked = next((each for each in self.open if each[:4] == named), None)
        if asked is None:
            return Answer("stale")
        if asked[4] != user:
            return Answer("not_yours", (asked[4],))
        self._fresh(dedupe)
        self.open.remove(asked)
        self.answers.append(str(choice.option))
        return Answer("taken")

    async def cancel(self, team: str, job: str | None, place: Place | None, *, user: str) -> Stop:
        name = job or (place.job_id if place else "")
        found = next(((p, r) for p, r, _ in self.requests if p.job_id == name and p.team == team), None)
        if found is None:
            return Stop("unknown")
        if found[1].user != user:
            return Stop("not_yours", (found[1].user,) if place else ())
        if name in self.cancelled:
            return Stop("nothing")
        self.cancelled.append(name)
        return Stop("cancelling")

    async def release(self, team: str, job: str, *, user: str) -> ReleaseVerdict:
        if user not in self.admins:
            return "not_admin"
        if all(p.job_id != job or p.team != team for p, _, _ in self.requests):
            return "unknown"
        if job not in self.quarantined:
            return "not_quarantined"
        self.quarantined.remove(job)
        return "released"

    async def trouble(self) -> str:
        return ""

    async def of(self, team: str, user: str, page: int, kind: Filter = "") -> Page[JobLine]:
        mine = [(p, r) for p, r, _ in self.requests if r.user == user and p.team == team and not kind]
        return page_of([JobLine(p.job_id, "working", r.text, p.channel, r.at) for p, r in mine], page)

    async def of_all(self, team: str, page: int = 1) -> Page[JobLine]:
        users = {r.user for _, r, _ in self.requests}
        return page_of([line for user in users for line in (await self.of(team, user, 1)).rows], page)

    async def job(self, team: str, job: str, user: str) -> Job | Denied:
        found = await self.trace(team, job, user)
        if isinstance(found, str):
            return found
        return found.job or "unknown"

    async def trace(self, team: str, job: str, user: str) -> Traced | Denied:
        found = [(p, r, why) for p, r, why in self.requests if p.job_id == job and p.team == team]
        if not found:
            return "unknown"
        if all(request.user != user for _, request, _ in found):
            return "not_yours"
        events = [ev.RequestAdded(at=r.at, place=p, request=r, refusal=why) for p, r, why in found]
        entries = [Entry(seq, ev.dump(event)) for seq, event in enumerate(events, 1)]
        return Traced(read_trace(entries), fold(events))

    async def job_of_thread(self, place: Place) -> Job | None:
        return self.kept.get(place)

    async def feedback(
        self,
        place: Place,  # noqa: ARG002
        *,
        request: str,
        user: str,  # noqa: ARG002
        good: bool,
        dedupe: tuple[str, ...],
        reason: str = "",  # noqa: ARG002
        withdrawn: bool = False,  # noqa: ARG002
    ) -> Thumbed:
        if self._fresh(dedupe):
            self.thumbs.append((request, good))
        return "recorded"

    async def forgettable(self, team: str, user: str, *, job: str = "", person: str = "") -> Forgettable | Denied:
        del team
        if job and job in self.foreign:
            return "not_yours"
        one = ToForget(job or "JAAAAAAAAAA", "old", "C1", "1.0", 3, 1, 10, 2, False, {"1.0": user})
        return Forgettable((one,), person=person)

    async def forget(self, team: str, user: str, mark: str, *, job: str = "", person: str = "") -> bool:
        if not self._fresh((f"forget {mark}",)):
            return False
        self.forgotten.append((team, user, job, person))
        return True

    async def file_deleted(self, team: str, file: str) -> int:
        del team
        self.changes.append(f"{file} deleted")
        return 1


class MemoryHomes:
    """Open homes that nothing ever changes in."""

    def __init__(self, team: str) -> None:
        self.calls = WebCalls(Budget(unlimited=True))
        self.team = team

    def shows_with(self, publish: Publish) -> None:
        del publish

    def touch(self, *who: str) -> None:
        del who

    async def opened(self, user: str, turned: Pages | None = None) -> Pages:
        del user
        return turned or {}

    async def place_of(self, job: str) -> Place | None:
        del job
        return None

    async def drawn(self, user: str, digest: str) -> None:
        del user, digest
