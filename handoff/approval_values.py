"""What people are asked to approve, and who may: values that stand in the log, and that cards are drawn from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from handoff.contracts import REQUESTER, Contract
from handoff.text.member_ids import is_group

ApprovalKind = Literal["write", "egress", "cost", "sign_in"]
"""What the approval is of.

- `write`: the call of a tool that writes.
- `egress`: a call of a tool that reads, and that would send out what nobody has released.
- `cost`: an attempt that is likely to cost more than the crew or the settings allow without asking.
- `sign_in`: that a person signs in to the server (`target`) to which a call goes. It is approved by having done so.
"""
ApprovalChoice = Literal["approve", "approve_alike", "edit", "deny", "apart"]
"""What a person may choose. `approve_alike`: this one, and similar ones for its requester, see
`handoff.engine.approvals.precedents`. `apart`: to decide on several calls one by one."""
RulingOutcome = Literal["approved", "edited", "denied", "expired"]
"""How an approval ended. `edited`: approved with other arguments. `expired`: nobody decided in time; not a denial."""

ADMINS = "admins"
"""With `REQUESTER` the word that stands for people among `approvers`; all others are Slack ids."""


class ApprovalTerms(Contract):
    """How a tool's calls are approved.

    `mode`: with `ask` people may approve similar calls beforehand; with `always` each call is asked for. `approvers`
    may decide: `requester`, `admins`, and Slack ids of people (`U...`, `W...`) and of user groups (`S...`). At least
    `quorum` of them have to approve. `own`: who made the request may be among them.
    """

    mode: Literal["ask", "always"] = "ask"
    approvers: tuple[str, ...] = (REQUESTER,)
    quorum: int = Field(default=1, ge=1)
    own: bool = True

    def with_approvers(self, approvers: tuple[str, ...]) -> ApprovalTerms:
        """Return the terms with these ids in place of the approvers; as they are if there is none.

        A quorum takes no more people than are named, unless a user group is among them.
        """
        if not approvers:
            return self
        countable = not any(map(is_group, approvers))
        quorum = min(self.quorum, len(approvers)) if countable else self.quorum
        return self.model_copy(update={"approvers": approvers, "quorum": quorum})


DEFAULT_APPROVAL_TERMS = ApprovalTerms()
"""The terms of a tool that writes, if its crew sets none: the requester is asked."""


class Approval(Contract):
    """A call that people have to approve before it is made, or an attempt that they have to approve before it begins.

    `call` is the id of the call in its turn; empty for an attempt. `tool` is the tool's name, or the specialist's for
    an attempt. `what` says in a few words for people what is to be done, and `why` why they are asked. `arguments` are
    those that the tool would be run with, as JSON, and `digest` is theirs: only a call with that digest is approved.
    `target` says where it goes to (a host, an engine, a channel); empty if the tool does not say. `leaves` is, word for
    word, what would leave.

    `in_view` are the ids of all `PrivateSource`s in view: similar calls are covered only while nothing more is. `new`
    names what has come since people approved similar calls: it is why they are asked.

    `parts` are several calls of one turn that are decided together; `digest` is then that of theirs, and `call`,
    `arguments` and `target` are empty. `then` are the calls that are asked about after this one, each by itself.
    """

    kind: ApprovalKind = "write"
    call: str = ""
    tool: str
    what: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    digest: str = ""
    target: str = ""
    leaves: str = ""
    why: str = ""
    in_view: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    terms: ApprovalTerms = DEFAULT_APPROVAL_TERMS
    parts: tuple[Approval, ...] = ()
    then: tuple[Approval, ...] = ()

    @property
    def calls(self) -> tuple[Approval, ...]:
        """The calls that it is about, each as an approval of its own."""
        return self.parts or (self,)

    @property
    def scope(self) -> tuple[str, str, str]:
        """What similar calls have in common: the kind, the tool and where it goes to.

        A sign-in is for all tools of its server.
        """
        return self.kind, "" if self.kind == "sign_in" else self.tool, self.target


def combine_approvals(parts: tuple[Approval, ...]) -> Approval:
    """Return one approval for several calls of a turn, on the terms that they share; a single one as it is."""
    if len(parts) == 1:
        return parts[0]
    tools = ", ".join(dict.fromkeys(one.tool for one in parts))
    return Approval(
        kind=parts[0].kind,
        tool=tools,
        what="; ".join(one.what for one in parts),
        digest=digest_of(tools, {"calls": [one.digest for one in parts]}),
        why=parts[0].why,
        terms=parts[0].terms,
        parts=parts,
    )


def digest_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the sha256 (hex) of a tool's name and of its arguments as canonical JSON."""
    canonical = json.dumps([tool, dict(arguments)], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
