"""The crews service: lists a crew's members and its example requests, and finds who would get a request."""

from __future__ import annotations

from collections.abc import Sequence

from bot.access.channel_settings import ChannelSettings
from bot.features.crews.view import CrewMember, CrewPage
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import Payer
from bot.models.chosen_model import ChosenModel
from bot.store.redis.redis_store import Store
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.route_dry_run import decide_route, describe_decision, export_routing
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Terms
from handoff.conversation.message_kinds import split_crew_name
from handoff.events import RequestFailed
from specialists.crew import Crew
from specialists.crew_set import CrewSet

MAX_SPECIALIST_EXAMPLES = 3


class CrewService:
    """Answers questions about crews. Each coroutine raises StoreError.

    Args:
        store: The store, used for its clock.
        crews: All crews.
        channels: The settings of channels, which name the crew of a channel.
        limits: Charges calls of the planner to the person who asks.
        model: The planner's model.
        terms: The limits on time and tokens from the settings.
    """

    def __init__(
        self,
        store: Store,
        crews: CrewSet,
        channels: ChannelSettings,
        limits: CallLimits,
        model: ChosenModel,
        terms: Terms,
    ) -> None:
        self._store = store
        self._crews = crews
        self._channels = channels
        self._limits = limits
        self._model = model
        self._terms = terms

    async def _find_crew(self, team: str, channel: str, name: str = "") -> Crew | None:
        """Return the crew with this name, or without a name the channel's or default crew. None for an unknown name."""
        if not name and self._crews.names:
            name = (await self._channels.read_effective_values(team, channel)).crew
        return self._crews.find_crew(name) or (None if name else self._crews.usual_crew)

    async def find_crew_page(self, team: str, channel: str, name: str) -> CrewPage | None:
        """Return a crew by its name, or the channel's crew if the name is empty; None if there is no such crew."""
        crew = await self._find_crew(team, channel, name)
        return None if crew is None else CrewPage(crew.name, tuple(self._list_members(crew)), self._crews.names)

    def _list_members(self, crew: Crew) -> list[CrewMember]:
        is_paused = self._limits.breakers.is_open
        own = [
            CrewMember(
                one.name,
                one.description,
                one.cannot,
                tuple(tool.name for tool in one.tools),
                one.tier,
                is_paused(one.name),
            )
            for one in crew.specialists.values()
        ]
        inside = [
            CrewMember(inner.path or inner.name, inner.about.description, inner.about.cannot, is_crew=True)
            for inner in crew.crews.values()
        ]
        return own + inside

    async def list_examples(self, team: str, channel: str) -> Sequence[str]:
        """Return example requests for the channel's crew: all of its own, or else up to three of its specialists'.

        Examples of specialists that are paused after failures are left out.
        """
        crew = await self._find_crew(team, channel) or self._crews.usual_crew
        if crew.requests:
            return crew.requests
        usable_specialists = [
            one for one in crew.all_specialists.values() if not self._limits.breakers.is_open(one.name)
        ]
        firsts = [one.examples[0][0] for one in usable_specialists if one.examples]
        others = [text for one in usable_specialists for text, _ in one.examples[1:]]
        return list(dict.fromkeys([*firsts, *others]))[:MAX_SPECIALIST_EXAMPLES]

    async def describe_route(self, team: str, channel: str, user: str, text: str) -> str:
        """Describe who would get a request. The planner may be called for this, which is charged to `user`."""
        payer = Payer(team, channel, user, "")
        if (limit := await self._limits.find_used_up_budget(payer)) is not None:
            return limit.refusal
        name, words = split_crew_name(text, self._crews.descriptions)
        crew = await self._find_crew(team, channel, name) or self._crews.usual_crew
        planning = CrewPlanner(crew, self._model, TrackRecord(), self._terms)
        routing = await decide_route(planning, words, self._store.clock, model=self._limits.bind(payer))
        if isinstance(event := routing.decision, RequestFailed):
            return f"{event.step}: {event.reason}. {event.advice}"
        route = export_routing(routing, words, self._model.label)
        return describe_decision({"crew": crew.name, **route} if self._crews.names else route)
