"""Forty jobs begun at once in one channel, under the limits that Slack documents: what waits for what, and how long.

A quarter of them ask a person something midway. Each call of the model takes a second. The figures are taken from what
the workspace saw (calls with their times) and from the logs of the jobs (when what was shown had come about), so that
nothing of the bot is trusted. Beside them stands one such job alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.app import manifest_path
from bot.slack.views.card import plan_card
from bot.store.embedded import start_embedded, stop_embedded
from bot.store.interface import JobKey
from bot.store.redis.redis_store import Store
from bot.workspace.workspace_server import Workspace
from bot.workspace.world import ApiCall
from handoff import events as ev
from handoff.contracts import Place, ToolCall
from handoff.engine.engine import fold
from tests.bench.child import child
from tests.bench.scenario import REQUEST
from tests.bench.stage import settings_of
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of, six, task_of
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest

Row = Callable[..., None]

SEED = 13
JOBS = 40
ASKING = 10
"""So many of the jobs ask a person something midway."""
CALL_SECONDS = 1.0
CHANNEL = "#general"
AT_REST = 10.0
"""Seconds without a change after which a card has to be right, and within which it has to be."""
PATIENCE = 120.0
GRACE = 1.0
"""Seconds from an event until the call that follows from it asks for its turn, on a machine with other work."""
UNSURE = "(say in which currency)"
ASKS = "In which currency?"


def script(request: WireRequest) -> Reply:
    """The six parts; where the request is unsure, the planner has part w2 ask."""
    said = "\n".join(message.text for message in request.messages)
    purpose = purpose_of(request)
    if purpose == "planner" and UNSURE in said:
        plan = json.loads(six(request).text)
        plan["subtasks"][1]["intent"] += f" {UNSURE}"
        return Reply(json.dumps(plan))
    if purpose.startswith("specialist") and UNSURE in task_of(request) and "EUR" not in said:
        asked = {"reason": "ambiguous_input", "message": ASKS, "options": ["EUR", "USD"]}
        return Reply(calls=(ToolCall(id="ask", name="escalate", arguments=asked),), stop="tool_use")
    return six(request)


@dataclass(slots=True)
class Run:
    """What came of some jobs begun at once: their threads, their logs, and all calls of the bot."""

    workspace: Workspace
    began: dict[str, float]
    calls: list[ApiCall]
    logs: dict[str, list[ev.Event]] = field(default_factory=dict)

    def posts(self, kind: str) -> dict[str, float]:
        """When the first message of a kind (`card`, `answer`, `question`) of each job went out."""
        found: dict[str, float] = {}
        for call in self.calls:
            key = key_of(call)
            if call.ok and f":{kind}" in key and not key.endswith(":card_end"):
                found.setdefault(key.partition(":")[0], call.at)
        return found

    def since(self, times: dict[str, float]) -> list[float]:
        """Seconds from each mention."""
        return sorted(at - self.began[ts] for ts, at in times.items())


def key_of(call: ApiCall) -> str:
    """The key of a message that a call posts or finishes."""
    carried = call.args.get("metadata") or {}
    if isinstance(carried, str):
        carried = json.loads(carried)
    return str(carried.get("event_payload", {}).get("key", ""))


async def manners(data: Path, row: Row) -> None:
    """One job alone, forty on one instance, forty on two."""
    row("one after the other: alone, 40 at once", f"seed {SEED}")
    for label, jobs, asking, instances in (
        ("1 job alone", 1, 0, 1),
        (f"{JOBS} jobs, 1 instance", JOBS, ASKING, 1),
        (f"{JOBS} jobs, 2 instances", JOBS, ASKING, 2),
    ):
        run = await played(data, jobs, asking, instances)
        row(f"-- {label}, {CALL_SECONDS:g} s a call", "")
        tell(run, jobs, asking, row)


async def played(data: Path, jobs: int, asking: int, instances: int) -> Run:
    """Begin so many jobs at once, answer what is asked, and wait until all has been said."""
    data = Path(tempfile.mkdtemp(dir=data))
    url = await start_embedded(data)
    try:
        workspace = await Workspace.start(manifest_path())
        try:
            async with (
                ProviderServer(script, latency=CALL_SECONDS) as server,
                some_bots(data, workspace, url, server.openai_url, instances),
            ):
                run = await begun(workspace, jobs, asking)
                await said(run, url)
                return run
        finally:
            await workspace.stop()
    finally:
        await stop_embedded(data)


@contextlib.asynccontextmanager
async def some_bots(data: Path, workspace: Workspace, url: str, model: str, count: int) -> AsyncIterator[None]:
    """So many instances, which keep to Slack's limits."""
    settings = settings_of(workspace, url, model, LEADHAND_SLOTS=str(JOBS), LEADHAND_OPERATION="off")
    async with contextlib.AsyncExitStack() as stack:
        for number in range(count):
            folder = data / str(number)
            folder.mkdir()
            bot = await stack.enter_async_context(child(folder, "tests.bench.bot", env=settings))
            await bot.line()
        yield


async def begun(workspace: Workspace, jobs: int, asking: int) -> Run:
    """Mention the bot so many times at once. What is asked is answered as soon as it can be read."""
    person, chance = workspace.person("ana"), random.Random(SEED)
    unsure = set(chance.sample(range(jobs), asking))
    began: dict[str, float] = {}
    for number in range(jobs):
        at = time.time()
        text = f"@leadhand {REQUEST}" + (f" {UNSURE}" if number in unsure else "")
        began[await person.say(CHANNEL, text)] = at
    run = Run(workspace, began, [])
    answered: set[str] = set()

    def asked() -> list[str]:
        questions = {
            key_of(call).partition(":")[0] for call in workspace.calls("chat.postMessage") if is_question(call)
        }
        return sorted(questions - answered)

    while len(answered) < asking:
        for ts in await workspace.until(asked, timeout=PATIENCE):
            await person.say(CHANNEL, "EUR", thread_ts=ts)
            answered.add(ts)
    return run


def is_question(call: ApiCall) -> bool:
    """True for a call that posted a question."""
    return call.ok and ":question:" in key_of(call)


async def said(run: Run, url: str) -> None:
    """Wait until each job has its answer and nothing has been sent for a while; keep the calls and the logs."""
    workspace = run.workspace

    def answers() -> bool:
        calls = [*workspace.calls("chat.postMessage"), *workspace.calls("chat.stopStream")]
        return len({key for call in calls if call.ok and (key := key_of(call)).endswith(":answer")}) == len(run.began)

    with contextlib.suppress(TimeoutError):
        await workspace.until(answers, timeout=PATIENCE)
    quiet = 2 * AT_REST
    while quiet > 0:
        await asyncio.sleep(quiet)
        quiet = workspace.calls()[-1].at + 2 * AT_REST - time.time()
    run.calls = workspace.calls()
    store = await Store.connect(url)
    for ts in run.began:
        place = Place(team=workspace.team_id, channel=workspace.channel_id(CHANNEL), thread_ts=ts)
        entries = await store.jobs.log(JobKey(place.team, place.job_id))
        run.logs[ts] = [ev.load(entry.payload) for entry in entries]
    await store.close()


# ---------------------------------------------------------------- what came of it


def tell(run: Run, jobs: int, asking: int, row: Row) -> None:
    """Print the figures of a run."""
    reactions = [call for call in run.calls if call.method == "reactions.add" and call.ok]
    first = sorted(
        call.at - run.began[str(call.args["timestamp"])]
        for call in reactions
        if str(call.args.get("timestamp")) in run.began
    )
    answers, cards, questions = run.posts("answer"), run.posts("card"), run.posts("question")
    row("  mention to reaction", span(first))
    row(f"  to the card ({len(cards)} of {jobs} have one)", span(run.since(cards)))
    if asking:
        row("  to the question", span(run.since(questions)), f"{asking}", met=len(questions) == asking)
        row("    after it was there to ask", span(waits(run, questions, ev.Escalated)))
    row(f"  to the answer ({len(answers)} of {jobs})", span(run.since(answers)), f"{jobs}", met=len(answers) == jobs)
    row("    after it was written", span(waits(run, answers, ev.AnswerWritten)))
    overtaken = list(behind(run, answers, questions))
    row("  answers, questions behind progress", f"{len(overtaken)}", "0", met=not overtaken)
    limited = Counter(call.method for call in run.calls if call.error == "ratelimited")
    row("  429", f"{limited.total()}", "0", met=not limited)
    for method, count in limited.most_common():
        row(f"    {method}", str(count))
    found = list(staleness(run))
    stale = sorted(seconds for seconds, stays in found if stays)
    never = sum(one == float("inf") for one in stale)
    row(f"  a card says that it ended or waits ({len(stale)})", span(stale))
    row("    never", f"{never}", "0", met=not never)
    moving = sorted(seconds for seconds, stays in found if not stays and seconds < float("inf"))
    row(f"  a card shows how far it is ({len(moving)})", span(moving))
    row("    not before that changed again", f"{sum(not stays for _, stays in found) - len(moving)}")
    wrong = [ts for ts in run.began if run.workspace.session(CHANNEL, ts)["status"] == "processing"]
    row("  sessions left at work", str(len(wrong)), "0", met=not wrong)
    row(
        "  calls",
        str(len(run.calls)),
        ", ".join(f"{m} {n}" for m, n in Counter(c.method for c in run.calls).most_common(8)),
    )


def span(seconds: Sequence[float]) -> str:
    """Lowest, median and highest."""
    if not seconds:
        return "none"
    return f"{seconds[0]:.1f} {statistics.median(seconds):.1f} {seconds[-1]:.1f} s"


def waits(run: Run, posts: dict[str, float], kind: type[ev.Fact]) -> list[float]:
    """Seconds from the event that made a message ready until it was there."""
    ready = {ts: last.at for ts, log in run.logs.items() if (last := ready_at(log, kind)) is not None}
    return sorted(at - ready[ts] for ts, at in posts.items() if ts in ready)


def ready_at(log: Iterable[Any], kind: type[ev.Fact]) -> Any:
    """The last event of a kind."""
    return next((event for event in reversed(list(log)) if isinstance(event, kind)), None)


def behind(run: Run, answers: dict[str, float], questions: dict[str, float]) -> Iterable[str]:
    """The answers and questions that waited while a card was posted in their channel."""
    cards = [
        call.at
        for call in run.calls
        if call.method == "chat.postMessage" and call.ok and key_of(call).endswith(":card")
    ]
    for posts, kind in ((answers, ev.AnswerWritten), (questions, ev.Escalated)):
        for ts, at in posts.items():
            ready = ready_at(run.logs[ts], kind)
            if ready is not None and any(ready.at + GRACE < card < at for card in cards):
                yield f"{ts} ready {ready.at:.2f}, there {at:.2f}"


# ---------------------------------------------------------------- how stale the cards were


def staleness(run: Run) -> Iterable[tuple[float, bool]]:
    """For each state that a card stayed in for `AT_REST` seconds: how long until it showed, and if it stays.

    Endless if it never did. A job without a card has none that could be wrong.
    """
    for ts, log in run.logs.items():
        posted = next((event for event in log if isinstance(event, ev.Posted) and event.key.endswith(":card")), None)
        if posted is None or not posted.ts:
            continue
        shown = drawn(run, ts, posted.ts)
        states = looks(log)
        for at, (since, look) in enumerate(states):
            until = states[at + 1][0] if at + 1 < len(states) else float("inf")
            if until - since < AT_REST or until < shown[0][0] or until - max(since, shown[0][0]) < AT_REST:
                continue
            stays = until == float("inf") or look.startswith("Waiting")
            before = [one for when, one in shown if when <= since]
            if before and before[-1] == look:
                yield 0.0, stays
            else:
                yield next((when - since for when, one in shown if when > since and one == look), float("inf")), stays


def drawn(run: Run, ts: str, card: str) -> list[tuple[float, str]]:
    """The looks that a card was given, each with its time."""
    found = []
    for call in run.calls:
        posted = call.method == "chat.postMessage" and key_of(call) == f"{ts}:card"
        if call.ok and (posted or (call.method == "chat.update" and call.args.get("ts") == card)):
            found.append((call.at, look_of(call.args.get("blocks") or [])))
    return found


def looks(log: Sequence[Any]) -> list[tuple[float, str]]:
    """The looks that a card should have had, each with the time from which on."""
    found: list[tuple[float, str]] = []
    for count in range(1, len(log) + 1):
        job = fold(log[:count])
        if job is None or not job.asks:
            continue
        look = look_of(plan_card(job, job.asks[0], log[count - 1].at).blocks)
        if not found or found[-1][1] != look:
            found.append((log[count - 1].at, look))
    return found


def look_of(blocks: Any) -> str:
    """What a card says: its title and the states of its rows, without times."""
    blocks = json.loads(blocks) if isinstance(blocks, str) else blocks
    parts: list[str] = []
    for block in blocks:
        if block["type"] == "plan":
            parts.append(str(block["title"]))
            parts += [f"{task['task_id']} {task['status']}" for task in block["tasks"]]
        elif block["type"] == "context":
            parts += [str(element.get("text")) for element in block["elements"]]
    return re.sub(r"[\d.]+ (?:s|min|h)\b ?", "", "\n".join(parts))
