"""Writes down jobs as this release keeps them: their logs, and the states that it makes of them.

    python -m tests.versions.record FOLDER

Done once for each schema, by the last release that writes it (see `logs_v1`); later releases must read them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from handoff.events import SCHEMA
from handoff.job import Ask, Job
from handoff.store.embedded import start_embedded, stop_embedded
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import (
    Gate,
    Words,
    connect,
    escalation,
    in_turn,
    plan,
    provider,
    result,
    subtask,
)
from tests.system.scene import SAMPLE, Scene, Talk, scene_on

TWO = plan(subtask("first", "writer"), subtask("second", "reviewer"))
QUESTION = "why did churn rise by region? draft a short note to the board"


def summary(job: Job) -> dict[str, Any]:
    """What matters of a job's state, as JSON."""
    return {"id": job.id, "seq": job.seq, "asks": [_ask(ask) for ask in job.asks]}


def _ask(ask: Ask) -> dict[str, Any]:
    return {
        "id": ask.id,
        "text": ask.request.text,
        "state": ask.state,
        "cancelled_by": ask.cancelled_by,
        "answer": ask.answer,
        "failure": [ask.failure.step, ask.failure.reason, ask.failure.advice] if ask.failure else None,
        "files": [artifact.name for artifact in ask.artifacts],
        "gaps": list(ask.gaps),
        "posted": dict(ask.posted),
        "usage": ask.usage.model_dump(mode="json"),
        "written": ask.written,
        "ended": ask.ended,
        "work": {
            name: {
                "state": work.state,
                "specialist": work.specialist,
                "attempt": work.attempt,
                "checkpoints": [type(point).__name__ for point in work.checkpoints],
                "failures": list(work.failures),
                "question": work.question.message if work.question else None,
                "answers": [note.text for note in work.answers],
                "result": work.result.model_dump(mode="json") if work.result else None,
            }
            for name, work in ask.work.items()
        },
    }


class Recorder:
    """Writes jobs into a folder: `NAME.jsonl` is the log, `NAME.json` all else."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene = scene
        self._folder = folder

    @asynccontextmanager
    async def bot(self, **words: Words) -> AsyncIterator[None]:
        """A bot whose models say these words, and else what the rehearsal says."""
        async with provider(**words) as server, self.scene.bot(connect("chat", server)):
            yield

    async def keep(self, name: str, talk: Talk) -> None:
        """Write a job down. Nobody may be at work on it any more."""
        job, head = await talk.job(), await self.scene.store.head(talk.key)
        if job is None or head is None:
            raise AssertionError(name)
        about = {
            "schema": head.schema,
            "team": talk.key.team,
            "channel": talk.channel,
            "thread_ts": talk.ts,
            "fields": head.fields,
            "inbox": [entry.payload for entry in await self.scene.store.inbox(talk.key)],
            "state": summary(job),
        }
        lines = [entry.payload for entry in await self.scene.store.log(talk.key)]
        (self._folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
        (self._folder / f"{name}.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n")


async def plain(recorder: Recorder) -> None:
    """One skill, one answer, and a thumb below it."""
    async with recorder.bot():
        talk = await recorder.scene.ask("Draft a short note about tea")
        await talk.over()
        await talk.seen(lambda: talk.status() == "active")
    await recorder.keep("plain", talk)


async def with_files(recorder: Recorder) -> None:
    """A table is read, a chart is made, and the thread goes on with a second request."""
    async with recorder.bot():
        talk = await recorder.scene.ask(QUESTION, files=[SAMPLE])
        await talk.over()
        await talk.say("@leadhand draft a short note about tea")
        await talk.over(requests=2)
        await talk.seen(lambda: talk.status() == "active")
    await recorder.keep("with_files", talk)


async def asked(recorder: Recorder) -> None:
    """A question that is open, and one that was answered before it."""

    def ask_twice(request: WireRequest) -> Reply:
        number = request.messages[0].text.count("Answered by a person:")
        return escalation("ambiguous_input", ("Which country is it?", "Which city is it?")[number], ["Oslo", "Bergen"])

    async with recorder.bot(planner=lambda _: TWO, writer=ask_twice, reviewer=lambda _: result("Read twice.")):
        talk = await recorder.scene.ask("Plan the summer party")
        question = await talk.question()
        await recorder.scene.person().click(talk.channel, question["ts"], "answer:1")
        await talk.question(2)
        await talk.until(lambda job: job.latest.state == "input_required")
        await talk.seen(lambda: talk.status() == "suspended")
    await recorder.keep("asked", talk)


async def in_the_middle(recorder: Recorder) -> None:
    """An attempt with checkpoints is under way, an attached table is being read."""
    gate = Gate()

    async def after_the_queries(request: WireRequest) -> None:
        if sum(len(message.replies) for message in request.messages) > 1:
            await gate(request)

    async with recorder.bot(analyst=after_the_queries):
        talk = await recorder.scene.ask(QUESTION, files=[SAMPLE])
        await gate.reached.wait()
        await talk.seen(talk.cards)
    await recorder.keep("in_the_middle", talk)


async def side_by_side(recorder: Recorder) -> None:
    """One part is done after a failure, the other is under way."""
    gate = Gate(result("Checked."))
    flaky = in_turn(escalation("confidence_too_low", "I am not sure."), result("First."))
    async with recorder.bot(planner=lambda _: TWO, writer=flaky, reviewer=gate):
        talk = await recorder.scene.ask("Do two things")
        await talk.until(lambda job: job.latest.work and job.latest.work["first"].state == "complete")
        await gate.reached.wait()
        await talk.seen(talk.cards)
    await recorder.keep("side_by_side", talk)


async def failed(recorder: Recorder) -> None:
    """No usable plan."""
    async with recorder.bot(planner=lambda _: Reply("Bananas are berries.")):
        talk = await recorder.scene.ask("Do two things")
        await talk.over()
        await talk.seen(lambda: talk.status() == "active")
    await recorder.keep("failed", talk)


async def cancelled(recorder: Recorder) -> None:
    """Stopped by a person while a part was under way."""
    gate = Gate(result("Checked."))
    async with recorder.bot(planner=lambda _: TWO, writer=lambda _: result("Written."), reviewer=gate):
        talk = await recorder.scene.ask("Do two things")
        await talk.until(lambda job: job.latest.work and job.latest.work["first"].state == "complete")
        await gate.reached.wait()
        await talk.seen(talk.cards)
        await recorder.scene.person().stop(talk.channel, talk.ts)
        await talk.over()
        await talk.seen(lambda: talk.status() == "active")
    await recorder.keep("cancelled", talk)


async def record(folder: Path) -> None:
    """Play every scene. The folder must be there."""
    with tempfile.TemporaryDirectory() as data:
        url = await start_embedded(Path(data))
        try:
            for scenario in (plain, with_files, asked, in_the_middle, side_by_side, failed, cancelled):
                async with scene_on(url) as scene:
                    await scenario(Recorder(scene, folder))
                print(f"schema {SCHEMA}: {scenario.__name__}", flush=True)  # noqa: T201
        finally:
            await stop_embedded(Path(data))


if __name__ == "__main__":
    asyncio.run(record(Path(sys.argv[1])))
