"""Reads the texts that a crew gives its supervisor: `instructions`, `examples`, `answer` and `contact`.

They are the crew's own words, so roles get them after their own rules, under a heading that says whose they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from handoff.contracts import ANSWER, ASK, NOBODY, SEVERAL, SLASH, Member
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.planner_reply import read_reply
from specialists.files import crew_nodes as nodes
from specialists.files.crew_nodes import FaultCollector
from specialists.files.frontmatter import did_you_mean

ROLES = ("planner", "synthesizer")
"""The roles that a crew may instruct. Instructions for the planner also go to the replanner."""
FORM = "Form of the answer:"
LONGEST = 1_500
"""Most characters of an instruction: every call of its role carries it."""
LONGEST_FORM = 600
"""Most characters of the form of the answer."""
MOST_EXAMPLES = 8
LONGEST_REQUEST = 300
LONGEST_EXAMPLE = 3_000
"""Most characters of an example, with its plan."""

_EXAMPLE_KEYS = ("request", "why", "who", "answer", "ask", "options", "nobody", "plan")
_BECOMES = ("who", "answer", "ask", "nobody", "plan")
_PLAN_KEYS = ("goal", "subtasks", "strategy", "instruction", "missing")
_PART_KEYS = ("id", "title", "intent", "specialist", "after", "done_when", "tier", "critical")


@dataclass(frozen=True, slots=True)
class Example:
    """An example request, and the planner's reply to it: `why` and `next`, as `planner_reply` reads it."""

    request: str
    reply: Mapping[str, Any]

    def with_outer_names(self, path: str, members: frozenset[str]) -> Example:
        """Return the example with its members named as outside of the crew at `path`."""
        decided = dict(self.reply["next"])
        if decided["who"] in members:
            decided["who"] = f"{path}{SLASH}{decided['who']}"
        if "subtasks" in decided:
            parts = decided["subtasks"]
            decided["subtasks"] = [{**one, "specialist": f"{path}{SLASH}{one['specialist']}"} for one in parts]
        return Example(self.request, {**self.reply, "next": decided})

    @property
    def line(self) -> str:
        """The example as one line of the planner's prompt."""
        return f"{_dump_json(self.request)}: {_dump_json(self.reply)}"


@dataclass(frozen=True, slots=True)
class CrewWords:
    """A crew's texts for its supervisor. `members` are the members that its examples may name, as called inside it."""

    instructions: Mapping[str, str] = field(default_factory=dict)
    """Instructions by role, see `ROLES`."""
    examples: tuple[Example, ...] = ()
    answer: str = ""
    """The form of the answer."""
    members: frozenset[str] = frozenset()
    house_rules: str = ""
    """The text of `AGENTS.md` and `CLAUDE.md` in the crew's folder, see `crew_context.read_house_rules`."""

    def with_outer_names(self, path: str) -> CrewWords:
        """Return the texts with members named as outside of the crew at `path`; "" is the outermost crew."""
        return (
            replace(self, examples=tuple(one.with_outer_names(path, self.members) for one in self.examples))
            if path
            else self
        )

    @property
    def for_roles(self) -> dict[str, str]:
        """The texts for each role, by its name, and under `examples` the planner's examples, one a line."""
        said = dict(self.instructions)
        for role in ROLES if self.house_rules else ():
            said[role] = "\n\n".join(filter(None, (said.get(role, ""), self.house_rules)))
        if self.examples:
            said["examples"] = "\n".join(one.line for one in self.examples)
        if "planner" in said:
            said["replanner"] = said["planner"]
        if self.answer:
            form = f"{FORM}\n{self.answer}"
            said["synthesizer"] = "\n\n".join(filter(None, (said.get("synthesizer", ""), form)))
        return said


NO_WORDS = CrewWords()


def read_instructions(noting: FaultCollector, node: yaml.Node) -> dict[str, str]:
    """Read the instructions, one text for both roles or one for each. Returns role -> text."""
    if isinstance(node, yaml.ScalarNode):
        said = _read_bounded_text(noting, node, "instructions", LONGEST)
        return dict.fromkeys(ROLES, said) if said else {}
    given = nodes.mapping(noting, node, ROLES, "instructions")
    return {role: said for role, (_, one) in given.items() if (said := _read_bounded_text(noting, one, role, LONGEST))}


def read_answer(noting: FaultCollector, node: yaml.Node) -> str:
    """Read the form of the answer."""
    return _read_bounded_text(noting, node, "answer", LONGEST_FORM)


def read_examples(noting: FaultCollector, node: yaml.Node, members: tuple[str, ...]) -> tuple[Example, ...]:
    """Read the examples. One whose reply the planner's own checks would refuse is a fault."""
    there = nodes.sequence(noting, node, "examples")
    if len(there) > MOST_EXAMPLES:
        noting.fault(node, f"examples has {len(there)} items; at most {MOST_EXAMPLES} are allowed")
    found = (_read_example(noting, one, members) for one in there[:MOST_EXAMPLES])
    return tuple(one for one in found if one is not None)


def _read_example(noting: FaultCollector, node: yaml.Node, members: tuple[str, ...]) -> Example | None:
    keys = nodes.mapping(noting, node, _EXAMPLE_KEYS, "an example")
    becomes = [key for key in _BECOMES if key in keys]
    if keys and ("request" not in keys or len(becomes) != 1):
        noting.fault(node, f"an example has a request and one of {', '.join(_BECOMES)}")
    if "request" not in keys or len(becomes) != 1:
        return None
    request = " ".join(_read_bounded_text(noting, keys["request"][1], "request", LONGEST_REQUEST).split())
    why = nodes.text(noting, keys["why"][1], "why").strip() if "why" in keys else ""
    decided = _read_decision(noting, becomes[0], {key: value for key, (_, value) in keys.items()}, members)
    if not request or decided is None:
        return None
    example = Example(request, {"why": why or _WHY[becomes[0]], "next": decided})
    if len(example.line) > LONGEST_EXAMPLE:
        noting.fault(node, f"the example has {len(example.line)} characters; at most {LONGEST_EXAMPLE} are allowed")
    return example if _is_example_accepted(noting, keys[becomes[0]][1], example, members) else None


_WHY = {"who": "one kind of work", "answer": "no work", "ask": "unclear", "nobody": "nobody's work", "plan": "several"}


def _read_decision(
    noting: FaultCollector, becomes: str, keys: Mapping[str, yaml.Node], members: tuple[str, ...]
) -> dict[str, Any] | None:
    """Return the decision on a request, as the planner would write it; None, with faults, if it cannot be read."""
    node = keys[becomes]
    if becomes == "plan":
        plan = _read_plan(noting, node)
        return {"who": SEVERAL, **plan} if plan else None
    if becomes == "nobody":
        missing = nodes.texts(noting, node, "nobody")
        return {"who": NOBODY, "missing": missing} if missing else None
    said = nodes.text(noting, node, becomes).strip()
    if becomes == "who":
        if said and said not in members:
            there = ", ".join(sorted(members))
            noting.fault(node, f"there is no specialist {said}{did_you_mean(said, members)}; there are {there}")
        return {"who": said} if said in members else None
    options = nodes.texts(noting, keys["options"], "options") if "options" in keys else []
    return {"who": ASK if becomes == "ask" else ANSWER, "text": said, "options": options} if said else None


def _read_plan(noting: FaultCollector, node: yaml.Node) -> dict[str, Any]:
    """Read a plan with all its fields, in the order in which a planner writes them; empty if it lacks a field."""
    given = nodes.mapping(noting, node, _PLAN_KEYS, "the plan of an example")
    if given and not {"goal", "subtasks"} <= set(given):
        noting.fault(node, "the plan of an example has a goal and subtasks")
    if not {"goal", "subtasks"} <= set(given):
        return {}
    parts = []
    for one in nodes.sequence(noting, given["subtasks"][1], "subtasks"):
        fields = nodes.mapping(noting, one, _PART_KEYS, "a subtask")
        said = {key: nodes.read_plain_value(value) for key, (_, value) in fields.items()}
        said["critical"] = said.get("critical") == "true"
        usual: dict[str, Any] = {
            "id": "",
            "title": "",
            "intent": "",
            "specialist": "",
            "after": [],
            "done_when": "",
            "tier": None,
        }
        parts.append({**usual, **said})
    rest = {key: nodes.read_plain_value(value) for key, (_, value) in given.items() if key != "subtasks"}
    return {"goal": rest["goal"], "subtasks": parts, "strategy": "merge", "instruction": "", "missing": [], **rest}


def _is_example_accepted(noting: FaultCollector, node: yaml.Node, example: Example, members: tuple[str, ...]) -> bool:
    """Return True if the planner's own checks accept the reply unchanged; otherwise add faults."""
    known = {name: Member(name=name) for name in members}
    brief = PlanBrief(example.request, may_answer=True, may_ask=True)
    reply = read_reply(json.dumps(example.reply), brief, known)
    for fault in reply.faults:
        noting.fault(node, f"the planner's checks would refuse this example: {fault}")
    mended = [one for one in reply.reasons if one.startswith("mended: ")]
    for one in mended:
        noting.fault(node, f"this example would be {one}; write it that way")
    return not reply.faults and not mended


def _read_bounded_text(noting: FaultCollector, node: yaml.Node, key: str, most: int) -> str:
    said = nodes.text(noting, node, key).strip()
    if len(said) > most:
        noting.fault(
            node, f"{key} has {len(said):,} characters; at most {most:,} are allowed, as every call carries it"
        )
    return said


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


PLACE = "{contact}"
"""The placeholder for the contact in a specialist's prompt."""
NO_CONTACT = "nobody (the crew names no contact)"
LONGEST_CONTACT = 120
_ODD = re.compile(r"[<>\n\r]")
_SPOKEN = re.compile(r"<[@#!]")


def read_contact(noting: FaultCollector, node: yaml.Node) -> str:
    """Read a Slack id of a person (U...), user group (S...) or channel (C...), or words such as a mail address."""
    said = nodes.text(noting, node, "contact").strip()
    if _SPOKEN.match(said):
        noting.fault(node, f"contact takes the bare id, not {said}: U0123ABCD, S0123ABCD or C0123ABCD")
        return ""
    if _ODD.search(said) or len(said) > LONGEST_CONTACT:
        text = f"contact takes an id of Slack, or words on one line, at most {LONGEST_CONTACT} characters"
        text += " and without < and >"
        noting.fault(node, text)
        return ""
    return said


def insert_contact(prompt: str, contact: str) -> str:
    """Return the prompt with the contact in place of `PLACE`."""
    return prompt.replace(PLACE, contact or NO_CONTACT)
