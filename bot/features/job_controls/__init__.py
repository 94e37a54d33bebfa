"""The job controls feature: people list their jobs, look at one, stop it, or release it from quarantine."""

from __future__ import annotations

from bot.features.job_controls.actions import (
    JobSections,
    StopClicks,
    cancel_job,
    release_job,
    run_stop_command,
    show_jobs,
    show_status,
)
from bot.features.job_controls.lists import JobLists
from bot.features.job_controls.open_questions import OpenQuestionsSection
from bot.features.job_controls.service import JobControlService
from bot.features.kit import Kit
from bot.slack.receive.subcommand import SpokenCommand, Subcommand, make_word_matcher
from bot.slack.views.card import STOP_ACTION
from bot.slack.views.paging import HomeSection

COMMANDS = (
    Subcommand("status", (("", "your jobs"), ("JOB", "one of them")), show_status, "job"),
    Subcommand(
        "jobs",
        (("", "your jobs"), ("open|waiting|done|failed|stopped", "those of them"), ("all", "everybody's (admins)")),
        show_jobs,
        "words",
    ),
    Subcommand("cancel", (("JOB", "stop what you asked for in a job"),), cancel_job, "job", "stopped"),
    Subcommand("release", (("JOB", "let a job that was set aside go on (admins)"),), release_job, "job", "released"),
)
SPOKEN_COMMANDS = (
    SpokenCommand("status", make_word_matcher("status"), show_status, ("status",)),
    SpokenCommand(
        "cancel", make_word_matcher("stop", "cancel"), run_stop_command, ("stop", "cancel"), slash_words="cancel"
    ),
)


def register(kit: Kit) -> None:
    """Register the commands, the buttons that stop a job, and the sections of the App Home that list jobs."""
    records = kit.records
    controls = kit.add_service(JobControlService, lambda: JobControlService(records))
    lists = kit.add_service(
        JobLists,
        lambda: JobLists(records.store, url=kit.url, admins=records.admins, find_groups=records.find_groups),
    )
    asks = OpenQuestionsSection(
        records.store, lists, admins=records.admins, find_groups=records.find_groups, url=kit.url
    )
    parts = JobSections(lists)
    kit.add_commands(COMMANDS, SPOKEN_COMMANDS)
    StopClicks(controls, kit.background, kit.outages).register(kit.router)
    kit.add_deeds({STOP_ACTION: "stopped"})
    kit.sections += (
        HomeSection("asks", asks.render_part),
        HomeSection("running", parts.render_running),
        HomeSection("recent", parts.render_recent),
        HomeSection("aside", parts.render_quarantined, is_for_admins=True),
    )
