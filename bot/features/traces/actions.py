"""The Evidence button: a window with what an answer stands on."""

from __future__ import annotations

import json
import logging
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.traces.service import Traces
from bot.slack.receive.payloads import Click, Malformed, parse_click
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, answer_click, open_window, soon
from bot.slack.views.answer_message import SHOW_EVIDENCE, evidence_modal

log = logging.getLogger(__name__)


class EvidenceButton:
    """The listener of the button."""

    def __init__(self, traces: Traces, background: Background) -> None:
        self._traces, self._background = traces, background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        app.action(SHOW_EVIDENCE)(self.on_show_evidence)

    async def on_show_evidence(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Open a window with what an answer stands on."""
        click = parse_click(body, action)
        request = _request_of(click.value) if isinstance(click, Click) else ""
        if isinstance(click, Malformed):
            log.warning("a click without %s was left alone", click.reason)
        elif not request:
            self._tell(client, click, notices.OLD_BUTTON)
        else:
            try:
                async with soon():
                    job = await self._traces.job_of_thread(click.place)
                ask = job.ask(request) if job is not None else None
                if job is None or ask is None:
                    self._tell(client, click, notices.NO_EVIDENCE)
                elif not await open_window(client, str(body.get("trigger_id")), evidence_modal(job, ask)):
                    self._tell(client, click, notices.NO_WINDOW)
            except Unrecorded:
                self._tell(client, click, notices.NOT_READ)
        await ack()

    def _tell(self, client: AsyncWebClient, click: Click, text: str) -> None:
        self._background.start(answer_click(client, click, text), "answer a click")


def _request_of(value: str) -> str:
    """Read the request that a button is about; "" if it is none of ours."""
    try:
        return str(json.loads(value)["request"])
    except (ValueError, KeyError, TypeError):
        return ""
