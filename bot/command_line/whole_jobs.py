"""Plays whole jobs for `leadhand eval`, one by one with a bot in a local workspace, and scores their threads.

In the set `jobs` the models' replies are scripted by the case; in `requests` the configured models reply.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.app import App, find_manifest
from bot.command_line.one_job import CHANNEL, replay_job
from bot.command_line.try_out import start_bot
from bot.evaluation.cases import JobCase, RequestCase
from bot.evaluation.counting_model import CountingModel
from bot.evaluation.outcome import CaseOutcome, PlayCase
from bot.evaluation.staged_job import CaseEnvironment, find_case_file, read_case_file
from bot.evaluation.trials.specialist_trials import find_answer_faults, run_naive_loop
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.operation.leftovers import TRIAL_PREFIX
from bot.settings import Settings
from bot.store.values import JobKey
from bot.workspace.message_text import render_message
from bot.workspace.workspace_server import Workspace
from handoff.answering.fixed_words import Phrase, render_phrase
from handoff.checking.workings import remove_workings
from handoff.contracts import Place, ToolCall, Turn, Usage
from handoff.engine.answer import list_answer_gaps
from handoff.state.job_state import Job
from handoff.text.context_budget import estimate_token_count
from specialists.model import ModelCall
from specialists.sandbox.scratch_folder import get_scratch_folder
from specialists.specialist import Specialist
from specialists.turns.finish_tools import HAND_OVER, RETURN_RESULT

JOB_TIMEOUT_SECONDS = 60.0
"""Maximum seconds of one job with scripted replies."""
REQUEST_TIMEOUT_SECONDS = 3_600.0
"""Maximum seconds of one request to the configured models, as a small server at home is slow."""
MAX_INLINE_CHARS = 20_000
"""Maximum characters of a file whose text the plain prompt quotes. Of a longer file it has only the name."""
POLL_SECONDS = 0.02
DOUBT_PHRASES: tuple[Phrase, ...] = ("not_from_files", "not_opened")
"""The phrases below an answer that warn people of doubtful content."""
WARNINGS_BY_FAULT: Mapping[str, tuple[Phrase, ...]] = {
    "filter": ("filters", "not_from_files"),
    "deed": ("nothing_done",),
    "unopened": ("not_opened",),
}
"""By tag of the planted fault, the phrases of which at least one must be shown. The default is `not_from_files`."""


class ScriptedModel(RehearsalModel):
    """Replies with the scripted moves of a case, and counts tokens. The rehearsal replies for roles without moves.

    If `load_moves` sets a `live_model`, that model replies to everything. `label` names the configured models.
    """

    def __init__(self, label: str) -> None:
        super().__init__()
        self._label = label
        self.usage = Usage()
        self._live_model: CountingModel | None = None
        self._remaining_moves: dict[str, list[Mapping[str, Any]]] = {}

    @property
    def label(self) -> str:
        """The label of the configured models."""
        return self._label

    def load_moves(
        self, moves: Mapping[str, Sequence[Mapping[str, Any]]], live_model: CountingModel | None = None
    ) -> None:
        """Load the scripted moves of the next case, by role, or the model that replies in it."""
        self.usage, self._live_model = Usage(), live_model
        self._remaining_moves = {name: list(steps) for name, steps in moves.items()}

    async def reply(self, call: ModelCall) -> Turn:
        """Return the next scripted turn of the called role. Its last turn is repeated."""
        if self._live_model is not None:
            return await self._live_model.reply(call)
        name = call.purpose.rpartition(":")[2]
        steps = self._remaining_moves.get(name)
        if not steps:
            turn = await super().reply(call)
        else:
            turn = _make_turn(steps.pop(0) if len(steps) > 1 else steps[0], len(call.messages))
        texts = [call.system, *(text for one in call.messages for text in (one.text, *(r.text for r in one.replies)))]
        reply_texts = [turn.text, *(json.dumps(one.arguments) for one in turn.calls)]
        usage = Usage(
            calls=1,
            tokens_in=sum(map(estimate_token_count, texts)),
            tokens_out=sum(map(estimate_token_count, reply_texts)),
            model="played",
        )
        self.usage += usage
        if call.on_text is not None and turn.text and steps:
            await call.on_text(turn.text)
        return turn.model_copy(update={"usage": usage})


def _make_turn(step: Mapping[str, Any], number: int) -> Turn:
    if "plan" in step:
        parts = [
            {"id": one, "title": title, "intent": title, "specialist": who, "after": [], "done_when": "It is said."}
            for one, who, title in step["plan"]
        ]
        plan = {"goal": "It", "subtasks": parts, "strategy": "merge", "instruction": ""}
        return Turn(text=json.dumps(plan), stop="end", usage=Usage())
    if "text" in step:
        return Turn(text=str(step["text"]), stop="end", usage=Usage())
    name, arguments = _make_call(step)
    call = ToolCall(id=f"played_{number}", name=name, arguments=arguments)
    return Turn(text="", calls=(call,), stop="tool_use", usage=Usage())


def _make_call(step: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if "hand_over" in step:
        return HAND_OVER, {"why": step["hand_over"]}
    if "query" in step:
        return "query_table", {"sql": step["query"]}
    if "code" in step:
        return "calculate", {"code": step["code"]}
    invented_field = {"invented": True} if step.get("invented") else {}
    return RETURN_RESULT, {
        "content": step["say"],
        "confidence": 90,
        "findings": list(step.get("findings", ())),
        **invented_field,
    }


def make_moves(case: JobCase) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the scripted moves of a case, by the name of the role."""
    if case.moves:
        return dict(case.moves)
    steps: list[Mapping[str, Any]] = [{"query": case.query}] if case.query else []
    steps += [{"code": case.code}] if case.code else []
    result_step = {"say": case.say, "findings": case.findings}
    return {"assistant": [*steps, result_step, {**result_step, "invented": case.invented}]}


@dataclasses.dataclass(frozen=True)
class JobStage:
    """A bot in a workspace, whose model replies as each case scripts it. It plays one case at a time."""

    workspace: Workspace
    app: App
    model: ScriptedModel
    lock: asyncio.Lock

    async def score_request(
        self, case: RequestCase, environment: CaseEnvironment, counted_model: CountingModel
    ) -> CaseOutcome:
        """Send a request to the bot, whose models are the configured ones, and score its thread."""
        async with self.lock:
            self.model.load_moves({}, counted_model)
            thread_text, job = await self._run_job(case, _find_case_files(case, environment), REQUEST_TIMEOUT_SECONDS)
        answer = job.latest_request.run.answer or ""
        gaps = list_answer_gaps(job.latest_request, job.latest_request.run)
        faults = find_answer_faults(case.expect, answer) if answer else [f"no answer: it is {job.latest_request.state}"]
        has_warning = any(_shows_warning(name, case, thread_text) for name in DOUBT_PHRASES)
        measures = (
            {"right answers marked": has_warning}
            if not faults
            else {"wrong answers unmarked": not has_warning and not gaps}
        )
        return CaseOutcome(not faults, thread_text, "; ".join(faults), measures)

    async def score_job(self, case: JobCase, environment: CaseEnvironment, counted_model: CountingModel) -> CaseOutcome:
        """Play a job with scripted replies, and score its thread.

        `counted_model` gets the usage of the scripted model.
        """
        async with self.lock:
            self.model.load_moves(make_moves(case))
            thread_text, job = await self._run_job(case, _find_case_files(case, environment), JOB_TIMEOUT_SECONDS)
            counted_model.usage = self.model.usage
        if case.expect == "right":
            warnings = [name for name in DOUBT_PHRASES if _shows_warning(name, case, thread_text)]
            gaps = (f"gap: {one}" for one in list_answer_gaps(job.latest_request, job.latest_request.run))
            faults = [*warnings, *gaps, *_list_missing_lines(case, thread_text)]
            return CaseOutcome(not faults, thread_text, "; ".join(faults), {"right answers marked": bool(faults)})
        kind = next((tag for tag in case.tags if tag in WARNINGS_BY_FAULT), "")
        has_warning = any(
            _shows_warning(name, case, thread_text) for name in WARNINGS_BY_FAULT.get(kind, ("not_from_files",))
        )
        is_caught = (
            not _list_missing_lines(case, thread_text)
            if case.shows
            else has_warning or not _shows_line(case.say, thread_text)
        )
        return CaseOutcome(
            is_caught, thread_text, "" if is_caught else "nothing warns of it", {"faults unmarked": not is_caught}
        )

    async def _run_job(self, case: JobCase | RequestCase, files: Sequence[Path], seconds: float) -> tuple[str, Job]:
        """Send the request as a person would. Returns a pair of the thread's text at the end and the job.

        Raises TimeoutError after `seconds`.
        """
        person = self.workspace.person("ana")
        ts = await person.say(CHANNEL, f"@leadhand {case.input}", files=list(files))
        channel = self.workspace.channel_id(CHANNEL)
        place = Place(team=self.workspace.team_id, channel=channel, thread_ts=ts)
        key = JobKey(place.team, place.job_id)
        async with asyncio.timeout(seconds):
            while True:
                job = await replay_job(self.app, key)
                if job is not None and (job.latest_request.is_over or job.latest_request.state == "input_required"):
                    break  # nobody is there to answer a question
                await asyncio.sleep(POLL_SECONDS)
        thread = self.workspace.thread(channel, ts)[1:]
        return "\n".join(render_message(message, {}) for message in thread), job


def _shows_warning(name: Phrase, case: JobCase | RequestCase, thread_text: str) -> bool:
    words = render_phrase(name, case.input, what="\x00").partition("\x00")[0].strip()
    return words in thread_text


def _shows_line(text: str, thread_text: str) -> bool:
    """Return True if a thread shows a line of `text`. Workings and table rows of `text` do not count."""
    lines = (line.strip() for line in remove_workings(text).split("\n"))
    thread = _strip_marks(thread_text)
    return any(_strip_marks(line) in thread for line in lines if line and not line.startswith("|"))


def _list_missing_lines(case: JobCase, thread_text: str) -> list[str]:
    expected_lines = [
        *case.shows,
        *([case.say] if case.expect == "right" and case.say and "\n" not in case.say else []),
    ]
    return [f"missing: {one}" for one in expected_lines if _strip_marks(one) not in _strip_marks(thread_text)]


def _strip_marks(text: str) -> str:
    return " ".join(text.replace("*", "").replace("_", "").replace("`", "").split())


def make_naive_trial(first_responder: Specialist) -> PlayCase:
    """Return a trial that asks the model in a plain loop, with the first responder's tools and the files' text."""

    async def ask(case: RequestCase, environment: CaseEnvironment, counted_model: CountingModel) -> CaseOutcome:
        texts = [
            f"# {name}\n{_decode_inline_text(read_case_file(name, environment.folders) or b'')}" for name in case.files
        ]
        text = await run_naive_loop(
            "\n\n".join([case.input, *texts]), case.files, first_responder, environment, counted_model
        )
        faults = find_answer_faults(case.expect, text) if text.strip() else ["no answer"]
        return CaseOutcome(not faults, text, "; ".join(faults), {"wrong answers unmarked": True} if faults else {})

    return ask


def _decode_inline_text(data: bytes) -> str:
    text = data.decode(errors="replace")
    return text if len(text) <= MAX_INLINE_CHARS else "(attached)"


def _find_case_files(case: JobCase | RequestCase, environment: CaseEnvironment) -> list[Path]:
    """Return the paths of the files that a case names, all of which `validate_sets` found."""
    paths = (find_case_file(name, environment.folders) for name in case.files)
    return [path for path in paths if path is not None]


@asynccontextmanager
async def open_job_stage(settings: Settings, label: str) -> AsyncIterator[JobStage]:
    """Run a bot in a workspace for whole jobs; nothing is kept. `label` names the configured models."""
    with tempfile.TemporaryDirectory(prefix=TRIAL_PREFIX, dir=get_scratch_folder()) as folder:
        isolated_settings = dataclasses.replace(settings, data=Path(folder), redis_url="")
        workspace, model = await Workspace.start(find_manifest()), ScriptedModel(label)
        try:
            async with start_bot(model, isolated_settings, workspace) as (app, _):
                yield JobStage(workspace, app, model, asyncio.Lock())
        finally:
            await workspace.stop()
