"""Refreshes tokens that expire, each once however many instances there are, long before its time is over.

A refresh token works once. So the right to use it is taken in the record first, by compare-and-set; and what Slack
answers is kept by a task that a stop of the instance waits for. An answer that is lost on its way, or with an instance
that is killed, is asked for again at once: Slack voids a used refresh token only "after a short grace period". Where
that is over, the old token is good until its time is over, and the log says where to install the app again. It has
to be installed again, too, if two answers in a row are lost: Slack keeps two tokens, and voids the one still in use.
"""

from __future__ import annotations

import asyncio
import logging
import time

import aiohttp
from slack_sdk.errors import SlackTokenRotationError
from slack_sdk.oauth.installation_store import Bot
from slack_sdk.oauth.token_rotation.async_rotator import AsyncTokenRotator
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.installation.records import InstallationRecord, InstallationRecords, replace_tokens
from bot.slack.token_proof import PASSING_ERRORS
from bot.store.values import StoreError

log = logging.getLogger(__name__)

BEFORE_MINUTES = 120
"""Minutes before the end of a token at which it is refreshed: as Bolt does."""
RETRY_SECONDS = 15.0
"""Seconds after which another instance tries, if nothing came of it: a little more than Slack's answer may take."""
KEEPING = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 10.0)
"""Seconds between tries to keep new tokens in a store that is away."""


class TokenRefresh:
    """Refreshes tokens by the app's credentials (client id and secret). `close` waits for what is under way."""

    def __init__(self, records: InstallationRecords, client: AsyncWebClient, credentials: tuple[str, str]) -> None:
        self._records = records
        self._rotator = AsyncTokenRotator(client_id=credentials[0], client_secret=credentials[1], client=client)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._refused: set[str] = set()
        """Refresh tokens that Slack does not take."""

    def begin(self, name: str, record: InstallationRecord) -> None:
        """Begin to refresh the token of a record, if it is time and nobody else is at it."""
        found = record.installation
        ends = found.bot_token_expires_at if found is not None else None
        if found is None or ends is None or found.bot_refresh_token in self._refused:
            return
        if ends > time.time() + BEFORE_MINUTES * 60 or record.refreshing > self._records.clock():
            return
        if name not in self._tasks:
            task = self._tasks[name] = asyncio.create_task(self._refresh(name))
            task.add_done_callback(lambda _: self._tasks.pop(name, None))

    async def close(self) -> None:
        """Wait for what is under way: its tokens are nowhere else."""
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    async def _refresh(self, name: str) -> None:
        try:
            await self._try_refresh(name)
        except StoreError as error:
            log.warning("the token of %s is refreshed when the store is back: %s", name, error)
        except Exception:
            log.exception("the token of %s could not be refreshed", name)

    async def _try_refresh(self, name: str) -> None:
        record, row = await self._records.read(name)
        found = record.installation if record is not None else None
        if record is None or found is None or record.refreshing > self._records.clock():
            return
        mine = record.model_copy(update={"refreshing": self._records.clock() + RETRY_SECONDS})
        if not await self._records.put(name, mine, was=row):
            return  # another instance is at it
        try:
            bot = await self._rotator.perform_bot_token_rotation(
                bot=found.to_bot(), minutes_before_expiration=BEFORE_MINUTES
            )
        except (SlackTokenRotationError, OSError, TimeoutError, aiohttp.ClientError) as error:
            await self._note_failure(name, mine, error)
            return
        if bot is not None:
            await self._keep_tokens(name, mine, bot)

    async def _note_failure(self, name: str, mine: InstallationRecord, error: Exception) -> None:
        """Have it tried again at the next look, unless Slack does not take the refresh token."""
        code = type(error).__name__
        if isinstance(error, SlackTokenRotationError):
            code = str(error.api_error.response.get("error") or "")
            if code not in PASSING_ERRORS:
                self._refused.add(str(mine.fields.get("bot_refresh_token")))
                log.error(
                    "the token of %s was not refreshed (%s); once it has expired, install the app again at "
                    "/slack/install",
                    name,
                    code,
                )
                return
        log.warning("Slack did not answer when the token of %s was refreshed (%s)", name, code)
        free = mine.model_copy(update={"refreshing": 0.0})
        await self._records.change(name, lambda one: free if one == mine else None)

    async def _keep_tokens(self, name: str, mine: InstallationRecord, bot: Bot) -> None:
        for pause in KEEPING:
            try:
                # Whoever installed it anew, or took it away, meanwhile has the last word.
                await self._records.change(
                    name,
                    lambda one: replace_tokens(one, bot) if one is not None and one.fields == mine.fields else None,
                )
            except StoreError:
                await asyncio.sleep(pause)
            else:
                log.info("the token of %s was refreshed", name)
                return
        log.error("the new token of %s could not be kept: the store is away", name)
