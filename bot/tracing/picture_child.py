"""The process that draws the picture of a trace, so that Pillow and its fonts are loaded only while one is drawn.

In: what `picture_layout` gives, as JSON. Out: the PNG, or nothing if Pillow is not there.
"""

from __future__ import annotations

import json
import sys

from specialists.sandbox.confine import own_stdout


def main() -> None:
    """Draw what the request on stdin asks for."""
    reply = own_stdout()
    request = json.load(sys.stdin)
    from bot.tracing.picture_canvas import png  # noqa: PLC0415 - after the limits

    with reply:
        reply.write(png(request))
