"""Looks up people, user groups and channels in Slack, and caches the answers.

A name is looked up at most once an hour; if Slack does not give it, the bot works without it. Facts on which rights
depend are looked up every few minutes; if that fails, the caller gets None, and nothing is assumed.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.access.access_values import classify_contact, groups_in
from bot.access.person_facts import HomeWorkspace, PersonFacts, parse_person_facts
from bot.slack.send.published_limits import Priority
from bot.slack.send.web_calls import NoReply, SlackRefused, WebCalls
from handoff.access.rights import Actor
from handoff.contracts import Audience, KnownPerson, Place, RequestSetting

log = logging.getLogger(__name__)

PATIENCE = 3.0
"""Seconds that planning waits for names."""
KEPT = 3600.0
"""Seconds for which a name, or Slack's refusal to give it, is cached."""
FACTS_KEPT = 300.0
"""Seconds for which Slack's facts about a person may decide what they may do."""
FACTS_PATIENCE = 1.5
"""Seconds that a click or a message waits for such facts: Slack itself waits for three in all."""
NAMING = 1.0
"""Seconds that a message waits for the names of channels in it, before it is recorded."""
GROUPS_KEPT = 5.0
"""Seconds for which the members of user groups may decide on a click: Slack allows 20 look-ups of them a minute."""
MOST_KEPT = 2_000
GROUPS = "user groups"
DIRECT = "a direct message"
_ID = re.compile(r"\b[UWC][A-Z0-9]{7,}\b")
"""An id of a person or a channel in a text."""

Answer = dict[str, Any]
Send = Callable[[], Awaitable[AsyncSlackResponse]]
GroupsOf = Callable[[str], Awaitable[tuple[str, ...]]]
"""Returns the user groups that a person is in, of those that settings and crews name: see `People.groups_of`."""


StandingOf = Callable[[Place, str], Awaitable[Actor | None]]
"""Returns a person with their current groups; None if they may not act in that place, or Slack does not answer."""


async def find_no_actor(_place: Place, _user: str) -> Actor | None:
    """Return None for any person: nobody may act."""
    return None


async def find_no_groups(_user: str) -> tuple[str, ...]:
    """Return no user groups for any person."""
    return ()


@dataclass(frozen=True, slots=True)
class _Known:
    """A cached answer of Slack's; a refusal has only the field `error`. `at` is its time on the monotonic clock."""

    at: float
    answer: Answer


class People:
    """Looks up people, their groups, and channels.

    `home` is our workspace: without it nobody is one of ours. `admins` are the Slack ids of the bot's admins there.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        calls: WebCalls,
        home: HomeWorkspace | None = None,
        admins: frozenset[str] = frozenset(),
    ) -> None:
        self._client = client
        self._calls = calls
        self.home = home or HomeWorkspace()
        self.admins = admins
        self._known: dict[str, _Known] = {}
        self._asking: dict[str, asyncio.Task[Answer | None]] = {}
        self._named: frozenset[str] = frozenset()

    def add_named_groups(self, named: Collection[str]) -> None:
        """Add user groups that settings or a crew name, for `groups_of` to return. Ids other than S... are ignored."""
        self._named |= groups_in(tuple(named))

    async def facts(self, user: str, *, kept: float = FACTS_KEPT) -> PersonFacts | None:
        """Return Slack's facts about a person, at most `kept` seconds old; None if Slack does not give them.

        None is not cached: the next call asks again.
        """
        key = f"users.info {user}"
        answer = await self._ask_cached(
            "users.info",
            key,
            lambda: self._client.users_info(user=user),
            kept=kept,
            patience=FACTS_PATIENCE,
            priority="question",
        )
        facts = parse_person_facts(answer, self.home) if answer is not None else None
        if facts is None:
            log.warning(
                "who %s is could not be told: %s", user, "no answer" if answer is None else _answer_fault(answer)
            )
            self._known.pop(key, None)
        return facts

    async def groups_of(self, user: str) -> tuple[str, ...]:
        """Return the user groups that a person is in now, of those that were added; empty if Slack does not answer.

        It is fresh enough to decide on a click, and makes no call if no group was added.
        """
        return await self.find_groups(user, kept=GROUPS_KEPT) or ()

    async def find_groups(self, user: str, *, kept: float = FACTS_KEPT) -> tuple[str, ...] | None:
        """Return a person's groups as `groups_of` does, at most `kept` seconds old; None if Slack does not answer."""
        if not self._named:
            return ()
        found = await self._user_groups(kept)
        listed = found.get("usergroups") if found is not None else None
        if not isinstance(listed, list):
            why = "no answer" if found is None else _answer_fault(found)
            log.warning("the user groups of %s could not be read, and count as none: %s", user, why)
            self._known.pop(GROUPS, None)
            return None
        groups = [group for group in listed if isinstance(group, dict) and user in (group.get("users") or ())]
        return tuple(sorted(self._named & {str(group.get("id")) for group in groups}))

    async def _user_groups(self, kept: float) -> Answer | None:
        return await self._ask_cached(
            "usergroups.list",
            GROUPS,
            lambda: self._client.usergroups_list(include_users=True),
            kept=kept,
            patience=FACTS_PATIENCE,
            priority="question",
        )

    async def groups(self) -> tuple[tuple[str, str], ...]:
        """Return the workspace's user groups as pairs of (id, handle); none if Slack does not answer in time."""
        found = await self._user_groups(FACTS_KEPT)
        listed = (found or {}).get("usergroups")
        each = [group for group in listed if isinstance(group, dict)] if isinstance(listed, list) else []
        return tuple((str(group.get("id")), str(group.get("handle") or group.get("name") or "")) for group in each)

    async def setting(self, place: Place, user: str) -> RequestSetting:
        """Return the requester's name and time zone, and the channel's name and kind, if Slack answers in time."""
        about = self._describe_person(user), self._describe_channel(place.channel), self.audience(place)
        person, channel, audience = await asyncio.gather(*about)
        return RequestSetting(**person, channel=channel, kind=audience.kind)

    async def contact(self, named: str) -> str:
        """Return the name of a crew's contact: a person's name, a group's handle, or the contact as it is written."""
        if classify_contact(named) == "person":
            return await self.name(named) or named
        if classify_contact(named) == "group":
            handle = dict(await self.groups()).get(named, "")
            return f"@{handle}" if handle else named
        return named

    async def put_names(self, text: str, *, private: bool = False) -> str:
        """Replace the ids of people and public channels in a text by their names; with `private`, of all channels.

        An id stays if Slack does not give its name in time.
        """
        ids = {one for one in _ID.findall(text) if any(letter.isdigit() for letter in one)}
        users, channels = sorted(one for one in ids if one[0] != "C"), sorted(one for one in ids if one[0] == "C")
        if private:
            found = dict(zip(channels, await asyncio.gather(*map(self._describe_channel, channels)), strict=True))
        else:
            found = {one: f"#{name}" for one, name in (await self.public_names(channels)).items()}
        names = await asyncio.gather(*map(self.name, users))
        found |= {user: f"@{name}" for user, name in zip(users, names, strict=True) if name}
        return _ID.sub(lambda one: found.get(one[0]) or one[0], text)

    async def names(self, users: Sequence[str]) -> tuple[str, ...]:
        """Return the real and the display names of people, without those that Slack does not give in time."""
        found = await asyncio.gather(*(self._fetch_profile(user) for user in users))
        return tuple(dict.fromkeys(name for person in found for name in person))

    async def look_up(self, users: Sequence[str]) -> tuple[KnownPerson, ...]:
        """Return people with their names and time zones, if Slack gives them in time."""
        names = await asyncio.gather(*(self._fetch_profile(user) for user in users))
        zones = await asyncio.gather(*(self.zone(user) for user in users))
        told = zip(users, names, zones, strict=True)
        return tuple(KnownPerson(user=user, names=named, offset=offset) for user, named, (_, offset) in told)

    async def _fetch_profile(self, user: str) -> tuple[str, ...]:
        return _names_of_person(await self._fetch_person(user))

    async def name(self, user: str) -> str:
        """Return a person's name; "" if Slack does not give it in time."""
        return str((await self._describe_person(user))["requester"])

    async def zone(self, user: str) -> tuple[str, int]:
        """Return a person's time zone and the seconds by which it is ahead of UTC; UTC if Slack does not give it."""
        known = RequestSetting(**await self._describe_person(user))
        return known.zone, known.offset

    async def _fetch_person(self, user: str) -> Answer:
        found = await self._look_up("users.info", f"users.info {user}", lambda: self._client.users_info(user=user))
        return _as_fields(found.get("user"))

    async def _describe_person(self, user: str) -> dict[str, Any]:
        about = await self._fetch_person(user)
        told: dict[str, Any] = {"requester": next(iter(_names_of_person(about)), "")}
        zone, offset = about.get("tz"), about.get("tz_offset")
        if isinstance(zone, str) and zone and isinstance(offset, int) and abs(offset) < 86_400:
            told |= {"zone": zone.removeprefix("Etc/"), "offset": offset}
        return told

    async def _describe_channel(self, channel: str) -> str:
        if channel.startswith("D"):
            return DIRECT
        about = await self._fetch_channel(channel)
        if about.get("is_im") or about.get("is_mpim"):
            return DIRECT
        return f"#{about['name']}" if isinstance(about.get("name"), str) else ""

    async def public_names(self, channels: Collection[str]) -> dict[str, str]:
        """Return the names of those channels that are public, by their ids, if Slack gives them in time.

        The name of a private channel is only for its members, but anybody may write its id into a message.
        """
        found = await asyncio.gather(*(self._fetch_channel(channel, NAMING) for channel in channels))
        public = [(one, about) for one, about in zip(channels, found, strict=True) if about.get("is_private") is False]
        return {one: str(about["name"]) for one, about in public if about.get("name")}

    async def _fetch_channel(self, channel: str, patience: float = PATIENCE) -> Answer:
        found = await self._look_up(
            "conversations.info", channel, lambda: self._client.conversations_info(channel=channel), patience
        )
        return _as_fields(found.get("channel"))

    async def audience(self, place: Place) -> Audience:
        """Return who may read a place. The kind is empty if Slack does not answer in time."""
        if place.channel.startswith("D"):
            return Audience(channel=place.channel, kind="direct")
        about = await self._fetch_channel(place.channel)
        if not about:
            return Audience(channel=place.channel)
        if about.get("is_im") or about.get("is_mpim"):
            return Audience(channel=place.channel, kind="direct" if about.get("is_im") else "group")
        return Audience(channel=place.channel, kind="private" if about.get("is_private", True) else "public")

    async def _look_up(self, method: str, key: str, send: Send, patience: float = PATIENCE) -> Answer:
        """Return Slack's answer to a look-up of names; {} if none comes in time. A refusal is cached like an answer."""
        found = await self._ask_cached(method, key, send, kept=KEPT, patience=patience, priority="file")
        if found is None:
            log.info("%s: no answer in time; done without", method)
        return found or {}

    async def _ask_cached(
        self, method: str, key: str, send: Send, *, kept: float, patience: float, priority: Priority
    ) -> Answer | None:
        """Return an answer that is at most `kept` seconds old; None if none comes in time. Callers share one call."""
        known = self._known.get(key)
        if known is not None and time.monotonic() - known.at < kept:
            return known.answer
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._ask_slack(method, key, send, priority))
            asking.add_done_callback(lambda _: self._asking.pop(key, None))
        done, _ = await asyncio.wait([asking], timeout=patience)
        return asking.result() if done else None

    async def _ask_slack(self, method: str, key: str, send: Send, priority: Priority) -> Answer | None:
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._calls.make(method, send, priority=priority, again=True)
        except SlackRefused as error:
            log.info("%s: %s; done without", method, error)
            answer = {"error": error.code}
        except (NoReply, TimeoutError):
            return None
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        self._known[key] = _Known(time.monotonic(), answer)
        return answer


def _answer_fault(answer: Answer) -> str:
    return str(answer.get("error") or "a field is missing")


def _names_of_person(about: Answer) -> tuple[str, ...]:
    """Return a person's names, the real one first."""
    profile = _as_fields(about.get("profile"))
    names = (profile.get("real_name"), about.get("real_name"), profile.get("display_name"), about.get("name"))
    return tuple(name for name in names if isinstance(name, str) and name)


def _as_fields(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
