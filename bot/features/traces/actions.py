"""The Evidence button: a window with what an answer stands on."""

from __future__ import annotations

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.traces.service import Traces
from bot.slack.receive.payloads import Click
from bot.slack.receive.router import ClickReply, Router
from bot.slack.show import notices
from bot.slack.show.notices import open_window
from bot.slack.views.answer_message import SHOW_EVIDENCE, evidence_modal
from bot.slack.views.carried import AboutRequest, read_carried


class EvidenceButton:
    """The listener of the button."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces

    def register(self, router: Router) -> None:
        """Listen to the button."""
        router.on_click(SHOW_EVIDENCE, self.on_show_evidence, fault=notices.NOT_READ)

    async def on_show_evidence(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open a window with what an answer stands on."""
        about = read_carried(click.value, AboutRequest)
        if about is None:
            return notices.OLD_BUTTON
        job = await self._traces.job_of_thread(click.place)
        ask = job.ask(about.request) if job is not None else None
        if job is None or ask is None:
            return notices.NO_EVIDENCE
        return None if await open_window(client, click.trigger, evidence_modal(job, ask)) else notices.NO_WINDOW
