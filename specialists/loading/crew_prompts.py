"""Reads the texts that a crew adds to prompts: `instructions`, `examples` and `answer`, and a `contact`.

The first three go to the supervisor, whose roles get them after their own rules, under a heading that says whose they
are. The contact goes into specialists' prompts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from handoff.contracts import PATH_SEPARATOR, WHO_ANSWER, WHO_ASK, WHO_NOBODY, WHO_SEVERAL, Member
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.planner_reply import parse_reply
from specialists.files import yaml_nodes as nodes
from specialists.files.frontmatter import suggest_name
from specialists.files.yaml_nodes import FaultCollector

INSTRUCTED_ROLES = ("planner", "synthesizer")
"""The roles that a crew may instruct. Instructions for the planner also go to the replanner."""
ANSWER_FORM_HEADING = "Form of the answer:"
LONGEST_INSTRUCTION = 1_500
"""Most characters of an instruction: every call of its role carries it."""
LONGEST_ANSWER_FORM = 600
"""Most characters of the form of the answer."""
MAX_EXAMPLES = 8
LONGEST_EXAMPLE_REQUEST = 300
LONGEST_EXAMPLE = 3_000
"""Most characters of an example, with its plan."""

_EXAMPLE_KEYS = ("request", "why", "who", "answer", "ask", "options", "nobody", "plan")
_DECISION_KEYS = ("who", "answer", "ask", "nobody", "plan")
_PLAN_KEYS = ("goal", "subtasks", "strategy", "instruction", "missing")
_SUBTASK_KEYS = ("id", "title", "intent", "specialist", "after", "done_when", "tier", "critical")


@dataclass(frozen=True, slots=True)
class PlanningExample:
    """An example request, and the planner's reply to it: `why` and `next`, as `planner_reply` reads it."""

    request: str
    reply: Mapping[str, Any]

    def with_outer_names(self, path: str, members: frozenset[str]) -> PlanningExample:
        """Return the example with each member under its name outside the crew, `path/member`."""
        decision = dict(self.reply["next"])
        if decision["who"] in members:
            decision["who"] = f"{path}{PATH_SEPARATOR}{decision['who']}"
        if "subtasks" in decision:
            subtasks = decision["subtasks"]
            decision["subtasks"] = [
                {**one, "specialist": f"{path}{PATH_SEPARATOR}{one['specialist']}"} for one in subtasks
            ]
        return PlanningExample(self.request, {**self.reply, "next": decision})

    @property
    def line(self) -> str:
        """The example as one line of the planner's prompt."""
        return f"{_dump_json(self.request)}: {_dump_json(self.reply)}"


@dataclass(frozen=True, slots=True)
class CrewPrompts:
    """A crew's texts for its supervisor. `members` are the members that its examples may name, as called inside it."""

    instructions: Mapping[str, str] = field(default_factory=dict)
    """Instructions by role, for the roles in `INSTRUCTED_ROLES`."""
    examples: tuple[PlanningExample, ...] = ()
    answer: str = ""
    """The form of the answer."""
    members: frozenset[str] = frozenset()
    house_rules: str = ""
    """The text of `AGENTS.md` and `CLAUDE.md` in the crew's folder, from `crew_context.read_house_rules`."""

    def with_outer_names(self, path: str) -> CrewPrompts:
        """Return the texts with each member under its name outside the crew, `path/member`.

        With an empty path (the outermost crew), nothing changes.
        """
        return (
            replace(self, examples=tuple(one.with_outer_names(path, self.members) for one in self.examples))
            if path
            else self
        )

    @property
    def texts_by_role(self) -> dict[str, str]:
        """The texts for each role, by its name, and under `examples` the planner's examples, one a line."""
        texts = dict(self.instructions)
        for role in INSTRUCTED_ROLES if self.house_rules else ():
            texts[role] = "\n\n".join(filter(None, (texts.get(role, ""), self.house_rules)))
        if self.examples:
            texts["examples"] = "\n".join(one.line for one in self.examples)
        if "planner" in texts:
            texts["replanner"] = texts["planner"]
        if self.answer:
            form = f"{ANSWER_FORM_HEADING}\n{self.answer}"
            texts["synthesizer"] = "\n\n".join(filter(None, (texts.get("synthesizer", ""), form)))
        return texts


NO_PROMPTS = CrewPrompts()


def read_instructions(collector: FaultCollector, node: yaml.Node) -> dict[str, str]:
    """Read the instructions, one text for both roles or one for each. Returns role -> text."""
    if isinstance(node, yaml.ScalarNode):
        text = _read_bounded_text(collector, node, "instructions", LONGEST_INSTRUCTION)
        return dict.fromkeys(INSTRUCTED_ROLES, text) if text else {}
    keys = nodes.read_mapping(collector, node, INSTRUCTED_ROLES, "instructions")
    return {
        role: text
        for role, (_, one) in keys.items()
        if (text := _read_bounded_text(collector, one, role, LONGEST_INSTRUCTION))
    }


def read_answer_form(collector: FaultCollector, node: yaml.Node) -> str:
    """Read the form of the answer."""
    return _read_bounded_text(collector, node, "answer", LONGEST_ANSWER_FORM)


def read_examples(collector: FaultCollector, node: yaml.Node, members: tuple[str, ...]) -> tuple[PlanningExample, ...]:
    """Read the examples. An example that the planner's own checks would refuse is left out, with a fault."""
    example_nodes = nodes.read_sequence(collector, node, "examples")
    if len(example_nodes) > MAX_EXAMPLES:
        collector.add_fault(node, f"examples has {len(example_nodes)} items; at most {MAX_EXAMPLES} are allowed")
    examples = (_read_example(collector, one, members) for one in example_nodes[:MAX_EXAMPLES])
    return tuple(one for one in examples if one is not None)


def _read_example(collector: FaultCollector, node: yaml.Node, members: tuple[str, ...]) -> PlanningExample | None:
    keys = nodes.read_mapping(collector, node, _EXAMPLE_KEYS, "an example")
    decision_keys = [key for key in _DECISION_KEYS if key in keys]
    if keys and ("request" not in keys or len(decision_keys) != 1):
        collector.add_fault(node, f"an example has a request and one of {', '.join(_DECISION_KEYS)}")
    if "request" not in keys or len(decision_keys) != 1:
        return None
    request = " ".join(_read_bounded_text(collector, keys["request"][1], "request", LONGEST_EXAMPLE_REQUEST).split())
    why = nodes.read_text(collector, keys["why"][1], "why").strip() if "why" in keys else ""
    decision = _read_example_decision(
        collector, decision_keys[0], {key: value for key, (_, value) in keys.items()}, members
    )
    if not request or decision is None:
        return None
    example = PlanningExample(request, {"why": why or _DEFAULT_REASONS[decision_keys[0]], "next": decision})
    if len(example.line) > LONGEST_EXAMPLE:
        collector.add_fault(
            node, f"the example has {len(example.line)} characters; at most {LONGEST_EXAMPLE} are allowed"
        )
    return example if _check_example(collector, keys[decision_keys[0]][1], example, members) else None


_DEFAULT_REASONS = {
    "who": "one kind of work",
    "answer": "no work",
    "ask": "unclear",
    "nobody": "nobody's work",
    "plan": "several",
}


def _read_example_decision(
    collector: FaultCollector, decision_key: str, keys: Mapping[str, yaml.Node], members: tuple[str, ...]
) -> dict[str, Any] | None:
    """Return the decision on a request, as the planner would write it; None, with faults, if it cannot be read."""
    node = keys[decision_key]
    if decision_key == "plan":
        plan = _read_plan(collector, node)
        return {"who": WHO_SEVERAL, **plan} if plan else None
    if decision_key == "nobody":
        missing_parts = nodes.read_texts(collector, node, "nobody")
        return {"who": WHO_NOBODY, "missing": missing_parts} if missing_parts else None
    text = nodes.read_text(collector, node, decision_key).strip()
    if decision_key == "who":
        if text and text not in members:
            known_names = ", ".join(sorted(members))
            collector.add_fault(
                node, f"there is no specialist {text}{suggest_name(text, members)}; there are {known_names}"
            )
        return {"who": text} if text in members else None
    options = nodes.read_texts(collector, keys["options"], "options") if "options" in keys else []
    return {"who": WHO_ASK if decision_key == "ask" else WHO_ANSWER, "text": text, "options": options} if text else None


def _read_plan(collector: FaultCollector, node: yaml.Node) -> dict[str, Any]:
    """Read a plan and add the defaults of missing fields; {}, with a fault, if `goal` or `subtasks` is missing."""
    keys = nodes.read_mapping(collector, node, _PLAN_KEYS, "the plan of an example")
    if keys and not {"goal", "subtasks"} <= set(keys):
        collector.add_fault(node, "the plan of an example has a goal and subtasks")
    if not {"goal", "subtasks"} <= set(keys):
        return {}
    subtasks = []
    for one in nodes.read_sequence(collector, keys["subtasks"][1], "subtasks"):
        fields = nodes.read_mapping(collector, one, _SUBTASK_KEYS, "a subtask")
        values = {key: nodes.read_plain_value(value) for key, (_, value) in fields.items()}
        values["critical"] = values.get("critical") == "true"
        defaults: dict[str, Any] = {
            "id": "",
            "title": "",
            "intent": "",
            "specialist": "",
            "after": [],
            "done_when": "",
            "tier": None,
        }
        subtasks.append({**defaults, **values})
    other_values = {key: nodes.read_plain_value(value) for key, (_, value) in keys.items() if key != "subtasks"}
    return {
        "goal": other_values["goal"],
        "subtasks": subtasks,
        "strategy": "merge",
        "instruction": "",
        "missing": [],
        **other_values,
    }


def _check_example(
    collector: FaultCollector, node: yaml.Node, example: PlanningExample, members: tuple[str, ...]
) -> bool:
    """Return True if the planner's own checks accept the reply unchanged; otherwise add faults."""
    members_by_name = {name: Member(name=name) for name in members}
    brief = PlanBrief(example.request, may_answer=True, may_ask=True)
    reply = parse_reply(json.dumps(example.reply), brief, members_by_name)
    for fault in reply.faults:
        collector.add_fault(node, f"the planner's checks would refuse this example: {fault}")
    repair_reasons = [one for one in reply.reasons if one.startswith("mended: ")]
    for one in repair_reasons:
        collector.add_fault(node, f"this example would be {one}; write it that way")
    return not reply.faults and not repair_reasons


def _read_bounded_text(collector: FaultCollector, node: yaml.Node, key: str, max_length: int) -> str:
    text = nodes.read_text(collector, node, key).strip()
    if len(text) > max_length:
        collector.add_fault(
            node, f"{key} has {len(text):,} characters; at most {max_length:,} are allowed, as every call carries it"
        )
    return text


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


CONTACT_PLACEHOLDER = "{contact}"
"""The placeholder for the contact in a specialist's prompt."""
NO_CONTACT = "nobody (the crew names no contact)"
LONGEST_CONTACT = 120
_FORBIDDEN_CHARACTER = re.compile(r"[<>\n\r]")
_MENTION = re.compile(r"<[@#!]")


def read_contact(collector: FaultCollector, node: yaml.Node) -> str:
    """Read a Slack id of a person (U...), user group (S...) or channel (C...), or words such as a mail address.

    Returns "", with a fault, for a mention such as `<@U...>`, or a text that is too long or has forbidden characters.
    """
    contact = nodes.read_text(collector, node, "contact").strip()
    if _MENTION.match(contact):
        collector.add_fault(node, f"contact takes the bare id, not {contact}: U0123ABCD, S0123ABCD or C0123ABCD")
        return ""
    if _FORBIDDEN_CHARACTER.search(contact) or len(contact) > LONGEST_CONTACT:
        text = f"contact takes an id of Slack, or words on one line, at most {LONGEST_CONTACT} characters"
        text += " and without < and >"
        collector.add_fault(node, text)
        return ""
    return contact


def insert_contact(prompt: str, contact: str) -> str:
    """Return the prompt with the contact, or `NO_CONTACT` if it is "", in place of `CONTACT_PLACEHOLDER`."""
    return prompt.replace(CONTACT_PLACEHOLDER, contact or NO_CONTACT)
