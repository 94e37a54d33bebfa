"""Work that goes on after Slack was told "received": kept hold of, and waited for at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError

from bot.slack.send.web_calls import NoReply, Refused
from bot.store.interface import StoreError

log = logging.getLogger(__name__)

STUBBORN = 0.1
"""Seconds that what was cancelled gets to end."""


class Background:
    """Tasks of our own: nobody else keeps a reference to them. A failure is logged, never fatal."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, object], what: str) -> asyncio.Task[None]:
        """Do it beside everything else. `what` names it in the log should it fail, which its task never does."""
        task = asyncio.create_task(self._watch(work, what))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def drain(self, seconds: float = 1.5) -> None:
        """Wait for what is under way, for so long at most; cancel the rest."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=STUBBORN)

    async def _watch(self, work: Coroutine[Any, Any, object], what: str) -> None:
        try:
            await work
        except StoreError as error:
            log.error("could not %s: %s", what, error)  # noqa: TRY400 - one clear line, no trace
        except (Refused, NoReply) as error:
            log.warning("could not %s: %s", what, error)
        except (SlackApiError, ClientError, TimeoutError) as error:
            log.warning("could not %s: Slack did not take it (%s)", what, type(error).__name__)
        except Exception:
            log.exception("could not %s", what)
