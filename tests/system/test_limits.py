"""Breakers, rates and budgets through the whole bot, shared by instances on one store."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

from bot.limits.limit_rules import LimitRules, Payer, SpendingBudget
from bot.store.counters import Counter
from handoff import events as ev
from handoff.engine.answer import list_answer_gaps
from handoff.text.counts import format_short_number
from specialists.turns import finish_tools
from tests.patience import eventually
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import bot_with_provider, connect, plan, provider, purposes, result, subtask, tool_call
from tests.system.scene import Scene, block_of, extract_shown_text

ONE = plan(subtask("sum", "analyst", intent="Add up the two numbers of the request: 19 and 23."))
PAIR = plan(subtask("sum", "analyst"), subtask("text", "writer"))
SUM = replace(tool_call("calculate", expression="19 + 23"), tokens_out=5_000)
FAILS = Fault("bad_request")
WRITES = result("The text.")
PLACES = [("ana", "@leadhand"), ("ben", "@leadhand"), ("cleo", "@leadhand"), ("ana", "#general"), ("ben", "#sales")]
"""Who asks where: Slack takes one message a second in each place."""
GAP = "the requester's budget for today"


async def test_instances_share_the_breaker_of_a_specialist_whose_model_always_fails(scene: Scene) -> None:
    async with provider(planner=PAIR, analyst=FAILS, writer=WRITES) as server:
        async with scene.bot(connect("chat", server)) as one, scene.bot(connect("chat", server)) as two:
            for number, (who, channel) in enumerate(PLACES):
                talk = await scene.ask(f"Do thing {number}", who=who, channel=channel)
                assert (await talk.over()).latest_request.state == "completed"
                if number == 1:
                    one.instance.begin_stop()  # from now on the other works
            assert purposes(server).count("specialist:analyst") == 3, "three in a row, whoever made them"
            assert two.store.counters.recall_breaker("specialist:analyst").failures == 3
            assert "paused for another" in extract_shown_text(await scene.command("status"))
        (refused,) = await talk.of(ev.AttemptFailed)
        assert (refused.kind, refused.failed_calls) == ("unavailable", 0)
        assert "specialist analyst is paused" in talk.join_bot_texts(), "the gap is named"


async def test_a_budget_reached_in_the_middle_of_a_job_gives_one_last_call_without_tools(scene: Scene) -> None:
    rules = LimitRules(budgets={"person": SpendingBudget(tokens=5_000)})
    offered: list[set[str]] = []

    def analyst(request: WireRequest) -> object:
        offered.append({tool.name for tool in request.tools})
        return SUM if len(offered) == 1 else result("19 + 23 = 42")

    async with (
        provider(planner=ONE, analyst=analyst) as server,  # type: ignore[arg-type]
        scene.bot(connect("chat", server), rules=rules),
    ):
        talk = await scene.ask("Add 19 and 23")
        job = await talk.over()
        assert job.latest_request.state == "completed"
        assert "42" in talk.join_bot_texts()
        assert offered[1] == {spec.name for spec in finish_tools.FINISH_SPECS} < offered[0]
        assert any(GAP in gap for gap in list_answer_gaps(job.latest_request, job.latest_request.run))

        before = len(server.requests)
        await scene.ask("And now 20 and 24")
        person = scene.person("ana")
        told = await scene.workspace.until(lambda: person.ephemerals("#general"))
        assert len(told) == 1
        assert "is used up" in extract_shown_text(told[0])
        assert "LEADHAND_BUDGET_PERSON" in extract_shown_text(told[0])
        await scene.barrier()
        other = await scene.ask("Add 1 and 2", who="cleo")
        assert (await other.over()).latest_request.state == "completed", "it is hers, not everybody's"
        assert len(server.requests) > before
        asked = await scene.command("status")
        assert "Your budget today:" in extract_shown_text(asked)
        assert "tokens used." in extract_shown_text(asked)
        traced = await scene.command(f"trace {talk.key.job}")
        assert "tokens used." in extract_shown_text(traced)
        assert len(person.ephemerals("#general")) == 3, "she was told once"


async def test_at_the_cap_a_person_asks_the_admins_and_one_of_them_allows_more(scene: Scene) -> None:
    rules = LimitRules(budgets={"person": SpendingBudget(tokens=1)})
    ana, ben, cleo = (scene.person(name) for name in ("ana", "ben", "cleo"))
    admins = frozenset({ben.id})
    async with (
        provider(planner=ONE, analyst=result("42")) as server,
        scene.bot(connect("chat", server), rules=rules, admins=admins),
    ):
        await (await scene.ask("Add 1 and 2")).over()
        await scene.ask("And now 20 and 24")
        told = await scene.workspace.until(lambda: ana.ephemerals("#general"))
        ask = block_of(told[-1], "actions")["elements"][0]  # type: ignore[index]
        for _ in range(2):
            await ana.click("#general", told[-1]["ts"], ask["action_id"], ask["value"])

        def list_dm_messages() -> list[dict[str, Any]]:
            return scene.workspace.messages(ben.find_channel("@leadhand").id)

        (wanted,) = await scene.workspace.until(list_dm_messages)
        assert "asks for more" in extract_shown_text(wanted)
        allow = block_of(wanted, "actions")["elements"][0]  # type: ignore[index]
        for _ in range(2):
            await ben.click("@leadhand", wanted["ts"], allow["action_id"], allow["value"])
        await scene.workspace.until(
            lambda: "allowed it" in extract_shown_text(scene.workspace.messages(ben.find_channel("@leadhand").id)[0])
        )
        assert "is now 2 tokens" in extract_shown_text(scene.workspace.messages(ben.find_channel("@leadhand").id)[0]), (
            "twice clicked is once raised"
        )

        def words() -> list[str]:
            return [extract_shown_text(each) for each in ana.ephemerals("#general")]

        await scene.workspace.until(lambda: any("An admin allowed more" in each for each in words()))
        assert sum("I asked the admins" in each for each in words()) == 1
        assert sum("within the last hour" in each for each in words()) == 1
        assert cleo.ephemerals("#general") == []
    lines = [json.loads(line) async for line in scene.store.audit.read()]
    raised = [(one["user"], one["target"]) for one in lines if one["deed"] == "configured"]
    assert raised == [(ben.id, "budget person")], "and once recorded"


async def test_what_was_taken_is_counted_for_all_who_pay(scene: Scene) -> None:
    everything = SpendingBudget(tokens=1_000_000, micro_dollars=5_000_000)
    rules = LimitRules(budgets=dict.fromkeys(("job", "person", "channel", "day"), everything), max_concurrent=3)
    async with (
        provider(planner=PAIR, analyst=result("42"), writer=WRITES) as server,
        scene.bot(connect("chat", server), rules=rules) as app,
    ):
        talk = await scene.ask("Do it")
        job = await talk.over()
        usage = job.latest_request.usage
        payer = Payer(talk.key.team, talk.channel, scene.person("ana").id, job.id)
        names = [f"job:{payer.team}/{job.id}", f"person:{payer.team}/{payer.user}"]
        names += [f"channel:{payer.team}/{payer.channel}", f"day:{payer.team}/all"]
        counters = [Counter(f"{name}:tokens", "life" if name[0] == "j" else "day", 1) for name in names]
        taken = usage.tokens_in + usage.tokens_out

        async def is_settled() -> bool:
            return await app.store.counters.read_spending(counters) == [taken] * 4

        assert await eventually(is_settled)
        asked = await scene.command(f"status {job.id}")
        assert f"Budget of this job: {format_short_number(taken)} of 1M tokens used." in extract_shown_text(asked)
        direct = json.dumps(asked)
        assert direct.count(" used.") >= 4


async def test_nothing_is_asked_of_the_store_where_no_limit_is_set(scene: Scene) -> None:
    async with (
        provider(planner=PAIR, analyst=result("42"), writer=WRITES) as server,
        scene.bot(connect("chat", server)),
    ):
        await (await scene.ask("Do it")).over()
    found = await scene.store._server.run_command("KEYS", f"{scene.prefix}:{{limits}}:*")  # type: ignore[attr-defined]
    lanes = tuple(f"{scene.prefix}:{{limits}}:{kind}:".encode() for kind in ("turns", "askers", "held"))
    others = [name for name in found if not name.startswith(lanes) and b"month:" not in name]
    assert others == [], "but for sums of months, and Slack's limits"


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

    async with bot_with_provider(scene, planner=MANY, writer=writer) as server:
        talk = await scene.ask("Write four parts")
        job = await talk.over()
    assert job.latest_request.state == "completed"
    assert list_answer_gaps(job.latest_request, job.latest_request.run) == ()
    assert purposes(server).count("specialist:writer") == 8
    assert len(await talk.of(ev.AttemptFailed)) == 4, "the rest itself is no failure"
    assert {subtask.specialist for subtask in job.latest_request.subtasks.values()} == {"writer"}, "and nobody steps in"


async def test_what_an_instance_took_before_another_went_on_is_counted_once(scene: Scene) -> None:
    rules = LimitRules(budgets={"job": SpendingBudget(tokens=1_000_000)})
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

    async with provider(planner=one, analyst=analyst) as server:
        async with scene.bot(connect("chat", server), rules=rules):
            talk = await scene.ask("Add 19 and 23")
            await reached.wait()
        async with scene.bot(connect("chat", server), rules=rules, later=30.0):
            usage = (await talk.over()).latest_request.usage
        again = server.requests[-1]
    (spent,) = await scene.store.counters.read_spending(
        [Counter(f"job:{talk.key.team}/{talk.key.job}:tokens", "life", 1)]
    )
    cut_off = spent - usage.tokens_in - usage.tokens_out
    assert calls == 3
    assert 500 < cut_off < 600 + 1.5 * again.prompt_tokens, (
        "of the call that was cut off its estimate stands, and no more"
    )
