"""Lays out the picture of a trace: texts, and positions in pixels. Pure; `picture_child` draws the picture.

The picture is for a phone: 1,080 pixels wide, the name of a lane above its bars, and at most `MAX_LANES` lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.tracing.cut_texts import cut_text
from bot.tracing.job_trace import RequestFigures, Trace, TraceLane, find_crew_attempts
from bot.tracing.span import SUPERVISORS_LANE, Span
from bot.tracing.time_scale import TimeScale, make_time_scale
from handoff.contracts import PATH_SEPARATOR, Usage
from handoff.text.counts import format_dollars

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def format_duration(seconds: float) -> str:
    """Format a duration: 80 ms, 2.4 s, 36 s, 1 min 12 s, 2 h 5 min, 2.1 days."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < MINUTE - 0.5:
        return f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if whole < 2 * DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole / DAY:.1f} days"


def format_tokens(usage: Usage) -> str:
    """Format the tokens of a usage, such as `12.3k tokens`; empty for none."""
    count = usage.tokens_in + usage.tokens_out
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count / size:.1f}{unit} tokens"
    return f"{count} tokens" if count else ""


def format_cost(usage: Usage) -> str:
    """Format the cost of a usage in dollars; empty if it is 0 or unknown."""
    return format_dollars(usage.cost) if usage.cost else ""


MARGIN = 40
WIDTH = 1_080
TRACK_WIDTH = WIDTH - 2 * MARGIN
MAX_LANES = 14
MAX_LANE_ROWS = 3
"""Most rows of bars in a lane. Further overlapping bars share the last row."""
TICK_COUNT = 4
MAX_DESCRIPTION_CHARS = 900
"""Most characters of the picture's description; Slack accepts 1,000."""
INNER_LANE_MARK = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
"""The mark before the name of a lane inside a crew."""
_NARROW_PIXELS, _NEAR_PIXELS = 6, 3
"""A bar is joined to the bar before it if it is narrower than the first of these and nearer than the second."""
DRAWN_KINDS = frozenset({"gather", "plan", "attempt", "wait", "pause", "verify", "refine", "synthesis", "away"})
_SUPERVISOR_KINDS = frozenset({"gather", "plan", "synthesis", "post"})
STATE_WORDS = {
    "submitted": "planning",
    "input_required": "waiting for people",
    "synthesizing": "writing the answer",
    "completed": "done",
    "cancelled": "stopped",
}
"""The words shown for the states of a request; other states are shown by their names."""
LEGEND = (
    ("lead", "the supervisor plans, writes"),
    ("work", "a specialist works"),
    ("failed", "failed"),
    ("wait", "waits for a person"),
    ("pause", "pause before a retry"),
    ("away", "nobody at work on it"),
    ("verify", "the answer is checked"),
    ("refine", "a brief is rewritten"),
    ("critical", "critical path: waited for"),
)


def lay_out_picture(trace: Trace) -> dict[str, Any]:
    """Return the layout for the latest request of a trace, as JSON values. Raises ValueError without a request."""
    if not trace.requests:
        raise ValueError("there is no request to draw")
    figures = trace.requests[-1]
    spans = [one for one in trace.list_request_spans(figures.id) if one.kind in DRAWN_KINDS or one.name == "the answer"]
    spans += [one for one in trace.spans if one.kind == "away" and one.start >= figures.start]
    end = (
        figures.end if figures.end is not None else max([trace.last_event_at, *(one.end or one.start for one in spans)])
    )
    scale = make_time_scale(trace.list_request_spans(figures.id), figures.start, end)
    crews = find_crew_attempts(trace.list_request_spans(figures.id))
    shown_lanes, rest = _choose_lanes(figures.lanes, spans)
    lanes = [_lay_out_lane(lane, spans, scale, end, crews) for lane in shown_lanes]
    if rest:
        lanes.append(_merge_lanes(rest, spans, scale, end))
    return {
        "width": WIDTH,
        "margin": MARGIN,
        "title": " ".join(figures.text.split())[:200],
        "otherwise": f"Job {trace.job}",
        "facts": _describe_request(trace, figures, end),
        "gain": figures.gain_line,
        "compared": _make_comparison_bars(figures),
        "ticks": [
            [0, "0"],
            *([place, format_duration(scale.to_time(place) - figures.start)] for place in _choose_ticks(scale)),
        ],
        "breaks": [[one, other, f"// {format_duration(seconds)}"] for one, other, seconds in scale.breaks],
        "lanes": lanes,
        "legend": _make_legend(lanes),
        "notes": _list_notes(trace),
    }


def describe_picture(trace: Trace) -> str:
    """Describe the picture in words, for people who cannot see it; empty if there is nothing to draw."""
    if not trace.requests:
        return ""
    layout = lay_out_picture(trace)
    lanes = "; ".join(f"{lane['name'].strip(INNER_LANE_MARK + ' ')}: {lane['facts']}" for lane in layout["lanes"])
    path = list(dict.fromkeys(one.lane for one in trace.list_request_spans(trace.requests[-1].id) if one.critical))
    parts = [layout["facts"], layout["gain"], f"Lanes: {lanes}", f"The end waited for: {', '.join(path)}"]
    return cut_text(". ".join(part for part in parts if part), MAX_DESCRIPTION_CHARS)


def _choose_ticks(scale: TimeScale) -> list[float]:
    """Return the positions of the axis marks, from 0 to 1: at equal distances, except inside a break."""
    break_intervals = [(begin, end) for begin, end, _ in scale.breaks]
    places = [part / TICK_COUNT for part in range(1, TICK_COUNT + 1)]
    return [place for place in places if not any(begin < place < end for begin, end in break_intervals)]


def _describe_request(trace: Trace, figures: RequestFigures, end: float) -> str:
    took_so = format_duration((figures.answered_at or end) - figures.start)
    state = STATE_WORDS.get(figures.state, figures.state)
    parts = [state, took_so, format_tokens(figures.usage), format_cost(figures.usage), f"job {trace.job}"]
    return " · ".join(part for part in parts if part)


def _make_comparison_bars(figures: RequestFigures) -> list[list[Any]]:
    """Return two bars [label, share of the longer, style] for the sequential and parallel seconds; [] if unknown."""
    sequential_seconds, parallel_seconds = figures.sequential_seconds, figures.parallel_seconds
    if not sequential_seconds or not parallel_seconds:
        return []
    most = max(sequential_seconds, parallel_seconds)
    pairs = (("one by one", sequential_seconds, "plain"), ("side by side", parallel_seconds, "work"))
    return [[f"{name}: {format_duration(seconds)}", seconds / most, style] for name, seconds, style in pairs]


def _list_notes(trace: Trace) -> list[str]:
    notes = []
    if len(trace.requests) > 1:
        notes.append(f"The last of {len(trace.requests)} requests in this thread.")
    if trace.unreadable_count:
        notes.append(f"From entry {trace.first_unreadable_seq} on, the log cannot be read: the picture ends there.")
    return notes


def _make_legend(lanes: Sequence[dict[str, Any]]) -> list[list[str]]:
    bars = [bar for lane in lanes for row in lane["rows"] for bar in row]
    used_styles = {bar["style"] for bar in bars} | {"critical" for bar in bars if bar["critical"]}
    return [[style, words] for style, words in LEGEND if style in used_styles]


def _choose_lanes(lanes: Sequence[TraceLane], spans: Sequence[Span]) -> tuple[list[TraceLane], list[TraceLane]]:
    """Return the lanes to show and the others, each in their order.

    The supervisor's lane is chosen first, then lanes of the critical path, lanes with failures or waits, the busiest.
    """
    if len(lanes) <= MAX_LANES:
        return [*lanes], []
    critical_lanes = {one.lane for one in spans if one.critical}

    def rank_lane(lane: TraceLane) -> tuple[bool, bool, bool, float]:
        return (
            lane.name == SUPERVISORS_LANE,
            lane.name in critical_lanes,
            bool(lane.failed_count or lane.waited_seconds),
            lane.busy_seconds,
        )

    shown_names = {lane.name for lane in sorted(lanes, key=rank_lane, reverse=True)[: MAX_LANES - 1]}
    return [lane for lane in lanes if lane.name in shown_names], [
        lane for lane in lanes if lane.name not in shown_names
    ]


def _lay_out_lane(
    lane: TraceLane, spans: Sequence[Span], scale: TimeScale, end: float, crew_attempts: frozenset[str]
) -> dict[str, Any]:
    own = [one for one in spans if one.lane == lane.name]
    inside = {one.id: one.parent for one in own if one.kind == "wait" and one.parent.startswith("attempt")}
    rows: list[list[dict[str, Any]]] = [[]]
    places: dict[str, int] = {}
    until: list[float] = []
    for one in sorted(own, key=lambda each: each.start):
        close = end if one.end is None else one.end
        if one.id in inside:
            place = places.get(inside[one.id], 0)
        else:
            place = next((row for row, busy_until in enumerate(until) if busy_until <= one.start + 1e-6), len(until))
            place = min(place, MAX_LANE_ROWS - 1)
            until += [0.0] * (place + 1 - len(until))
            until[place] = max(until[place], close)
            places[one.id] = place
        rows += [[] for _ in range(place + 1 - len(rows))]
        rows[place].append(_lay_out_bar(one, scale, close, is_crew=one.id in crew_attempts))
    names = lane.name.split(PATH_SEPARATOR)
    return {
        "name": f"{INNER_LANE_MARK} " * (len(names) - 1) + names[-1],
        "facts": _describe_lane(lane),
        "rows": [_join_bars(row) for row in rows],
    }


def _describe_lane(lane: TraceLane) -> str:
    parts = [format_duration(lane.busy_seconds), format_cost(lane.usage) or format_tokens(lane.usage)]
    if lane.waited_seconds >= 1:
        parts.append(f"waited {format_duration(lane.waited_seconds)}")
    if lane.attempt_count > 1:
        parts.append(f"{lane.attempt_count} attempts")
    return " · ".join(part for part in parts if part)


def _lay_out_bar(span: Span, scale: TimeScale, end: float, *, is_crew: bool = False) -> dict[str, Any]:
    style: str = "lead" if span.kind in _SUPERVISOR_KINDS else "work" if span.kind == "attempt" else span.kind
    if is_crew:
        style = "crew"
    elif span.state == "failed":
        style = "failed"
    return {
        "from": round(scale.to_place(span.start) * TRACK_WIDTH, 1),
        "to": round(scale.to_place(end) * TRACK_WIDTH, 1),
        "style": style,
        "state": span.state,
        "critical": span.critical,
    }


def _join_bars(row: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join narrow bars of one style that nearly touch, since thousands of them could not be told apart."""
    joined_bars: list[dict[str, Any]] = []
    for bar in row:
        last = joined_bars[-1] if joined_bars else None
        is_narrow = bar["to"] - bar["from"] < _NARROW_PIXELS
        if last and is_narrow and last["style"] == bar["style"] and bar["from"] - last["to"] < _NEAR_PIXELS:
            critical = last["critical"] or bar["critical"]
            joined_bars[-1] = {**last, "to": max(last["to"], bar["to"]), "critical": critical, "state": bar["state"]}
        else:
            joined_bars.append(bar)
    return joined_bars


def _merge_lanes(
    hidden_lanes: Sequence[TraceLane], spans: Sequence[Span], scale: TimeScale, end: float
) -> dict[str, Any]:
    """Return one lane for all lanes that are not shown: when any of them worked, and their cost together."""
    names = {lane.name for lane in hidden_lanes}
    attempts = [one for one in spans if one.lane in names and one.kind == "attempt"]
    row: list[dict[str, Any]] = []
    for one in sorted(attempts, key=lambda each: each.start):
        bar = _lay_out_bar(one, scale, end if one.end is None else one.end) | {"style": "many", "critical": False}
        if row and bar["from"] <= row[-1]["to"] + _NEAR_PIXELS:
            row[-1] = {**row[-1], "to": max(row[-1]["to"], bar["to"])}
        else:
            row.append(bar)
    usage = sum((lane.usage for lane in hidden_lanes[1:]), hidden_lanes[0].usage)
    failed_count = sum(lane.failed_count for lane in hidden_lanes)
    parts = [format_cost(usage) or format_tokens(usage), f"{failed_count} failed" if failed_count else ""]
    return {"name": f"and {len(hidden_lanes)} more", "facts": " · ".join(part for part in parts if part), "rows": [row]}
