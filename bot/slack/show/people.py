"""Who asks and where, by the names that Slack has for them: asked once an hour, and done without where it fails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.send.web_calls import NoReply, Refused, WebCalls
from handoff.contracts import Known, Place, Setting

log = logging.getLogger(__name__)

PATIENCE = 3.0
"""Seconds that planning waits for names."""
KEPT = 3600.0
"""Seconds for which an answer of Slack's is kept, also a refusal."""
MOST_KEPT = 2_000
DIRECT = "a direct message"

Answer = dict[str, Any]


class People:
    """Looks up people and channels."""

    def __init__(self, client: AsyncWebClient, calls: WebCalls) -> None:
        self._client = client
        self._calls = calls
        self._known: dict[str, tuple[float, Answer]] = {}

    async def setting(self, place: Place, user: str) -> Setting:
        """Say who asks and where; without what Slack does not tell in time."""
        person, channel = await asyncio.gather(self._person(user), self._channel(place.channel))
        return Setting(**person, channel=channel)

    async def names(self, users: Sequence[str]) -> tuple[str, ...]:
        """Return the real and the display names of people; none of those that Slack does not tell in time."""
        found = await asyncio.gather(*(self._profile(user) for user in users))
        return tuple(dict.fromkeys(name for person in found for name in person))

    async def known(self, users: Sequence[str]) -> tuple[Known, ...]:
        """Return people with their names and time zones, as far as Slack tells them in time."""
        names = await asyncio.gather(*(self._profile(user) for user in users))
        zones = await asyncio.gather(*(self.zone(user) for user in users))
        told = zip(users, names, zones, strict=True)
        return tuple(Known(user=user, names=named, offset=offset) for user, named, (_, offset) in told)

    async def _profile(self, user: str) -> tuple[str, ...]:
        found = await self._look_up("users.info", user, lambda: self._client.users_info(user=user))
        about = _fields(found.get("user"))
        profile = _fields(about.get("profile"))
        names = (profile.get("real_name"), about.get("real_name"), profile.get("display_name"), about.get("name"))
        return tuple(name for name in names if isinstance(name, str) and name)

    async def name(self, user: str) -> str:
        """Return a person's name; empty if Slack does not tell it in time."""
        return str((await self._person(user))["requester"])

    async def zone(self, user: str) -> tuple[str, int]:
        """Return a person's time zone, and the seconds by which it is ahead of UTC; UTC if Slack does not tell it."""
        known = Setting(**await self._person(user))
        return known.zone, known.offset

    async def _person(self, user: str) -> dict[str, Any]:
        found = await self._look_up("users.info", user, lambda: self._client.users_info(user=user))
        about = _fields(found.get("user"))
        profile = _fields(about.get("profile"))
        names = (profile.get("real_name"), about.get("real_name"), profile.get("display_name"), about.get("name"))
        told: dict[str, Any] = {"requester": next((name for name in names if isinstance(name, str) and name), "")}
        zone, offset = about.get("tz"), about.get("tz_offset")
        if isinstance(zone, str) and zone and isinstance(offset, int) and abs(offset) < 86_400:
            told |= {"zone": zone.removeprefix("Etc/"), "offset": offset}
        return told

    async def _channel(self, channel: str) -> str:
        if channel.startswith("D"):
            return DIRECT
        found = await self._look_up(
            "conversations.info", channel, lambda: self._client.conversations_info(channel=channel)
        )
        about = _fields(found.get("channel"))
        if about.get("is_im") or about.get("is_mpim"):
            return DIRECT
        return f"#{about['name']}" if isinstance(about.get("name"), str) else ""

    async def _look_up(self, method: str, key: str, send: Callable[[], Awaitable[AsyncSlackResponse]]) -> Answer:
        until, answer = self._known.get(key, (0.0, {}))
        if until > time.monotonic():
            return answer
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._calls.make(method, send, priority="status", again=True)
        except Refused as error:
            log.info("%s: %s; done without", method, error)
            answer = {}
        except (NoReply, TimeoutError):
            log.info("%s: no answer in time; done without", method)
            return {}
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        self._known[key] = (time.monotonic() + KEPT, answer)
        return answer


def _fields(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
