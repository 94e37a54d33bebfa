"""What a run prints: counts beside what they must be, and for each job with something wrong a dump in a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from handoff import events as ev
from tests.chaos.errands import SUPERVISED_KINDS
from tests.chaos.invariants import ErrandCase, Violation
from tests.chaos.run import Run
from tests.proof_kit import row, say
from tests.system.scene import extract_shown_text

COUNTED_EVENTS = ("taken_over", "fenced", "reconciled", "set_aside", "stalled", "store_away", "store_back")
MAX_SHOWN_VIOLATIONS = 20


def report(run: Run, cases: Sequence[ErrandCase], general: Sequence[Violation]) -> bool:
    """Print everything; `general` is what is wrong with the run as a whole. Gives whether every invariant held."""
    wrong = [(each, violation) for each in cases for violation in each.violations]
    kinds = Counter(violation.kind for _, violation in wrong) + Counter(violation.kind for violation in general)
    _work(run, cases)
    _faults(run)
    _takeovers(run, cases)
    _teams(run)
    for kind in ("lost", "twice", "stuck", "order", "wrong", "untidy", "crossed"):
        row(kind, str(kinds[kind]), "0", is_met=kinds[kind] == 0)
    for violation in general:
        say(f"{violation.kind}: {violation.text}")
    for each, violation in wrong[:MAX_SHOWN_VIOLATIONS]:
        errand = each.visit.errand
        say(f"{each.visit.key.job} (errand {errand.label}, {errand.kind}) {violation.kind}: {violation.text}")
    if len(wrong) > MAX_SHOWN_VIOLATIONS:
        say(f"... and {len(wrong) - MAX_SHOWN_VIOLATIONS} more")
    for each in cases:
        if each.violations:
            dump(run.folder, each)
    if wrong or general:
        say(f"Dumps of the jobs and the instances' logs are in {run.folder}")
    return not wrong and not general and bool(cases)


def _work(run: Run, cases: Sequence[ErrandCase]) -> None:
    asked = sum(len(visit.request_timestamps) for visit in run.visits)
    ended = sum(request.is_over for each in cases if each.job for request in each.job.requests)
    taken = sum(len(each.job.requests) for each in cases if each.job)
    row("jobs", str(sum(each.job is not None for each in cases)))
    row("requests", str(asked))
    row("  acknowledged and recorded", str(taken))
    row("  ended", str(ended), str(taken), is_met=ended == taken)
    kinds = Counter(each.visit.errand.kind for each in cases)
    row("  of crews, second looks, limits", str(sum(kinds[kind] for kind in SUPERVISED_KINDS)))
    again = sum(count - 1 for calls in run.models.answer_counts.values() for count in calls.values())
    row("calls of models answered, and again", f"{_count_answers(run)} + {again}")
    row("seconds of faults, and until all was quiet", f"{run.took:.0f} + {run.settle_seconds:.0f}")


def _count_answers(run: Run) -> int:
    return sum(len(calls) for calls in run.models.answer_counts.values())


def _faults(run: Run) -> None:
    counts = run.faults()
    row("faults", str(counts.total()))
    for kind, count in sorted(counts.items()):
        row(f"  {kind}", str(count))
    row("redeliveries by Slack", str(sum(team.witness.again for team in run.teams)))
    failed_starts = sum((instance.codes for instance in run.instances), Counter())
    row("instances that ended by themselves", str(failed_starts.total()))
    row("slowest end after SIGTERM", f"{max(instance.slowest_end for instance in run.instances):.1f} s")


def _takeovers(run: Run, cases: Sequence[ErrandCase]) -> None:
    taken = [(each, event) for each in cases for event in each.events if isinstance(event, ev.TakenOver)]
    row("takeovers", str(len(taken)))
    waits = [_compute_wait(run, end, until) for (_, end), until in run.watch.late.items()]
    longest = max(waits, default=0.0)
    row("  longest that a lease which was over had no taker", f"{longest:.1f} s", "<= 1 s", is_met=longest <= 1)
    counts = count_logged_events(run.folder)
    for name in COUNTED_EVENTS:
        if name != "set_aside":
            row(f"log: {name}", str(counts[name]))
    quarantined = sum(isinstance(event, ev.SetAside) for each in cases for event in each.events)
    row("set aside, and released by the admin", str(quarantined))


def _teams(run: Run) -> None:
    """What the oracle heard of each of several teams."""
    if run.crossings is None:
        return
    row("payloads to the app", str(sum(team.witness.payload_count for team in run.teams)))
    for team in run.teams:
        row(f"requests with the token of {team.name}", str(run.crossings.request_counts[team.id]))
    row("  of them with one that was void", str(run.crossings.refusal_counts.total()))
    for method, count in sorted(run.crossings.refusal_counts.items()):
        row(f"    {method}", str(count))
    row("tokens refreshed", str(run.crossings.refresh_count))


def _compute_wait(run: Run, end: float, until: float) -> float:
    """Seconds from the end of a lease in which somebody was there to take the job, and the store to take it from."""
    away = sum(max(0.0, min(back, until) - max(gone, end)) for gone, back in run.outages)
    return max(0.0, until - end - away - run.watch.without_hands(end, until))


def count_logged_events(folder: Path) -> Counter[str]:
    """How often each event that counts stands in the instances' logs."""
    counts: Counter[str] = Counter()
    for log in folder.glob("instance-*.log"):
        for line in log.read_text(errors="replace").splitlines():
            if line.startswith("{"):
                try:
                    counts[str(json.loads(line).get("event", ""))] += 1
                except ValueError:
                    counts["unreadable"] += 1
    return counts


def dump(folder: Path, case: ErrandCase) -> None:
    """Everything about one job, into a file named after it."""
    errand = case.visit.errand
    lines = [f"{case.visit.key.job} errand {errand.label} {errand}", ""]
    lines += [f"{violation.kind}: {violation.text}" for violation in case.violations]
    lines += ["", f"head: {case.head}", "", "log:"]
    lines += [f"  {entry.seq:>3} {_line(event)}" for entry, event in zip(case.entries, case.events, strict=True)]
    lines += ["", "inbox:", *(f"  {entry.seq} {entry.payload[:300]}" for entry in case.inbox)]
    lines += ["", "outbox:", *(f"  {key}: {intent}" for key, intent in case.outbox.items())]
    lines += ["", "thread:"]
    for message in case.visit.workspace.thread(case.visit.channel, case.visit.root):
        files = [file["name"] for file in message.get("files") or ()]
        carried = message.get("metadata") or {}
        lines.append(
            f"  {message['ts']} {message.get('user')} {carried.get('event_payload', {}).get('key', '')} {files}"
        )
        lines.append(f"      {extract_shown_text(message)[:300]!r}{' STREAMING' if message['streaming'] else ''}")
    lines += ["", "calls of the Web API about it:"]
    for call in case.visit.workspace.calls():
        if case.visit.root in (call.args.get("thread_ts"), call.args.get("ts")) or call.args.get("ts") in {
            message["ts"] for message in case.messages
        }:
            lines.append(
                f"  {call.at:.3f} {call.method} {call.error or 'ok'} {str(call.args.get('metadata', ''))[:120]}"
            )
    (folder / f"{case.visit.key.job}.txt").write_text("\n".join(lines) + "\n")


def _line(event: ev.Event) -> str:
    rest = {
        name: value
        for name, value in event.model_dump(exclude_defaults=True).items()
        if name not in {"at", "type", "v"}
    }
    return f"{event.at:.3f} {event.type} {str(rest)[:260]}"
