"""Effects: the actions that are outstanding in a job, named in the imperative, and the keys of its messages.

The engine names the effects. The effect runner (`bot/jobs/effect_runner.py`) performs them, and each ends with an
event. Equal effects are the same piece of work: the runner starts an effect that is new, and cancels one that is no
longer outstanding. An effect is only data: the input of a specialist or a role is built from the job when the effect
starts. `role`, if an effect has one, is the supervisor's role that performs it, and `doing` is the text that people see
meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, get_args

from handoff.contracts import Tier
from handoff.events import MessageAim
from handoff.state.state_values import CopyToDelete


@dataclass(frozen=True, slots=True)
class GatherMaterial:
    """Fetch and read the material of a request: store the texts, and report the outlines.

    `edited_at` is the time of the request's last edit. So an edit that changes the attachments makes a new effect.
    """

    request: str
    edited_at: float = 0.0


@dataclass(frozen=True, slots=True)
class OpenThread:
    """Open a thread for the run of a schedule or for a typed command, and record its request there."""

    request: str


@dataclass(frozen=True, slots=True)
class DropCopies:
    """Delete from the store the copies of messages and files that people deleted in Slack."""

    request: str
    copies: tuple[CopyToDelete, ...]


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Ask the planner for a plan.

    `faults` are the faults of the planner's last reply; empty the first time. `within` is the subtask that an inner
    crew plans in the attempt `attempt`; empty: the request itself is planned.
    """

    role: ClassVar[str] = "planner"
    doing: ClassVar[str] = "planning"
    request: str
    faults: tuple[str, ...] = ()
    within: str = ""
    attempt: int = 0
    correction_count: int = 0
    """The number of corrections of the request so far. So a further correction makes a new effect."""


@dataclass(frozen=True, slots=True)
class RevisePlan:
    """Ask the planner whether the subtasks that have not started should change.

    `within` is the subtask whose inner plan to revise; empty: the request's own plan. `reason` is the text of the
    finding, failure or correction that triggered the revision, and `subtask` the subtask that it comes from.
    """

    role: ClassVar[str] = "replanner"
    doing: ClassVar[str] = "taking a second look at the plan"
    request: str
    within: str
    subtask: str
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RunSubtask:
    """Run a specialist on a subtask for at most `timeout` seconds, from its last checkpoint if it has one."""

    request: str
    subtask: str
    attempt: int
    specialist: str = field(compare=False)
    tier: Tier = field(compare=False)
    timeout: float = field(compare=False)
    done_when: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RefineBrief:
    """Ask the refiner to rewrite a brief because of the `error` of an attempt."""

    role: ClassVar[str] = "refiner"
    request: str
    subtask: str
    attempt: int
    error: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RecordDeadline:
    """Record that the time of a subtask ran out; an empty `subtask` means the whole request."""

    request: str
    subtask: str = ""


@dataclass(frozen=True, slots=True)
class RemindOfQuestion:
    """Record that the people and user groups `recipients` are reminded of an open question.

    A `PostMessage` sends it later.
    """

    request: str
    subtask: str
    number: int
    recipients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpireQuestion:
    """Record that nobody answered a question in time."""

    request: str
    subtask: str
    number: int


@dataclass(frozen=True, slots=True)
class ReduceMaterial:
    """Ask the reducer to condense one part of a round. Rounds and parts are counted from 1."""

    role: ClassVar[str] = "reducer"
    doing: ClassVar[str] = "condensing the results"
    request: str
    round: int
    part: int
    within: str = ""


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """Ask the synthesizer for the answer. `faults` are the faults of its draft; empty the first time."""

    role: ClassVar[str] = "synthesizer"
    doing: ClassVar[str] = "writing the answer"
    request: str
    faults: tuple[str, ...] = ()
    within: str = ""


@dataclass(frozen=True, slots=True)
class SelectAnswer:
    """Ask the selector for the best of rival results. `faults` are the faults of its draft; empty the first time."""

    role: ClassVar[str] = "selector"
    doing: ClassVar[str] = "choosing between the results"
    request: str
    faults: tuple[str, ...] = ()
    within: str = ""


@dataclass(frozen=True, slots=True)
class VerifyAnswer:
    """Ask the verifier to check the answer. If `is_late`, no time is left, and the answer is posted unchecked."""

    role: ClassVar[str] = "verifier"
    doing: ClassVar[str] = "checking the answer"
    request: str
    is_late: bool = False
    within: str = ""


@dataclass(frozen=True, slots=True)
class ReportCrewOutcome:
    """Report the outcome of a crew's run to the enclosing run."""

    request: str
    subtask: str
    attempt: int


@dataclass(frozen=True, slots=True)
class PostMessage:
    """Post a message in the thread, once. `key`, made by a function below, is its permanent name in the job."""

    request: str
    key: str


@dataclass(frozen=True, slots=True)
class ClassifyMessage:
    """Find the purpose of a message in the thread: by free rules or, if they leave doubt, by the dispatcher.

    `aims` are the purposes that the message may have at present. `default_aim` is the purpose to assume if both the
    rules and the dispatcher leave it open.
    """

    role: ClassVar[str] = "dispatcher"
    message: str
    request: str = field(compare=False)
    text: str = field(default="", compare=False)
    mentions_bot: bool = field(default=False, compare=False)
    aims: tuple[MessageAim, ...] = field(default=(), compare=False)
    default_aim: MessageAim = field(default="nothing", compare=False)


@dataclass(frozen=True, slots=True)
class AcknowledgeMessage:
    """Tell the author of a message its outcome. A message that is a request is first recorded as one."""

    receipt: str
    request: str = field(compare=False)


AnswerEffect = ReduceMaterial | WriteAnswer | SelectAnswer | VerifyAnswer
"""The effects of roles between the results of a run and its answer."""
RoleEffect = RefineBrief | AnswerEffect
"""The effects that a role performs from the job alone. Effects of planning need the crew, too, and are left out."""
MessageEffect = ClassifyMessage | AcknowledgeMessage | DropCopies
"""The effects of messages in the thread, independent of the request under way."""
QuestionEffect = RemindOfQuestion | ExpireQuestion
"""The effects of a question that nobody has answered."""
RunEffect = (
    GatherMaterial
    | OpenThread
    | MakePlan
    | RevisePlan
    | RunSubtask
    | RoleEffect
    | RecordDeadline
    | ReportCrewOutcome
    | PostMessage
)
Effect = RunEffect | QuestionEffect | MessageEffect

ROLES: tuple[str, ...] = tuple(one.role for one in get_args(Effect) if hasattr(one, "role"))
"""The supervisor's roles. Each performs one effect; its module and prompt in `bot/supervisor/` have its name."""


# ---------------------------------------------------------------- keys of messages


def make_card_key(request: str) -> str:
    """Return the key of the plan card."""
    return f"{request}:card"


def make_card_end_key(request: str) -> str:
    """Return the key of the last edit of the plan card, which shows how the request ended."""
    return f"{request}:card_end"


def make_answer_key(request: str) -> str:
    """Return the key of the request's visible end: its answer, failure or report."""
    return f"{request}:answer"


def parse_answer_key(key: str) -> str:
    """Return the id of the request whose answer, failure or report has that key; empty for a key of another kind."""
    request, _, rest = key.partition(":")
    return request if rest.partition(":")[0] == "answer" else ""


def make_receipt_key(request: str, receipt: str) -> str:
    """Return the key of the receipt that tells the author of a message its outcome."""
    return f"{request}:receipt:{receipt}"


def make_question_key(request: str, subtask: str, number: int) -> str:
    """Return the key of a subtask's question to people."""
    return f"{request}:question:{subtask}:{number}"


def make_reminder_key(request: str, subtask: str, number: int, reminder: int) -> str:
    """Return the key of a reminder of a subtask's question; reminders are counted from 1."""
    return f"{request}:reminder:{subtask}:{number}:{reminder}"


def make_file_key(request: str, artifact: str) -> str:
    """Return the key of a file that a specialist made."""
    return f"{request}:file:{artifact[:16]}"
