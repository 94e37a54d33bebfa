"""Renders the window that asks before an erasure, and the receipt after it. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.outgoing import Block, Outgoing, make_context, make_sections
from handoff.text.counts import format_count

ERASURE_WINDOW = "forget"
"""The callback_id of the window."""
MAX_LISTED_JOBS = 10
"""Maximum number of jobs that are listed by name."""
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class JobToErase:
    """A job to be erased, with counts of the data that is kept of it. `bytes` is the size of its `files`.

    `askers` are the requesters by request id. `digests` name the files that it read and made; `sources` are the ids of
    files in Slack.
    """

    job: str
    title: str
    channel: str
    thread_ts: str
    steps: int
    files: int
    bytes: int
    posts: int
    under_way: bool
    askers: Mapping[str, str]
    digests: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """The data that an erasure would delete. `shared_jobs` stay, as other people made requests in them.

    `person` is the person whose jobs they are; empty if one job was named. `memory_count` and `schedule_count` count
    that person's remembered things and schedules.
    """

    jobs: tuple[JobToErase, ...]
    shared_jobs: tuple[str, ...] = ()
    person: str = ""
    memory_count: int = 0
    schedule_count: int = 0


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """The counts of erased data, for the receipt. `messages` and `posted_files` were deleted in Slack.

    `undeleted_counts` counts the posts that could not be deleted in Slack, by the reason.
    """

    jobs: tuple[str, ...]
    shared_jobs: tuple[str, ...]
    person: str
    steps: int
    files: int
    bytes: int
    messages: int
    posted_files: int
    undeleted_counts: Mapping[str, int] = field(default_factory=dict)
    memory_count: int = 0
    schedule_count: int = 0


def render_erasure_window(target: ErasureTarget, reader: str, metadata: str) -> Block:
    """Build the window that lists the data to be erased, and the data that cannot be. `reader` is a Slack id."""
    lines = _describe_data(target, reader)
    return {
        "type": "modal",
        "callback_id": ERASURE_WINDOW,
        "private_metadata": metadata,
        "title": {"type": "plain_text", "text": "Forget for good"},
        "submit": {"type": "plain_text", "text": "Forget"},
        "close": {"type": "plain_text", "text": "Keep"},
        "blocks": [*make_sections(lines), make_context(NOT_ERASED_TEXT)],
    }


NOT_ERASED_TEXT = (
    "I cannot take back what you and others wrote or attached, nor what a model's provider, a backup or your own copy "
    "keeps. My audit goes on saying who asked and forgot what, without contents. You get a receipt."
)


def _describe_data(target: ErasureTarget, reader: str) -> list[str]:
    steps, files = sum(one.steps for one in target.jobs), sum(one.files for one in target.jobs)
    posts, size = sum(one.posts for one in target.jobs), sum(one.bytes for one in target.jobs)
    whose = "that you asked for" if target.person == reader else f"of {render_mention(target.person)}"
    if target.person:
        lines = [f"*{format_count(len(target.jobs), 'job')}* {whose} will be erased:"]
        lines += [f"• `{one.job}` {_render_title(one)}" for one in target.jobs[:MAX_LISTED_JOBS]]
        lines += [f"• and {len(target.jobs) - MAX_LISTED_JOBS:,} more"] if len(target.jobs) > MAX_LISTED_JOBS else []
    else:
        lines = [f"*`{target.jobs[0].job}`* {_render_title(target.jobs[0])} will be erased:"]
    lines.append(f"*In my store:* the record of {format_count(steps, 'step')} and {_format_pieces(files, size)}.")
    lines.append(f"*In Slack:* {format_count(posts, 'message and file', 'messages and files')} that I posted for it.")
    if target.memory_count:
        whose = "you" if target.person == reader else "they"
        lines.append(f"*Remembered:* {format_count(target.memory_count, 'thing')} that {whose} had me remember.")
    if target.schedule_count:
        lines.append(f"*Schedules:* {format_count(target.schedule_count, 'schedule')}. They no longer run.")
    if busy := [one for one in target.jobs if one.under_way]:
        lines.append(f"*Under way, and stopped first, without a report:* {', '.join(f'`{one.job}`' for one in busy)}.")
    if target.shared_jobs:
        lines.append(_describe_shared_jobs(target.shared_jobs))
    return lines


def render_receipt(report: ErasureReport, reader: str) -> Outgoing:
    """Render the receipt: what was erased in the store and in Slack, and what could not be."""
    job_list = ", ".join(f"`{job}`" for job in report.jobs[:MAX_LISTED_JOBS]) + (
        " …" if len(report.jobs) > MAX_LISTED_JOBS else ""
    )
    whose = (
        " that you asked for"
        if report.person == reader
        else f" of {render_mention(report.person)}"
        if report.person
        else ""
    )
    messages, files = format_count(report.messages, "message"), format_count(report.posted_files, "file")
    steps = format_count(report.steps, "step")
    lines = [
        f"*Forgotten: {format_count(len(report.jobs), 'job')}{whose}*" + (f" ({job_list})" if job_list else ""),
        f"*Erased in my store:* the record of {steps}, {_format_pieces(report.files, report.bytes)}.",
        f"*Deleted in Slack:* {messages} and {files} of mine.",
    ]
    if report.memory_count:
        lines.append(f"*No longer remembered:* {format_count(report.memory_count, 'thing')}.")
    if report.schedule_count:
        lines.append(f"*Removed:* {format_count(report.schedule_count, 'schedule')}.")
    failure_texts = [f"{clean_mrkdwn(why)} ({count:,})" for why, count in report.undeleted_counts.items() if count]
    if failure_texts:
        lines.append(f"*Not deleted in Slack:* {'; '.join(failure_texts)}.")
    if report.shared_jobs:
        lines.append(_describe_shared_jobs(report.shared_jobs))
    lines.append(
        "*What I cannot erase:* what you and others wrote and attached, traces sent to somebody's direct messages, the "
        "audit's entries (ids, no contents), the store's append-only file until its next rewrite, tables that another "
        "machine of mine has read (a day at most), backups, and what model providers keep."
    )
    if report.person:
        who = "you" if report.person == reader else "that person"
        lines.append(
            f"What {who} said in threads of others' jobs stays with these jobs until they expire, and what {who} spent "
            "today is counted until midnight (UTC)."
        )
    return Outgoing(
        text=to_plain_line(f"Forgotten: {format_count(len(report.jobs), 'job')}"), blocks=tuple(make_sections(lines))
    )


def explain_no_data(target: ErasureTarget) -> str:
    """Return a sentence that says why there is nothing to erase."""
    if target.shared_jobs:
        return _describe_shared_jobs(target.shared_jobs)
    return "There is nothing to forget: I keep no job that only this person asked for."


def _describe_shared_jobs(jobs: Sequence[str]) -> str:
    job_list = ", ".join(f"`{job}`" for job in jobs[:MAX_LISTED_JOBS]) + (" …" if len(jobs) > MAX_LISTED_JOBS else "")
    return f"*Stays:* {job_list}, as others asked for things there too. An admin can have it forgotten, job by job."


def _render_title(job: JobToErase) -> str:
    return (
        f"“{clean_mrkdwn(to_plain_line(job.title, 80))}” in <#{job.channel}>" if job.title else f"in <#{job.channel}>"
    )


def _format_pieces(number: int, size: int) -> str:
    return f"{format_count(number, 'file or text', 'files and texts')} ({_format_size(size)})"


def _format_size(size: int) -> str:
    return f"{size / MIB:,.1f} MB" if size >= MIB / 10 else f"{size:,} bytes"
