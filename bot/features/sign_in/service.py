"""The desk where people sign in to servers: it gives the link, takes what came of it, and lets the job go on."""

from __future__ import annotations

from dataclasses import dataclass

from bot.features.approvals.service import ApprovalDesk, Decision, Refused, Verdict
from bot.jobs.team_sign_ins import TeamSignIns
from bot.slack.views.approval import Spot
from bot.store.interface import Store
from handoff.contracts import Place
from specialists.tools.signing_in import SignInFailed
from specialists.tools.tool import WorkbenchLost

_AWAY = "My store cannot be reached, so nothing was saved. Try again in a minute."
_DONE = Decision("approve", signed_in=True)


@dataclass(frozen=True, slots=True)
class Begun:
    """A link for a person, to sign in to a server."""

    server: str
    host: str
    link: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """Nothing came of it. `words` say why, and what to do."""

    words: str


class SignInDesk:
    """Where people sign in: what people may is the approval desk's to say, which also records it."""

    def __init__(self, store: Store, desk: ApprovalDesk) -> None:
        self._store, self._desk = store, desk

    async def begin(self, place: Place, spot: Spot, user: str, *, dedupe: tuple[str, ...]) -> Begun | Wrong | Verdict:
        """Make a link for a person. If somebody has signed in meanwhile, the job goes on at once."""
        way = await self._desk.way_in(place, spot, user)
        if isinstance(way, Refused):
            return way
        kept = TeamSignIns(self._store, place.team)
        try:
            if await way.is_in(kept):
                return await self._desk.decide(place, spot, user, _DONE, dedupe=dedupe)
            return Begun(way.server, way.host, await way.begin(kept, user))
        except SignInFailed as failed:
            return Wrong(str(failed))
        except WorkbenchLost:
            return Wrong(_AWAY)

    async def finish(
        self, place: Place, spot: Spot, user: str, pasted: str, *, dedupe: tuple[str, ...]
    ) -> Wrong | Verdict:
        """Take the address on which a person landed; only what came to a token is a decision."""
        way = await self._desk.way_in(place, spot, user)
        if isinstance(way, Refused):
            return way
        try:
            await way.finish(TeamSignIns(self._store, place.team), user, pasted)
        except SignInFailed as failed:
            return Wrong(str(failed))
        except WorkbenchLost:
            return Wrong(_AWAY)
        return await self._desk.decide(place, spot, user, _DONE, dedupe=dedupe)
