"""A workbench whose calls follow redirects only where the egress guard allows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from handoff.contracts import Artifact, ChartShape
from handoff.state.state_values import Provenance
from specialists.tools.messenger import Messenger
from specialists.tools.tool import Workbench
from specialists.tools.tool_sign_in import SignInStore
from specialists.turns.egress import EgressGuard
from specialists.turns.known_urls import extract_host

if TYPE_CHECKING:
    from specialists.turns.attempt_log import AttemptLog

REDIRECT_TOOL_NAME = "redirect"
"""The name under which a redirect is recorded, in place of a tool's."""


@dataclass(frozen=True, slots=True)
class GuardedWorkbench:
    """A workbench that asks the egress guard before a call follows a redirect. It passes all else to `workbench`."""

    workbench: Workbench
    egress: EgressGuard
    log: AttemptLog

    @property
    def provenance(self) -> Provenance:
        """The provenance of the wrapped workbench."""
        return self.workbench.provenance

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files of the wrapped workbench."""
        return self.workbench.artifacts

    @property
    def messenger(self) -> Messenger | None:
        """The messenger of the wrapped workbench, or None."""
        return self.workbench.messenger

    @property
    def sign_ins(self) -> SignInStore | None:
        """The sign-ins of the wrapped workbench, or None."""
        return self.workbench.sign_ins

    async def path(self, artifact: Artifact) -> Path:
        """Return the wrapped workbench's local copy of a file."""
        return await self.workbench.path(artifact)

    async def keep(
        self,
        name: str,
        data: bytes,
        *,
        media_type: str,
        about: str,
        publish_as: str,
        chart: ChartShape | None = None,
    ) -> Artifact:
        """Store a new file in the wrapped workbench."""
        fields = {"media_type": media_type, "about": about, "publish_as": publish_as}
        return await self.workbench.keep(name, data, **fields, chart=chart)

    async def may_follow(self, url: str, target: str) -> bool:
        """Return whether a call may follow a redirect, and record it if it is refused or leads to another host."""
        is_allowed = self.egress.may_follow(url, target)
        if not is_allowed or extract_host(url) != extract_host(target):
            await self.log.record_sending(
                REDIRECT_TOOL_NAME, extract_host(target), refusal="" if is_allowed else "redirect_refused"
            )
        return is_allowed
