"""Opens the desks of a bot: what people may do besides asking, each decided and recorded in one place."""

from __future__ import annotations

from bot.access.channel_settings import ChannelSettings
from bot.jobs.approval_desk import ApprovalDesk
from bot.jobs.crew_desk import CrewDesk
from bot.jobs.home_desk import HomeDesk
from bot.jobs.home_parts import JobParts, MoneyParts, StateParts
from bot.jobs.instance import Instance
from bot.jobs.job_lists import JobLists
from bot.jobs.open_asks import OpenAsks
from bot.jobs.retry_desk import RetryDesk
from bot.jobs.sign_in_desk import SignInDesk
from bot.limits.call_limits import CallLimits
from bot.models.chosen_model import ChosenModel
from bot.settings import Settings
from bot.slack.receive.desks import Desks
from bot.slack.receive.memory_book import MemoryBook
from bot.slack.receive.schedule_talk import ScheduleTalk
from bot.slack.receive.settings_form import SettingsForm
from bot.slack.show.admission import Admission
from bot.slack.show.people import People
from bot.slack.show.schedules_at_home import SchedulesAtHome
from bot.slack.views.home_part import HomeSection
from bot.store.interface import Store
from bot.supervisor.instance_board import InstanceBoard
from handoff.audit_entry import Note
from specialists.several_crews import Crews


def open_desks(  # noqa: PLR0913 - the parts of a bot
    store: Store,
    instance: Instance,
    crews: Crews,
    *,
    channels: ChannelSettings,
    people: People,
    note: Note,
    home: HomeDesk,
    limits: CallLimits,
    board: InstanceBoard,
    model: ChosenModel,
    settings: Settings,
    url: str,
    memories: MemoryBook | None = None,
    schedules: ScheduleTalk,
) -> Desks:
    """Open all desks of a bot. `note` keeps entries of the audit, `url` is the workspace's own address."""
    approvals = ApprovalDesk(
        store,
        instance,
        crews,
        admins=channels.admins,
        groups=people.groups_of,
        standing=Admission(people, channels).standing,
        approvers_in=channels.approvers_in,
        note=note,
    )
    lists = JobLists(store, url=url, admins=channels.admins, groups_of=people.groups_of)
    asks = OpenAsks(store, lists, admins=channels.admins, groups_of=people.groups_of, url=url)
    jobs, money = JobParts(lists), MoneyParts(store, limits)
    state = StateParts(crews, limits, board, lists, tuple(dict.fromkeys(model.tiers.values())))
    return Desks(
        settings=SettingsForm(channels, people, clock=store.clock, note=note),
        approvals=approvals,
        sign_ins=SignInDesk(store, approvals),
        lists=lists,
        crew=CrewDesk(store, crews, channels, limits, model, settings.terms),
        money=money,
        home=home,
        sections=(
            HomeSection("asks", asks.part),
            HomeSection("running", jobs.running),
            HomeSection("recent", jobs.recent),
            HomeSection("schedules", SchedulesAtHome(schedules.desk).part),
            HomeSection("month", money.mine),
            HomeSection("aside", state.set_aside, admins=True),
            HomeSection("state", state.specialists, admins=True),
            HomeSection("budgets", money.of_all, admins=True),
            HomeSection("instances", state.instances, admins=True),
        ),
        memories=memories,
        schedules=schedules,
        second_tries=RetryDesk(store, instance, admins=channels.admins, groups=people.groups_of, note=note),
    )
