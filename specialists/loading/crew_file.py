"""Reads a crew's own file, `crew.yml`.

Each key has one reader, in the table `_READERS` at the end. A large key has a module of its own with a `read_*`
function that returns a frozen value; `CrewFile` has a field for that value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import yaml

from handoff.contracts import Tier
from handoff.conversation.working_time import parse_duration
from handoff.planning.adhoc import AdhocAllowance
from handoff.planning.pipeline import Pipeline
from handoff.planning.routing import RoutingRule
from specialists.files import yaml_nodes as nodes
from specialists.files.frontmatter import CrewFault, MarkdownPage, suggest_name
from specialists.files.yaml_nodes import read_yaml_root
from specialists.loading import adhoc_rules, approval_keys, crew_pipeline, crew_prompts, crew_rules
from specialists.loading.approval_keys import NO_APPROVAL_RULES, ApprovalRules
from specialists.loading.crew_checks import find_addressee_fault
from specialists.loading.crew_prompts import NO_PROMPTS, CrewPrompts
from specialists.tools.tool import Tool

FILE_NAME = "crew.yml"
_NUMBER_BOUNDS = {"confidence": (0, 100), "subtask_seconds": (1, 86_400), "job_seconds": (1, 604_800)}
"""The keys with a whole number, fields of `handoff.contracts.Terms`, each with its lowest and highest value."""
_TIERS: tuple[Tier, ...] = get_args(Tier)
_CONTEXT_BOUNDS = (1_000, 1_000_000)
_DESCRIPTION_KEYS = ("description", "can", "cannot", "fallback")
"""The keys with which a crew inside another describes itself, as a specialist does in its front matter."""
_LAYER_KEYS = ("extends", "without")
"""The keys that make a crew build on another one, read by `crew_layers`."""
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z][a-z0-9-]{1,62}(?::\d{1,5})?", re.IGNORECASE)
_SETTING_NAME = re.compile(r"[A-Z][A-Z0-9_]+")
_UNSURE_CHOICES = ("mark", "apart")
_ADDRESSEE_FIELDS = {"asks": "whom", "asks_next": "then"}
_WAIT_KEYS = ("remind_after", "expire_after")
"""The keys with a span of time for questions to people, fields of `handoff.contracts.AskingTerms`."""
_NO_TOOLS: Mapping[str, Tool] = MappingProxyType({})


@dataclass(slots=True)
class CrewFile:
    """A crew's file as it was read, with its faults."""

    path: Path
    rules: tuple[RoutingRule, ...] = ()
    equals: tuple[tuple[str, ...], ...] = ()
    terms: dict[str, Any] = field(default_factory=dict)
    roles: dict[str, Tier] = field(default_factory=dict)
    asking_terms: dict[str, tuple[str, ...] | float | str] = field(default_factory=dict)
    """Its settings for questions to people: fields of `handoff.contracts.AskingTerms`."""
    default: str = ""
    """The member that gets a request for which no plan could be made; "": the first member."""
    first: str = ""
    """The specialist that gets a request before any planner; "": none."""
    first_place: CrewFault | None = None
    """The file and line of the key `first`, as a fault without a text; None: no such key, or it is `none`."""
    needs: tuple[str, ...] = ()
    """The settings that must be set for the crew to be a member of another crew of the same bot."""
    pipeline: Pipeline | None = None
    contact: str = ""
    make: AdhocAllowance | None = None
    allow_out: frozenset[str] = frozenset()
    """The tools and hosts to which private data may go without asking."""
    about: MarkdownPage = field(default_factory=lambda: MarkdownPage(Path()))
    """The crew's description for the crew around it. The faults of this page are not among `faults`."""
    approvals: ApprovalRules = NO_APPROVAL_RULES
    channel: dict[str, tuple[str, CrewFault]] = field(default_factory=dict)
    """The settings for the crew's channels: key -> (the value as written, its place as a fault without a text).

    The values are not checked here, since channels are not known here.
    """
    prompts: CrewPrompts = NO_PROMPTS
    """The texts for the supervisor's prompts: instructions, examples, and the form of the answer."""
    requests: tuple[str, ...] = ()
    """Requests that people are shown as examples of what the crew does."""
    faults: list[CrewFault] = field(default_factory=list)

    def add_fault(self, node: yaml.Node, text: str) -> None:
        """Record a fault at a node's line, in the file of the node."""
        self.faults.append(CrewFault(_get_node_path(node), node.start_mark.line + 1, text))


MAX_EXAMPLE_REQUESTS = 3
"""Most example requests of a crew (its key `requests`)."""
CHANNEL_KEYS = ("follow_ups", "highest_tier", "budget", "quiet_hours", "zone")
"""The settings that a crew may have for the channels it works in."""


@dataclass(frozen=True, slots=True)
class CrewNames:
    """The names that a crew's file may use: the crew's `members` (specialists and crews inside it), and all `tools`."""

    members: tuple[str, ...]
    tools: Mapping[str, Tool]


def read_crew_file(
    folder: Path,
    member_names: Iterable[str],
    tools: Mapping[str, Tool] = _NO_TOOLS,
    extended_roots: Iterable[yaml.Node] = (),
) -> CrewFile:
    """Read the crew's file. A missing file gives the defaults.

    Args:
        folder: The crew's folder.
        member_names: The names of the crew's members, which the file may use.
        tools: The tools that it may name.
        extended_roots: The YAML roots of the crews that it extends, the lowest first. A key counts as the last file
            with it has it; the crew's own file comes last.
    """
    file = CrewFile(folder / FILE_NAME, about=MarkdownPage(folder / FILE_NAME))
    if not file.path.exists():
        return file
    root = read_yaml_root(file.path, file.faults, hint="put patterns in single quotes")
    if root is not None:
        names = CrewNames(tuple(member_names), tools)
        top_keys: nodes.NodeMapping = {}
        for one in (*extended_roots, root):
            top_keys |= nodes.read_mapping(
                file, one, (*_READERS, *_DESCRIPTION_KEYS, *approval_keys.APPROVAL_KEYS, *_LAYER_KEYS), "the file"
            )
        for key, (_, node) in top_keys.items():
            if reader := _READERS.get(key):
                reader(file, key, node, names)
        _read_description(file, top_keys)
        _read_approvals(file, top_keys, tools)
    return file


def _get_node_path(node: yaml.Node) -> Path:
    return Path(node.start_mark.name)


def _read_description(file: CrewFile, keys: nodes.NodeMapping) -> None:
    for key in set(_DESCRIPTION_KEYS) & set(keys):
        file.about.values[key] = nodes.read_plain_value(keys[key][1])
        file.about.key_lines[key] = keys[key][0].start_mark.line + 1
        file.about.key_paths[key] = _get_node_path(keys[key][0])


def _read_approvals(file: CrewFile, keys: nodes.NodeMapping, tools: Mapping[str, Tool]) -> None:
    page = MarkdownPage(file.path)
    for key in set(approval_keys.APPROVAL_KEYS) & set(keys):
        page.values[key] = nodes.read_plain_value(keys[key][1])
        page.key_lines[key] = keys[key][0].start_mark.line + 1
        page.path = page.key_paths[key] = _get_node_path(keys[key][0])
    file.approvals = approval_keys.read_approval_rules(page, tools)
    file.faults.extend(page.faults)


# ---------------------------------------------------------------- the keys, one reader each


def _read_rules(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del key
    file.rules = crew_rules.read_rules(file, node, names.members)


def _read_equals(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del key
    file.equals = crew_rules.read_equals(file, node, names.members)


def _read_default(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    file.default = "".join(nodes.read_names(file, node, key, names.members)[:1])
    if isinstance(node, yaml.SequenceNode):
        file.add_fault(node, "default names one specialist")


def _read_first_responder(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    """Read the first responder: one specialist; `none` removes that of an extended crew."""
    if isinstance(node, yaml.ScalarNode) and node.value == "none":
        file.first = ""
        return
    file.first = "".join(nodes.read_names(file, node, key, names.members)[:1])
    file.first_place = CrewFault(_get_node_path(node), node.start_mark.line + 1, "")
    if isinstance(node, yaml.SequenceNode):
        file.add_fault(node, "first names one specialist")


def _read_contact(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del key, names
    file.contact = crew_prompts.read_contact(file, node)


def _read_needs(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    """Read the settings that must be set for this crew to be a member of another crew."""
    del names
    value = nodes.read_plain_value(node)
    file.needs = tuple(str(one) for one in (value if isinstance(value, list) else [value]))
    if not all(map(_SETTING_NAME.fullmatch, file.needs)):
        file.add_fault(node, f"{key} names settings, such as LEADHAND_KNOWLEDGE, one or a list")


def _read_requests(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del names
    file.requests = tuple(" ".join(one.split()) for one in nodes.read_texts(file, node, key))
    if len(file.requests) > MAX_EXAMPLE_REQUESTS:
        file.add_fault(node, f"{key} has {len(file.requests)} items; at most {MAX_EXAMPLE_REQUESTS} are allowed")


def _read_pipeline(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del key
    is_none = isinstance(node, yaml.ScalarNode) and node.value == "none"  # removes that of an extended crew
    file.pipeline = None if is_none else crew_pipeline.read_pipeline(file, node, names.members)


def _read_make(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del key
    file.make = adhoc_rules.read_allowance(file, node, names.members, names.tools)


def _read_roles(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del key, names
    file.roles = adhoc_rules.read_role_tiers(file, node)


def _read_number(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del names
    file.terms[key] = nodes.read_number(file, node, key, _NUMBER_BOUNDS[key])


def _read_context(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    """Read how many tokens of material a call of each tier may have, for crews with long work."""
    del names
    tiers = nodes.read_mapping(file, node, _TIERS, key)
    file.terms[key] = {tier: nodes.read_number(file, one, tier, _CONTEXT_BOUNDS) for tier, (_, one) in tiers.items()}


def _read_verifier(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del names
    file.terms[key] = nodes.read_boolean(file, node, key)


def _read_unsure(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del names
    file.terms[key] = nodes.read_choice(file, node, key, _UNSURE_CHOICES)


def _read_ask_above(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    """Read the estimate above which people approve a subtask before it begins: `$2.50`, or a number of tokens."""
    del names
    text = str(node.value).replace("_", "").replace(",", "") if isinstance(node, yaml.ScalarNode) else ""
    if re.fullmatch(r"\$\d{1,6}(\.\d{1,4})?", text) and float(text[1:]) > 0:
        file.terms.update({"ask_above_cost": float(text[1:]), "ask_above_tokens": 0})
    elif re.fullmatch(r"[1-9]\d{0,11}", text):
        file.terms.update({"ask_above_cost": 0.0, "ask_above_tokens": int(text)})
    else:
        file.add_fault(node, f"{key} takes dollars such as $2.50, or a number of tokens such as 300000")


def _read_addressees(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    """Read `asks`, the people who are asked questions, or `asks_next`, the people who are reminded next."""
    del names
    words = [str(node.value)] if isinstance(node, yaml.ScalarNode) else nodes.read_texts(file, node, key)
    if fault := find_addressee_fault(words, allow_anyone=key == "asks"):
        file.add_fault(node, f"{key} {fault}")
    file.asking_terms[_ADDRESSEE_FIELDS[key]] = tuple(words)


def _read_wait(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    """Read the time after which people are reminded, or a question is closed."""
    del names
    seconds = parse_duration(str(node.value))
    if seconds is None:
        file.add_fault(node, f"{key} takes a span of time such as 30 min, 4h or 2 days, or never")
    file.asking_terms[key] = seconds or 0.0


def _read_assumption(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    """Read the assumption to go on with if nobody answers."""
    del names
    file.asking_terms[key] = nodes.read_text(file, node, key)


def _read_allow_out(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    """Read the tools and hosts to which private data may go without a question."""
    allowed_targets: set[str] = set()
    for one in nodes.read_sequence(file, node, key):
        name = nodes.read_text(file, one, key)
        sending_tools = {tool_name for tool_name, tool in names.tools.items() if tool.sends is not None}
        if not name or name in sending_tools:
            allowed_targets.update(filter(None, (name,)))
        elif name in names.tools:
            more = "; it reaches any host, so name the hosts" if names.tools[name].url else ""
            file.add_fault(one, f"the tool {name} has no one place to allow{more}")
        elif not _HOST.fullmatch(name):
            text = f"{name!r} is neither a tool that sends something out nor a host such as docs.python.org"
            file.add_fault(one, f"{text}{suggest_name(name, sending_tools)}")
        else:
            allowed_targets.add(name.lower())
    file.allow_out = frozenset(allowed_targets)


def _read_channel(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    """Read the crew's settings for channels."""
    del names
    for name, (_, value) in nodes.read_mapping(file, node, CHANNEL_KEYS, key).items():
        if text := nodes.read_text(file, value, name):
            file.channel[name] = (text.strip(), CrewFault(_get_node_path(value), value.start_mark.line + 1, ""))


def _read_instructions(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del key, names
    file.prompts = replace(file.prompts, instructions=crew_prompts.read_instructions(file, node))


def _read_examples(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del key
    examples = crew_prompts.read_examples(file, node, names.members)
    file.prompts = replace(file.prompts, examples=examples, members=frozenset(names.members))


def _read_answer(file: CrewFile, key: str, node: yaml.Node, names: CrewNames) -> None:
    del key, names
    file.prompts = replace(file.prompts, answer=crew_prompts.read_answer_form(file, node))


_READERS: Mapping[str, Callable[[CrewFile, str, yaml.Node, CrewNames], None]] = {
    "rules": _read_rules,
    "equals": _read_equals,
    "default": _read_default,
    "first": _read_first_responder,
    "needs": _read_needs,
    "requests": _read_requests,
    "contact": _read_contact,
    "pipeline": _read_pipeline,
    **dict.fromkeys(_NUMBER_BOUNDS, _read_number),
    "context": _read_context,
    "verifier": _read_verifier,
    "unsure": _read_unsure,
    "ask_above": _read_ask_above,
    "roles": _read_roles,
    "make": _read_make,
    "allow_out": _read_allow_out,
    **dict.fromkeys(_ADDRESSEE_FIELDS, _read_addressees),
    **dict.fromkeys(_WAIT_KEYS, _read_wait),
    "assume": _read_assumption,
    "channel": _read_channel,
    "instructions": _read_instructions,
    "examples": _read_examples,
    "answer": _read_answer,
}
"""The keys, in the order in which a fault lists them, each with its reader."""
