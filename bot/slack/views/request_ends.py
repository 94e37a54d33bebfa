"""Renders the ends of a request without an answer (failed, stopped, refused), and the notes about a quarantined job."""

from __future__ import annotations

from collections.abc import Sequence

from bot.slack.text.cleaning import clean_mrkdwn, render_mention
from bot.slack.views.card import has_content, list_missing
from bot.slack.views.contact_line import render_failure_contact
from bot.slack.views.outgoing import Block, Outgoing, format_duration, make_context, make_section
from bot.slack.views.try_again import render_retry_buttons
from handoff.engine.answer import list_unfillable_gaps
from handoff.state.job_state import SETTLED_STATES, Job, RequestState, SubtaskState
from handoff.state.state_values import UNKNOWN_WRITE_WORDS
from handoff.summaries.summary import list_innermost_subtasks, render_title

_MAX_LISTED = 12
_QUOTE_LENGTH = 120
"""Most characters that are quoted of a deleted request."""


def render_failure(job: Job, ask: RequestState) -> Outgoing:
    """Render the end of a failed request: the step, the reason, and what people can do.

    Raises ValueError for a request that has not failed.
    """
    if ask.run.failure is None:
        raise ValueError(f"{ask.id} has not failed")
    if ask.refusal:
        return render_refusal(ask.refusal)
    step, reason = clean_mrkdwn(ask.run.failure.step, limit=200), clean_mrkdwn(ask.run.failure.reason, limit=1200)
    parts = [work for work in list_innermost_subtasks(ask) if not work.handed_over]
    lines = [
        ":x: *I could not answer this.*",
        reason if len(parts) == 1 else f"*{step[:1].upper()}{step[1:]}:* {reason}",
    ]
    if ask.run.failure.advice:
        lines.append(clean_mrkdwn(ask.run.failure.advice, limit=900))
    if who := render_failure_contact(ask):
        lines.append(f"*Who can help:* {who}")
    progress = _render_progress(ask) if len(parts) > 1 else []
    blocks = [
        make_section("\n".join(lines)),
        *_render_unreachable_parts(ask),
        *progress,
        *_render_unknown_writes(ask),
        _render_duration(job, ask),
    ]
    blocks += render_retry_buttons(job, ask)
    return Outgoing(text=f"I could not answer this. {step}: {reason}", blocks=tuple(blocks))


def render_cancellation(job: Job, ask: RequestState, *, is_private: bool = False) -> Outgoing:
    """Render the report of a stopped request: what was done, what was under way, what was left.

    `is_private`: only the requester reads it. Only then are the words of a deleted request quoted, as Slack does not
    say who deleted them.
    """
    who = render_mention(ask.cancelled_by)
    stopped = f":octagonal_sign: *Stopped* by {who}."
    if ask.withdrawn:
        asked = clean_mrkdwn(" ".join(ask.text.split())[:_QUOTE_LENGTH])
        what = f"your request “{asked}”" if is_private else f"a request of {who}"
        stopped = f":octagonal_sign: *Withdrawn*: {what} was deleted, so I stopped the work on it."
    blocks = [make_section(stopped), *_render_progress(ask), *_render_unknown_writes(ask)]
    if not ask.work:
        blocks.append(make_section("No plan was made yet, so no work was done."))
    elif all(work.state in SETTLED_STATES for work in list_innermost_subtasks(ask)):
        blocks.append(make_section("All parts had ended; the answer was being written."))
    text = "Withdrawn: the request was deleted." if ask.withdrawn else f"Stopped by {who}."
    buttons = [] if is_private else render_retry_buttons(job, ask)
    return Outgoing(text=text, blocks=(*blocks, _render_duration(job, ask), *buttons))


def render_refusal(reason: str) -> Outgoing:
    """Render the message that says why a request was refused, and what to do instead."""
    text = clean_mrkdwn(reason, limit=2500) or "I cannot use that."
    return Outgoing(text=text, blocks=(make_section(text),))


def render_unreachable(job: Job, fault: str, end: Outgoing) -> Outgoing:
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


def render_trial(job: str, step: str, lost_owners: int) -> Outgoing:
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


def render_quarantine(job: str, step: str, reason: str, *, user: str, readable: bool) -> Outgoing:
    """Render the note that a job is quarantined. `user` is the requester.

    `readable`: this release can read the job, so that stopping it gives a report.
    """
    step, reason = clean_mrkdwn(step, limit=200), clean_mrkdwn(reason, limit=1200)
    release = f"An admin can let it go on with `/leadhand release {job}`"
    stop = f"{render_mention(user)} can still stop it with `/leadhand cancel {job}`" if user else ""
    if readable:
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


def _render_progress(ask: RequestState) -> list[Block]:
    works = [work for work in list_innermost_subtasks(ask) if not work.dropped and not work.handed_over]
    groups = [
        ("Done", [work for work in works if work.state == "complete" and not list_missing(ask, work)]),
        ("Done in part", [work for work in works if work.state == "complete" and _is_done_in_part(ask, work)]),
        ("Brought nothing", [work for work in works if work.state == "complete" and not has_content(work)]),
        ("Not finished", [work for work in works if work.state in {"in_progress", "input_required"}]),
        ("Failed", [work for work in works if work.state == "error"]),
        ("Left", [work for work in works if work.state in {"pending", "skipped"}]),
    ]
    lines = [f"*{name}:* {_join_titles(ask, group)}" for name, group in groups if group]
    return [make_section("\n".join(lines))] if lines else []


def _is_done_in_part(ask: RequestState, work: SubtaskState) -> bool:
    return has_content(work) and bool(list_missing(ask, work))


def _render_unreachable_parts(ask: RequestState) -> list[Block]:
    lines = [f"• {clean_mrkdwn(what, limit=200)}" for what in list_unfillable_gaps(ask, ask.run)[:_MAX_LISTED]]
    return [make_section("*Missing from the start:*\n" + "\n".join(lines))] if lines else []


def _render_unknown_writes(ask: RequestState) -> list[Block]:
    """Render the list of writes that may or may not have been carried out, for people to check."""
    if not ask.unknown_writes:
        return []
    lines = [f"• {clean_mrkdwn(what, limit=200)}" for what in ask.unknown_writes[:_MAX_LISTED]]
    more = f"\n• and {len(ask.unknown_writes) - _MAX_LISTED} more" if len(ask.unknown_writes) > _MAX_LISTED else ""
    return [
        make_section(
            f":warning: *{UNKNOWN_WRITE_WORDS.capitalize()}* whether this was carried out:\n" + "\n".join(lines) + more
        )
    ]


def _join_titles(ask: RequestState, works: Sequence[SubtaskState]) -> str:
    named = ", ".join(
        clean_mrkdwn(render_title(ask, work), limit=50 + 30 * bool(work.within)) for work in works[:_MAX_LISTED]
    )
    return f"{named} and {len(works) - _MAX_LISTED} more" if len(works) > _MAX_LISTED else named


def _render_duration(job: Job, ask: RequestState) -> Block:
    took = format_duration((ask.ended or ask.run.written or ask.request.at) - ask.request.at)
    return make_context(f"{took} · job {job.id}")
