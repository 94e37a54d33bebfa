"""The traces feature: shows what a job did, step by step, and the evidence for an answer."""

from __future__ import annotations

from bot.features.kit import Kit
from bot.features.traces.actions import EvidenceClicks, show_trace
from bot.features.traces.service import TraceService
from bot.slack.receive.subcommand import Subcommand

COMMANDS = (
    Subcommand(
        "trace",
        (("JOB", "each step of what you asked for: a timeline; a picture, a page and JSON in your direct messages"),),
        show_trace,
        "job",
        "traced",
    ),
)


def register(kit: Kit) -> None:
    """Register the command and the Evidence button."""
    traces = kit.add_service(
        TraceService, lambda: TraceService(kit.records, kit.messengers.people.replace_ids_by_names)
    )
    kit.add_commands(COMMANDS)
    EvidenceClicks(traces).register(kit.router)
