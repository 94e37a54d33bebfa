"""A long log as a busy thread makes it: many requests of six parts each, side by side, with turns and tool calls."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from handoff import events as ev
from handoff.contracts import Member, Place, Plan, Request, Result, Subtask, Usage
from handoff.effects import make_answer_key, make_card_end_key, make_card_key

PARTS = 6
TURNS = 9
PLACE = Place(team="T0BENCH", channel="C0BENCH", thread_ts="1000.000000")
MEMBERS = tuple(Member(name=f"specialist{n}", description="Looks things up and says what it found.") for n in range(7))
USAGE = Usage(model="a-model", calls=1, tokens_in=1200, tokens_out=110, duration=2.1)


def long_log(events: int) -> list[ev.Event]:
    """So many events. Payloads of turns and tool replies are about 500 bytes; the last request is in the middle."""
    return list(itertools.islice(_thread(), events))


def _thread() -> Iterator[ev.Event]:
    for number in itertools.count():
        yield from _request(number, 1000.0 + 60 * number)


def _request(number: int, at: float) -> Iterator[ev.Event]:
    name = f"{1000 + number}.000000"
    request = Request(id=name, user="U0BENCH", text="Compare the figures of the six parts. " * 4, at=at)
    yield ev.RequestAdded(at=at, place=PLACE, request=request)
    yield ev.Posted(at=at, request=name, key=make_card_key(name), ts=f"{at + 1:.6f}")
    subtasks = tuple(
        Subtask(
            id=f"w{part}",
            title=f"Work out part {part}",
            intent="Look up the figure of this part and say in one sentence what it means.",
            specialist=f"specialist{part}",
            done_when="The figure is stated.",
        )
        for part in range(PARTS)
    )
    plan = Plan(goal="Six parts, put together", subtasks=subtasks)
    yield ev.PlanProposed(at=at + 2, request=name, plan=plan, members=MEMBERS, usage=USAGE)
    of = [{"at": at + 3, "request": name, "subtask": subtask.id, "attempt": 1} for subtask in subtasks]
    for part, about in enumerate(of):
        yield ev.AttemptStarted.model_validate({**about, "specialist": f"specialist{part}", "tier": "balanced"})
    for turn, about in itertools.product(range(TURNS), of):
        yield from _turn(turn, about)
    for about in of:
        result = Result(summary="What it means. " * 6, content="What was found, at length. " * 22, confidence=80)
        yield ev.ResultReturned.model_validate({**about, "result": result})
    yield ev.AnswerWritten(at=at + 30, request=name, text="All six parts agree. " * 40, usage=USAGE)
    yield ev.Posted(at=at + 31, request=name, key=make_answer_key(name), ts=f"{at + 31:.6f}")
    yield ev.Posted(at=at + 31, request=name, key=make_card_end_key(name), ts=f"{at + 1:.6f}")


def _turn(turn: int, about: dict[str, Any]) -> Iterator[ev.Event]:
    call = f"call_{about['subtask']}_{turn}"
    yield ev.TurnTaken.model_validate(
        {
            **about,
            "turn": {
                "text": "I look at the figures first. " * 6,
                "calls": [{"id": call, "name": "query_table", "arguments": {"sql": "select 1 from sales"}}],
                "stop": "tool_use",
                "usage": USAGE.model_dump(mode="json"),
            },
        }
    )
    yield ev.ToolReturned.model_validate(
        {**about, "reply": {"call_id": call, "text": "region | month | 1,234,567\n" * 14}, "sources": ("sales.csv",)}
    )
