"""Refreshes tokens long before they expire, each by only one of the instances.

A refresh token works once. So an instance first claims its use in the record, by compare-and-set, and a stopping
instance waits until Slack's answer is stored. If an answer is lost, by the network or because the instance was killed,
the refresh is tried again: Slack voids a used refresh token only "after a short grace period". After that period the
old token works until it expires, and the log says where to install the app again. The app must also be installed again
if two answers in a row are lost: Slack keeps two tokens, and voids the one still in use.
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
from bot.slack.token_monitor import TRANSIENT_SLACK_ERRORS
from bot.store.values import StoreError

log = logging.getLogger(__name__)

REFRESH_BEFORE_MINUTES = 120
"""Minutes before the expiry of a token at which it is refreshed, as in Bolt."""
RETRY_SECONDS = 15.0
"""Seconds after which another instance may try, if none stored a new token: longer than a call to Slack may take."""
STORE_RETRY_PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 10.0)
"""Seconds to wait after each failed try to write new tokens to the store."""


class TokenRefresher:
    """Refreshes tokens with the app's credentials (client id and secret). `close` waits for refreshes under way."""

    def __init__(self, records: InstallationRecords, client: AsyncWebClient, credentials: tuple[str, str]) -> None:
        self._records = records
        self._rotator = AsyncTokenRotator(client_id=credentials[0], client_secret=credentials[1], client=client)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._refused_tokens: set[str] = set()
        """The refresh tokens that Slack refused."""

    def start_refresh(self, name: str, record: InstallationRecord) -> None:
        """Start a task that refreshes the token of a record, if it expires soon and no instance is refreshing it."""
        installation = record.installation
        ends = installation.bot_token_expires_at if installation is not None else None
        if installation is None or ends is None or installation.bot_refresh_token in self._refused_tokens:
            return
        if ends > time.time() + REFRESH_BEFORE_MINUTES * 60 or record.refreshing > self._records.clock():
            return
        if name not in self._tasks:
            task = self._tasks[name] = asyncio.create_task(self._refresh(name))
            task.add_done_callback(lambda _: self._tasks.pop(name, None))

    async def close(self) -> None:
        """Wait for the refreshes under way, whose new tokens are not stored yet."""
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
        installation = record.installation if record is not None else None
        if record is None or installation is None or record.refreshing > self._records.clock():
            return
        mine = record.model_copy(update={"refreshing": self._records.clock() + RETRY_SECONDS})
        if not await self._records.replace(name, mine, former_row=row):
            return  # another instance is refreshing it
        try:
            bot = await self._rotator.perform_bot_token_rotation(
                bot=installation.to_bot(), minutes_before_expiration=REFRESH_BEFORE_MINUTES
            )
        except (SlackTokenRotationError, OSError, TimeoutError, aiohttp.ClientError) as error:
            await self._release_failed_refresh(name, mine, error)
            return
        if bot is not None:
            await self._store_tokens(name, mine, bot)

    async def _release_failed_refresh(self, name: str, claimed_record: InstallationRecord, error: Exception) -> None:
        """Log a failed refresh, and allow another try, unless Slack refused the refresh token."""
        code = type(error).__name__
        if isinstance(error, SlackTokenRotationError):
            code = str(error.api_error.response.get("error") or "")
            if code not in TRANSIENT_SLACK_ERRORS:
                self._refused_tokens.add(str(claimed_record.fields.get("bot_refresh_token")))
                log.error(
                    "the token of %s was not refreshed (%s); once it has expired, install the app again at "
                    "/slack/install",
                    name,
                    code,
                )
                return
        log.warning("Slack did not answer when the token of %s was refreshed (%s)", name, code)
        free = claimed_record.model_copy(update={"refreshing": 0.0})
        await self._records.update_record(name, lambda one: free if one == claimed_record else None)

    async def _store_tokens(self, name: str, claimed_record: InstallationRecord, bot: Bot) -> None:
        for pause in STORE_RETRY_PAUSES:
            try:
                # If the app was installed again or removed meanwhile, that record stays.
                await self._records.update_record(
                    name,
                    lambda one: (
                        replace_tokens(one, bot) if one is not None and one.fields == claimed_record.fields else None
                    ),
                )
            except StoreError:
                await asyncio.sleep(pause)
            else:
                log.info("the token of %s was refreshed", name)
                return
        log.error("the new token of %s could not be kept: the store is away", name)
