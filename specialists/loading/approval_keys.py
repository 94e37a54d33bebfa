"""Reads the keys on approvals of a crew or a specialist: `approve`, `approvers`, `quorum` and `self`.

The keys stand in a specialist's front matter or in a crew's file. A key that a specialist's file lacks is taken from
the file of its crew or, if that lacks it too, of the nearest crew around it that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from handoff.approval_values import ADMINS, DEFAULT_APPROVAL_TERMS, ApprovalTerms
from handoff.contracts import REQUESTER
from handoff.text.slack_ids import is_group_id, is_person_id
from specialists.files.frontmatter import CrewFault, MarkdownPage, describe_value, suggest_name
from specialists.tools.tool import Tool

APPROVAL_KEYS = ("approve", "approvers", "quorum", "self")
MAX_APPROVERS = 10
"""The largest quorum, and the most approvers that may be named."""

ApprovalMode = Literal["ask", "never", "always"]
_APPROVAL_MODES: tuple[ApprovalMode, ...] = get_args(ApprovalMode)


@dataclass(frozen=True)
class ApprovalRules:
    """The keys on approvals in one file. None: the file does not have that key.

    Attributes:
        modes: The value of `approve`: by tool name, the mode that says when people are asked.
        approvers: The people who may approve: `requester`, `admins` and Slack ids.
        quorum: The number of people who have to approve.
        own: The value of `self`: True if people may approve calls of their own requests.
        file: The file, for faults.
        line: The line of the first of these keys, for faults.
    """

    modes: Mapping[str, ApprovalMode] = field(default_factory=dict)
    approvers: tuple[str, ...] | None = None
    quorum: int | None = None
    own: bool | None = None
    file: Path = field(default_factory=Path)
    line: int = 1

    def with_outer(self, outer: ApprovalRules) -> ApprovalRules:
        """Return these rules, with missing keys taken from `outer`, the rules of the crew around."""
        naming_rules = self if self.names_approvers else outer
        return ApprovalRules(
            modes={**outer.modes, **self.modes},
            approvers=outer.approvers if self.approvers is None else self.approvers,
            quorum=outer.quorum if self.quorum is None else self.quorum,
            own=outer.own if self.own is None else self.own,
            file=naming_rules.file,
            line=naming_rules.line,
        )

    @property
    def names_approvers(self) -> bool:
        """True if the file has a key on the people who approve: `approvers`, `quorum` or `self`."""
        return (self.approvers, self.quorum, self.own) != (None, None, None)

    @property
    def usual_terms(self) -> ApprovalTerms:
        """The terms for tools that `approve` does not name."""
        return ApprovalTerms(
            approvers=DEFAULT_APPROVAL_TERMS.approvers if self.approvers is None else self.approvers,
            quorum=self.quorum or DEFAULT_APPROVAL_TERMS.quorum,
            own=DEFAULT_APPROVAL_TERMS.own if self.own is None else self.own,
        )

    def find_terms(self, tool: str) -> ApprovalTerms | None:
        """Return the terms on which a tool's calls are approved; None: they need no approval."""
        mode = self.modes.get(tool, "ask")
        return None if mode == "never" else self.usual_terms.model_copy(update={"mode": mode})

    @property
    def faults(self) -> tuple[CrewFault, ...]:
        """The reason why nobody could ever approve anything by these rules, as a fault; empty if people can."""
        terms = self.usual_terms
        if not terms.own and terms.approvers == (REQUESTER,):
            text = "self is false, and the requester is the only approver; name others under approvers"
            return (CrewFault(self.file, self.line, text),)
        countable = all(one != ADMINS and not is_group_id(one) for one in terms.approvers)
        people = len(terms.approvers) - (not terms.own and REQUESTER in terms.approvers)
        if countable and terms.quorum > people:
            text = f"quorum is {terms.quorum}, and approvers names {people}; name more people, or lower the quorum"
            return (CrewFault(self.file, self.line, text),)
        return ()


NO_APPROVAL_RULES = ApprovalRules()


def read_approval_rules(
    page: MarkdownPage, tools: Mapping[str, Tool], *, own_tools: frozenset[str] | None = None
) -> ApprovalRules:
    """Read the approval keys of a page. Faults are added to the page.

    `own_tools` are the tools of the specialist whose page it is; None for a crew's page, which may name any tool.
    """
    given_values = {key: page.values[key] for key in APPROVAL_KEYS if key in page.values}
    if not given_values:
        return NO_APPROVAL_RULES
    approver_lines = [page.key_lines.get(key, 1) for key in APPROVAL_KEYS[1:] if key in given_values]
    return ApprovalRules(
        modes=_read_modes(page, given_values["approve"], tools, own_tools) if "approve" in given_values else {},
        approvers=_read_approvers(page, given_values["approvers"]) if "approvers" in given_values else None,
        quorum=_read_quorum(page, given_values["quorum"]) if "quorum" in given_values else None,
        own=_read_self_approval(page, given_values["self"]) if "self" in given_values else None,
        file=page.path,
        line=min(approver_lines, default=page.key_lines.get("approve", 1)),
    )


def _read_modes(
    page: MarkdownPage, value: Any, tools: Mapping[str, Tool], own_tools: frozenset[str] | None
) -> dict[str, ApprovalMode]:
    if not isinstance(value, dict) or not value:
        page.add_fault("approve must name tools, each with ask, never or always: {post_note: never}", key="approve")
        return {}
    modes: dict[str, ApprovalMode] = {}
    for name, mode_value in value.items():
        mode = next((one for one in _APPROVAL_MODES if one == mode_value), None)
        known_names = tools if own_tools is None else own_tools
        if name not in known_names:
            whose = "the tools are" if own_tools is None else "its own tools are"
            there = ", ".join(sorted(known_names)) or "none"
            page.add_fault(
                f"approve names the unknown tool {name}{suggest_name(str(name), known_names)}; {whose} {there}",
                key="approve",
            )
        elif name in tools and tools[name].access != "write":
            page.add_fault(
                f"the tool {name} only reads, so nobody approves its calls; take it out of approve", key="approve"
            )
        elif mode is None:
            page.add_fault(
                f"approve says {mode_value!r} of {name}; it takes {', '.join(_APPROVAL_MODES)}", key="approve"
            )
        else:
            modes[name] = mode
    return modes


def _read_approvers(page: MarkdownPage, value: Any) -> tuple[str, ...] | None:
    approvers = [value] if isinstance(value, str) else value
    if not isinstance(approvers, list) or not approvers or not all(isinstance(one, str) for one in approvers):
        text = "approvers must be a list of requester, admins, and Slack ids such as U012AB or S012AB"
        page.add_fault(f"{text}: this is {describe_value(value)}", key="approvers")
        return None
    if len(approvers) > MAX_APPROVERS:
        page.add_fault(
            f"approvers names {len(approvers)}; at most {MAX_APPROVERS} are allowed, so name a user group",
            key="approvers",
        )
    for one in approvers:
        if one not in {REQUESTER, ADMINS} and not is_person_id(one) and not is_group_id(one):
            near = suggest_name(one, (REQUESTER, ADMINS))
            text = f"approvers names {one}{near}; it takes {REQUESTER}, {ADMINS}, and Slack ids of people (U...) and"
            page.add_fault(f"{text} user groups (S...)", key="approvers")
        elif approvers.count(one) > 1:
            page.add_fault(f"approvers names {one} twice; keep one", key="approvers")
    return tuple(dict.fromkeys(approvers))


def _read_quorum(page: MarkdownPage, value: Any) -> int | None:
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= MAX_APPROVERS):
        page.add_fault(f"quorum must be a whole number from 1 to {MAX_APPROVERS}", key="quorum")
        return None
    return int(text)


def _read_self_approval(page: MarkdownPage, value: Any) -> bool | None:
    text = str(value).lower()
    if text not in {"true", "yes", "false", "no"}:
        page.add_fault("self takes true or false: whether people may approve calls of their own requests", key="self")
        return None
    return text in {"true", "yes"}
