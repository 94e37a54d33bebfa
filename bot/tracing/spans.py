"""Reads the spans of a job off its log: what was done when, by whom, below what, and why.

They follow from the log alone, so they are whole after a takeover, whichever instance looks at them.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.store.interface import Entry
from bot.tracing.span import Span


def spans(entries: Sequence[Entry]) -> tuple[Span, ...]:
    """Return the spans of a log, in the order in which they began; each after the one that it is below.

    From the first entry on that cannot be read there are no more: what is open by then stays `open`. It takes time in
    proportion to the log.
    """
    raise NotImplementedError(entries)
