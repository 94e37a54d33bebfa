"""The time axis of a waterfall. Long times in which nobody worked are drawn short and marked as breaks.

Otherwise a job that waited two days for an answer and then worked for a minute would show nothing but the wait.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bot.tracing.job_trace import BUSY_KINDS, find_crew_attempts
from bot.tracing.span import Span

MIN_BREAK_SECONDS = 30.0
"""A time without work is drawn as a break only if it is longer than these seconds."""
_MIN_BREAK_SHARE, _BREAK_WIDTH_SHARE = 0.5, 0.15
"""Shares of the time at work: a time without work longer than the first share is drawn as long as the second."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class TimeScale:
    """Maps times (seconds since the epoch) to places on the axis (0 to 1), linearly between neighbouring `times`."""

    times: tuple[float, ...]
    """Rising times."""
    places: tuple[float, ...]
    """The place of each of `times`, rising from 0 to 1."""
    breaks: tuple[tuple[float, float, float], ...] = ()
    """Triples (first place, last place, seconds) of the times that are drawn short."""

    def to_place(self, time: float) -> float:
        """Return the place of a time."""
        return _interpolate(self.times, self.places, time)

    def to_time(self, place: float) -> float:
        """Return the time at a place."""
        return _interpolate(self.places, self.times, place)


def _interpolate(froms: Sequence[float], tos: Sequence[float], value: float) -> float:
    """Map `value` from the rising numbers `froms` to `tos`, by linear interpolation between the two nearest."""
    if value <= froms[0]:
        return tos[0]
    if value >= froms[-1]:
        return tos[-1]
    right = bisect_right(froms, value)
    left = right - 1
    share = (value - froms[left]) / (froms[right] - froms[left])
    return tos[left] + share * (tos[right] - tos[left])


def make_time_scale(spans: Sequence[Span], start: float, end: float) -> TimeScale:
    """Return the scale for the spans of a request, from `start` to `end`."""
    end = max(end, start + 0.001)
    crews = find_crew_attempts(spans)
    waits: dict[str, list[Interval]] = {}
    for one in spans:
        if one.kind == "wait" and one.parent:
            waits.setdefault(one.parent, []).append((one.start, end if one.end is None else one.end))
    busy: list[Interval] = [(start, start), (end, end)]
    for one in spans:
        if (one.kind in BUSY_KINDS or one.kind == "post") and one.id not in crews:
            busy += _subtract_holes((one.start, end if one.end is None else one.end), sorted(waits.get(one.id, ())))
    merged_intervals = _merge_intervals(
        (max(start, one), min(end, other)) for one, other in busy if other >= start and one <= end
    )
    work_seconds = sum(other - one for one, other in merged_intervals)
    gaps = [(one[1], other[0]) for one, other in pairwise(merged_intervals)]
    breaks = [one for one in gaps if one[1] - one[0] > max(MIN_BREAK_SECONDS, _MIN_BREAK_SHARE * work_seconds)]
    return _make_scale(start, end, breaks, max(_BREAK_WIDTH_SHARE * work_seconds, 0.001))


def _subtract_holes(interval: Interval, holes: Iterable[Interval]) -> list[Interval]:
    """Return the parts of a time interval outside of the holes, which are sorted by their begin."""
    parts, position = [], interval[0]
    for begin, close in holes:
        if begin > position:
            parts.append((position, min(begin, interval[1])))
        position = max(position, close)
    return [*parts, (position, interval[1])] if position < interval[1] else parts


def _merge_intervals(intervals: Iterable[Interval]) -> list[Interval]:
    merged_intervals: list[Interval] = []
    for one, other in sorted(intervals):
        if merged_intervals and one <= merged_intervals[-1][1]:
            merged_intervals[-1] = (merged_intervals[-1][0], max(merged_intervals[-1][1], other))
        else:
            merged_intervals.append((one, other))
    return merged_intervals


def _make_scale(start: float, end: float, intervals: Sequence[Interval], break_width: float) -> TimeScale:
    times, widths = [start], [0.0]
    for one, other in intervals:
        for time, width in ((one, one - times[-1]), (other, break_width)):
            if time > times[-1]:
                times.append(time)
                widths.append(widths[-1] + width)
    if end > times[-1]:
        widths.append(widths[-1] + end - times[-1])
        times.append(end)
    places = [width / widths[-1] for width in widths]
    scale = TimeScale(tuple(times), tuple(places))
    breaks = tuple((scale.to_place(one), scale.to_place(other), other - one) for one, other in intervals)
    return TimeScale(scale.times, scale.places, breaks)
