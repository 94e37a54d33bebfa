"""The entries of the audit log: who did what, where, and with what outcome. They contain no content of messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from handoff.contracts import Contract

AuditAction = Literal[
    "asked",
    "answered",
    "approved",
    "denied",
    "stopped",
    "traced",
    "forgot",
    "remembered",
    "released",
    "configured",
    "scheduled",
    "wrote",
    "sent_out",
    "ended",
    "rated",
]
"""The kind of an action.

- `asked`, `answered`, `stopped`: a person made a request, answered a question, or stopped a request.
- `approved`, `denied`: a person decided on an approval.
- `traced`: a person looked at a trace. `forgot`: a person erased data.
- `remembered`: a person made the bot remember something, or reworded it.
- `released`: an admin released a job from quarantine. `configured`: a person changed settings.
- `scheduled`: a schedule was made or changed; `why` is the change.
- `wrote`: a writing tool was called. `sent_out`: a tool sent a query to an outside host.
- `ended`: a request reached its visible end; `cost` is its total cost.
- `rated`: a person rated an answer with a thumb, or removed the thumb; `target` says which of the two.
"""


class AuditEntry(Contract):
    """One action of a person, or of the bot on behalf of a person."""

    at: float
    """Seconds since the epoch."""
    team: str
    deed: AuditAction
    user: str = ""
    """A Slack id; empty: the bot itself."""
    channel: str = ""
    job: str = ""
    request: str = ""
    outcome: Literal["done", "refused"] = "done"
    target: str = ""
    """The object of the action, by names and ids only: a tool, a host, a person."""
    why: str = ""
    """The reason for a refusal or a decision, in fixed words."""
    approved_by: tuple[str, ...] = ()
    """The people who approved the call, if it needed an approval."""
    cost: float = 0.0
    """US dollars."""


AuditRecorder = Callable[[AuditEntry], Awaitable[None]]
"""Stores an entry for an action that leaves no event in the log of a job, such as a refusal."""


async def discard_entry(_entry: AuditEntry) -> None:
    """Ignore an entry. This is the default `AuditRecorder`."""
