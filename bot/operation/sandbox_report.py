"""Reports at startup which kernel protections of child processes are missing, in the log and as metrics."""

from __future__ import annotations

import logging

from bot.operation.metrics import Metrics
from specialists.sandbox.kernel_layers import SANDBOX_LAYERS
from specialists.sandbox.sandbox_probe import ChildFailed, probe_sandbox

log = logging.getLogger(__name__)


async def probe_and_report_protections(metrics: Metrics) -> None:
    """Test the protections in a child process, set their metrics, and log which are missing and what that exposes."""
    try:
        report = await probe_sandbox()
    except ChildFailed as error:
        log.warning("no file or page can be read: what reads them does not start (%s); see leadhand check", error)
        return
    metrics.set_protections({wall: wall in report.active_layers for wall in SANDBOX_LAYERS}, report.landlock_version)
    if report.missing_layers:
        reached_targets = ", ".join(report.reached_targets) or "nothing that it should not"
        missing_layers = ", ".join(report.missing_layers)
        log.warning("what reads files and pages runs without %s; it can reach %s", missing_layers, reached_targets)
