"""Delivers events to the app: only those it subscribed to, and again if it does not acknowledge them."""

import asyncio
import logging
from typing import Any

from bot.workspace.fault_injection import FaultInjection
from bot.workspace.identity import make_id
from bot.workspace.traffic import InspectedTransport, TrafficLog
from bot.workspace.transport import Ack, Retry, Transport
from bot.workspace.workspace_state import WorkspaceState

log = logging.getLogger(__name__)
SUBSCRIPTION_FREE_EVENT = "function_executed"
"""The event that needs no subscription: an app gets it by the `functions` of its manifest."""
RETRY_DELAY_SECONDS = (0.0, 60.0, 300.0)
EVENT_SCOPES = {
    "app_mention": ("app_mentions:read",),
    "message.channels": ("channels:history",),
    "message.groups": ("groups:history",),
    "message.im": ("im:history",),
    "message.mpim": ("mpim:history",),
    "reaction_added": ("reactions:read",),
    "reaction_removed": ("reactions:read",),
    "member_joined_channel": ("channels:read",),
    "member_left_channel": ("channels:read",),
    "file_shared": ("files:read",),
    "subteam_members_changed": ("usergroups:read",),
    "file_deleted": ("files:read",),
}


class EventDelivery:
    """Delivers each event in a task of its own. `retry_scale` multiplies the waits between attempts."""

    def __init__(
        self,
        state: WorkspaceState,
        faults: FaultInjection,
        transport: Transport,
        traffic: TrafficLog,
        retry_scale: float,
    ) -> None:
        self._state, self._faults, self._traffic = state, faults, traffic
        self._transport = InspectedTransport(transport, traffic)
        self._retry_scale = retry_scale
        self._tasks: set[asyncio.Task[None]] = set()

    def is_subscribed(self, name: str) -> bool:
        """Return True if the app is installed, subscribes to the event, and has all scopes that the event needs."""
        return not self.explain_unsent(name)

    def explain_unsent(self, name: str) -> str:
        """Return the reason why the app does not get an event, as a sentence; empty if it gets the event."""
        app = self._state.app
        if not self._state.install_scope:
            return "The app is not installed in this workspace."
        if name == SUBSCRIPTION_FREE_EVENT:
            return (
                "" if app.is_org_ready else "The manifest lacks settings.org_deploy_enabled, which workflow steps need."
            )
        if name not in app.events:
            return f"The manifest does not list {name} among settings.event_subscriptions.bot_events."
        scopes = [scope for scope in EVENT_SCOPES.get(name, ()) if scope not in app.scopes]
        return f"The manifest lacks the scope {', '.join(scopes)}, which {name} needs." if scopes else ""

    def emit(self, name: str, event: dict[str, Any], actor: str = "") -> None:
        """Deliver an event, if the app may have it. `name` is the subscription, such as `message.channels`.

        `actor` is the id of the person who caused the event, for events that name the person only in the envelope.
        """
        unsent_reason = self.explain_unsent(name)
        if unsent_reason:
            self._traffic.add_unsent_event(name, event, unsent_reason)
            return
        body = self._make_event_callback(event, actor)
        self._state.record.put("event", body["event_id"], lambda: {"name": name, "body": body})
        self._start_delivery(name, body)

    def resend(self, name: str, body: dict[str, Any], *, as_retry: bool) -> None:
        """Send an event again: as a new event or, with `as_retry`, under its old id as Slack's first retry."""
        if as_retry:
            self._spawn_attempt(name, body, 1, Retry(1, "timeout"))
        else:
            body = {**body, "event_id": make_id("Ev"), "event_time": int(self._state.clock.now())}
            self._start_delivery(name, body)

    def resume_deliveries(self) -> None:
        """Deliver the events that an earlier run of the workspace left undelivered."""
        for _, event in list(self._state.record.iterate_records("event")):
            self._start_delivery(event["name"], event["body"])

    async def close(self) -> None:
        """Stop delivering; events that are not acknowledged stay on record."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start_delivery(self, name: str, body: dict[str, Any]) -> None:
        fault = self._faults.pop_delivery_fault(name)
        kind = fault.kind if fault else ""
        if kind == "lost_delivery":
            self._retry_or_give_up(name, body, 0, Ack(ok=False, failure="timeout"))
            return
        if fault is not None and kind == "late_delivery":
            self._state.clock.call_later(fault.seconds, lambda: self._spawn_attempt(name, body, 0, None))
            return
        if kind == "without_files":
            body = {**body, "event": {key: value for key, value in body["event"].items() if key != "files"}}
        for _ in range(2 if kind == "duplicate_delivery" else 1):
            self._spawn_attempt(name, body, 0, None)

    def _spawn_attempt(self, name: str, body: dict[str, Any], attempt: int, retry: Retry | None) -> None:
        task = asyncio.get_running_loop().create_task(self._attempt_delivery(name, body, attempt, retry))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _attempt_delivery(self, name: str, body: dict[str, Any], attempt: int, retry: Retry | None) -> None:
        ack = await self._transport.send("events_api", body, retry)
        if ack.ok:
            self._state.record.drop("event", body["event_id"])
        else:
            self._retry_or_give_up(name, body, attempt, ack)
        self._state.changes.wake_waiters()

    def _retry_or_give_up(self, name: str, body: dict[str, Any], attempt: int, ack: Ack) -> None:
        if ack.is_final or attempt >= len(RETRY_DELAY_SECONDS):
            self._state.record.drop("event", body["event_id"])
            log.warning("%s %s was not acknowledged %d times and is given up", name, body["event_id"], attempt + 1)
            return
        retry = Retry(attempt + 1, ack.failure)
        delay = RETRY_DELAY_SECONDS[attempt] * self._retry_scale
        if delay:
            self._state.clock.call_later(delay, lambda: self._spawn_attempt(name, body, attempt + 1, retry))
        else:
            self._spawn_attempt(name, body, attempt + 1, retry)

    def _make_event_callback(self, event: dict[str, Any], actor: str = "") -> dict[str, Any]:
        who, channel = self._state.identity, self._state.channels.get(event.get("channel", ""))
        enterprise, wide = who.enterprise_id or None, self._state.install_scope == "organisation"
        authorization = {
            "enterprise_id": enterprise,
            "team_id": None if wide else who.team_id,
            "user_id": actor or who.bot_user_id,
            "is_bot": not actor,
            "is_enterprise_install": wide,
        }
        return {
            "token": who.verification_token,
            "team_id": who.team_id,
            "context_team_id": who.team_id,
            "context_enterprise_id": enterprise,
            "api_app_id": who.app_id,
            "event": event,
            "type": "event_callback",
            "event_id": make_id("Ev"),
            "event_time": int(self._state.clock.now()),
            "authorizations": [authorization],
            "is_ext_shared_channel": channel is not None and channel.shared,
            "event_context": f"4-{who.app_id}-{event.get('channel', '')}",
        }
