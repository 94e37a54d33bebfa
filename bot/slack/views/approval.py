"""Renders the card of an approval from the real arguments of the call, while it is open and after it was decided.

No model writes any of it: the arguments stand there as plain text, and the buttons carry only ids, a number and a
digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.slack.text.cleaning import clean, mention, mention_channels
from bot.slack.views.argument_blocks import argument_blocks, is_spelt_out, quote_text
from bot.slack.views.button_data import encode_data
from bot.slack.views.outgoing import Block, Outgoing, actions, button, context, render_moment, section
from bot.slack.views.waiting import join_in_row, name_member
from handoff.approval_values import Approval
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import Question, QuestionAnswer, Ruling
from handoff.summaries.summary import title_of
from handoff.text.counts import format_count
from handoff.text.visible_text import spell_out

APPROVE, ALIKE, EDIT, APART, DENY, SHOW, SIGN_IN = (
    f"approval:{name}" for name in ("approve", "alike", "edit", "apart", "deny", "show", "sign_in")
)
"""The action_ids of the buttons. `ALIKE` also approves similar calls, `APART` asks about several calls one by one, and
`SHOW` opens a window with the whole call."""


TARGET = 400
"""Most characters that are shown of the place that a call goes to."""
SPELT_OUT = (
    "What cannot be seen, and long runs of spaces or blank lines, stand in [brackets] above. They are sent as they are."
)
NAMED = 5
"""Most names of new sources that a card gives. Further ones are counted."""


@dataclass(frozen=True, slots=True)
class ApprovalRef:
    """The data of a button or a window: names an approval, and by `digest` exactly the arguments that people saw."""

    job: str
    request: str
    subtask: str
    number: int
    digest: str


def name_deciders(whom: Sequence[str]) -> str:
    """Return the names of those who may decide, in mrkdwn: people, user groups, and an admin."""
    return join_in_row([name_member(one) for one in whom], "or")


def approval(job: Job, ask: RequestState, subtask: str, question: Question, until: float | None = None) -> Outgoing:
    """Render the card that asks for an approval. `until` is when it expires (seconds since the epoch); None: never.

    Raises ValueError for a question that is no approval.
    """
    asked = _require_approval(question)
    spot = encode_data(ApprovalRef(job.id, ask.id, subtask, question.number, asked.digest))
    body, cut = _draw_call(asked)
    work = ask.work[subtask]
    title = f"*{clean(title_of(ask, work), limit=150)}* ({clean(work.specialist, limit=80)})"
    first = f":lock: {name_deciders(question.whom)}: {title} {_describe_wish(asked)}"
    blocks = [
        section(first),
        *body,
        actions(_draw_buttons(asked, spot, cut=cut)),
        context(*_small_print(question, ask.request.user, until)),
    ]
    wanted = "sign in, or deny" if asked.kind == "sign_in" else "approve or deny"
    what = mention_channels(clean(asked.what, limit=300))
    text = f"{name_deciders(question.whom)}: please {wanted}: {what}"
    return Outgoing(text=text, blocks=tuple(blocks), priority="question")


def _require_approval(question: Question) -> Approval:
    if question.approval is None:
        raise ValueError("the question is about no approval")
    return question.approval


def _describe_wish(asked: Approval) -> str:
    if asked.kind == "cost":
        return f"is likely to take {clean(asked.why, limit=300)}. It begins only if that is approved."
    if asked.kind == "sign_in":
        return f"needs somebody to sign in to {clean(asked.target, limit=TARGET)}. Without that its tools are not used."
    if asked.kind == "egress":
        why = f" You are asked because {clean(asked.why, limit=300)}." if asked.why else ""
        wants = f"make {len(asked.parts)} requests" if asked.parts else "send something out"
        return f"wants to {wants}. Nothing leaves unless that is approved.{why}{_describe_new_sources(asked)}"
    why = f" {clean(asked.why, limit=300)}" if asked.why else ""
    wants = f"{len(asked.parts)} changes" if asked.parts else "a change"
    return f"wants to make {wants} outside. Nothing is done unless that is approved.{why}{_describe_new_sources(asked)}"


def _describe_new_sources(asked: Approval) -> str:
    """Name the sources read since people approved similar calls, if that is why they are asked again; "" otherwise."""
    names = list(dict.fromkeys(name for one in asked.calls for name in one.new))
    if not names:
        return ""
    shown = [clean(name, limit=100) for name in names[:NAMED]]
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return f" Similar calls were approved before these could be seen: *{join_in_row([*shown, *more], 'and')}*."


def _draw_call(asked: Approval, *, brief: bool = False) -> tuple[list[Block], bool]:
    """Render the call that needs approval. Returns a pair of (blocks, True if something was cut).

    `brief`: the approval is decided, so that little of the call is shown.
    """
    if asked.parts:
        return _draw_calls(asked, brief=brief)
    lines = [] if asked.kind == "cost" else [f"*Tool:* `{clean(asked.tool, limit=100).replace('`', chr(39))}`"]
    if asked.target and asked.kind != "sign_in":
        lines.append(f"*To:* {mention_channels(clean(asked.target, limit=TARGET))}")
    blocks = [section("   ".join(lines))] if lines else []
    drawn, cut = argument_blocks(asked.arguments, brief=brief, target=asked.target)
    blocks += drawn
    if asked.leaves:
        leaves, cut_too = quote_text(asked.leaves, brief=brief)
        blocks += [section("*What would leave, word for word:*"), leaves]
        cut = cut or cut_too
    return blocks, cut


def _draw_calls(asked: Approval, *, brief: bool) -> tuple[list[Block], bool]:
    """Render several calls one below the other, numbered in the order in which they would be made."""
    blocks: list[Block] = []
    any_cut = False
    for place, one in enumerate(asked.parts, 1):
        drawn, cut = _draw_call(one, brief=brief)
        drawn[0]["text"]["text"] = f"*{place}.*  {drawn[0]['text']['text']}"
        blocks += drawn
        any_cut = any_cut or cut
    return blocks, any_cut


def _draw_buttons(asked: Approval, spot: str, *, cut: bool) -> list[Block]:
    if asked.kind == "sign_in":
        return [button("Sign in", SIGN_IN, spot, style="primary"), button("Deny", DENY, spot, style="danger")]
    several = len(asked.parts)
    found = [button(f"Approve all {several}" if several else "Approve", APPROVE, spot, style="primary")]
    if asked.terms.mode == "ask":
        found.append(button("Approve similar", ALIKE, spot))
    if several:
        found.append(button("Decide one by one", APART, spot))
    elif asked.kind == "write" and asked.arguments:
        found.append(button("Edit", EDIT, spot))
    found.append(button("Deny all" if several else "Deny", DENY, spot, style="danger"))
    return [*found, button("Show all", SHOW, spot)] if cut else found


def _small_print(question: Question, requester: str, until: float | None) -> list[str]:
    asked = _require_approval(question)
    waits = f"Waits for {name_deciders(question.whom)}. Please use the buttons: a reply in the thread does not count."
    if not asked.terms.own:
        waits += " The person who made the request cannot approve it."
    lines = [waits]
    if asked.kind == "sign_in":
        lines.append(
            "If you sign in, all jobs of this crew act there with your rights until the server ends the sign-in."
        )
    if asked.terms.mode == "ask":
        lines.append(_describe_similar(asked, requester))
    if any(is_spelt_out(one.arguments) or spell_out(one.leaves) != one.leaves for one in asked.calls):
        lines.append(SPELT_OUT)
    if asked.terms.quorum > 1:
        lines.append(_render_votes(question))
    if until is not None:
        lines.append(f"It expires {render_moment(until)}. Then it is not done, which does not count as a denial.")
    return lines


def _describe_similar(asked: Approval, requester: str) -> str:
    """Return a sentence that says what "Approve similar" covers."""
    scopes = dict.fromkeys(
        clean(one.tool, limit=100)
        + (f" to {mention_channels(clean(one.target, limit=100))}" if one.target else " to anywhere")
        for one in asked.calls
    )
    everyone = f"all {asked.terms.quorum} of you choose it, " if asked.terms.quorum > 1 else ""
    return (
        f"“Approve similar” also covers later calls of {join_in_row([*scopes], 'or')}, with any other arguments, for "
        f"{mention(requester)} in this thread. It holds while {everyone}whoever chose it may still approve, and "
        "nothing more that is private is in view."
    )


def _render_votes(question: Question) -> str:
    needed, votes = _require_approval(question).terms.quorum, question.votes
    words = f"{len(votes)} of {needed} have approved"
    told = (f"{_vote_emoji(vote.choice)} {mention(vote.user)} {render_moment(vote.at)}" for vote in votes)
    return f"{words}: {'; '.join(told)}" if votes else f"{words}: it takes {format_count(needed, 'person', 'people')}."


def _vote_emoji(choice: str) -> str:
    return ":pencil2:" if choice == "edit" else ":white_check_mark:"


# ---------------------------------------------------------------- decided


def approval_decided(title: str, answered: QuestionAnswer) -> Outgoing:
    """Render the card of a decided approval: without buttons, and with who decided what, and when."""
    asked, ruling = _require_approval(answered.question), answered.ruling
    if ruling is None:
        who = f"{mention(answered.user)} chose to decide on these one by one {render_moment(answered.at)}"
        return _render_closed_card(title, asked, f":arrow_down: {who}: see below.")
    decided = _render_ruling(answered.question, ruling)
    return _render_closed_card(title, _apply_edit(asked, ruling) if ruling.outcome == "edited" else asked, decided)


def _apply_edit(asked: Approval, ruling: Ruling) -> Approval:
    """Return the approval with the arguments as a person edited them."""
    changed = {"arguments": dict(ruling.arguments), "target": ruling.target, "leaves": ruling.leaves}
    return asked.model_copy(update=changed)


def approval_dropped(title: str, question: Question) -> Outgoing:
    """Render the card of an approval that nobody decided before its request was stopped or its subtask ended."""
    return _render_closed_card(
        title, _require_approval(question), "The work on this ended before anybody decided, so it was not done."
    )


def _render_closed_card(title: str, asked: Approval, decided: str) -> Outgoing:
    wanted = f"a sign-in to {clean(asked.target, limit=TARGET)}" if asked.kind == "sign_in" else "approval"
    head = f"*{clean(title, limit=150)}* asked for {wanted}"
    body, _ = _draw_call(asked, brief=True)
    return Outgoing(text=decided, blocks=(section(head), *body, context(decided)), priority="question")


def _render_ruling(question: Question, ruling: Ruling) -> str:
    who = " and ".join(mention(user) for user in dict.fromkeys(ruling.users))
    when = render_moment(ruling.at)
    if ruling.outcome == "expired":
        return f":hourglass: Expired {when}: nobody decided in time, so it was not done. That is not a denial."
    if ruling.outcome == "denied":
        reason = f": “{clean(ruling.reason, limit=500)}”" if ruling.reason else ", without a reason"
        return f":no_entry: {who} denied this {when}{reason}"
    if ruling.outcome == "edited":
        if _require_approval(question).terms.quorum > 1 and len(ruling.users) == 1:
            return f":pencil2: {who} changed the arguments to these {when}, so I ask again below."
        return f":pencil2: {who} changed the arguments to these and approved {when}"
    if _require_approval(question).kind == "sign_in":
        return f":white_check_mark: {who} signed in {when}"
    alike = " and similar calls" if ruling.alike else ""
    return f":white_check_mark: {who} approved this{alike} {when}"
