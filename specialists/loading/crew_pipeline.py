"""Reads a crew's `pipeline`: its fixed plan, checked like any other plan."""

from __future__ import annotations

import re
from typing import TypeVar, get_args

import yaml

from handoff.contracts import FindingCondition, Severity, Strategy, Tier
from handoff.planning import pipeline as plans
from handoff.planning.adhoc import NAME_PATTERN
from handoff.planning.pipeline import KINDS_BY_NEED, FollowUpPlanner, Pipeline, PipelineStep
from handoff.planning.plan_check import MAX_SUBTASKS
from specialists.files import yaml_nodes as nodes
from specialists.files.frontmatter import suggest_name
from specialists.files.yaml_nodes import FaultCollector

_KEYS = ("steps", "strategy", "instruction", "follow_ups")
_STEP_KEYS = ("name", "specialist", "title", "brief", "after", "needs", "done_when", "tier", "critical", "only_for")
_REQUIRED_STEP_KEYS = ("specialist", "title", "brief")
_FINDING_KEYS = ("severity", "below")
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
_FOLLOW_UPS: tuple[FollowUpPlanner, ...] = get_args(FollowUpPlanner)
_TIERS: tuple[Tier, ...] = get_args(Tier)
_FILE_ENDING = re.compile(r"\.[a-z0-9]{1,10}", re.IGNORECASE)
_SUBTASK_NAME = re.compile(r"Subtask '([^']+)'")
T = TypeVar("T", bound=str)


def read_pipeline(collector: FaultCollector, node: yaml.Node, members: tuple[str, ...]) -> Pipeline | None:
    """Read the pipeline, a list of steps or a mapping with `steps`; None, with faults, if it cannot be read.

    `members` are the names of the members that a step may name.
    """
    is_list = isinstance(node, yaml.SequenceNode)
    keys = (
        {}
        if is_list
        else {key: one for key, (_, one) in nodes.read_mapping(collector, node, _KEYS, "pipeline").items()}
    )
    steps = node if is_list else keys.get("steps")
    if steps is None:
        if keys:
            collector.add_fault(node, "the pipeline has no steps")
        return None
    step_nodes = nodes.read_sequence(collector, steps, "steps")
    if len(step_nodes) > MAX_SUBTASKS:
        collector.add_fault(steps, f"there are {len(step_nodes)} steps; at most {MAX_SUBTASKS} are allowed")
        return None
    nodes_by_step: dict[str, yaml.Node] = {}
    steps_or_none = [_read_step(collector, one, members, nodes_by_step) for one in step_nodes]
    read_steps = tuple(one for one in steps_or_none if one is not None)
    if len(read_steps) < len(step_nodes) or not step_nodes:
        return None
    pipeline = Pipeline(
        read_steps,
        strategy=_read_choice(collector, keys.get("strategy"), "strategy", _STRATEGIES) or "merge",
        instruction=nodes.read_text(collector, keys["instruction"], "instruction") if "instruction" in keys else "",
        follow_ups=_read_choice(collector, keys.get("follow_ups"), "follow_ups", _FOLLOW_UPS) or "pipeline",
    )
    for fault in plans.find_pipeline_faults(pipeline, members):
        match = _SUBTASK_NAME.search(fault)
        collector.add_fault(nodes_by_step.get(match[1], node) if match else node, _reword_plan_fault(fault))
    return pipeline


def _read_step(
    collector: FaultCollector, node: yaml.Node, members: tuple[str, ...], earlier_steps: dict[str, yaml.Node]
) -> PipelineStep | None:
    """Read one step; None, with faults, if it cannot be read.

    `earlier_steps` maps the names of earlier steps to their nodes. This step is added to it.
    """
    keys = {key: one for key, (_, one) in nodes.read_mapping(collector, node, _STEP_KEYS, "a step").items()}
    missing_keys = [key for key in _REQUIRED_STEP_KEYS if key not in keys]
    for key in missing_keys if keys else ():
        collector.add_fault(node, f"the step has no {key}")
    if missing_keys:
        return None
    texts = {
        key: nodes.read_text(collector, keys[key], key)
        for key in ("title", "brief", "done_when", "name")
        if key in keys
    }
    specialists = nodes.read_names(collector, keys["specialist"], "specialist", members)
    if len(specialists) > 1:
        collector.add_fault(keys["specialist"], "a step names one specialist; make a step for each")
    if not (specialists and texts["title"] and texts["brief"]):
        return None
    name = texts.get("name", specialists[0])
    if not NAME_PATTERN.fullmatch(name):
        collector.add_fault(
            keys.get("name", node), f"the name {name!r} must be small letters, digits, - and _, a letter first"
        )
        return None
    if name in earlier_steps:
        collector.add_fault(node, f"two steps are called {name}; give this one another name, with the key name")
        return None
    after = _read_earlier_steps(collector, keys["after"], earlier_steps) if "after" in keys else ()
    earlier_steps[name] = node
    return PipelineStep(
        name=name,
        specialist=specialists[0],
        title=texts["title"],
        brief=texts["brief"],
        after=after,
        done_when=texts.get("done_when", ""),
        needs=_read_needs(collector, keys["needs"]) if "needs" in keys else None,
        tier=_read_choice(collector, keys.get("tier"), "tier", _TIERS),
        critical=nodes.read_boolean(collector, keys["critical"], "critical") if "critical" in keys else False,
        only_for=_read_finding_condition(collector, keys["only_for"], after) if "only_for" in keys else None,
    )


def _read_finding_condition(
    collector: FaultCollector, node: yaml.Node, after: tuple[str, ...]
) -> FindingCondition | None:
    """Read `only_for`: the step runs only if findings of the steps in `after` meet this condition."""
    keys = {key: one for key, (_, one) in nodes.read_mapping(collector, node, _FINDING_KEYS, "only_for").items()}
    if not after:
        collector.add_fault(node, "only_for is about the findings of steps before this one; name them with after")
    if not keys:
        collector.add_fault(node, f"only_for has {' or '.join(_FINDING_KEYS)}, or both")
        return None
    severity = _read_choice(collector, keys.get("severity"), "severity", _SEVERITIES) or "info"
    below = nodes.read_number(collector, keys["below"], "below", (1, 100)) if "below" in keys else 101
    return FindingCondition(severity=severity, below=below)


def _read_earlier_steps(
    collector: FaultCollector, node: yaml.Node, earlier_steps: dict[str, yaml.Node]
) -> tuple[str, ...]:
    """Read the steps that a step waits for: `all` before it, one, or a list. Only earlier steps can be named."""
    if isinstance(node, yaml.ScalarNode) and node.value == "all":
        return tuple(earlier_steps)
    name_nodes = (
        [node] if isinstance(node, yaml.ScalarNode) else node.value if isinstance(node, yaml.SequenceNode) else []
    )
    if not isinstance(node, yaml.ScalarNode | yaml.SequenceNode):
        collector.add_fault(node, "after takes all, or the names of steps that stand before this one")
    step_names: list[str] = []
    for one in name_nodes:
        name = nodes.read_text(collector, one, "after")
        if name and name not in earlier_steps:
            known_names = ", ".join(earlier_steps) or "none"
            text = (
                f"there is no step {name} before this one{suggest_name(name, earlier_steps)}; before it there are: "
                f"{known_names}"
            )
            collector.add_fault(one, text)
        elif name and name not in step_names:
            step_names.append(name)
    return tuple(step_names)


def _read_needs(collector: FaultCollector, node: yaml.Node) -> tuple[str, ...] | None:
    """Read the material that a step gets: None for all, empty for none, or some kinds of material."""
    if isinstance(node, yaml.ScalarNode) and node.value in {"all", "none"}:
        return None if node.value == "all" else ()
    words = [str(node.value)] if isinstance(node, yaml.ScalarNode) else nodes.read_texts(collector, node, "needs")
    for word in words:
        if word not in KINDS_BY_NEED and not _FILE_ENDING.fullmatch(word):
            suggestion = suggest_name(word, KINDS_BY_NEED)
            text = (
                f"needs takes all, none, or a list of {', '.join(KINDS_BY_NEED)} and endings such as .csv, not "
                f"{word!r}{suggestion}"
            )
            collector.add_fault(node, text)
    return tuple(dict.fromkeys(words))


def _read_choice(collector: FaultCollector, node: yaml.Node | None, key: str, words: tuple[T, ...]) -> T | None:
    """Read one of `words`; None if the key is missing, or, with a fault, if it has another value."""
    if node is None:
        return None
    choice = next((word for word in words if isinstance(node, yaml.ScalarNode) and node.value == word), None)
    if choice is None:
        collector.add_fault(node, f"{key} takes {', '.join(words)}")
    return choice


def _reword_plan_fault(fault: str) -> str:
    """Reword a fault of a plan for the author of a pipeline: subtasks are called steps."""
    reworded_fault = fault.replace("Subtasks ", "the steps ").replace("Subtask ", "the step ").rstrip(".")
    return reworded_fault[:1].lower() + reworded_fault[1:]
