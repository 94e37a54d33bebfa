"""A real app in HTTP mode, asked by what Slack would send, signed: for trying what the local workspace never sends."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web
from slack_bolt.async_app import AsyncApp

from bot.features.job_controls.lists import JobFilter
from bot.features.job_controls.service import StopOutcome
from bot.features.requests.actions import encode_shortcut
from bot.features.requests.service import AnswerOutcome
from bot.settings import Settings
from bot.slack.receive.http import make_web_app
from bot.slack.receive.payloads import MessageShortcut
from bot.slack.receive.subcommand import CommandContext
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.views.button_data import encode_data
from bot.slack.views.card import STOP_ACTION
from bot.slack.views.home import REQUEST_ACTION, REQUEST_BLOCK, START_JOB
from bot.slack.views.job_lines import JobLine
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import ListPage, select_page
from bot.slack.views.question import ANSWER_PREFIX, AnswerChoice
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place, Request
from tests.slack.gates import MemoryGate
from tests.slack.memory_service import MemoryHomes, MemoryService, Real, listening
from tests.slack.workspaces import workspace_and_client

SECRET = "a signing secret"
ROOT = "1700000000.000100"
Json = dict[str, Any]
KIND = {"sales": "channel", "general": "channel", "northwind": "channel", "leads": "group", "dm": "im"}
_COUNT = itertools.count(1)


class SeenService(MemoryService):
    """Notes what reaches it, and says yes to all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen_calls: list[str] = []
        self.places: list[Place] = []
        self.is_job_known = True

    async def has_job(self, place: Place) -> bool:
        del place
        return self.is_job_known

    async def record_request(
        self, place: Place, request: Request, *, dedupe: tuple[str, ...], refusal: str = ""
    ) -> bool:
        self.places.append(place)
        self.seen_calls.append("turned away" if refusal else "request")
        return await super().record_request(place, request, dedupe=dedupe, refusal=refusal)

    async def record_reply(
        self, place: Place, message: Request, *, mentions_bot: bool, mentions_others: bool, dedupe: tuple[str, ...]
    ) -> AnswerOutcome:
        del message, mentions_others, dedupe
        self.places.append(place)
        self.seen_calls.append("reply")
        return AnswerOutcome("ignored" if mentions_bot else "heard")

    async def record_choice(
        self, place: Place, choice: AnswerChoice, *, user: str, dedupe: tuple[str, ...], words: str = ""
    ) -> AnswerOutcome:
        del choice, user, dedupe, words
        self.places.append(place)
        self.seen_calls.append("answer")
        return AnswerOutcome("taken")

    async def cancel(self, team: str, job: str | None, place: Place | None, *, user: str) -> StopOutcome:
        del team, job, user
        self.places += [place] if place is not None else []
        self.seen_calls.append("stop")
        return StopOutcome("cancelling")

    async def record_edit(self, place: Place, *_: Any, **__: Any) -> bool:
        self.places.append(place)
        self.seen_calls.append("edit")
        return True

    async def list_own(self, team: str, user: str, page: int, kind: JobFilter = "") -> ListPage[JobLine]:
        del team, user, kind
        self.seen_calls.append("status")
        return select_page([], page)

    async def record_typed_request(self, ctx: CommandContext) -> Outgoing:
        self.seen_calls.append("typed")
        return await super().record_typed_request(ctx)


@dataclass
class Door:
    """The app's address, and everything that may come in there."""

    town: Workspace
    gate: MemoryGate
    service: SeenService
    background: BackgroundTasks
    url: str
    session: aiohttp.ClientSession
    expected_status: int = 200
    """The status that each answer must have."""

    # -- people and places -----------------------------------------------------------------------

    def place(self, name: str, person: str = "ana") -> str:
        """The id of a channel; `dm` is the person's own with the bot, or ana's for who has none."""
        if name != "dm":
            return self.town.channel_id(name)
        state = self.town._world.state
        found = state.find_channel(self.user(person)) or state.find_channel(self.user("ana"))
        assert found is not None
        return found.id

    def user(self, person: str) -> str:
        state = self.town._world.state
        return state.by_name[person].id

    def team(self, person: str) -> str:
        state = self.town._world.state
        return state.by_name[person].team

    # -- what comes in ---------------------------------------------------------------------------

    async def knock(self, body: Json | str) -> Json | str:
        """Send it, signed; the answer's body once everything that follows is done."""
        form = isinstance(body, str)
        text = body if isinstance(body, str) else json.dumps(body)
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        sent = {"Content-Type": kind, **signature(str(int(time.time())), text.encode())}
        async with self.session.post(self.url, data=text.encode(), headers=sent) as response:
            assert response.status == self.expected_status, (response.status, body)
            answer = await response.text()
        await self.background.drain(10)
        found: Json | str = json.loads(answer) if answer.startswith("{") else answer
        return found

    async def come(self, way: str, person: str, place: str, **forged_fields: Any) -> Json | str:
        """Have a person come in some way at a place; `forged_fields` changes the payload, by its path with dots."""
        body = getattr(self, f"_{way}")(person, place)
        for path, value in forged_fields.items():
            *names, last = path.split("__")
            inner = body
            for name in names:
                inner = inner[name]
            if value is None:
                inner.pop(last, None)
            else:
                inner[last] = value
        interactive = body.get("type") in {"block_actions", "message_action", "view_submission"}
        if interactive:
            return await self.knock(urlencode({"payload": json.dumps(body)}))
        return await self.knock(urlencode(body) if "command" in body else body)

    def _event(self, person: str, place: str, event: Json) -> Json:
        shared = place == "northwind"
        home = self.town.team_id
        event = {"channel": self.place(place, person), "user": self.user(person), **event}
        if person == "buildbot":
            event["bot_id"] = self.town._world.state.identity.other_bot_id
        if shared:
            event |= {"user_team": self.team(person), "source_team": self.team(person)}
        return {
            "type": "event_callback",
            "team_id": home,
            "context_team_id": home,
            "event_id": f"Ev{next(_COUNT)}",
            "authorizations": [{"team_id": home, "enterprise_id": None, "user_id": self.town.bot_user_id}],
            "is_ext_shared_channel": shared,
            "event": {"team": self.team(person), **event},
        }

    def _mention(self, person: str, place: str) -> Json:
        text = f"<@{self.town.bot_user_id}> compare the offers"
        said: Json = {"type": "app_mention", "text": text, "ts": self._ts()}
        if place == "dm":
            said |= {"type": "message", "channel_type": "im"}
        return self._event(person, place, said)

    def _follow_up(self, person: str, place: str) -> Json:
        kind = KIND.get(place, "mpim")
        said = {"type": "message", "text": "shorter", "ts": self._ts(), "thread_ts": ROOT, "channel_type": kind}
        return self._event(person, place, said)

    def _base(self, kind: str, person: str) -> Json:
        home, team = self.town.team_id, self.team(person)
        user = {"id": self.user(person), "name": person, "team_id": team}
        trigger = self.town._world.views.issue_trigger(user["id"])
        return {"type": kind, "user": user, "team": {"id": team if team != home else home}, "trigger_id": trigger}

    def _make_click(self, person: str, place: str, action: Json) -> Json:
        message = {"ts": self._ts(), "thread_ts": ROOT}
        action = {"type": "button", "block_id": "b", "action_ts": "1.1", **action}
        where = {"channel": {"id": self.place(place, person)}, "message": message, "actions": [action]}
        return {**self._base("block_actions", person), **where, "container": {"type": "message"}}

    def _answer(self, person: str, place: str) -> Json:
        job = Place(team=self.town.team_id, channel=self.place(place, person), thread_ts=ROOT).job_id
        choice = AnswerChoice(job, "r", "s", 1, 0)
        return self._make_click(person, place, {"action_id": f"{ANSWER_PREFIX}0", "value": encode_data(choice)})

    def _stop(self, person: str, place: str) -> Json:
        return self._make_click(person, place, {"action_id": STOP_ACTION, "value": "-"})

    def _command(self, person: str, place: str) -> Json:
        where = {"team_id": self.team(person), "channel_id": self.place(place, person)}
        return {"command": "/leadhand", "text": "status", "user_id": self.user(person), **where, "trigger_id": "1.2.3"}

    def _typed(self, person: str, place: str) -> Json:
        return {**self._command(person, place), "text": "why did it rise?"}

    def _shortcut(self, person: str, place: str) -> Json:
        message = {"ts": self._ts(), "thread_ts": ROOT, "text": "look at this", "user": self.user("ana")}
        where = {"channel": {"id": self.place(place, person)}, "message": message, "callback_id": START_JOB}
        return {**self._base("message_action", person), **where}

    def _view(self, person: str, place: str) -> Json:
        thread = Place(team=self.town.team_id, channel=self.place(place, person), thread_ts=ROOT)
        told = encode_shortcut(MessageShortcut(thread, ROOT, "", "", "", "", ()))
        put_in = {REQUEST_BLOCK: {REQUEST_ACTION: {"type": "plain_text_input", "value": "do it"}}}
        view = {"id": f"V{next(_COUNT)}", "type": "modal", "callback_id": START_JOB, "state": {"values": put_in}}
        return {**self._base("view_submission", person), "view": {**view, "private_metadata": told}}

    def _ts(self) -> str:
        return f"1700000001.{next(_COUNT):06}"

    # -- what came of it -------------------------------------------------------------------------

    def list_ephemerals(self) -> list[Json]:
        """What was tried to be shown to one person alone, oldest first."""
        return [call.args for call in self.town.calls("chat.postEphemeral")]

    def count_windows(self) -> int:
        """How many windows were opened."""
        return self.town.call_count("views.open")


def signature(stamp: str, body: bytes) -> dict[str, str]:
    """The headers with which Slack signs a request."""
    digest = hmac.new(SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}


@asynccontextmanager
async def serve_app(app: AsyncApp) -> AsyncIterator[str]:
    """The address to which Slack would send what the app is to hear."""
    runner = web.AppRunner(make_web_app(app, signing_secret=SECRET), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    bound: Any = runner.addresses[0]
    try:
        yield f"http://127.0.0.1:{bound[1]}/slack/events"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def signed_door(
    *,
    admins: tuple[str, ...] = (),
    admins_in: str = "",
    service_of: Callable[[Door], Real] | None = None,
    tries_of: Callable[[Door], Any] | None = None,
) -> AsyncIterator[Door]:
    """A workspace, and the real app behind a door of its own. `admins` are people's names, named for a workspace.

    `admins_in` is the id of that workspace, by default that of this one.

    `service_of` gives what real services stand on, in place of one that only notes what reaches it, `tries_of` the desk
    of second tries.
    """
    async with workspace_and_client() as (town, client):
        app = AsyncApp(client=client, signing_secret=SECRET, process_before_response=True)
        service = SeenService()
        named = frozenset(f"{admins_in or town.team_id}:{town.person(name).id}" for name in admins)
        gate = MemoryGate(client, town.team_id, admins=Settings(env={}, admins=named).list_admins(town.team_id))
        door = Door(town, gate, service, BackgroundTasks(), "", aiohttp.ClientSession())
        tries = tries_of(door) if tries_of else None
        real = service_of(door) if service_of else None
        kit = listening(app, gate, service, homes=MemoryHomes(town.team_id), tries=tries, real=real)
        background = door.background = kit.background
        async with serve_app(app) as door.url, door.session:
            yield door
        await background.drain()
