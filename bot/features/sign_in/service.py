"""The sign-in service: makes links to sign in to servers, finishes sign-ins, and lets the job go on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from bot.features.approvals.service import (
    ApprovalDecision,
    ApprovalService,
    DecisionCounts,
    DecisionOutcome,
    DecisionRefused,
)
from bot.features.approvals.view import ApprovalWindowData, decode_window_data
from bot.jobs.team_sign_ins import TeamSignIns
from bot.slack.show.people import FindActor
from bot.slack.views.approval import ApprovalRef
from bot.slack.views.button_data import encode_data
from bot.store.redis.redis_store import Store
from handoff.contracts import Place
from specialists.tools.tool import WorkbenchLost
from specialists.tools.tool_sign_in import LOCAL_RETURN_URL, SignInFailed

_STORE_AWAY_TEXT = "My store cannot be reached, so nothing was saved. Try again in a minute."
_SIGNED_IN = ApprovalDecision("approve", has_signed_in=True)


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A link for a person, to sign in to a server."""

    server: str
    host: str
    link: str


@dataclass(frozen=True, slots=True)
class SignInFault:
    """A sign-in that failed. `message` say why, and what to do."""

    message: str


@dataclass(frozen=True, slots=True)
class FinishedSignIn:
    """A sign-in that was finished in a browser, so that the job goes on. `user` is the id of the link's owner."""

    user: str


class SignInService:
    """Starts and finishes sign-ins. The approvals service decides who may sign in, and records it.

    Args:
        store: The store of the sign-ins.
        approvals: Records the decisions.
        find_actor: Returns a person's present rights in a place, as no gate checks a browser; None if they may not act.
        landing_url: The address on which browsers land.
    """

    def __init__(
        self, store: Store, approvals: ApprovalService, find_actor: FindActor, landing_url: str = LOCAL_RETURN_URL
    ) -> None:
        self._store, self._desk, self._standing, self.lands = store, approvals, find_actor, landing_url

    async def start_sign_in(
        self, place: Place, ref: ApprovalRef, user: str, *, dedupe: tuple[str, ...]
    ) -> SignInLink | SignInFault | DecisionOutcome:
        """Make a link for a person. If somebody has signed in meanwhile, record the approval at once."""
        way = await self._desk.find_sign_in(place, ref, user)
        if isinstance(way, DecisionRefused):
            return way
        kept = TeamSignIns(self._store, place.team)
        try:
            if await way.is_signed_in(kept):
                return await self._desk.decide(place, ref, user, _SIGNED_IN, dedupe=dedupe)
            about = encode_data(ApprovalWindowData(place, ref))
            return SignInLink(way.server, way.host, await way.begin(kept, user, self.lands, about))
        except SignInFailed as failed:
            return SignInFault(str(failed))
        except WorkbenchLost:
            return SignInFault(_STORE_AWAY_TEXT)

    async def finish_sign_in(
        self, place: Place, ref: ApprovalRef, user: str, landed_url: str, *, dedupe: tuple[str, ...]
    ) -> SignInFault | DecisionOutcome:
        """Finish a sign-in with the address on which the browser landed. Records the approval only after a success."""
        way = await self._desk.find_sign_in(place, ref, user)
        if isinstance(way, DecisionRefused):
            return way
        try:
            await way.finish(TeamSignIns(self._store, place.team), user, landed_url, self.lands)
        except SignInFailed as failed:
            return SignInFault(str(failed))
        except WorkbenchLost:
            return SignInFault(_STORE_AWAY_TEXT)
        return await self._desk.decide(place, ref, user, _SIGNED_IN, dedupe=dedupe)

    async def finish_from_page(self, team: str, query: str) -> FinishedSignIn | SignInFault | DecisionRefused | None:
        """Finish a sign-in by the query of a browser on our page, for the person whose link has its state.

        Returns None if no link has that state, or it was used, or is too old.
        """
        from specialists.mcp.server_sign_in import find_pending  # noqa: PLC0415 - only for a sign-in

        try:
            pending = await find_pending(TeamSignIns(self._store, team), query)
        except WorkbenchLost:
            return SignInFault(_STORE_AWAY_TEXT)
        about = decode_window_data(pending.about) if pending is not None else None
        if pending is None or about is None:
            return None
        user = pending.user
        if await self._standing(about.place, user) is None:
            return DecisionRefused("not_yours")
        mark = hashlib.sha256(query.encode()).hexdigest()
        said = await self.finish_sign_in(
            about.place, about.spot, user, f"{self.lands}?{query}", dedupe=(f"landed:{mark}",)
        )
        return FinishedSignIn(user) if isinstance(said, DecisionCounts) else said
