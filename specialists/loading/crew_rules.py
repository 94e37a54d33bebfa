"""Reads the routing rules of a crew's file, and its groups of equal specialists."""

from __future__ import annotations

from typing import Any, Literal

import yaml

from handoff.planning.routing import FilesCondition, RoutingRule
from specialists.files import yaml_nodes as nodes
from specialists.files.yaml_nodes import FaultCollector
from specialists.loading.rule_patterns import BadPattern, compile_pattern, count_match_ways

MAX_RULES = 50
MAX_PATTERNS = 10
MAX_TOTAL_WAYS = 20_000
"""Most ways in which all patterns of a file together may match from one place in a text (below one second)."""
_FILE_CHOICES: tuple[Literal["any", "none", "some"], ...] = ("any", "none", "some")
_KEYS = ("name", "to", "when", "unless", "files", "done_when")


def read_rules(collector: FaultCollector, node: yaml.Node, members: tuple[str, ...]) -> tuple[RoutingRule, ...]:
    """Read the routing rules. `members` are the names of the members to which they may lead."""
    rule_nodes = nodes.read_sequence(collector, node, "rules")
    if len(rule_nodes) > MAX_RULES:
        collector.add_fault(node, f"there are {len(rule_nodes)} rules; at most {MAX_RULES} are allowed")
    rules: dict[str, RoutingRule] = {}
    way_counts: list[int] = []
    for one in rule_nodes[:MAX_RULES]:
        rule = _read_rule(collector, one, members, way_counts)
        if rule is None:
            continue
        if rule.name in rules:
            collector.add_fault(one, f"two rules are called {rule.name}; the trace tells them apart by their names")
        rules[rule.name] = rule
    if sum(way_counts) > MAX_TOTAL_WAYS:
        text = f"all patterns together can match in {sum(way_counts):,} ways at each place"
        collector.add_fault(
            node, f"{text}, and at most {MAX_TOTAL_WAYS:,} are allowed; use fewer repeats, or plain words"
        )
    return tuple(rules.values())


def _read_rule(
    collector: FaultCollector, node: yaml.Node, members: tuple[str, ...], way_counts: list[int]
) -> RoutingRule | None:
    """Read one rule; None, with faults, if it cannot be read. Appends each pattern's number of ways to `way_counts`."""
    keys = nodes.read_mapping(collector, node, _KEYS, "a rule")
    missing_keys = [key for key in ("name", "to", "when") if key not in keys]
    for key in missing_keys if keys else ():
        collector.add_fault(node, f"the rule has no {key}")
    if missing_keys:
        return None
    texts = {key: nodes.read_text(collector, keys[key][1], key) for key in ("name", "done_when") if key in keys}
    files = _read_files_condition(collector, keys["files"][1]) if "files" in keys else "any"
    to = nodes.read_names(collector, keys["to"][1], "to", members)
    when = _read_patterns(collector, keys["when"][1], "when", way_counts)
    unless = _read_patterns(collector, keys["unless"][1], "unless", way_counts) if "unless" in keys else ()
    if not (texts["name"] and to and when):
        return None
    return RoutingRule(texts["name"], to, when, unless, files, texts.get("done_when", ""))


def _read_patterns(collector: FaultCollector, node: yaml.Node, key: str, way_counts: list[int]) -> tuple[Any, ...]:
    pattern_nodes = nodes.read_sequence(collector, node, key)
    if len(pattern_nodes) > MAX_PATTERNS:
        collector.add_fault(node, f"{key} has {len(pattern_nodes)} patterns; at most {MAX_PATTERNS} are allowed")
    patterns = []
    for one in pattern_nodes[:MAX_PATTERNS]:
        text = nodes.read_text(collector, one, key)
        if not text:
            continue
        try:
            patterns.append(compile_pattern(text))
            way_counts.append(count_match_ways(text))
        except BadPattern as error:
            collector.add_fault(one, f"the pattern {text!r} may not be used: {error}")
    return tuple(patterns)


def _read_files_condition(collector: FaultCollector, node: yaml.Node) -> FilesCondition:
    if isinstance(node, yaml.ScalarNode):
        for word in _FILE_CHOICES:
            if node.value == word:
                return word
    elif isinstance(node, yaml.SequenceNode) and node.value:
        endings = tuple(nodes.read_text(collector, one, "files").lstrip(".") for one in node.value)
        if all(ending.isalnum() for ending in endings):
            return endings
    collector.add_fault(node, f"files must be {', '.join(_FILE_CHOICES)}, or a list of endings such as [csv, xlsx]")
    return "any"


def read_equals(collector: FaultCollector, node: yaml.Node, members: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Read `equals`: groups of specialists that do the same work."""
    groups: list[tuple[str, ...]] = []
    for one in nodes.read_sequence(collector, node, "equals"):
        group = nodes.read_names(collector, one, "equals", members)
        if len(group) == 1:
            collector.add_fault(one, f"{group[0]} stands alone in a group of equals; name two or more, or take it out")
        for name in group:
            if any(name in other for other in groups):
                collector.add_fault(one, f"{name} stands in two groups of equals; keep one")
        groups.append(group)
    return tuple(groups)
