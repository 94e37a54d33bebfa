"""Effects: things to do, in the imperative. The engine names them; whoever performs one reports an event.

Two equal effects are the same piece of work: the shell starts an effect that is new, and cancels one that is no longer
outstanding. An effect is data only: the shell builds what a specialist or a role is given from the job when the work
begins. `role`, if an effect has one, is the supervisor's role that performs it, and `doing` are the words that people
see meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, get_args

from handoff.contracts import Tier
from handoff.events import Aim
from handoff.state.state_values import DeletedCopy


@dataclass(frozen=True, slots=True)
class GatherMaterial:
    """Fetch what people attached and read it: each file's text is stored, and its outline reported.

    `edited` is the stamp of the last edit of the request: an edit that changes what is attached has it read again.
    """

    request: str
    edited: float = 0.0


@dataclass(frozen=True, slots=True)
class OpenThread:
    """Open a thread for a schedule's run or a typed command, if it may begin, and record its request there."""

    request: str


@dataclass(frozen=True, slots=True)
class DropCopies:
    """Delete from the store our copies of what people deleted in Slack."""

    request: str
    copies: tuple[DeletedCopy, ...]


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Ask the planner. `faults` are the faults of its last answer, to be told to it; empty the first time.

    `within` is the subtask that an inner crew is to plan, in that `attempt`; empty: the request itself.
    """

    role: ClassVar[str] = "planner"
    doing: ClassVar[str] = "planning"
    request: str
    faults: tuple[str, ...] = ()
    within: str = ""
    attempt: int = 0
    corrected: int = 0
    """The number of corrections of the request so far: after a further one it is planned again."""


@dataclass(frozen=True, slots=True)
class RevisePlan:
    """Ask the planner whether the subtasks that have not started should change, for a subtask's `reason`.

    `within` is the subtask whose inner plan to revise; empty: the request's own plan.
    """

    role: ClassVar[str] = "replanner"
    doing: ClassVar[str] = "taking a second look at the plan"
    request: str
    within: str
    subtask: str
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RunSubtask:
    """Have a specialist work on a subtask for at most `timeout` seconds, from its last checkpoint if it has one."""

    request: str
    subtask: str
    attempt: int
    specialist: str = field(compare=False)
    tier: Tier = field(compare=False)
    timeout: float = field(compare=False)
    done_when: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RefineBrief:
    """Ask the refiner to rewrite a brief, from the error of the attempt."""

    role: ClassVar[str] = "refiner"
    request: str
    subtask: str
    attempt: int
    error: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ReachDeadline:
    """Record that the time is up for a subtask; an empty `subtask` means the whole request."""

    request: str
    subtask: str = ""


@dataclass(frozen=True, slots=True)
class RemindOfQuestion:
    """Record that these people and user groups are reminded of an open question; the message follows from that."""

    request: str
    subtask: str
    number: int
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpireQuestion:
    """Record that nobody answered a question in time."""

    request: str
    subtask: str
    number: int


@dataclass(frozen=True, slots=True)
class ReduceMaterial:
    """Condense one part of a round. Rounds and parts are counted from 1."""

    role: ClassVar[str] = "reducer"
    doing: ClassVar[str] = "condensing the results"
    request: str
    round: int
    part: int
    within: str = ""


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """Ask the synthesizer for the answer. `faults` are what was found wrong with the draft; empty the first time."""

    role: ClassVar[str] = "synthesizer"
    doing: ClassVar[str] = "writing the answer"
    request: str
    faults: tuple[str, ...] = ()
    within: str = ""


@dataclass(frozen=True, slots=True)
class SelectAnswer:
    """Ask the selector for the best of rival results. `faults` are what was found wrong with the draft."""

    role: ClassVar[str] = "selector"
    doing: ClassVar[str] = "choosing between the results"
    request: str
    faults: tuple[str, ...] = ()
    within: str = ""


@dataclass(frozen=True, slots=True)
class VerifyAnswer:
    """Ask the verifier to read the answer before people do. `late`: no time is left, so it goes out unread."""

    role: ClassVar[str] = "verifier"
    doing: ClassVar[str] = "checking the answer"
    request: str
    late: bool = False
    within: str = ""


@dataclass(frozen=True, slots=True)
class HandUp:
    """Report the outcome of a crew's run to the run around it."""

    request: str
    subtask: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Post:
    """Post a message in the thread, once. `key` names it within the job for good, and is one of the keys below."""

    request: str
    key: str


@dataclass(frozen=True, slots=True)
class SortMessage:
    """Find out what a message of the thread is for: by free rules, and where they leave doubt by a model.

    `aims` are the purposes that it may have at present, and `otherwise` is the one to take if nobody can tell.
    """

    role: ClassVar[str] = "dispatcher"
    message: str
    request: str = field(compare=False)
    text: str = field(default="", compare=False)
    mentioned: bool = field(default=False, compare=False)
    aims: tuple[Aim, ...] = field(default=(), compare=False)
    otherwise: Aim = field(default="nothing", compare=False)


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Show the author of a message what became of it; a message that is a request is handed in as one first."""

    receipt: str
    request: str = field(compare=False)


AnswerEffect = ReduceMaterial | WriteAnswer | SelectAnswer | VerifyAnswer
"""A step of a role on the way from the results of a run to its answer."""
RoleEffect = RefineBrief | AnswerEffect
"""The effects that a role performs by itself. Planning is not among them, as it has to know the crew."""
MessageEffect = SortMessage | Acknowledge | DropCopies
"""The effects that are about a message in the thread rather than about the request under way."""
QuestionEffect = RemindOfQuestion | ExpireQuestion
"""The effects of a question that nobody answers."""
RunEffect = (
    GatherMaterial | OpenThread | MakePlan | RevisePlan | RunSubtask | RoleEffect | ReachDeadline | HandUp | Post
)
Effect = RunEffect | QuestionEffect | MessageEffect

ROLES: tuple[str, ...] = tuple(one.role for one in get_args(Effect) if hasattr(one, "role"))
"""The supervisor's roles. Each performs one effect, by the module and the prompt of its name in `bot/supervisor/`."""


# ---------------------------------------------------------------- keys of messages


def card_key(request: str) -> str:
    """Return the key of the plan card."""
    return f"{request}:card"


def card_end_key(request: str) -> str:
    """Return the key of the last edit of the plan card, which shows how the request ended."""
    return f"{request}:card_end"


def answer_key(request: str) -> str:
    """Return the key of the request's visible end: its answer, failure or report."""
    return f"{request}:answer"


def find_answered_request(key: str) -> str:
    """Return the request whose visible end, or a part of it, carries that key; empty if none does."""
    request, _, rest = key.partition(":")
    return request if rest.partition(":")[0] == "answer" else ""


def receipt_key(request: str, receipt: str) -> str:
    """Return the key of the line that says what became of a message."""
    return f"{request}:receipt:{receipt}"


def question_key(request: str, subtask: str, number: int) -> str:
    """Return the key of a subtask's question to people."""
    return f"{request}:question:{subtask}:{number}"


def reminder_key(request: str, subtask: str, number: int, reminder: int) -> str:
    """Return the key of a reminder of a subtask's question; reminders are counted from 1."""
    return f"{request}:reminder:{subtask}:{number}:{reminder}"


def file_key(request: str, artifact: str) -> str:
    """Return the key of a file that a specialist made."""
    return f"{request}:file:{artifact[:16]}"
