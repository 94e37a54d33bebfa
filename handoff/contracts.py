"""Values passed between people, the supervisor, the specialists and their models.

Every model here is frozen and rejects unknown fields, so that a changed contract fails where it is parsed, not where it
is used. Times are seconds since the epoch, durations are seconds, costs are US dollars.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Tier = Literal["fast", "balanced", "deep"]
Strategy = Literal["merge", "select", "reduce"]
Severity = Literal["info", "low", "medium", "high", "critical"]
StopReason = Literal["end", "tool_use", "max_tokens", "refused"]
"""The reason why a model turn ended."""
EscalationReason = Literal["out_of_scope", "ambiguous_input", "confidence_too_low", "timeout", "hand_over"]

SUPERVISOR = "supervisor"
"""The name of the supervisor in `Handoff.from_agent` and `Handoff.return_to`."""
WHO_SEVERAL, WHO_ANSWER, WHO_ASK, WHO_NOBODY = "several", "answer", "ask", "nobody"
"""The values of `who` in a planner's reply that name no specialist.

- `several`: the reply is a plan of several subtasks.
- `answer`: the planner answers the request itself.
- `ask`: the planner asks the requester a question first.
- `nobody`: nobody in the crew can do the request.
"""
RESERVED_NAMES = frozenset({SUPERVISOR, WHO_SEVERAL, WHO_ANSWER, WHO_ASK, WHO_NOBODY})
"""Names that no specialist may have."""
PATH_SEPARATOR = "/"
"""The separator between the ids of nested subtasks, and between the names of a crew and its member."""


class Contract(BaseModel):
    """A frozen model that rejects unknown fields. Pydantic builds its validators on first use."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ChartSeries(Contract):
    """One series of a chart: a line, the bars of one colour, or the slices of a pie. It has one value per category."""

    name: str
    values: tuple[float, ...]


class ChartShape(Contract):
    """The numbers of a chart, for clients that draw the chart themselves. `notes` are the lines below it."""

    kind: Literal["bar", "line", "pie"]
    title: str
    categories: tuple[str, ...]
    series: tuple[ChartSeries, ...]
    x_label: str = ""
    y_label: str = ""
    notes: tuple[str, ...] = ()


class Artifact(Contract):
    """A reference to a file. The store keeps its bytes."""

    id: str
    """The sha256 (hex) of the bytes."""
    name: str
    media_type: str = "application/octet-stream"
    size: int = 0
    """The number of bytes."""
    about: str = ""
    """A description of the content, for people and models."""
    publish_as: Literal["nothing", "file", "canvas"] = "nothing"
    """The way to publish the file: as a file in the thread, or as a Slack canvas (its bytes are Markdown).

    `nothing`: the file is not published, as with files that people attached themselves.
    """
    chart: ChartShape | None = None
    """The numbers of the chart that the picture shows; None: it is no chart, or shows more than its numbers."""


class Attachment(Contract):
    """An attachment of a message: a file that is not fetched yet, a pasted table, or a forwarded message."""

    file_id: str
    name: str
    media_type: str = "application/octet-stream"
    size: int = 0
    """The number of bytes."""
    url: str = ""
    kind: Literal["file", "table", "message"] = "file"
    text: str = ""
    """The content of a table (CSV) or of a message, in the markup of its source. A file has none: it is fetched."""
    author: str = ""
    """The person who wrote or attached it; empty: the author of the message."""


class Section(Contract):
    """A part of a material that can be cited: a page, heading, sheet, function, hunk or message."""

    name: str
    """The name to cite, such as `page 3`."""
    start: int = 0
    """The index of its first character in the text."""
    message: str = ""
    """For a message of a thread: its id, so that its words can be removed when the message is deleted."""
    unnamed: int = 0
    """The number of sections after this one that a long outline leaves out."""


class Audience(Contract):
    """The people who may read a material: those who may read the Slack channel that it came from."""

    channel: str
    """The Slack id of the channel."""
    kind: Literal["", "public", "private", "group", "direct"] = ""
    """The kind of the channel; empty: unknown, and treated as private."""


MAX_SMALL_TABLE_LENGTH = 2_000
"""The most characters of a pasted table that prompts contain in full."""


class Material(Contract):
    """A reference to one material of a job: a text or a file to work on."""

    name: str
    """The name by which plans, handoffs and tools refer to the material."""
    kind: Literal["request", "thread", "memory", "answer", "result", "file"] = "file"
    size: int = 0
    """The number of characters of its text."""
    text: str = ""
    """The sha256 (hex) of its text in UTF-8, which the store keeps."""
    file: Artifact | None = None
    """The file itself; None if the material is no file."""
    outline: tuple[Section, ...] = ()
    """The sections of its text; for a table its columns, if they are known."""
    author: str = ""
    """The name of the person who wrote or attached it."""
    origin: Literal["requester", "person", "model"] = "person"
    """The author of its words, for the egress guard."""
    fault: str = ""
    """The reason why it cannot be read; empty if it can."""
    gaps: tuple[str, ...] = ()
    """The parts that its text lacks, in words for people."""
    notes: tuple[str, ...] = ()
    """Remarks on how it was read that are no gaps, in words for people."""
    is_table: bool = False
    pictures: tuple[Artifact, ...] = ()
    """Pictures of its pages without text, for models that read pictures."""
    audience: Audience | None = None
    """The people who may read it; None: those who may read the job's thread."""
    file_id: str = ""
    """The Slack id of the file."""
    message: str = ""
    """The Slack id of the message that the material came with."""
    is_inline: bool = False
    """True for a table that was pasted into a message."""
    lines: str = ""
    """For a diff: the web address of a line in a new file, with {path} and {line} to fill in; empty: not on the web."""

    @property
    def is_small_paste(self) -> bool:
        """True for a pasted table that is short enough for prompts to contain it in full."""
        return self.is_table and self.is_inline and 0 < self.size <= MAX_SMALL_TABLE_LENGTH

    @property
    def is_channel_history(self) -> bool:
        """True for messages of a channel outside threads; such a material has the name of the channel."""
        return self.kind == "thread" and self.name.startswith("#")


class PrivateSource(Contract):
    """A source of private content: a file, a thread, or the reply of a tool."""

    id: str
    """A digest of the content: equal content has the same id."""
    name: str
    """The name of the source for people."""
    tool: str = ""
    """The tool that replied; empty if the source is no tool reply."""
    target: str = ""
    """The destination of the tool's call; empty if the tool does not report one."""


SCRIPTED_MODEL_NAME = "scripted replies"
"""The value of `Usage.model` for replies from the script of a demo, which no model wrote."""


class Usage(Contract):
    """The usage of one or more model calls."""

    model: str = ""
    """The name of the model that was called last."""
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    """The part of `tokens_in` that the provider reports as served from its cache."""
    cost: float | None = None
    """US dollars; None if no price is known."""
    duration: float = 0.0
    """Seconds."""

    def __add__(self, other: Usage) -> Usage:
        if not other.model_fields_set:  # nothing was used
            return self
        if not self.model_fields_set:
            return other
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            model=other.model or self.model,
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            cost=sum(costs) if costs else None,
            duration=self.duration + other.duration,
        )


class Evidence(Contract):
    """A quotation that supports a finding. A model supplies `quotation` and `source`; code fills in the rest."""

    quotation: str
    """The quoted words, word for word."""
    source: str = ""
    """The name of the material that is quoted."""
    place: str = ""
    """The place of the quotation in the source, such as "page 3" or "line 12"."""
    is_found: bool = False
    """True if code found the quotation in a text that was read."""


class Finding(Contract):
    """One statement of a specialist that can be checked, sorted and cited on its own."""

    severity: Severity = "info"
    message: str
    where: str = ""
    suggestion: str = ""
    confidence: int = Field(default=80, ge=0, le=100)
    source: str = ""
    evidence: tuple[Evidence, ...] = ()


class ReadSource(Contract):
    """A material, web page or table that a specialist read."""

    name: str
    """Its name or web address."""
    is_whole: bool = False
    """True if the brief contained all of it or a query covered all of it; False if a tool showed parts of it."""


class Result(Contract):
    """A specialist's result."""

    summary: str
    """A short form, for subtasks that build on the result."""
    content: str
    """The full result as Markdown."""
    findings: tuple[Finding, ...] = ()
    confidence: int = Field(default=80, ge=0, le=100)
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage = Usage()
    gaps: tuple[str, ...] = ()
    """The parts that the result lacks, each with the reason, in words for people."""
    evidence: tuple[str, ...] = ()
    """The lines of tool replies that contain figures of the result. No other specialist sees them."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the result as a whole, such as a result given as plain text instead of handed in."""
    addresses: tuple[str, ...] = ()
    """The web addresses in the result that a search, a page or material gave word for word."""
    unsupported: tuple[str, ...] = ()
    """The figures of the result, as written, that no tool, material or person gave and that follow from no such figure.

    A figure follows if it can be worked out, as `handoff.checking.figures` defines it.
    """
    notes: tuple[str, ...] = ()
    """Remarks for readers that are no gaps, such as: a row of totals was not counted."""
    queries: tuple[str, ...] = ()
    """The queries that were run for the result and returned rows, exactly as they were run."""
    readings: tuple[ReadSource, ...] = ()
    """The sources that were read for the result, in order."""
    failed_writes: tuple[str, ...] = ()
    """The calls of writing tools that failed and did not succeed later, each with its tool and the reason."""
    unbound: tuple[str, ...] = ()
    """The quotations and statements of the result, as written, that code could not find where they should stand."""
    invented: bool = False
    """True if people asked for a text with made-up particulars, such as an ad. The specialist declares it."""
    filters: tuple[str, ...] = ()
    """The conditions of the rows that figures of the result count, such as `status = paid: 6 of 10 rows`."""
    workings: tuple[str, ...] = ()
    """The calculations of figures of the result that code verified, such as `424 = 1,569 - 1,145`."""


class Escalation(Contract):
    """A specialist's statement that it cannot do its subtask, with the reason."""

    reason: EscalationReason
    message: str
    options: tuple[str, ...] = ()
    """Likely answers, if a person has to choose."""
    whom: tuple[str, ...] = ()
    """The people to ask, by id or name; empty: the specialist named nobody."""
    assumption: str = ""
    """The answer that the specialist would assume if nobody answers."""
    partial_result: Result | None = None


class FindingCondition(Contract):
    """A condition on findings: at least as severe as `severity`, and with a confidence below `below`."""

    severity: Severity = "info"
    below: int = Field(default=101, ge=1, le=101)

    def is_met_by(self, finding: Finding) -> bool:
        """Return True if a finding is at least as severe as `severity`, and has a confidence below `below`."""
        return finding.severity in self._covered_severities and finding.confidence < self.below

    @property
    def description(self) -> str:
        """The condition in words, such as `high or critical and less than 80 sure`; empty if every finding meets it."""
        severe = " or ".join(self._covered_severities) if self.severity != "info" else ""
        return " and ".join(filter(None, (severe, f"less than {self.below} sure" if self.below <= 100 else "")))

    @property
    def _covered_severities(self) -> tuple[Severity, ...]:
        order: tuple[Severity, ...] = get_args(Severity)
        return order[order.index(self.severity) :]


class Subtask(Contract):
    """One part of a plan."""

    id: str
    title: str
    intent: str
    """The brief: the task in words for the specialist."""
    specialist: str
    after: tuple[str, ...] = ()
    """The ids of the subtasks that it builds on."""
    needs: tuple[str, ...] | None = None
    """The names of the material that it works on, the most needed first; None: all material."""
    done_when: str = ""
    """The acceptance criterion, in words."""
    tier: Tier | None = None
    """The tier to work on; None: the tier that the specialist's own file names."""
    critical: bool = False
    """True if the answer is useless without this subtask: a person is asked before it is given up."""
    only_for: FindingCondition | None = None
    """The subtask runs only if a result that it builds on has such a finding; None: always. Only pipelines set it."""


class MadeSpecialist(Contract):
    """An ad-hoc specialist that a plan asks for, in a crew that allows it. Models write the fields in this order."""

    name: str
    why: str = ""
    """The reason for the specialist: its purpose, and what no member of the crew can do."""
    description: str
    brief: str
    """Its prompt, which code puts into a fixed frame."""
    tools: tuple[str, ...] = ()
    """The names of its tools, which must be among those that the crew lends."""
    tier: Tier = "balanced"


class Plan(Contract):
    """The plan that the planner returns, checked before anything runs. Models write the fields in this order."""

    made: tuple[MadeSpecialist, ...] = ()
    """Specialists that exist for this plan alone."""
    goal: str
    subtasks: tuple[Subtask, ...]
    strategy: Strategy = "merge"
    instruction: str = ""
    """Advice for the synthesizer on how to put the results together."""
    missing: tuple[str, ...] = ()
    """Parts of the request that nobody in the crew can do, each worded to complete "nobody in the crew can ..."."""

    def get_subtask(self, subtask_id: str) -> Subtask:
        """Return the subtask of that id. Raises KeyError if there is none."""
        for subtask in self.subtasks:
            if subtask.id == subtask_id:
                return subtask
        raise KeyError(subtask_id)


class PlanChange(Contract):
    """One change to a plan under way.

    A `dropped` subtask that is still in the new plan was given up, and counts as a gap. One that is no longer in the
    new plan has become needless.
    """

    kind: Literal["added", "dropped", "reassigned", "rebriefed", "replaced"]
    subtask: str
    why: str
    """The reason, in words for people."""
    by: tuple[str, ...] = ()
    """The ids of the subtasks that replace a `replaced` one."""


class ContextLimits(Contract):
    """The most tokens of material that one model call may contain, by its tier. Most models accept far more."""

    fast: int = Field(default=16_000, ge=1_000)
    balanced: int = Field(default=32_000, ge=1_000)
    deep: int = Field(default=64_000, ge=1_000)

    def get_tokens(self, tier: Tier | None) -> int:
        """Return the most tokens for a tier; None means `balanced`."""
        return {"fast": self.fast, "balanced": self.balanced, "deep": self.deep}[tier or "balanced"]


FAST_ROLES = frozenset({"dispatcher", "rule_reader"})
"""Roles with small tasks that people wait for. They work on the tier `fast`."""
DEEP_ROLES = frozenset({"planner", "replanner", "synthesizer", "verifier"})
"""Roles with few calls that decide the quality of the plan and of the answer. They work on the tier `deep`."""


REQUESTER, ANYONE = "requester", "anyone"
"""The words that may stand in place of ids among the addressees of a question. `anyone`: anybody in the thread."""


class AskingTerms(Contract):
    """The people to whom questions go, and the rules for a question that nobody answers.

    `whom` and `then` contain `REQUESTER`, `ANYONE`, or ids of people and user groups.
    """

    whom: tuple[str, ...] = ()
    """The people who are asked; empty: those whom the asker named, otherwise the requester."""
    then: tuple[str, ...] = ()
    """The people who are reminded next, one after the other."""
    remind_after: float = 0.0
    """Seconds of the addressee's working time before a reminder; 0: never."""
    expire_after: float = 0.0
    """Seconds before a question is closed unanswered; 0: never."""
    assume: str = ""
    """The answer to assume for an expired question if the asker named none: `first` (the first option), or words."""
    opens: int = Field(default=9, ge=0, le=23)
    """The hour at which working time begins."""
    closes: int = Field(default=18, ge=1, le=24)
    """The hour at which working time ends."""
    days: int = Field(default=5, ge=1, le=7)
    """The number of working days a week, from Monday on."""


class QuietTimes(Contract):
    """The hours of each day in which the bot writes nothing in a channel, unless somebody mentioned it."""

    begins: int = Field(default=0, ge=0, lt=1440)
    """The minute of the day at which quiet begins. If it equals `ends`, there are no quiet hours."""
    ends: int = Field(default=0, ge=0, lt=1440)
    """The minute of the day at which quiet ends: on the next day if it is earlier than `begins`."""
    weekends: bool = False
    """True if Saturdays and Sundays are quiet as a whole."""
    offset: int = 0
    """The seconds by which the channel's time zone is ahead of UTC."""


NO_QUIET_TIMES = QuietTimes()


class ChannelTerms(Contract):
    """The settings of a channel, as they were when the work on a request began."""

    instructions: str = ""
    """The house rules that the channel's admins set."""
    highest: Tier = "deep"
    """The highest tier on which models may work for the channel."""
    quiet: QuietTimes = NO_QUIET_TIMES


DEFAULT_CHANNEL_TERMS = ChannelTerms()


class Terms(Contract):
    """Settings of the work on a request, fixed with its plan. Limits in seconds do not include waits for people."""

    job_seconds: float = 1800.0
    """The limit for the whole plan."""
    subtask_seconds: float = 300.0
    """The limit for all attempts at one subtask together."""
    call_seconds: float = 600.0
    """The limit for one call of a role."""
    confidence: int = Field(default=0, ge=0, le=100)
    """Findings with a lower confidence count as unsure; 0: none does."""
    unsure: Literal["mark", "apart"] = "mark"
    """The treatment of unsure findings: `mark` names them as less sure, `apart` leaves them out and counts them."""
    verifier: bool = True
    """True if the verifier checks answers before people see them. Answers that state no facts are not checked."""
    ask_above_tokens: int = Field(default=0, ge=0)
    """A subtask whose estimate exceeds these tokens needs an approval before it begins; 0: no limit."""
    ask_above_cost: float = Field(default=0.0, ge=0.0)
    """A subtask whose estimate exceeds these US dollars needs an approval before it begins; 0: no limit."""
    approvers: tuple[str, ...] = ("requester",)
    """The people who approve such subtasks, as in `handoff.approval_values.ApprovalTerms`."""
    quorum: int = Field(default=1, ge=1)
    """The number of approvals that such a subtask needs."""
    own_approval: bool = True
    """True if the requester may approve such subtasks."""
    context: ContextLimits = ContextLimits()
    asking: AskingTerms = AskingTerms()
    roles: Mapping[str, Tier] = Field(default_factory=dict, exclude=True)
    """The tiers of the supervisor's roles by name (`handoff.effects.ROLES`); `get_tier` adds those that are not named.

    They are not stored with a plan: the caller of a role fills them in from the settings and the crew. So the
    outstanding effects never depend on them, and releases without roles can continue the job.
    """
    circumstances: str = Field(default="", exclude=True)
    """One line with the date, the time zone, the requester and the channel. The caller of a role fills it in."""
    crew_words: Mapping[str, str] = Field(default_factory=dict, exclude=True)
    """The crew file's instructions by role name, and its planning `examples`. The caller of a role fills it in."""
    channel_words: str = Field(default="", exclude=True)
    """The instructions of the channel. The caller of a role fills it in."""

    def get_tier(self, role: str) -> Tier:
        """Return the tier of a supervisor's role: as set in `roles`, otherwise by `FAST_ROLES` and `DEEP_ROLES`."""
        usual: Tier = "fast" if role in FAST_ROLES else "deep" if role in DEEP_ROLES else "balanced"
        return self.roles.get(role, usual)

    def get_context_tokens(self, role: str) -> int:
        """Return the most tokens of material that a call of that role may contain."""
        return self.context.get_tokens(self.get_tier(role))


class Member(Contract):
    """A member of a crew as the planner and the engine see it: a specialist, or a crew that plans its own work."""

    name: str
    description: str = ""
    cannot: tuple[str, ...] = ()
    """Kinds of work that it cannot do, each worded to complete "Cannot ..."."""
    tier: Tier = "balanced"
    fallback: str = ""
    """The name of the member that takes over if this one fails; empty: nobody."""
    asks: tuple[str, ...] = ()
    """The people to whom its questions go, as in `AskingTerms.whom`; empty: those of its crew."""
    made: bool = False
    """True if the specialist was made for one plan alone."""
    tiers: tuple[Tier, ...] = ()
    """The tiers that it may work on; empty: all."""
    examples: tuple[tuple[str, str], ...] = Field(default=(), exclude=True)
    """Example requests for this member alone, each with the kind of work in a few words. Not stored with a plan."""
    reads: tuple[str, ...] = Field(default=(), exclude=True)
    """The file endings that its tools read, such as `.csv`. Not stored with a plan."""
    crew: Terms | None = None
    """The terms of an inner crew, with the settings filled in; None: the member is a specialist."""

    @property
    def planner_line(self) -> str:
        """The planner's line about the member: its description and what it cannot do."""
        if not self.cannot:
            return self.description
        *others, last = self.cannot
        return f"{self.description} Cannot {', '.join(others)}{' or ' if others else ''}{last}."


class Estimate(Contract):
    """The likely usage of a subtask. `tokens` counts input and output together; `cost` is None if no price is known."""

    subtask: str
    calls: int
    tokens: int
    cost: float | None = None


class Constraints(Contract):
    """The limits of an attempt."""

    max_tokens: int = 4096
    """The most tokens that the model may write in one turn."""
    timeout: float = 300.0
    """The seconds for the whole attempt."""
    tier: Tier = "balanced"
    failed_calls: int = 3
    """The number of failed model calls after which the attempt fails."""
    context: int = 32_000
    """The most tokens that one model call is sent, including the tool replies of earlier turns."""


class Note(Contract):
    """One piece of context in a handoff: its source and its text."""

    source: str
    text: str


class Handoff(Contract):
    """All that a specialist gets for an attempt: its part of the request, and the results that it builds on."""

    from_agent: str = SUPERVISOR
    to_agent: str
    intent: str
    part_of: str = ""
    """The whole request on one line; empty if the intent is the whole request."""
    circumstances: str = ""
    """One line with the date, the time zone, the requester and the channel."""
    context: tuple[Note, ...] = ()
    given: tuple[Note, ...] = ()
    """The texts of the needed material: in full if they fit, otherwise an outline and the best passages."""
    given_whole: tuple[Material, ...] = ()
    """The material whose text is in `given` in full, in the same order."""
    readable: tuple[Material, ...] = ()
    """The material that is not given in full, and that tools can read part by part."""
    artifacts: tuple[Artifact, ...] = ()
    constraints: Constraints = Constraints()
    return_to: str = SUPERVISOR


class ToolCall(Contract):
    """A tool call that a model asks for. `arguments` is the parsed JSON object."""

    id: str
    name: str
    arguments: dict[str, Any]


class ToolReply(Contract):
    """A tool's reply to a call, as text for the model. `failed` marks an error that the model may correct."""

    call_id: str
    text: str
    failed: bool = False


class Turn(Contract):
    """A model's reply to one model call."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    """The tool calls; empty unless `stop` is `tool_use`, as a call that was cut off does not count."""
    stop: StopReason
    usage: Usage
    unseen: tuple[str, ...] = ()
    """One line for each picture that the model was not shown, with the reason."""
    thoughts: tuple[dict[str, Any], ...] = ()
    """The provider's reasoning items, thinking blocks or unknown fields of this turn, in order and unchanged.

    The provider expects them back with the next turn; nothing else reads them. Code adds the first item, which names
    the provider and the model, since items of another model are useless. An item with the key `calls` holds fields by
    the id of the tool call that they belong to.
    """


class PackedSize(Contract):
    """The size of a model call's material: about `tokens` of `budget` tokens. `left_out` names what did not fit."""

    tokens: int = 0
    budget: int = 0
    left_out: tuple[str, ...] = ()


class RefutedSentence(Contract):
    """A sentence of an answer, and a quotation that contradicts it."""

    sentence: str
    evidence: Evidence


class Contradiction(Contract):
    """Two quotations, of different sources, that cannot both be true."""

    one: Evidence
    other: Evidence


class ChannelSpan(Contract):
    """The messages of a channel between two times (seconds since the epoch), to be read as material."""

    channel: str
    since: float
    until: float
    thread_ts: str = ""
    """The thread to read; empty: the messages outside threads."""


class Request(Contract):
    """A person's request in a thread. `id` is the `ts` of its message."""

    id: str
    user: str
    text: str
    at: float
    attachments: tuple[Attachment, ...] = ()
    look_back: Literal["", "files", "thread"] = ""
    """The content to fetch from Slack: the request's own `files`, which the event may lack, or the earlier `thread`."""
    quoted: str = ""
    """The part of the text that somebody else wrote: the message that the request was started from."""
    crew: str = ""
    """The crew that the request names, if the bot has several; empty: that of the last request, or of the channel."""
    recalls: bool = False
    """True if there are memories that the request may need. They are gathered first."""
    schedule: str = ""
    """The id of the schedule that made the request; empty: a person made it."""
    reads: tuple[ChannelSpan, ...] = ()
    """The channel messages that the request works on."""
    opens: str = ""
    """For a request that only opens a thread: `KIND:REFERENCE`, by whose kind the thread is opened; empty: none."""


class KnownPerson(Contract):
    """A person to whom questions may go."""

    user: str
    """The Slack id."""
    names: tuple[str, ...] = ()
    offset: int = 0
    """The seconds by which the person's time zone is ahead of UTC."""


class RequestSetting(Contract):
    """The requester and the channel of a request, as Slack described them before planning; empty: unknown."""

    requester: str = ""
    """The requester's name."""
    channel: str = ""
    """The channel's name."""
    zone: str = "UTC"
    """The requester's time zone."""
    offset: int = 0
    """The seconds by which that zone is ahead of UTC."""
    people: tuple[KnownPerson, ...] = ()
    """The others to whom questions may go: people whom the requester mentioned, who wrote in the thread, or whom a
    crew names."""
    contact: str = ""
    """The crew's contact for what the bot cannot do: an id of a person, user group or channel, or words."""
    contact_name: str = ""
    """The contact's name for people."""
    here: ChannelTerms = DEFAULT_CHANNEL_TERMS
    """The settings of the channel."""
    kind: Literal["", "public", "private", "group", "direct"] = ""
    """The kind of the channel, as in `Audience`."""


class Place(Contract):
    """The place of a job: a Slack team, channel and thread."""

    team: str
    channel: str
    thread_ts: str

    @property
    def job_id(self) -> str:
        """The job's id: J and ten letters and digits, computed from the place alone."""
        return _compute_job_id(self.team, self.channel, self.thread_ts)


@lru_cache(maxsize=1024)
def _compute_job_id(team: str, channel: str, thread_ts: str) -> str:
    """Compute a job's id. Cached, since every commit, post and log line contains it."""
    digest = hashlib.sha256(f"{team}/{channel}/{thread_ts}".encode()).digest()
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    number = int.from_bytes(digest[:7], "big")
    return "J" + "".join(alphabet[(number >> shift) & 31] for shift in range(0, 50, 5))
