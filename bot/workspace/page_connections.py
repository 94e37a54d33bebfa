"""The page's WebSocket, which sends the page all changes that its person may see."""

import asyncio
import json
from dataclasses import asdict
from typing import Any

from aiohttp import web

from bot.workspace.app_parts import AppParts
from bot.workspace.changes import Change
from bot.workspace.identity import User
from bot.workspace.workspace_state import Channel

MAX_QUEUED_CHANGES = 5_000


class PageConnections:
    """Serves the page's WebSockets: first the present state, then each change that the person may see."""

    def __init__(self, world: AppParts) -> None:
        self._world = world
        self._sockets: set[web.WebSocketResponse] = set()

    async def serve_connection(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection until it closes. The query parameter `as` names the person by user id."""
        people = {user.id: user for user in self._world.state.people}
        requested_id = request.query.get("as", "")
        me = people.get(requested_id) or next(iter(people.values()))  # a tab may name a person of an earlier workspace
        socket = web.WebSocketResponse(heartbeat=20)
        await socket.prepare(request)
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MAX_QUEUED_CHANGES)
        self._sockets.add(socket)

        def queue_change(change: Change) -> None:
            if self._may_see(me, change):
                if queue.full():  # too far behind: the page connects again and starts over
                    asyncio.get_running_loop().create_task(socket.close()).add_done_callback(lambda _: None)
                else:
                    queue.put_nowait(change.body)

        for body in self._make_initial_bodies(me):
            queue.put_nowait(body)
        self._world.state.changes.watchers.add(queue_change)
        send_task = asyncio.create_task(self._send_queued(socket, queue))
        try:
            async for _ in socket:
                pass  # the page sends by POST instead
        finally:
            self._world.state.changes.watchers.discard(queue_change)
            self._sockets.discard(socket)
            send_task.cancel()
        return socket

    async def close(self) -> None:
        """Close every connection."""
        for socket in tuple(self._sockets):
            await socket.close()

    def make_hello_message(self, me: User) -> dict[str, Any]:
        """Return the first message that the page gets: the workspace with people, channels, commands and shortcuts."""
        state, apps = self._world.state, [world.state for world in self._world.apps]
        who = state.identity
        people = [_describe_person(user, who.other_team_name) for user in state.people]
        own_channels = [channel for channel in state.channels.values() if me.id in channel.members]
        # A recorded direct message may be with an app that was not added in this run.
        own_channels = [
            channel for channel in own_channels if channel.kind != "im" or channel.members[-1] in state.users
        ]
        commands = [
            {"command": each.command, "description": each.description, "usage_hint": each.usage_hint}
            for app in apps
            for each in app.app.commands
        ]
        shortcuts = [
            {"name": each.name, "callback_id": each.callback_id, "description": each.description, "type": each.kind}
            | {"app": app.bot.name}
            for app in apps
            for each in app.app.shortcuts
        ]
        steps = [asdict(each) for app in apps if app.app.is_org_ready for each in app.app.functions]
        bots = [{"app_id": app.identity.app_id, "user_id": app.bot.id, "name": app.bot.name} for app in apps]
        workspace = {
            "team": {"id": who.team_id, "name": who.team_name},
            "bot": bots[0],
            "apps": bots,
            "people": people,
            "bots": [_describe_person(bot, "") for bot in (state.other_bot, *(app.bot for app in apps[1:]))],
            "groups": [{"id": each.id, "handle": each.handle} for each in state.groups.values()],
            "channels": [
                _describe_channel(channel, me)
                for channel in sorted(own_channels, key=lambda each: (each.kind, each.name))
            ],
            "commands": commands,
            "shortcuts": shortcuts,
            "steps": steps,
            "notice": self._world.notice,
            "drafts": [
                {"label": draft.label, "text": draft.text, "files": [file.name for file in draft.files]}
                for draft in self._world.drafts
            ],
        }
        return {"type": "hello", "workspace": workspace, "me": me.id}

    def _make_initial_bodies(self, me: User) -> list[dict[str, Any]]:
        world = self._world
        bodies = [self.make_hello_message(me)]
        for (channel_id, thread_ts), prompts in world.sessions.suggested_prompts.items():
            if me.id in world.state.channels[channel_id].members:
                bodies.append({"type": "prompts", "channel": channel_id, "thread_ts": thread_ts, "prompts": prompts})
        bodies += [
            body for body in world.sessions.list_sessions() if me.id in world.state.channels[body["channel"]].members
        ]
        for message in world.messages.ephemerals[me.id].values():
            data = message.data
            body = {"type": "ephemeral", "channel": data["channel"], "thread_ts": data.get("thread_ts")}
            bodies.append({**body, "message": message.as_shown()})
        for number, view in enumerate(world.views.stacks[me.id]):
            bodies.append({"type": "view_push" if number else "view_open", "view": view})
        homes = [app.views.homes[me.id] for app in world.apps if me.id in app.views.homes]
        bodies += [{"type": "home", "view": view} for view in homes]
        return bodies

    def _may_see(self, me: User, change: Change) -> bool:
        if change.user is not None:
            return change.user == me.id
        return change.channel is None or me.id in self._world.state.channels[change.channel].members

    @staticmethod
    async def _send_queued(socket: web.WebSocketResponse, queue: asyncio.Queue[dict[str, Any]]) -> None:
        while not socket.closed:
            body = await queue.get()
            try:
                await socket.send_str(json.dumps(body))
            except ConnectionError:
                return


def _describe_person(user: User, other_team: str) -> dict[str, Any]:
    kinds = {"guest": "Guest", "channel_guest": "Guest of one channel", "stranger": other_team}
    about = {"id": user.id, "name": user.name, "real_name": user.real_name, "color": user.color}
    return {**about, "kind": "Deactivated" if user.is_deleted else kinds.get(user.standing, "")}


def _describe_channel(channel: Channel, me: User) -> dict[str, Any]:
    by_others = (each.ts for each in reversed(channel.messages.values()) if each.data.get("user") != me.id)
    return {
        "id": channel.id,
        "name": channel.name,
        "kind": channel.kind,
        "shared": channel.shared,
        "is_im": channel.kind == "im",
        "bot": channel.members[-1] if channel.kind == "im" else "",
        "members": channel.members,
        "topic": channel.topic,
        "latest": next(by_others, ""),
    }
