"""Reads two keys of a crew's file: `make` (rules for ad-hoc specialists) and `roles` (the roles' tiers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import yaml

from handoff.contracts import Tier
from handoff.effects import ROLES
from handoff.planning.adhoc import MAX_SPECIALISTS_PER_PLAN, AdhocAllowance
from specialists.files import yaml_nodes as nodes
from specialists.files.frontmatter import suggest_name
from specialists.files.yaml_nodes import FaultCollector
from specialists.tools.tool import Tool
from specialists.turns import finish_tools

_KEYS = ("tools", "tiers", "at_most", "fallback")
_TIERS: tuple[Tier, ...] = get_args(Tier)


def read_allowance(
    collector: FaultCollector, node: yaml.Node, members: tuple[str, ...], tools: Mapping[str, Tool]
) -> AdhocAllowance:
    """Read the ad-hoc specialists that a plan may have. Tools that write are faults, since such specialists only read.

    `members` are the names of the crew's members, which no ad-hoc specialist may have.
    """
    keys = {key: value for key, (_, value) in nodes.read_mapping(collector, node, _KEYS, "make").items()}
    defaults = AdhocAllowance()
    fallback = nodes.read_names(collector, keys["fallback"], "fallback", members) if "fallback" in keys else ()
    if len(fallback) > 1:
        collector.add_fault(keys["fallback"], "fallback names one specialist")
    return AdhocAllowance(
        tools=_read_lent_tools(collector, keys["tools"], tools) if "tools" in keys else (),
        tiers=_read_tiers(collector, keys["tiers"]) if "tiers" in keys else defaults.tiers,
        at_most=nodes.read_number(collector, keys["at_most"], "at_most", (1, MAX_SPECIALISTS_PER_PLAN))
        if "at_most" in keys
        else defaults.at_most,
        fallback=fallback[0] if fallback else "",
        reserved_names=frozenset(members),
        writing_tools=frozenset(name for name, tool in tools.items() if tool.access != "read"),
    )


def read_role_tiers(collector: FaultCollector, node: yaml.Node) -> dict[str, Tier]:
    """Return the tiers of the supervisor's roles by name; an unknown role or tier is a fault and left out."""
    roles: dict[str, Tier] = {}
    for role, (_, value) in nodes.read_mapping(collector, node, ROLES, "roles").items():
        tier = next((tier for tier in _TIERS if tier == str(value.value)), None)
        if tier is None:
            collector.add_fault(value, f"{role} takes a tier: {', '.join(_TIERS)}")
        else:
            roles[role] = tier
    return roles


def _read_lent_tools(collector: FaultCollector, node: yaml.Node, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    tool_nodes = (
        [] if isinstance(node, yaml.SequenceNode) and not node.value else nodes.read_sequence(collector, node, "tools")
    )
    names: list[str] = []
    for one in tool_nodes:
        name = nodes.read_text(collector, one, "tools")
        if name in finish_tools.FINISH_TOOLS:
            collector.add_fault(one, f"every specialist has {name}; take it out of tools")
        elif name and name not in tools:
            there = ", ".join(sorted(tools)) or "none"
            collector.add_fault(one, f"unknown tool {name}{suggest_name(name, tools)}; the tools are {there}")
        elif name and tools[name].access != "read":
            collector.add_fault(one, f"the tool {name} writes, and a specialist made for a job only reads; take it out")
        elif name in names:
            collector.add_fault(one, f"tools names {name} twice; keep one")
        elif name:
            names.append(name)
            for fault in tools[name].faults:
                collector.add_fault(one, f"the tool {name} {fault}")
    return tuple(names)


def _read_tiers(collector: FaultCollector, node: yaml.Node) -> tuple[Tier, ...]:
    tier_names = [str(one.value) for one in nodes.read_sequence(collector, node, "tiers")]
    tiers = tuple(tier for tier in _TIERS if tier in tier_names)
    if tier_names and len(tiers) != len(tier_names):
        collector.add_fault(node, f"tiers takes some of {', '.join(_TIERS)}, each once")
    return tiers
