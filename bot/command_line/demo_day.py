"""`leadhand try --demo-day`: plays the scenes of `day_scenes.yml` in the local workspace, then leaves its page open.

The clocks of the workspace and of the store are moved together, so that messages and jobs have times over the day.
The scenes say what people write and press; the bot is the real app.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app import App
from bot.command_line import crew_demo
from bot.command_line.console import say
from bot.command_line.crew_demo import StagedDemos
from bot.command_line.day_file import DayScene, DemoDay, LaterStep, SceneEnd
from bot.models.rehearsal.demo_script import DemoScript
from bot.settings import Settings
from bot.store.redis.redis_store import Store
from bot.store.values import Head, JobKey
from bot.workspace.person import Person
from bot.workspace.refusal import ActionFailed
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place

STEP_TIMEOUT_SECONDS = 40.0
"""Maximum seconds to wait until a step reaches its end."""
RELEASE_TIMEOUT_SECONDS = 8.0
"""Maximum seconds to wait until the jobs of a scene are released, before the clocks are moved on."""
BUTTON_TIMEOUT_SECONDS = 3.0
"""Maximum seconds to wait until a button is shown."""
POLL_SECONDS = 0.05
SAMPLES_FOLDER = Path(__file__).parents[2] / "specialists" / "samples"
END_BY_STATE: dict[str, SceneEnd] = {"completed": "answered", "failed": "failed", "cancelled": "cancelled"}
LONG_TIME_LIMITS = {"subtask_seconds": 3600.0, "job_seconds": 5400.0}
"""Time limits in seconds. A held job stays at work for this long while people look at the page."""

Json = dict[str, Any]


@dataclass(slots=True)
class PlayedScene:
    """A scene that was played, with the place of its thread and the state that its job reached."""

    scene: DayScene
    place: Place
    end_state: SceneEnd = ""
    fault: str = ""
    """The reason why a step could not be played; empty if all were. The other steps are played anyway."""


@contextlib.asynccontextmanager
async def stage_day(day: DemoDay, settings: Settings) -> AsyncIterator[StagedDemos]:
    """Prepare the demos of the day's crews, and delete their files at the end of the block. Raises SettingsError."""
    settings = dataclasses.replace(settings, terms=settings.terms.model_copy(update=LONG_TIME_LIMITS))
    held_requests = tuple(scene.say for scene in day.scenes if scene.held)
    async with crew_demo.stage_demos([scene.demo for scene in day.scenes if scene.demo], settings) as staged_demos:
        settings = dataclasses.replace(staged_demos.settings, crew=day.crews[0], more_crews=day.crews[1:])
        scripts = [dataclasses.replace(one, is_held=one.request in held_requests) for one in staged_demos.scripts]
        # Held scenes that are no demo.
        scripts += [DemoScript(ask, replies=None, is_held=True) for ask in held_requests]
        yield dataclasses.replace(staged_demos, settings=settings, scripts=tuple(scripts))


class DayPlayer:
    """Plays the scenes of a day. `store` is the app's store, whose clock is moved with the workspace's.

    Both clocks must be `seconds_behind` seconds behind already: a server must not see a clock go back.
    """

    def __init__(
        self, workspace: Workspace, app: App, store: Store, staged_demos: StagedDemos, *, seconds_behind: float
    ) -> None:
        self._workspace = workspace
        self._app = app
        self._store = store
        self._staged_demos = staged_demos
        self._seconds_behind = seconds_behind
        """Seconds that both clocks are behind the real time."""
        self.played_scenes: list[PlayedScene] = []

    async def play_day(self, day: DemoDay) -> None:
        """Play all scenes in order."""
        for scene in day.scenes:
            await self._advance_clocks(scene.ago)
            await self._play_scene(scene)
        await self._advance_clocks(0.0)

    async def _advance_clocks(self, seconds_behind: float) -> None:
        """Move both clocks forward to `seconds_behind` seconds before now. They are never moved back."""
        if seconds_behind >= self._seconds_behind:
            return
        with contextlib.suppress(TimeoutError):
            await _wait_until(lambda: _is_truthy(not self._app.instance.owned_job_count), RELEASE_TIMEOUT_SECONDS)
        self._store.set_clock_ahead(-seconds_behind)
        self._workspace.clock.advance(self._seconds_behind - seconds_behind)
        self._seconds_behind = seconds_behind

    async def _play_scene(self, scene: DayScene) -> None:
        person = self._workspace.person(scene.who)
        where = person.find_channel(scene.where)
        demo = self._staged_demos.demos.get(scene.demo)
        words = f"{scene.demo}: {demo.demo.ask}" if demo is not None else scene.say
        files = list(demo.files) if demo is not None else [SAMPLES_FOLDER / name for name in scene.files]
        text = words if where.kind == "im" else f"@leadhand {words}"
        ts = await person.say(where.id, text, files=list(files))
        place = Place(team=self._workspace.team_id, channel=where.id, thread_ts=self._find_thread_root(where.id, ts))
        played_scene = PlayedScene(scene, place)
        self.played_scenes.append(played_scene)
        played_scene.end_state = await self._wait_for_end(place, scene.ends)
        for step in scene.then:
            await self._advance_clocks(max(0.0, self._seconds_behind - step.later))
            try:
                await self._play_step(played_scene, step)
            except (LookupError, ActionFailed) as error:
                played_scene.fault = str(error)

    async def _play_step(self, played_scene: PlayedScene, step: LaterStep) -> None:
        place, person = played_scene.place, self._workspace.person(step.who or played_scene.scene.who)
        last_request_time, is_answer = (
            await self._read_request_time(place),
            played_scene.end_state in {"question", "approval"},
        )
        if step.say:
            await person.say(place.channel, step.say, thread_ts=place.thread_ts)
        elif step.press:
            await self._press_button(person, place, step.press)
        elif step.react:
            await person.react(place.channel, self._find_last_answer(place), step.react)
        elif step.stop:
            await person.stop(place.channel, place.thread_ts)
        elif step.command:
            await person.command(place.channel, "/leadhand", step.command.replace("{job}", place.job_id))
        if step.ends:
            if (step.say or step.press) and not is_answer:  # the step makes a new request
                await self._wait_for_next_request(place, last_request_time)
            played_scene.end_state = await self._wait_for_end(place, step.ends)

    async def _press_button(self, person: Person, place: Place, label: str) -> None:
        """Press the newest button with that label in a thread, ephemeral messages included. Raises LookupError."""

        async def press_if_shown() -> bool:
            messages = [*self._workspace.thread(place.channel, place.thread_ts), *person.ephemerals(place.channel)]
            for message in reversed(messages):
                for button in _find_buttons(message.get("blocks")):
                    if button["text"]["text"] == label:
                        await person.click(place.channel, message["ts"], button["action_id"], button.get("value"))
                        return True
            return False

        try:
            await _wait_until(press_if_shown, BUTTON_TIMEOUT_SECONDS)
        except TimeoutError:
            raise LookupError(f"no button {label!r} in the thread of {place.job_id}") from None

    def _find_thread_root(self, channel: str, ts: str) -> str:
        message = next(one for one in self._workspace.messages(channel) if one["ts"] == ts)
        return str(message.get("thread_ts", ts))

    def _find_last_answer(self, place: Place) -> str:
        """Return the ts of the thread's last answer. Raises LookupError."""
        for message in reversed(self._workspace.thread(place.channel, place.thread_ts)):
            payload = (message.get("metadata") or {}).get("event_payload", {})
            if str(payload.get("key", "")).endswith(":answer"):
                return str(message["ts"])
        raise LookupError(f"no answer in the thread of {place.job_id}")

    async def _read_request_time(self, place: Place) -> str:
        head = await self._read_head(place)
        return head.fields.get("asked", "") if head is not None else ""

    async def _wait_for_next_request(self, place: Place, last_request_time: str) -> None:
        async def has_next_request() -> bool:
            return await self._read_request_time(place) != last_request_time

        with contextlib.suppress(TimeoutError):
            await _wait_until(has_next_request, RELEASE_TIMEOUT_SECONDS)

    async def _read_head(self, place: Place) -> Head | None:
        return await self._store.jobs.read_head(JobKey(place.team, place.job_id))

    async def _wait_for_end(self, place: Place, wanted_end: SceneEnd) -> SceneEnd:
        """Wait until the thread's job reaches the state `wanted_end`, or another end.

        Returns the state that it reached.
        """

        async def has_ended() -> bool:
            now = find_scene_end(await self._read_head(place))
            return now == wanted_end or now in {"answered", "in part", "failed", "cancelled"}

        if wanted_end:
            with contextlib.suppress(TimeoutError):
                await _wait_until(has_ended, STEP_TIMEOUT_SECONDS)
        return find_scene_end(await self._read_head(place))


def find_scene_end(head: Head | None) -> SceneEnd:
    """Return the `SceneEnd` that matches the state of a job's head; "" if there is no head or no match."""
    if head is None:
        return ""
    state = head.fields.get("state", "")
    if state in END_BY_STATE:
        return "in part" if state == "completed" and head.fields.get("in_part") else END_BY_STATE[state]
    if questions := json.loads(head.fields.get("questions") or "[]"):
        return "approval" if any(one.get("approval") for one in questions) else "question"
    return "working" if state == "working" else ""


def _find_buttons(blocks: Any) -> Iterator[Json]:
    """Yield the buttons in the blocks of a message."""
    if isinstance(blocks, list):
        for one in blocks:
            yield from _find_buttons(one)
    elif isinstance(blocks, dict):
        if blocks.get("type") == "button":
            yield blocks
        else:
            for value in blocks.values():
                yield from _find_buttons(value)


async def _is_truthy(value: object) -> bool:
    return bool(value)


async def _wait_until(condition: Callable[[], Awaitable[bool]], seconds: float) -> None:
    """Wait until `condition` returns True. Raises TimeoutError after `seconds`."""
    until = time.monotonic() + seconds
    while not await condition():
        if time.monotonic() > until:
            raise TimeoutError
        await asyncio.sleep(POLL_SECONDS)


def print_summary(played_scenes: list[PlayedScene], seconds: float) -> str:
    """Print a line for each thread, and a summary sentence. Returns that sentence."""
    width = max((len(one.scene.title) for one in played_scenes), default=0)
    for one in played_scenes:
        then = [step.ends for step in one.scene.then if step.ends]
        expected_state = [one.scene.ends, *then][-1]
        mismatch_note = (
            "" if one.end_state == expected_state or not expected_state else f"  (was to be: {expected_state})"
        )
        fault = f"  ({one.fault})" if one.fault else ""
        job = one.place.job_id if one.end_state else ""
        say(
            f"  {one.scene.title:<{width}}  {one.scene.where:<10} {job:<11}  "
            f"{one.end_state}{mismatch_note}{fault}".rstrip()
        )
    state_counts = Counter(one.end_state for one in played_scenes if one.end_state)
    words = {"question": "waiting for an answer", "approval": "waiting for a yes", "working": "at work"}
    parts = ", ".join(f"{count} {words.get(name, name)}" for name, count in state_counts.most_common())
    sentence = f"A day of {len(played_scenes)} threads, played in {seconds:.0f} s: {parts}."
    say(sentence)
    return sentence
