"""Records events, clicks, commands and Web API calls between workspace and app, for the page's inspector."""

import itertools
import json
import time
from collections import deque
from copy import copy
from dataclasses import dataclass
from typing import Literal

from bot.workspace.changes import Change, ChangePublisher
from bot.workspace.transport import Ack, PayloadKind, Retry, Transport
from bot.workspace.virtual_clock import Clock
from bot.workspace.workspace_state import EVENT_BY_CHANNEL_KIND, Json

EntryKind = Literal["event", "interactive", "command", "call"]
EntryState = Literal["waiting", "ok", "error", "unsent"]
MAX_ENTRIES = 500
MAX_UNSENT = 100
MAX_ABOUT_CHARACTERS = 120
ENTRY_KINDS: dict[PayloadKind, EntryKind] = {
    "events_api": "event",
    "interactive": "interactive",
    "slash_commands": "command",
}
FAILURE_TEXTS = {
    "timeout": "not acknowledged in time",
    "not_connected": "no app is connected",
    "connection_closed": "the connection closed before the app acknowledged",
    "connection_failed": "nothing answers at the request URL",
    "http_error": "the app answered with an error",
    "url_verification_failed": "the app did not answer the challenge of url_verification",
}
EVENT_ABOUT_FIELDS = ("text", "reaction", "tab", "file_id", "status")
CALL_ABOUT_FIELDS = ("text", "markdown_text", "name", "status", "title", "user", "channel", "channel_id")


@dataclass
class TrafficEntry:
    """One payload that was sent to the app, or one call of the app.

    `payload` and `answer` are JSON as it was at that moment. `at` is in seconds since the epoch; `ms` is how long the
    app took to acknowledge the payload, or the workspace to answer the call.
    """

    id: int
    kind: EntryKind
    name: str
    about: str
    at: float
    payload: str
    state: EntryState = "waiting"
    error: str = ""
    ms: float | None = None
    attempts: int = 1
    fault: str = ""
    answer: str = ""
    app: str = ""
    """The id of the app that got the payload or made the call."""

    def to_summary(self) -> Json:
        """Return the fields that the inspector's list shows."""
        fields = ("id", "kind", "name", "about", "at", "state", "error", "ms", "attempts", "fault", "app")
        return {name: getattr(self, name) for name in fields}

    def to_details(self) -> Json:
        """Return all fields, payload and answer included."""
        answer = json.loads(self.answer) if self.answer else None
        return {**self.to_summary(), "payload": json.loads(self.payload), "answer": answer}


class TrafficLog:
    """Remembers the last `MAX_ENTRIES` entries and `MAX_UNSENT` unsent events, and shows each change on the page."""

    def __init__(self, clock: Clock, changes: ChangePublisher, app_id: str) -> None:
        self._clock, self._changes, self._app_id = clock, changes, app_id
        self._ids = itertools.count(1)
        self._entries: deque[TrafficEntry] = deque(maxlen=MAX_ENTRIES)
        self._unsent: deque[TrafficEntry] = deque(maxlen=MAX_UNSENT)

    def make_app_view(self, app_id: str) -> "TrafficLog":
        """Return a view of the same entries that marks new ones as those of a further app."""
        other = copy(self)
        other._app_id = app_id  # noqa: SLF001  # one of its own class
        return other

    def list_entries(self) -> list[TrafficEntry]:
        """Return every entry that is remembered, oldest first."""
        return sorted([*self._entries, *self._unsent], key=lambda entry: entry.id)

    def find_entry(self, entry_id: int) -> TrafficEntry | None:
        """Return the entry of that id; None if it is no longer remembered."""
        return next((entry for entry in self.list_entries() if entry.id == entry_id), None)

    def add_call(self, method: str, args: Json, answer: str, error: str, seconds: float, fault: str = "") -> None:
        """Add a Web API call that was answered. `error` begins with Slack's code, or is empty."""
        entry = self._make_entry("call", method, _find_first_value(args, CALL_ABOUT_FIELDS), args)
        entry.state, entry.error, entry.answer = "error" if error else "ok", error, answer
        entry.ms, entry.fault = seconds * 1000, fault
        self._add_entry(entry)

    def add_unsent_event(self, name: str, event: Json, reason: str) -> None:
        """Add an event that is not sent to the app, with the `reason` in words for people."""
        entry = self._make_entry("event", name, _find_first_value(event, EVENT_ABOUT_FIELDS), event)
        entry.state, entry.error = "unsent", reason
        self._unsent.append(entry)
        self._show_entry(entry)

    def add_payload(self, kind: PayloadKind, payload: Json, retry: Retry | None) -> TrafficEntry:
        """Add a payload that is being sent, and return its entry. A repeated attempt updates the first one's entry."""
        if retry:
            earlier = self._find_event(payload["event_id"])
            if earlier:
                earlier.attempts, earlier.state, earlier.error, earlier.ms = retry.attempt + 1, "waiting", "", None
                self._show_entry(earlier)
                return earlier
        entry = self._make_entry(ENTRY_KINDS[kind], *_describe_payload(kind, payload), payload)
        entry.attempts = retry.attempt + 1 if retry else 1
        self._add_entry(entry)
        return entry

    def record_ack(self, entry: TrafficEntry, ack: Ack, seconds: float) -> None:
        """Record the outcome of an attempt to deliver a payload, and its duration in seconds."""
        entry.state, entry.ms = "ok" if ack.ok else "error", seconds * 1000
        entry.error = "" if ack.ok else ack.detail or FAILURE_TEXTS.get(ack.failure, ack.failure)
        entry.answer = json.dumps(ack.body) if ack.body else ""
        self._show_entry(entry)
        self._changes.wake_waiters()

    def _find_event(self, event_id: str) -> TrafficEntry | None:
        mark = f'"{event_id}"'
        return next((each for each in reversed(self._entries) if each.kind == "event" and mark in each.payload), None)

    def _make_entry(self, kind: EntryKind, name: str, about: str, payload: Json) -> TrafficEntry:
        return TrafficEntry(
            next(self._ids), kind, name, about, self._clock.now(), json.dumps(payload), app=self._app_id
        )

    def _add_entry(self, entry: TrafficEntry) -> None:
        self._entries.append(entry)
        self._show_entry(entry)

    def _show_entry(self, entry: TrafficEntry) -> None:
        if self._changes.watchers:
            self._changes.notify_watchers(Change({"type": "traffic", "entry": entry.to_summary()}))


class InspectedTransport:
    """A transport whose payloads the inspector shows."""

    def __init__(self, transport: Transport, traffic: TrafficLog) -> None:
        self._transport, self._traffic = transport, traffic

    async def send(self, kind: PayloadKind, payload: Json, retry: Retry | None = None) -> Ack:
        """Send a payload, and record how long the app took to answer, without the wait for a connection."""
        entry = self._traffic.add_payload(kind, payload, retry)
        began = time.perf_counter()
        ack = await self._transport.send(kind, payload, retry)
        self._traffic.record_ack(entry, ack, time.perf_counter() - began - ack.wait_seconds)
        return ack


def _describe_payload(kind: PayloadKind, payload: Json) -> tuple[str, str]:
    """Return a pair of a payload's name, and a short text on what it is about."""
    if kind == "slash_commands":
        return str(payload["command"]), str(payload["text"])[:MAX_ABOUT_CHARACTERS]
    if kind == "interactive":
        actions = [str(action.get("action_id")) for action in payload.get("actions") or ()]
        callback = payload.get("callback_id") or (payload.get("view") or {}).get("callback_id") or ""
        return str(payload["type"]), ", ".join(actions) or str(payload.get("action_id") or callback)
    event = payload["event"]
    name = (
        EVENT_BY_CHANNEL_KIND.get(event.get("channel_type", ""), "message")
        if event["type"] == "message"
        else event["type"]
    )
    subtype = f"{event['subtype']} " if event.get("subtype") else ""
    return str(name), subtype + _find_first_value(event, EVENT_ABOUT_FIELDS)


def _find_first_value(values: Json, names: tuple[str, ...]) -> str:
    return next((str(values[name])[:MAX_ABOUT_CHARACTERS] for name in names if values.get(name)), "")
