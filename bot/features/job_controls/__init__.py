"""The job controls feature: people list their jobs, look at one, stop it, or release it from quarantine."""

from __future__ import annotations

from bot.features.job_controls.actions import JobParts, StopClicks, cancel, jobs, release, status, stop_here
from bot.features.job_controls.lists import JobLists
from bot.features.job_controls.open_asks import OpenQuestionsSection
from bot.features.job_controls.service import JobControlDesk
from bot.features.kit import Kit
from bot.slack.receive.subcommand import SpokenCommand, Subcommand, match_alone
from bot.slack.views.card import STOP
from bot.slack.views.paging import HomeSection

COMMANDS = (
    Subcommand("status", (("", "your jobs"), ("JOB", "one of them")), status, "job"),
    Subcommand(
        "jobs",
        (("", "your jobs"), ("open|waiting|done|failed|stopped", "those of them"), ("all", "everybody's (admins)")),
        jobs,
        "words",
    ),
    Subcommand("cancel", (("JOB", "stop what you asked for in a job"),), cancel, "job", "stopped"),
    Subcommand("release", (("JOB", "let a job that was set aside go on (admins)"),), release, "job", "released"),
)
SPOKEN = (
    SpokenCommand("status", match_alone("status"), status, ("status",)),
    SpokenCommand("cancel", match_alone("stop", "cancel"), stop_here, ("stop", "cancel"), typed="cancel"),
)


def register(kit: Kit) -> None:
    """Register the commands, the buttons that stop a job, and the sections of the App Home that list jobs."""
    records = kit.records
    controls = kit.offer(JobControlDesk, lambda: JobControlDesk(records))
    lists = kit.offer(
        JobLists,
        lambda: JobLists(records.store, url=kit.url, admins=records.admins, groups_of=records.groups_of),
    )
    asks = OpenQuestionsSection(records.store, lists, admins=records.admins, groups_of=records.groups_of, url=kit.url)
    parts = JobParts(lists)
    kit.add(COMMANDS, SPOKEN)
    StopClicks(controls, kit.background, kit.outages).register(kit.router)
    kit.note_deeds({STOP: "stopped"})
    kit.sections += (
        HomeSection("asks", asks.part),
        HomeSection("running", parts.running),
        HomeSection("recent", parts.recent),
        HomeSection("aside", parts.show_quarantined, admins=True),
    )
