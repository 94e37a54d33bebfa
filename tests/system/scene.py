"""The whole bot for a test: a workspace, a store of its own, people who talk, and what their threads then show."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bot.app import App, find_manifest, load_crews, open_app
from bot.command_line.serve import open_slack_connection
from bot.models.chosen_model import ChosenModel
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import Settings
from bot.slack.show import notices, people
from bot.slack.views.status import render_timeline
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from bot.tracing.steps import list_steps
from bot.workspace.person import Attachment, Person
from bot.workspace.workspace_server import Workspace
from handoff import events as ev
from handoff.contracts import Place
from handoff.engine.engine import fold_log
from handoff.state.job_state import Job
from specialists.crew import Crew
from specialists.crew_set import CrewSet
from tests.patience import eventually, patience

E = TypeVar("E")
T = TypeVar("T")
Json = dict[str, Any]

SAMPLE = Path(__file__).parent.parent.parent / "specialists" / "samples" / "sales.csv"
PATIENCE = patience(60)
"""Seconds that a test waits for what must come: far longer than it takes, for machines that have other work."""


def planned_at_once(settings: Settings) -> CrewSet:
    """The crews of the settings as they are without a first responder: the planner gets each request."""
    return CrewSet({name: crew.without_first_responder() for name, crew in load_crews(settings).by_name.items()})


@asynccontextmanager
async def bot_in(
    workspace: Workspace,
    url: str,
    *,
    prefix: str,
    model: ChosenModel | None = None,
    crew: Crew | CrewSet | None = None,
    later: float = 0.0,
    hears: bool = True,
    **options: Any,
) -> AsyncIterator[App]:
    """A bot in a workspace, on the store at `url`, wired as `leadhand try` wires it.

    Args:
        workspace: Where it talks.
        url: The store's server; `prefix` keeps tests apart on it.
        prefix: What all keys start with.
        model: The rehearsal model unless given.
        crew: That of the settings unless given, without its first responder: most tests are about plans.
        later: Seconds by which the store's clock is ahead, so that nobody waits for an earlier bot's calls.
        hears: Whether Slack delivers anything to it; else what people do reaches other bots alone.
        options: Further fields of `Settings`.
    """
    tokens = {"bot_token": workspace.bot_token, "app_token": workspace.app_token if hears else ""}
    settings = Settings(**{"env": {}, **tokens, "slack_api_url": workspace.api_url, **options})
    store = await Store.connect(url, prefix=prefix, clock_offset_ms=round(later * 1000))
    try:
        async with (
            open_app(settings, store, model or RehearsalModel(), crew or planned_at_once(settings)) as app,
            open_slack_connection(app.bolt, settings, app.pages) if hears else nullcontext(),
        ):
            yield app
    finally:
        await store.close()


@dataclass
class Scene:
    """A workspace with people, and a store. `bot()` may be entered again and again: each time a new bot."""

    workspace: Workspace
    url: str
    store: Store
    prefix: str

    def bot(self, model: ChosenModel | None = None, **options: Any) -> AbstractAsyncContextManager[App]:
        """A bot of this scene, see `bot_in`."""
        return bot_in(self.workspace, self.url, prefix=self.prefix, model=model, **options)

    def person(self, name: str = "ana") -> Person:
        """One of the three people."""
        return self.workspace.person(name)

    async def ask(
        self, text: str, *, files: Sequence[Attachment] = (), who: str = "ana", channel: str = "#general"
    ) -> Talk:
        """Mention the bot at the top of a channel. In a direct message, name `@leadhand` as the channel."""
        person = self.person(who)
        place = person.find_channel(channel)
        said = text if place.kind == "im" else f"@leadhand {text}"
        return Talk(self, place.id, await person.say(place.id, said, files=list(files)))

    async def command(self, text: str, who: str = "ana", channel: str = "#general") -> Json:
        """Give a slash command, and wait for the one answer that only its person sees."""
        person = self.person(who)
        before = len(person.ephemerals(channel))
        await person.command(channel, "/leadhand", text)
        return (await self.workspace.until(lambda: person.ephemerals(channel)[before:]))[0]

    def thread(self, channel: str, ts: str) -> Talk:
        """The thread of a message that somebody wrote."""
        return Talk(self, self.workspace.channel_id(channel), ts)

    async def barrier(self, who: str = "cleo") -> None:
        """Have something else dealt with, start to end and without a model: what came earlier is done by then."""
        talk = await self.ask("", who=who, channel="#sales")
        await talk.over()


@asynccontextmanager
async def scene_on(url: str, **options: Any) -> AsyncIterator[Scene]:
    """A scene on the store at `url`. `options` are those of `Workspace.start`."""
    prefix = f"s{secrets.token_hex(4)}"
    store = await Store.connect(url, prefix=prefix)
    workspace = await Workspace.start(find_manifest(), **{"ack_seconds": patience(3), **options})
    try:
        with pytest.MonkeyPatch.context() as longer:
            # Slack waits three seconds for an answer to a click, so the bot takes less: all longer on a busy machine.
            longer.setattr(notices, "ACK_SECONDS", patience(2.5))
            longer.setattr(people, "NAME_TIMEOUT_SECONDS", patience(3))
            longer.setattr(people, "FACTS_TIMEOUT_SECONDS", patience(1.5))
            yield Scene(workspace, url, store, prefix)
    finally:
        await workspace.stop()
        await store.close()


async def open_empty_store(url: str) -> Store:
    """The store of whole processes, which all use one prefix, with nothing of another test's workspace in it."""
    store = await Store.connect(url)
    for name in await store._server.run_command("KEYS", f"{store._keys.prefix}:*"):
        await store._server.run_command("DEL", name)
    await store.close()
    return await Store.connect(url)


@dataclass(frozen=True)
class Talk:
    """A thread that was begun by asking for something."""

    scene: Scene = field(repr=False)
    channel: str
    ts: str

    # -- the job behind it -----------------------------------------------------------------------

    @property
    def key(self) -> JobKey:
        """The job's address in the store."""
        team = self.scene.workspace.team_id
        return JobKey(team, Place(team=team, channel=self.channel, thread_ts=self.ts).job_id)

    async def events(self) -> list[ev.Event]:
        """The job's log."""
        return [ev.load_event(entry.payload) for entry in await self.scene.store.jobs.read_log(self.key)]

    async def of(self, kind: type[E]) -> list[E]:
        """The events of one kind."""
        return [event for event in await self.events() if isinstance(event, kind)]

    async def job(self) -> Job | None:
        """The job as its log stands."""
        return fold_log(await self.events())

    async def until(self, condition: Callable[[Job], T], patience: float = PATIENCE) -> T:
        """The first true value of a condition on the job."""

        async def look() -> T | None:
            job = await self.job()
            return condition(job) if job is not None else None

        try:
            return await eventually(look, patience)
        except TimeoutError:
            lines = "\n  ".join(f"{event.type} {str(event)[:200]}" for event in await self.events())
            raise TimeoutError(f"not within {patience:g} s; the log:\n  {lines}\n{self.join_bot_texts()}") from None

    async def over(self, requests: int = 1, patience: float = PATIENCE) -> Job:
        """The job once so many requests of it have ended, and none is under way."""

        def find_ended_job(job: Job) -> Job | None:
            return job if job.current_request is None and len(job.requests) >= requests else None

        job = await self.until(find_ended_job, patience)
        assert job is not None
        return job

    # -- what people see -------------------------------------------------------------------------

    def replies(self) -> list[Json]:
        """What the bot said in the thread, oldest first."""
        bot = self.scene.workspace.bot_user_id
        return [message for message in self.scene.workspace.thread(self.channel, self.ts) if message["user"] == bot]

    def cards(self) -> list[Json]:
        """The plan cards."""
        return [message for message in self.replies() if block_of(message, "plan")]

    def files(self) -> list[str]:
        """The names of the files that the bot posted."""
        return [file["name"] for message in self.replies() for file in message.get("files") or ()]

    def words(self) -> list[Json]:
        """The bot's messages that are neither a card nor a file: questions and ends."""
        return [message for message in self.replies() if not block_of(message, "plan") and not message.get("files")]

    def join_bot_texts(self) -> str:
        """Everything that the bot's words show, as one text."""
        return "\n\n".join(extract_shown_text(message) for message in self.words())

    def join_private_texts(self, who: str = "ana") -> str:
        """What the bot said to one person alone in the thread's channel."""
        return "\n\n".join(extract_shown_text(message) for message in self.scene.person(who).ephemerals(self.channel))

    def reactions(self, ts: str = "") -> list[str]:
        """The names of the reactions to one message of the thread, the first unless it is given."""
        thread = self.scene.workspace.thread(self.channel, self.ts)
        found = (message for message in thread if message["ts"] == (ts or self.ts))
        return [reaction["name"] for message in found for reaction in message.get("reactions", ())]

    def status(self) -> str:
        """The status of the thread's session."""
        return str(self.scene.workspace.session(self.channel, self.ts)["status"])

    async def timeline(self) -> str:
        """The trace of the job, as `/leadhand trace` shows it."""
        return render_timeline(self.key.job, list_steps(await self.scene.store.jobs.read_log(self.key)))

    async def wait_until_seen(self, predicate: Callable[[], T], patience: float = PATIENCE) -> T:
        """Wait until people can see something."""
        return await self.scene.workspace.until(predicate, timeout=patience)

    async def say(self, text: str, who: str = "ana", files: Sequence[Attachment] = ()) -> str:
        """Reply in the thread."""
        return await self.scene.person(who).say(self.channel, text, thread_ts=self.ts, files=list(files))

    async def press(self, label: str, who: str = "ana") -> None:
        """Press the button with these words on the newest message of the bot's that has it, once there is one."""
        message = (await self.wait_until_seen(lambda: [one for one in self.replies() if label in buttons(one)]))[-1]
        button = buttons(message)[label]
        await self.scene.person(who).click(self.channel, message["ts"], button["action_id"], button.get("value"))

    async def wait_for_question(self, number: int = 1) -> None:
        """Wait until so many questions are in the thread, and the job knows of them."""
        await self.until(
            lambda job: sum(":question:" in key for request in job.requests for key in request.posted_ids) >= number
        )

    async def question(self, number: int = 1) -> Json:
        """The thread's question of that number, once it is there and the job knows of it."""
        await self.wait_for_question(number)
        asks = ("Waits for ", "Was this carried out?")
        return [message for message in self.words() if any(words in extract_shown_text(message) for words in asks)][-1]


def block_of(message: Json, kind: str) -> Json | None:
    """The first block of a kind."""
    return next((block for block in message.get("blocks") or () if block["type"] == kind), None)


def extract_shown_text(message: Json) -> str:
    """All texts of a message's blocks, in order."""
    return "\n".join(_texts(message.get("blocks") or []) or [str(message.get("text", ""))])


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    if not isinstance(value, dict):
        return []
    own = [value["text"]] if isinstance(value.get("text"), str) else []
    return own + [text for name, each in value.items() if name != "text" or not own for text in _texts(each)]


def rows(card: Json) -> dict[str, tuple[str, str]]:
    """The rows of a plan card: for each id its status and its details."""
    plan = block_of(card, "plan")
    assert plan is not None
    return {task["task_id"]: (task["status"], " ".join(_texts(task.get("details", {})))) for task in plan["tasks"]}


def card_title(card: Json) -> str:
    """The title of a plan card."""
    plan = block_of(card, "plan")
    assert plan is not None
    return str(plan["title"])


def buttons(message: Json) -> dict[str, Json]:
    """The buttons of a message by what stands on them."""
    elements = [each for block in message.get("blocks") or () for each in block.get("elements") or ()]
    return {each["text"]["text"]: each for each in elements if each.get("type") == "button"}
