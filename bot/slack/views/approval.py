"""Renders the card of an approval from the real arguments of the call, while it is open and after it is closed.

No model writes any part of the card. The arguments are plain text, and the buttons carry only ids, a number and a
digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, restore_channel_mentions
from bot.slack.views.answerers import join_as_list, render_member
from bot.slack.views.argument_blocks import has_spelt_out_text, render_arguments, render_preformatted_text
from bot.slack.views.button_data import encode_data
from bot.slack.views.outgoing import (
    Block,
    Outgoing,
    make_actions,
    make_button,
    make_context,
    make_section,
    render_moment,
)
from handoff.approval_values import Approval
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import Question, QuestionAnswer, Ruling
from handoff.summaries.summary import render_title
from handoff.text.counts import format_count
from handoff.text.invisible_characters import spell_out

APPROVE, APPROVE_SIMILAR, EDIT, DECIDE_SEPARATELY, DENY, SHOW_ALL, SIGN_IN = (
    f"approval:{name}" for name in ("approve", "alike", "edit", "apart", "deny", "show", "sign_in")
)
"""The action_ids of the buttons.

`APPROVE_SIMILAR` also approves similar calls, `DECIDE_SEPARATELY` asks about several calls one by one, and
`SHOW_ALL` opens a window with the whole call."""


MAX_TARGET_CHARACTERS = 400
"""Maximum number of characters that are shown of the target of a call."""
SPELT_OUT_NOTE = (
    "What cannot be seen, and long runs of spaces or blank lines, stand in [brackets] above. They are sent as they are."
)
MAX_SOURCES_NAMED = 5
"""Maximum number of new sources that a card names. Further ones are counted."""


@dataclass(frozen=True, slots=True)
class ApprovalRef:
    """The data of a button or window: the ids of an approval, and the `digest` of exactly what people saw."""

    job: str
    request: str
    subtask: str
    number: int
    digest: str


def render_deciders(deciders: Sequence[str]) -> str:
    """Return in mrkdwn who may decide, such as "@ann, @legal or an admin"."""
    return join_as_list([render_member(one) for one in deciders], "or")


def render_approval(
    job: Job, request: RequestState, subtask_id: str, question: Question, expires_at: float | None = None
) -> Outgoing:
    """Render the card that asks for an approval.

    `expires_at` is the time at which it expires, in seconds since the epoch; None if it never does. Raises ValueError
    if the question is no approval.
    """
    approval = _require_approval(question)
    spot = encode_data(ApprovalRef(job.id, request.id, subtask_id, question.number, approval.digest))
    body, is_cut = _render_call(approval)
    subtask = request.subtasks[subtask_id]
    title = (
        f"*{clean_mrkdwn(render_title(request, subtask), limit=150)}* ({clean_mrkdwn(subtask.specialist, limit=80)})"
    )
    first = f":lock: {render_deciders(question.whom)}: {title} {_describe_purpose(approval)}"
    blocks = [
        make_section(first),
        *body,
        make_actions(_render_buttons(approval, spot, is_cut=is_cut)),
        make_context(*_list_small_print(question, request.spec.user, expires_at)),
    ]
    choice_words = "sign in, or deny" if approval.kind == "sign_in" else "approve or deny"
    what = restore_channel_mentions(clean_mrkdwn(approval.what, limit=300))
    text = f"{render_deciders(question.whom)}: please {choice_words}: {what}"
    return Outgoing(text=text, blocks=tuple(blocks), priority="question")


def _require_approval(question: Question) -> Approval:
    if question.approval is None:
        raise ValueError("the question is about no approval")
    return question.approval


def _describe_purpose(approval: Approval) -> str:
    if approval.kind == "cost":
        return f"is likely to take {clean_mrkdwn(approval.why, limit=300)}. It begins only if that is approved."
    if approval.kind == "sign_in":
        return (
            f"needs somebody to sign in to {clean_mrkdwn(approval.target, limit=MAX_TARGET_CHARACTERS)}. "
            "Without that its "
            "tools are not used."
        )
    if approval.kind == "egress":
        why = f" You are asked because {clean_mrkdwn(approval.why, limit=300)}." if approval.why else ""
        wants = f"make {len(approval.parts)} requests" if approval.parts else "send something out"
        return f"wants to {wants}. Nothing leaves unless that is approved.{why}{_describe_new_sources(approval)}"
    why = f" {clean_mrkdwn(approval.why, limit=300)}" if approval.why else ""
    wants = f"{len(approval.parts)} changes" if approval.parts else "a change"
    return (
        f"wants to make {wants} outside. Nothing is done unless that is approved.{why}{_describe_new_sources(approval)}"
    )


def _describe_new_sources(approval: Approval) -> str:
    """Return a sentence with the sources that were read since similar calls were approved; "" if there are none."""
    names = list(dict.fromkeys(name for one in approval.calls for name in one.new))
    if not names:
        return ""
    shown_names = [clean_mrkdwn(name, limit=100) for name in names[:MAX_SOURCES_NAMED]]
    more = [f"{len(names) - MAX_SOURCES_NAMED} more"] if len(names) > MAX_SOURCES_NAMED else []
    return f" Similar calls were approved before these could be seen: *{join_as_list([*shown_names, *more], 'and')}*."


def _render_call(approval: Approval, *, brief: bool = False) -> tuple[list[Block], bool]:
    """Render the call that needs approval. Returns a pair of (blocks, True if something was cut).

    With `brief`, for an approval that is closed, less of the call is shown.
    """
    if approval.parts:
        return _render_calls(approval, brief=brief)
    lines = (
        [] if approval.kind == "cost" else [f"*Tool:* `{clean_mrkdwn(approval.tool, limit=100).replace('`', chr(39))}`"]
    )
    if approval.target and approval.kind != "sign_in":
        lines.append(f"*To:* {restore_channel_mentions(clean_mrkdwn(approval.target, limit=MAX_TARGET_CHARACTERS))}")
    blocks = [make_section("   ".join(lines))] if lines else []
    argument_blocks, is_cut = render_arguments(approval.arguments, brief=brief, target=approval.target)
    blocks += argument_blocks
    if approval.leaves:
        leaves, cut_too = render_preformatted_text(approval.leaves, brief=brief)
        blocks += [make_section("*What would leave, word for word:*"), leaves]
        is_cut = is_cut or cut_too
    return blocks, is_cut


def _render_calls(approval: Approval, *, brief: bool) -> tuple[list[Block], bool]:
    """Render several calls one below the other, numbered in the order in which they would be made."""
    blocks: list[Block] = []
    any_cut = False
    for number, one in enumerate(approval.parts, 1):
        call_blocks, is_cut = _render_call(one, brief=brief)
        call_blocks[0]["text"]["text"] = f"*{number}.*  {call_blocks[0]['text']['text']}"
        blocks += call_blocks
        any_cut = any_cut or is_cut
    return blocks, any_cut


def _render_buttons(approval: Approval, button_value: str, *, is_cut: bool) -> list[Block]:
    if approval.kind == "sign_in":
        return [
            make_button("Sign in", SIGN_IN, button_value, style="primary"),
            make_button("Deny", DENY, button_value, style="danger"),
        ]
    several = len(approval.parts)
    buttons = [make_button(f"Approve all {several}" if several else "Approve", APPROVE, button_value, style="primary")]
    if approval.terms.mode == "ask":
        buttons.append(make_button("Approve similar", APPROVE_SIMILAR, button_value))
    if several:
        buttons.append(make_button("Decide one by one", DECIDE_SEPARATELY, button_value))
    elif approval.kind == "write" and approval.arguments:
        buttons.append(make_button("Edit", EDIT, button_value))
    buttons.append(make_button("Deny all" if several else "Deny", DENY, button_value, style="danger"))
    return [*buttons, make_button("Show all", SHOW_ALL, button_value)] if is_cut else buttons


def _list_small_print(question: Question, requester: str, expires_at: float | None) -> list[str]:
    approval = _require_approval(question)
    waits = f"Waits for {render_deciders(question.whom)}. Please use the buttons: a reply in the thread does not count."
    if not approval.terms.own:
        waits += " The person who made the request cannot approve it."
    lines = [waits]
    if approval.kind == "sign_in":
        lines.append(
            "If you sign in, all jobs of this crew act there with your rights until the server ends the sign-in."
        )
    if approval.terms.mode == "ask":
        lines.append(_describe_similar(approval, requester))
    if any(has_spelt_out_text(one.arguments) or spell_out(one.leaves) != one.leaves for one in approval.calls):
        lines.append(SPELT_OUT_NOTE)
    if approval.terms.quorum > 1:
        lines.append(_render_votes(question))
    if expires_at is not None:
        lines.append(f"It expires {render_moment(expires_at)}. Then it is not done, which does not count as a denial.")
    return lines


def _describe_similar(approval: Approval, requester: str) -> str:
    """Return a sentence that says what "Approve similar" covers."""
    scopes = dict.fromkeys(
        clean_mrkdwn(one.tool, limit=100)
        + (f" to {restore_channel_mentions(clean_mrkdwn(one.target, limit=100))}" if one.target else " to anywhere")
        for one in approval.calls
    )
    everyone = f"all {approval.terms.quorum} of you choose it, " if approval.terms.quorum > 1 else ""
    return (
        f"“Approve similar” also covers later calls of {join_as_list([*scopes], 'or')}, with any other arguments, for "
        f"{render_mention(requester)} in this thread. It holds while {everyone}whoever chose it may still approve, and "
        "nothing more that is private is in view."
    )


def _render_votes(question: Question) -> str:
    quorum, votes = _require_approval(question).terms.quorum, question.votes
    words = f"{len(votes)} of {quorum} have approved"
    vote_texts = (
        f"{_choose_vote_emoji(vote.choice)} {render_mention(vote.user)} {render_moment(vote.at)}" for vote in votes
    )
    return (
        f"{words}: {'; '.join(vote_texts)}"
        if votes
        else f"{words}: it takes {format_count(quorum, 'person', 'people')}."
    )


def _choose_vote_emoji(choice: str) -> str:
    return ":pencil2:" if choice == "edit" else ":white_check_mark:"


# ---------------------------------------------------------------- decided


def render_decided_approval(title: str, answer: QuestionAnswer) -> Outgoing:
    """Render the card of a decided approval: without buttons, and with who decided what, and when."""
    approval, ruling = _require_approval(answer.question), answer.ruling
    if ruling is None:
        who = f"{render_mention(answer.user)} chose to decide on these one by one {render_moment(answer.at)}"
        return _render_closed_card(title, approval, f":arrow_down: {who}: see below.")
    ruling_text = _render_ruling(answer.question, ruling)
    return _render_closed_card(
        title, _apply_edit(approval, ruling) if ruling.outcome == "edited" else approval, ruling_text
    )


def _apply_edit(approval: Approval, ruling: Ruling) -> Approval:
    """Return the approval with the arguments as a person edited them."""
    edited_fields = {"arguments": dict(ruling.arguments), "target": ruling.target, "leaves": ruling.leaves}
    return approval.model_copy(update=edited_fields)


def render_dropped_approval(title: str, question: Question) -> Outgoing:
    """Render the card of an approval that nobody decided before its request was stopped or its subtask ended."""
    return _render_closed_card(
        title, _require_approval(question), "The work on this ended before anybody decided, so it was not done."
    )


def _render_closed_card(title: str, approval: Approval, outcome: str) -> Outgoing:
    approval_name = (
        f"a sign-in to {clean_mrkdwn(approval.target, limit=MAX_TARGET_CHARACTERS)}"
        if approval.kind == "sign_in"
        else "approval"
    )
    head = f"*{clean_mrkdwn(title, limit=150)}* asked for {approval_name}"
    body, _ = _render_call(approval, brief=True)
    return Outgoing(text=outcome, blocks=(make_section(head), *body, make_context(outcome)), priority="question")


def _render_ruling(question: Question, ruling: Ruling) -> str:
    who = " and ".join(render_mention(user) for user in dict.fromkeys(ruling.users))
    when = render_moment(ruling.at)
    if ruling.outcome == "expired":
        return f":hourglass: Expired {when}: nobody decided in time, so it was not done. That is not a denial."
    if ruling.outcome == "denied":
        reason = f": “{clean_mrkdwn(ruling.reason, limit=500)}”" if ruling.reason else ", without a reason"
        return f":no_entry: {who} denied this {when}{reason}"
    if ruling.outcome == "edited":
        if _require_approval(question).terms.quorum > 1 and len(ruling.users) == 1:
            return f":pencil2: {who} changed the arguments to these {when}, so I ask again below."
        return f":pencil2: {who} changed the arguments to these and approved {when}"
    if _require_approval(question).kind == "sign_in":
        return f":white_check_mark: {who} signed in {when}"
    alike = " and similar calls" if ruling.covers_similar else ""
    return f":white_check_mark: {who} approved this{alike} {when}"
