"""Writes down jobs as this release keeps them: their logs, and the states that it makes of them.

    python -m tests.versions.record FOLDER

Those of the present schema are in `logs`. They are written again whenever what it says is changed, until it is
released; from then on later releases must read them.
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

from bot.store.embedded import start_embedded, stop_embedded
from handoff.engine.answer import list_answer_gaps
from handoff.events import SCHEMA
from handoff.state.job_state import Job, RequestState
from specialists.crew import Crew
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.specialists.far_side import far_side
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
from tests.system.test_write_tools import clerk, crew_with
from tests.versions import looks

TWO = plan(subtask("first", "writer"), subtask("second", "reviewer"))
QUESTION = "why did churn rise? draft a short note to the board"


NEW_IN_USAGE = {"tokens_cached"}
NOT_OF_A_RESULT: dict[str, Any] = {
    **dict.fromkeys(("evidence", "addresses", "unsupported", "doubts", "notes", "queries"), True),
    **dict.fromkeys(("readings", "failed_writes", "unbound", "filters", "invented", "workings"), True),
    "findings": {"__all__": {"evidence"}},
    "usage": NEW_IN_USAGE,
    "artifacts": {"__all__": {"chart"}},
}
"""What a state does not tell: schemas after the first added it."""


def summary(job: Job) -> dict[str, Any]:
    """What matters of a job's state, as JSON."""
    asks = [{**_ask(request), **_looked_at(request)} for request in job.requests]
    return {"id": job.id, "seq": job.seq, "asks": asks}


def _looked_at(request: RequestState) -> dict[str, Any]:
    """Second looks, and crews inside the crew."""
    return {
        "verified": request.run.verification.model_dump(mode="json") if request.run.verification is not None else None,
        "revisions": request.revision_count,
        "made": [name for name, member in request.run.members.items() if member.made],
        "decided": [(one.subtask, one.what) for one in request.decisions],
        "inside": {
            name: {
                "within": subtask.within,
                "rungs": subtask.recovery_steps,
                "rounds": subtask.faulty_result_count,
                "brief": subtask.rewritten_brief,
                "dropped": subtask.is_dropped,
                "instead_of": subtask.replaced_id,
                "planned": [one.id for one in subtask.run.plan.subtasks] if subtask.run and subtask.run.plan else None,
                "state": subtask.run.state if subtask.run else None,
                "draft": subtask.run.draft if subtask.run else None,
                "answer": subtask.run.answer if subtask.run else None,
            }
            for name, subtask in request.subtasks.items()
        },
    }


def _ask(request: RequestState) -> dict[str, Any]:
    return {
        "id": request.id,
        "text": request.spec.text,
        "state": request.state,
        "cancelled_by": request.cancelled_by,
        "answer": request.run.answer,
        "failure": [request.run.failure.step, request.run.failure.reason, request.run.failure.advice]
        if request.run.failure
        else None,
        "files": [artifact.name for artifact in request.artifacts],
        "gaps": list(list_answer_gaps(request, request.run)),
        "posted": dict(request.posted_ids),
        "usage": request.usage.model_dump(mode="json", exclude=NEW_IN_USAGE),
        "written": request.run.concluded_at,
        "ended": request.ended_at,
        "work": {
            name: {
                "state": subtask.state,
                "specialist": subtask.specialist,
                "attempt": subtask.attempt,
                "checkpoints": [type(point).__name__ for point in subtask.checkpoints],
                "failures": list(subtask.failures),
                "question": subtask.question.message if subtask.question else None,
                "answers": [note.text for note in subtask.answer_notes],
                "result": subtask.result.model_dump(mode="json", exclude=NOT_OF_A_RESULT) if subtask.result else None,
            }
            for name, subtask in request.subtasks.items()
        },
    }


class Recorder:
    """Writes jobs into a folder: `NAME.jsonl` is the log, `NAME.json` all else."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene = scene
        self._folder = folder

    @asynccontextmanager
    async def bot(self, crew: Crew | None = None, **words: Words) -> AsyncIterator[None]:
        """A bot whose models say these words, and else what the rehearsal says."""
        async with provider(**words) as server, self.scene.bot(connect("chat", server), crew=crew):
            yield

    async def keep(self, name: str, talk: Talk) -> None:
        """Write a job down. Nobody may be at work on it any more."""
        job, head = await talk.job(), await self.scene.store.jobs.read_head(talk.key)
        if job is None or head is None:
            raise AssertionError(name)
        about = {
            "schema": head.schema,
            "team": talk.key.team,
            "channel": talk.channel,
            "thread_ts": talk.ts,
            "fields": head.fields,
            "inbox": [entry.payload for entry in await self.scene.store.jobs.read_inbox(talk.key)],
            "state": json.loads(json.dumps(summary(job))),
        }
        lines = [entry.payload for entry in await self.scene.store.jobs.read_log(talk.key)]
        (self._folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
        (self._folder / f"{name}.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n")


async def plain(recorder: Recorder) -> None:
    """One skill, one answer, and a thumb below it."""
    async with recorder.bot():
        talk = await recorder.scene.ask("Draft a short note about tea")
        await talk.over()
        await talk.wait_until_seen(lambda: talk.status() == "active")
    await recorder.keep("plain", talk)


async def with_files(recorder: Recorder) -> None:
    """A table is read, a chart is made, and the thread goes on with a second request."""
    async with recorder.bot():
        talk = await recorder.scene.ask(QUESTION, files=[SAMPLE])
        await talk.over()
        await talk.say("@leadhand draft a short note about tea")
        await talk.over(requests=2)
        await talk.wait_until_seen(lambda: talk.status() == "active")
    await recorder.keep("with_files", talk)


async def record_question(recorder: Recorder) -> None:
    """A question that is open, and one that was answered before it."""

    def ask_twice(request: WireRequest) -> Reply:
        number = request.messages[0].text.count("Answered by a person:")
        return escalation("ambiguous_input", ("Which country is it?", "Which city is it?")[number], ["Oslo", "Bergen"])

    async with recorder.bot(planner=lambda _: TWO, writer=ask_twice, reviewer=lambda _: result("Read twice.")):
        talk = await recorder.scene.ask("Plan the summer party")
        question = await talk.question()
        await recorder.scene.person().click(talk.channel, question["ts"], "answer:1")
        await talk.question(2)
        await talk.until(lambda job: job.latest_request.state == "input_required")
        await talk.wait_until_seen(lambda: talk.status() == "suspended")
    await recorder.keep("asked", talk)


async def in_the_middle(recorder: Recorder) -> None:
    """An attempt with checkpoints is under way, an attached table is being read."""
    gate = Gate()

    async def after_the_queries(request: WireRequest) -> None:
        if sum(len(message.replies) for message in request.messages) > 1:
            await gate(request)

    async with recorder.bot(analyst=after_the_queries):
        talk = await recorder.scene.ask(QUESTION, files=[SAMPLE])
        await gate.arrival_event.wait()
        await talk.wait_until_seen(talk.cards)
    await recorder.keep("in_the_middle", talk)


async def side_by_side(recorder: Recorder) -> None:
    """One part is done after a failure, the other is under way."""
    gate = Gate(result("Checked."))
    flaky = in_turn(escalation("confidence_too_low", "I am not sure."), result("First."))
    async with recorder.bot(planner=lambda _: TWO, writer=flaky, reviewer=gate):
        talk = await recorder.scene.ask("Do two things")
        await talk.until(
            lambda job: job.latest_request.subtasks and job.latest_request.subtasks["first"].state == "complete"
        )
        await gate.arrival_event.wait()
        await talk.wait_until_seen(talk.cards)
    await recorder.keep("side_by_side", talk)


async def in_doubt(recorder: Recorder) -> None:
    """A bot was lost while a tool wrote, and people are asked what became of it."""
    with tempfile.TemporaryDirectory() as folder:
        async with far_side() as side:
            crew = crew_with(Path(folder), side.tool())
            words: dict[str, Words] = {"planner": lambda _: plan(subtask("note", "clerk")), "clerk": clerk}
            side.after = asyncio.Event()
            async with recorder.bot(crew, **words):
                talk = await recorder.scene.ask("Tell everybody that there is tea")
                await side.taken_event.wait()
            claim = await recorder.scene.store.jobs.claim("lost", lease=0.1, schema=SCHEMA, preferred_job=talk.key)
            if claim is None:
                raise AssertionError("somebody else has it")
            async with recorder.bot(crew, **words):
                await talk.question()
                await talk.until(lambda job: job.latest_request.state == "input_required")
                await talk.wait_until_seen(lambda: talk.status() == "suspended")
    await recorder.keep("in_doubt", talk)


async def second_looks(recorder: Recorder) -> None:
    """A crew in the crew, a made specialist, and whatever a supervisor looks at twice."""
    with tempfile.TemporaryDirectory() as folder:
        async with recorder.bot(looks.crew_in(Path(folder)), **looks.WORDS):
            talk = await recorder.scene.ask("What was churn in May, and what are 12 km in mil?")
            await talk.over()
            await talk.wait_until_seen(lambda: talk.status() == "active")
    await recorder.keep("second_looks", talk)


async def inside(recorder: Recorder) -> None:
    """The same, in the middle: a part inside is sent back, another is under way."""
    words: dict[str, Words] = {**looks.WORDS, "checker": Gate(result(looks.HIGH, 90))}
    with tempfile.TemporaryDirectory() as folder:
        async with recorder.bot(looks.crew_in(Path(folder)), **words):
            talk = await recorder.scene.ask("What was churn in May, and what are 12 km in mil?")
            await talk.until(lambda job: _done_but(job, "terms/check"))
            await talk.wait_until_seen(talk.cards)
    await recorder.keep("inside", talk)


def _done_but(job: Job, part: str) -> bool:
    """Whether all other parts have ended but those that it is inside."""
    works = job.latest_request.subtasks.values()
    return part in job.latest_request.subtasks and all(
        subtask.state in {"complete", "skipped"} for subtask in works if not part.startswith(subtask.spec.id)
    )


async def record_failure(recorder: Recorder) -> None:
    """Nobody can do it."""
    nobody = {"why": "not for us", "next": {"who": "nobody", "missing": ["do two things"]}}
    async with recorder.bot(planner=lambda _: Reply(json.dumps(nobody))):
        talk = await recorder.scene.ask("Do two things")
        await talk.over()
        await talk.wait_until_seen(lambda: talk.status() == "active")
    await recorder.keep("failed", talk)


async def record_cancellation(recorder: Recorder) -> None:
    """Stopped by a person while a part was under way."""
    gate = Gate(result("Checked."))
    async with recorder.bot(planner=lambda _: TWO, writer=lambda _: result("Written."), reviewer=gate):
        talk = await recorder.scene.ask("Do two things")
        await talk.until(
            lambda job: job.latest_request.subtasks and job.latest_request.subtasks["first"].state == "complete"
        )
        await gate.arrival_event.wait()
        await talk.wait_until_seen(talk.cards)
        await recorder.scene.person().stop(talk.channel, talk.ts)
        await talk.over()
        await talk.wait_until_seen(lambda: talk.status() == "active")
    await recorder.keep("cancelled", talk)


SCENES = (
    plain,
    with_files,
    record_question,
    in_the_middle,
    side_by_side,
    in_doubt,
    second_looks,
    inside,
    record_failure,
    record_cancellation,
)


async def record(folder: Path) -> None:
    """Play every scene. The folder must be there."""
    with tempfile.TemporaryDirectory() as data:
        url = await start_embedded(Path(data))
        try:
            for scenario in SCENES:
                async with scene_on(url) as scene:
                    await scenario(Recorder(scene, folder))
                print(f"schema {SCHEMA}: {scenario.__name__}", flush=True)  # noqa: T201
        finally:
            await stop_embedded(Path(data))


if __name__ == "__main__":
    asyncio.run(record(Path(sys.argv[1])))
