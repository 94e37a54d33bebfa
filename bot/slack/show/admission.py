"""Says who somebody is by now in a place, and whether they may act there: at the gate, and wherever a yes is used."""

from __future__ import annotations

from bot.access.access_values import Access
from bot.access.channel_settings import ChannelSettings
from bot.access.person_facts import PersonFacts
from bot.access.ruling import RulingReason, find_access_refusal
from bot.slack.show.people import FACTS_KEPT, GROUPS_KEPT, People
from handoff.access.rights import Actor
from handoff.contracts import Place


class Admission:
    """Asks Slack who people are, and the settings who may use the bot where."""

    def __init__(self, people: People, settings: ChannelSettings) -> None:
        self._people = people
        self._settings = settings

    async def access(self, place: Place) -> Access:
        """Return who may use the bot in a place. Raises StoreError."""
        access = await self._settings.of(self._people.home.team, place.channel)
        self._people.name_groups(access.groups)
        return access

    async def refusal(
        self, access: Access, place: Place, user: str, *, hint: PersonFacts | None = None, kept: float = FACTS_KEPT
    ) -> RulingReason | None:
        """Return why a person may not use the bot in a place; None if they may.

        `hint` is what a payload says against them. What Slack says is `kept` seconds old at most.
        """
        admin = user in self._people.admins
        direct = place.channel.startswith("D")

        def rule(facts: PersonFacts | None, groups: tuple[str, ...] = ()) -> RulingReason | None:
            return find_access_refusal(access, user, facts, groups=groups, direct=direct, admin=admin)

        known = rule(hint or PersonFacts("ours"))
        if known not in {None, "not_named"}:
            return known  # the payload itself says so, and Slack need not be asked
        facts = await self._people.facts(user, kept=kept)
        if facts is not None and hint is not None and facts.standing == "ours":
            facts = hint
        why = rule(facts)
        if why != "not_named" or not access.groups:
            return why
        groups = await self._people.groups_known(user, kept=kept)
        return "unknown" if groups is None else rule(facts, groups)

    async def standing(self, place: Place, user: str) -> Actor | None:
        """Return a person as they are now; None if they may not act there any more, or Slack does not say.

        Raises StoreError.
        """
        access = await self.access(place)
        if await self.refusal(access, place, user, kept=GROUPS_KEPT) is not None:
            return None
        return Actor(user, await self._people.groups_of(user), user in self._people.admins)
