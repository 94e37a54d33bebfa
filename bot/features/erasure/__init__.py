"""The erasure feature: people erase a job, or all that they asked for, in the store and in Slack."""

from __future__ import annotations

from bot.features.erasure.actions import ForgetWindow, ask_to_forget
from bot.features.erasure.service import ErasureDesk
from bot.features.kit import Kit
from bot.features.memory.service import MemoryDesk
from bot.slack.receive.subcommand import Subcommand

COMMANDS = (
    Subcommand(
        "forget",
        (("JOB", "erase a job, and what I posted for it"), ("me", "all you asked for"), ("@PERSON", "theirs (admins)")),
        ask_to_forget,
        "words",
        "forgot",
        text_after="",  # the text of an erasure is never posted as a request
    ),
)


def register(kit: Kit) -> None:
    """Register the command, its window, and the background task that carries out erasures."""
    of = kit.records

    def service() -> ErasureDesk:
        outbox, memories, team = kit.messengers.outbox, kit.find(MemoryDesk), kit.gate.people.home.team
        return ErasureDesk(of.store, outbox, team=team, admins=of.admins, note=of.note, memories=memories)

    forgetting = kit.offer(ErasureDesk, service)
    kit.add(COMMANDS)
    kit.beside.append(forgetting.run)
    ForgetWindow(forgetting, kit.background).register(kit.router)
