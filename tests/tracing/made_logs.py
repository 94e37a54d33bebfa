"""Logs that tests make up: a day's work that has everything in it, and one of as many steps as a log may have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bot.store.values import LogEntry
from handoff import events as ev
from handoff.approval_values import Approval, compute_call_digest
from handoff.contracts import (
    Escalation,
    Member,
    Place,
    Plan,
    Request,
    Result,
    Subtask,
    Terms,
    ToolCall,
    ToolReply,
    Turn,
    Usage,
)

T0 = 1_795_432_500.0
R = "1795432500.000100"
PLACE = Place(team="T1", channel="C0SALES", thread_ts=R)
RECORDED_LOGS = sorted((Path(__file__).parents[1] / "versions" / "logs").glob("*.jsonl"))
REQUEST_TEXT = "Compare our prices with the market, check the contract terms, and post a note to #sales with a chart."


def entries(events: Sequence[ev.Event]) -> list[LogEntry]:
    return [LogEntry(seq, ev.dump_event(event)) for seq, event in enumerate(events, 1)]


def read_recorded_log(path: Path) -> list[LogEntry]:
    """A log that was written down (tests/versions)."""
    return [LogEntry(seq, line) for seq, line in enumerate(path.read_text().splitlines(), 1)]


def usage(tokens_in: int, tokens_out: int, seconds: float, model: str = "gpt-6.1-terra") -> Usage:
    cost = (tokens_in * 2 + tokens_out * 8) / 1e6
    return Usage(
        model=model, calls=1, tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_in // 3, cost=cost,
        duration=seconds,
    )  # fmt: skip


class Log:
    """A log that grows: `at` is the time of the next event, in seconds from its beginning."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self.usages: dict[tuple[str, int], Usage] = {}

    def add(self, kind: type[Any], at: float, /, **fields: Any) -> None:
        of = {"request": R} if issubclass(kind, ev.RequestEvent) else {}
        self.events.append(kind(at=T0 + at, **{**of, **fields}))

    def begin(self, text: str = REQUEST_TEXT, request: str = R, at: float = 0.0) -> None:
        asked = Request(id=request, user="UANA", text=text, at=T0 + at)
        self.add(ev.RequestAdded, at + 0.01, place=PLACE, request=asked)
        self.add(ev.Posted, at + 0.4, request=request, key=f"{request}:card", ts="1.1")

    def plan(self, at: float, subtasks: Sequence[Subtask], **more: Any) -> None:
        names = dict.fromkeys(one.specialist for one in subtasks)
        members = more.pop("members", tuple(Member(name=name) for name in names))
        plan = Plan(goal="Prices compared, terms checked, sales told", subtasks=tuple(subtasks))
        self.add(ev.PlanProposed, at, plan=plan, members=members, usage=usage(2_300, 410, at * 0.8), **more)

    def start(self, at: float, subtask: str, specialist: str, attempt: int = 1) -> None:
        self.add(
            ev.AttemptStarted, at, subtask=subtask, attempt=attempt, specialist=specialist, tier="balanced",
            model="gpt-6.1-terra",
        )  # fmt: skip

    def turn(
        self,
        at: float,
        subtask: str,
        took: float,
        *calls: ToolCall,
        attempt: int = 1,
        text: str = "",
        tokens: int = 900,
    ) -> None:
        used = usage(tokens, tokens // 6, took)
        self.usages[subtask, attempt] = self.usages.get((subtask, attempt), Usage()) + used
        turn = Turn(text=text, calls=calls, stop="tool_use" if calls else "end", usage=used)
        self.add(ev.TurnTaken, at, subtask=subtask, attempt=attempt, turn=turn)

    def tool(
        self, at: float, subtask: str, call: str, text: str, *, attempt: int = 1, has_failed: bool = False
    ) -> None:
        reply = ToolReply(call_id=call, text=text, failed=has_failed)
        self.add(ev.ToolReturned, at, subtask=subtask, attempt=attempt, reply=reply)

    def result(self, at: float, subtask: str, summary: str, attempt: int = 1, **more: Any) -> None:
        used = self.usages.get((subtask, attempt), Usage())
        result = Result(summary=summary, content=f"{summary}\n\nIn full: {summary} " * 3, usage=used, confidence=88)
        self.add(ev.ResultReturned, at, subtask=subtask, attempt=attempt, result=result, **more)


def part(name: str, title: str, specialist: str, *after: str, critical: bool = False) -> Subtask:
    return Subtask(
        id=name, title=title, intent=f"{title}, for the sales team.", specialist=specialist, after=after,
        done_when="It names its sources.", critical=critical,
    )  # fmt: skip


def a_day() -> list[ev.Event]:
    """Return a log with a retry, a question, a write that is approved, a crew inside and an answer."""
    log = Log()
    log.begin()
    log.plan(
        5.2,
        (
            part("market", "Market prices", "researcher"),
            part("prices", "Our own prices", "analyst"),
            part("terms", "Contract terms", "legal"),
            part("note", "Note to #sales", "writer", "market", "prices", "terms"),
        ),
        members=(
            Member(name="researcher", fallback="analyst"),
            Member(name="analyst"),
            Member(name="legal", crew=Terms()),
            Member(name="writer"),
        ),
    )
    _market(log)
    _prices(log)
    _terms(log)
    log.events.sort(key=lambda event: event.at)
    _note(log)
    return log.events


def _market(log: Log) -> None:
    search = ToolCall(id="w1", name="web_search", arguments={"query": "price list widgets 2026"})
    log.start(5.3, "market", "researcher")
    log.turn(8.1, "market", 2.7, search)
    log.tool(10.4, "market", "w1", "1. ACME list 2026: 12.90\n2. Globex 2026: 13.40\n" + "More of the page. " * 40)
    log.add(
        ev.AttemptFailed, 16.0, subtask="market", attempt=1, kind="model", message="the provider is overloaded (529)",
        transient=True, usage=log.usages["market", 1], pause=6.0, took=10.7,
    )  # fmt: skip
    log.start(22.1, "market", "researcher", attempt=2)
    log.turn(
        25.0,
        "market",
        2.8,
        ToolCall(id="w1", name="web_search", arguments={"query": "price list widgets 2026"}),
        attempt=2,
    )
    log.tool(27.2, "market", "w1", "1. ACME list 2026: 12.90\n2. Globex 2026: 13.40", attempt=2)
    log.turn(30.9, "market", 3.5, ToolCall(id="r", name="return_result", arguments={"summary": "…"}), attempt=2)
    log.result(31.0, "market", "The market is between 12.90 and 13.40.", attempt=2, doubts=("“13.40” has one source",))


def _prices(log: Log) -> None:
    sql = "SELECT product, avg(price) AS price\nFROM prices\nWHERE year = 2026\nGROUP BY product"
    log.start(5.4, "prices", "analyst")
    log.turn(7.6, "prices", 2.1, ToolCall(id="q1", name="query_tables", arguments={"sql": sql}), tokens=2_100)
    log.tool(8.0, "prices", "q1", 'Binder Error: column "price" not found; there is "net_price"', has_failed=True)
    log.turn(
        10.2,
        "prices",
        2.1,
        ToolCall(id="q2", name="query_tables", arguments={"sql": sql.replace("(price", "(net_price")}),
    )
    log.tool(10.9, "prices", "q2", "product | price\nwidget | 12.10\nwidget XL | 19.80")
    log.turn(14.0, "prices", 3.0, ToolCall(id="r", name="return_result", arguments={"summary": "…"}))
    log.result(14.1, "prices", "Our widget costs 12.10 on average.")


def _terms(log: Log) -> None:
    log.start(5.5, "terms", "legal")
    log.add(
        ev.PlanProposed, 9.0, within="terms", usage=usage(800, 120, 3.3),
        plan=Plan(goal="Terms checked", subtasks=(
            part("terms/read", "Read the contract", "legal/reader"),
            part("terms/check", "Check the clauses", "legal/checker"),
        )),
        members=(Member(name="legal/reader"), Member(name="legal/checker")),
    )  # fmt: skip
    log.start(9.1, "terms/read", "legal/reader")
    log.turn(12.4, "terms/read", 3.2, ToolCall(id="r", name="return_result", arguments={"summary": "…"}))
    log.result(12.5, "terms/read", "The notice period is 30 days.")
    log.start(9.2, "terms/check", "legal/checker")
    log.turn(11.0, "terms/check", 1.7, ToolCall(id="e", name="escalate", arguments={"reason": "ambiguous_input"}))
    log.add(
        ev.Escalated, 11.1, subtask="terms/check", attempt=1, usage=log.usages["terms/check", 1], took=1.9,
        escalation=Escalation(
            reason="ambiguous_input", message="Which of the two contracts counts?", options=("2025", "2026")
        ),
    )  # fmt: skip
    log.add(ev.QuestionAnswered, 33.0, subtask="terms/check", user="UANA", text="2026", number=1)
    log.start(33.1, "terms/check", "legal/checker", attempt=2)
    log.turn(37.8, "terms/check", 4.5, ToolCall(id="r", name="return_result", arguments={"summary": "…"}), attempt=2)
    log.result(37.9, "terms/check", "Clause 4 allows a change of prices.", attempt=2)
    log.add(ev.AnswerWritten, 41.0, within="terms", text="30 days' notice; clause 4.", usage=usage(900, 60, 3.0))
    log.result(41.1, "terms", "30 days' notice; clause 4 allows a change of prices.")


def _note(log: Log) -> None:
    arguments = {"channel": "#sales", "text": "Our widget is 6 % below the market. </script><b>hello</b>"}
    call = ToolCall(id="p1", name="post_message", arguments=arguments)
    digest = compute_call_digest("post_message", arguments)
    log.start(41.3, "note", "writer")
    log.turn(45.0, "note", 3.6, call, text="I post it once that is approved.")
    approval = Approval(call="p1", tool="post_message", what="post a message to #sales", digest=digest,
                        arguments=arguments, target="#sales", why="it is seen by 40 people")  # fmt: skip
    log.add(ev.ApprovalAsked, 45.1, subtask="note", attempt=1, approval=approval)
    log.add(ev.Posted, 45.6, key=f"{R}:question:note:1", ts="1.2")
    log.add(ev.ApprovalDecided, 63.0, subtask="note", number=1, digest=digest, user="UANA", decision="approve")
    log.add(ev.ToolStarted, 63.2, subtask="note", attempt=1, call="p1", tool="post_message", digest=digest,
            what="post a message to #sales", approved_by=("UANA",))  # fmt: skip
    log.tool(64.0, "note", "p1", "Posted to #sales.")
    log.turn(66.1, "note", 2.0, ToolCall(id="r", name="return_result", arguments={"summary": "…"}))
    log.result(66.2, "note", "Sales were told.")
    log.add(
        ev.AnswerWritten,
        71.5,
        text="Our widget is 6 % below the market; sales were told.",
        usage=usage(2_400, 380, 5.1),
    )
    log.add(ev.Posted, 72.0, key=f"{R}:answer", ts="1.3")
    log.add(ev.Posted, 72.2, key=f"{R}:card_end", ts="1.1")


def long_log(steps: int = 10_000, parts: int = 60) -> list[ev.Event]:
    """Return a log of so many steps: as many specialists as a plan may have call tools again and again."""
    log = Log()
    log.begin()
    names = [f"part{number}" for number in range(parts)]
    log.plan(4.0, [part(name, f"Part {name[4:]}", f"worker{name[4:]}") for name in names])
    for name in names:
        log.start(4.2, name, f"worker{name[4:]}")
    clock = _ticks(5.0)
    rounds = (steps - len(log.events) - 2 * parts) // (2 * parts)
    for number in range(rounds):
        for name in names:
            log.turn(next(clock), name, 0.4, ToolCall(id=f"c{number}", name="lookup", arguments={"number": number}))
            log.tool(next(clock), name, f"c{number}", f"row {number} " * 30)
    for name in names:
        log.result(next(clock), name, f"{name} is done.")
    while len(log.events) < steps:
        log.add(ev.FeedbackGiven, next(clock), user="UANA", good=True)
    return log.events[:steps]


def _ticks(at: float) -> Iterator[float]:
    while True:
        yield at
        at += 0.01


def a_long_wait(seconds: float = 183_600.0) -> list[ev.Event]:
    """Return the day's log with an approval that took two days and three hours."""
    events = a_day()
    until = T0 + 62.0
    return [one.model_copy(update={"at": one.at + seconds}) if one.at > until else one for one in events]
