"""Reads the routing rules of a crew's file, and its groups of equal specialists."""

from __future__ import annotations

from typing import Any, Literal

import yaml

from handoff.planning.routing import Files, RoutingRule
from specialists.files import crew_nodes as nodes
from specialists.files.crew_nodes import FaultCollector
from specialists.loading.rule_patterns import BadPattern, compile_pattern, count_ways

MOST_RULES = 50
MOST_PATTERNS = 10
MOST_WAYS = 20_000
"""Most ways in which all patterns of a file may match from one place in a text: less than a second at worst."""
_FILES: tuple[Literal["any", "none", "some"], ...] = ("any", "none", "some")
_KEYS = ("name", "to", "when", "unless", "files", "done_when")


def read(noting: FaultCollector, node: yaml.Node, known: tuple[str, ...]) -> tuple[RoutingRule, ...]:
    """Read the routing rules. `known` are the names of the members to which they may lead."""
    listed = nodes.sequence(noting, node, "rules")
    if len(listed) > MOST_RULES:
        noting.fault(node, f"there are {len(listed)} rules; at most {MOST_RULES} are allowed")
    rules: dict[str, RoutingRule] = {}
    each_ways: list[int] = []
    for one in listed[:MOST_RULES]:
        rule = _read_rule(noting, one, known, each_ways)
        if rule is None:
            continue
        if rule.name in rules:
            noting.fault(one, f"two rules are called {rule.name}; the trace tells them apart by their names")
        rules[rule.name] = rule
    if sum(each_ways) > MOST_WAYS:
        text = f"all patterns together can match in {sum(each_ways):,} ways at each place"
        noting.fault(node, f"{text}, and at most {MOST_WAYS:,} are allowed; use fewer repeats, or plain words")
    return tuple(rules.values())


def _read_rule(
    noting: FaultCollector, node: yaml.Node, known: tuple[str, ...], each_ways: list[int]
) -> RoutingRule | None:
    """Read one rule; None, with faults, if it cannot be read. The ways of its patterns are added to `each_ways`."""
    keys = nodes.mapping(noting, node, _KEYS, "a rule")
    missing = [key for key in ("name", "to", "when") if key not in keys]
    for key in missing if keys else ():
        noting.fault(node, f"the rule has no {key}")
    if missing:
        return None
    texts = {key: nodes.text(noting, keys[key][1], key) for key in ("name", "done_when") if key in keys}
    files = _read_files(noting, keys["files"][1]) if "files" in keys else "any"
    to = nodes.names(noting, keys["to"][1], "to", known)
    when = _read_patterns(noting, keys["when"][1], "when", each_ways)
    unless = _read_patterns(noting, keys["unless"][1], "unless", each_ways) if "unless" in keys else ()
    if not (texts["name"] and to and when):
        return None
    return RoutingRule(texts["name"], to, when, unless, files, texts.get("done_when", ""))


def _read_patterns(noting: FaultCollector, node: yaml.Node, key: str, each_ways: list[int]) -> tuple[Any, ...]:
    listed = nodes.sequence(noting, node, key)
    if len(listed) > MOST_PATTERNS:
        noting.fault(node, f"{key} has {len(listed)} patterns; at most {MOST_PATTERNS} are allowed")
    found = []
    for one in listed[:MOST_PATTERNS]:
        text = nodes.text(noting, one, key)
        if not text:
            continue
        try:
            found.append(compile_pattern(text))
            each_ways.append(count_ways(text))
        except BadPattern as error:
            noting.fault(one, f"the pattern {text!r} may not be used: {error}")
    return tuple(found)


def _read_files(noting: FaultCollector, node: yaml.Node) -> Files:
    if isinstance(node, yaml.ScalarNode):
        for word in _FILES:
            if node.value == word:
                return word
    elif isinstance(node, yaml.SequenceNode) and node.value:
        endings = tuple(nodes.text(noting, one, "files").lstrip(".") for one in node.value)
        if all(ending.isalnum() for ending in endings):
            return endings
    noting.fault(node, f"files must be {', '.join(_FILES)}, or a list of endings such as [csv, xlsx]")
    return "any"


def read_equals(noting: FaultCollector, node: yaml.Node, known: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Read `equals`: groups of specialists that do the same work."""
    groups: list[tuple[str, ...]] = []
    for one in nodes.sequence(noting, node, "equals"):
        group = nodes.names(noting, one, "equals", known)
        if len(group) == 1:
            noting.fault(one, f"{group[0]} stands alone in a group of equals; name two or more, or take it out")
        for name in group:
            if any(name in other for other in groups):
                noting.fault(one, f"{name} stands in two groups of equals; keep one")
        groups.append(group)
    return tuple(groups)
