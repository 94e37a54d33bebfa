"""`leadhand try --ask`: runs one job in the terminal, and prints it as people would see its thread."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app import App
from bot.command_line import console
from bot.command_line.console import say
from bot.features.approvals.view import REASON_ACTION
from bot.features.catalogue import SPOKEN_COMMANDS
from bot.models.rehearsal.rehearsed_planner import DECLINE_REASON
from bot.settings import SettingsError
from bot.slack.receive.router import match_spoken_commands
from bot.slack.views.answer_message import list_detail_lines
from bot.slack.views.approval import APPROVE, DENY
from bot.store.values import JobKey
from bot.tracing.export import export_job_trace
from bot.workspace.message_text import list_context_texts, list_plan_rows, render_message
from bot.workspace.workspace_server import Workspace
from handoff import events as ev
from handoff.approval_values import Approval
from handoff.contracts import Place
from handoff.effects import make_question_key
from handoff.engine.answer import list_answer_gaps, list_unfillable_gaps
from handoff.engine.replay import parse_log
from handoff.evidence.work_receipts import collect_receipts
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import Question

CHANNEL = "#general"
PEOPLE = ("ana", "ben", "cleo")
REFRESH_SECONDS = 0.1
"""Seconds between two reads of the thread."""
EXIT_ANSWERED, EXIT_FAILED, EXIT_IN_PART = 0, 1, 3
UNSURE_ANSWER = "I do not know. Go on as you think best."
NOBODY_APPROVES_TEXT = "(Nobody is at the keyboard to approve this, so it is not done.)"
JOB_GONE_TEXT = "This job is gone now. To get its trace, run the same command with --json."
NO_SIGN_IN_TEXT = "(Nobody can sign in from a terminal, so this is not done. Ask it on the page of `leadhand try`.)"
_YES = frozenset({"y", "yes", "approve"})


async def run_one_job(workspace: Workspace, app: App, options: argparse.Namespace, files: Sequence[Path]) -> int:
    """Send the request as a person would, print what its thread shows, and write its files. Returns the exit code."""
    person = workspace.person("ana")
    ts = await person.say(CHANNEL, f"@leadhand {options.ask}", files=list(files))
    printer = _ThreadPrinter(workspace, ts, quiet=options.json)
    place = Place(team=workspace.team_id, channel=printer.channel, thread_ts=ts)
    key = JobKey(place.team, place.job_id)
    code, reason = await _print_until_end(app, key, printer, options)
    job = await replay_job(app, key)
    written_paths = await _write_files(app, key, job, options.out) if code != EXIT_FAILED else []
    head = await app.store.jobs.read_head(key)
    if options.json and head is not None:
        say(json.dumps(export_job_trace(await app.store.jobs.read_log(key), head), indent=2))
    else:
        for path in written_paths:
            say(f"wrote {path}")
        for query in collect_receipts(job.latest_request).queries if job else ():
            say(f"query: {query}")
        if job:
            say(" · ".join(list_detail_lines(job, job.latest_request)))
            say(JOB_GONE_TEXT)
    if reason:
        print(f"leadhand: {reason}", file=sys.stderr)  # noqa: T201
    return code


async def _print_until_end(
    app: App, key: JobKey, printer: _ThreadPrinter, options: argparse.Namespace
) -> tuple[int, str]:
    """Print the thread until the job ends. Returns a pair of the exit code and, if that is not 0, the reason."""
    try:
        async with asyncio.timeout(options.timeout):
            while True:
                printer.print_updates()
                request = await _read_latest_request(app, key)
                if request is None and printer.has_private_message:
                    return _choose_private_exit_code(options)
                if request is not None and request.is_over:
                    printer.print_updates(is_final=True)
                    return choose_exit_code(request)
                open_question = _find_open_question(request, printer.answered_keys) if request is not None else None
                if open_question is not None and not await printer.answer_question(open_question):
                    if open_question.approval is not None and (
                        options.demo or open_question.approval.kind == "sign_in"
                    ):
                        await _expire_approval(app, key, open_question)
                    elif not options.demo:
                        return (
                            EXIT_FAILED,
                            f"the job asks, and there is nobody here to answer: {open_question.question.message}",
                        )
                    else:
                        await printer.answer_first_option(open_question)
                await printer.wait_for_refresh()
    except TimeoutError:
        return EXIT_FAILED, f"no answer within {options.timeout:g} s"


async def _expire_approval(app: App, key: JobKey, open_question: _ShownQuestion) -> None:
    """Record an approval as expired because nobody is here to give it, so that no person counts as having denied it."""
    fact = ev.QuestionExpired(
        at=app.store.clock(),
        request=open_question.request,
        subtask=open_question.subtask,
        number=open_question.question.number,
    )
    await app.store.jobs.signal(key, ev.dump_event(fact), dedupe=(f"{open_question.key}:expired",))
    app.instance.nudge(key)


async def _read_latest_request(app: App, key: JobKey) -> RequestState | None:
    job = await replay_job(app, key)
    return job.latest_request if job else None


async def replay_job(app: App, key: JobKey) -> Job | None:
    """Read a job by replaying its log; None if the log is empty."""
    return parse_log([entry.payload for entry in await app.store.jobs.read_log(key)])


def _choose_private_exit_code(options: argparse.Namespace) -> tuple[int, str]:
    """Return a pair of exit code and reason for a reply that only the requester sees, such as that to `help`."""
    if not any(match_spoken_commands(SPOKEN_COMMANDS, options.ask)):
        return EXIT_FAILED, "the request was not taken in"
    return (EXIT_FAILED, "that is answered without a job, so it has no trace") if options.json else (EXIT_ANSWERED, "")


def choose_exit_code(request: RequestState) -> tuple[int, str]:
    """Return a pair of the exit code for how a request ended and, if that is not 0, the reason."""
    if request.state != "completed":
        failure = request.run.failure
        return EXIT_FAILED, "; ".join(
            [
                f"{failure.step}: {failure.reason}" if failure else request.state,
                *list_unfillable_gaps(request, request.run),
            ]
        )
    if any(decision.why == DECLINE_REASON for decision in request.decisions):
        return EXIT_FAILED, "declined: nothing was worked out"
    if lacks := list_answer_gaps(request, request.run):
        return EXIT_IN_PART, f"answered in part, {len(lacks)} {'gap' if len(lacks) == 1 else 'gaps'}: " + "; ".join(
            lacks
        )
    return EXIT_ANSWERED, ""


@dataclass(frozen=True, slots=True)
class _ShownQuestion:
    """An open question of a request or of one of its subtasks. `ts` is that of the message which shows it."""

    request: str
    subtask: str
    question: Question
    ts: str

    @property
    def key(self) -> str:
        return make_question_key(self.request, self.subtask, self.question.number)

    @property
    def approval(self) -> Approval | None:
        return self.question.approval


def _find_open_question(request: RequestState, answered_keys: Container[str]) -> _ShownQuestion | None:
    """Return the first question that the thread shows and that is not answered; None if there is none."""
    for name, question in request.open_questions.items() if request.state == "input_required" else ():
        key = make_question_key(request.id, name, question.number)
        if key in request.posted_ids and key not in answered_keys:
            return _ShownQuestion(request.id, name, question, request.posted_ids[key])
    return None


async def _write_files(app: App, key: JobKey, job: Job | None, folder: Path) -> list[Path]:
    artifacts = [
        artifact
        for subtask in (job.latest_request.list_subtasks("") if job else ())
        for artifact in (subtask.result.artifacts if subtask.result else ())
        if artifact.publish_as != "nothing"
    ]
    return [
        _write_to_free_path(folder / Path(file.name).name, await app.store.blobs.get(key, file.id))
        for file in artifacts
    ]


def _write_to_free_path(path: Path, data: bytes) -> Path:
    """Write data to a path or, if that exists, to a numbered one beside it. Returns the path. Raises SettingsError."""
    free = path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(2):
            if not free.exists():
                break
            free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        free.write_bytes(data)
    except OSError as error:
        raise SettingsError(f"{free} cannot be written: {error.strerror}.") from None
    return free


class _ThreadPrinter:
    """Prints a thread as it grows: new messages once, plan rows as they change.

    `told` is True once the bot has posted something that only the requester can see.
    """

    def __init__(self, workspace: Workspace, ts: str, *, quiet: bool) -> None:
        self._workspace = workspace
        self._ts = ts
        self._quiet = quiet
        self._rows: dict[str, str] = {}
        self._card_ts: set[str] = set()
        self._printed_ts: set[str] = set()
        self.answered_keys: set[str] = set()
        self.has_private_message = False
        self.channel = workspace.channel_id(CHANNEL)
        self._names = {workspace.person(name).id: name for name in PEOPLE} | {workspace.bot_user_id: "leadhand"}

    def print_updates(self, *, is_final: bool = False) -> None:
        """Print new messages and changed plan rows. A streamed message is printed once it is complete."""
        private_messages = self._workspace.person("ana").ephemerals(CHANNEL)
        self.has_private_message = bool(private_messages)
        if self._quiet:
            return
        for message in private_messages:
            if message["ts"] not in self._printed_ts:
                self._printed_ts.add(message["ts"])
                self._print_message(message)
        for message in self._workspace.thread(self.channel, self._ts):
            if rows := list_plan_rows(message, self._names):
                self._card_ts.add(message["ts"])
                self._print_plan(message, rows, is_final=is_final)
            elif message["ts"] in self._card_ts:  # a plan's message that has no rows any more
                continue
            elif message["ts"] not in self._printed_ts and not message.get("streaming"):
                self._printed_ts.add(message["ts"])
                self._print_message(message)

    def _print_plan(self, message: Mapping[str, Any], rows: Sequence[tuple[str, str, str]], *, is_final: bool) -> None:
        for name, status, line in rows:
            if self._rows.get(name) != status:
                self._rows[name] = status
                say(f"    {line}")
        if is_final and message["ts"] not in self._printed_ts:
            self._printed_ts.add(message["ts"])
            for line in list_context_texts(message, self._names):
                say(f"    {line}")

    def _print_message(self, message: Mapping[str, Any]) -> None:
        who = self._names.get(str(message.get("user", "")), "leadhand")
        text = render_message(message, self._names)
        if text:
            say(f"\n{who}:\n{text}\n")

    async def answer_question(self, open_question: _ShownQuestion) -> bool:
        """Ask the person at the terminal, and reply in the thread. Returns False if nobody can answer.

        Nobody can answer a sign-in, nor anything if the terminal is not interactive or output is JSON.
        """
        self.print_updates()
        self.answered_keys.add(open_question.key)
        if open_question.approval is not None and open_question.approval.kind == "sign_in":
            self._print_note(NO_SIGN_IN_TEXT)
            return False
        prompt = "your answer> " if open_question.approval is None else "approve it? (yes, or why not)> "
        text = await console.ask_person(prompt) if console.is_interactive() and not self._quiet else None
        if text is None:
            if open_question.approval is not None:
                self._print_note(NOBODY_APPROVES_TEXT)
            return False
        if open_question.approval is not None:
            await self._decide_approval(text.strip(), open_question.ts)
            return True
        options = open_question.question.options
        if text.isdecimal() and 0 < int(text) <= len(options):
            text = options[int(text) - 1]
        await self._workspace.person("ana").say(self.channel, text, thread_ts=self._ts)
        return True

    async def answer_first_option(self, open_question: _ShownQuestion) -> None:
        """Answer a demo's question with its first option, which is the likely one, as nobody is at the terminal."""
        text = open_question.question.options[0] if open_question.question.options else UNSURE_ANSWER
        self._print_note(f"(Nobody is at the keyboard, so the demo answers: {text})")
        await self._workspace.person("ana").say(self.channel, text, thread_ts=self._ts)

    def _print_note(self, text: str) -> None:
        if not self._quiet:
            say(f"\n{text}\n")

    async def _decide_approval(self, text: str, ts: str) -> None:
        person = self._workspace.person("ana")
        if text.lower() in _YES:
            await person.click(self.channel, ts, APPROVE)
            return
        await person.click(self.channel, ts, DENY)
        await person.submit(str(person.views()[-1]["id"]), {REASON_ACTION: text})

    async def wait_for_refresh(self) -> None:
        """Wait `REFRESH_SECONDS` before the next read of the thread."""
        await asyncio.sleep(REFRESH_SECONDS)
