"""What must hold at the end, whatever went wrong: see the list in each function's name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bot.store.redis.layout import encode_job_key
from bot.store.values import Head, Intent, LogEntry
from handoff import events as ev
from handoff.engine.answer import list_answer_gaps
from handoff.engine.engine import fold_log
from handoff.engine.replay import parse_log
from handoff.state.job_state import Job, RequestState
from tests.chaos.crossings import in_lists, in_logs, in_store, on_screens
from tests.chaos.errands import FILE_NAME
from tests.chaos.faults import cuts_stream
from tests.chaos.once import find_repeated_calls, too_many_a_minute, twice_in
from tests.chaos.people import Visit, key_of
from tests.chaos.run import DEEP, Run
from tests.system.scene import Json, buttons, extract_shown_text


@dataclass(frozen=True)
class Violation:
    """Something that must not be. `kind` is lost, twice, stuck, order, wrong or untidy."""

    kind: str
    text: str


@dataclass
class ErrandCase:
    """One errand with everything that is known of it, and what is wrong with it."""

    visit: Visit
    head: Head | None
    entries: list[LogEntry]
    inbox: list[LogEntry]
    outbox: dict[str, Intent]
    events: list[ev.Event]
    job: Job | None
    messages: list[Json]
    violations: list[Violation]


CONTRADICTION = "The sources contradict each other"
BUDGET = "the budget of this job"
"""What the gap of an errand names that costs too much."""

Check = Callable[[ErrandCase], Iterator[Violation]]


async def examine(run: Run) -> list[ErrandCase]:
    """Every errand of the run."""
    placed = await _read_job_sets(run)
    return [await _examine(run, visit, placed) for visit in run.visits if visit.request_timestamps]


async def _read_job_sets(run: Run) -> dict[str, list[str]]:
    """For each job (TEAM/JOB) the sorted sets that it is in."""
    placed: dict[str, list[str]] = {}
    for number in range(run.store.partitions):
        for name in ("due", "lease"):
            jobs = await run.store._server.run_command(
                "ZRANGE", f"{run.store._keys.make_partition_prefix(number)}:{name}", 0, -1
            )
            for job in jobs:
                placed.setdefault(job.decode(), []).append(name)
    return placed


async def _examine(run: Run, visit: Visit, job_sets: dict[str, list[str]]) -> ErrandCase:
    key = visit.key
    entries, inbox = await run.store.jobs.read_log(key), await run.store.jobs.read_inbox(key)
    events = [ev.load_event(entry.payload) for entry in entries]
    found = ErrandCase(
        visit,
        await run.store.jobs.read_head(key),
        entries,
        inbox,
        await run.store.outbox.read_messages(key),
        events,
        fold_log(events),
        visit.list_bot_messages(),
        [],
    )
    told = _told_away(visit)
    if found.head is None and not any(
        ts in visit.team.witness.acknowledged_messages for ts in visit.request_timestamps
    ):
        return found  # never acknowledged: its sender knows that nothing will come of it
    of_run = (_place(job_sets), _far_side(run), _calls(run), _answers(run))
    for check in (_log, _steps, _ends, _messages, _check_postings, _files, *of_run, _tidy):
        found.violations += list(check(found))
    recorded = {event.request.id for event in events if isinstance(event, ev.RequestAdded)}
    for ts in visit.request_timestamps:
        if ts in visit.team.witness.acknowledged_messages and ts not in recorded and not told:
            found.violations.append(Violation("lost", f"the request {ts} was acknowledged and is not in the log"))
    return found


def _told_away(visit: Visit) -> bool:
    """Whether the person was told that their request could not be taken."""
    person = visit.workspace.person(visit.errand.person)
    heard = person.ephemerals(visit.channel)  # of the thread, or (where it has no reply yet) of the channel since then
    return any(each.get("thread_ts", visit.root) == visit.root and each["ts"] > visit.root for each in heard)


def _log(case: ErrandCase) -> Iterator[Violation]:
    """Log ids without a gap, as many as the head says; nothing left in the inbox."""
    numbers = [entry.seq for entry in case.entries]
    if numbers != list(range(1, len(numbers) + 1)):
        yield Violation("order", f"the log's ids have a gap: {numbers}")
    if case.head is not None and case.head.seq != len(numbers):
        yield Violation("order", f"the head says {case.head.seq} events, the log has {len(numbers)}")
    if parse_log([entry.payload for entry in case.entries]) != case.job:
        yield Violation("wrong", "opened in the short way, the log makes another job")
    if case.inbox:
        yield Violation("stuck", f"{len(case.inbox)} events were never taken from the inbox")


def _steps(case: ErrandCase) -> Iterator[Violation]:
    """No step is done twice."""
    for text in twice_in(case.events):
        yield Violation("twice", text)


def _place(job_sets: dict[str, list[str]]) -> Check:
    """Each job is in exactly one of due, lease or ended."""

    def check(case: ErrandCase) -> Iterator[Violation]:
        sets = job_sets.get(encode_job_key(case.visit.key), [])
        over = case.job is not None and case.job.current_request is None
        quarantined = case.head is not None and case.head.is_quarantined
        if quarantined:
            yield Violation("stuck", "the job was set aside")
        if len(sets) + over != 1 and not quarantined:
            yield Violation(
                "stuck", f"the job is in {sets or 'neither due nor lease'} and {'over' if over else 'not over'}"
            )

    return check


def _is_budget_spent(case: ErrandCase, reason: str) -> bool:
    """Whether its owner died between the call that took the whole budget and keeping what that brought."""
    lost = case.head is not None and case.head.epoch > 1
    return case.visit.errand.kind == "costly" and lost and BUDGET in reason.casefold()


def _ends(case: ErrandCase) -> Iterator[Violation]:
    """Each request ended, once, as it should."""
    for request in case.job.requests if case.job else ():
        if not request.is_over:
            yield Violation("stuck", f"the request {request.id} is {request.state}")
        if request.refusal:
            yield Violation("wrong", f"the request {request.id} was refused: {request.refusal}")
        elif (
            request.run.failure is not None
            and not request.cancelled_by
            and not _is_budget_spent(case, request.run.failure.reason)
        ):
            yield Violation(
                "wrong", f"the request {request.id} failed: {request.run.failure.step}: {request.run.failure.reason}"
            )
    ends = Counter(key for message in case.messages if (key := key_of(message)).endswith(":answer"))
    for ts in case.visit.request_timestamps:
        if case.job is not None and case.job.find_request(ts) is not None and ends[f"{ts}:answer"] == 0:
            yield Violation("lost", f"no end of the request {ts} can be seen")


def _messages(case: ErrandCase) -> Iterator[Violation]:
    """Each key is visible once; nothing hangs without a key or half-written."""
    keys = Counter(key for message in case.messages if (key := key_of(message)))
    for key, count in keys.items():
        if count > 1:
            yield Violation("twice", f"{key} is there {count} times")
    for message in case.messages:
        if message["streaming"]:
            yield Violation("stuck", f"the message {message['ts']} is still being written: {key_of(message)!r}")
        if not key_of(message) and not message.get("files"):
            yield Violation("twice", f"the message {message['ts']} bears no key: {str(message.get('text'))[:80]!r}")


def _check_postings(case: ErrandCase) -> Iterator[Violation]:
    """What the log calls posted is in the thread, and each request has its card."""
    keys = {key_of(message) for message in case.messages}
    there = {str(message["ts"]) for message in case.messages}
    there |= {str(file["id"]) for message in case.messages for file in message.get("files") or ()}
    for event in case.events:
        if not isinstance(event, ev.Posted):
            continue
        if event.ts and event.ts not in there:
            yield Violation("lost", f"{event.key} was posted as {event.ts}, which is not there")
        if not event.ts:
            yield Violation("lost", f"{event.key} was given up: {event.fault}")
    for request in case.job.requests if case.job else ():
        if not request.refusal and f"{request.id}:card" not in keys:
            yield Violation("lost", f"the request {request.id} has no plan card")


def _files(case: ErrandCase) -> Iterator[Violation]:
    """Each file once, with its own content."""
    kept = case.visit.workspace._world.state.record._files
    shared = [file for message in case.messages for file in message.get("files") or ()]
    contents = Counter(kept[file["id"]] for file in shared)
    for content in case.visit.errand.files():
        count = contents.pop(content, 0)
        if count != 1:
            yield Violation("twice" if count else "lost", f"the {FILE_NAME} with {content!r} is there {count} times")
    if contents:
        yield Violation("wrong", f"files that nobody made: {list(contents)}")


def _far_side(run: Run) -> Check:
    """The write tool ran at most once, and only once a person had approved it."""

    def check(case: ErrandCase) -> Iterator[Violation]:
        record = case.visit.errand.record
        if run.far_side.entry_counts[record] > 1:
            yield Violation("twice", f"the record {record} was entered {run.far_side.entry_counts[record]} times")
        subtasks = (
            [subtask for request in case.job.requests for subtask in request.subtasks.values()] if case.job else []
        )
        rulings = [one.ruling for subtask in subtasks for one in subtask.question_answers if one.ruling is not None]
        if run.far_side.entry_counts[record] and case.job and not any(ruling.is_approved for ruling in rulings):
            yield Violation("wrong", f"the record {record} was entered, and nobody approved it")

    return check


def _calls(run: Run) -> Check:
    """No more is asked of a model again than was in flight when an owner was lost."""

    def check(case: ErrandCase) -> Iterator[Violation]:
        for turn, ts in enumerate(case.visit.request_timestamps, 1):
            request = case.job.find_request(ts) if case.job else None
            retries = sum(decision.what == "retry" for decision in request.decisions) if request else 0
            calls = run.models.answer_counts[case.visit.errand.name(turn)]
            for text in find_repeated_calls(calls, case.head, retries):
                yield Violation("twice", text)

    return check


def _answers(run: Run) -> Check:
    """Each answer says what that of an undisturbed run says."""

    def check(case: ErrandCase) -> Iterator[Violation]:
        errand = case.visit.errand
        for turn, ts in enumerate(case.visit.request_timestamps, 1):
            request = case.job.find_request(ts) if case.job else None
            if request is None or request.run.answer is None:
                continue
            text = " ".join(extract_shown_text(message) for message in case.visit.with_key(f"{ts}:answer"))
            cut = cuts_stream(run.options.seed, errand.name(turn), errand.kind)
            whole = [errand.expected(turn), *([CONTRADICTION] if errand.contradicts_itself else [])]
            forgiven = BUDGET if errand.kind == "costly" else ""
            if not _says(request, text, whole, errand.sentences(turn) if cut else (), forgiven):
                yield Violation("wrong", f"the answer to {ts} is {text[:300]!r}, not {errand.expected(turn)[:300]!r}")

    return check


def _says(request: RequestState, text: str, whole: list[str], parts: object, forgiven: str) -> bool:
    """Whether it says all of it, and lacks nothing but what is `forgiven`, by words of such a gap."""
    flat = re.sub(r"\s+", " ", text)
    wanting = [gap for gap in list_answer_gaps(request, request.run) if not forgiven or forgiven not in gap]
    if wanting or ("Answered in part" in flat) != bool(list_answer_gaps(request, request.run)):
        return False
    if all(each in flat for each in whole):
        return True
    # The model broke off in the middle: then the parts stand there as they came, and the answer says so.
    return isinstance(parts, list) and all(each in flat for each in parts)


def _tidy(case: ErrandCase) -> Iterator[Violation]:
    """Nothing in the thread looks as if work went on: the session's status, the card, closed questions."""
    if case.job is None or case.job.current_request is not None:
        return
    visit = case.visit
    status = visit.workspace.session(visit.channel, visit.root)["status"]
    if status != "active":
        yield Violation("untidy", f"the session is {status!r}")
    for message in case.messages:
        key = key_of(message)
        if key.endswith(":card") and buttons(message):
            yield Violation("untidy", f"the card {key} still has its Stop button")
        if ":question:" in key and buttons(message):
            yield Violation("untidy", f"the question {key} still has its buttons")


async def whole_run(run: Run) -> list[Violation]:
    """What is wrong with the run as a whole."""
    wrong = [Violation("order", text) for text in run.watch.fallen]
    wrong += [Violation("wrong", text) for instance in run.instances for text in instance.bad_ends]
    if many := too_many_a_minute(run.models.deep, DEEP):
        wrong.append(Violation("wrong", f"{many} calls of the deep model came in a minute, {DEEP} are allowed"))
    return [*wrong, *await _list_crossings(run)]


async def _list_crossings(run: Run) -> list[Violation]:
    """What crossed from one team to another, where there are several."""
    if run.crossings is None or run.moves is None:
        return []
    in_data = [*await in_store(run.store, run.teams), *await in_lists(run.store, run.teams)]
    seen = [*run.crossings.wrong, *run.moves.wrong, *on_screens(run.teams), *in_logs(run.folder)]
    return [Violation("crossed", text) for text in (*seen, *in_data)]
