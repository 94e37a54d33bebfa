"""The picture of a trace: a waterfall as PNG, drawn by a process of its own."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from bot.tracing.job_trace import Trace
from bot.tracing.picture_layout import lay_out_picture
from specialists.sandbox.child_process import ChildLimits, run_child
from specialists.tools.extras import make_install_command

_CHILD_LIMITS = ChildLimits(memory_mb=1500, cpu_seconds=30)
_DEADLINE_SECONDS = 40.0
_MAX_PNG_BYTES = 8 * 1024 * 1024
NOT_INSTALLED_TEXT = f"No picture: drawing one takes matplotlib ({make_install_command('charts')})."
NOT_DRAWN_TEXT = "No picture: it could not be drawn. The page has all that would be on it."
NOTHING_TO_DRAW_TEXT = "No picture: no request of this job can be read."


async def draw_picture(trace: Trace) -> bytes | str:
    """Draw the latest request of a trace as PNG; if that is not possible, return the reason, a line for people."""
    if find_spec("matplotlib") is None:
        return NOT_INSTALLED_TEXT
    if not trace.requests:
        return NOTHING_TO_DRAW_TEXT
    from specialists.tools.charts.charts import make_font_inputs  # noqa: PLC0415 - only where there is something to draw

    font_inputs = await make_font_inputs(Path(__file__).parents[1])  # the child reads this package too
    layout = lay_out_picture(trace)
    reply = await run_child(
        "bot.tracing.picture_child",
        layout,
        limits=_CHILD_LIMITS,
        timeout_seconds=_DEADLINE_SECONDS,
        max_reply_bytes=_MAX_PNG_BYTES,
        inputs=font_inputs,
    )
    return reply.output if reply.output and not reply.failure else NOT_DRAWN_TEXT
