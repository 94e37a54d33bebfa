"""Values of approvals: what people are asked to approve, and who may approve it. The log contains them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from handoff.contracts import REQUESTER, Contract
from handoff.text.slack_ids import is_group_id

ApprovalKind = Literal["write", "egress", "cost", "sign_in"]
"""The kind of thing to approve.

- `write`: a call of a writing tool.
- `egress`: a call of a reading tool that would send out content that nobody has released.
- `cost`: an attempt whose estimate exceeds what the crew or the settings allow without asking.
- `sign_in`: a sign-in to the server (`target`) that a call goes to. A person approves it by signing in.
"""
ApprovalChoice = Literal["approve", "approve_alike", "edit", "deny", "apart"]
"""A person's choice.

- `approve`, `deny`: this call alone.
- `approve_alike`: this call, and later similar calls for its requester (`handoff.engine.approvals.list_precedents`).
- `edit`: this call with other arguments.
- `apart`: decide on several calls one by one.
"""
RulingOutcome = Literal["approved", "edited", "denied", "expired"]
"""The end of an approval. `edited`: approved with other arguments. `expired`: nobody decided in time."""

ADMINS = "admins"
"""The word for the admins among `approvers`. The other entries are `REQUESTER` and Slack ids."""


class ApprovalTerms(Contract):
    """The rules for approving a tool's calls."""

    mode: Literal["ask", "always"] = "ask"
    """`ask`: people may approve similar calls in advance. `always`: every call needs an approval of its own."""
    approvers: tuple[str, ...] = (REQUESTER,)
    """The people who may decide: `requester`, `admins`, and Slack ids of people (`U...`, `W...`) and of user groups
    (`S...`)."""
    quorum: int = Field(default=1, ge=1)
    """The number of people who have to approve."""
    own: bool = True
    """True if the requester may approve calls for their own request."""

    def with_approvers(self, approvers: tuple[str, ...]) -> ApprovalTerms:
        """Return the terms with these approvers; unchanged if `approvers` is empty.

        The quorum is lowered to the number of approvers, unless a user group is among them.
        """
        if not approvers:
            return self
        countable = not any(map(is_group_id, approvers))
        quorum = min(self.quorum, len(approvers)) if countable else self.quorum
        return self.model_copy(update={"approvers": approvers, "quorum": quorum})


DEFAULT_APPROVAL_TERMS = ApprovalTerms()
"""The terms of a writing tool whose crew sets none: the requester approves."""


class Approval(Contract):
    """A tool call, or an attempt, that people have to approve before it begins."""

    kind: ApprovalKind = "write"
    call: str = ""
    """The id of the call in its turn; empty for an attempt, and if there are `parts`."""
    tool: str
    """The name of the tool; for an attempt, that of the specialist."""
    what: str
    """A few words for people about what would be done."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """The arguments of the call, as JSON; empty if there are `parts`."""
    digest: str = ""
    """The digest of tool and arguments (with `parts`, of theirs): the approval counts for calls with this digest."""
    target: str = ""
    """The destination of the call (a host, an engine, a channel); empty if the tool does not report one."""
    leaves: str = ""
    """The exact text that the call would send out."""
    why: str = ""
    """The reason for asking, in words for people."""
    in_view: tuple[str, ...] = ()
    """The ids of all `PrivateSource`s in the attempt's view. An approval of similar calls covers no further ids."""
    new: tuple[str, ...] = ()
    """The names of private sources that are new since people approved similar calls: the reason for asking again."""
    terms: ApprovalTerms = DEFAULT_APPROVAL_TERMS
    parts: tuple[Approval, ...] = ()
    """The calls of one turn that are decided together; empty: the approval is for a single call."""
    then: tuple[Approval, ...] = ()
    """The calls that people are asked about after this one, each on its own."""

    @property
    def calls(self) -> tuple[Approval, ...]:
        """The calls to decide on, each as an approval of its own."""
        return self.parts or (self,)

    @property
    def scope(self) -> tuple[str, str, str]:
        """The properties that similar calls share: (kind, tool, target).

        The tool of a sign-in is empty, since a sign-in covers all tools of its server.
        """
        return self.kind, "" if self.kind == "sign_in" else self.tool, self.target


def combine_approvals(calls: tuple[Approval, ...]) -> Approval:
    """Combine the calls of one turn into one approval, on the terms of the first; a single call stays as it is."""
    if len(calls) == 1:
        return calls[0]
    tools = ", ".join(dict.fromkeys(one.tool for one in calls))
    return Approval(
        kind=calls[0].kind,
        tool=tools,
        what="; ".join(one.what for one in calls),
        digest=compute_call_digest(tools, {"calls": [one.digest for one in calls]}),
        why=calls[0].why,
        terms=calls[0].terms,
        parts=calls,
    )


def compute_call_digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the sha256 (hex) of a tool's name and of its arguments as canonical JSON."""
    canonical = json.dumps([tool, dict(arguments)], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
