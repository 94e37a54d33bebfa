"""Limits that are reached when work has begun: what is waited for, what is saved, and what it costs."""

from __future__ import annotations

import asyncio

from bot.limits.breakers import RULES
from bot.limits.rules import Rules, SpendingBudget
from bot.store.counters import Counter
from handoff import events as ev
from handoff.engine.answer import gaps, missing
from specialists.turns import finish_tools
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import Words, connect, plan, played, provider, purposes, result, subtask, tool_call
from tests.system.scene import Scene

MANY = plan(*(subtask(f"part{n}", "writer") for n in range(4)))


async def test_a_rest_that_the_provider_asks_for_costs_no_part_of_the_work(scene: Scene) -> None:
    refused = 0
    all_there = asyncio.Event()

    async def writer(_: WireRequest) -> Reply | Fault:
        nonlocal refused
        if refused < 4:
            refused += 1
            if refused == 4:
                all_there.set()
            await all_there.wait()
            return Fault("rate_limited", retry_after="1")
        await asyncio.sleep(0.3)  # long enough for all others to come while one tries whether it works again
        return result("It is written.")

    async with played(scene, planner=lambda _: MANY, writer=writer) as server:
        talk = await scene.ask("Write four parts")
        job = await talk.over()
    assert job.latest.state == "completed"
    assert gaps(job.latest, job.latest.run) == ()
    assert purposes(server).count("specialist:writer") == 8
    assert len(await talk.of(ev.AttemptFailed)) == 4, "the rest itself is no failure"
    assert {work.specialist for work in job.latest.work.values()} == {"writer"}, "and nobody steps in"


async def test_a_specialist_that_is_down_costs_three_failed_calls_however_many_parts_it_has(scene: Scene) -> None:
    parts = ("one", "two", "three", "four")
    three = (subtask(name, "analyst") for name in parts[:3])
    four = plan(*three, subtask("four", "analyst", after=["one"]), subtask("text", "writer"))
    words: dict[str, Words] = {"analyst": lambda _: Fault("bad_request"), "writer": lambda _: result("The text.")}
    async with played(scene, planner=lambda _: four, **words) as server:
        job = await (await scene.ask("Do it")).over()
    assert job.latest.state == "completed"
    assert purposes(server).count("specialist:analyst") == 3
    assert len(missing(job.latest, job.latest.run)) == len(parts)


async def test_a_breaker_that_opens_in_the_middle_gives_one_last_call_without_tools(scene: Scene) -> None:
    offered: list[set[str]] = []
    one = plan(subtask("sum", "analyst", intent="Add up the two numbers of the request: 19 and 23."))

    async def analyst(request: WireRequest) -> Reply:
        offered.append({tool.name for tool in request.tools})
        if len(offered) > 1:
            return result("19 + 23 = 42")
        for number in range(3):  # as by other jobs
            await app.store.counters.breaker_failed("specialist:analyst", f"f{number}", RULES["specialist"])
        return tool_call("calculate", code="19 + 23")

    async with (
        provider(planner=lambda _: one, analyst=analyst) as server,
        scene.bot(connect("chat", server)) as app,
    ):
        talk = await scene.ask("Add 19 and 23")
        job = await talk.over()
    assert job.latest.state == "completed"
    assert offered[1:] == [{spec.name for spec in finish_tools.SPECS}]
    assert "42" in talk.said()
    assert any("Stopped at the pause of specialist analyst" in gap for gap in gaps(job.latest, job.latest.run))


async def test_what_an_instance_took_before_another_went_on_is_counted_once(scene: Scene) -> None:
    rules = Rules(budgets={"job": SpendingBudget(tokens=1_000_000)})
    reached, never = asyncio.Event(), asyncio.Event()
    one = plan(subtask("sum", "analyst", intent="Add up the two numbers of the request: 19 and 23."))
    calls = 0

    async def analyst(_: WireRequest) -> Reply:
        nonlocal calls
        calls += 1
        if calls == 1:
            return tool_call("calculate", code="19 + 23")
        if calls == 2:
            reached.set()
            await never.wait()
        return result("19 + 23 = 42")

    async with provider(planner=lambda _: one, analyst=analyst) as server:
        async with scene.bot(connect("chat", server), rules=rules):
            talk = await scene.ask("Add 19 and 23")
            await reached.wait()
        async with scene.bot(connect("chat", server), rules=rules, later=30.0):
            usage = (await talk.over()).latest.usage
        again = server.requests[-1]
    (spent,) = await scene.store.counters.read_spending(
        [Counter(f"job:{talk.key.team}/{talk.key.job}:tokens", "life", 1)]
    )
    cut_off = spent - usage.tokens_in - usage.tokens_out
    assert calls == 3
    assert 500 < cut_off < 600 + 1.5 * again.prompt_tokens, (
        "of the call that was cut off its estimate stands, and no more"
    )
