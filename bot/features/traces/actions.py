"""`/leadhand trace` sends a job's timeline, and its trace as files; the Evidence button opens an answer's sources."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.job_controls.actions import DENIAL_TEXTS, read_budget_lines
from bot.features.traces.service import TraceService
from bot.slack.receive.payloads import Click
from bot.slack.receive.router import ClickReply, Router
from bot.slack.receive.subcommand import CommandContext
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, show_ephemeral_message
from bot.slack.views.answer_message import SHOW_EVIDENCE, render_evidence_modal
from bot.slack.views.button_data import RequestRef, decode_data
from bot.slack.views.outgoing import Outgoing
from handoff.contracts import Place
from specialists.tools.blocking import import_in_thread

if TYPE_CHECKING:
    from bot.tracing.job_trace import Trace


class EvidenceClicks:
    """The listener for the Evidence button."""

    def __init__(self, traces: TraceService) -> None:
        self._traces = traces

    def register(self, router: Router) -> None:
        """Register the listener for the button."""
        router.on_click(SHOW_EVIDENCE, self.on_show_evidence, fault=notices.NOT_READ)

    async def on_show_evidence(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open a window with the evidence for an answer."""
        about = decode_data(click.value, RequestRef)
        if about is None:
            return notices.OLD_BUTTON
        job = await self._traces.find_thread_job(click.place)
        request = job.find_request(about.request) if job is not None else None
        if job is None or request is None:
            return notices.NO_EVIDENCE
        return (
            None
            if await open_window(client, click.trigger_id, render_evidence_modal(job, request))
            else notices.WINDOW_FAILED
        )


SENT_TEXT = "All of it is on its way to your direct messages with me: a picture, a page that opens each step, and JSON."
OWN_SENT_TEXT = (
    "These are the steps of what you asked for: those of others are theirs, and admins see all. All of yours is on its "
    "way to your direct messages with me: a picture, a page that opens each step, and JSON."
)


async def show_trace(ctx: CommandContext) -> Outgoing:
    """Render a job's timeline, and start to send its whole trace as files."""
    from bot.slack.views.status import render_timeline  # noqa: PLC0415 - only for those who ask
    from bot.slack.views.status import render_trace as trace_message  # noqa: PLC0415 - the same

    traces = ctx.find_service(TraceService)
    visible_trace = await traces.read_visible_trace(ctx.team, ctx.job, ctx.user)
    if isinstance(visible_trace, str):
        return make_note(notices.TRACE_NOT_ALLOWED if visible_trace == "not_yours" else DENIAL_TEXTS[visible_trace])
    budget_lines = [] if visible_trace.job is None else await read_budget_lines(ctx, visible_trace.job)
    ctx.background.start(
        _send_files(ctx, replace(visible_trace.trace, budget_lines=tuple(budget_lines))), "send a trace"
    )
    if visible_trace.job is None:  # the readable part of the trace is sent nevertheless
        return make_note(f"{DENIAL_TEXTS[visible_trace.denial_reason]} {SENT_TEXT}")
    has_other_requesters = (
        not visible_trace.is_whole and len({request.spec.user for request in visible_trace.job.requests}) > 1
    )
    timeline = await traces.replace_ids_by_names(render_timeline(visible_trace.job.id, visible_trace.trace.steps))
    return trace_message(
        visible_trace.job.id, timeline, OWN_SENT_TEXT if has_other_requesters else SENT_TEXT, budget_lines
    )


async def _send_files(ctx: CommandContext, trace: Trace) -> None:
    """Send the trace to the person's direct messages, as Slack has no ephemeral files."""
    client = ctx.client
    try:
        uploads, comment = await _make_files(trace, ctx.job)
        direct = await client.conversations_open(users=ctx.user)
        channel = direct["channel"]["id"]
        await client.files_upload_v2(channel=channel, file_uploads=uploads, initial_comment=comment)
    except Exception:
        place = Place(team=ctx.team, channel=ctx.channel, thread_ts="")
        words = f"The trace of {ctx.job} could not be sent. Try again in a minute."
        await show_ephemeral_message(client, place, ctx.user, make_note(words))
        raise


async def _make_files(trace: Trace, job: str) -> tuple[list[dict[str, Any]], str]:
    """Return the files, the picture first, and their comment, which says why if there is no picture."""
    await import_in_thread("bot.tracing.picture", "bot.tracing.picture_layout", "bot.tracing.trace_page")
    from bot.tracing.export import dump_trace  # noqa: PLC0415 - only for those who ask
    from bot.tracing.picture import draw_picture  # noqa: PLC0415 - the same
    from bot.tracing.picture_layout import describe_picture  # noqa: PLC0415 - the same
    from bot.tracing.trace_page import render_trace_page  # noqa: PLC0415 - the same

    picture = await draw_picture(trace)
    page = await asyncio.to_thread(render_trace_page, trace)
    trace_json = await asyncio.to_thread(dump_trace, trace)
    title = f"Trace of {job}"
    files = [
        {"filename": f"{job}.html", "title": "Each step (open in a browser)", "content": page.encode()},
        {"filename": f"{job}.json", "title": "All of it as JSON", "content": trace_json.encode()},
    ]
    if isinstance(picture, str):
        return files, f"{title}. {picture}"
    picture_file = {"filename": f"{job}.png", "title": title, "content": picture, "alt_txt": describe_picture(trace)}
    return [picture_file, *files], f"{title}."
