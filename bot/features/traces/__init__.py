"""The traces feature: shows what a job did, step by step, and the evidence for an answer."""

from __future__ import annotations

from bot.features.kit import Kit
from bot.features.traces.actions import EvidenceClicks, trace
from bot.features.traces.service import TraceDesk
from bot.slack.receive.subcommand import Subcommand

COMMANDS = (
    Subcommand(
        "trace",
        (("JOB", "each step of what you asked for: a timeline; a picture, a page and JSON in your direct messages"),),
        trace,
        "job",
        "traced",
    ),
)


def register(kit: Kit) -> None:
    """Register the command and the Evidence button."""
    traces = kit.offer(TraceDesk, lambda: TraceDesk(kit.records, kit.messengers.people.put_names))
    kit.add(COMMANDS)
    EvidenceClicks(traces).register(kit.router)
