"""Decides whether a person may use the bot in a place, and which channels may be read for them."""

from __future__ import annotations

from bot.access.access_rules import AccessRefusal, find_access_refusal
from bot.access.access_values import EffectiveValues
from bot.access.channel_settings import ChannelSettings
from bot.access.person_facts import PersonFacts
from bot.slack.show.directory import Directory, KnownChannel, LookupFailed
from bot.slack.show.people import FACTS_CACHE_SECONDS, GROUPS_CACHE_SECONDS, People
from handoff.access.rights import Actor, may_pass_on
from handoff.contracts import Audience, Place
from specialists.tools.messenger import Addressee


class Admission:
    """Decides who may use the bot in a place, from Slack's facts about people and the settings of the channel."""

    def __init__(self, people: People, settings: ChannelSettings) -> None:
        self._people = people
        self._settings = settings

    async def read_access(self, place: Place) -> EffectiveValues:
        """Return who may use the bot in a place, and register the user groups named there. Raises StoreError."""
        access = await self._settings.read_effective_values(self._people.home.team, place.channel)
        self._people.add_named_groups(access.groups)
        return access

    async def find_refusal(
        self,
        access: EffectiveValues,
        place: Place,
        user: str,
        *,
        hint: PersonFacts | None = None,
        max_age: float = FACTS_CACHE_SECONDS,
    ) -> AccessRefusal | None:
        """Return why a person may not use the bot in a place; None if they may.

        `hint` is what the payload shows against the person. Facts from Slack may be `max_age` seconds old.
        """
        admin = user in self._people.admins
        direct = place.channel.startswith("D")

        def find_rule_refusal(facts: PersonFacts | None, groups: tuple[str, ...] = ()) -> AccessRefusal | None:
            return find_access_refusal(access, user, facts, groups=groups, is_direct=direct, is_admin=admin)

        hint_refusal = find_rule_refusal(hint or PersonFacts("ours"))
        if hint_refusal not in {None, "not_named"}:
            return hint_refusal  # the payload itself says so, and Slack need not be asked
        facts = await self._people.find_facts(user, max_age=max_age)
        if facts is not None and hint is not None and facts.standing == "ours":
            facts = hint
        why = find_rule_refusal(facts)
        if why != "not_named" or not access.groups:
            return why
        groups = await self._people.find_groups(user, max_age=max_age)
        return "unknown" if groups is None else find_rule_refusal(facts, groups)

    async def admit_actor(self, place: Place, user: str) -> Actor | None:
        """Return a person with their current groups; None if they may not act there any more, or Slack does not say.

        Raises StoreError.
        """
        access = await self.read_access(place)
        if await self.find_refusal(access, place, user, max_age=GROUPS_CACHE_SECONDS) is not None:
            return None
        return Actor(user, await self._people.find_current_groups(user), user in self._people.admins)


INVITE_ADVICE = "Invite me there with `/invite`, or forward the message to me."


async def find_unreadable_reason(directory: Directory, channel: str, user: str, target: str) -> str:
    """Return why a channel's messages may not be read for a person and shown in `target`; "" if they may."""
    if channel.startswith("D"):
        return "" if channel == target else "what was said in direct messages stays there"
    addressee = await directory.find_addressee(channel, user)
    if not isinstance(addressee, Addressee):
        return describe_channel_fault(channel, addressee)
    there = await directory.find_addressee(target, user) if channel != target and not target.startswith("D") else None
    if isinstance(there, Addressee) and there.is_shared:
        return f"<#{target}> is shared with another organisation, whose people may not read <#{channel}>"
    came = Audience(channel=channel, kind="private" if addressee.is_private else "public")
    if not may_pass_on(came, Audience(channel=target)) and not target.startswith("D"):
        return f"<#{channel}> is private, and not all who read <#{target}> may read it"
    return ""


async def find_readable_channel(directory: Directory, channel: str, user: str) -> KnownChannel | str:
    """Return a channel that may be read for a person, or a sentence that says why not and what to do.

    The sentence names the channel only if the person may know of it.
    """
    try:
        found_channel = await directory.find_channel(channel, user)
    except LookupFailed as error:
        if error.code != "missing_scope":
            return f"I could not find out if you may read that channel: {error}. Try again in a minute."
        found_channel = None  # a group conversation, which the app has no scope to look up
    if found_channel is None or not found_channel.is_readable:
        return f"I cannot read that channel: either I am not in it, or you are not. {INVITE_ADVICE}"
    return (
        found_channel
        if found_channel.has_bot
        else f"I am not in {found_channel.name}, so I cannot read it. {INVITE_ADVICE}"
    )


def describe_channel_fault(channel: str, reason: str) -> str:
    """Return why a channel cannot be used, in words for people; `reason` is the text for a model that says so."""
    if reason.endswith(" is archived."):
        return f"<#{channel}> is archived"
    if "looked up" in reason:
        return "Slack could not be asked about the channel"
    return f"I am not in <#{channel}> (any more), or its owner may not read it"
