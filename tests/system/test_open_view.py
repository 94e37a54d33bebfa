"""“Summarise this” in a direct message: what its author has open is read with their rights, and kept nowhere else."""

from __future__ import annotations

import logging

import pytest

from bot.access.access_values import ChannelValues
from bot.features.home import prompts
from bot.features.requests.referent import ATTACH_CANVAS_TEXT
from bot.slack.show.admission import INVITE_ADVICE
from bot.slack.views.home import USUAL_PROMPTS
from handoff import events as ev
from handoff.contracts import Audience, ChannelSpan, Material
from tests.patience import patience
from tests.store.kit import read_entries
from tests.system.brains import bot_with_provider, in_turn, plan, result, subtask
from tests.system.scene import Scene, Talk, eventually

DIRECT = "@leadhand"
NO_CHANNEL = f"I cannot read that channel: either I am not in it, or you are not. {INVITE_ADVICE}"


async def ask_until_end(scene: Scene, text: str, who: str = "ana") -> Talk:
    """Write at the top of the direct message, and wait for the end of that."""
    talk = await scene.ask(text, who=who, channel=DIRECT)
    await talk.over()
    return talk


async def materials(talk: Talk) -> tuple[Material, ...]:
    """What was read for a request."""
    return tuple(one for gathered in await talk.of(ev.MaterialGathered) for one in gathered.materials)


async def text_of(talk: Talk, material: Material) -> str:
    return (await talk.scene.store.blobs.get(talk.key, material.text)).decode()


async def reads(talk: Talk) -> tuple[ChannelSpan, ...]:
    """What the request says that is to be read."""
    (added,) = await talk.of(ev.RequestAdded)
    return added.request.reads


async def list_keys_with(scene: Scene, text: str) -> list[bytes]:
    """List the keys of the store that have a text in their name or in anything that they hold."""
    names = await scene.store._server.run_command("KEYS", f"{scene.prefix}:*")
    return [name for name in names if text in f"{name!r} {await read_entries(scene.store, name)}"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Summarise this channel", "Read: #sales (2 messages)"),
        ("これを要約して", "読んだもの: #sales (メッセージ2件)"),
    ],
)
async def test_this_is_the_channel_that_is_open(scene: Scene, text: str, count: str) -> None:
    planner, specialist = in_turn(plan(subtask("a", "writer"))), in_turn(result("40 chairs."))
    async with bot_with_provider(scene, is_verified=False, planner=planner, specialist=specialist):
        await scene.person("ben").say("#sales", "Nordwind ordered 40 chairs.")
        await scene.person("cleo").say("#sales", "Acme ordered none.")
        await scene.person().look_at("#sales")
        talk = await ask_until_end(scene, text)
        assert count in talk.join_bot_texts()
        assert "in #sales" in talk.join_bot_texts(), "the line at the end says where the messages are from"
    (material,) = await materials(talk)
    read = await text_of(talk, material)
    assert read.startswith("(What was said in #sales in the last 7 days, the oldest first.")
    assert "Ben Okafor: Nordwind ordered 40 chairs." in read
    assert material.audience == Audience(channel=scene.workspace.channel_id("#sales"), kind="public")


async def test_this_thread_is_read_with_its_files_and_what_the_bot_said_in_it(scene: Scene) -> None:
    async with scene.bot():
        before = await scene.person("ben").say("#leads", "Something else.")
        asked = await scene.ask("Name the capital of Norway", who="ben", channel="#leads")
        await asked.over()
        await asked.say("Who owns the offer?", who="ben", files=[("offer.md", b"# Offer\n\nForty chairs.")])
        for ts in (asked.ts, scene.workspace.thread("#leads", asked.ts)[-1]["ts"]):
            await scene.person().look_at("#leads", ts)
            talk = await ask_until_end(scene, "¿Qué se decidió en este hilo?")
            thread, offer = await materials(talk)
            read = await text_of(talk, thread)
            assert read.startswith("(What was said in #leads (thread), the oldest first.")
            assert "Name the capital of Norway" in read
            assert "leadhand (app): " in read
            assert "Who owns the offer?" in read
            assert "Something else." not in read
            assert "Forty chairs." in await text_of(talk, offer)
            private = Audience(channel=scene.workspace.channel_id("#leads"), kind="private")
            assert {thread.audience, offer.audience} == {private}
        await scene.person().look_at("#leads", before)
        channel = await ask_until_end(scene, "Summarise this channel")
        assert (await materials(channel))[0].name == "#leads", "the channel of an open thread can be meant, too"


async def test_who_may_not_read_it_is_told_what_to_do_and_no_private_name(scene: Scene) -> None:
    ana, gus, uma = (scene.person(name) for name in ("ana", "gus", "uma"))
    async with scene.bot(access=ChannelValues(guests=True)):
        await scene.person("ben").kick("#sales")
        await scene.person("ben").kick("#leads")
        await ana.look_at("#sales")
        talk = await ask_until_end(scene, "Riassumi questo")
        assert f"I am not in #sales, so I cannot read it. {INVITE_ADVICE}" in talk.join_bot_texts()
        await ana.look_at("#leads")
        talk = await ask_until_end(scene, "Vat dit samen")
        assert NO_CHANNEL in talk.join_bot_texts()
        assert "leads" not in talk.join_bot_texts()
        await scene.person("ben").invite("#sales")
        await uma.look_at("#sales")
        uma.entities = [{**one, "value": scene.workspace.channel_id("#general")} for one in uma.entities]
        talk = await ask_until_end(scene, "Podsumuj to", who="uma")
        assert NO_CHANNEL in talk.join_bot_texts(), "a guest reads only where they are a member"
        assert "general" not in talk.join_bot_texts()
        await gus.look_at("#sales")
        talk = await ask_until_end(scene, "总结一下这个", who="gus")
        assert len(await reads(talk)) == 1, "a guest reads where they are one"


async def test_a_member_who_left_before_it_is_read_gets_nothing_of_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene.bot():
        await scene.person("ben").say("#leads", "A secret of ours.")
        await scene.person().look_at("#leads")
        with monkeypatch.context() as slow:
            slow.setattr("bot.features.requests.referent.LOOKUP_SECONDS", 0.0)  # nothing is known at the request
            channel = scene.workspace._world.state.find_channel("#leads")
            assert channel is not None
            channel.members.remove(scene.person().id)
            talk = await ask_until_end(scene, "Summarise this channel")
        assert len(await reads(talk)) == 1
        assert [one.fault for one in await materials(talk)] == [NO_CHANNEL]
        assert "secret" not in str(await talk.events())


async def test_a_canvas_is_read_if_it_is_where_its_reader_may_read_it(scene: Scene) -> None:
    ana, cleo = scene.person("ana"), scene.person("cleo")
    async with scene.bot():
        ts = await scene.person("ben").say("#leads", "Our plan", canvases=[("Plan", "# Plan\n\nForty chairs.")])
        canvas = scene.workspace.thread("#leads", ts)[0]["files"][0]["id"]
        await ana.look_at(canvas=canvas)
        talk = await ask_until_end(scene, "Resuma este documento")
        (plan_read,) = await materials(talk)
        assert (plan_read.name, plan_read.file_id) == ("Plan", canvas)
        assert "Forty chairs." in await text_of(talk, plan_read)
        await cleo.look_at(canvas=canvas)
        talk = await ask_until_end(scene, "Summarise this canvas", who="cleo")
        assert ATTACH_CANVAS_TEXT in talk.join_bot_texts()
        assert await talk.of(ev.MaterialGathered) == []


async def test_prompts_follow_what_is_open_and_only_if_they_change(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompts, "PROMPT_PAUSE_SECONDS", min(prompts.PROMPT_PAUSE_SECONDS, patience(0.5)))
    ana, workspace, usual = scene.person(), scene.workspace, [title for title, _ in USUAL_PROMPTS]

    def titles() -> list[str]:
        return [one["title"] for one in workspace.prompts(ana.dm)]

    async def are(*about: str) -> None:
        expected = [*about, *usual][:4]
        await workspace.until(lambda: titles() == expected, timeout=patience(60))

    def about(kind: str) -> tuple[str, str]:
        return f"Summarise this {kind}", f"List the decisions and open questions in this {kind}"

    await ana.kick("#northwind")
    async with scene.bot():
        ts = await scene.person("ben").say("#sales", "Nordwind ordered 40 chairs.")
        await ana.look_at("#sales")
        await are(*about("channel"))
        calls = workspace.call_count("assistant.threads.setSuggestedPrompts")
        await ana.look_at("#general")
        await ana.look_at("#leads")
        await ana.look_at("#sales", ts)
        await are(*about("thread"))
        assert workspace.call_count("assistant.threads.setSuggestedPrompts") == calls + 1, "those between are left out"
        await ana.look_at("#northwind")
        await are()  # the bot is not there, so it offers nothing that it could not do
        await ana.look_at("#sales")
        await are(*about("channel"))
        await ana.look_at()
        await are()
        calls = workspace.call_count("assistant.threads.setSuggestedPrompts")
        await ana.open_home("messages")
        await workspace.until(lambda: workspace.call_count("assistant.threads.setSuggestedPrompts") == calls + 1)
        shown = str([call.args for call in workspace.calls("assistant.threads.setSuggestedPrompts")])
        assert not any(name in shown for name in workspace.channels()), "no prompt names a channel"


async def test_what_is_open_is_written_nowhere_unless_a_request_points_at_it(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    ana, workspace = scene.person(), scene.workspace
    ids = workspace.channel_id("#leads"), workspace.channel_id("#sales")
    with caplog.at_level(logging.DEBUG, logger="bot"):
        async with scene.bot():
            ts = await scene.person("ben").say("#leads", "A secret of ours.")
            for thread in (None, ts):
                await ana.look_at("#leads", thread)
                await ana.open_home("messages")
                await ana.open_home()
                await ask_until_end(scene, "What can a rehearsal do?")
            await ana.look_at("#sales")
            await eventually(lambda: _is_prompted(scene))
            for secret in (ids[0], ts, ids[1]):
                assert await list_keys_with(scene, secret) == [], secret
                assert secret not in caplog.text, secret
            talk = await ask_until_end(scene, "Summarise this channel")
            assert await list_keys_with(scene, ids[1]) != [], (
                "then it is part of the request, and this test can find it"
            )
            assert await list_keys_with(scene, ids[0]) == []
    assert (await reads(talk))[0].channel == ids[1]


async def _is_prompted(scene: Scene) -> bool:
    shown = scene.workspace.prompts(scene.person().dm)
    return any(one["title"] == "Summarise this channel" for one in shown)
