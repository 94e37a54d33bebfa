"""The services of features without a store: they keep what they are given. `listening` registers features with them."""

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.features.approvals.service import ApprovalService
from bot.features.budgets.service import BudgetService, ExceededBudget
from bot.features.catalogue import register_all
from bot.features.channel_settings.actions import SettingsForm
from bot.features.crews.service import CrewService
from bot.features.erasure.service import ErasureService
from bot.features.erasure.view import ErasureTarget, JobToErase
from bot.features.feedback.service import FeedbackService, ThumbOutcome
from bot.features.home.service import HomeService, PublishHome, SectionPages
from bot.features.job_controls.lists import JobFilter, JobLists
from bot.features.job_controls.service import JobControlService, ReleaseVerdict, StopOutcome
from bot.features.kit import Kit
from bot.features.memory.service import MemoriesService
from bot.features.requests.service import AnswerOutcome, RequestService
from bot.features.requests.typed_requests import TypedRequests
from bot.features.retries.service import RetryService
from bot.features.schedules import ScheduleRuntime
from bot.features.sign_in.service import SignInService
from bot.features.traces.service import TraceService, VisibleTrace
from bot.jobs.job_records import DenialReason, JobRecords
from bot.limits.call_limits import CallLimits
from bot.settings import Settings
from bot.slack.receive.subcommand import CommandContext
from bot.slack.send.budget import CallBudget
from bot.slack.send.web_calls import WebCalls
from bot.slack.show.notices import make_note
from bot.slack.views.job_lines import JobLine
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import ListPage, select_page
from bot.slack.views.question import AnswerChoice
from bot.store.values import LogEntry, StoreError
from bot.tracing.job_trace import derive_trace
from handoff import events as ev
from handoff.contracts import Place, Request
from handoff.engine.engine import fold_log
from handoff.state.job_state import Job


@dataclass
class MemoryService:
    """Requests as they came in; nothing is ever open, used up or set aside."""

    requests: list[tuple[Place, Request, str]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    typed_texts: list[str] = field(default_factory=list)
    cancelled_names: list[str] = field(default_factory=list)
    admins: frozenset[str] = frozenset()
    away: bool = False
    _seen_keys: set[str] = field(default_factory=set)

    store: Any = None
    open_thread: Any = None
    can_be_raised: bool = True
    drafts: Any = field(default_factory=lambda: SimpleNamespace(service=SimpleNamespace(of=None)))
    opener: Any = field(default_factory=lambda: SimpleNamespace(open_thread=None))

    def clock(self) -> float:
        return time.time()

    def nudge(self, key: object) -> None:
        del key

    async def find_groups(self, user: str) -> tuple[str, ...]:
        del user
        return ()

    async def list_examples(self, team: str, channel: str) -> tuple[str, ...]:
        del team, channel
        return ()

    async def has_memories_for(self, place: Place, user: str) -> bool:
        del place, user
        return False

    async def team_has_memories(self, place: Place) -> bool:
        del place
        return False

    async def apply_message_change(self, *_: Any, **__: Any) -> None:
        """Nothing is remembered."""

    async def run(self) -> None:
        """Nothing is done beside."""

    def _fresh(self, dedupe: tuple[str, ...]) -> bool:
        if self.away:
            raise StoreError("the store is away")
        known = self._seen_keys.intersection(dedupe)
        self._seen_keys.update(dedupe)
        return not known

    async def record_request(
        self, place: Place, request: Request, *, dedupe: tuple[str, ...], refusal: str = ""
    ) -> bool:
        if not self._fresh(dedupe):
            return False
        self.requests.append((place, request, refusal))
        return True

    async def record_typed_request(self, ctx: CommandContext) -> Outgoing:
        self.typed_texts.append(ctx.command.text)
        return make_note("Taken as a request.")

    async def has_job(self, place: Place) -> bool:
        if self.away:
            raise StoreError("the store is away")
        del place
        return bool(self.requests)

    async def is_offered_answer(self, place: Place, text: str) -> bool:
        del place, text
        return False

    async def claim_refusal_notice(self, place: Place, bot: str) -> bool:
        return self._fresh((f"{place.channel}/{bot}",))

    async def find_exceeded_budget(self, place: Place, user: str, ts: str) -> ExceededBudget | None:
        del place, user, ts
        return None

    async def claim_admin_request(self, place: Place, user: str, scope: str) -> bool:
        return self._fresh((f"more {place.channel} {user} {scope}",))

    async def raise_budget(self, place: Place, user: str, scope: str, *, admin: str, operation: str) -> str | None:
        del place, user, scope, admin, operation
        return None

    async def describe_usage(self, team: str, channel: str, user: str, job: str = "") -> list[str]:
        del team, channel, user, job
        return []

    async def record_reply(
        self, place: Place, message: Request, *, mentions_bot: bool, mentions_others: bool, dedupe: tuple[str, ...]
    ) -> AnswerOutcome:
        del place, message, mentions_bot, mentions_others, dedupe
        return AnswerOutcome("ignored")

    @property
    def crews(self) -> dict[str, str]:
        return {}

    async def record_edit(
        self, place: Place, message: str, *, user: str, text: str, stamp: float, dedupe: tuple[str, ...]
    ) -> bool:
        del place, user, stamp
        return self._fresh(dedupe) and not self.changes.append(f"{message}: {text}")  # type: ignore[func-returns-value]

    async def record_deletion(self, place: Place, message: str, *, dedupe: tuple[str, ...]) -> bool:
        del place
        return self._fresh(dedupe) and not self.changes.append(f"{message} is gone")  # type: ignore[func-returns-value]

    async def record_choice(
        self, place: Place, choice: AnswerChoice, *, user: str, dedupe: tuple[str, ...], words: str = ""
    ) -> AnswerOutcome:
        del place, user, dedupe, words
        self.answers.append(str(choice.option))
        return AnswerOutcome("taken")

    async def cancel(self, team: str, job: str | None, place: Place | None, *, user: str) -> StopOutcome:
        name = job or (place.job_id if place else "")
        found = next(((p, r) for p, r, _ in self.requests if p.job_id == name and p.team == team), None)
        if found is None:
            return StopOutcome("unknown")
        if found[1].user != user:
            return StopOutcome("not_yours", (found[1].user,) if place else ())
        if name in self.cancelled_names:
            return StopOutcome("nothing")
        self.cancelled_names.append(name)
        return StopOutcome("cancelling")

    async def release(self, team: str, job: str, *, user: str) -> ReleaseVerdict:
        del team, job, user
        return "not_admin"

    async def find_halt_reason(self) -> str:
        return ""

    async def list_own(self, team: str, user: str, page: int, kind: JobFilter = "") -> ListPage[JobLine]:
        mine = [(p, r) for p, r, _ in self.requests if r.user == user and p.team == team and not kind]
        return select_page([JobLine(p.job_id, "working", r.text, p.channel, r.at) for p, r in mine], page)

    async def list_running(self, team: str, page: int = 1) -> ListPage[JobLine]:
        users = {r.user for _, r, _ in self.requests}
        return select_page([line for user in users for line in (await self.list_own(team, user, 1)).rows], page)

    async def read_visible_job(self, team: str, job: str, user: str) -> Job | DenialReason:
        found = await self.read_visible_trace(team, job, user)
        if isinstance(found, str):
            return found
        return found.job or "unknown"

    async def replace_ids_by_names(self, text: str) -> str:
        return text

    async def read_visible_trace(self, team: str, job: str, user: str) -> VisibleTrace | DenialReason:
        found = [(p, r, why) for p, r, why in self.requests if p.job_id == job and p.team == team]
        if not found:
            return "unknown"
        if all(request.user != user for _, request, _ in found):
            return "not_yours"
        events = [ev.RequestAdded(at=r.at, place=p, request=r, refusal=why) for p, r, why in found]
        entries = [LogEntry(seq, ev.dump_event(event)) for seq, event in enumerate(events, 1)]
        return VisibleTrace(derive_trace(entries), fold_log(events))

    async def find_thread_job(self, place: Place) -> Job | None:
        del place
        return None

    async def record_feedback(self, *_: Any, **__: Any) -> ThumbOutcome:
        return "recorded"

    async def find_target(
        self, team: str, user: str, *, job: str = "", person: str = ""
    ) -> ErasureTarget | DenialReason:
        del team
        one = JobToErase(job or "JAAAAAAAAAA", "old", "C1", "1.0", 3, 1, 10, 2, False, {"1.0": user})
        return ErasureTarget((one,), person=person)

    async def start_erasure(self, team: str, user: str, mark: str, *, job: str = "", person: str = "") -> bool:
        del team, user, mark, job, person
        return True

    async def record_file_deletion(self, team: str, file: str) -> int:
        del team
        self.changes.append(f"{file} deleted")
        return 1


class MemoryHomes:
    """Open homes that nothing ever changes in."""

    def __init__(self, team: str) -> None:
        self.calls = WebCalls(CallBudget(is_unlimited=True))
        self.team = team

    def set_publisher(self, publish: PublishHome) -> None:
        del publish

    def mark_changed(self, *who: str) -> None:
        del who

    async def store_opening(self, user: str, new_pages: SectionPages | None = None) -> SectionPages:
        del user
        return new_pages or {}

    async def find_place(self, job: str) -> Place | None:
        del job
        return None

    async def store_digest(self, user: str, digest: str) -> None:
        del user, digest

    def wrap_effects(self, effects: Any) -> Any:
        return effects

    async def run(self) -> None:
        """Nothing changes."""

    admins: frozenset[str] = frozenset()


OTHERS = (
    TypedRequests,
    ErasureService,
    CrewService,
    MemoriesService,
    ApprovalService,
    SignInService,
    ScheduleRuntime,
)
SERVICES = (
    RequestService,
    BudgetService,
    JobControlService,
    TraceService,
    FeedbackService,
    JobLists,
    RetryService,
    *OTHERS,
)
"""The services that a `MemoryService` stands in for."""


@dataclass(frozen=True)
class Real:
    """What real services stand on."""

    records: JobRecords
    limits: CallLimits


def listening(
    app: AsyncApp, gate: Any, service: Any, *, homes: Any = None, tries: Any = None, real: Real | None = None
) -> Kit:
    """Make an app listen for all features, with `service` in place of theirs, or theirs on what is real."""
    nothing: Any = SimpleNamespace(tiers={}, terms=None, directory=None, people=gate.people)
    parts = {**dict.fromkeys(("messengers", "crews", "board", "model"), nothing), "settings": Settings(env={})}
    of = {"records": real.records, "limits": real.limits} if real else {"records": service, "limits": nothing}
    kit = Kit(app=app, gate=gate, channels=gate.settings, **of, **parts)
    kit.services.find_or_make(SettingsForm, lambda: gate.form)
    kit.services.find_or_make(HomeService, lambda: homes or MemoryHomes(gate.people.home.team))
    if tries is not None:
        kit.services.find_or_make(RetryService, lambda: tries)
    for kind in SERVICES if real is None else OTHERS:
        kit.services.find_or_make(kind, lambda: service)
    register_all(kit)
    kit.sections.clear()
    return kit
