"""Reads a crew's `pipeline`: its fixed plan, checked like any other plan."""

from __future__ import annotations

import re
from typing import TypeVar, get_args

import yaml

from handoff.contracts import FindingCondition, Severity, Strategy, Tier
from handoff.planning import pipeline as plans
from handoff.planning.adhoc import NAME
from handoff.planning.pipeline import NEEDS, FollowUps, Pipeline, PipelineStep
from handoff.planning.plan_check import MAX_SUBTASKS
from specialists.files import crew_nodes as nodes
from specialists.files.crew_nodes import FaultCollector
from specialists.files.frontmatter import did_you_mean

_KEYS = ("steps", "strategy", "instruction", "follow_ups")
_STEP_KEYS = ("name", "specialist", "title", "brief", "after", "needs", "done_when", "tier", "critical", "only_for")
_NEEDED = ("specialist", "title", "brief")
_FINDING_KEYS = ("severity", "below")
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
_FOLLOW_UPS: tuple[FollowUps, ...] = get_args(FollowUps)
_TIERS: tuple[Tier, ...] = get_args(Tier)
_ENDING = re.compile(r"\.[a-z0-9]{1,10}", re.IGNORECASE)
_NAMED = re.compile(r"Subtask '([^']+)'")
T = TypeVar("T", bound=str)


def read(noting: FaultCollector, node: yaml.Node, known: tuple[str, ...]) -> Pipeline | None:
    """Read the pipeline, a list of steps or a mapping with `steps`; None, with faults, if it cannot be read.

    `known` are the names of the members that a step may name.
    """
    listed = isinstance(node, yaml.SequenceNode)
    keys = {} if listed else {key: one for key, (_, one) in nodes.mapping(noting, node, _KEYS, "pipeline").items()}
    steps = node if listed else keys.get("steps")
    if steps is None:
        if keys:
            noting.fault(node, "the pipeline has no steps")
        return None
    each = nodes.sequence(noting, steps, "steps")
    if len(each) > MAX_SUBTASKS:
        noting.fault(steps, f"there are {len(each)} steps; at most {MAX_SUBTASKS} are allowed")
        return None
    lines: dict[str, yaml.Node] = {}
    found = [_read_step(noting, one, known, lines) for one in each]
    read_steps = tuple(one for one in found if one is not None)
    if len(read_steps) < len(each) or not each:
        return None
    pipeline = Pipeline(
        read_steps,
        strategy=_read_choice(noting, keys.get("strategy"), "strategy", _STRATEGIES) or "merge",
        instruction=nodes.text(noting, keys["instruction"], "instruction") if "instruction" in keys else "",
        follow_ups=_read_choice(noting, keys.get("follow_ups"), "follow_ups", _FOLLOW_UPS) or "pipeline",
    )
    for fault in plans.faults_of(pipeline, known):
        at = _NAMED.search(fault)
        noting.fault(lines.get(at[1], node) if at else node, _word_step_fault(fault))
    return pipeline


def _read_step(
    noting: FaultCollector, node: yaml.Node, known: tuple[str, ...], before: dict[str, yaml.Node]
) -> PipelineStep | None:
    """Read one step; None, with faults, if it cannot be read.

    `before` maps earlier steps to their nodes, and gets it.
    """
    keys = {key: one for key, (_, one) in nodes.mapping(noting, node, _STEP_KEYS, "a step").items()}
    missing = [key for key in _NEEDED if key not in keys]
    for key in missing if keys else ():
        noting.fault(node, f"the step has no {key}")
    if missing:
        return None
    texts = {key: nodes.text(noting, keys[key], key) for key in ("title", "brief", "done_when", "name") if key in keys}
    who = nodes.names(noting, keys["specialist"], "specialist", known)
    if len(who) > 1:
        noting.fault(keys["specialist"], "a step names one specialist; make a step for each")
    if not (who and texts["title"] and texts["brief"]):
        return None
    name = texts.get("name", who[0])
    if not NAME.fullmatch(name):
        noting.fault(
            keys.get("name", node), f"the name {name!r} must be small letters, digits, - and _, a letter first"
        )
        return None
    if name in before:
        noting.fault(node, f"two steps are called {name}; give this one another name, with the key name")
        return None
    after = _read_earlier_steps(noting, keys["after"], before) if "after" in keys else ()
    before[name] = node
    return PipelineStep(
        name=name,
        specialist=who[0],
        title=texts["title"],
        brief=texts["brief"],
        after=after,
        done_when=texts.get("done_when", ""),
        needs=_read_needs(noting, keys["needs"]) if "needs" in keys else None,
        tier=_read_choice(noting, keys.get("tier"), "tier", _TIERS),
        critical=nodes.read_boolean(noting, keys["critical"], "critical") if "critical" in keys else False,
        only_for=_read_finding_filter(noting, keys["only_for"], after) if "only_for" in keys else None,
    )


def _read_finding_filter(noting: FaultCollector, node: yaml.Node, after: tuple[str, ...]) -> FindingCondition | None:
    """Read the condition on findings of the steps before it under which the step runs."""
    keys = {key: one for key, (_, one) in nodes.mapping(noting, node, _FINDING_KEYS, "only_for").items()}
    if not after:
        noting.fault(node, "only_for is about the findings of steps before this one; name them with after")
    if not keys:
        noting.fault(node, f"only_for has {' or '.join(_FINDING_KEYS)}, or both")
        return None
    severity = _read_choice(noting, keys.get("severity"), "severity", _SEVERITIES) or "info"
    below = nodes.number(noting, keys["below"], "below", (1, 100)) if "below" in keys else 101
    return FindingCondition(severity=severity, below=below)


def _read_earlier_steps(noting: FaultCollector, node: yaml.Node, before: dict[str, yaml.Node]) -> tuple[str, ...]:
    """Read the steps that a step waits for: `all` before it, one, or a list. Only earlier steps can be named."""
    if isinstance(node, yaml.ScalarNode) and node.value == "all":
        return tuple(before)
    listed = [node] if isinstance(node, yaml.ScalarNode) else node.value if isinstance(node, yaml.SequenceNode) else []
    if not isinstance(node, yaml.ScalarNode | yaml.SequenceNode):
        noting.fault(node, "after takes all, or the names of steps that stand before this one")
    found: list[str] = []
    for one in listed:
        name = nodes.text(noting, one, "after")
        if name and name not in before:
            there = ", ".join(before) or "none"
            text = f"there is no step {name} before this one{did_you_mean(name, before)}; before it there are: {there}"
            noting.fault(one, text)
        elif name and name not in found:
            found.append(name)
    return tuple(found)


def _read_needs(noting: FaultCollector, node: yaml.Node) -> tuple[str, ...] | None:
    """Read the material that a step gets: None for all, empty for none, or some kinds of material."""
    if isinstance(node, yaml.ScalarNode) and node.value in {"all", "none"}:
        return None if node.value == "all" else ()
    words = [str(node.value)] if isinstance(node, yaml.ScalarNode) else nodes.texts(noting, node, "needs")
    for word in words:
        if word not in NEEDS and not _ENDING.fullmatch(word):
            near = did_you_mean(word, NEEDS)
            text = (
                f"needs takes all, none, or a list of {', '.join(NEEDS)} and endings such as .csv, not {word!r}{near}"
            )
            noting.fault(node, text)
    return tuple(dict.fromkeys(words))


def _read_choice(noting: FaultCollector, node: yaml.Node | None, key: str, words: tuple[T, ...]) -> T | None:
    """Read one of some words; None if the key is missing or, with a fault, takes no such word."""
    if node is None:
        return None
    found = next((word for word in words if isinstance(node, yaml.ScalarNode) and node.value == word), None)
    if found is None:
        noting.fault(node, f"{key} takes {', '.join(words)}")
    return found


def _word_step_fault(fault: str) -> str:
    """Reword a fault of a plan for people who write steps."""
    worded = fault.replace("Subtasks ", "the steps ").replace("Subtask ", "the step ").rstrip(".")
    return worded[:1].lower() + worded[1:]
