"""A job in memory, for evaluation: the engine lists the due effects, and the product's own handlers perform them.

There is no Slack and no store: messages count as posted, files are kept in a dictionary, and pauses are skipped.
"""

from __future__ import annotations

import hashlib
import mimetypes
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import cast

from bot.evaluation.counting_model import CountingModel
from bot.jobs.effect_handlers import EffectInputs, EffectServices, find_no_approvers
from bot.jobs.effect_runner import find_handler
from bot.jobs.job_runner import JobRunner
from bot.jobs.material_gathering import is_table, make_table_material
from bot.slack.show.thread_view import ThreadView
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.track_record import TrackRecord
from handoff import effects as ef
from handoff import events as ev
from handoff.contracts import (
    Artifact,
    Attachment,
    Material,
    Member,
    Place,
    Plan,
    Request,
    RequestSetting,
    Section,
    Terms,
)
from handoff.engine.engine import apply_event, needs_material
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.state.job_state import Job, RequestState
from specialists.crew import Crew
from specialists.formats.contents import FileContents
from specialists.reading.diff_hunks import read_diff
from specialists.tools.tables.sheet_reading import list_sheet_columns

MAX_STEPS = 60
"""Maximum steps of one case. A job with more is in an endless loop."""
REQUEST_ID = "1.0"
PEOPLE = {"U1": "Ana Duarte", "U2": "Ben Okafor"}
"""The people who write in the thread, by Slack id; the first one made the request."""
MISSING_FILE_BYTES = 20_000
"""The assumed size in bytes of a file that a case names, but that does not exist."""


@dataclass(frozen=True, slots=True)
class CaseEnvironment:
    """The environment of a case: a crew, its planning, its time and token limits, and folders of files."""

    crew: Crew
    planning: CrewPlanner
    terms: Terms
    folders: tuple[Path, ...] = ()
    """The folders that are searched for the files that cases name."""


def find_case_file(name: str, folders: Iterable[Path]) -> Path | None:
    """Return the path of a file that a case names; None if no folder has the file."""
    paths = (folder / Path(name).name for folder in folders)
    return next((path for path in paths if path.is_file()), None)


def read_case_file(name: str, folders: Iterable[Path]) -> bytes | None:
    """Return the bytes of a file that a case names; None if no folder has the file."""
    path = find_case_file(name, folders)
    return None if path is None else path.read_bytes()


@dataclass
class _MemoryBlobs:
    """The files of a job, in memory."""

    data_by_digest: dict[str, bytes] = field(default_factory=dict)

    async def get(self, _key: object, digest: str) -> bytes:
        return self.data_by_digest[digest]

    async def put(self, _key: object, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.data_by_digest[digest] = data
        return digest


@dataclass(frozen=True)
class _MemoryStore:
    """The part of a store that effects need, in memory."""

    blobs: _MemoryBlobs


class _StubThread:
    """A stand-in for `ThreadView` that shows nothing to anybody."""

    messengers = None

    async def fetch_request_setting(
        self, _job: Job, request: RequestState, _crew_people: Sequence[str] = (), _contact: str = ""
    ) -> ev.SettingKnown:
        """Return an event with an empty setting, as cases do not depend on requester and channel."""
        return ev.SettingKnown(at=request.spec.at, request=request.id, setting=RequestSetting())

    async def list_speaker_names(self, _job: Job, user: str) -> tuple[str, ...]:
        """Return the names of the other people in the thread."""
        return tuple(name for one, name in PEOPLE.items() if one != user)

    async def begin_answer(self, *_: object, **__: object) -> _StubThread:
        """Return this thread as the stream of an answer."""
        return self

    async def write(self, _piece: str) -> None:
        """Ignore the text."""


class _NoBreakers:
    """Breakers that never open, so that a case does not depend on those before it."""

    async def count_specialist_failure(self, purpose: str) -> None:
        """Ignore the failure."""


@dataclass(frozen=True)
class _StagedClaim:
    key: JobKey


class StagedJob:
    """A job of one request, which a case plays until a condition is met. Handlers use it as their `JobRunner`."""

    def __init__(
        self,
        environment: CaseEnvironment,
        model: CountingModel,
        text: str,
        files: Iterable[str] = (),
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.environment = environment
        self.model = model
        self.claim = _StagedClaim(JobKey("T1", REQUEST_ID))
        self._skipped_seconds = 0.0
        blobs = _MemoryBlobs()
        # Stand-ins for the parts of an instance that the handlers of effects use.
        store, thread = cast("Store", _MemoryStore(blobs)), cast("ThreadView", _StubThread())
        self._services = EffectServices(
            store,
            thread,
            environment.crew,
            _NoBreakers(),
            TrackRecord(),
            environment.planning,
            find_approvers=find_no_approvers,
        )
        artifacts = tuple(_make_artifact(name, read_case_file(name, environment.folders), blobs) for name in files)
        artifacts += tuple(_make_artifact(name, content.encode(), blobs) for name, content in texts.items())
        attachments = tuple(
            Attachment(file_id=one.id[:12], name=one.name, media_type=one.media_type, size=one.size)
            for one in artifacts
        )
        now = self.now()
        request = Request(id=REQUEST_ID, user=next(iter(PEOPLE)), text=text, at=now, attachments=attachments)
        place = Place(team="T1", channel="C1", thread_ts=REQUEST_ID)
        self.job: Job = apply_event(None, ev.RequestAdded(at=now, place=place, request=request))
        if needs_material(request):  # links in the text, such as to a pull request, are not fetched
            materials = tuple(_make_file_material(one, blobs) for one in artifacts)
            self.report_soon(ev.MaterialGathered(at=now, request=REQUEST_ID, materials=materials))

    @property
    def request(self) -> RequestState:
        """The request in its present state."""
        return self.job.requests[-1]

    # ------------------------------------------------------------ the methods of `JobRunner` that handlers use

    def find_request(self, request_id: str) -> tuple[Job, RequestState]:
        """Return the job and its request. Raises KeyError if there is none of that id."""
        request = self.job.find_request(request_id)
        if request is None:
            raise KeyError(request_id)
        return self.job, request

    def now(self) -> float:
        """Return the seconds since the epoch plus those of all skipped pauses."""
        return time.time() + self._skipped_seconds

    async def ensure_held(self) -> None:
        """Do nothing, as a job in memory has no lease to lose."""

    async def report(self, *events: ev.Event) -> None:
        """Apply events to the job."""
        self.report_soon(*events)

    def report_soon(self, *events: ev.Event) -> None:
        """Apply events to the job."""
        for event in events:
            self.job = apply_event(self.job, event)

    # ------------------------------------------------------------ driving the job

    def set_plan(self, plan: Plan, *, with_verifier: bool = False, with_fallbacks: bool = True) -> None:
        """Give the request a plan without calling the planner.

        With `with_fallbacks`, specialists keep their fallbacks, except those that have tools that write.
        """
        crew = self.environment.crew.specialists
        reads = [name for name, one in crew.items() if all(tool.access == "read" for tool in one.tools)]
        planned_names = (one.specialist for one in plan.subtasks)
        members = tuple(_make_member(self.environment.crew, name) for name in dict.fromkeys((*planned_names, *reads)))
        member_names = {one.name for one in members} if with_fallbacks else set()
        members = tuple(
            one if one.fallback in member_names else one.model_copy(update={"fallback": ""}) for one in members
        )
        terms = self.environment.terms.model_copy(update={"verifier": with_verifier})
        self.report_soon(ev.PlanProposed(at=self.now(), request=REQUEST_ID, plan=plan, members=members, terms=terms))

    async def play(self, is_done: Callable[[RequestState], bool]) -> None:
        """Perform due effects one by one, until `is_done` is True, the request is concluded, or it waits for people.

        Stops after `MAX_STEPS` steps at the latest.
        """
        for _ in range(MAX_STEPS):
            if is_done(self.request) or self.request.run.is_concluded:
                return
            effects, due = list_outstanding_effects(self.job, self.now())
            if posts := [effect for effect in effects if isinstance(effect, ef.PostMessage)]:
                at = self.now()
                self.report_soon(*(ev.Posted(at=at, request=REQUEST_ID, key=one.key, ts="2.0") for one in posts))
            elif effects:
                self.report_soon(await self.perform(effects[0]))
            elif due is not None and self.request.state == "working":
                self._skipped_seconds += max(0.0, due - self.now()) + 0.01
            else:
                return

    def find_due_effect(self, role: str) -> ef.Effect | None:
        """Return the due effect of the role `role`; None if there is none."""
        effects, _ = list_outstanding_effects(self.job, self.now())
        return next((effect for effect in effects if getattr(effect, "role", "") == role), None)

    async def perform(self, effect: ef.Effect) -> ev.Event:
        """Have the product's handler perform an effect, and return its event."""
        inputs = EffectInputs(self._services, cast("JobRunner", self), self.job, self.request, self.model)
        return await find_handler(effect).run(effect, inputs)

    async def may_show(self) -> bool:
        """Return True: there is nobody to show anything to."""
        return True


def _make_artifact(name: str, data: bytes | None, blobs: _MemoryBlobs) -> Artifact:
    digest = hashlib.sha256(data if data is not None else name.encode()).hexdigest()
    if data is not None:
        blobs.data_by_digest[digest] = data
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Artifact(id=digest, name=name, media_type=media_type, size=MISSING_FILE_BYTES if data is None else len(data))


def _make_file_material(file: Artifact, blobs: _MemoryBlobs) -> Material:
    """Return a file as material: a table or a text. A file that does not exist has neither columns nor text."""
    data = blobs.data_by_digest.get(file.id, b"")
    if is_table(file.name, data):
        columns = [name for _, names in list_sheet_columns(data, file.name) for name in names]
        return make_table_material(file, data, [Section(name=name) for name in columns])
    if data and file.name.endswith(".diff"):
        return _make_change_material(file, data, blobs)
    size = len(data.decode("utf-8", "ignore"))
    return Material(name=file.name, file=file, size=size, text=file.id if size else "")


def _make_change_material(file: Artifact, data: bytes, blobs: _MemoryBlobs) -> Material:
    """Return a diff as material, with numbered lines and an outline, as the bot reads a diff."""
    contents = FileContents()
    read_diff(data, file.name, contents)
    text = contents.finish_text()
    digest = hashlib.sha256(text.encode()).hexdigest()
    blobs.data_by_digest[digest] = text.encode()
    outline = tuple(Section(name=name, start=start) for name, start in contents.outline)
    return Material(name=file.name, file=file, size=len(text), text=digest, outline=outline)


def _make_member(crew: Crew, name: str) -> Member:
    one = crew.specialists.get(name)
    if one is None:
        return Member(name=name)
    return Member(name=name, description=one.description, cannot=one.cannot, tier=one.tier, fallback=one.fallback or "")
