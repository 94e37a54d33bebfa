"""A message to another channel or person: shown as what it is, sent once, and never across places unasked."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from handoff import events as ev
from specialists.tools.messages import message_tools
from specialists.turns import tool_calls
from tests.system.brains import tool_call
from tests.system.desk import Desk, decide_on_card, open_window, wait_for_card
from tests.system.scene import Scene, Talk, extract_shown_text

NOTE = "The nightly export is **late**.\n\nWe look into it, @channel."


class MessageDesk(Desk):
    """A clerk who sends messages."""

    def serve_calls(self, *calls: dict[str, object]) -> AbstractAsyncContextManager[None]:
        return self.serve(*(tool_call("send_message", **call) for call in calls))

    async def ask(self, channel: str = "#general") -> Talk:
        return await self.scene.ask("Tell sales that the export is late", channel=channel)


@pytest.fixture
def desk(scene: Scene, tmp_path: Path) -> MessageDesk:
    return MessageDesk(scene, tmp_path, *message_tools.tools())


async def test_an_approved_message_is_posted_once_where_the_card_says(desk: MessageDesk) -> None:
    sales = desk.scene.workspace.channel_id("#sales")
    async with desk.serve_calls({"to": "sales", "text": NOTE}), desk.bot():
        talk = await desk.ask()
        message = await wait_for_card(talk)
        text = extract_shown_text(message)
        assert f"*To:* <#{sales}>" in text
        assert "#sales is a public channel" in text
        assert "everybody in the workspace may read it" in text
        assert "We look into it, @channel." in text
        assert desk.list_posts("#sales") == []
        await decide_on_card(talk, message)
        await talk.over()
    (posted,) = desk.list_posts("#sales")
    assert "The nightly export is **late**." in extract_shown_text(posted)
    assert "<!channel>" not in str(posted["blocks"])
    assert "Sent for Ana Duarte" in extract_shown_text(posted)
    assert f"Sent to #sales ({sales})." in talk.join_bot_texts()
    link = f"/archives/{sales}/p{posted['ts'].replace('.', '')}"
    (done,) = [line for line in talk.join_bot_texts().splitlines() if line.startswith("Done: ")]
    assert link in done, "the receipt leads to it"
    assert not any(link in line for line in talk.join_bot_texts().splitlines() if line.startswith("Sources"))
    audit = [json.loads(line) async for line in desk.scene.store.audit.read()]
    told = [(one["deed"], one["user"], one["target"]) for one in audit if one["deed"] in {"approved", "wrote"}]
    ana = desk.scene.person().id
    assert sorted(told) == [("approved", ana, "send_message"), ("wrote", ana, "send_message")]


@pytest.mark.parametrize("is_draft", [False, True])
async def test_a_bot_that_died_while_it_sent_leaves_one_message_and_a_draft_is_for_who_asked_alone(
    desk: MessageDesk, monkeypatch: pytest.MonkeyPatch, *, is_draft: bool
) -> None:
    monkeypatch.setattr(tool_calls, "GRACE_SECONDS", 0.01)
    sales, place = desk.scene.workspace.channel_id("#sales"), desk.scene.person().dm if is_draft else "#sales"
    async with desk.serve_calls({"to": "#sales", "text": NOTE, "draft": is_draft}):
        async with desk.bot():
            talk = await desk.ask()
            message = await wait_for_card(talk)
            for_requester = "It is a draft for #sales: only the person who made the request gets it."
            assert (for_requester in extract_shown_text(message)) == is_draft
            desk.scene.workspace.faults.add("chat.postMessage", "slow_reply", seconds=60)
            await decide_on_card(talk, message)
            await desk.scene.workspace.until(lambda: desk.list_posts(place))
        assert (await talk.job()).latest_request.state == "working"
        async with desk.bot(later=60.0):
            job = await talk.over()
    (posted,) = desk.list_posts(place)
    assert job.latest_request.state == "completed"
    assert await talk.of(ev.ToolInDoubt) == [], "it was looked up, and nobody was asked"
    assert "The nightly export is **late**." in extract_shown_text(posted)
    receipt = f"Sent to #sales ({sales})."
    if is_draft:
        receipt = f"The draft for #sales ({sales}) is in the requester's direct messages. It was not sent on."
        assert desk.list_posts("#sales") == []
        assert extract_shown_text(posted).startswith("A draft for #sales, for you to send. It was not sent to them.")
    assert receipt in talk.join_bot_texts()


async def test_a_place_that_was_edited_in_is_shown_as_what_it_is_before_anything_is_sent(desk: MessageDesk) -> None:
    async with desk.serve_calls({"to": "#sales", "text": NOTE}), desk.bot():
        talk = await desk.ask()
        view = await open_window(talk, await wait_for_card(talk), "edit")
        assert await desk.scene.person().submit(view, {"to": "leads", "text": NOTE})
        second = await wait_for_card(talk, 2)
        assert "#leads is a private channel of 4 members." in extract_shown_text(second)
        assert desk.list_posts("#sales") == desk.list_posts("#leads") == []
        await decide_on_card(talk, second)
        await talk.over()
    assert len(desk.list_posts("#leads")) == 1
    assert desk.list_posts("#sales") == []


async def test_what_was_said_in_private_goes_elsewhere_by_the_yes_of_who_reads_both(desk: MessageDesk) -> None:
    ben, cleo = (desk.scene.person(name) for name in ("ben", "cleo"))
    desk.more = f"approve: {{send_message: never}}\napprovers: [{cleo.id}, {ben.id}]\n"
    async with desk.serve_calls({"to": "#sales", "text": NOTE}), desk.bot():
        talk = await desk.ask("#leads")
        message = await wait_for_card(talk)
        assert "It may tell #sales what was said in this private channel" in extract_shown_text(message)
        assert (await talk.job()).latest_request.open_questions["note"].whom == (ben.id,), "Cleo cannot read #leads"
        await decide_on_card(talk, message)
        assert desk.list_posts("#sales") == []
        await decide_on_card(talk, message, who="ben")
        await talk.over()
    assert len(desk.list_posts("#sales")) == 1


async def test_the_like_is_the_same_place_however_it_is_called_and_a_shared_one_always_asks(desk: MessageDesk) -> None:
    calls = (
        {"to": "#sales", "text": "A.", "draft": True},
        {"to": "#sales", "text": "One."},
        {"to": "sales", "text": "Two."},
        {"to": "#northwind", "text": "Three."},
    )
    async with desk.serve_calls(*calls), desk.bot():
        talk = await desk.ask()
        await decide_on_card(talk, await wait_for_card(talk), "alike")
        await decide_on_card(talk, await wait_for_card(talk, 2), "alike")  # a yes to drafts is none to what is sent
        third = await wait_for_card(talk, 3)
        assert f"*To:* <#{desk.scene.workspace.channel_id('#northwind')}>" in extract_shown_text(third)
        assert len(desk.list_posts("#sales")) == 2
        await decide_on_card(talk, third)
        await talk.over()
    assert len(desk.list_posts("#northwind")) == 1
    desk.more = "approve: {send_message: never}\n"
    async with desk.serve_calls(*calls[2:]), desk.bot():
        talk = await desk.ask()
        asked = await wait_for_card(talk)
        assert "shared with another organisation" in extract_shown_text(asked)
        assert "It may tell #northwind what was said in this thread" in extract_shown_text(asked)
        assert len(desk.list_posts("#sales")) == 3, "the crew asks nobody for what stays here"
        cleo = desk.scene.person("cleo")
        assert cleo.id not in (await talk.job()).latest_request.open_questions["note"].whom


async def test_where_nobody_who_approves_reads_both_nothing_is_asked_or_sent(desk: MessageDesk) -> None:
    desk.more = f"approvers: [{desk.scene.person('cleo').id}]\n"
    async with desk.serve_calls({"to": "#sales", "text": NOTE}, {"to": "#nowhere", "text": NOTE}), desk.bot():
        talk = await desk.ask("#leads")
        await talk.over()
    assert desk.list_posts("#sales") == []
    assert await talk.of(ev.ApprovalAsked) == []
    assert "nobody who may approve it here can read both" in talk.join_bot_texts()
    assert "I am in no channel '#nowhere'" in talk.join_bot_texts()
