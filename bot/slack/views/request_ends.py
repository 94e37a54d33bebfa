"""Renders the ends of a request without an answer (failed, stopped, refused), and the notes about a quarantined job."""

from __future__ import annotations

from collections.abc import Sequence

from bot.slack.text.cleaning import clean_mrkdwn, render_mention
from bot.slack.views.card import has_content, list_result_gaps
from bot.slack.views.contact_line import render_failure_contact
from bot.slack.views.outgoing import Block, Outgoing, format_duration, make_context, make_section
from bot.slack.views.try_again import render_retry_buttons
from handoff.engine.answer import list_unfillable_gaps
from handoff.state.job_state import SETTLED_STATES, Job, RequestState, SubtaskState
from handoff.state.state_values import UNKNOWN_WRITE_WORDS
from handoff.summaries.summary import list_innermost_subtasks, render_title
from handoff.text.capitalization import capitalize_first

_MAX_LISTED_ITEMS = 12
_QUOTE_LENGTH = 120
"""Most characters that are quoted of a deleted request."""


def render_failure(job: Job, request: RequestState) -> Outgoing:
    """Render the end of a failed request: the step, the reason, and what people can do.

    Raises ValueError for a request that has not failed.
    """
    if request.run.failure is None:
        raise ValueError(f"{request.id} has not failed")
    if request.refusal:
        return render_refusal(request.refusal)
    step, reason = (
        clean_mrkdwn(request.run.failure.step, limit=200),
        clean_mrkdwn(request.run.failure.reason, limit=1200),
    )
    parts = [subtask for subtask in list_innermost_subtasks(request) if not subtask.is_handed_over]
    lines = [
        ":x: *I could not answer this.*",
        reason if len(parts) == 1 else f"*{capitalize_first(step)}:* {reason}",
    ]
    if request.run.failure.advice:
        lines.append(clean_mrkdwn(request.run.failure.advice, limit=900))
    if who := render_failure_contact(request):
        lines.append(f"*Who can help:* {who}")
    progress = _render_progress(request) if len(parts) > 1 else []
    blocks = [
        make_section("\n".join(lines)),
        *_render_unfillable_gaps(request),
        *progress,
        *_render_unknown_writes(request),
        _render_duration(job, request),
    ]
    blocks += render_retry_buttons(job, request)
    return Outgoing(text=f"I could not answer this. {step}: {reason}", blocks=tuple(blocks))


def render_cancellation(job: Job, request: RequestState, *, is_private: bool = False) -> Outgoing:
    """Render the report of a stopped request: what was done, what was under way, what was left.

    `is_private`: only the requester reads it. Only then are the words of a deleted request quoted, as Slack does not
    say who deleted them.
    """
    who = render_mention(request.cancelled_by)
    headline = f":octagonal_sign: *Stopped* by {who}."
    if request.is_withdrawn:
        quoted_request = clean_mrkdwn(" ".join(request.text.split())[:_QUOTE_LENGTH])
        what = f"your request “{quoted_request}”" if is_private else f"a request of {who}"
        headline = f":octagonal_sign: *Withdrawn*: {what} was deleted, so I stopped the work on it."
    blocks = [make_section(headline), *_render_progress(request), *_render_unknown_writes(request)]
    if not request.subtasks:
        blocks.append(make_section("No plan was made yet, so no work was done."))
    elif all(subtask.state in SETTLED_STATES for subtask in list_innermost_subtasks(request)):
        blocks.append(make_section("All parts had ended; the answer was being written."))
    text = "Withdrawn: the request was deleted." if request.is_withdrawn else f"Stopped by {who}."
    buttons = [] if is_private else render_retry_buttons(job, request)
    return Outgoing(text=text, blocks=(*blocks, _render_duration(job, request), *buttons))


def render_refusal(reason: str) -> Outgoing:
    """Render the message that says why a request was refused, and what to do instead."""
    text = clean_mrkdwn(reason, limit=2500) or "I cannot use that."
    return Outgoing(text=text, blocks=(make_section(text),))


def render_undeliverable_end(job: Job, fault: str, end: Outgoing) -> Outgoing:
    """Render the direct message about the end of a request whose thread cannot be written to any more.

    `end` is the message that the thread should have shown, or its first part. Its buttons are left out, as they work
    only in the thread.
    """
    text = (
        f"I could not post this in <#{job.place.channel}>: {clean_mrkdwn(fault)}. So here it is, for you alone; "
        f"`/leadhand trace {job.id}` sends you every step."
    )
    blocks = [block for block in end.blocks if block["type"] not in {"actions", "context_actions"}]
    return Outgoing(text=text, blocks=(make_section(text), {"type": "divider"}, *blocks))


def render_trial_notice(job: str, step: str, lost_owners: int) -> Outgoing:
    """Render the note that a job will be tried by an instance that works on nothing else.

    `lost_owners` counts the owners that were lost in a row while they worked on it.
    """
    step = clean_mrkdwn(step, limit=200)
    text = (
        f":hourglass: *I was interrupted {lost_owners} times in a row while I was at this step:* {step}\n"
        "In a moment I try it once more with nothing else running beside it, to find out if this job is the cause. "
        "If it is not, I go on here as usual. If it is, I set the job aside and say so. Finished parts are kept."
    )
    short = f"I was interrupted {lost_owners} times in a row. In a moment I try this once more by itself."
    return Outgoing(text=short, blocks=(make_section(text), make_context(f"job {job}")))


def render_quarantine_notice(job: str, step: str, reason: str, *, user: str, is_readable: bool) -> Outgoing:
    """Render the note that a job is quarantined. `user` is the requester.

    `is_readable`: this release can read the job, so that stopping it gives a report.
    """
    step, reason = clean_mrkdwn(step, limit=200), clean_mrkdwn(reason, limit=1200)
    release = f"An admin can let it go on with `/leadhand release {job}`"
    stop = f"{render_mention(user)} can still stop it with `/leadhand cancel {job}`" if user else ""
    if is_readable:
        after = f"{release}; {stop}." if stop else f"{release}."
    else:
        after = f"{release} once that is fixed. To have it done now, ask again in a new thread."
    text = (
        f":warning: *I have set this job aside.*\n*Step:* {step}\n*Reason:* {reason}\n"
        f"Nothing that was recorded is lost. {after}"
    )
    return Outgoing(
        text=f"I have set this job aside. {step}: {reason}", blocks=(make_section(text), make_context(f"job {job}"))
    )


def _render_progress(request: RequestState) -> list[Block]:
    subtasks = [
        subtask for subtask in list_innermost_subtasks(request) if not subtask.is_dropped and not subtask.is_handed_over
    ]
    groups = [
        (
            "Done",
            [subtask for subtask in subtasks if subtask.state == "complete" and not list_result_gaps(request, subtask)],
        ),
        (
            "Done in part",
            [subtask for subtask in subtasks if subtask.state == "complete" and _is_done_in_part(request, subtask)],
        ),
        (
            "Brought nothing",
            [subtask for subtask in subtasks if subtask.state == "complete" and not has_content(subtask)],
        ),
        ("Not finished", [subtask for subtask in subtasks if subtask.state in {"in_progress", "input_required"}]),
        ("Failed", [subtask for subtask in subtasks if subtask.state == "error"]),
        ("Left", [subtask for subtask in subtasks if subtask.state in {"pending", "skipped"}]),
    ]
    lines = [f"*{name}:* {_join_titles(request, group)}" for name, group in groups if group]
    return [make_section("\n".join(lines))] if lines else []


def _is_done_in_part(request: RequestState, subtask: SubtaskState) -> bool:
    return has_content(subtask) and bool(list_result_gaps(request, subtask))


def _render_unfillable_gaps(request: RequestState) -> list[Block]:
    lines = [
        f"• {clean_mrkdwn(what, limit=200)}" for what in list_unfillable_gaps(request, request.run)[:_MAX_LISTED_ITEMS]
    ]
    return [make_section("*Missing from the start:*\n" + "\n".join(lines))] if lines else []


def _render_unknown_writes(request: RequestState) -> list[Block]:
    """Render the list of writes that may or may not have been carried out, for people to check."""
    if not request.unknown_writes:
        return []
    lines = [f"• {clean_mrkdwn(what, limit=200)}" for what in request.unknown_writes[:_MAX_LISTED_ITEMS]]
    more = (
        f"\n• and {len(request.unknown_writes) - _MAX_LISTED_ITEMS} more"
        if len(request.unknown_writes) > _MAX_LISTED_ITEMS
        else ""
    )
    return [
        make_section(
            f":warning: *{UNKNOWN_WRITE_WORDS.capitalize()}* whether this was carried out:\n" + "\n".join(lines) + more
        )
    ]


def _join_titles(request: RequestState, subtasks: Sequence[SubtaskState]) -> str:
    titles_text = ", ".join(
        clean_mrkdwn(render_title(request, subtask), limit=50 + 30 * bool(subtask.within))
        for subtask in subtasks[:_MAX_LISTED_ITEMS]
    )
    return (
        f"{titles_text} and {len(subtasks) - _MAX_LISTED_ITEMS} more"
        if len(subtasks) > _MAX_LISTED_ITEMS
        else titles_text
    )


def _render_duration(job: Job, request: RequestState) -> Block:
    took = format_duration((request.ended_at or request.run.concluded_at or request.spec.at) - request.spec.at)
    return make_context(f"{took} · job {job.id}")
