"""A specialist, read from its Markdown file or made ad hoc for one plan. Each fault names file and line.

An ad-hoc specialist is built only from the plan and the tools that the crew lends, so that any instance builds the same
one from the job's log. The crew's files count as they are now: a tool that is no longer lent is not given by an old
plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import get_args

from handoff.approval_values import DEFAULT_APPROVAL_TERMS, ApprovalTerms
from handoff.contracts import RESERVED_NAMES, Tier
from handoff.planning.adhoc import NAME_PATTERN
from handoff.text.context_budget import estimate_token_count
from specialists.files.frontmatter import MarkdownPage, describe_value, suggest_name
from specialists.loading import approval_keys, crew_checks, skill_folders, specialist_keys
from specialists.loading.approval_keys import NO_APPROVAL_RULES, ApprovalRules
from specialists.loading.crew_checks import read_tool_names
from specialists.loading.skill_folders import Skill
from specialists.loading.specialist_keys import NO_OVERRIDES, ModelOverrides
from specialists.tools.tool import Tool, ToolSpec
from specialists.turns import briefing, finish_tools

LONGEST_DESCRIPTION = 200
MAX_TURNS = 50
DEFAULT_TURNS = 10
ADHOC_TURNS = 8
"""Model turns that an ad-hoc specialist may take before its last call."""

_TIERS: tuple[str, ...] = get_args(Tier)
_REQUIRED_KEYS = ("name", "description", "tools", "model")
_KEYS = (
    *_REQUIRED_KEYS, "can", "cannot", "examples", "fallback", "max_turns", "asks", "skills",
    specialist_keys.SERVERS_KEY,
    *specialist_keys.MODEL_KEYS, *approval_keys.APPROVAL_KEYS,
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
        is_adhoc: True if it exists for one plan alone.
        examples: Requests that only it handles, each with the kind of work in a few words.
        asks: The people who get its questions, as in `handoff.contracts.AskingTerms.whom`; empty: as its crew says.
        approvals: The terms on which the calls of its tools are approved, by tool; None: no approval is needed.
        usual_terms: The terms for tools that `approvals` does not name.
        allow_out: The tools and hosts to which private data may go without asking anybody.
        approval_rules: The rules on approvals in its own file.
        answer_form: The form of the answer that its crew asks for, if its result is the answer.
        channel_words: The channel's instructions for answers, if its result is the answer.
        skills: The skills that it may read, by `skills` in its front matter: folders `skills/NAME/SKILL.md` of its
            crew.
        model_overrides: The model settings in its file: a provider's model in place of the tier's, effort, temperature.
        hand_over_targets: For a first responder that may hand a request over, the planner's specialists, one a line;
            else "".
        translation_note: How a file of another format, such as a Claude Code agent, was translated; "" for our own
            format.
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
    is_adhoc: bool = False
    examples: tuple[tuple[str, str], ...] = ()
    asks: tuple[str, ...] = ()
    approvals: Mapping[str, ApprovalTerms | None] = field(default_factory=dict)
    usual_terms: ApprovalTerms = DEFAULT_APPROVAL_TERMS
    allow_out: frozenset[str] = frozenset()
    approval_rules: ApprovalRules = NO_APPROVAL_RULES
    model_overrides: ModelOverrides = NO_OVERRIDES
    answer_form: str = ""
    channel_words: str = ""
    skills: tuple[Skill, ...] = ()
    translation_note: str = ""
    hand_over_targets: str = ""

    def find_approval_terms(self, tool: str) -> ApprovalTerms | None:
        """Return the terms on which a tool's calls are approved; None: they need no approval."""
        return self.approvals.get(tool, self.usual_terms)

    @property
    def purpose(self) -> str:
        """The purpose of its model calls: `specialist:NAME`, or `made:NAME` for an ad-hoc specialist."""
        return f"{'made' if self.is_adhoc else 'specialist'}:{self.name}"

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
        return (*(tool.spec for tool in self.tools), *self.finish_specs)

    @cached_property
    def finish_specs(self) -> tuple[ToolSpec, ...]:
        """The specs of the tools that end its work."""
        queries = any(tool.query for tool in self.tools)
        ways = (finish_tools.RETURN_ROWS_SPEC, *finish_tools.FINISH_SPECS[1:]) if queries else finish_tools.FINISH_SPECS
        return (*ways, finish_tools.make_hand_over_spec(self.hand_over_targets)) if self.hand_over_targets else ways

    def select_specs(self, files: Iterable[str]) -> tuple[ToolSpec, ...]:
        """Return the specs of the tools, without tools that read only files of kinds that `files` lacks.

        Small models call every tool that they are offered, even if they have to make up a file for it.
        """
        endings = {PurePath(name).suffix.lower() for name in files}
        unusable_names = {tool.name for tool in self.tools if tool.endings and not tool.endings & endings}
        return tuple(spec for spec in self.specs if spec.name not in unusable_names) if unusable_names else self.specs

    @cached_property
    def overhead_tokens(self) -> int:
        """The estimated tokens of its system prompt and its tools' specs, which each call carries."""
        spec_texts = (f"{spec.name} {spec.description} {json.dumps(spec.parameters)}" for spec in self.specs)
        return estimate_token_count(self.system_prompt) + sum(map(estimate_token_count, spec_texts))

    @cached_property
    def system_prompt(self) -> str:
        """The system prompt: its own prompt, its skills, and the shared protocol."""
        prompt = briefing.add_skills(self.prompt, ((one.name, one.description) for one in self.skills))
        return briefing.build_system_prompt(prompt, self.answer_form, self.channel_words)


def read_specialist(
    page: MarkdownPage, tools: Mapping[str, Tool], skills: Mapping[str, Skill] = _NO_SKILLS
) -> Specialist:
    """Read a specialist from its page. Values with faults are left out, and the faults added to the page."""
    for key in page.values:
        if key not in _KEYS:
            page.add_fault(f"unknown key {key}{suggest_name(key, _KEYS)}; the keys are {', '.join(_KEYS)}", key=key)
    for key in _REQUIRED_KEYS:
        if key not in page.values and not (key == "description" and "can" in page.values):
            page.add_fault(f"the key {key} is missing; add it to the front matter")
    if not page.body:
        page.add_fault("the prompt is empty; write it below the front matter", line=page.body_line)
    fallback = page.values.get("fallback")
    if fallback is not None and not isinstance(fallback, str):
        page.add_fault(
            f"fallback must be the name of another specialist: this is {describe_value(fallback)}", key="fallback"
        )
    description, cannot = crew_checks.read_abilities(page, read_description(page))
    own_tools = _read_tools(page, tools)
    named_skills = skill_folders.find_named_skills(page, skills)
    readers = (skill_folders.make_read_skill_tool(named_skills),) if named_skills else ()
    return Specialist(
        name=_read_name(page),
        description=description,
        cannot=cannot,
        tools=(*(tools[name] for name in own_tools), *readers),
        tier=_read_tier(page),
        fallback=str(fallback) if fallback else None,
        max_turns=_read_max_turns(page),
        prompt=page.body,
        path=page.path,
        examples=crew_checks.read_examples(page),
        asks=_read_question_addressees(page),
        model_overrides=specialist_keys.read_model_overrides(page),
        approval_rules=approval_keys.read_approval_rules(page, tools, own_tools=frozenset(own_tools)),
        skills=named_skills,
        translation_note=page.translation_note,
    )


def add_approval_terms(specialist: Specialist, outer_rules: ApprovalRules) -> Specialist:
    """Return the specialist with its approval terms set: from its own rules, otherwise from `outer_rules`."""
    rules = specialist.approval_rules.with_outer(outer_rules)
    terms = {tool.name: rules.find_terms(tool.name) for tool in specialist.tools if tool.access == "write"}
    return replace(specialist, approvals=terms, usual_terms=rules.usual_terms)


def set_approvers(specialist: Specialist, approvers: tuple[str, ...]) -> Specialist:
    """Return the specialist with these Slack ids as approvers; unchanged if there are none."""
    if not approvers:
        return specialist
    terms = {
        tool: each.with_approvers(approvers) if each is not None else None
        for tool, each in specialist.approvals.items()
    }
    return replace(specialist, approvals=terms, usual_terms=specialist.usual_terms.with_approvers(approvers))


def _read_name(page: MarkdownPage) -> str:
    name = page.values.get("name")
    if "name" not in page.values:
        return page.path.stem
    if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        page.add_fault("name must be small letters, digits, - and _, a letter first, at most 40", key="name")
    elif name in RESERVED_NAMES:
        page.add_fault(f"the name {name} is taken by the bot itself; choose another", key="name")
    elif name != page.path.stem and not page.translation_note:
        page.add_fault(f"the name {name} is not that of the file; call the file {name}.md", key="name")
    return str(name)


def read_description(page: MarkdownPage) -> str:
    """Return the line under `description`; "" if there is none. Faults are added to the page."""
    text = page.values.get("description", "")
    if "description" not in page.values:
        return ""
    if not isinstance(text, str) or not text.strip():
        line = "description must be one line that tells the planner what this one can do"
        page.add_fault(f"{line}: this is {describe_value(text)}", key="description")
    elif len(text) > LONGEST_DESCRIPTION:
        page.add_fault(
            f"the description has {len(text)} characters, and at most {LONGEST_DESCRIPTION} are allowed; shorten it",
            key="description",
        )
    return " ".join(str(text).split())


def _read_tools(page: MarkdownPage, tools: Mapping[str, Tool]) -> list[str]:
    names = read_tool_names(page)
    if names is None:
        value_text = describe_value(page.values["tools"])
        page.add_fault(f"tools must be a list of tool names; write [] for none: this is {value_text}", key="tools")
        return []
    unknown_names = [
        name for name in dict.fromkeys(names) if name not in tools and name not in finish_tools.FINISH_TOOLS
    ]
    if unknown_names:  # in one line, as it lists what there is
        words = ", ".join(f"{name}{suggest_name(name, tools)}" for name in unknown_names)
        known_names = ", ".join(sorted(tools)) or "none"
        page.add_fault(
            f"unknown tool{'s' if len(unknown_names) > 1 else ''} {words}; the tools are {known_names}", key="tools"
        )
    for name in dict.fromkeys(names):
        if name in finish_tools.FINISH_TOOLS:
            page.add_fault(f"every specialist has {name}; take it out of tools", key="tools")
        elif name in tools and names.count(name) > 1:
            page.add_fault(f"the tool {name} is named twice; keep one", key="tools")
        elif name in tools:
            for fault in tools[name].faults:
                page.add_fault(f"the tool {name} {fault}", key="tools")
    return [name for name in names if name in tools]


def _read_tier(page: MarkdownPage) -> Tier:
    value = page.values.get("model")
    for tier in get_args(Tier):
        if value == tier:
            return tier  # type: ignore[no-any-return]  # a member of the Literal that it was read from
    if "model" in page.values and not (isinstance(value, str) and specialist_keys.is_model_name(value)):
        page.add_fault(
            f"model must be a tier ({', '.join(_TIERS)}; which model that is, the settings say) or the name of a "
            f"provider's model, such as claude-opus-5-5{suggest_name(str(value), _TIERS)}",
            key="model",
        )
    return "balanced"


def _read_question_addressees(page: MarkdownPage) -> tuple[str, ...]:
    if "asks" not in page.values:
        return ()
    value = page.values["asks"]
    words = tuple(str(one) for one in (value if isinstance(value, list) else [value]))
    if fault := crew_checks.find_addressee_fault(words):
        page.add_fault(f"asks {fault}", key="asks")
    return words


def _read_max_turns(page: MarkdownPage) -> int:
    value = page.values.get("max_turns", DEFAULT_TURNS)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_TURNS:
        page.add_fault(f"max_turns must be a whole number from 1 to {MAX_TURNS}", key="max_turns")
        return DEFAULT_TURNS
    return value
