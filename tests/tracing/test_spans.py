"""Spans follow from the log alone: whole, linear, and the same ones whoever reads them, and whenever."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.store.values import LogEntry
from bot.tracing.job_trace import UnreadableEntry, derive_trace
from bot.tracing.span import Span
from bot.tracing.span_reader import read_spans
from handoff import events as ev
from handoff.contracts import Usage
from handoff.engine.engine import fold_log
from handoff.summaries.summary import describe_speed_up
from tests.handoff.test_opening import play_requests
from tests.tracing.made_logs import RECORDED_LOGS, R, a_day, entries, read_recorded_log


def one(spans: tuple[Span, ...], kind: str, subtask: str = "", place: int = 0) -> Span:
    return [each for each in spans if each.kind == kind and each.subtask == subtask][place]


@pytest.mark.parametrize("path", RECORDED_LOGS, ids=lambda path: path.stem)
def test_a_recorded_log_gives_spans_that_lie_in_one_another_and_hold_all_that_was_used(path: Path) -> None:
    log = read_recorded_log(path)
    found = read_spans(log)
    seen: dict[str, Span] = {}
    for span in found:
        assert span.id not in seen
        assert not span.parent or span.parent in seen
        assert span.end is None if span.state == "open" else span.end is not None and span.end >= span.start
        seen[span.id] = span
    job = fold_log(ev.load_event(entry.payload) for entry in log)
    assert job is not None
    for request in job.requests:
        used = sum((span.usage for span in found if span.request == request.id and span.usage), Usage())
        if request.is_over:  # what an attempt used counts once it has ended
            assert (used.tokens_in, used.tokens_out, used.calls) == (
                request.usage.tokens_in,
                request.usage.tokens_out,
                request.usage.calls,
            )
        whole = next(span for span in found if span.kind == "request" and span.request == request.id)
        assert (whole.state == "open") is not request.is_over


def test_a_longer_log_of_the_same_job_keeps_the_ids_and_the_ends_of_what_had_ended() -> None:
    log = entries(a_day())
    whole = {span.id: span for span in read_spans(log)}
    for count in range(1, len(log), 5):
        for span in read_spans(log[:count]):
            assert span.id in whole
            assert span.state == "open" or (span.end, span.state) == (whole[span.id].end, whole[span.id].state)


def test_waits_pauses_retries_and_approvals_are_seen_where_they_were() -> None:
    found = read_spans(entries(a_day()))
    first, pause, second = (
        one(found, "attempt", "market"),
        one(found, "pause", "market"),
        one(found, "attempt", "market", 1),
    )
    assert (first.state, first.outcome, pause.after, second.after) == ("failed", "model", first.id, pause.id)
    assert pause.end is not None
    assert pause.end - pause.start == pytest.approx(6.0)
    silent = one(found, "chat", "market", 1)
    assert (silent.state, silent.reason) == ("failed", "the provider is overloaded (529)")
    asked = one(found, "wait", "terms/check")
    assert (asked.outcome, asked.text, asked.lane) == ("question", "2026", "legal/checker")
    approved, post = one(found, "wait", "note"), one(found, "tool", "note")
    assert (approved.outcome, approved.parent) == ("approval", one(found, "attempt", "note").id)
    assert post.start >= (approved.end or 0) > approved.start
    failed, mended = one(found, "tool", "prices"), one(found, "tool", "prices", 1)
    assert (failed.state, mended.state) == ("failed", "done")
    assert "net_price" in mended.arguments["sql"]


def test_the_critical_path_leads_from_the_answer_back_through_the_crew_to_the_plan() -> None:
    found = [span for span in read_spans(entries(a_day())) if span.critical]
    path = [(span.kind, span.subtask) for span in found if span.kind != "request"]
    assert path == [
        ("plan", ""),
        ("attempt", "terms"),
        ("plan", "terms"),
        ("attempt", "terms/check"),
        ("wait", "terms/check"),
        ("attempt", "terms/check"),
        ("synthesis", "terms"),
        ("attempt", "note"),
        ("wait", "note"),
        ("synthesis", ""),
        ("post", ""),
    ]


def test_the_figures_are_those_of_the_answers_context_line_and_lanes_add_up() -> None:
    log = entries(a_day())
    (figures,) = derive_trace(log).requests
    job = fold_log(ev.load_event(entry.payload) for entry in log)
    assert job is not None
    assert figures.gain_line == describe_speed_up(job.requests[0]) != ""
    assert [lane.name for lane in figures.lanes] == [
        "supervisor", "researcher", "analyst", "legal", "legal/reader", "legal/checker", "writer",
    ]  # fmt: skip
    assert sum(lane.usage.cost or 0 for lane in figures.lanes) == pytest.approx(figures.usage.cost)
    assert next(lane.waited_seconds for lane in figures.lanes if lane.name == "writer") == pytest.approx(17.9)


def test_a_log_that_cannot_be_read_whole_gives_what_can_be_read_and_says_so() -> None:
    log = entries(a_day())
    log[20] = LogEntry(21, '{"type":"FromTheFuture","v":99}')
    trace = derive_trace(log)
    assert (trace.first_unreadable_seq, trace.unreadable_count, len(trace.steps)) == (21, len(log) - 20, len(log))
    assert max(seq for span in trace.spans for seq in span.events) == 20
    assert trace.requests[0].state == "working"
    with pytest.raises(UnreadableEntry):
        derive_trace(log, request_ids=frozenset({R}), user="UANA")


def test_who_may_see_only_their_own_requests_sees_no_span_of_others() -> None:
    log = a_day()
    other = "1795432600.000100"
    asked = log[0].model_copy(update={"request": log[0].request.model_copy(update={"id": other, "user": "UBEN"})})
    log = [*log, asked.model_copy(update={"at": log[-1].at + 1})]
    trace = derive_trace(entries(log), request_ids=frozenset({other}), user="UBEN")
    assert {span.request for span in trace.spans} == {other}
    assert [figures.id for figures in trace.requests] == [other]
    assert {step.entry.seq for step in trace.steps} == {len(log)}


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_to_a_job_its_spans_end_with_it_and_never_change_what_had_ended(seed: int) -> None:
    log = entries(play_requests(seed, owners=0.1, oddities=0.2))
    trace = derive_trace(log)
    whole = {span.id: span for span in trace.spans}
    assert len(whole) == len(trace.spans)
    over = {figures.id for figures in trace.requests if figures.end is not None}
    assert [span.id for span in trace.spans if span.state == "open" and span.request in over] == []
    for span in read_spans(log[: len(log) // 2]):
        assert span.state == "open" or (span.end, span.state) == (whole[span.id].end, whole[span.id].state)
