"""Finds channels and people by name for a requester, and lists who may read a channel.

It finds only what the requester could reach: a public channel, a private one that they are in, or a person of the
workspace. To post in a channel, the bot has to be in it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.access.person_facts import parse_person_facts
from bot.slack.send.web_calls import NoReply, SlackRefused, WebCalls
from bot.slack.show.people import People
from specialists.tools.messenger import Addressee

CACHE_SECONDS = 60.0
"""Seconds for which a list of channels, members or people is cached."""
MAX_PAGES = 10
PAGE_SIZE = 500
"""Entries in one page of a list. An entry after the first `MAX_PAGES` pages is found only by its id."""
MAX_SUGGESTIONS = 5
"""Maximum number of names that are suggested if no name, or more than one, matches."""
_SLACK_ID = re.compile(r"(?:.*\()?<?[#@]?([CGUW][A-Z0-9]{4,})(?:\|[^>]*)?>?\)?")
"""An id in one of these forms: `C0123ABC`, `#ops (C0123ABC)`, `<#C0123ABC|ops>`, `<@U0123ABC>`."""

Json = dict[str, Any]
FetchPage = Callable[[str], Awaitable[AsyncSlackResponse]]


class LookupFailed(Exception):
    """A look-up failed. The text can be shown to people. `code` is Slack's error code; "" if Slack did not answer."""

    def __init__(self, why: str, code: str = "") -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class KnownChannel:
    """A channel, as the person for whom it was looked up may know it."""

    id: str
    name: str
    """Its name, which begins with #."""
    readers: str
    """Who may read it, in words."""
    is_private: bool
    is_shared: bool
    """True if it is shared with another organisation."""
    is_archived: bool
    is_readable: bool
    """True if that person may read it. A guest may read only the channels that they are a member of."""
    has_bot: bool
    """True if the bot is a member."""


@dataclass(frozen=True, slots=True)
class _FetchedList:
    """The entries of a list, whether they are all, and when they were fetched, in seconds on the monotonic clock."""

    entries: list[Any]
    is_complete: bool
    fetched_at: float


class Directory:
    """Looks up channels, people and members in Slack. One object serves all jobs of an instance."""

    def __init__(self, client: AsyncWebClient, calls: WebCalls, people: People) -> None:
        self._client = client
        self._calls = calls
        self._people = people
        self._cache: dict[str, _FetchedList] = {}

    async def find_addressee(self, to: str, requester: str) -> Addressee | str:
        """Find the channel or person that `to` names by id or name. Returns a text for a model if there is none."""
        addressee_name = to.strip()
        id_match = _SLACK_ID.fullmatch(addressee_name)
        try:
            if id_match and id_match[1][0] in "CG":
                return await self._address_channel(id_match[1], requester)
            if id_match:
                return await self._address_person(id_match[1], requester)
            if addressee_name.startswith("@"):
                return await self._find_person_by_name(addressee_name, requester)
            return await self._find_channel_by_name(addressee_name, requester)
        except LookupFailed as error:
            return f"{addressee_name} could not be looked up: {error}."

    async def has_bot(self, channel: str) -> bool:
        """Return True if the bot is in a channel, and False if it is not or Slack does not answer."""
        try:
            return any(one.get("id") == channel for one in await self._list_own_channels())
        except LookupFailed:
            return False

    async def list_readers(self, channel: str) -> frozenset[str] | None:
        """Return the members of a channel (the first 5,000); None if Slack does not answer."""
        try:
            return frozenset((await self._list_members(channel)).entries)
        except LookupFailed:
            return None

    # ------------------------------------------------------------ channels

    async def _find_channel_by_name(self, addressee_name: str, requester: str) -> Addressee | str:
        name = addressee_name.removeprefix("#").casefold()
        own_channels = await self._list_own_channels()
        fit = [one for one in own_channels if name in {str(one.get("name", "")).casefold(), one.get("name_normalized")}]
        if fit:
            return await self._address_channel(str(fit[0]["id"]), requester)
        if not addressee_name.startswith("#"):
            addressee = await self._find_person_by_name(addressee_name, requester)
            if isinstance(addressee, Addressee):
                return addressee
        public = [str(one["name"]) for one in own_channels if not one.get("is_private", True) and one.get("name")]
        close = get_close_matches(name, public, MAX_SUGGESTIONS, 0.5) or public[:MAX_SUGGESTIONS]
        names_text = ", ".join(f"#{one}" for one in close) or "none"
        return (
            f"I am in no channel {addressee_name!r} that the requester could read. "
            f"Public ones that I am in: {names_text}."
        )

    async def find_channel(self, channel: str, user: str) -> KnownChannel | None:
        """Return a channel if a person may know of it; None if there is none, or they are not in a private one.

        Raises LookupFailed.
        """
        info = await self._ask_slack(
            "conversations.info",
            lambda: self._client.conversations_info(channel=channel, include_num_members=True),
            {"channel_not_found"},
        )
        about = (info or {}).get("channel") or {}
        private = bool(about.get("is_private", True))
        if not about or about.get("is_im") or about.get("is_mpim"):
            return None
        if private and not await self._is_member(channel, user):  # they may not even know its name
            return None
        return KnownChannel(
            id=channel,
            name=f"#{about.get('name', channel)}",
            readers=_describe_readers(about, private=private),
            is_private=private,
            is_shared=bool(about.get("is_ext_shared")),
            is_archived=bool(about.get("is_archived")),
            is_readable=private or await self._is_full_member(user) or await self._is_member(channel, user),
            has_bot=bool(about.get("is_member")),
        )

    async def _address_channel(self, channel: str, requester: str) -> Addressee | str:
        known_channel = await self.find_channel(channel, requester)
        if known_channel is None:
            return f"I am in no channel {channel} that the requester could read."
        if not known_channel.has_bot:
            return f"I am not in {known_channel.name}, so I cannot post there. Somebody has to invite me first."
        if known_channel.is_archived:
            return f"{known_channel.name} is archived."
        if not known_channel.is_readable:
            return f"The requester is no full member of the workspace, and not in {known_channel.name}."
        return Addressee(
            known_channel.id,
            known_channel.name,
            "channel",
            known_channel.readers,
            known_channel.is_private,
            known_channel.is_shared,
        )

    async def _list_own_channels(self) -> list[Json]:
        types = "public_channel,private_channel"
        channel_list = await self._fetch_list(
            "users.conversations",
            "",
            "channels",
            lambda cursor: self._client.users_conversations(
                types=types, exclude_archived=True, limit=PAGE_SIZE, cursor=cursor or None
            ),
        )
        return channel_list.entries

    async def _is_member(self, channel: str, user: str) -> bool:
        """Return True if a person is in a channel. Raises LookupFailed.

        If not all members of a large channel were listed, Slack is asked for the channels of the person.
        """
        members = await self._list_members(channel)
        if user in members.entries or members.is_complete:
            return user in members.entries
        channels = await self._fetch_list(
            "users.conversations",
            user,
            "channels",
            lambda cursor: self._client.users_conversations(
                user=user, types="public_channel,private_channel", limit=PAGE_SIZE, cursor=cursor or None
            ),
        )
        return any(one.get("id") == channel for one in channels.entries)

    async def _list_members(self, channel: str) -> _FetchedList:
        return await self._fetch_list(
            "conversations.members",
            channel,
            "members",
            lambda cursor: self._client.conversations_members(channel=channel, limit=PAGE_SIZE, cursor=cursor or None),
        )

    # ------------------------------------------------------------ people

    async def _find_person_by_name(self, addressee_name: str, requester: str) -> Addressee | str:
        name = addressee_name.removeprefix("@").casefold()
        people = await self._fetch_list(
            "users.list",
            "",
            "members",
            lambda cursor: self._client.users_list(limit=PAGE_SIZE, cursor=cursor or None),
        )
        active = [one for one in people.entries if not one.get("deleted") and not one.get("is_bot")]
        fit = [one for one in active if name in _list_names(one)]
        if len(fit) > 1:
            names_text = ", ".join(f"{_find_display_name(one)} ({one['id']})" for one in fit[:MAX_SUGGESTIONS])
            return f"Several people are called {addressee_name!r}: {names_text}. Name one by the id."
        return (
            await self._address_person(str(fit[0]["id"]), requester)
            if fit
            else f"I know nobody called {addressee_name!r} in this workspace."
        )

    async def _address_person(self, user: str, requester: str) -> Addressee | str:
        if user != requester and not await self._is_full_member(requester):
            return "The requester is no full member of the workspace, so I write to nobody else for them."
        info = await self._ask_slack("users.info", lambda: self._client.users_info(user=user), {"user_not_found"})
        about = (info or {}).get("user") or {}
        facts = parse_person_facts(info or {}, self._people.home)
        if facts is None or facts.standing not in {"ours", "guest"}:
            return f"{user} is nobody of this workspace whom I could write to."
        guest = ", a guest of the workspace" if facts.standing == "guest" else ""
        return Addressee(user, _find_display_name(about), "person", f"one person{guest}: nobody else reads it")

    async def _is_full_member(self, user: str) -> bool:
        facts = await self._people.find_facts(user)
        return facts is not None and facts.standing == "ours"

    # ------------------------------------------------------------ asking Slack

    async def _fetch_list(self, method: str, subject: str, field: str, fetch_page: FetchPage) -> _FetchedList:
        """Return up to `MAX_PAGES` pages of a list, cached for a minute. `field` is its key. Raises LookupFailed."""
        cached_list = self._cache.get(f"{method} {subject}")
        if cached_list is not None and time.monotonic() - cached_list.fetched_at < CACHE_SECONDS:
            return cached_list
        entries: list[Any] = []
        cursor = ""
        for _ in range(MAX_PAGES):
            data = await self._ask_slack(method, lambda cursor=cursor: fetch_page(cursor))  # type: ignore[misc]
            entries += (data or {}).get(field) or []
            cursor = ((data or {}).get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                break
        if len(self._cache) > MAX_PAGES * PAGE_SIZE:
            self._cache.clear()
        fetched_list = self._cache[f"{method} {subject}"] = _FetchedList(entries, not cursor, time.monotonic())
        return fetched_list

    async def _ask_slack(
        self,
        method: str,
        send: Callable[[], Awaitable[AsyncSlackResponse]],
        absent_codes: frozenset[str] | set[str] = frozenset(),
    ) -> Json | None:
        """Make a call; return None if Slack refuses it with an error code in `absent_codes`. Raises LookupFailed."""
        try:
            return await self._calls.make(method, send, priority="question", may_repeat=True)
        except SlackRefused as error:
            if error.code in absent_codes:
                return None
            raise LookupFailed(str(error), error.code) from error
        except NoReply as error:
            raise LookupFailed("Slack does not answer") from error


def _describe_readers(channel: Json, *, private: bool) -> str:
    count = channel.get("num_members")
    people = f" of {count} {'member' if count == 1 else 'members'}" if isinstance(count, int) else ""
    sharing_words = ", shared with another organisation" if channel.get("is_ext_shared") else ""
    if private:
        return f"a private channel{people}{sharing_words}"
    return f"a public channel{people}{sharing_words}: everybody in the workspace may read it"


def _list_names(person: Json) -> set[str]:
    profile = person.get("profile") or {}
    names = (person.get("name"), person.get("real_name"), profile.get("real_name"), profile.get("display_name"))
    return {one.casefold() for one in names if isinstance(one, str) and one}


def _find_display_name(person: Json) -> str:
    profile = person.get("profile") or {}
    return str(profile.get("real_name") or person.get("real_name") or person.get("name") or person.get("id"))
