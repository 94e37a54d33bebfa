"""What is left to do, in the imperative. The engine names effects; the shell performs them and reports an event.

Two effects that compare equal are the same piece of work: the shell starts
what is new, and cancels what it runs that is no longer outstanding.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from handoff.contracts import Handoff, Tier


@dataclass(frozen=True, slots=True)
class FetchAttachments:
    """Bring what people attached into the store."""

    request: str


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Ask the planner. `faults` are those of its last answer, to be told to it; empty the first time."""

    request: str
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSubtask:
    """Have a specialist work on a subtask, from its last checkpoint where it has one."""

    request: str
    subtask: str
    attempt: int
    specialist: str = field(compare=False)
    tier: Tier = field(compare=False)
    handoff: Handoff = field(compare=False)
    done_when: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """Ask the synthesizer for the answer."""

    request: str


@dataclass(frozen=True, slots=True)
class Post:
    """Put a message into the thread, once. `key` names it within the job, see `handoff.messages`."""

    request: str
    key: str


Effect = FetchAttachments | MakePlan | RunSubtask | WriteAnswer | Post
