"""Values passed between people, the supervisor, the specialists and their models.

Every model here is frozen and refuses unknown fields, so that a changed contract is noticed where it is read, not
where it is used. Times are seconds since the epoch, durations are seconds, costs are US dollars.
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
"""The name the supervisor goes by in `Handoff.from_agent` and `Handoff.return_to`."""
SEVERAL, ANSWER, ASK, NOBODY = "several", "answer", "ask", "nobody"
"""The planner's words for what becomes of a request that no single specialist gets: a plan, an answer of its own, a
question to the requester, or nothing, as nobody can do it."""
RESERVED = frozenset({SUPERVISOR, SEVERAL, ANSWER, ASK, NOBODY})
"""Names that no specialist may have."""
SLASH = "/"
"""The separator between the id of a subtask and those inside it, and between the name of a crew and its members."""


class Contract(BaseModel):
    """A frozen value that refuses fields it does not know. Its validators are built when it is first read or made."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ChartSeries(Contract):
    """A line, one colour of bars, or the slices of a pie: a value for each category."""

    name: str
    values: tuple[float, ...]


class ChartShape(Contract):
    """The numbers of a chart, for places that draw it themselves. `notes` stand below it."""

    kind: Literal["bar", "line", "pie"]
    title: str
    categories: tuple[str, ...]
    series: tuple[ChartSeries, ...]
    x_label: str = ""
    y_label: str = ""
    notes: tuple[str, ...] = ()


class Artifact(Contract):
    """A file by reference. `id` is the sha256 (hex) of its bytes, which the store keeps.

    `size` is in bytes. `publish_as` says how people get the file: as a file in the thread, as a Slack canvas (the
    bytes are Markdown), or not at all, as with files that people attached themselves. `chart` is what a picture shows,
    if it is a chart that has no more than the numbers say.
    """

    id: str
    name: str
    media_type: str = "application/octet-stream"
    size: int = 0
    about: str = ""
    publish_as: Literal["nothing", "file", "canvas"] = "nothing"
    chart: ChartShape | None = None


class Attachment(Contract):
    """What somebody attached to a message: a file, before its bytes are fetched; a table that they pasted; a message.

    `size` is in bytes. `text` is the content of a table (CSV) or message, in the markup of the place that it is from:
    there is no file to fetch. `author` is who wrote or attached it, if that is not the author of the message.
    """

    file_id: str
    name: str
    media_type: str = "application/octet-stream"
    size: int = 0
    url: str = ""
    kind: Literal["file", "table", "message"] = "file"
    text: str = ""
    author: str = ""


class Section(Contract):
    """A part of a material that can be cited: a page, heading, sheet, function, hunk or message.

    `name` is what it is cited by, such as `page 3`. `start` is the place of its first character in the text. Of a
    thread's message, `message` is its id, so that it can be taken out when it is deleted. `unnamed` counts the parts
    after it that a long outline leaves out.
    """

    name: str
    start: int = 0
    message: str = ""
    unnamed: int = 0


class Audience(Contract):
    """Who may read something: those who may read the place that it came from.

    `channel` is that place's Slack id. Without a `kind` nobody could tell what it is, and it counts as private.
    """

    channel: str
    kind: Literal["", "public", "private", "group", "direct"] = ""


SMALL_TABLE = 2_000
"""Characters of a pasted table, as text, up to which it stands in prompts whole."""


class Material(Contract):
    """One thing that there is to work on, by reference. `name` is its id: plans, handoffs and tools call it so.

    `text` is the sha256 (hex) of its text in UTF-8, which the store keeps, and `size` the characters of that text;
    `file` is the file itself, where it is one. `author` is who wrote or attached it, as people know them. `origin` says
    whose words it holds, for the egress guard. `fault` says why it cannot be read, `gaps` what its text lacks, `notes`
    how it was read, where nothing is lacking. The outline of a table (`is_table`) is its columns, as far as they are
    known. `pictures` show those of its pages that hold no text, for models that see. `audience` says who may read it;
    None: whoever may read the job's thread. `file_id` and `message` are the ids in Slack of the file and of the message
    that it came with.
    """

    name: str
    kind: Literal["request", "thread", "memory", "answer", "result", "file"] = "file"
    size: int = 0
    text: str = ""
    file: Artifact | None = None
    outline: tuple[Section, ...] = ()
    author: str = ""
    origin: Literal["requester", "person", "model"] = "person"
    fault: str = ""
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_table: bool = False
    pictures: tuple[Artifact, ...] = ()
    audience: Audience | None = None
    file_id: str = ""
    message: str = ""
    is_inline: bool = False
    """True for a table that was pasted into a message."""
    lines: str = ""
    """Of a diff: the address of a line of the new files on the web, with {path} and {line} in it, if it has one."""

    @property
    def is_small_paste(self) -> bool:
        """True for a pasted table that prompts hold whole: it is part of what somebody said."""
        return self.is_table and self.is_inline and 0 < self.size <= SMALL_TABLE

    @property
    def is_channel_talk(self) -> bool:
        """True for what was said at the top of a channel, which is called by the channel's name."""
        return self.kind == "thread" and self.name.startswith("#")


class PrivateSource(Contract):
    """Something private as people or a tool gave it: a file, a thread, a reply. `name` is for people.

    `id` is made from its content, so that the same content is the same source. For the reply of a tool, `tool` and
    `target` say which, and where its call went to (empty: the tool does not say).
    """

    id: str
    name: str
    tool: str = ""
    target: str = ""


SCRIPTED_REPLIES = "scripted replies"
"""The `Usage.model` of replies that a demo's script gave in place of a model."""


class Usage(Contract):
    """The usage of model calls. `cost` is None if no price is known; `model` names the last one used.

    `tokens_cached` are those of `tokens_in` that the provider's cache served, as far as it says so.
    """

    model: str = ""
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost: float | None = None
    duration: float = 0.0

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
    """A quotation that a finding stands on.

    A model supplies `quotation`, word for word, and the name of its `source`. Code alone writes `place`, such as
    "page 3" or "line 12", and whether the quotation `is_found` there.
    """

    quotation: str
    source: str = ""
    place: str = ""
    is_found: bool = False


class Finding(Contract):
    """One thing a specialist found, so that it can be checked, sorted and cited on its own."""

    severity: Severity = "info"
    message: str
    where: str = ""
    suggestion: str = ""
    confidence: int = Field(default=80, ge=0, le=100)
    source: str = ""
    evidence: tuple[Evidence, ...] = ()


class ReadSource(Contract):
    """A material, page or table that a specialist read, by its name or address.

    `is_whole`: all of it was in the brief, or a query went over all of it. Otherwise a tool showed parts of it.
    """

    name: str
    is_whole: bool = False


class Result(Contract):
    """A specialist's result.

    `summary` is the part that dependent subtasks see, `content` is the whole of it (Markdown).
    """

    summary: str
    content: str
    findings: tuple[Finding, ...] = ()
    confidence: int = Field(default=80, ge=0, le=100)
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage = Usage()
    gaps: tuple[str, ...] = ()
    """Parts that are missing from the result, in words: a limit cut the work short, a file could not be read."""
    evidence: tuple[str, ...] = ()
    """Lines from its tools' replies about the figures in it; no other specialist sees them."""
    doubts: tuple[str, ...] = ()
    """Reasons to look at it that lie in how it came about: it was given in words, and not handed in."""
    addresses: tuple[str, ...] = ()
    """The web addresses in it that a search, a page or material gave word for word."""
    unsupported: tuple[str, ...] = ()
    """Figures of it, as they are written, that no tool, material or person said and that follow from none of theirs."""
    notes: tuple[str, ...] = ()
    """What its reader should know though nothing is missing, in words: a row of totals was not counted."""
    queries: tuple[str, ...] = ()
    """The queries that were run for it and brought something, as they were run: people can look at them."""
    readings: tuple[ReadSource, ...] = ()
    """What was read for it, in order."""
    failed_writes: tuple[str, ...] = ()
    """The calls of writing tools that failed and were not made good, each with its tool and the reason."""
    unbound: tuple[str, ...] = ()
    """Quotations and figures of it, as written, that code found in nothing that the specialist read."""
    invented: bool = False
    """True if people asked for a text whose particulars are made up, such as an ad: its specialist says so."""
    filters: tuple[str, ...] = ()
    """The conditions of the rows that figures of it count, such as `status = paid: 6 of 10 rows`."""
    workings: tuple[str, ...] = ()
    """How figures of it were worked out, as code found it right: `424 = 1,569 - 1,145`."""


class Escalation(Contract):
    """A specialist's honest "I can't". `options` are likely answers if a person has to choose.

    `whom` names the people to ask, by id or name, where it named any, and `assumption` is what it would take for the
    answer if nobody gives one.
    """

    reason: EscalationReason
    message: str
    options: tuple[str, ...] = ()
    whom: tuple[str, ...] = ()
    assumption: str = ""
    partial_result: Result | None = None


class FindingCondition(Contract):
    """The findings that a subtask is there for: at least as severe as `severity`, and less sure than `below`."""

    severity: Severity = "info"
    below: int = Field(default=101, ge=1, le=101)

    def fits(self, finding: Finding) -> bool:
        """Return True if a finding is at least that severe, and less sure than that."""
        return finding.severity in self._covered_severities and finding.confidence < self.below

    @property
    def words(self) -> str:
        """What such a finding is: `high or critical and less than 80 sure`."""
        severe = " or ".join(self._covered_severities) if self.severity != "info" else ""
        return " and ".join(filter(None, (severe, f"less than {self.below} sure" if self.below <= 100 else "")))

    @property
    def _covered_severities(self) -> tuple[Severity, ...]:
        order: tuple[Severity, ...] = get_args(Severity)
        return order[order.index(self.severity) :]


class Subtask(Contract):
    """One part of a plan. `after` names the subtasks that it builds on; `done_when` is its acceptance criterion."""

    id: str
    title: str
    intent: str
    specialist: str
    after: tuple[str, ...] = ()
    needs: tuple[str, ...] | None = None
    """The names of the material that it works on, the most needed first; None: all that there is."""
    done_when: str = ""
    tier: Tier | None = None
    """The tier to work on; None: the tier that the specialist's own file names."""
    critical: bool = False
    """True if the answer is of no use without it: a person is asked before it is given up."""
    only_for: FindingCondition | None = None
    """It is left out unless what it builds on has such a finding; None: never. Only pipelines say so, no model does."""


class MadeSpecialist(Contract):
    """A specialist that a plan asks for, in a crew that allows it. `brief` becomes its prompt, inside a frame of ours.

    `tools` and `tier` are among those that the crew lends. `why` says what it is needed for, and what nobody there can.
    Models write the fields in this order.
    """

    name: str
    why: str = ""
    description: str
    brief: str
    tools: tuple[str, ...] = ()
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
    """Parts of the request that nobody in the crew can do, each in words that go on "nobody in the crew can"."""

    def subtask(self, subtask_id: str) -> Subtask:
        """Find the subtask of that id. Raises KeyError if there is none."""
        for subtask in self.subtasks:
            if subtask.id == subtask_id:
                return subtask
        raise KeyError(subtask_id)


class PlanChange(Contract):
    """One change to a plan under way, with its reason for people. `by` are the subtasks that replace a `replaced` one.

    A `dropped` subtask that still stands in the new plan was given up: it is named as a gap. Otherwise it became
    needless.
    """

    kind: Literal["added", "dropped", "reassigned", "rebriefed", "replaced"]
    subtask: str
    why: str
    by: tuple[str, ...] = ()


class ContextLimits(Contract):
    """The most tokens of material that one model call is given, by its tier; most models would take far more."""

    fast: int = Field(default=16_000, ge=1_000)
    balanced: int = Field(default=32_000, ge=1_000)
    deep: int = Field(default=64_000, ge=1_000)

    def get_tokens(self, tier: Tier | None) -> int:
        """Return the tokens of a tier; of `balanced` if the tier is None."""
        return {"fast": self.fast, "balanced": self.balanced, "deep": self.deep}[tier or "balanced"]


QUICK_ROLES = frozenset({"dispatcher", "rule_reader"})
"""Roles whose work is small, and for which people wait."""
BEST_ROLES = frozenset({"planner", "replanner", "synthesizer", "verifier"})
"""Roles of few calls on which all else hangs: what is asked of whom, and what people read."""


REQUESTER, ANYONE = "requester", "anyone"
"""Words for whom a question is for, beside ids of people and of user groups; anyone: anybody in the thread."""


class AskingTerms(Contract):
    """Whom questions are for, and what follows if nobody answers one.

    `whom` and `then` hold `REQUESTER`, `ANYONE`, or ids of people and user groups: `whom` is asked (empty: the
    requester, or whom the asker named), and `then` are reminded next, one after the other.

    A reminder comes after `remind_after` seconds of the working time of who is asked, and a question is closed after
    `expire_after` seconds of any time; 0, of both: never. `assume` is what is taken for the answer then, where the
    asker named nothing: `first` for the first answer offered, or words.

    Working time is from the hour `opens` to the hour `closes`, on the first `days` days of the week from Monday on.
    """

    whom: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    remind_after: float = 0.0
    expire_after: float = 0.0
    assume: str = ""
    opens: int = Field(default=9, ge=0, le=23)
    closes: int = Field(default=18, ge=1, le=24)
    days: int = Field(default=5, ge=1, le=7)


class QuietTimes(Contract):
    """The hours of each day in which the bot writes nothing in a channel, unless somebody mentioned it.

    They last from the minute `begins` to the minute `ends` of the day, over midnight if `ends` is no later; if both are
    equal, there are none. `weekends`: all of Saturday and Sunday are quiet, too. `offset` is the seconds by which the
    channel's zone is ahead of UTC.
    """

    begins: int = Field(default=0, ge=0, lt=1440)
    ends: int = Field(default=0, ge=0, lt=1440)
    weekends: bool = False
    offset: int = 0


NO_QUIET = QuietTimes()


class ChannelTerms(Contract):
    """The settings of a channel for work in it, as they were when the work on a request began.

    `instructions` are its admins' house rules, `highest` is the highest tier that models work on there.
    """

    instructions: str = ""
    highest: Tier = "deep"
    quiet: QuietTimes = NO_QUIET


NO_TERMS = ChannelTerms()


class Terms(Contract):
    """Settings of the work on a request, fixed with its plan. Seconds of work do not include waits for people.

    `job_seconds` is for the whole plan, `subtask_seconds` for all attempts at one subtask, `call_seconds` for one call
    of a role. Findings less sure than `confidence` are shown as less sure (0: none is), or only counted if `unsure`
    keeps them apart.
    """

    job_seconds: float = 1800.0
    subtask_seconds: float = 300.0
    call_seconds: float = 600.0
    confidence: int = Field(default=0, ge=0, le=100)
    unsure: Literal["mark", "apart"] = "mark"
    verifier: bool = True
    """True if the verifier reads the answer before people do, unless it says nothing of fact."""
    ask_above_tokens: int = Field(default=0, ge=0)
    ask_above_cost: float = Field(default=0.0, ge=0.0)
    """People approve a subtask that is likely to take more tokens, or dollars, before it begins; 0: they do not."""
    approvers: tuple[str, ...] = ("requester",)
    quorum: int = Field(default=1, ge=1)
    own_approval: bool = True
    """Who approves such a subtask, see `handoff.approval_values.ApprovalTerms`."""
    context: ContextLimits = ContextLimits()
    asking: AskingTerms = AskingTerms()
    roles: Mapping[str, Tier] = Field(default_factory=dict, exclude=True)
    """The tiers of the supervisor's roles by name (`handoff.effects.ROLES`); see `tier_of` for those not named.

    They are not kept with a plan: whoever calls a role puts in those of the settings and of the crew. So what is left
    to do never depends on them, and releases that know no roles can go on with the job.
    """
    circumstances: str = Field(default="", exclude=True)
    """The date, the time zone, who asks and where, on one line; put in by whoever calls a role, like `roles`."""
    crew_words: Mapping[str, str] = Field(default_factory=dict, exclude=True)
    """What the crew's own file says to a role, by its name, and its `examples` of planning; put in like `roles`."""
    channel_words: str = Field(default="", exclude=True)
    """What the channel asks for in its instructions; put in like `roles`."""

    def tier_of(self, role: str) -> Tier:
        """Return the tier that a role of the supervisor works on, as set; else by `QUICK_ROLES` and `BEST_ROLES`."""
        usual: Tier = "fast" if role in QUICK_ROLES else "deep" if role in BEST_ROLES else "balanced"
        return self.roles.get(role, usual)

    def get_context_tokens(self, role: str) -> int:
        """Return the most tokens of material that a call of that role is given."""
        return self.context.get_tokens(self.tier_of(role))


class Member(Contract):
    """A member of a crew as the planner and the engine see it: a specialist, or a crew that plans its own work.

    `cannot` lists what it cannot do, and `fallback` names the member that steps in for it. `crew` holds the terms that
    an inner crew works under, with the settings filled in; None: it is a specialist.
    """

    name: str
    description: str = ""
    cannot: tuple[str, ...] = ()
    tier: Tier = "balanced"
    fallback: str = ""
    asks: tuple[str, ...] = ()
    """Whom its questions are for, see `AskingTerms`; empty: as its crew says."""
    made: bool = False
    """True if the specialist was made for one plan alone."""
    tiers: tuple[Tier, ...] = ()
    """The tiers that it may work on; empty: all."""
    examples: tuple[tuple[str, str], ...] = Field(default=(), exclude=True)
    """Requests that it alone does, each with the kind of work in a few words. They are not kept with a plan."""
    reads: tuple[str, ...] = Field(default=(), exclude=True)
    """The endings of the files that its tools read, such as `.csv`. They are not kept with a plan."""
    crew: Terms | None = None

    @property
    def line(self) -> str:
        """The line that the planner sees on what the member can and cannot do."""
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
    """The limits of a handoff: `max_tokens` is for one model turn, `timeout` is the seconds for the whole attempt.

    `failed_calls` is the number of model calls that may bring nothing before the attempt fails. `context` is the most
    tokens that one model call is sent, the tools' replies of earlier turns included.
    """

    max_tokens: int = 4096
    timeout: float = 300.0
    tier: Tier = "balanced"
    failed_calls: int = 3
    context: int = 32_000


class Note(Contract):
    """One piece of context in a handoff: its source and its text."""

    source: str
    text: str


class Handoff(Contract):
    """A specialist's assignment: its part of the request, the results that it builds on, and nothing else."""

    from_agent: str = SUPERVISOR
    to_agent: str
    intent: str
    part_of: str = ""
    """The request that the intent is a part of, on one line; empty: the intent is the whole request."""
    circumstances: str = ""
    """The date, the time zone, who asks and where, on one line."""
    context: tuple[Note, ...] = ()
    given: tuple[Note, ...] = ()
    """The texts of the material that it needs: whole where they fit, else an outline and the best passages."""
    given_whole: tuple[Material, ...] = ()
    """The material whose texts are `given` whole, in their order."""
    readable: tuple[Material, ...] = ()
    """What of the material is not given whole, and can be read part by part."""
    artifacts: tuple[Artifact, ...] = ()
    constraints: Constraints = Constraints()
    return_to: str = SUPERVISOR


class ToolCall(Contract):
    """A model's wish to run a tool. `arguments` is the parsed JSON object."""

    id: str
    name: str
    arguments: dict[str, Any]


class ToolReply(Contract):
    """A tool's answer to a call, as text for the model. `failed` marks an error that the model may mend."""

    call_id: str
    text: str
    failed: bool = False


class Turn(Contract):
    """A model's answer to one call.

    `calls` is empty unless `stop` is `tool_use`: a call that was cut off does not count.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason
    usage: Usage
    unseen: tuple[str, ...] = ()
    """The pictures of the call that the model was not shown, and why, a line each."""
    thoughts: tuple[dict[str, Any], ...] = ()
    """The provider's reasoning items, thinking blocks or unknown fields of this turn, in order and as they came.

    The provider wants them back unchanged with the next turn. Nobody else reads them. The first is ours: it names the
    provider and the model, as another model's items are of no use. One with `calls` holds fields by the id of the call
    that they belong to.
    """


class PackedSize(Contract):
    """The size of what a model was given: about `tokens` of `budget` tokens. `left_out` names what did not fit."""

    tokens: int = 0
    budget: int = 0
    left_out: tuple[str, ...] = ()


class RefutedSentence(Contract):
    """A sentence of an answer, and the quotation of something read that contradicts it."""

    sentence: str
    evidence: Evidence


class Contradiction(Contract):
    """Two quotations, of different sources, that cannot both be true."""

    one: Evidence
    other: Evidence


class ChannelSpan(Contract):
    """What was said at the top of a channel between two times (seconds since the epoch), to be read as material.

    With `thread_ts` it is what was said in that thread.
    """

    channel: str
    since: float
    until: float
    thread_ts: str = ""


class Request(Contract):
    """A person's request in a thread. `id` is the `ts` of its message."""

    id: str
    user: str
    text: str
    at: float
    attachments: tuple[Attachment, ...] = ()
    look_back: Literal["", "files", "thread"] = ""
    """What Slack is to be asked for beside it: its own `files`, which its event may lack, or the `thread` before it."""
    quoted: str = ""
    """What of the text somebody else wrote: the message that the request was started from."""
    crew: str = ""
    """The name of the crew that it is for, in a bot with several; empty: the last request's, else the usual."""
    recalls: bool = False
    """True if something is remembered that it may need: then that is gathered first."""
    schedule: str = ""
    """The id of the schedule that asked; empty: a person did."""
    reads: tuple[ChannelSpan, ...] = ()
    """The channels whose messages it works on."""
    opens: str = ""
    """`KIND:...`: what this request opens a thread for; the work is then a request in that thread."""


class KnownPerson(Contract):
    """A person who may be asked: their Slack id, their names, and the seconds by which their zone is ahead of UTC."""

    user: str
    names: tuple[str, ...] = ()
    offset: int = 0


class RequestSetting(Contract):
    """Who asks and where, as Slack knew it when the request was planned; empty: it did not say.

    `requester` and `channel` are names for people. `offset` is the seconds by which the zone is ahead of UTC. `people`
    are the others who may be asked: those whom the requester mentioned, who spoke in the thread, or whom a crew names.
    `contact` is whom the crew sends people to when nothing works: an id of a person, user group or channel, or words;
    `contact_name` is what people call them. `here` is what the channel asks for. `kind` is that of the place's
    `Audience`.
    """

    requester: str = ""
    channel: str = ""
    zone: str = "UTC"
    offset: int = 0
    people: tuple[KnownPerson, ...] = ()
    contact: str = ""
    contact_name: str = ""
    here: ChannelTerms = NO_TERMS
    kind: Literal["", "public", "private", "group", "direct"] = ""


class Place(Contract):
    """The place of a job: a Slack team, channel and thread."""

    team: str
    channel: str
    thread_ts: str

    @property
    def job_id(self) -> str:
        """The job's id, which follows from the place alone: J and ten letters and digits."""
        return _job_id(self.team, self.channel, self.thread_ts)


@lru_cache(maxsize=1024)
def _job_id(team: str, channel: str, thread_ts: str) -> str:
    """Compute a job's id. It is cached, as every commit, post and log line names it."""
    digest = hashlib.sha256(f"{team}/{channel}/{thread_ts}".encode()).digest()
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    number = int.from_bytes(digest[:7], "big")
    return "J" + "".join(alphabet[(number >> shift) & 31] for shift in range(0, 50, 5))
