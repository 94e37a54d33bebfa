"""A strict Slack on your own machine, for trying, testing and writing Slack apps.

It serves the Web API, Socket Mode (or HTTP mode with signatures) and a page
that looks like Slack, and it enforces what Slack enforces, with Slack's own
error codes: scopes and event subscriptions from your manifest, Block Kit,
lengths, rate limits, three seconds to acknowledge, retries of events, streams
that expire. A mistake fails here first.

Beside an app in any language::

    leadhand slack --manifest manifest.yml -- python app.py

It prints an address for the browser and starts the app, which finds the tokens
and SLACK_API_URL in its environment. `python -m bot.workspace` is the same
command. Without an app it prints what to export.

In a test::

    workspace = await Workspace.start(Path("manifest.yml"))
    ana = workspace.person("ana")
    ts = await ana.say("#general", "@mybot hello")
    answer = await workspace.until(lambda: workspace.thread("#general", ts)[1:])
    workspace.faults.add("chat.postMessage", "lost_reply")
    workspace.clock.advance(300)  # five minutes later
    await workspace.stop()

There are three members (ana, ben, cleo), two guests (gus; uma, who may be in one
channel only), a person of another workspace (sol) and another app's bot
(buildbot). The channels are #general, #sales, #northwind (shared with sol's
workspace by Slack Connect), the private #leads and a group DM of ana, ben and gus;
everybody but sol has a direct message with the bot. @reviewers is a user group.
With `data` everything is stored in that folder and is there again at the next
start; without it, everything is lost. `add_app` installs a further app, `start_further_workspace`
starts a further workspace of the same app.

What differs from Slack: arguments that a method does not know are refused, not
ignored; an event that finds no Socket Mode connection waits for one; a reaction
may have any name; user tokens and link unfurling are left out, and so is
every method that `web_api/method_table.py` does not list.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from aiohttp import web

from bot.workspace.agent_sessions import AgentSessions
from bot.workspace.app_parts import AppParts, MessageDraft, RecordedCall
from bot.workspace.changes import Change, ChangePublisher
from bot.workspace.channel_messages import ChannelMessages
from bot.workspace.event_delivery import EventDelivery
from bot.workspace.fault_injection import FaultInjection
from bot.workspace.file_store import MAX_FILE_BYTES, FileStore
from bot.workspace.http_mode import HttpMode
from bot.workspace.identity import Identity, UserGroup
from bot.workspace.interactivity import Interactivity
from bot.workspace.manifest import list_manifest_notes, read_manifest
from bot.workspace.oauth import OAuth
from bot.workspace.page_connections import PageConnections
from bot.workspace.page_requests import PageRequests
from bot.workspace.person import Person
from bot.workspace.rate_limits import RateLimits
from bot.workspace.request_guard import RequestGuard
from bot.workspace.response_urls import ResponseUrls
from bot.workspace.routes import add_routes
from bot.workspace.scheduled_messages import ScheduledMessages
from bot.workspace.socket_mode import SocketMode
from bot.workspace.storage import WorkspaceStorage
from bot.workspace.traffic import InspectedTransport, TrafficEntry, TrafficLog
from bot.workspace.typed_text import encode_typed_text
from bot.workspace.view_stacks import Views
from bot.workspace.virtual_clock import Clock
from bot.workspace.web_api.dispatch import ApiDispatcher
from bot.workspace.workflow_steps import StepRun, WorkflowSteps
from bot.workspace.workspace_state import Channel, Json, WorkspaceState

T = TypeVar("T")
HOST = "127.0.0.1"


class Workspace:
    """A running workspace. Make one with `await Workspace.start(...)`."""

    def __init__(
        self, world: AppParts, transport: SocketMode | HttpMode, main_workspace: "Workspace | None" = None
    ) -> None:
        self._world, self._transport, self._beside = world, transport, main_workspace
        self._people = {user.name: Person(world, user) for user in world.state.people}
        self._live = PageConnections(world)
        self._guard = RequestGuard(world.state.identity.page_token)
        self._transports = [transport]
        self._runner: web.AppRunner | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(  # noqa: PLR0913  # a public call with named arguments
        cls,
        manifest: Path,
        *,
        data: Path | None = None,
        port: int = 0,
        rate_limits: bool = True,
        request_url: str | None = None,
        retry_scale: float = 1.0,
        ack_seconds: float = 3.0,
        drafts: Sequence[MessageDraft] = (),
        organisation: str = "",
        is_installed: bool = True,
    ) -> "Workspace":
        """Start a workspace on 127.0.0.1.

        Args:
            manifest: The app's manifest, YAML or JSON.
            data: Folder that keeps everything; None keeps it in memory.
            port: 0 takes a free port or, with `data`, that of the last run if it is free.
            rate_limits: True to apply Slack's rate limits.
            request_url: Where to post events (HTTP mode); None is Socket Mode. Payloads for which the
                manifest has another path than for events go to that path of the same host.
            retry_scale: Multiplies the waits between attempts to deliver an event (60 s, 300 s).
            ack_seconds: How long the app has to acknowledge.
            drafts: Messages that the page offers to fill in where there are no messages yet.
            organisation: The name of the organisation that the workspace is part of (Enterprise Grid); empty for none.
            is_installed: True if the app is installed from the start; otherwise it gets its tokens by OAuth.

        Raises:
            ValueError: The manifest cannot be used.
            OSError: The manifest cannot be read, or the port is taken.
        """
        who = Identity().with_organisation(organisation) if organisation else None
        state = WorkspaceState(read_manifest(manifest), WorkspaceStorage(data), Clock(), ChangePublisher(), who)
        transport = _make_transport(state, request_url, ack_seconds)
        oauth = OAuth(request_url)
        world = _make_world(state, transport, oauth, rate_limits=rate_limits, retry_scale=retry_scale)
        world.drafts = tuple(drafts)
        workspace = cls(world, transport)
        if not is_installed and not dict(state.record.iterate_records("installed")):
            state.set_install_scope("")
        await workspace._listen(port)
        return workspace

    async def start_further_workspace(
        self,
        name: str,
        *,
        is_installed: bool = False,
        rate_limits: bool = True,
        retry_scale: float = 1.0,
        in_organisation: bool = True,
    ) -> "Workspace":
        """Start a further workspace of the same app, in memory.

        The app reaches both workspaces at the address of this one; its token tells them apart. Stop the new one
        before this one. If this workspace is part of an organisation, the new one is too, with the same people and
        the same bot, unless `in_organisation` is False. Outside an organisation, people and channels have the same
        ids in both: Slack's ids are unique only within a workspace, and an app that mixes them up fails here first.
        """
        here = self._world.state
        who = here.identity.make_further_workspace(name, in_organisation=in_organisation)
        # The key of a direct message is the person's id and the bot's id, with a colon between.
        ids = {} if who.enterprise_id else {name.partition(":")[0]: key for name, key in here.channel_ids.items()}
        state = WorkspaceState(here.app, WorkspaceStorage(None), Clock(), ChangePublisher(), who, ids)
        world = _make_world(state, self._transport, self._world.oauth, rate_limits=rate_limits, retry_scale=retry_scale)
        workspace = type(self)(world, self._transport, self)
        if not is_installed:
            state.set_install_scope("")
        await workspace._listen(0)  # noqa: SLF001  # one of its own class
        return workspace

    def add_app(
        self,
        manifest: Path,
        *,
        request_url: str | None = None,
        rate_limits: bool = True,
        retry_scale: float = 1.0,
        ack_seconds: float = 3.0,
    ) -> "Workspace":
        """Install a further app in this workspace; the arguments are those of `start`.

        The apps share people, channels, messages and files, and see what each other posts. Each has a bot in every
        channel, a manifest and tokens of its own.

        Returns:
            The same workspace with the tokens, calls, faults and people of the new app. It is stopped with this one.

        Raises:
            ValueError: The manifest cannot be used, or an app of that name is here already.
            OSError: The manifest cannot be read.
        """
        state = self._world.state.add_app(read_manifest(manifest))
        transport = _make_transport(state, request_url, ack_seconds)
        world = _make_world(
            state,
            transport,
            OAuth(request_url),
            rate_limits=rate_limits,
            retry_scale=retry_scale,
            first_world=self._world,
        )
        world.oauth.api_handlers[state.identity.team_id] = ApiDispatcher(world).answer
        self._transports.append(transport)
        self._use_address(self._world.base_url)
        world.delivery.resume_deliveries()
        return type(self)(world, transport, self)

    @property
    def manifest_notes(self) -> list[str]:
        """One sentence for each request of the app's manifest that this workspace does not treat as Slack does."""
        return list_manifest_notes(self._world.state.app)

    @property
    def uses_socket_mode(self) -> bool:
        """True if the app connects by Socket Mode, False if payloads are posted to it."""
        return self._world.sockets is not None

    @property
    def wants_socket_mode(self) -> bool:
        """True if the manifest asks for Socket Mode."""
        return self._world.state.app.uses_socket_mode

    @property
    def has_redirect_urls(self) -> bool:
        """True if the manifest has `redirect_urls`, to which a browser returns after the app was installed."""
        return bool(self._world.state.app.redirect_urls)

    # -- addresses and tokens --------------------------------------------------------------------

    @property
    def api_url(self) -> str:
        """The Web API's address, for `base_url` of slack_sdk."""
        return f"{self._world.base_url}/api/"

    @property
    def page_url(self) -> str:
        """The page's address with its token, which stays the same as long as `data` is kept."""
        return f"{self._world.base_url}/?token={self._world.state.identity.page_token}"

    @property
    def bot_token(self) -> str:
        """The app's `xoxb-` token."""
        return self._world.state.identity.bot_token

    @property
    def app_token(self) -> str:
        """The app's `xapp-` token, for Socket Mode."""
        return self._world.state.identity.app_token

    @property
    def signing_secret(self) -> str:
        """The secret that HTTP mode signs its requests with."""
        return self._world.state.identity.signing_secret

    @property
    def oauth(self) -> OAuth:
        """The app's OAuth, which its workspaces share."""
        return self._world.oauth

    @property
    def identity(self) -> Identity:
        """The ids, names and tokens of workspace and app, with the app's `client_id` and `client_secret`."""
        return self._world.state.identity

    @property
    def team_id(self) -> str:
        """The workspace's id."""
        return self._world.state.identity.team_id

    @property
    def bot_user_id(self) -> str:
        """The bot's user id."""
        return self._world.state.identity.bot_user_id

    # -- controls --------------------------------------------------------------------------------

    @property
    def faults(self) -> FaultInjection:
        """The fault injection of the app's calls and events."""
        return self._world.faults

    @property
    def clock(self) -> Clock:
        """The workspace's clock, which can be moved forward."""
        return self._world.state.clock

    @property
    def connection_count(self) -> int:
        """The number of open Socket Mode connections; 0 in HTTP mode."""
        return self._world.sockets.connection_count if self._world.sockets else 0

    def show_notice(self, text: str) -> None:
        """Show a line of text at the top of the page."""
        self._world.notice = text
        self._world.state.changes.publish(Change({"type": "notice", "text": text}))

    def post_as_other_bot(self, channel: str, text: str, thread_ts: str | None = None) -> str:
        """Post a message as the other app's bot, and return its ts; `@name` becomes a mention."""
        state = self._world.state
        return self._world.messages.post_as_other_bot(
            self._find_channel(channel), encode_typed_text(state, text), thread_ts
        ).ts

    def deactivate(self, name: str) -> None:
        """Deactivate the account of the person `name`. Apps get only a few fields of it from then on."""
        self._world.state.deactivate_user(self.person(name).id)

    def group_id(self, handle: str) -> str:
        """Return the id of a user group.

        Raises:
            KeyError: There is no such group.
        """
        return self._find_group(handle).id

    def change_group(self, handle: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add and remove people (by name) in a user group, and send apps `subteam_members_changed`."""
        state, group = self._world.state, self._find_group(handle)
        added_users = [user for user in (self.person(name).id for name in add) if user not in group.users]
        removed_users = [user for user in (self.person(name).id for name in remove) if user in group.users]
        group.users = [user for user in [*group.users, *added_users] if user not in removed_users]
        state.save_group(group)
        kind, team = "subteam_members_changed", state.identity.team_id
        event: Json = {"type": kind, "subteam_id": group.id, "team_id": team, "event_ts": state.clock.next_ts()}
        event |= {"added_users": added_users, "added_users_count": str(len(added_users))}
        event |= {"removed_users": removed_users, "removed_users_count": str(len(removed_users))}
        for world in self._world.apps:
            world.delivery.emit(kind, {**event, "date_update": int(state.clock.now())})

    def set_token_error(self, error: str = "invalid_auth") -> None:
        """Answer later calls with the bot token with `error`; "" accepts the token again, and reinstalls the app."""
        self._world.token_error = error
        if not error and not self._world.state.install_scope:
            self._world.state.set_install_scope("team")

    def uninstall(self) -> None:
        """Uninstall the app: its tokens become void, and it gets `tokens_revoked` and `app_uninstalled`.

        An app that is installed in a whole organisation is uninstalled in all its workspaces.
        """
        stamp = self._world.state.clock.next_ts()
        revoked_tokens = {"oauth": [], "bot": [self.bot_user_id]}
        self._world.delivery.emit(
            "tokens_revoked", {"type": "tokens_revoked", "tokens": revoked_tokens, "event_ts": stamp}
        )
        self._world.delivery.emit("app_uninstalled", {"type": "app_uninstalled", "event_ts": stamp})
        self._world.oauth.uninstall_app(self.team_id, "account_inactive")

    def archive(self, channel: str) -> None:
        """Archive a channel, so that the app can no longer write in it."""
        place = self._find_channel(channel)
        place.archived = True
        self._world.state.save_channel(place)

    async def refresh_connections(self) -> None:
        """Ask the app's Socket Mode connections to reconnect, as Slack does now and then."""
        if self._world.sockets:
            await self._world.sockets.request_reconnect()

    def people(self) -> list[str]:
        """Return the names of the people."""
        return list(self._people)

    def channels(self) -> dict[str, str]:
        """Return the ids of channels and group DMs by name, such as `#general`. Other direct messages are left out."""
        return {f"#{each.name}": each.id for each in self._world.state.channels.values() if each.kind != "im"}

    def person(self, name: str) -> Person:
        """Return the person `name`: ana, ben, cleo, gus, uma or sol.

        Raises:
            KeyError: There is nobody of that name.
        """
        return self._people[name]

    # -- seeing ----------------------------------------------------------------------------------

    def lists(self) -> list[Json]:
        """Return the lists that the app made: `name`, `columns`, `items` and the `channels` that may open each."""
        return list(self._world.state.lists.values())

    def channel_id(self, channel: str) -> str:
        """Return the id of a channel given by id or name.

        Raises:
            KeyError: There is no such channel.
        """
        return self._find_channel(channel).id

    def messages(self, channel: str) -> list[Json]:
        """Return every message of a channel, replies included, oldest first, with the fields of its stream."""
        messages_by_ts = self._find_channel(channel).messages
        return [messages_by_ts[ts].as_shown() for ts in sorted(messages_by_ts)]

    def thread(self, channel: str, thread_ts: str) -> list[Json]:
        """Return a thread: its root, then the replies, oldest first. Empty when there is no such root."""
        return [message.as_shown() for message in self._find_channel(channel).iterate_thread(thread_ts)]

    def session(self, channel: str, thread_ts: str) -> Json:
        """Return a thread's agent session and passing status.

        Returns:
            `status` and `title` of the session, and `line`, the passing status.
        """
        place = self._find_channel(channel)
        session = self._world.sessions.find_session(place.id, thread_ts)
        line = self._world.sessions.find_status(place.id, thread_ts).text
        return {"status": session.status, "title": session.title, "line": line}

    def prompts(self, channel: str, thread_ts: str = "") -> list[dict[str, str]]:
        """Return the suggested prompts of a thread, or of a whole direct message."""
        return self._world.sessions.suggested_prompts.get((self._find_channel(channel).id, thread_ts), [])

    def step(self, run_id: str) -> StepRun:
        """Return a run of a workflow step as it stands: `status`, `inputs`, `outputs`, `error`.

        Raises:
            KeyError: There is no such run.
        """
        return self._world.workflow_steps.find_run(run_id)

    async def file(self, file_id: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            KeyError: There is no such file.
        """
        return await self._world.files.read_content(file_id)

    def calls(self, method: str | None = None) -> list[RecordedCall]:
        """Return the Web API calls that were answered, oldest first; the last 20,000 are kept."""
        return [call for call in self._world.calls if method in (None, call.method)]

    def traffic(self) -> list[TrafficEntry]:
        """Return what the inspector lists: the last payloads and calls, and events that were not sent, oldest first."""
        return self._world.traffic.list_entries()

    def call_count(self, method: str) -> int:
        """Return the number of calls of a method since the start, including those that `calls` no longer keeps."""
        return self._world.call_counts[method]

    async def until(self, predicate: Callable[[], T], timeout: float = 60) -> T:  # noqa: ASYNC109  # part of the public call
        """Wait until `predicate` returns a true value, and return that value.

        `predicate` is called at once, after every change of the workspace, and five times a second, so that it may
        also use what your app or your test recorded.

        Raises:
            TimeoutError: `predicate` was not true within `timeout` seconds. The text has its last value and changes.
        """
        return await self._world.state.changes.wait_until(predicate, timeout)

    # -- start and stop --------------------------------------------------------------------------

    async def stop(self) -> None:
        """Stop the workspace, and write waiting records. A workspace from `add_app` only stops with its first one."""
        if self._runner is None:
            return  # already stopped, or returned by `add_app`
        for world in self._world.apps:
            await world.delivery.close()
        await self._live.close()
        for transport in self._transports if self._beside is None else ():
            await transport.close()
        await self._runner.cleanup()
        self._runner = None
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._world.state.record.close()

    async def _listen(self, port: int) -> None:
        guard = self._guard
        app = web.Application(middlewares=[guard.make_middleware()], client_max_size=MAX_FILE_BYTES)
        people = {person.id: person for person in self._people.values()}
        add_routes(app, self._world, guard, self._live, PageRequests(self._world, people))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        try:
            await self._listen_on_port(self._runner, port)
        except OSError:
            await self._runner.cleanup()
            self._world.state.record.close()
            raise
        bound_port = int(self._runner.addresses[0][1])
        guard.set_port(bound_port)
        self._use_address(f"http://{HOST}:{bound_port}")
        state = self._world.state
        state.record.put("identity", "port", lambda: {"port": bound_port})
        self._tasks = [asyncio.create_task(state.clock.run_timers()), asyncio.create_task(state.record.write_batches())]
        self._world.delivery.resume_deliveries()

    def set_public_url(self, url: str) -> None:
        """Use another address in all later URLs, such as the `https://slack.test` of a TLS proxy before this server."""
        self._guard.allow_host(urlsplit(url).netloc)
        self._use_address(url)

    def _use_address(self, url: str) -> None:
        """Use an address in all URLs that are given out from now on."""
        for world in self._world.apps:
            world.base_url = world.response_urls.base_url = url
        self._world.files.set_base_url(url)

    async def _listen_on_port(self, runner: web.AppRunner, port: int) -> None:
        """Listen on a port. Port 0 means that of the last run, so that old addresses work, or else a free one."""
        last = dict(self._world.state.record.iterate_records("identity")).get("port")
        if port == 0 and last:
            with contextlib.suppress(OSError):  # it is taken: use any other port
                await web.TCPSite(runner, HOST, last["port"]).start()
                return
        await web.TCPSite(runner, HOST, port).start()

    def _find_group(self, handle: str) -> UserGroup:
        group = self._world.state.find_group(handle)
        if group is None:
            raise KeyError(f"there is no user group {handle!r}")
        return group

    def _find_channel(self, reference: str) -> Channel:
        channel = self._world.state.find_channel(reference)
        if channel is None:
            raise KeyError(f"there is no channel {reference!r}")
        return channel


def _make_transport(state: WorkspaceState, request_url: str | None, ack_seconds: float) -> SocketMode | HttpMode:
    """Return the transport to the app: Socket Mode if `request_url` is None, otherwise HTTP."""
    who = state.identity
    if request_url is None:
        return SocketMode(who.app_id, ack_seconds)
    return HttpMode(request_url, who.signing_secret, who.verification_token, ack_seconds, state.app.request_paths)


def _make_world(
    state: WorkspaceState,
    transport: SocketMode | HttpMode,
    oauth: OAuth,
    *,
    rate_limits: bool,
    retry_scale: float,
    first_world: AppParts | None = None,
) -> AppParts:
    """Make the parts of the workspace for an app.

    Parts that apps share are taken from `first_world`, the first app's.
    """
    oauth.add_workspace(state)
    app_id, faults = state.identity.app_id, FaultInjection()
    traffic = (
        first_world.traffic.make_app_view(app_id) if first_world else TrafficLog(state.clock, state.changes, app_id)
    )
    delivery = EventDelivery(state, faults, transport, traffic, retry_scale)
    sessions = first_world.sessions if first_world else AgentSessions(state)
    views = Views(state, first_world.views if first_world else None)
    messages = ChannelMessages(state, delivery, sessions, first_world.messages if first_world else None)
    responses, steps = ResponseUrls(state, messages), WorkflowSteps(state, delivery, oauth)
    interactivity = Interactivity(state, InspectedTransport(transport, traffic), messages, views, responses, steps)
    if first_world:
        interactivity.errors = first_world.interactivity.errors
    world = AppParts(
        state=state,
        faults=faults,
        rate_limits=RateLimits(state.clock.now, is_enforced=rate_limits),
        delivery=delivery,
        sessions=sessions,
        messages=messages,
        files=first_world.files if first_world else FileStore(state),
        views=views,
        scheduled_messages=ScheduledMessages(state, messages),
        response_urls=responses,
        interactivity=interactivity,
        workflow_steps=steps,
        traffic=traffic,
        oauth=oauth,
        sockets=transport if isinstance(transport, SocketMode) else None,
        apps=first_world.apps if first_world else [],
    )
    world.apps.append(world)
    return world
