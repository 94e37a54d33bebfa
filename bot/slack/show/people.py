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

from bot.access.access_values import classify_contact, pick_groups
from bot.access.person_facts import HomeWorkspace, PersonFacts, parse_person_facts
from bot.slack.send.published_limits import Priority
from bot.slack.send.web_calls import NoReply, SlackRefused, WebCalls
from handoff.access.rights import Actor
from handoff.contracts import Audience, KnownPerson, Place, RequestSetting

log = logging.getLogger(__name__)

NAME_TIMEOUT_SECONDS = 3.0
"""Seconds to wait for a name from Slack."""
NAME_CACHE_SECONDS = 3600.0
"""Seconds for which a name, or Slack's refusal to give it, is cached."""
FACTS_CACHE_SECONDS = 300.0
"""Seconds for which Slack's facts about a person are cached, when they decide what the person may do."""
FACTS_TIMEOUT_SECONDS = 1.5
"""Seconds that a click or a message waits for facts about a person: Slack waits three seconds for its answer."""
CHANNEL_NAME_TIMEOUT_SECONDS = 1.0
"""Seconds that a message waits for the names of channels in it, before it is recorded."""
GROUPS_CACHE_SECONDS = 5.0
"""Seconds for which the members of user groups are cached for a decision: Slack allows 20 look-ups a minute."""
MAX_CACHED_ANSWERS = 2_000
GROUPS_KEY = "user groups"
DIRECT_MESSAGE = "a direct message"
_ID = re.compile(r"\b[UWC][A-Z0-9]{7,}\b")
"""An id of a person or a channel in a text."""

SlackAnswer = dict[str, Any]
SendCall = Callable[[], Awaitable[AsyncSlackResponse]]
FindGroups = Callable[[str], Awaitable[tuple[str, ...]]]
"""Returns the user groups that a person is in, of those that settings and crews name, such as
`People.find_current_groups`."""


FindActor = Callable[[Place, str], Awaitable[Actor | None]]
"""Returns a person with their current groups; None if they may not act in that place, or Slack does not answer."""


async def refuse_any_actor(_place: Place, _user: str) -> Actor | None:
    """Return None for any person: nobody may act."""
    return None


async def find_no_groups(_user: str) -> tuple[str, ...]:
    """Return no user groups for any person."""
    return ()


@dataclass(frozen=True, slots=True)
class _CachedAnswer:
    """A cached answer of Slack's; a refusal has only the field `error`. `at` is its time on the monotonic clock."""

    at: float
    answer: SlackAnswer


class People:
    """Looks up people, their groups, and channels.

    `home` is the bot's workspace; without it, nobody counts as one of its people. `admins` are the Slack ids of the
    bot's admins there.
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
        self._cache: dict[str, _CachedAnswer] = {}
        self._pending_calls: dict[str, asyncio.Task[SlackAnswer | None]] = {}
        self._named_groups: frozenset[str] = frozenset()

    def add_named_groups(self, ids: Collection[str]) -> None:
        """Add user groups that settings or a crew name; only these are looked up.

        Ids other than S... are ignored.
        """
        self._named_groups |= pick_groups(tuple(ids))

    async def find_facts(self, user: str, *, max_age: float = FACTS_CACHE_SECONDS) -> PersonFacts | None:
        """Return Slack's facts about a person, at most `max_age` seconds old; None if Slack does not give them.

        None is not cached: the next call asks again.
        """
        key = f"users.info {user}"
        answer = await self._ask_cached(
            "users.info",
            key,
            lambda: self._client.users_info(user=user),
            max_age=max_age,
            patience=FACTS_TIMEOUT_SECONDS,
            priority="question",
        )
        facts = parse_person_facts(answer, self.home) if answer is not None else None
        if facts is None:
            log.warning(
                "who %s is could not be told: %s", user, "no answer" if answer is None else _describe_fault(answer)
            )
            self._cache.pop(key, None)
        return facts

    async def find_current_groups(self, user: str) -> tuple[str, ...]:
        """Return the user groups that a person is in now, of those that were added; empty if Slack does not answer.

        The answer is at most `GROUPS_CACHE_SECONDS` seconds old. No call is made if no group was added.
        """
        return await self.find_groups(user, max_age=GROUPS_CACHE_SECONDS) or ()

    async def find_groups(self, user: str, *, max_age: float = FACTS_CACHE_SECONDS) -> tuple[str, ...] | None:
        """Return a person's groups, of those that were added, at most `max_age` seconds old; None if Slack fails."""
        if not self._named_groups:
            return ()
        answer = await self._fetch_user_groups(max_age)
        all_groups = answer.get("usergroups") if answer is not None else None
        if not isinstance(all_groups, list):
            why = "no answer" if answer is None else _describe_fault(answer)
            log.warning("the user groups of %s could not be read, and count as none: %s", user, why)
            self._cache.pop(GROUPS_KEY, None)
            return None
        groups = [group for group in all_groups if isinstance(group, dict) and user in (group.get("users") or ())]
        return tuple(sorted(self._named_groups & {str(group.get("id")) for group in groups}))

    async def _fetch_user_groups(self, max_age: float) -> SlackAnswer | None:
        return await self._ask_cached(
            "usergroups.list",
            GROUPS_KEY,
            lambda: self._client.usergroups_list(include_users=True),
            max_age=max_age,
            patience=FACTS_TIMEOUT_SECONDS,
            priority="question",
        )

    async def list_groups(self) -> tuple[tuple[str, str], ...]:
        """Return the workspace's user groups as pairs of (id, handle); none if Slack does not answer in time."""
        answer = await self._fetch_user_groups(FACTS_CACHE_SECONDS)
        all_groups = (answer or {}).get("usergroups")
        each = [group for group in all_groups if isinstance(group, dict)] if isinstance(all_groups, list) else []
        return tuple((str(group.get("id")), str(group.get("handle") or group.get("name") or "")) for group in each)

    async def fetch_request_setting(self, place: Place, user: str) -> RequestSetting:
        """Return the requester's name and time zone, and the channel's name and kind, if Slack gives them in time."""
        about = self._describe_person(user), self._describe_channel(place.channel), self.find_audience(place)
        person, channel, audience = await asyncio.gather(*about)
        return RequestSetting(**person, channel=channel, kind=audience.kind)

    async def find_contact_name(self, contact: str) -> str:
        """Return the name of a crew's contact: a person's name, a group's handle, or the contact as it is written."""
        if classify_contact(contact) == "person":
            return await self.find_name(contact) or contact
        if classify_contact(contact) == "group":
            handle = dict(await self.list_groups()).get(contact, "")
            return f"@{handle}" if handle else contact
        return contact

    async def replace_ids_by_names(self, text: str, *, private: bool = False) -> str:
        """Replace the ids of people and public channels in a text by their names; with `private`, of all channels.

        An id stays if Slack does not give its name in time.
        """
        ids = {one for one in _ID.findall(text) if any(letter.isdigit() for letter in one)}
        users, channels = sorted(one for one in ids if one[0] != "C"), sorted(one for one in ids if one[0] == "C")
        if private:
            names_by_id = dict(zip(channels, await asyncio.gather(*map(self._describe_channel, channels)), strict=True))
        else:
            names_by_id = {one: f"#{name}" for one, name in (await self.find_public_names(channels)).items()}
        names = await asyncio.gather(*map(self.find_name, users))
        names_by_id |= {user: f"@{name}" for user, name in zip(users, names, strict=True) if name}
        return _ID.sub(lambda one: names_by_id.get(one[0]) or one[0], text)

    async def find_names(self, users: Sequence[str]) -> tuple[str, ...]:
        """Return the real and the display names of people, without those that Slack does not give in time."""
        name_lists = await asyncio.gather(*(self._fetch_profile(user) for user in users))
        return tuple(dict.fromkeys(name for person in name_lists for name in person))

    async def find_people(self, users: Sequence[str]) -> tuple[KnownPerson, ...]:
        """Return people with their names and time zones; no names and UTC if Slack does not give them in time."""
        names = await asyncio.gather(*(self._fetch_profile(user) for user in users))
        zones = await asyncio.gather(*(self.find_zone(user) for user in users))
        person_rows = zip(users, names, zones, strict=True)
        return tuple(
            KnownPerson(user=user, names=person_names, offset=offset) for user, person_names, (_, offset) in person_rows
        )

    async def _fetch_profile(self, user: str) -> tuple[str, ...]:
        return _list_names(await self._fetch_person(user))

    async def find_name(self, user: str) -> str:
        """Return a person's name; "" if Slack does not give it in time."""
        return str((await self._describe_person(user))["requester"])

    async def find_zone(self, user: str) -> tuple[str, int]:
        """Return a person's time zone and the seconds by which it is ahead of UTC; UTC if Slack does not give it."""
        setting = RequestSetting(**await self._describe_person(user))
        return setting.zone, setting.offset

    async def _fetch_person(self, user: str) -> SlackAnswer:
        answer = await self._look_up("users.info", f"users.info {user}", lambda: self._client.users_info(user=user))
        return _as_dict_or_empty(answer.get("user"))

    async def _describe_person(self, user: str) -> dict[str, Any]:
        about = await self._fetch_person(user)
        setting_fields: dict[str, Any] = {"requester": next(iter(_list_names(about)), "")}
        zone, offset = about.get("tz"), about.get("tz_offset")
        if isinstance(zone, str) and zone and isinstance(offset, int) and abs(offset) < 86_400:
            setting_fields |= {"zone": zone.removeprefix("Etc/"), "offset": offset}
        return setting_fields

    async def _describe_channel(self, channel: str) -> str:
        if channel.startswith("D"):
            return DIRECT_MESSAGE
        about = await self._fetch_channel(channel)
        if about.get("is_im") or about.get("is_mpim"):
            return DIRECT_MESSAGE
        return f"#{about['name']}" if isinstance(about.get("name"), str) else ""

    async def find_public_names(self, channels: Collection[str]) -> dict[str, str]:
        """Return the names of those channels that are public, by their ids, if Slack gives them in time.

        The name of a private channel is only for its members, but anybody may write its id into a message.
        """
        answers = await asyncio.gather(
            *(self._fetch_channel(channel, CHANNEL_NAME_TIMEOUT_SECONDS) for channel in channels)
        )
        public = [
            (one, about) for one, about in zip(channels, answers, strict=True) if about.get("is_private") is False
        ]
        return {one: str(about["name"]) for one, about in public if about.get("name")}

    async def _fetch_channel(self, channel: str, patience: float = NAME_TIMEOUT_SECONDS) -> SlackAnswer:
        answer = await self._look_up(
            "conversations.info", channel, lambda: self._client.conversations_info(channel=channel), patience
        )
        return _as_dict_or_empty(answer.get("channel"))

    async def find_audience(self, place: Place) -> Audience:
        """Return who may read a place. The kind is empty if Slack does not answer in time."""
        if place.channel.startswith("D"):
            return Audience(channel=place.channel, kind="direct")
        about = await self._fetch_channel(place.channel)
        if not about:
            return Audience(channel=place.channel)
        if about.get("is_im") or about.get("is_mpim"):
            return Audience(channel=place.channel, kind="direct" if about.get("is_im") else "group")
        return Audience(channel=place.channel, kind="private" if about.get("is_private", True) else "public")

    async def _look_up(
        self, method: str, key: str, send: SendCall, patience: float = NAME_TIMEOUT_SECONDS
    ) -> SlackAnswer:
        """Return Slack's answer to a look-up of names; {} if none comes in time. A refusal is cached like an answer."""
        answer = await self._ask_cached(
            method, key, send, max_age=NAME_CACHE_SECONDS, patience=patience, priority="file"
        )
        if answer is None:
            log.info("%s: no answer in time; done without", method)
        return answer or {}

    async def _ask_cached(
        self, method: str, key: str, send: SendCall, *, max_age: float, patience: float, priority: Priority
    ) -> SlackAnswer | None:
        """Return an answer that is at most `max_age` seconds old; None if none comes within `patience` seconds.

        Concurrent callers with the same `key` share one call.
        """
        cache_entry = self._cache.get(key)
        if cache_entry is not None and time.monotonic() - cache_entry.at < max_age:
            return cache_entry.answer
        asking = self._pending_calls.get(key)
        if asking is None:
            asking = self._pending_calls[key] = asyncio.create_task(self._ask_and_cache(method, key, send, priority))
            asking.add_done_callback(lambda _: self._pending_calls.pop(key, None))
        done_tasks, _ = await asyncio.wait([asking], timeout=patience)
        return asking.result() if done_tasks else None

    async def _ask_and_cache(self, method: str, key: str, send: SendCall, priority: Priority) -> SlackAnswer | None:
        try:
            async with asyncio.timeout(NAME_TIMEOUT_SECONDS):
                answer = await self._calls.make(method, send, priority=priority, may_repeat=True)
        except SlackRefused as error:
            log.info("%s: %s; done without", method, error)
            answer = {"error": error.code}
        except (NoReply, TimeoutError):
            return None
        if len(self._cache) >= MAX_CACHED_ANSWERS:
            self._cache.clear()
        self._cache[key] = _CachedAnswer(time.monotonic(), answer)
        return answer


def _describe_fault(answer: SlackAnswer) -> str:
    return str(answer.get("error") or "a field is missing")


def _list_names(person: SlackAnswer) -> tuple[str, ...]:
    """Return a person's names, the real one first."""
    profile = _as_dict_or_empty(person.get("profile"))
    names = (profile.get("real_name"), person.get("real_name"), profile.get("display_name"), person.get("name"))
    return tuple(name for name in names if isinstance(name, str) and name)


def _as_dict_or_empty(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
