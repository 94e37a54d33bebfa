"""Reports at startup which kernel protections of child processes are missing, in the log and as metrics."""

from __future__ import annotations

import logging

from bot.operation.metrics import Metrics
from specialists.sandbox.kernel_walls import WALLS
from specialists.sandbox.wall_proof import ChildBroken, prove_walls

log = logging.getLogger(__name__)


async def report_walls(metrics: Metrics) -> None:
    """Test the protections with a child process, set their metrics, and log the missing ones with what they expose."""
    try:
        report = await prove_walls()
    except ChildBroken as error:
        log.warning("no file or page can be read: what reads them does not start (%s); see leadhand check", error)
        return
    metrics.show_walls({wall: wall in report.standing for wall in WALLS}, report.landlock)
    if report.missing:
        reached = ", ".join(report.reached) or "nothing that it should not"
        missing = ", ".join(report.missing)
        log.warning("what reads files and pages runs without %s; it can reach %s", missing, reached)
