"""What a channel asks of the work in it, through the whole bot: instructions, tiers, a budget, quiet hours."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

from bot.models.model_choice import OPENAI_TIERS
from bot.settings import read_settings
from handoff import events as ev
from tests.providers.scripts import purpose_of
from tests.providers.server import ProviderServer
from tests.system.brains import Gate, Words, connect, escalation, in_turn, plan, provider, result, subtask
from tests.system.scene import Scene, block_of, extract_shown_text
from tests.system.settings_windows import change

RULE = "Amounts in EUR, and no tables."
HEADING = "# What this channel asks for"
PAIR = plan(subtask("sum", "analyst"), subtask("text", "writer"))
ALONE = plan(subtask("text", "writer"))


@asynccontextmanager
async def bot(scene: Scene, **words: Words) -> AsyncIterator[ProviderServer]:
    """A bot whose admin is ana, with a provider behind it."""
    admins = frozenset({scene.person("ana").id})
    terms = read_settings({"LEADHAND_ROLES": "planner deep"}).terms
    async with provider(**words) as server, scene.bot(connect("chat", server), admins=admins, terms=terms):
        yield server


def systems(server: ProviderServer, since: int = 0) -> dict[str, str]:
    """The system prompt of the last call of each purpose."""
    return {purpose_of(request): request.system for request in server.requests[since:]}


async def test_instructions_reach_those_who_plan_and_write_in_that_channel_alone(scene: Scene) -> None:
    slow = Gate(result("42"))
    words: dict[str, Words] = {"analyst": slow, "writer": result("The text.")}
    words["planner"] = in_turn(PAIR, PAIR, ALONE)
    async with bot(scene, **words) as server:
        await change(scene, "work", instructions=RULE)
        talk = await scene.ask("Do both", channel="#sales", who="ben")
        await slow.arrival_event.wait()
        await change(scene, "work", instructions="In French.")  # the request under way keeps what held at its start
        slow.open()
        assert (await talk.over()).latest_request.state == "completed"
        here = systems(server)
        for role in ("planner", "synthesizer"):
            assert f"{HEADING}\n" in here[role]
            assert here[role].count(RULE) == 1
            assert "In French." not in here[role]
        assert RULE not in here["specialist:analyst"] + here["specialist:writer"], "they see parts of the work"
        (known,) = await talk.of(ev.SettingKnown)
        assert known.setting.here.instructions == RULE
        assert "the channel asks for instructions of 30 characters" in extract_shown_text(
            await scene.command(f"trace {talk.key.job}")
        )

        since = len(server.requests)
        await (await scene.ask("Do both", channel="#general", who="cleo")).over()
        there = systems(server, since)
        assert HEADING not in "".join(there.values())
        for role in ("planner", "synthesizer"):
            added = here[role].partition(f"\n\n{HEADING}")[2].partition(RULE)
            assert here[role].replace(f"\n\n{HEADING}{''.join(added[:2])}", "") == there[role], "not a token more"

        since = len(server.requests)
        await (await scene.ask("Only write", channel="#sales", who="ana")).over()
        assert "In French." in systems(server, since)["specialist:writer"], "who is alone writes the answer"


async def test_no_tier_is_above_the_highest_of_the_channel(scene: Scene) -> None:
    parts = [{**subtask("sum", "analyst"), "tier": "deep"}, subtask("look", "reviewer")]
    doubts = [escalation("confidence_too_low", "I am not sure of the sum.")]
    words: dict[str, Words] = {
        "planner": plan(*parts),
        "analyst": lambda _: doubts.pop() if doubts else result("42"),
        "reviewer": result("It is fine."),
    }
    async with bot(scene, **words) as server:
        await change(scene, "work", highest_tier="balanced")
        talk = await scene.ask("Do both", channel="#sales", who="ben")
        assert (await talk.over()).latest_request.state == "completed"
        assert {request.model for request in server.requests} <= {OPENAI_TIERS["fast"], OPENAI_TIERS["balanced"]}
        started = await talk.of(ev.AttemptStarted)
        assert {event.tier for event in started} == {"balanced"}, "also after a doubt"
        assert len(started) > len(parts)
        since = len(server.requests)
        await (await scene.ask("Do both", who="cleo")).over()
        models = {purpose_of(request): request.model for request in server.requests[since:]}
        assert models["planner"] == models["specialist:reviewer"] == OPENAI_TIERS["deep"], "elsewhere as ever"


async def test_the_budget_of_one_channel_ends_there_and_an_admin_allows_more(scene: Scene) -> None:
    words: dict[str, Words] = {
        "planner": ALONE,
        "writer": replace(result("The text."), tokens_out=5_000),
    }
    ana, ben = scene.person("ana"), scene.person("ben")
    async with bot(scene, **words):
        await change(scene, "work", budget="2k tokens")
        await (await scene.ask("Write it", channel="#sales", who="ben")).over()
        assert "Budget of this channel today: " in extract_shown_text(
            await scene.command("status", who="ben", channel="#sales")
        )
        assert "Budget of this channel" not in extract_shown_text(await scene.command("status", who="ben"))
        before = len(ben.ephemerals("#sales"))
        await scene.ask("Write more", channel="#sales", who="ben")
        told = (await scene.workspace.until(lambda: ben.ephemerals("#sales")[before:]))[-1]
        assert "budget for today of this channel (2,000 tokens) is used up" in extract_shown_text(told)
        assert "`/leadhand settings`" in extract_shown_text(told)
        await (await scene.ask("Write elsewhere", channel="#general", who="ben")).over()
        ask = block_of(told, "actions")["elements"][0]  # type: ignore[index]
        await ben.click("#sales", told["ts"], ask["action_id"], ask["value"])
        direct = ana.find_channel("@leadhand").id
        (wanted,) = await scene.workspace.until(lambda: scene.workspace.messages(direct))
        allow = block_of(wanted, "actions")["elements"][0]  # type: ignore[index]
        await ana.click("@leadhand", wanted["ts"], allow["action_id"], allow["value"])
        await scene.workspace.until(
            lambda: "is now 4,000 tokens" in extract_shown_text(scene.workspace.messages(direct)[0])
        )
        await change(scene, "work", budget="off")
        assert (
            await (await scene.ask("Write again", channel="#sales", who="ben")).over()
        ).latest_request.state == "completed"
    lines = [json.loads(line) async for line in scene.store.audit.read()]
    noted = [one["target"] for one in lines if one["deed"] == "configured"]
    assert noted == ["budget", "budget channel", "budget"]


async def test_in_quiet_hours_only_what_mentions_the_bot_is_served(scene: Scene) -> None:
    words: dict[str, Words] = {"planner": ALONE, "writer": result("The text.")}
    async with bot(scene, **words):
        hour = datetime.fromtimestamp(scene.store.clock(), UTC).hour
        await change(scene, "times", quiet_hours=f"{(hour - 1) % 24}-{(hour + 2) % 24}", zone="UTC")
        talk = await scene.ask("Write it", channel="#sales", who="ben")
        await talk.over()
        await talk.say("and once more, shorter please", who="ben")
        await talk.say("@leadhand and once more, longer", who="ben")
        job = await talk.over(2)
        assert [request.spec.text for request in job.requests] == ["Write it", "and once more, longer"]
        assert await talk.of(ev.MessageHeard) == []
        await change(scene, "times", quiet_hours="off", zone="UTC")
        await talk.say("shorter", who="ben")
        await talk.until(lambda job: len(job.requests) == 3)
