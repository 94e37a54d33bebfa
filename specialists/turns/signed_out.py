"""Calls of tools that a person has to sign in for: they wait for that as others wait for an approval."""

from __future__ import annotations

from dataclasses import dataclass, field

from handoff.approval_values import Approval
from handoff.contracts import ToolCall
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.turns import briefing
from specialists.turns.approving import Approvals
from specialists.turns.one_call import Ready


@dataclass(slots=True)
class SignedOut:
    """The calls for which somebody has to sign in first. `can_ask` says if there are people for it."""

    workbench: Workbench
    can_ask: bool
    _calls: set[str] = field(default_factory=set)

    async def see(self, call: ToolCall, tool: Tool | None) -> None:
        """See if a call is one of them, right before it is looked at. Raises WorkbenchLost."""
        self._calls.discard(call.id)
        if tool is None or tool.signs_in is None:
            return
        kept = self.workbench.sign_ins
        if kept is None or not await tool.signs_in.is_in(kept):
            self._calls.add(call.id)

    async def first(self, ready: Ready, approvals: Approvals) -> Approval | ToolOutcome | None:
        """Return the sign-in that a call waits for, or what came of it; None if it needs none."""
        way = ready.tool.signs_in
        if way is None or ready.call.id not in self._calls:
            return None
        if not self.can_ask or self.workbench.sign_ins is None:
            text = briefing.read_note("nobody_to_sign_in", tool=ready.tool.name, server=way.server)
            return ToolOutcome(text, failed=True)
        return await approvals.sign_in(ready, way)
