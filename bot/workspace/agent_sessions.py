"""A thread's agent session, its passing status, and suggested prompts."""

from dataclasses import asdict, dataclass, field
from typing import Any

from bot.workspace.changes import Change
from bot.workspace.virtual_clock import Timer
from bot.workspace.workspace_state import WorkspaceState

STATUS_SECONDS = 120.0
SESSION_STATES = ("processing", "active", "suspended", "closed")


@dataclass
class AgentSession:
    """The agent session of a thread. `status` is one of `SESSION_STATES`, or empty until the app sets one."""

    status: str = ""
    title: str = ""
    initiator: str = ""
    app_id: str = ""


@dataclass
class PassingStatus:
    """The line under a thread that says what the agent does; it is cleared after `STATUS_SECONDS`."""

    text: str
    loading_messages: list[str] = field(default_factory=list)
    timer: Timer | None = None


class AgentSessions:
    """Sessions and statuses by (channel, thread).

    A session's status and the passing status share one place on the screen,
    which shows the one that was set last.
    """

    def __init__(self, state: WorkspaceState) -> None:
        self._state = state
        self._sessions: dict[tuple[str, str], AgentSession] = {}
        self._statuses: dict[tuple[str, str], PassingStatus] = {}
        self.suggested_prompts: dict[tuple[str, str], list[dict[str, str]]] = {}
        for key, body in state.record.iterate_records("session"):
            channel, _, thread = key.partition(":")
            self._sessions[channel, thread] = AgentSession(**body)

    def find_session(self, channel: str, thread_ts: str) -> AgentSession:
        """Return the thread's session; an empty one if none was started."""
        return self._sessions.get((channel, thread_ts), AgentSession())

    def find_status(self, channel: str, thread_ts: str) -> PassingStatus:
        """Return the thread's passing status; an empty one if none is shown."""
        return self._statuses.get((channel, thread_ts), PassingStatus(""))

    def set_session(
        self, channel: str, thread_ts: str, status: str, title: str = "", initiator: str = "", *, app_id: str = ""
    ) -> AgentSession:
        """Set the session's status. If there is no session, start one with this title, initiator and app."""
        key = (channel, thread_ts)
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = AgentSession(title=title, initiator=initiator, app_id=app_id)
        session.status = status
        self.clear_status(channel, thread_ts)
        self._save_session(key, session)
        return session

    def list_sessions(self) -> list[dict[str, Any]]:
        """Return every session as the body that the page gets."""
        return [_export_session(key, session) for key, session in self._sessions.items()]

    def rename_session(self, channel: str, thread_ts: str, title: str) -> AgentSession | None:
        """Change a session's title and return the session; None if there is none."""
        session = self._sessions.get((channel, thread_ts))
        if session:
            session.title = title
            self._save_session((channel, thread_ts), session)
        return session

    def set_session_title(self, channel: str, thread_ts: str, title: str) -> None:
        """Set a thread's title, also if no session was started (`assistant.threads.setTitle`)."""
        session = self._sessions.setdefault((channel, thread_ts), AgentSession())
        session.title = title
        self._save_session((channel, thread_ts), session)

    def set_status(self, channel: str, thread_ts: str, text: str, loading_messages: list[str]) -> None:
        """Show a passing status for two minutes; an empty text clears it."""
        self._cancel_status(channel, thread_ts)
        if text:
            timer = self._state.clock.call_later(STATUS_SECONDS, lambda: self.clear_status(channel, thread_ts))
            self._statuses[channel, thread_ts] = PassingStatus(text, loading_messages, timer)
        self._show_status(channel, thread_ts)

    def clear_status(self, channel: str, thread_ts: str) -> None:
        """Clear the passing status, if one shows."""
        if self._cancel_status(channel, thread_ts):
            self._show_status(channel, thread_ts)

    def show_prompts(self, channel: str, thread_ts: str, prompts: list[dict[str, str]]) -> None:
        """Show suggested prompts in a thread or, if `thread_ts` is empty, in the whole direct message."""
        self.suggested_prompts[channel, thread_ts] = prompts
        body = {"type": "prompts", "channel": channel, "thread_ts": thread_ts, "prompts": prompts}
        self._state.changes.publish(Change(body, channel=channel))

    def _cancel_status(self, channel: str, thread_ts: str) -> bool:
        status = self._statuses.pop((channel, thread_ts), None)
        if status and status.timer:
            status.timer.cancel()
        return status is not None

    def _show_status(self, channel: str, thread_ts: str) -> None:
        status = self.find_status(channel, thread_ts)
        body: dict[str, Any] = {"type": "status", "channel": channel, "thread_ts": thread_ts}
        body |= {"status": status.text, "loading_messages": status.loading_messages}
        self._state.changes.publish(Change(body, channel=channel))

    def _save_session(self, key: tuple[str, str], session: AgentSession) -> None:
        self._state.record.put("session", ":".join(key), lambda: asdict(session))
        self._state.changes.publish(Change(_export_session(key, session), channel=key[0]))


def _export_session(key: tuple[str, str], session: AgentSession) -> dict[str, Any]:
    place = {"type": "session", "channel": key[0], "thread_ts": key[1]}
    return {**place, "status": session.status, "title": session.title}
