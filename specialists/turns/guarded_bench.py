"""The workbench of an attempt, with its way out: where a redirect leads is ruled on as a call is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from handoff.contracts import Artifact, ChartShape
from handoff.state.state_values import Provenance
from specialists.tools.messenger import Messenger
from specialists.tools.tool import Workbench
from specialists.tools.tool_sign_in import KeptSignIns
from specialists.turns.egress import EgressGuard
from specialists.turns.known_urls import host_of

if TYPE_CHECKING:
    from specialists.turns.attempt_log import AttemptLog

REDIRECT = "redirect"
"""What stands in place of a tool's name where a redirect is recorded."""


@dataclass(frozen=True, slots=True)
class GuardedBench:
    """A workbench whose calls may be redirected only to where the guard lets them."""

    bench: Workbench
    egress: EgressGuard
    log: AttemptLog

    @property
    def provenance(self) -> Provenance:
        """As the workbench has it."""
        return self.bench.provenance

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """As the workbench has them."""
        return self.bench.artifacts

    @property
    def messenger(self) -> Messenger | None:
        """As the workbench has it."""
        return self.bench.messenger

    @property
    def sign_ins(self) -> KeptSignIns | None:
        """As the workbench has them."""
        return self.bench.sign_ins

    async def path(self, artifact: Artifact) -> Path:
        """Give what the workbench gives."""
        return await self.bench.path(artifact)

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
        """Store it where the workbench does."""
        kept = {"media_type": media_type, "about": about, "publish_as": publish_as}
        return await self.bench.keep(name, data, **kept, chart=chart)

    async def may_follow(self, url: str, target: str) -> bool:
        """Ask the guard, and record where a call goes on to."""
        follows = self.egress.may_follow(url, target)
        if not follows or host_of(url) != host_of(target):
            await self.log.record_sending(REDIRECT, host_of(target), refused="" if follows else "redirect_refused")
        return follows
