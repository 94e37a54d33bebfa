"""Tells a log by the times its lines begin with, and from when to when its parts run."""

from __future__ import annotations

import re

_TIME = re.compile(
    r"\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"  # 2026-01-02 03:04:05,678
    r"|\d\d/(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/\d{4}:\d\d:\d\d:\d\d"  # a web server's
    r"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d"
    r"|\d\d[-/.]\d\d[-/.]\d{2,4} \d\d:\d\d:\d\d"
    r"|\d\d:\d\d:\d\d[.,]\d+|\[\s*\d+\.\d{3,6}\]"  # seconds since the start, as kernels write
)
_BEGIN = 80
_SAMPLE = 400


def time_of(line: str) -> str:
    """Give the time that a line begins with, as it is written; "" if none."""
    found = _TIME.search(line[:_BEGIN])
    return found[0] if found else ""


def is_log(lines: list[str]) -> bool:
    """Tell if lines are a log's: a third of them begin with a time, traces and continued lines aside."""
    sample = [line for line in lines[:_SAMPLE] if line.strip() and not line[0].isspace()]
    return len(sample) >= 3 and sum(bool(time_of(line)) for line in sample) * 3 >= len(sample)
