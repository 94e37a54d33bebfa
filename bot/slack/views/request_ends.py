"""Renders the ends of a request without an answer (failed, stopped, refused), and the notes about a quarantined job."""

from __future__ import annotations

from collections.abc import Sequence

from bot.slack.text.cleaning import clean, mention
from bot.slack.views.card import has_content, list_missing
from bot.slack.views.contact_line import name_contact_after_failure
from bot.slack.views.outgoing import Block, Outgoing, context, format_duration, section
from bot.slack.views.try_again import render_retry_buttons
from handoff.engine.answer import list_unreachable_parts
from handoff.state.job_state import SETTLED, Job, RequestState, SubtaskState
from handoff.state.state_values import PLEASE_CHECK
from handoff.summaries.summary import list_innermost, title_of

_LISTED = 12
_QUOTED = 120
"""Most characters that are quoted of a deleted request."""


def render_failure(job: Job, ask: RequestState) -> Outgoing:
    """Render the end of a failed request: the step, the reason, and what people can do.

    Raises ValueError for a request that has not failed.
    """
    if ask.run.failure is None:
        raise ValueError(f"{ask.id} has not failed")
    if ask.refusal:
        return render_refusal(ask.refusal)
    step, reason = clean(ask.run.failure.step, limit=200), clean(ask.run.failure.reason, limit=1200)
    parts = [work for work in list_innermost(ask) if not work.handed_over]
    lines = [
        ":x: *I could not answer this.*",
        reason if len(parts) == 1 else f"*{step[:1].upper()}{step[1:]}:* {reason}",
    ]
    if ask.run.failure.advice:
        lines.append(clean(ask.run.failure.advice, limit=900))
    if who := name_contact_after_failure(ask):
        lines.append(f"*Who can help:* {who}")
    progress = _progress_blocks(ask) if len(parts) > 1 else []
    blocks = [
        section("\n".join(lines)),
        *_render_out_of_reach(ask),
        *progress,
        *_name_unknown_writes(ask),
        _duration_block(job, ask),
    ]
    blocks += render_retry_buttons(job, ask)
    return Outgoing(text=f"I could not answer this. {step}: {reason}", blocks=tuple(blocks))


def render_cancellation(job: Job, ask: RequestState, *, alone: bool = False) -> Outgoing:
    """Render the report of a stopped request: what was done, what was under way, what was left.

    `alone`: only the requester reads it. Only then are the words of a deleted request quoted, as Slack does not say who
    deleted them.
    """
    who = mention(ask.cancelled_by)
    stopped = f":octagonal_sign: *Stopped* by {who}."
    if ask.withdrawn:
        asked = clean(" ".join(ask.text.split())[:_QUOTED])
        what = f"your request “{asked}”" if alone else f"a request of {who}"
        stopped = f":octagonal_sign: *Withdrawn*: {what} was deleted, so I stopped the work on it."
    blocks = [section(stopped), *_progress_blocks(ask), *_name_unknown_writes(ask)]
    if not ask.work:
        blocks.append(section("No plan was made yet, so no work was done."))
    elif all(work.state in SETTLED for work in list_innermost(ask)):
        blocks.append(section("All parts had ended; the answer was being written."))
    text = "Withdrawn: the request was deleted." if ask.withdrawn else f"Stopped by {who}."
    buttons = [] if alone else render_retry_buttons(job, ask)
    return Outgoing(text=text, blocks=(*blocks, _duration_block(job, ask), *buttons))


def render_refusal(reason: str) -> Outgoing:
    """Render the message that says why a request was refused, and what to do instead."""
    text = clean(reason, limit=2500) or "I cannot use that."
    return Outgoing(text=text, blocks=(section(text),))


def render_unreachable(job: Job, fault: str, end: Outgoing) -> Outgoing:
    """Render the direct message about the end of a request whose thread cannot be written to any more.

    `end` is the message that the thread should have shown, or its first part. Its buttons are left out, as they work
    only in the thread.
    """
    text = (
        f"I could not post this in <#{job.place.channel}>: {clean(fault)}. So here it is, for you alone; "
        f"`/leadhand trace {job.id}` sends you every step."
    )
    blocks = [block for block in end.blocks if block["type"] not in {"actions", "context_actions"}]
    return Outgoing(text=text, blocks=(section(text), {"type": "divider"}, *blocks))


def render_trial(job: str, step: str, lost: int) -> Outgoing:
    """Render the note that a job will be tried by an instance that works on nothing else.

    `lost` counts the owners that were lost in a row while they worked on it.
    """
    step = clean(step, limit=200)
    text = (
        f":hourglass: *I was interrupted {lost} times in a row while I was at this step:* {step}\n"
        "In a moment I try it once more with nothing else running beside it, to find out if this job is the cause. "
        "If it is not, I go on here as usual. If it is, I set the job aside and say so. Finished parts are kept."
    )
    short = f"I was interrupted {lost} times in a row. In a moment I try this once more by itself."
    return Outgoing(text=short, blocks=(section(text), context(f"job {job}")))


def render_quarantine(job: str, step: str, reason: str, *, user: str, readable: bool) -> Outgoing:
    """Render the note that a job is quarantined. `user` is the requester.

    `readable`: this release can read the job, so that stopping it gives a report.
    """
    step, reason = clean(step, limit=200), clean(reason, limit=1200)
    release = f"An admin can let it go on with `/leadhand release {job}`"
    stop = f"{mention(user)} can still stop it with `/leadhand cancel {job}`" if user else ""
    if readable:
        after = f"{release}; {stop}." if stop else f"{release}."
    else:
        after = f"{release} once that is fixed. To have it done now, ask again in a new thread."
    text = (
        f":warning: *I have set this job aside.*\n*Step:* {step}\n*Reason:* {reason}\n"
        f"Nothing that was recorded is lost. {after}"
    )
    return Outgoing(text=f"I have set this job aside. {step}: {reason}", blocks=(section(text), context(f"job {job}")))


def _progress_blocks(ask: RequestState) -> list[Block]:
    works = [work for work in list_innermost(ask) if not work.dropped and not work.handed_over]
    groups = [
        ("Done", [work for work in works if work.state == "complete" and not list_missing(ask, work)]),
        ("Done in part", [work for work in works if work.state == "complete" and _lacks_some(ask, work)]),
        ("Brought nothing", [work for work in works if work.state == "complete" and not has_content(work)]),
        ("Not finished", [work for work in works if work.state in {"in_progress", "input_required"}]),
        ("Failed", [work for work in works if work.state == "error"]),
        ("Left", [work for work in works if work.state in {"pending", "skipped"}]),
    ]
    lines = [f"*{name}:* {_join_titles(ask, group)}" for name, group in groups if group]
    return [section("\n".join(lines))] if lines else []


def _lacks_some(ask: RequestState, work: SubtaskState) -> bool:
    return has_content(work) and bool(list_missing(ask, work))


def _render_out_of_reach(ask: RequestState) -> list[Block]:
    lines = [f"• {clean(what, limit=200)}" for what in list_unreachable_parts(ask, ask.run)[:_LISTED]]
    return [section("*Missing from the start:*\n" + "\n".join(lines))] if lines else []


def _name_unknown_writes(ask: RequestState) -> list[Block]:
    """Render the list of writes that may or may not have been carried out, for people to check."""
    if not ask.unknown_writes:
        return []
    lines = [f"• {clean(what, limit=200)}" for what in ask.unknown_writes[:_LISTED]]
    more = f"\n• and {len(ask.unknown_writes) - _LISTED} more" if len(ask.unknown_writes) > _LISTED else ""
    return [
        section(f":warning: *{PLEASE_CHECK.capitalize()}* whether this was carried out:\n" + "\n".join(lines) + more)
    ]


def _join_titles(ask: RequestState, works: Sequence[SubtaskState]) -> str:
    named = ", ".join(clean(title_of(ask, work), limit=50 + 30 * bool(work.within)) for work in works[:_LISTED])
    return f"{named} and {len(works) - _LISTED} more" if len(works) > _LISTED else named


def _duration_block(job: Job, ask: RequestState) -> Block:
    took = format_duration((ask.ended or ask.run.written or ask.request.at) - ask.request.at)
    return context(f"{took} · job {job.id}")
