"""A request after `/leadhand`: a message stands for it in the channel, and the job runs in its thread, once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_bolt.request.async_request import AsyncBoltRequest

from bot.app import App
from bot.features.requests.typed_requests import ABSENT_TEXT, POSTED_TEXT
from bot.limits.limit_rules import LimitRules, SpendingBudget
from bot.slack.show import notices
from tests.system.brains import connect, plan, provider, result, subtask
from tests.system.scene import Json, Scene, Talk, buttons, extract_shown_text, scene_on
from tests.system.test_forget import everything, forget, receipt

REQUEST_TEXT = "Why did ZANZIBAR churn rise\nin *March* & <#{general}> for @ben? See https://example.com/a?b=1&c=2"


@pytest.fixture
async def scene(server_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setattr("bot.features.erasure.service.LAST_CALL_SECONDS", 0.3)
    monkeypatch.setattr("bot.features.erasure.service.POLL_SECONDS", 0.1)
    async with scene_on(server_url) as made:
        yield made


def lines(scene: Scene, channel: str = "#general") -> list[Json]:
    """Our messages at the top of a channel."""
    bot = scene.workspace.bot_user_id
    tops = [one for one in scene.workspace.messages(channel) if one.get("thread_ts", one["ts"]) == one["ts"]]
    return [one for one in tops if one["user"] == bot and " asks:" in json.dumps(one)]


async def thread(scene: Scene, channel: str = "#general") -> Talk:
    """The thread of the newest line, once it is there."""
    line = (await scene.workspace.until(lambda: lines(scene, channel)))[-1]
    return Talk(scene, scene.workspace.channel_id(channel), line["ts"])


def brain() -> dict[str, Any]:
    return {
        "planner": lambda _: plan(subtask("a", "writer", intent="Say why")),
        "writer": lambda _: result("It rose by itself."),
    }


def payload(scene: Scene, text: str, trigger: str) -> dict[str, str]:
    """What Slack sends for a command in #general."""
    ana, channel = scene.person().id, scene.workspace.channel_id("#general")
    of = {"team_id": scene.workspace.team_id, "user_id": ana, "channel_id": channel, "trigger_id": trigger}
    return {**of, "command": "/leadhand", "text": text, "api_app_id": "A1", "is_enterprise_install": "false"}


async def deliver(app: App, body: dict[str, str]) -> str:
    """Have the bot take a payload, and give what it answers."""
    answer = await app.bolt.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=body))
    assert answer.status == 200
    return answer.body if isinstance(answer.body, str) else json.dumps(answer.body)


async def test_it_is_asked_by_a_message_and_answered_in_its_thread(scene: Scene) -> None:
    async with provider(**brain()) as server, scene.bot(connect("chat", server)):
        told = await scene.command(REQUEST_TEXT.format(general=scene.workspace.channel_id("#general")))
        assert told["text"] == POSTED_TEXT
        talk = await thread(scene)
        job = await talk.over()
        (line,) = lines(scene)
        assert f"<@{scene.person().id}> asks:" in extract_shown_text(line)
        words = "Why did ZANZIBAR churn rise\nin *March* & #general for @{}? See https://example.com/a?b=1&c=2"
        assert words.format("Ben Okafor") in extract_shown_text(line), "every word, as it was typed"
        assert f"<@{scene.person('ben').id}>" not in json.dumps(line), "nobody but who asks is pinged"
        (request,) = job.requests
        ben = scene.person("ben").id
        assert request.spec.text == words.format(ben)
        assert (request.spec.user, request.spec.id, job.place.thread_ts) == (scene.person().id, talk.ts, talk.ts)
        assert "It rose by itself." in talk.join_bot_texts()
        listed = await scene.command("jobs")
        assert "Your jobs: 1" in listed["text"], "what opened the thread is none of them"
        assert talk.key.job in extract_shown_text(listed)
        await forget(scene, talk.key.job)
        await receipt(scene)
        assert lines(scene) == [], "the message holds the person's words, and goes with the job"
        assert b"ZANZIBAR" not in await everything(scene)


async def test_what_slack_sends_again_starts_one_job(scene: Scene) -> None:
    scene.workspace.faults.add("chat.postMessage", "lost_reply", times=1)
    async with scene.bot() as app:
        body = payload(scene, "what can you do?", "1.2.3")
        assert all(POSTED_TEXT in one for one in await asyncio.gather(deliver(app, body), deliver(app, body)))
        talk = await thread(scene)
        await talk.over()
        assert POSTED_TEXT in await deliver(app, body)
        other = await scene.command("what can you not do?")
        assert other["text"] == POSTED_TEXT
        await scene.workspace.until(lambda: len(lines(scene)) == 2)
        await (await thread(scene)).over()
        await scene.barrier()
        assert len(lines(scene)) == 2


async def test_the_next_instance_opens_the_thread_of_what_was_acknowledged(scene: Scene) -> None:
    scene.workspace.faults.add("chat.postMessage", "server_error_before", times=50)
    async with scene.bot() as app:
        assert POSTED_TEXT in await deliver(app, payload(scene, "what can you do?", "1.2.3"))
    assert lines(scene) == []
    scene.workspace.faults.clear()
    async with scene.bot(later=60.0):
        await (await thread(scene)).over()
        assert len(lines(scene)) == 1


async def test_where_the_bot_is_not_it_says_what_to_do_and_keeps_the_words(scene: Scene) -> None:
    async with scene.bot():
        ana = scene.person()
        await ana.kick("#sales")
        told = await scene.command("Why did churn rise?", channel="#sales")
        assert extract_shown_text(told) == f"{ABSENT_TEXT}\nWhy did churn rise?"
        assert lines(scene, "#sales") == []
        direct = await scene.command("what can you do?", channel=ana.dm)
        assert direct["text"] == POSTED_TEXT
        await (await thread(scene, ana.dm)).over()


async def test_a_store_that_does_not_answer_loses_no_word(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scene.bot() as app:
        monkeypatch.setattr(notices, "ACK_SECONDS", 0.0)
        answer = await deliver(app, payload(scene, "Why did churn rise?", "1.2.3"))
        assert notices.NOT_RECORDED in answer
        assert "Why did churn rise?" in answer
        assert lines(scene) == []


async def test_a_budget_that_is_used_up_is_told_and_can_be_raised(scene: Scene) -> None:
    ben, rules = scene.person("ben"), LimitRules(budgets={"person": SpendingBudget(tokens=1)})
    async with scene.bot(rules=rules, admins=frozenset({ben.id})):
        await scene.command("what can you do?")
        await (await thread(scene)).over()
        told = await scene.command("and once more?")
        assert "LEADHAND_BUDGET_PERSON" in extract_shown_text(told)
        assert "and once more?" in extract_shown_text(told), "nothing that was typed is lost"
        assert "Ask an admin for more" in buttons(told)
        await scene.barrier()
        assert len(lines(scene)) == 1
