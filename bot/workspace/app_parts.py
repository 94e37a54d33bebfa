"""The parts of the workspace that Web API methods, people and the page work with."""

from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.workspace.agent_sessions import AgentSessions
from bot.workspace.channel_messages import ChannelMessages
from bot.workspace.event_delivery import EventDelivery
from bot.workspace.fault_injection import FaultInjection
from bot.workspace.file_store import FileStore
from bot.workspace.interactivity import Interactivity
from bot.workspace.oauth import OAuth
from bot.workspace.rate_limits import RateLimits
from bot.workspace.response_urls import ResponseUrls
from bot.workspace.scheduled_messages import ScheduledMessages
from bot.workspace.socket_mode import SocketMode
from bot.workspace.traffic import TrafficLog
from bot.workspace.view_stacks import Views
from bot.workspace.workflow_steps import WorkflowSteps
from bot.workspace.workspace_state import Json, WorkspaceState

MAX_RECORDED_CALLS = 20_000


@dataclass(frozen=True)
class RecordedCall:
    """One Web API call that was answered: `at` is in seconds since the epoch, `error` is Slack's code or empty."""

    method: str
    args: dict[str, Any]
    at: float
    ok: bool
    error: str


@dataclass(frozen=True)
class MessageDraft:
    """A message that the page offers in an empty channel: its text, and files to attach.

    Without a text, the page offers to attach the files; without both, it offers to choose a file.
    """

    text: str = ""
    files: tuple[Path, ...] = ()
    label: str = "Fill in the demo's request"


@dataclass
class AppParts:
    """The parts of the workspace for one of its apps. Apps share some of them. `workspace_server` makes it."""

    state: WorkspaceState
    faults: FaultInjection
    rate_limits: RateLimits
    delivery: EventDelivery
    sessions: AgentSessions
    messages: ChannelMessages
    files: FileStore
    views: Views
    scheduled_messages: ScheduledMessages
    response_urls: ResponseUrls
    interactivity: Interactivity
    workflow_steps: WorkflowSteps
    traffic: TrafficLog
    oauth: OAuth
    sockets: SocketMode | None
    notice: str = ""
    drafts: tuple[MessageDraft, ...] = ()
    base_url: str = ""
    token_error: str = ""
    """Slack's error for every call with a bot token; empty while the token is good."""
    calls: deque[RecordedCall] = field(default_factory=lambda: deque(maxlen=MAX_RECORDED_CALLS))
    call_counts: Counter[str] = field(default_factory=Counter)
    apps: "list[AppParts]" = field(default_factory=list)
    """The `AppParts` of each app in the workspace, this one included, in the order in which they were added."""

    def find_app(self, app_id: str) -> "AppParts":
        """Return the `AppParts` of an app by its id; this one if no app has that id."""
        return next((world for world in self.apps if world.state.identity.app_id == app_id), self)

    async def delete_file(self, file: Json) -> None:
        """Delete a file, and send apps `file_deleted`, which has only the file's id, as on Slack."""
        await self.files.delete_file(file)
        event = {"type": "file_deleted", "file_id": file["id"], "event_ts": self._make_next_ts()}
        for world in self.apps:
            world.delivery.emit("file_deleted", event)

    def _make_next_ts(self) -> str:
        return self.state.clock.next_ts()
