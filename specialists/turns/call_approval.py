"""Asks people for an approval or a sign-in before a call is made, and applies their ruling.

A call that needs approval ends the attempt's turn: the attempt rests until people have decided, then goes on from its
checkpoints. A ruling counts for one call with exactly the arguments that people saw, and is used up by it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from handoff.approval_values import (
    ADMINS,
    DEFAULT_APPROVAL_TERMS,
    Approval,
    ApprovalTerms,
    combine_approvals,
    compute_call_digest,
)
from handoff.contracts import REQUESTER, PrivateSource, ToolCall
from handoff.state.state_values import ApplicableRuling, Ruling
from handoff.text.capitalization import capitalize_first
from handoff.text.invisible_characters import spell_out
from specialists.tools.messenger import CommonReaders
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.tools.tool_sign_in import SignIn
from specialists.turns import briefing
from specialists.turns.one_call import ReadyCall

MAX_REFUSALS = 3
"""Calls of one tool that people may deny or leave undecided in an attempt; further ones are refused without asking."""

MAX_CARD_CALLS, MAX_CARD_CHARACTERS = 8, 6_000
"""Most calls on one approval card, and most characters of all their arguments, so that people can read it."""

MAX_ARGUMENTS, MAX_ARGUMENT_CHARACTERS = 40, 120_000
"""Most arguments of a call that people are asked about, and most of their characters: a Slack window shows no more."""

TermsLookup = Callable[[str], ApprovalTerms | None]
"""Returns the terms on which a tool's calls are approved, or the usual ones for ""; None: no approval is needed."""


@dataclass(frozen=True, slots=True)
class UnreleasedData:
    """Data that a call would send out and that nobody has released: people have to approve it first.

    `text` is that data, word for word. `reason` tells people why they are asked.
    """

    text: str
    reason: str


@dataclass(slots=True)
class CallApprovals:
    """The rulings on the calls of one attempt.

    `terms` gives the terms of a tool's approvals, `find_rulings` the earlier rulings that may cover a call.
    """

    terms: TermsLookup
    find_rulings: Callable[[Approval], Awaitable[ApplicableRuling]]
    _rulings: dict[str, Ruling] = field(default_factory=dict)
    _refusal_counts: Counter[str] = field(default_factory=Counter)

    def record_ruling(self, ruling: Ruling) -> None:
        """Record a ruling from the attempt's history."""
        self._rulings[ruling.call] = ruling

    def apply_ruling(self, call: ToolCall, *, use_prepared: bool = False) -> ToolCall:
        """Return the call with the arguments that people approved in place of the model's, if they edited it.

        With `use_prepared`, the arguments are also replaced if people approved them unedited: the tool had prepared
        them by then, and preparing the model's arguments again might give something else.
        """
        ruling = self._rulings.get(call.id)
        if ruling is None or not (ruling.outcome == "edited" or (use_prepared and ruling.is_approved)):
            return call
        return call.model_copy(update={"arguments": dict(ruling.arguments)})

    def find_refusal(self, call: ToolCall) -> ToolOutcome | None:
        """Return the failed outcome if people refused the call, or refused its tool too often; otherwise None."""
        ruling = self._rulings.get(call.id)
        if ruling is not None and not ruling.is_approved:
            return _report_refusal(ruling)
        if self._refusal_counts[call.name] >= MAX_REFUSALS:
            return ToolOutcome(briefing.render_note("denied_often", tool=call.name), failed=True)
        return None

    async def find_needed_approval(
        self,
        ready: ReadyCall,
        unreleased_data: UnreleasedData | None = None,
        private_sources: Collection[PrivateSource] = (),
    ) -> Approval | ToolOutcome | Ruling | None:
        """Return what people have to approve before this call is made, or the ruling that lets it be made now.

        None means that no approval is needed. An outcome means that the call was denied before, or that nobody can
        approve it. `private_sources`: the sources of all private data that the model could see when it made the call.
        """
        terms = self.terms(ready.tool.name) if ready.tool.access == "write" else None
        if ready.readers is not None:
            terms = limit_to_readers(ready.readers, terms or self.terms("") or DEFAULT_APPROVAL_TERMS)
            if terms is None:
                return ToolOutcome(
                    briefing.render_note("nobody_reads_both", **_make_note_values(ready.readers)), failed=True
                )
        if terms is None and unreleased_data is None:
            return None
        approval = _make_approval(ready, terms, unreleased_data, self.terms(""))
        source_names = {one.id: one.name for one in private_sources if not _came_from_target(one, approval)}
        approval = approval.model_copy(update={"in_view": tuple(source_names)})
        earlier = await self._find_earlier_rulings(ready, approval)
        ruling = earlier.ruling
        if ruling is None or not _still_applies(ruling, ready.readers):
            if len(approval.arguments) > MAX_ARGUMENTS or _measure_approval(approval) > MAX_ARGUMENT_CHARACTERS:
                return ToolOutcome(briefing.render_note("too_long_to_ask", tool=approval.tool), failed=True)
            new_sources = tuple(dict.fromkeys(source_names[one] for one in earlier.new_source_ids))
            return approval.model_copy(update={"new": new_sources})
        return ruling if ruling.is_approved else _report_refusal(ruling)

    async def request_sign_in(self, ready: ReadyCall, sign_in: SignIn) -> Approval | ToolOutcome:
        """Return the sign-in to ask people for, on the crew's terms; a failed outcome if it was denied or is lost."""
        approval = Approval(
            kind="sign_in",
            call=ready.call.id,
            tool=ready.tool.name,
            what=f"Sign in to {sign_in.server}",
            digest=digest_sign_in(sign_in),
            target=f"{sign_in.server} ({sign_in.host})",
            terms=(self.terms("") or DEFAULT_APPROVAL_TERMS).model_copy(update={"mode": "always", "quorum": 1}),
        )
        ruling = (await self._find_earlier_rulings(ready, approval)).ruling
        if ruling is None:
            return approval
        if not ruling.is_approved:
            return _report_refusal(ruling)
        return ToolOutcome(
            briefing.render_note("sign_in_lost", tool=ready.tool.name, server=sign_in.server), failed=True
        )

    async def _find_earlier_rulings(self, ready: ReadyCall, approval: Approval) -> ApplicableRuling:
        """Return the ruling on exactly this call, or else the earlier rulings that may cover it."""
        ruling = self._rulings.get(ready.call.id)
        if ruling is not None and ruling.digest == approval.digest:
            return ApplicableRuling(ruling)
        return await self.find_rulings(approval)

    def mention_edited_arguments(self, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        """Return the outcome of a call; if people edited its arguments, its text says which were used."""
        ruling = self._rulings.get(call.id)
        if ruling is None or ruling.outcome != "edited":
            return outcome
        arguments = json.dumps(dict(ruling.arguments), ensure_ascii=False)
        text = briefing.render_note("edited", tool=call.name, arguments=arguments, reply=outcome.text)
        return ToolOutcome(
            text, outcome.artifacts, outcome.gaps, outcome.sources, failed=outcome.failed, notes=outcome.notes
        )

    def discard_ruling(self, call_id: str) -> None:
        """Discard the ruling on a call that now has an outcome. Denials of one batch count once."""
        ruling = self._rulings.pop(call_id, None)
        if ruling is not None and not ruling.is_approved and ruling.is_first_of_batch:
            self._refusal_counts[ruling.tool] += 1


def digest_sign_in(sign_in: SignIn) -> str:
    """Return the digest of a sign-in. It differs for each server."""
    return compute_call_digest("sign_in", {"server": sign_in.server, "host": sign_in.host})


def combine_for_card(first: Approval, others: Iterable[Approval]) -> Approval:
    """Combine the approval of a call with those of further calls of its turn that have the same kind and terms.

    A call for which its crew wants to be asked each time is not combined with others.
    """
    parts = [first]
    size, argument_count = _measure_approval(first), len(first.arguments)
    for one in others if first.terms.mode == "ask" else ():
        if (one.kind, one.terms) != (first.kind, first.terms):
            continue
        size += _measure_approval(one)
        argument_count += len(one.arguments)
        if len(parts) == MAX_CARD_CALLS or size > MAX_CARD_CHARACTERS or argument_count > MAX_ARGUMENTS:
            break
        parts.append(one)
    return combine_approvals(tuple(parts))


def _measure_approval(approval: Approval) -> int:
    return len(spell_out(json.dumps(approval.arguments, ensure_ascii=False))) + len(spell_out(approval.leaves))


def _report_refusal(ruling: Ruling) -> ToolOutcome:
    note = "not_decided" if ruling.outcome == "expired" else "denied"
    reason = f" Their reason: “{ruling.reason}”" if ruling.reason else ""
    return ToolOutcome(briefing.render_note(note, tool=ruling.tool, reason=reason), failed=True)


def limit_to_readers(readers: CommonReaders, terms: ApprovalTerms) -> ApprovalTerms | None:
    """Return the terms with only those approvers who may read both places; None if nobody is left.

    Members of a user group count only if they are named themselves: a group's members are not known before the click.
    """
    approver_groups = (
        readers.admins if one == ADMINS else {readers.requester if one == REQUESTER else one} for one in terms.approvers
    )
    allowed_approvers = dict.fromkeys(
        user for each in approver_groups for user in sorted(each) if user in readers.people
    )
    approvers = tuple(user for user in allowed_approvers if terms.own or user != readers.requester)
    return terms.with_approvers(approvers) if approvers else None


def _still_applies(ruling: Ruling, readers: CommonReaders | None) -> bool:
    """Return False if nobody of those who approved the call may still read both places; otherwise True."""
    return readers is None or not ruling.is_approved or not readers.people.isdisjoint(ruling.users)


def _make_note_values(readers: CommonReaders) -> dict[str, str]:
    return {"came": readers.source_name, "goes": readers.target_name}


def dump_arguments(arguments: BaseModel) -> dict[str, Any]:
    """Return the arguments of a tool call as JSON values: what people are shown and what a digest is made of."""
    return arguments.model_dump(mode="json")


def _came_from_target(source: PrivateSource, approval: Approval) -> bool:
    """Return True if a source came from the same tool and place that this call goes to."""
    return source.tool == approval.tool and source.target in {"", approval.target}


def describe_target(ready: ReadyCall) -> str:
    """Return where a call goes, in its tool's words; otherwise the host or service that it sends to, "" if none."""
    return (ready.tool.target(ready.arguments) if ready.tool.target is not None else "") or ready.recipient


def _explain_approval(ready: ReadyCall, unreleased_data: UnreleasedData | None, *, writes: bool) -> str:
    """Return why people are asked. A call that writes needs approval anyway, so its tool's reason comes first."""
    if unreleased_data is None or not writes:
        return unreleased_data.reason if unreleased_data else ready.approval_reason
    return f"{ready.approval_reason} {capitalize_first(unreleased_data.reason)}.".strip()


def _make_approval(
    ready: ReadyCall,
    terms: ApprovalTerms | None,
    unreleased_data: UnreleasedData | None,
    usual_terms: ApprovalTerms | None,
) -> Approval:
    tool, arguments = ready.tool, dump_arguments(ready.arguments)
    return Approval(
        kind="egress" if terms is None else "write",
        call=ready.call.id,
        tool=tool.name,
        what=tool.describe_call(ready.arguments),
        arguments=arguments,
        digest=compute_call_digest(tool.name, arguments),
        target=describe_target(ready),
        leaves=unreleased_data.text if unreleased_data else "",
        why=_explain_approval(ready, unreleased_data, writes=terms is not None),
        terms=terms or usual_terms or DEFAULT_APPROVAL_TERMS,
    )


@dataclass(slots=True)
class SignInCheck:
    """Finds calls that need a sign-in first. `can_ask` is True if there are people to ask."""

    workbench: Workbench
    can_ask: bool
    _call_ids: set[str] = field(default_factory=set)

    async def check_sign_in(self, call: ToolCall, tool: Tool | None) -> None:
        """Check and record whether a call needs a sign-in, right before the call is judged. Raises WorkbenchLost."""
        self._call_ids.discard(call.id)
        if tool is None or tool.signs_in is None:
            return
        store = self.workbench.sign_ins
        if store is None or not await tool.signs_in.is_signed_in(store):
            self._call_ids.add(call.id)

    async def find_sign_in(self, ready: ReadyCall, approvals: CallApprovals) -> Approval | ToolOutcome | None:
        """Return the sign-in to ask people for, or a failed outcome; None if the call needs no sign-in."""
        sign_in = ready.tool.signs_in
        if sign_in is None or ready.call.id not in self._call_ids:
            return None
        if not self.can_ask or self.workbench.sign_ins is None:
            text = briefing.render_note("nobody_to_sign_in", tool=ready.tool.name, server=sign_in.server)
            return ToolOutcome(text, failed=True)
        return await approvals.request_sign_in(ready, sign_in)
