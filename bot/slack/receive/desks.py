"""What listeners hand in to besides the job service: a desk for each thing that people do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.slack.receive.approval_clicks import Approvals
    from bot.slack.receive.second_tries import SecondTries
    from bot.slack.receive.settings_form import SettingsForm
    from bot.slack.receive.sign_in_clicks import SignIns


@dataclass(frozen=True, slots=True, kw_only=True)
class Desks:
    """All desks of a bot. Without one (None), nobody does what it is for."""

    settings: SettingsForm
    approvals: Approvals | None = None
    sign_ins: SignIns | None = None
    second_tries: SecondTries | None = None
