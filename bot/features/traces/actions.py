"""`/leadhand trace` sends a job's timeline, and its trace as files; the Evidence button opens an answer's sources."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.job_controls.actions import DENIED, list_budgets_left
from bot.features.traces.service import TraceDesk
from bot.slack.receive.payloads import Click
from bot.slack.receive.router import ClickReply, Router
from bot.slack.receive.subcommand import CommandContext
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, tell
from bot.slack.views.answer_message import SHOW_EVIDENCE, evidence_modal
from bot.slack.views.button_data import AboutRequest, decode_data
from bot.slack.views.outgoing import Outgoing
from handoff.contracts import Place
from specialists.tools.blocking import load

if TYPE_CHECKING:
    from bot.tracing.whole_trace import Trace


class EvidenceClicks:
    """The listener for the Evidence button."""

    def __init__(self, traces: TraceDesk) -> None:
        self._traces = traces

    def register(self, router: Router) -> None:
        """Register the listener for the button."""
        router.on_click(SHOW_EVIDENCE, self.on_show_evidence, fault=notices.NOT_READ)

    async def on_show_evidence(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open a window with the evidence for an answer."""
        about = decode_data(click.value, AboutRequest)
        if about is None:
            return notices.OLD_BUTTON
        job = await self._traces.find_thread_job(click.place)
        ask = job.find_request(about.request) if job is not None else None
        if job is None or ask is None:
            return notices.NO_EVIDENCE
        return None if await open_window(client, click.trigger, evidence_modal(job, ask)) else notices.NO_WINDOW


IN_MESSAGES = (
    "All of it is on its way to your direct messages with me: a picture, a page that opens each step, and JSON."
)
OWN_IN_MESSAGES = (
    "These are the steps of what you asked for: those of others are theirs, and admins see all. All of yours is on its "
    "way to your direct messages with me: a picture, a page that opens each step, and JSON."
)


async def trace(given: CommandContext) -> Outgoing:
    """Render a job's timeline, and start to send its whole trace as files."""
    from bot.slack.views.status import timeline  # noqa: PLC0415 - only for those who ask
    from bot.slack.views.status import trace as trace_message  # noqa: PLC0415 - the same

    traces = given.find(TraceDesk)
    found = await traces.trace(given.team, given.job, given.user)
    if isinstance(found, str):
        return make_note(notices.NOT_TRACED if found == "not_yours" else DENIED[found])
    left = [] if found.job is None else await list_budgets_left(given, found.job)
    given.background.start(_send(given, replace(found.trace, budgets=tuple(left))), "send a trace")
    if found.job is None:  # the readable part of the trace is sent nevertheless
        return make_note(f"{DENIED[found.why]} {IN_MESSAGES}")
    shared = not found.whole and len({ask.request.user for ask in found.job.asks}) > 1
    told = await traces.put_names(timeline(found.job.id, found.trace.steps))
    return trace_message(found.job.id, told, OWN_IN_MESSAGES if shared else IN_MESSAGES, left)


async def _send(given: CommandContext, trace: Trace) -> None:
    """Send the trace to the person's direct messages, as Slack has no ephemeral files."""
    client = given.client
    try:
        uploads, comment = await _make_files(trace, given.job)
        direct = await client.conversations_open(users=given.user)
        channel = direct["channel"]["id"]
        await client.files_upload_v2(channel=channel, file_uploads=uploads, initial_comment=comment)
    except Exception:
        place = Place(team=given.team, channel=given.channel, thread_ts="")
        words = f"The trace of {given.job} could not be sent. Try again in a minute."
        await tell(client, place, given.user, make_note(words))
        raise


async def _make_files(trace: Trace, job: str) -> tuple[list[dict[str, Any]], str]:
    """Return the files, the picture first, and their comment, which says why if there is no picture."""
    await load("bot.tracing.picture", "bot.tracing.picture_layout", "bot.tracing.trace_page")
    from bot.tracing.export import dump_trace  # noqa: PLC0415 - only for those who ask
    from bot.tracing.picture import draw_picture  # noqa: PLC0415 - the same
    from bot.tracing.picture_layout import describe_picture  # noqa: PLC0415 - the same
    from bot.tracing.trace_page import trace_page  # noqa: PLC0415 - the same

    picture = await draw_picture(trace)
    page = await asyncio.to_thread(trace_page, trace)
    exported = await asyncio.to_thread(dump_trace, trace)
    about = f"Trace of {job}"
    files = [
        {"filename": f"{job}.html", "title": "Each step (open in a browser)", "content": page.encode()},
        {"filename": f"{job}.json", "title": "All of it as JSON", "content": exported.encode()},
    ]
    if isinstance(picture, str):
        return files, f"{about}. {picture}"
    seen = {"filename": f"{job}.png", "title": about, "content": picture, "alt_txt": describe_picture(trace)}
    return [seen, *files], f"{about}."
