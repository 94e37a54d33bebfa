"""Opens the desks of a bot: what people may do besides asking, each decided and recorded in one place."""

from __future__ import annotations

from bot.access.channel_settings import ChannelSettings
from bot.jobs.approval_desk import ApprovalDesk
from bot.jobs.instance import Instance
from bot.jobs.retry_desk import RetryDesk
from bot.jobs.sign_in_desk import SignInDesk
from bot.slack.receive.desks import Desks
from bot.slack.receive.settings_form import SettingsForm
from bot.slack.show.people import People
from bot.store.interface import Store
from handoff.audit_entry import Note
from specialists.several_crews import Crews


def open_desks(
    store: Store, instance: Instance, crews: Crews, *, channels: ChannelSettings, people: People, note: Note
) -> Desks:
    """Open all desks of a bot. `note` keeps entries of the audit."""
    approvals = ApprovalDesk(store, instance, crews, admins=channels.admins, groups=people.groups_of, note=note)
    return Desks(
        settings=SettingsForm(channels, people, clock=store.clock, note=note),
        approvals=approvals,
        sign_ins=SignInDesk(store, approvals),
        second_tries=RetryDesk(store, instance, admins=channels.admins, groups=people.groups_of, note=note),
    )
