"""A write tool that asks: people approve, edit or deny on a card, also similar calls, and it is called as they said."""

from __future__ import annotations

import argparse
import asyncio
import os
import pty
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from bot.access.access_values import ChannelValues
from bot.command_line.one_job import run_one_job
from bot.operation.audit_log import AuditQuery, read_entries
from handoff import events as ev
from handoff.engine.answer import list_answer_gaps
from specialists.tools.tool import OutgoingData
from specialists.turns import tool_calls
from tests.specialists.far_side import FarSide, far_side
from tests.system.brains import tool_call, tool_calls_of
from tests.system.desk import Desk, decide_on_card, list_cards, open_window, wait_for_card
from tests.system.scene import Json, Scene, Talk, buttons, card_title, extract_shown_text, rows

ALL = ("Approve", "Approve similar", "Edit", "Deny")
TEA = tool_call("post_note", text="tea")
BOTH = tool_calls_of(("post_note", {"text": "tea"}), ("post_note", {"text": "cake"}))


class Office(Desk):
    """A clerk who puts notes on a far side's board."""

    def __init__(self, scene: Scene, folder: Path, side: FarSide) -> None:
        super().__init__(scene, folder, side.tool(target=lambda _: "the board"))
        self.side = side

    @asynccontextmanager
    async def two_bots(self, **options: object) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(self.bot(**options))
            yield

    async def ask(self) -> Talk:
        return await self.scene.ask("Tell everybody that there is tea")

    def list_private_texts(self, who: str) -> list[str]:
        return [extract_shown_text(message) for message in self.scene.person(who).ephemerals("#general")]

    async def told_alone(self, who: str, words: str) -> None:
        await self.scene.workspace.until(lambda: any(words in text for text in self.list_private_texts(who)))


@pytest.fixture
async def office(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Office]:
    monkeypatch.setattr(tool_calls, "GRACE_SECONDS", 0.01)
    async with far_side() as side:
        desk = Office(scene, tmp_path, side)
        async with desk.serve(TEA):
            yield desk


def row(talk: Talk) -> str:
    """The details of the plan card's row; nothing before there is one."""
    return rows(talk.cards()[0]).get("note", ("", ""))[1] if talk.cards() else ""


async def wait_for_closed_card(talk: Talk, words: str) -> Json:
    """The card once it has no buttons and says so."""
    return await talk.wait_until_seen(
        lambda: next((one for one in list_cards(talk) if not buttons(one) and words in extract_shown_text(one)), None)
    )


async def test_an_approved_call_is_made_and_the_card_says_who_approved_it(office: Office) -> None:
    async with office.bot():
        talk = await office.ask()
        message = await wait_for_card(talk)
        ana = office.scene.person()
        assert tuple(buttons(message)) == ALL
        text = extract_shown_text(message)
        assert f"<@{ana.id}>" in text
        assert "text: \ntea" in text
        assert "*To:* the board" in text
        await talk.wait_until_seen(lambda: talk.status() == "suspended")
        await talk.wait_until_seen(lambda: "Waiting for approval by" in row(talk))
        await talk.wait_until_seen(lambda: card_title(talk.cards()[0]).startswith("Waiting for approval"))
        assert office.side.calls == 0
        status = await office.scene.command(f"status {talk.key.job}")
        assert f"waiting for approval by <@{ana.id}>" in extract_shown_text(status)
        await decide_on_card(talk, message)
        job = await talk.over()
        await wait_for_closed_card(talk, f":white_check_mark: <@{ana.id}> approved this")
    assert office.side.notes == ["tea"]
    assert job.latest_request.state == "completed"
    assert list_answer_gaps(job.latest_request, job.latest_request.run) == ()
    kinds = [event.type for event in await talk.events()]
    order = ["TurnTaken", "ApprovalAsked", "ApprovalDecided", "ToolStarted", "ToolReturned"]
    assert [kind for kind in kinds if kind in order][:5] == order
    trace = await talk.timeline()
    assert "note: asks for approval: post_note(text='tea') to the board" in trace
    assert f"note: approved by {ana.id}" in trace
    assert f"note: begins post_note(text='tea') (approved by {ana.id})" in trace


async def test_several_calls_of_a_turn_are_one_card_that_can_be_taken_apart(office: Office) -> None:
    async with office.serve(BOTH), office.two_bots():
        talk = await office.ask()
        message = await wait_for_card(talk)
        ana = office.scene.person()
        assert tuple(buttons(message)) == ("Approve all 2", ALL[1], "Decide one by one", "Deny all")
        assert "wants to make 2 changes" in extract_shown_text(message)
        await decide_on_card(talk, message, "apart")
        second = await wait_for_card(talk, 2)
        assert tuple(buttons(second)) == ALL
        await wait_for_closed_card(talk, f"<@{ana.id}> chose to decide on these one by one")
        await decide_on_card(talk, message, who="ben")
        await office.told_alone("ben", "decide on these one by one")
        await decide_on_card(talk, second)
        third = await wait_for_card(talk, 3)
        assert "cake" in extract_shown_text(third)
        await decide_on_card(talk, third)
        job = await talk.over()
    assert office.side.notes == ["tea", "cake"]
    assert list_answer_gaps(job.latest_request, job.latest_request.run) == ()


async def test_a_denial_reaches_the_specialist_and_is_named_as_a_gap(office: Office) -> None:
    async with office.bot():
        talk = await office.ask()
        view = await open_window(talk, await wait_for_card(talk), "deny")
        assert await office.scene.person().submit(view, {"text": "Not <@U1> before noon."})
        job = await talk.over()
        message = await wait_for_closed_card(talk, "denied this")
        assert ":no_entry:" in extract_shown_text(message)
        assert "&lt;@U1&gt; before noon" in extract_shown_text(message)
    assert office.side.calls == 0
    answer = extract_shown_text(talk.words()[-1])
    assert "a person denied it. Their reason:" in answer
    assert "not done, as a person denied it: post_note(text='tea')" in answer
    assert job.latest_request.state == "completed"


async def test_foreign_and_late_clicks_are_told_why_alone_and_change_nothing(office: Office) -> None:
    async with office.bot():
        talk = await office.ask()
        message = await wait_for_card(talk)
        ben, ana = office.scene.person("ben"), office.scene.person()
        await decide_on_card(talk, message, who="ben")
        await office.told_alone("ben", f"only <@{ana.id}> may decide")
        await decide_on_card(talk, message, "deny", "ben")
        assert ben.views() == []
        await talk.say("yes, approve", who="ana")
        await talk.wait_until_seen(
            lambda: "A reply decides nothing here: please use the buttons" in talk.join_private_texts()
        )
        assert office.side.calls == 0, "words decide nothing"
        await decide_on_card(talk, message)
        await talk.over()
        await decide_on_card(talk, message)
        await office.told_alone("ana", "approved it")
    assert office.side.notes == ["tea"]
    assert len(await talk.of(ev.ApprovalDecided)) == 1


async def test_a_quorum_of_two_shows_how_far_it_is_and_nobody_approves_their_own(office: Office) -> None:
    people = [office.scene.person(name).id for name in ("ana", "ben", "cleo")]
    office.more = f"approvers: [{', '.join(people)}]\nquorum: 2\nself: false\n"
    async with office.two_bots():
        talk = await office.ask()
        message = await wait_for_card(talk)
        await decide_on_card(talk, message)
        await office.told_alone("ana", "you made this request")
        await decide_on_card(talk, message, who="ben")
        await talk.wait_until_seen(lambda: "1 of 2 have approved" in extract_shown_text(list_cards(talk)[0]))
        await talk.wait_until_seen(lambda: "(1 of 2 so far)" in row(talk))
        await decide_on_card(talk, message, who="ben")
        await office.told_alone("ben", "You have approved this already")
        assert office.side.calls == 0
        await decide_on_card(talk, message, who="cleo")
        await talk.over()
        await wait_for_closed_card(talk, f"<@{people[1]}> and <@{people[2]}> approved this")
    assert office.side.notes == ["tea"]


async def test_of_two_people_who_click_at_once_one_counts_and_the_other_is_told(office: Office) -> None:
    names = ("ana", "ben")
    office.more = f"approvers: [{', '.join(office.scene.person(name).id for name in names)}]\n"
    async with office.two_bots():
        talk = await office.ask()
        message = await wait_for_card(talk)
        view = await open_window(talk, message, "deny", "ben")
        await asyncio.gather(
            decide_on_card(talk, message),
            office.scene.person("ben").submit(view, {"text": "No."}),
        )
        await talk.over()
        told = await office.scene.workspace.until(
            lambda: [one for name in names for one in office.list_private_texts(name)]
        )
    assert len(told) == 1
    assert "before your click. Your click changed nothing." in told[0]
    assert office.side.calls == ("denied it" not in told[0])


async def test_stop_while_it_waits_says_that_nothing_was_done(office: Office) -> None:
    async with office.bot():
        talk = await office.ask()
        message = await wait_for_card(talk)
        await talk.say("@leadhand stop")
        job = await talk.over()
        await wait_for_closed_card(talk, "ended before anybody decided, so it was not done")
        await decide_on_card(talk, message)
        await office.told_alone("ana", "ended before anybody decided")
    assert job.latest_request.state == "cancelled"
    assert office.side.calls == 0


@pytest.mark.parametrize(("typed_text", "code", "notes"), [("yes\n", 0, ["tea"]), ("Not today.\n", 3, [])])
async def test_who_sits_at_a_terminal_is_asked_there(
    office: Office,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed_text: str,
    code: int,
    notes: list[str],
) -> None:
    keys, ours = pty.openpty()
    options = argparse.Namespace(
        ask="Tell everybody that there is tea", json=False, demo=False, timeout=40.0, out=office.folder
    )
    with os.fdopen(ours, "r", closefd=True) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        async with office.bot() as app:
            os.write(keys, typed_text.encode())
            assert await run_one_job(office.scene.workspace, app, options, []) == code
    os.close(keys)
    assert office.side.notes == notes
    printed = capsys.readouterr()
    assert "approve it? (yes, or why not)> " in printed.out
    assert ("Not today." in printed.out) == (not notes)


async def test_an_approval_is_decided_in_the_home(office: Office) -> None:
    async with office.two_bots():
        ana = office.scene.person()
        await ana.open_home()
        await office.scene.workspace.until(ana.home)
        talk = await office.ask()
        await wait_for_card(talk)
        view = await office.scene.workspace.until(
            lambda: (v := ana.home()) and "wants to make" in extract_shown_text(v) and v
        )
        await ana.click_in_view(view["id"], "approval:approve")
        await talk.over()
        await wait_for_closed_card(talk, "approved this")
        await office.scene.workspace.until(lambda: "Nothing waits for you" in extract_shown_text(ana.home() or {}))
    assert office.side.notes == ["tea"]


async def test_a_click_is_judged_by_whom_the_channel_names_at_that_moment(office: Office) -> None:
    ben, cleo = office.scene.person("ben"), office.scene.person("cleo")
    async with office.bot(access=ChannelValues(approvers=(ben.id, cleo.id))):
        talk = await office.ask()
        asked = await wait_for_card(talk)
    async with office.bot(access=ChannelValues(approvers=(cleo.id,))):
        await decide_on_card(talk, asked, who="ben")
        await office.told_alone("ben", f"only <@{cleo.id}> may decide")
        assert office.side.calls == 0
        await decide_on_card(talk, asked, who="cleo")
        await talk.over()
    assert office.side.notes == ["tea"]


SALARIES = ("salaries.txt", b"SALARY OF J. DOE 184,200")


async def approve(talk: Talk, *who: str) -> None:
    """Have people approve similar calls on the first card, and the job end."""
    message = await wait_for_card(talk)
    for name in who:
        await decide_on_card(talk, message, "alike", name)
    await talk.over()


async def asks_again(office: Office, talk: Talk, who: str) -> str:
    """Have somebody ask in the thread. Returns the card that the bot asks with; none was made without it."""
    made = office.side.calls
    await talk.say("@leadhand Tell everybody once more that there is tea", who=who)
    second = await wait_for_card(talk, 2)
    assert office.side.calls == made
    return extract_shown_text(second)


async def test_a_yes_for_one_person_is_none_for_another(office: Office) -> None:
    approvers = ["ben", "cleo"]
    ids = {name: office.scene.person(name).id for name in ("ana", "ben", "cleo")}
    office.more = f"approvers: [{ids['ben']}, {ids['cleo']}]\nquorum: 2\n"
    async with office.bot():
        talk = await office.ask()
        await approve(talk, *approvers)
        await talk.say("@leadhand Tell everybody once more that there is tea", who="ana")
        await talk.over(2)
        assert len(list_cards(talk)) == 1, "for the same person similar calls are approved"
        assert office.side.calls == 2
        told = await asks_again(office, talk, "cleo")
    assert "Similar calls were approved before" not in told, "they never were for this person"
    begun = await talk.of(ev.ToolStarted)
    assert [one.approved_by for one in begun] == [tuple(ids[name] for name in approvers)] * 2
    wrote = [one async for one in read_entries(office.scene.store, AuditQuery(deed="wrote"))]
    assert [(one.user, one.approved_by) for one in wrote] == [(ids["ana"], begun[0].approved_by)] * 2


@pytest.mark.parametrize("leaves", ["the group", "the workspace"])
async def test_a_yes_ends_when_its_approver_leaves(office: Office, leaves: str) -> None:
    group = office.scene.workspace.group_id("reviewers")
    office.scene.workspace.change_group("reviewers", add=["ben"])
    office.more = f"approvers: [{group}]\n"
    async with office.bot():
        talk = await office.ask()
        await approve(talk, "ben")
    async with office.bot():  # which has asked Slack about nobody yet
        if leaves == "the group":
            office.scene.workspace.change_group("reviewers", remove=["ben"])
        else:
            office.scene.workspace.deactivate("ben")
        assert f"<!subteam^{group}>" in await asks_again(office, talk, "ana")


async def test_what_became_private_since_is_asked_about_by_name(office: Office) -> None:
    sends = lambda one: OutgoingData("board.example", one.text, in_arguments=True)  # noqa: E731
    office.tools = (office.side.tool(target=lambda _: "the board", sends=sends),)
    async with office.bot():
        talk = await office.ask()
        await approve(talk, "ana")
        await talk.say("@leadhand Tell everybody what this says", who="ana", files=[SALARIES])
        told = extract_shown_text(await wait_for_card(talk, 2))
        assert office.side.calls == 1
    assert "Similar calls were approved before these could be seen: *salaries.txt*." in told
