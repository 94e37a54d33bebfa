"""The sign-in service: makes links to sign in to servers, finishes sign-ins, and lets the job go on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from bot.features.approvals.service import (
    ApprovalDecision,
    ApprovalService,
    DecisionAccepted,
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

_STORE_UNREACHABLE_TEXT = "My store cannot be reached, so nothing was saved. Try again in a minute."
_SIGNED_IN_DECISION = ApprovalDecision("approve", has_signed_in=True)


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A link for a person, to sign in to a server."""

    server: str
    host: str
    link: str


@dataclass(frozen=True, slots=True)
class SignInFault:
    """A sign-in that failed. `message` says why, and what to do."""

    message: str


@dataclass(frozen=True, slots=True)
class FinishedSignIn:
    """A sign-in that was finished in a browser, so that the job goes on. `user` is the person who got the link."""

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
        self._store, self._approvals, self._find_actor, self.landing_url = store, approvals, find_actor, landing_url

    async def start_sign_in(
        self, place: Place, ref: ApprovalRef, user: str, *, dedupe: tuple[str, ...]
    ) -> SignInLink | SignInFault | DecisionOutcome:
        """Make a link for a person. If the team has signed in already, records the approval and returns its outcome."""
        server_sign_in = await self._approvals.find_sign_in(place, ref, user)
        if isinstance(server_sign_in, DecisionRefused):
            return server_sign_in
        team_sign_ins = TeamSignIns(self._store, place.team)
        try:
            if await server_sign_in.is_signed_in(team_sign_ins):
                return await self._approvals.decide(place, ref, user, _SIGNED_IN_DECISION, dedupe=dedupe)
            about = encode_data(ApprovalWindowData(place, ref))
            return SignInLink(
                server_sign_in.server,
                server_sign_in.host,
                await server_sign_in.begin(team_sign_ins, user, self.landing_url, about),
            )
        except SignInFailed as failed:
            return SignInFault(str(failed))
        except WorkbenchLost:
            return SignInFault(_STORE_UNREACHABLE_TEXT)

    async def finish_sign_in(
        self, place: Place, ref: ApprovalRef, user: str, landed_url: str, *, dedupe: tuple[str, ...]
    ) -> SignInFault | DecisionOutcome:
        """Finish a sign-in with the address on which the browser landed. Records the approval only after a success."""
        server_sign_in = await self._approvals.find_sign_in(place, ref, user)
        if isinstance(server_sign_in, DecisionRefused):
            return server_sign_in
        try:
            await server_sign_in.finish(TeamSignIns(self._store, place.team), user, landed_url, self.landing_url)
        except SignInFailed as failed:
            return SignInFault(str(failed))
        except WorkbenchLost:
            return SignInFault(_STORE_UNREACHABLE_TEXT)
        return await self._approvals.decide(place, ref, user, _SIGNED_IN_DECISION, dedupe=dedupe)

    async def finish_from_page(self, team: str, query: str) -> FinishedSignIn | SignInFault | DecisionRefused | None:
        """Finish a sign-in with the query string of our landing page. Its `state` says which person's link was used.

        Returns None if the link is unknown, used or expired.
        """
        from specialists.mcp.server_sign_in import find_pending_sign_in  # noqa: PLC0415 - only for a sign-in

        try:
            pending = await find_pending_sign_in(TeamSignIns(self._store, team), query)
        except WorkbenchLost:
            return SignInFault(_STORE_UNREACHABLE_TEXT)
        window_data = decode_window_data(pending.about) if pending is not None else None
        if pending is None or window_data is None:
            return None
        user = pending.user
        if await self._find_actor(window_data.place, user) is None:
            return DecisionRefused("not_yours")
        query_digest = hashlib.sha256(query.encode()).hexdigest()
        outcome = await self.finish_sign_in(
            window_data.place, window_data.spot, user, f"{self.landing_url}?{query}", dedupe=(f"landed:{query_digest}",)
        )
        return FinishedSignIn(user) if isinstance(outcome, DecisionAccepted) else outcome
