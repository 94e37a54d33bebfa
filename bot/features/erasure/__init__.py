"""The erasure feature: people erase a job, or all that they asked for, in the store and in Slack."""

from __future__ import annotations

from bot.features.erasure.actions import ErasureWindow, open_erasure_window
from bot.features.erasure.service import ErasureService
from bot.features.kit import Kit
from bot.features.memory.service import MemoriesService
from bot.slack.receive.subcommand import Subcommand

COMMANDS = (
    Subcommand(
        "forget",
        (("JOB", "erase a job, and what I posted for it"), ("me", "all you asked for"), ("@PERSON", "theirs (admins)")),
        open_erasure_window,
        "words",
        "forgot",
        text_after="",  # the text of an erasure is never posted as a request
    ),
)


def register(kit: Kit) -> None:
    """Register the command, its window, and the background task that carries out erasures."""
    of = kit.records

    def make_service() -> ErasureService:
        outbox, memories, team = kit.messengers.outbox, kit.find_service(MemoriesService), kit.gate.people.home.team
        return ErasureService(
            of.store, outbox, team=team, admins=of.admins, record_audit=of.record_audit, memories=memories
        )

    erasure = kit.add_service(ErasureService, make_service)
    kit.add_commands(COMMANDS)
    kit.background_tasks.append(erasure.run)
    ErasureWindow(erasure, kit.background).register(kit.router)
