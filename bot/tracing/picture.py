"""The picture of a trace: a waterfall as PNG, drawn by a process of its own."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from bot.tracing.picture_layout import lay_out_picture
from bot.tracing.whole_trace import Trace
from specialists.sandbox.child_process import ChildLimits, run_child
from specialists.tools.extras import make_install_command

_LIMITS = ChildLimits(memory_mb=1500, cpu_seconds=30)
_DEADLINE_SECONDS = 40.0
_MAX_PNG_BYTES = 8 * 1024 * 1024
NOT_INSTALLED = f"No picture: drawing one takes matplotlib ({make_install_command('charts')})."
NOT_DRAWN = "No picture: it could not be drawn. The page has all that would be on it."
NOTHING_TO_DRAW = "No picture: no request of this job can be read."


async def draw_picture(trace: Trace) -> bytes | str:
    """Draw the latest request of a trace as PNG; if that is not possible, return the reason, a line for people."""
    if find_spec("matplotlib") is None:
        return NOT_INSTALLED
    if not trace.requests:
        return NOTHING_TO_DRAW
    from specialists.tools.charts.charts import make_font_inputs  # noqa: PLC0415 - only where there is something to draw

    given = await make_font_inputs(Path(__file__).parents[1])  # the child reads this package too
    request = lay_out_picture(trace)
    reply = await run_child(
        "bot.tracing.picture_child",
        request,
        limits=_LIMITS,
        deadline=_DEADLINE_SECONDS,
        largest_reply=_MAX_PNG_BYTES,
        inputs=given,
    )
    return reply.output if reply.output and not reply.failure else NOT_DRAWN
