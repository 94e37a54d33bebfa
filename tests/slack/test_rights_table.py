"""Who may do what in a thread: persons x deeds x places, each through the real app on a real store, signed.

Ana asked, and waits for an answer of hers; Ben asked for something else in her thread. What must come of each deed is
worked out by `expected`, which knows nothing of the code: it holds the rules as docs/security.md tells them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest

from bot.features.retries.service import RetryService
from bot.jobs.job_records import JobRecords
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import LimitRules
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.slack.views.answer_message import FEEDBACK
from bot.slack.views.card import STOP_ACTION
from bot.slack.views.question import ANSWER_PREFIX
from bot.slack.views.try_again import TRY_AGAIN_ACTION
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff import events as ev
from handoff.access.audit_entry import AuditEntry
from handoff.contracts import Place, Request
from handoff.engine.engine import fold_log
from handoff.state.job_state import Job
from handoff.summaries.summary import build_initial_summary, make_summary_fields
from tests.slack.memory_service import Real
from tests.slack.signed import Door, signed_door

PERSONS = {
    "requester": "ana",
    "who asked for something else": "ben",
    "who asked nothing": "cleo",
    "admin": "cleo",
    "admin of another workspace": "cleo",
    "guest": "gus",
    "stranger": "sol",
}
OTHER = "T0OTHER"
"""Another workspace, with the same ids of people and channels."""
PLACES = ("sales", "leads", "northwind", "dm", "mpdm-ana--ben--gus-1")
DEEDS = (
    "ask", "answer", "click", "click a forged number", "click a forged job", "click a forged request", "stop",
    "say stop", "cancel", "status", "trace", "release", "feedback", "edit", "delete", "again", "say again",
    "retry",
)  # fmt: skip
BY_ID = ("cancel", "status", "trace", "release", "retry")
"""Deeds that name a job by its id."""
AGAIN = ("again", "say again", "retry")
"""Deeds about a request of Ana's that failed: by its button, by a word in the thread, by a command."""
FORGED_CHOICES: dict[str, dict[str, Any]] = {
    "click a forged number": {"number": 7},
    "click a forged job": {"job": "J0000000000"},
    "click a forged request": {"request": "1.0"},
}
OUTSIDE = {"guest": "Guests cannot use me here", "stranger": "People of your workspace cannot use me here"}


@dataclass(frozen=True)
class Outcome:
    """What came of a deed: what it did to the job, and the line that its person alone was told (its gist)."""

    did: frozenset[str] = frozenset()
    told_line: str = ""


def did(*what: str, told_line: str = "") -> Outcome:
    return Outcome(frozenset(what), told_line)


NO_ANSWER = "I took that as a request of your own. The open question is for @ana: nobody else can answer it."

# ---------------------------------------------------------------- the oracle


def expected(kind: str, deed: str, place: str) -> Outcome:
    """What must come of it. `@name` in a line stands for a mention, `name` for a person."""
    person, inside = PERSONS[kind], kind not in OUTSIDE
    if deed == "delete":  # Slack says that a message is gone, and not by whom: it lets only those do it who may
        return did("ana withdrew")
    if not inside:
        silent = deed == "edit" or (deed == "answer" and place != "dm")
        return did(told_line="" if silent else OUTSIDE[kind])
    simple = {
        "ask": did("heard ana") if kind == "requester" else did(f"{person} asked", told_line=NO_ANSWER),
        "edit": did("ana edited") if kind == "requester" else did(),
        "feedback": did(f"thumb of {person}", told_line="Thank you"),
        "click a forged number": did(told_line="That question is closed"),
        "click a forged request": did(told_line="That question is closed"),
        "click a forged job": did(told_line="That button no longer does anything"),
        "release": did(told_line="That job is not set aside" if kind == "admin" else "Only an admin may do that"),
    }
    if deed in simple:
        return simple[deed]
    if deed in ("answer", "click"):
        mine = did("ana answered Oslo")
        return mine if kind == "requester" else did(told_line="That question is for @ana: nobody else can answer it.")
    if deed in ("stop", "say stop", "cancel", *AGAIN):
        return again(kind, deed) if deed in AGAIN else stop(kind, deed)
    sees = {
        "status": kind in ("requester", "who asked for something else", "admin"),
        "trace": kind in ("requester", "who asked for something else", "admin"),
    }[deed]
    if not sees:
        return did(told_line={"status": "Only people who said something", "trace": "You can only see the steps"}[deed])
    steps = {"requester": "steps of ana", "who asked for something else": "steps of ben", "admin": "steps of ana, ben"}
    return did(told_line="the job" if deed == "status" else steps[kind])


def again(kind: str, deed: str) -> Outcome:
    if kind in ("requester", "admin"):
        return did(f"{PERSONS[kind]} asked", told_line="I take it up again" if deed == "retry" else "")
    return did(told_line="Only @ana, who asked for it, or an admin can have it tried again.")


def stop(kind: str, deed: str) -> Outcome:
    goes_on = "What @{} asked for goes on: only they or an admin can stop it."
    if kind == "admin":
        return did("ana stopped", "ben stopped", told_line="Stopping. A report")
    if kind == "requester":
        return did("ana stopped", told_line=goes_on.format("ben"))
    if kind == "who asked for something else":
        return did("ben stopped", told_line=goes_on.format("ana"))
    named = "Only @ana or @ben, who asked for this, or an admin can stop it."
    return did(told_line="Only the person who asked for it, or an admin, can stop it." if deed == "cancel" else named)


# ---------------------------------------------------------------- what really happens


@dataclass
class Table:
    """A workspace, the real app behind its door, and jobs in a real store."""

    door: Door
    store: Store
    audit_entries: list[AuditEntry] = field(default_factory=list)
    count: int = 0

    def channel(self, place: str) -> str:
        return self.door.place(place, "ana")

    async def job(self, place: str, *, has_failed: bool, team: str = "") -> Place:
        """A thread in which Ana's request waits for her answer, or has failed, and Ben's waits for hers."""
        self.count += 1
        team = team or self.door.town.team_id
        where = Place(team=team, channel=self.channel(place), thread_ts=f"1700000000.{self.count:06}")
        key, at = JobKey(where.team, where.job_id), self.store.clock()
        log: list[ev.Event] = []
        for name, ts in (("ana", where.thread_ts), ("ben", f"1700000500.{self.count:06}")):
            request = Request(id=ts, user=self.door.user(name), text=f"a question of {name}", at=at)
            log.append(ev.RequestAdded(at=at, place=where, request=request))
            ids, fields = (f"made:{ts}",), build_initial_summary(where, request)
            await self.store.jobs.ingest(key, ev.dump_event(log[-1]), dedupe=ids, user=request.user, fields=fields)
        asked = {"question": "Which city?", "options": ("Oslo", "Bergen")}
        of = {"at": at, "request": where.thread_ts}
        broke = {"step": "planning", "reason": "it broke", "advice": "again"}
        log.append(ev.RequestFailed(**of, **broke) if has_failed else ev.PlannerAsked.model_validate({**of, **asked}))
        claim = await self.store.jobs.claim("me", lease=60, schema=ev.SCHEMA, preferred_job=key)
        assert claim is not None
        job = fold_log(log)
        assert job is not None
        taken = [entry.seq for entry in await self.store.jobs.read_inbox(key)]
        written = [ev.dump_event(event) for event in log]
        await self.store.jobs.commit(
            claim, "made", 0, written, taken_entries=taken, fields=make_summary_fields(job), schema=ev.SCHEMA
        )
        await self.store.jobs.release(claim, due=None)
        return where

    async def state(self, where: Place) -> tuple[Job, list[ev.Event]]:
        """The job with what came in, and what that was."""
        key = JobKey(where.team, where.job_id)
        came = [ev.load_event(entry.payload) for entry in await self.store.jobs.read_inbox(key)]
        job = fold_log([*(ev.load_event(entry.payload) for entry in await self.store.jobs.read_log(key)), *came])
        assert job is not None
        return job, came

    async def do(self, deed: str, person: str, where: Place) -> str:
        """Have it done; returns the answer of a command."""
        body = self.body(deed, person, where)
        if "command" in body:
            answer = await self.door.knock(urlencode(body))
            return json.dumps(answer, ensure_ascii=False)
        await self.door.knock(urlencode({"payload": json.dumps(body)}) if "actions" in body else body)
        return ""

    def body(self, deed: str, person: str, where: Place) -> dict[str, Any]:
        """What Slack would send for it, forged where the deed says so."""
        door, root = self.door, where.thread_ts
        place = next(name for name in PLACES if self.channel(name) == where.channel)
        if deed.startswith("click"):
            choice = {"job": where.job_id, "request": root, "subtask": "", "number": 1, "option": 0}
            choice |= FORGED_CHOICES.get(deed, {})
            return self.click(person, where, f"{ANSWER_PREFIX}0", json.dumps(choice))
        if deed == "stop":
            return self.click(person, where, STOP_ACTION, "-")
        if deed == "feedback":
            return self.click(person, where, FEEDBACK, json.dumps({"job": where.job_id, "request": root, "good": True}))
        if deed == "again":
            return self.click(person, where, TRY_AGAIN_ACTION, json.dumps({"job": where.job_id, "request": root}))
        if deed in BY_ID:
            of = {"channel_id": where.channel, "text": f"{deed} {where.job_id}", "trigger_id": f"1.2.{self.count}"}
            return {**door._command(person, place), **of}
        if deed in ("edit", "delete"):
            return self.change(deed, person, place, where)
        body = door._mention(person, place) if deed != "answer" else door._follow_up(person, place)
        bot = f"<@{door.town.bot_user_id}>"
        text = {"ask": f"{bot} compare the two offers", "say stop": f"{bot} stop", "answer": "Oslo"}
        text = text.get(deed, f"{bot} retry")
        body["event"] |= {"channel": where.channel, "thread_ts": root, "text": text}
        return body

    def click(self, person: str, where: Place, action: str, value: str) -> dict[str, Any]:
        place = next(name for name in PLACES if self.channel(name) == where.channel)
        body = self.door._make_click(person, place, {"action_id": action, "value": value})
        body["message"]["thread_ts"] = where.thread_ts
        body["channel"]["id"] = where.channel
        return body

    def change(self, deed: str, person: str, place: str, where: Place) -> dict[str, Any]:
        said = {"ts": where.thread_ts, "user": self.door.user(person), "text": "a question of ana"}
        if deed == "edit":
            after = {**said, "text": "something else", "edited": {"ts": "1800000000.1"}}
            event = {"type": "message", "subtype": "message_changed", "message": after, "previous_message": said}
        else:
            event = {
                "type": "message",
                "subtype": "message_deleted",
                "deleted_ts": said["ts"],
                "previous_message": said,
            }
        kind = {"dm": "im", "leads": "group"}.get(place, "mpim" if place.startswith("mpdm") else "channel")
        event |= {"channel": where.channel, "channel_type": kind, "hidden": True, "ts": f"1800000000.{self.count:06}"}
        body = self.door._event(person, place, event)
        del body["event"]["user"]
        return body

    # -- what came of it -------------------------------------------------------------------------

    async def outcome(self, deed: str, person: str, place: str) -> Outcome:
        where = await self.job(place, has_failed=deed in AGAIN)
        self.door.gate.marks.clear()
        told = len(self.door.list_ephemerals())
        answer = await self.do(deed, person, where)
        job, came = await self.state(where)
        lines = [
            str(one["text"]) for one in self.door.list_ephemerals()[told:] if one["user"] == self.door.user(person)
        ]
        assert len(lines) <= 1, lines
        return Outcome(frozenset(self.changes(job, came)), self.in_names("".join(lines) or answer))

    def changes(self, job: Job, came: list[ev.Event]) -> list[str]:
        """What the deed did, by people's names."""
        names = {self.door.user(name): name for name in ("ana", "ben", "cleo", "gus", "sol")}
        found = [f"{names[request.spec.user]} asked" for request in job.requests[2:]]
        for request in job.requests:
            name = names[request.spec.user]
            found += (
                [f"{name} withdrew"] if request.is_withdrawn else [f"{name} stopped"] if request.cancelled_by else []
            )
            found += [f"{names[one.user]} answered {one.text}" for one in request.question_answers]
            found += [f"{name} edited"] if request.spec.text == "something else" else []
        waits = [one for one in job.pending_messages if not one.outcome]
        found += [f"heard {names[one.message.user]}" for one in waits]
        return found + [f"thumb of {names[one.user]}" for one in came if isinstance(one, ev.FeedbackGiven)]

    def in_names(self, line: str) -> str:
        for name in ("ana", "ben", "cleo"):
            line = line.replace(f"<@{self.door.user(name)}>", f"@{name}").replace(self.door.user(name), name)
        return line


def gist(deed: str, line: str) -> str:
    """What a shown job or trace holds, in a word; any other line is itself."""
    if deed == "status" and "Job J" in line:
        return "the job"
    if deed == "trace" and "asked by" in line:
        # A name that Slack did not tell in time is an id, which stands here as the name in small letters.
        asked = {name.lower() for name in re.findall(r"asked by @?(\w+)", line)}
        return "steps of " + ", ".join(name for name in ("ana", "ben", "cleo") if name in asked)
    return line


def nobody_wakes(key: JobKey) -> None:
    del key


@asynccontextmanager
async def table(store: Store, *, admins: tuple[str, ...] = (), admins_in: str = "") -> AsyncIterator[Table]:
    noted: list[AuditEntry] = []

    async def note(entry: AuditEntry) -> None:
        noted.append(entry)

    limits = CallLimits(store.counters, RehearsalModel(), LimitRules(), store.clock)

    def service(door: Door) -> Real:
        return Real(JobRecords(store, nobody_wakes, admins=door.gate.people.admins, record_audit=note), limits)

    def tries(door: Door) -> RetryService:
        return RetryService(store, nobody_wakes, admins=door.gate.people.admins, record_audit=note)

    async with signed_door(admins=admins, admins_in=admins_in, service_of=service, tries_of=tries) as door:
        yield Table(door, store, noted)
    await limits.close(1)


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the extra `charts` is not installed: else each trace starts a process that draws it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.mark.parametrize("kind", PERSONS)
async def test_who_may_do_what_where(store: Store, kind: str) -> None:
    person = PERSONS[kind]
    admins, of = ("cleo",) if kind.startswith("admin") else (), OTHER if kind == "admin of another workspace" else ""
    async with table(store, admins=admins, admins_in=of) as tried_at:
        for place in PLACES:
            for deed in DEEDS:
                wanted = expected(kind, deed, place)
                refused = len(tried_at.audit_entries)
                found = await tried_at.outcome(deed, person, place)
                line = gist(deed, found.told_line)
                assert (found.did, bool(line)) == (wanted.did, bool(wanted.told_line)), (
                    kind,
                    place,
                    deed,
                    found,
                    wanted,
                )
                assert wanted.told_line in line, (kind, place, deed, line, wanted)
                notes = [note for note in tried_at.audit_entries[refused:] if note.outcome == "refused"]
                theirs = wanted.told_line.startswith(("Only", "You can only", "That question is"))
                assert len(notes) == theirs, (kind, place, deed, notes)
                assert all((note.user, note.job) != ("", "") and note.why for note in notes)
    assert (len(PERSONS), len(PLACES), len(DEEDS)) == (7, 5, 18)


@pytest.mark.parametrize("person", ["ana", "cleo"])
async def test_nobody_reaches_a_job_of_another_workspace(store: Store, person: str) -> None:
    """Neither who has the same id as its requester there, nor an admin here; its channel and thread are ours too."""
    async with table(store, admins=("cleo",)) as tried_at:
        for deed in BY_ID:
            where = await tried_at.job("sales", has_failed=deed in AGAIN, team=OTHER)
            before = await tried_at.state(where)
            nowhere = where.model_copy(update={"thread_ts": f"1600000000.{tried_at.count:06}"})
            assert await tried_at.do(deed, person, where) == await tried_at.do(deed, person, nowhere), deed
            assert await tried_at.state(where) == before, deed
