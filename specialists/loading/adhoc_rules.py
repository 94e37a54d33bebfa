"""Reads from a crew's file the rules for ad-hoc specialists, and the tiers of the supervisor's roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import yaml

from handoff.contracts import Tier
from handoff.effects import ROLES
from handoff.planning.adhoc import MOST, AdhocAllowance
from specialists.files import crew_nodes as nodes
from specialists.files.crew_nodes import FaultCollector
from specialists.files.frontmatter import did_you_mean
from specialists.tools.tool import Tool
from specialists.turns import finish_tools

_KEYS = ("tools", "tiers", "at_most", "fallback")
_TIERS: tuple[Tier, ...] = get_args(Tier)


def read(noting: FaultCollector, node: yaml.Node, known: tuple[str, ...], tools: Mapping[str, Tool]) -> AdhocAllowance:
    """Read which ad-hoc specialists a plan may have. Tools that write are faults, since such specialists only read.

    `known` are the names of the crew's members, which no ad-hoc specialist may have.
    """
    keys = {key: value for key, (_, value) in nodes.mapping(noting, node, _KEYS, "make").items()}
    usual = AdhocAllowance()
    fallback = nodes.names(noting, keys["fallback"], "fallback", known) if "fallback" in keys else ()
    if len(fallback) > 1:
        noting.fault(keys["fallback"], "fallback names one specialist")
    return AdhocAllowance(
        tools=_read_lent_tools(noting, keys["tools"], tools) if "tools" in keys else (),
        tiers=_read_tiers(noting, keys["tiers"]) if "tiers" in keys else usual.tiers,
        at_most=nodes.number(noting, keys["at_most"], "at_most", (1, MOST)) if "at_most" in keys else usual.at_most,
        fallback=fallback[0] if fallback else "",
        taken=frozenset(known),
        writing=frozenset(name for name, tool in tools.items() if tool.access != "read"),
    )


def read_roles(noting: FaultCollector, node: yaml.Node) -> dict[str, Tier]:
    """Read the tiers of the supervisor's roles, by name."""
    roles: dict[str, Tier] = {}
    for role, (_, value) in nodes.mapping(noting, node, ROLES, "roles").items():
        tier = next((tier for tier in _TIERS if tier == str(value.value)), None)
        if tier is None:
            noting.fault(value, f"{role} takes a tier: {', '.join(_TIERS)}")
        else:
            roles[role] = tier
    return roles


def _read_lent_tools(noting: FaultCollector, node: yaml.Node, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    listed = [] if isinstance(node, yaml.SequenceNode) and not node.value else nodes.sequence(noting, node, "tools")
    names: list[str] = []
    for one in listed:
        name = nodes.text(noting, one, "tools")
        if name in finish_tools.NAMES:
            noting.fault(one, f"every specialist has {name}; take it out of tools")
        elif name and name not in tools:
            there = ", ".join(sorted(tools)) or "none"
            noting.fault(one, f"unknown tool {name}{did_you_mean(name, tools)}; the tools are {there}")
        elif name and tools[name].access != "read":
            noting.fault(one, f"the tool {name} writes, and a specialist made for a job only reads; take it out")
        elif name in names:
            noting.fault(one, f"tools names {name} twice; keep one")
        elif name:
            names.append(name)
            for fault in tools[name].faults:
                noting.fault(one, f"the tool {name} {fault}")
    return tuple(names)


def _read_tiers(noting: FaultCollector, node: yaml.Node) -> tuple[Tier, ...]:
    named = [str(one.value) for one in nodes.sequence(noting, node, "tiers")]
    tiers = tuple(tier for tier in _TIERS if tier in named)
    if named and len(tiers) != len(named):
        noting.fault(node, f"tiers takes some of {', '.join(_TIERS)}, each once")
    return tiers
