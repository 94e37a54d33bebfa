"""One line of the audit: who did what where, and what became of it. It never holds contents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from handoff.contracts import Contract

Deed = Literal[
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
"""A kind of deed.

- `remembered`: a person had something remembered, or changed its words.
- `wrote`: a tool that writes was called. `sent_out`: a tool asked a host outside for something.
- `rated`: a person gave an answer a thumb, or took it back; `target` is which.
- `scheduled`: a schedule was made or changed; `why` says how.
- `ended`: a request reached its visible end; `cost` is what it took.
"""


class AuditEntry(Contract):
    """A deed of a person, or of the bot for one.

    `at` is seconds since the epoch. `user` is a Slack id; empty: the bot itself. `target` is what it was done to, in
    names and ids only: a tool, a host, a person. `why` is the reason of a refusal or a decision in fixed words of ours.
    `approved_by` are the people whose yes it was, of a call that took one. `cost` is in US dollars.
    """

    at: float
    team: str
    deed: Deed
    user: str = ""
    channel: str = ""
    job: str = ""
    request: str = ""
    outcome: Literal["done", "refused"] = "done"
    target: str = ""
    why: str = ""
    approved_by: tuple[str, ...] = ()
    cost: float = 0.0


AuditRecorder = Callable[[AuditEntry], Awaitable[None]]
"""Keeps an entry that follows from no event of a job, such as a refusal."""


async def discard_entry(_: AuditEntry) -> None:
    """Drop the entry: the default where no `AuditRecorder` is given."""
