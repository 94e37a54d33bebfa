"""A crew's own file, `crew.yml`: who gets what without a planner, who are equals, and who may be made for a job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import yaml

from handoff.contracts import Tier
from handoff.effects import ROLES
from handoff.planning.adhoc import MOST, Allowance
from handoff.planning.routing import Files, Rule
from handoff.working_time import read_span
from specialists.loading import approval_keys
from specialists.loading.approval_keys import NOTHING_SAID, ApprovalRules
from specialists.loading.crew_checks import asked_fault
from specialists.loading.frontmatter import CrewFault, Page, did_you_mean
from specialists.loading.rule_patterns import BadPattern, compiled, ways
from specialists.loading.yaml_root import yaml_root
from specialists.toolkits.tool import Tool
from specialists.turns import finish_tools

NAME = "crew.yml"
MOST_RULES = 50
MOST_PATTERNS = 10
MOST_WAYS = 20_000
"""Ways in which all patterns of a file may be tried from one place in a text: less than a second for the worst one."""
_TERMS = {"confidence": (0, 100), "subtask_seconds": (1, 86_400), "job_seconds": (1, 604_800)}
"""The keys of `handoff.contracts.Terms`, each with the lowest and highest whole number that it takes."""
_ABOUT = ("description", "can", "cannot", "fallback")
"""What a crew inside another says of itself, as a specialist does in its front matter."""
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z][a-z0-9-]{1,62}(?::\d{1,5})?", re.IGNORECASE)
_UNSURE = ("mark", "apart")
_ASKING = ("asks", "asks_next", "remind_after", "expire_after", "assume")
"""The keys on questions to people: see `handoff.contracts.Asking`."""
_KEYS = (
    "rules", "equals", "default", *_TERMS, "critic", "unsure", "roles", "make", "allow_out", *_ASKING, *_ABOUT,
    *approval_keys.KEYS, "ask_above",
)  # fmt: skip
_FILES: tuple[Literal["any", "none", "some"], ...] = ("any", "none", "some")
_RULE_KEYS = ("name", "to", "when", "unless", "files", "done_when")
_MAKE_KEYS = ("tools", "tiers", "at_most", "fallback")
_TIERS: tuple[Tier, ...] = get_args(Tier)
_NO_TOOLS: Mapping[str, Tool] = MappingProxyType({})

Mapped = dict[str, tuple[yaml.Node, yaml.Node]]
"""A YAML mapping by its keys: the node of the key, for its line, and that of the value."""


@dataclass(slots=True)
class CrewFile:
    """A crew's file as it was read, with its faults."""

    path: Path
    rules: tuple[Rule, ...] = ()
    equals: tuple[tuple[str, ...], ...] = ()
    terms: dict[str, Any] = field(default_factory=dict)
    roles: dict[str, Tier] = field(default_factory=dict)
    asking: dict[str, tuple[str, ...] | float | str] = field(default_factory=dict)
    """What it says on questions to people: fields of `handoff.contracts.Asking`."""
    default: str = ""
    """The member that gets a request for which no plan could be made; empty: the first one."""
    make: Allowance | None = None
    allow_out: frozenset[str] = frozenset()
    """The tools and hosts to which something private may go without asking."""
    about: Page = field(default_factory=lambda: Page(Path()))
    """Its description of the crew, for the crew around it; its faults are not among `faults`."""
    approvals: ApprovalRules = NOTHING_SAID
    faults: list[CrewFault] = field(default_factory=list)
    ways: int = 0

    def fault(self, node: yaml.Node, text: str) -> None:
        """Note a fault at a node's line."""
        self.faults.append(CrewFault(self.path, node.start_mark.line + 1, text))


def read(folder: Path, specialists: Iterable[str], tools: Mapping[str, Tool] = _NO_TOOLS) -> CrewFile:
    """Read the crew's file; a missing one says nothing. `specialists` and `tools` are those that it may name."""
    file = CrewFile(folder / NAME, about=Page(folder / NAME))
    if not file.path.exists():
        return file
    root = yaml_root(file.path, file.faults, hint="put patterns in single quotes")
    if root is not None:
        _read(file, root, tuple(specialists), tools)
    return file


def _read(file: CrewFile, root: yaml.Node, known: tuple[str, ...], tools: Mapping[str, Tool]) -> None:
    top = _mapping(file, root, _KEYS, "the file")
    file.terms.update({key: _number(file, top[key][1], key, _TERMS[key]) for key in _TERMS if key in top})
    _read_about(file, top)
    if "make" in top:
        file.make = _make(file, top["make"][1], known, tools)
    if "critic" in top:
        file.terms["critic"] = _yes(file, top["critic"][1], "critic")
    if "unsure" in top:
        file.terms["unsure"] = _one_of(file, top["unsure"][1], "unsure", _UNSURE)
    _read_asking(file, {key: value for key, (_, value) in top.items()})
    if "roles" in top:
        file.roles = _roles(file, top["roles"][1])
    if "equals" in top:
        file.equals = _equals(file, top["equals"][1], known)
    if "ask_above" in top:
        file.terms.update(_ask_above(file, top["ask_above"][1]))
    _read_approvals(file, top, tools)
    _read_allowed_out(file, top, tools)
    if "default" in top:
        file.default = "".join(_specialists(file, top["default"][1], "default", known)[:1])
        if isinstance(top["default"][1], yaml.SequenceNode):
            file.fault(top["default"][1], "default names one specialist")
    if "rules" in top:
        file.rules = _rules(file, *top["rules"], known)


def _read_asking(file: CrewFile, keys: dict[str, yaml.Node]) -> None:
    """Read whom questions are for, who is reminded when, and what is assumed if nobody answers."""
    for key, name in (("asks", "whom"), ("asks_next", "then")):
        if key in keys:
            node = keys[key]
            words = [str(node.value)] if isinstance(node, yaml.ScalarNode) else _texts(file, node, key)
            if fault := asked_fault(words, anyone=key == "asks"):
                file.fault(node, f"{key} {fault}")
            file.asking[name] = tuple(words)
    for key in ("remind_after", "expire_after"):
        if key in keys:
            seconds = read_span(str(keys[key].value))
            if seconds is None:
                file.fault(keys[key], f"{key} takes a span of time such as 30 min, 4h or 2 days, or never")
            file.asking[key] = seconds or 0.0
    if "assume" in keys:
        file.asking["assume"] = _text(file, keys["assume"], "assume")


def _texts(file: CrewFile, node: yaml.Node, key: str) -> list[str]:
    return [text for one in _sequence(file, node, key) if (text := _text(file, one, key))]


def _rules(file: CrewFile, key: yaml.Node, node: yaml.Node, known: tuple[str, ...]) -> tuple[Rule, ...]:
    nodes = _sequence(file, node, "rules")
    if len(nodes) > MOST_RULES:
        file.fault(key, f"there are {len(nodes)} rules; at most {MOST_RULES} are allowed")
    rules: dict[str, Rule] = {}
    for one in nodes[:MOST_RULES]:
        rule = _rule(file, one, known)
        if rule is None:
            continue
        if rule.name in rules:
            file.fault(one, f"two rules are called {rule.name}; the trace tells them apart by their names")
        rules[rule.name] = rule
    if file.ways > MOST_WAYS:
        text = f"all patterns together could be tried in {file.ways:,} ways from each place, and at most {MOST_WAYS:,}"
        file.fault(key, f"{text} are allowed; use fewer repeats, or plain words")
    return tuple(rules.values())


def _rule(file: CrewFile, node: yaml.Node, known: tuple[str, ...]) -> Rule | None:
    """Read the rule of a node, or None if it is none; what is wrong is noted."""
    keys = _mapping(file, node, _RULE_KEYS, "a rule")
    missing = [key for key in ("name", "to", "when") if key not in keys]
    for key in missing if keys else ():
        file.fault(node, f"the rule has no {key}")
    if missing:
        return None
    texts = {key: _text(file, keys[key][1], key) for key in ("name", "done_when") if key in keys}
    files = _files(file, keys["files"][1]) if "files" in keys else "any"
    to = _specialists(file, keys["to"][1], "to", known)
    when = _patterns(file, keys["when"][1], "when")
    unless = _patterns(file, keys["unless"][1], "unless") if "unless" in keys else ()
    if not (texts["name"] and to and when):
        return None
    return Rule(texts["name"], to, when, unless, files, texts.get("done_when", ""))


def _patterns(file: CrewFile, node: yaml.Node, key: str) -> tuple[Any, ...]:
    nodes = _sequence(file, node, key)
    if len(nodes) > MOST_PATTERNS:
        file.fault(node, f"{key} has {len(nodes)} patterns; at most {MOST_PATTERNS} are allowed")
    found = []
    for one in nodes[:MOST_PATTERNS]:
        text = _text(file, one, key)
        if not text:
            continue
        try:
            found.append(compiled(text))
            file.ways += ways(text)
        except BadPattern as error:
            file.fault(one, f"the pattern {text!r} may not be used: {error}")
    return tuple(found)


def _files(file: CrewFile, node: yaml.Node) -> Files:
    if isinstance(node, yaml.ScalarNode):
        for word in _FILES:
            if node.value == word:
                return word
    elif isinstance(node, yaml.SequenceNode) and node.value:
        endings = tuple(_text(file, one, "files").lstrip(".") for one in node.value)
        if all(ending.isalnum() for ending in endings):
            return endings
    file.fault(node, f"files must be {', '.join(_FILES)}, or a list of endings such as [csv, xlsx]")
    return "any"


def _equals(file: CrewFile, node: yaml.Node, known: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    groups: list[tuple[str, ...]] = []
    for one in _sequence(file, node, "equals"):
        group = _specialists(file, one, "equals", known)
        if len(group) == 1:
            file.fault(one, f"{group[0]} alone is nobody's equal; name two or more, or take it out")
        for name in group:
            if any(name in other for other in groups):
                file.fault(one, f"{name} stands in two groups of equals; keep one")
        groups.append(group)
    return tuple(groups)


def _make(file: CrewFile, node: yaml.Node, known: tuple[str, ...], tools: Mapping[str, Tool]) -> Allowance:
    """Read which ad-hoc specialists a plan may have. Tools that write are refused here, whatever a plan says later."""
    keys = {key: value for key, (_, value) in _mapping(file, node, _MAKE_KEYS, "make").items()}
    usual = Allowance()
    fallback = _specialists(file, keys["fallback"], "fallback", known) if "fallback" in keys else ()
    if len(fallback) > 1:
        file.fault(keys["fallback"], "fallback names one specialist")
    return Allowance(
        tools=_lent(file, keys["tools"], tools) if "tools" in keys else (),
        tiers=_tiers(file, keys["tiers"]) if "tiers" in keys else usual.tiers,
        at_most=_number(file, keys["at_most"], "at_most", (1, MOST)) if "at_most" in keys else usual.at_most,
        fallback=fallback[0] if fallback else "",
        taken=frozenset(known),
        writing=frozenset(name for name, tool in tools.items() if tool.access != "read"),
    )


def _roles(file: CrewFile, node: yaml.Node) -> dict[str, Tier]:
    """The tiers of the supervisor's roles, by name."""
    roles: dict[str, Tier] = {}
    for role, (_, value) in _mapping(file, node, ROLES, "roles").items():
        tier = next((tier for tier in _TIERS if tier == str(value.value)), None)
        if tier is None:
            file.fault(value, f"{role} takes a tier: {', '.join(_TIERS)}")
        else:
            roles[role] = tier
    return roles


def _lent(file: CrewFile, node: yaml.Node, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    nodes = [] if isinstance(node, yaml.SequenceNode) and not node.value else _sequence(file, node, "tools")
    names: list[str] = []
    for one in nodes:
        name = _text(file, one, "tools")
        if name in finish_tools.NAMES:
            file.fault(one, f"every specialist has {name}; take it out of tools")
        elif name and name not in tools:
            there = ", ".join(sorted(tools)) or "none"
            file.fault(one, f"unknown tool {name}{did_you_mean(name, tools)}; the tools are {there}")
        elif name and tools[name].access != "read":
            file.fault(one, f"the tool {name} writes, and a specialist made for a job only reads; take it out")
        elif name in names:
            file.fault(one, f"tools names {name} twice; keep one")
        elif name:
            names.append(name)
            for fault in tools[name].faults:
                file.fault(one, f"the tool {name} {fault}")
    return tuple(names)


def _read_allowed_out(file: CrewFile, top: Mapped, tools: Mapping[str, Tool]) -> None:
    """Read which tools and hosts may be sent something private without asking anybody."""
    found: set[str] = set()
    for one in _sequence(file, top["allow_out"][1], "allow_out") if "allow_out" in top else ():
        name = _text(file, one, "allow_out")
        sending = {known for known, tool in tools.items() if tool.sends is not None}
        if not name or name in sending:
            found.update(filter(None, (name,)))
        elif name in tools:
            more = "; it reaches any host, so name the hosts" if tools[name].url else ""
            file.fault(one, f"the tool {name} sends nothing to one place that could be allowed{more}")
        elif not _HOST.fullmatch(name):
            text = f"{name!r} is neither a tool that sends something out nor a host such as docs.python.org"
            file.fault(one, f"{text}{did_you_mean(name, sending)}")
        else:
            found.add(name.lower())
    file.allow_out = frozenset(found)


def _tiers(file: CrewFile, node: yaml.Node) -> tuple[Tier, ...]:
    named = [str(one.value) for one in _sequence(file, node, "tiers")]
    tiers = tuple(tier for tier in _TIERS if tier in named)
    if named and len(tiers) != len(named):
        file.fault(node, f"tiers takes some of {', '.join(_TIERS)}, each once")
    return tiers


def _specialists(file: CrewFile, node: yaml.Node, key: str, known: tuple[str, ...]) -> tuple[str, ...]:
    nodes = [node] if isinstance(node, yaml.ScalarNode) else _sequence(file, node, key)
    names = []
    for one in nodes:
        name = _text(file, one, key)
        if name and name not in known:
            there = ", ".join(sorted(known))
            file.fault(one, f"there is no specialist {name}{did_you_mean(name, known)}; there are {there}")
        elif name in names:
            file.fault(one, f"{key} names {name} twice; keep one")
        elif name:
            names.append(name)
    return tuple(names)


def _read_about(file: CrewFile, top: Mapped) -> None:
    for key in set(_ABOUT) & set(top):
        file.about.values[key] = _plain(top[key][1])
        file.about.lines[key] = top[key][0].start_mark.line + 1


def _read_approvals(file: CrewFile, top: Mapped, tools: Mapping[str, Tool]) -> None:
    page = Page(file.path)
    for key in set(approval_keys.KEYS) & set(top):
        page.values[key] = _plain(top[key][1])
        page.lines[key] = top[key][0].start_mark.line + 1
    file.approvals = approval_keys.read(page, tools)
    file.faults.extend(page.faults)


def _ask_above(file: CrewFile, node: yaml.Node) -> dict[str, int | float]:
    """Read above which estimate people approve a subtask before it begins: `$2.50`, or a number of tokens."""
    text = str(node.value).replace("_", "").replace(",", "") if isinstance(node, yaml.ScalarNode) else ""
    if re.fullmatch(r"\$\d{1,6}(\.\d{1,4})?", text) and float(text[1:]) > 0:
        return {"ask_above_cost": float(text[1:]), "ask_above_tokens": 0}
    if re.fullmatch(r"[1-9]\d{0,11}", text):
        return {"ask_above_cost": 0.0, "ask_above_tokens": int(text)}
    file.fault(node, "ask_above takes dollars such as $2.50, or a number of tokens such as 300000")
    return {}


def _plain(node: yaml.Node) -> object:
    """Read a text, a list of texts, or texts by name; None for anything else."""
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.SequenceNode) and all(isinstance(one, yaml.ScalarNode) for one in node.value):
        return [str(one.value) for one in node.value]
    if isinstance(node, yaml.MappingNode):
        return {str(key.value): _plain(value) for key, value in node.value}
    return None


def _mapping(file: CrewFile, node: yaml.Node, keys: tuple[str, ...], what: str) -> Mapped:
    if not isinstance(node, yaml.MappingNode):
        file.fault(node, f"{what} is not a list of `key: value` lines; the keys are {', '.join(keys)}")
        return {}
    found: Mapped = {}
    for key_node, value in node.value:
        key = str(key_node.value)
        if key not in keys:
            file.fault(key_node, f"unknown key {key}{did_you_mean(key, keys)}; the keys are {', '.join(keys)}")
        elif key in found:
            file.fault(key_node, f"the key {key} stands there twice; keep one")
        else:
            found[key] = (key_node, value)
    return found


def _sequence(file: CrewFile, node: yaml.Node, key: str) -> list[yaml.Node]:
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        file.fault(node, f"{key} must be a list with something in it")
        return []
    return list(node.value)


def _text(file: CrewFile, node: yaml.Node, key: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        file.fault(node, f"{key} takes text")
        return ""
    return str(node.value)


def _number(file: CrewFile, node: yaml.Node, key: str, bounds: tuple[int, int]) -> int:
    low, high = bounds
    text = node.value if isinstance(node, yaml.ScalarNode) else ""
    if not (text.isascii() and text.isdigit() and low <= int(text[:9]) <= high and len(text) < 9):
        file.fault(node, f"{key} takes a whole number from {low} to {high:,}")
        return low
    return int(text)


def _one_of(file: CrewFile, node: yaml.Node, key: str, words: tuple[str, ...]) -> str:
    text = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
    if text not in words:
        file.fault(node, f"{key} takes {' or '.join(words)}")
        return words[0]
    return text


def _yes(file: CrewFile, node: yaml.Node, key: str) -> bool:
    text = str(node.value).lower() if isinstance(node, yaml.ScalarNode) else ""
    if text not in {"true", "yes", "false", "no"}:
        file.fault(node, f"{key} takes true or false")
    return text in {"true", "yes"}
