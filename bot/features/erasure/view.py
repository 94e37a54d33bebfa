"""Renders the window that asks before an erasure, and the receipt after it. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.outgoing import Block, Outgoing, context, sections
from handoff.text.counts import format_count

FORGET = "forget"
"""The callback_id of the window."""
SHOWN = 10
"""Maximum number of jobs that are listed by name."""
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class JobToForget:
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
    """What an erasure would delete. `shared` are the jobs that stay, as other people asked for things in them too.

    `person` is the person whose jobs they are; empty if one job was named. `remembered` and `schedules` count that
    person's remembered things and schedules.
    """

    jobs: tuple[JobToForget, ...]
    shared: tuple[str, ...] = ()
    person: str = ""
    remembered: int = 0
    schedules: int = 0


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What was erased, for the receipt. `kept` counts the posts that could not be deleted in Slack, by the reason."""

    jobs: tuple[str, ...]
    shared: tuple[str, ...]
    person: str
    steps: int
    files: int
    bytes: int
    messages: int
    posted_files: int
    kept: Mapping[str, int] = field(default_factory=dict)
    remembered: int = 0
    schedules: int = 0


def forget_modal(found: ErasureTarget, reader: str, metadata: str) -> Block:
    """Build the window that lists what will be erased, and what cannot be."""
    lines = _describe_data(found, reader)
    return {
        "type": "modal",
        "callback_id": FORGET,
        "private_metadata": metadata,
        "title": {"type": "plain_text", "text": "Forget for good"},
        "submit": {"type": "plain_text", "text": "Forget"},
        "close": {"type": "plain_text", "text": "Keep"},
        "blocks": [*sections(lines), context(CANNOT_BEFORE)],
    }


CANNOT_BEFORE = (
    "I cannot take back what you and others wrote or attached, nor what a model's provider, a backup or your own copy "
    "keeps. My audit goes on saying who asked and forgot what, without contents. You get a receipt."
)


def _describe_data(found: ErasureTarget, reader: str) -> list[str]:
    steps, files = sum(one.steps for one in found.jobs), sum(one.files for one in found.jobs)
    posts, size = sum(one.posts for one in found.jobs), sum(one.bytes for one in found.jobs)
    whose = "that you asked for" if found.person == reader else f"of {mention(found.person)}"
    if found.person:
        lines = [f"*{format_count(len(found.jobs), 'job')}* {whose} will be erased:"]
        lines += [f"• `{one.job}` {_render_title(one)}" for one in found.jobs[:SHOWN]]
        lines += [f"• and {len(found.jobs) - SHOWN:,} more"] if len(found.jobs) > SHOWN else []
    else:
        lines = [f"*`{found.jobs[0].job}`* {_render_title(found.jobs[0])} will be erased:"]
    lines.append(f"*In my store:* the record of {format_count(steps, 'step')} and {_format_pieces(files, size)}.")
    lines.append(f"*In Slack:* {format_count(posts, 'message and file', 'messages and files')} that I posted for it.")
    if found.remembered:
        whose = "you" if found.person == reader else "they"
        lines.append(f"*Remembered:* {format_count(found.remembered, 'thing')} that {whose} had me remember.")
    if found.schedules:
        lines.append(f"*Schedules:* {format_count(found.schedules, 'schedule')}. They no longer run.")
    if busy := [one for one in found.jobs if one.under_way]:
        lines.append(f"*Under way, and stopped first, without a report:* {', '.join(f'`{one.job}`' for one in busy)}.")
    if found.shared:
        lines.append(_describe_shared_jobs(found.shared))
    return lines


def receipt(done: ErasureReport, reader: str) -> Outgoing:
    """Render the receipt: what was erased in the store and in Slack, and what could not be."""
    named = ", ".join(f"`{job}`" for job in done.jobs[:SHOWN]) + (" …" if len(done.jobs) > SHOWN else "")
    whose = " that you asked for" if done.person == reader else f" of {mention(done.person)}" if done.person else ""
    messages, files = format_count(done.messages, "message"), format_count(done.posted_files, "file")
    steps = format_count(done.steps, "step")
    lines = [
        f"*Forgotten: {format_count(len(done.jobs), 'job')}{whose}*" + (f" ({named})" if named else ""),
        f"*Erased in my store:* the record of {steps}, {_format_pieces(done.files, done.bytes)}.",
        f"*Deleted in Slack:* {messages} and {files} of mine.",
    ]
    if done.remembered:
        lines.append(f"*No longer remembered:* {format_count(done.remembered, 'thing')}.")
    if done.schedules:
        lines.append(f"*Removed:* {format_count(done.schedules, 'schedule')}.")
    failed = [f"{clean(why)} ({count:,})" for why, count in done.kept.items() if count]
    if failed:
        lines.append(f"*Not deleted in Slack:* {'; '.join(failed)}.")
    if done.shared:
        lines.append(_describe_shared_jobs(done.shared))
    lines.append(
        "*What I cannot erase:* what you and others wrote and attached, traces sent to somebody's direct messages, the "
        "audit's entries (ids, no contents), the store's append-only file until its next rewrite, tables that another "
        "machine of mine has read (a day at most), backups, and what model providers keep."
    )
    if done.person:
        who = "you" if done.person == reader else "that person"
        lines.append(
            f"What {who} said in threads of others' jobs stays with these jobs until they expire, and what {who} spent "
            "today is counted until midnight (UTC)."
        )
    return Outgoing(text=plain(f"Forgotten: {format_count(len(done.jobs), 'job')}"), blocks=tuple(sections(lines)))


def nothing_to_forget(found: ErasureTarget) -> str:
    """Return a sentence that says why there is nothing to erase."""
    if found.shared:
        return _describe_shared_jobs(found.shared)
    return "There is nothing to forget: I keep no job that only this person asked for."


def _describe_shared_jobs(jobs: Sequence[str]) -> str:
    named = ", ".join(f"`{job}`" for job in jobs[:SHOWN]) + (" …" if len(jobs) > SHOWN else "")
    return f"*Stays:* {named}, as others asked for things there too. An admin can have it forgotten, job by job."


def _render_title(one: JobToForget) -> str:
    return f"“{clean(plain(one.title, 80))}” in <#{one.channel}>" if one.title else f"in <#{one.channel}>"


def _format_pieces(number: int, size: int) -> str:
    return f"{format_count(number, 'file or text', 'files and texts')} ({_format_size(size)})"


def _format_size(size: int) -> str:
    return f"{size / MIB:,.1f} MB" if size >= MIB / 10 else f"{size:,} bytes"
