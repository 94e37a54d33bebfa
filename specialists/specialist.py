"""A specialist, read from its Markdown file or made ad hoc for one plan. Each fault names file and line.

An ad-hoc specialist is built only from the plan and from what the crew lends, so that any instance builds the same one
from the job's log. The crew is asked again each time: if it lends less by now, an old plan does not overrule it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from handoff.approval_values import DEFAULT_APPROVAL_TERMS, ApprovalTerms
from handoff.contracts import RESERVED, Tier
from handoff.planning.adhoc import NAME
from handoff.text.context_budget import tokens
from specialists.files.frontmatter import MarkdownPage, did_you_mean, form_of
from specialists.loading import approval_keys, crew_checks, skill_folders, specialist_keys
from specialists.loading.approval_keys import NOTHING_SAID, ApprovalRules
from specialists.loading.crew_checks import tool_names
from specialists.loading.skill_folders import Skill
from specialists.loading.specialist_keys import NO_WISH, ModelWish
from specialists.tools.tool import Tool, ToolSpec
from specialists.turns import briefing, finish_tools

if TYPE_CHECKING:
    pass

DESCRIPTION_LIMIT = 200
TURNS_LIMIT = 50
DEFAULT_TURNS = 10
ADHOC_TURNS = 8
"""Model turns that an ad-hoc specialist may take before its last call."""

_TIERS: tuple[str, ...] = get_args(Tier)
_REQUIRED = ("name", "description", "tools", "model")
_KEYS = (
    *_REQUIRED, "can", "cannot", "examples", "fallback", "max_turns", "asks", "skills", specialist_keys.KEY,
    *specialist_keys.KEYS, *approval_keys.KEYS,
)  # fmt: skip
_NO_SKILLS: Mapping[str, Skill] = MappingProxyType({})


@dataclass(frozen=True)
class Specialist:
    """A specialist as its file describes it.

    Attributes:
        name: Its name in plans, which is also that of its file.
        description: What it can do, in the one line that the planner sees.
        tools: Its own tools. Tools that write belong to no other specialist of the crew.
        tier: The model tier it works on unless a subtask asks for another.
        fallback: The specialist that takes over if it fails, or None.
        max_turns: How many model turns it may take before its last call.
        prompt: The body of its file.
        path: Its file.
        cannot: What it cannot do, as the planner's line says, a few words each.
        adhoc: True if it exists for one plan alone.
        examples: Requests that only it handles, each with the kind of work in a few words.
        asks: Who gets its questions, see `handoff.contracts.AskingTerms`; empty: as its crew says.
        approvals: The terms on which the calls of its tools are approved, by tool; None: no approval is needed. Tools
            that write and are not named here have the `usual` terms.
        usual: The terms of everything else that needs approval.
        allow_out: The tools and hosts to which private data may go without asking anybody.
        rules: The rules on approvals in its own file.
        form: The form of the answer that its crew asks for, if its result is the answer.
        channel_words: What the channel asks of answers, if its result is the answer.
        skills: The skills that it may read, by `skills` in its front matter: folders `skills/NAME/SKILL.md` of its
            crew.
        wish: What its file asks of its model: a provider's model in place of the tier's, effort, temperature.
        hands_over: For a first responder that may hand a request over, the planner's specialists, one a line; else "".
        read_as: How a file of another format, such as a Claude Code agent, was translated; "" for our own format.
    """

    name: str
    description: str
    tools: tuple[Tool, ...]
    tier: Tier
    fallback: str | None
    max_turns: int
    prompt: str
    path: Path
    cannot: tuple[str, ...] = ()
    adhoc: bool = False
    examples: tuple[tuple[str, str], ...] = ()
    asks: tuple[str, ...] = ()
    approvals: Mapping[str, ApprovalTerms | None] = field(default_factory=dict)
    usual: ApprovalTerms = DEFAULT_APPROVAL_TERMS
    allow_out: frozenset[str] = frozenset()
    rules: ApprovalRules = NOTHING_SAID
    wish: ModelWish = NO_WISH
    form: str = ""
    channel_words: str = ""
    skills: tuple[Skill, ...] = ()
    read_as: str = ""
    hands_over: str = ""

    def terms_of(self, tool: str) -> ApprovalTerms | None:
        """Return the terms on which a tool's calls are approved; None: they need no approval."""
        return self.approvals.get(tool, self.usual)

    @property
    def purpose(self) -> str:
        """The purpose of its model calls, see `ModelCall.purpose`."""
        return f"{'made' if self.adhoc else 'specialist'}:{self.name}"

    @cached_property
    def toolbox(self) -> dict[str, Tool]:
        """Its own tools by name."""
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def readable_endings(self) -> frozenset[str]:
        """The endings of the files that its tools read, such as `.csv`."""
        return frozenset(ending for tool in self.tools for ending in tool.endings)

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The specs of the tools that its model is offered: its own, and those that end its work."""
        return (*(tool.spec for tool in self.tools), *self.ways_to_end)

    @cached_property
    def ways_to_end(self) -> tuple[ToolSpec, ...]:
        """The specs of the tools that end its work."""
        queries = any(tool.query for tool in self.tools)
        ways = (finish_tools.RETURNING_ROWS, *finish_tools.SPECS[1:]) if queries else finish_tools.SPECS
        return (*ways, finish_tools.make_hand_over_spec(self.hands_over)) if self.hands_over else ways

    def specs_for(self, files: Iterable[str]) -> tuple[ToolSpec, ...]:
        """Return the specs of the tools for these files, without the tools that read only other kinds of files.

        Small models call every tool that they are offered, and make up a file for it.
        """
        endings = {PurePath(name).suffix.lower() for name in files}
        idle = {tool.name for tool in self.tools if tool.endings and not tool.endings & endings}
        return tuple(spec for spec in self.specs if spec.name not in idle) if idle else self.specs

    @cached_property
    def overhead(self) -> int:
        """About how many tokens its prompt and its tools take in each call."""
        told = (f"{spec.name} {spec.description} {json.dumps(spec.parameters)}" for spec in self.specs)
        return tokens(self.system) + sum(map(tokens, told))

    @cached_property
    def system(self) -> str:
        """The system prompt: its own prompt, its skills, and the shared protocol."""
        prompt = briefing.add_skills(self.prompt, ((one.name, one.description) for one in self.skills))
        return briefing.build_system_prompt(prompt, self.form, self.channel_words)


def read(page: MarkdownPage, tools: Mapping[str, Tool], skills: Mapping[str, Skill] = _NO_SKILLS) -> Specialist:
    """Read a specialist from its page. Values with faults are left out, and the faults added to the page."""
    for key in page.values:
        if key not in _KEYS:
            page.fault(f"unknown key {key}{did_you_mean(key, _KEYS)}; the keys are {', '.join(_KEYS)}", key=key)
    for key in _REQUIRED:
        if key not in page.values and not (key == "description" and "can" in page.values):
            page.fault(f"the key {key} is missing; add it to the front matter")
    if not page.body:
        page.fault("the prompt is empty; write it below the front matter", line=page.body_line)
    fallback = page.values.get("fallback")
    if fallback is not None and not isinstance(fallback, str):
        page.fault(f"fallback must be the name of another specialist: this is {form_of(fallback)}", key="fallback")
    description, cannot = crew_checks.read_abilities(page, read_description(page))
    own_tools = _read_tools(page, tools)
    named = skill_folders.find_named_skills(page, skills)
    readers = (skill_folders.reader_of(named),) if named else ()
    return Specialist(
        name=_read_name(page),
        description=description,
        cannot=cannot,
        tools=(*(tools[name] for name in own_tools), *readers),
        tier=_read_tier(page),
        fallback=str(fallback) if fallback else None,
        max_turns=_read_turns(page),
        prompt=page.body,
        path=page.path,
        examples=crew_checks.read_examples(page),
        asks=_read_asks(page),
        wish=specialist_keys.read(page),
        rules=approval_keys.read(page, tools, own_tools=frozenset(own_tools)),
        skills=named,
        read_as=page.read_as,
    )


def add_approval_terms(one: Specialist, around: ApprovalRules) -> Specialist:
    """Return the specialist with the terms of its approvals: its own, and where it has none, its crew's."""
    rules = one.rules.fill_from(around)
    terms = {tool.name: rules.terms_of(tool.name) for tool in one.tools if tool.access == "write"}
    return replace(one, approvals=terms, usual=rules.usual_terms)


def set_approvers(one: Specialist, approvers: tuple[str, ...]) -> Specialist:
    """Return the specialist with these Slack ids as approvers; unchanged if there are none."""
    if not approvers:
        return one
    terms = {tool: each.with_approvers(approvers) if each is not None else None for tool, each in one.approvals.items()}
    return replace(one, approvals=terms, usual=one.usual.with_approvers(approvers))


def _read_name(page: MarkdownPage) -> str:
    name = page.values.get("name")
    if "name" not in page.values:
        return page.path.stem
    if not isinstance(name, str) or not NAME.fullmatch(name):
        page.fault("name must be small letters, digits, - and _, a letter first, at most 40", key="name")
    elif name in RESERVED:
        page.fault(f"the name {name} is taken by the bot itself; choose another", key="name")
    elif name != page.path.stem and not page.read_as:
        page.fault(f"the name {name} is not that of the file; call the file {name}.md", key="name")
    return str(name)


def read_description(page: MarkdownPage) -> str:
    """Return the line under `description`; "" if there is none. Faults are added to the page."""
    text = page.values.get("description", "")
    if "description" not in page.values:
        return ""
    if not isinstance(text, str) or not text.strip():
        line = "description must be one line that tells the planner what this one can do"
        page.fault(f"{line}: this is {form_of(text)}", key="description")
    elif len(text) > DESCRIPTION_LIMIT:
        page.fault(
            f"the description has {len(text)} characters, and at most {DESCRIPTION_LIMIT} are allowed; shorten it",
            key="description",
        )
    return " ".join(str(text).split())


def _read_tools(page: MarkdownPage, tools: Mapping[str, Tool]) -> list[str]:
    named = tool_names(page)
    if named is None:
        wrong = form_of(page.values["tools"])
        page.fault(f"tools must be a list of tool names; write [] for none: this is {wrong}", key="tools")
        return []
    unknown = [name for name in dict.fromkeys(named) if name not in tools and name not in finish_tools.NAMES]
    if unknown:  # in one line, as it lists what there is
        words = ", ".join(f"{name}{did_you_mean(name, tools)}" for name in unknown)
        there = ", ".join(sorted(tools)) or "none"
        page.fault(f"unknown tool{'s' if len(unknown) > 1 else ''} {words}; the tools are {there}", key="tools")
    for name in dict.fromkeys(named):
        if name in finish_tools.NAMES:
            page.fault(f"every specialist has {name}; take it out of tools", key="tools")
        elif name in tools and named.count(name) > 1:
            page.fault(f"the tool {name} is named twice; keep one", key="tools")
        elif name in tools:
            for fault in tools[name].faults:
                page.fault(f"the tool {name} {fault}", key="tools")
    return [name for name in named if name in tools]


def _read_tier(page: MarkdownPage) -> Tier:
    value = page.values.get("model")
    for tier in get_args(Tier):
        if value == tier:
            return tier  # type: ignore[no-any-return]  # a member of the Literal that it was read from
    if "model" in page.values and not (isinstance(value, str) and specialist_keys.is_name(value)):
        page.fault(
            f"model must be a tier ({', '.join(_TIERS)}; which model that is, the settings say) or the name of a "
            f"provider's model, such as claude-opus-5-5{did_you_mean(str(value), _TIERS)}",
            key="model",
        )
    return "balanced"


def _read_asks(page: MarkdownPage) -> tuple[str, ...]:
    if "asks" not in page.values:
        return ()
    value = page.values["asks"]
    words = tuple(str(one) for one in (value if isinstance(value, list) else [value]))
    if fault := crew_checks.find_addressee_fault(words):
        page.fault(f"asks {fault}", key="asks")
    return words


def _read_turns(page: MarkdownPage) -> int:
    value = page.values.get("max_turns", DEFAULT_TURNS)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= TURNS_LIMIT:
        page.fault(f"max_turns must be a whole number from 1 to {TURNS_LIMIT}", key="max_turns")
        return DEFAULT_TURNS
    return value
