"""Whole jobs in which people approved similar calls: whose calls are made without asking, and whose are not."""

from __future__ import annotations

import pytest

from bot.operation.audit_log import Wanted, entries
from handoff import events as ev
from specialists.tools.tool import Sent
from tests.system.scene import Talk, shown
from tests.system.test_approvals import Office, card, cards
from tests.system.test_approvals import office as office  # noqa: PLC0414 - a fixture

SALARIES = ("salaries.txt", b"SALARY OF J. DOE 184,200")


async def approve(office: Office, talk: Talk, *who: str) -> None:
    """Have people approve similar calls on the first card, and the job end."""
    message = await card(talk)
    for name in who:
        await office.scene.person(name).click(talk.channel, message["ts"], "approval:alike")
    await talk.over()


async def asks_again(office: Office, talk: Talk, who: str) -> str:
    """Have somebody ask in the thread. Returns the card that the bot asks with; none was made without it."""
    made = office.side.calls
    await talk.say("@leadhand Tell everybody once more that there is tea", who=who)
    second = await card(talk, 2)
    assert office.side.calls == made
    return shown(second)


@pytest.mark.parametrize(
    ("more", "approvers", "who"),
    [
        ("approvers: [{ben}]\nself: false\n", ["ben"], "ben"),
        ("approvers: [{ben}, {cleo}]\nquorum: 2\n", ["ben", "cleo"], "cleo"),
        ("", ["ana"], "ben"),
    ],
    ids=["self-false", "quorum", "requester"],
)
async def test_a_yes_for_one_person_is_none_for_another(
    office: Office, more: str, approvers: list[str], who: str
) -> None:
    ids = {name: office.scene.person(name).id for name in ("ana", "ben", "cleo")}
    office.more = more.format(**ids)
    async with office.bot():
        talk = await office.ask()
        await approve(office, talk, *approvers)
        await talk.say("@leadhand Tell everybody once more that there is tea", who="ana")
        await talk.over(2)
        assert len(cards(talk)) == 1, "for the same person similar calls are approved"
        assert office.side.calls == 2
        told = await asks_again(office, talk, who)
    assert "Similar calls were approved before" not in told, "they never were for this person"
    begun = await talk.of(ev.ToolStarted)
    assert [one.approved_by for one in begun] == [tuple(ids[name] for name in approvers)] * 2
    wrote = [one async for one in entries(office.scene.store, Wanted(deed="wrote"))]
    assert [(one.user, one.approved_by) for one in wrote] == [(ids["ana"], begun[0].approved_by)] * 2


@pytest.mark.parametrize("leaves", ["the group", "the workspace"])
async def test_a_yes_ends_when_its_approver_leaves(office: Office, leaves: str) -> None:
    group = office.scene.workspace.group_id("reviewers")
    office.scene.workspace.change_group("reviewers", add=["ben"])
    office.more = f"approvers: [{group}]\n"
    async with office.bot():
        talk = await office.ask()
        await approve(office, talk, "ben")
    async with office.bot():  # which has asked Slack about nobody yet
        if leaves == "the group":
            office.scene.workspace.change_group("reviewers", remove=["ben"])
        else:
            office.scene.workspace.deactivate("ben")
        assert f"<!subteam^{group}>" in await asks_again(office, talk, "ana")


async def test_what_became_private_since_is_asked_about_by_name(office: Office) -> None:
    office.tool = office.side.tool(
        target=lambda _: "the board", sends=lambda one: Sent("board.example", one.text, in_arguments=True)
    )
    async with office.bot():
        talk = await office.ask()
        await approve(office, talk, "ana")
        await talk.say("@leadhand Tell everybody what this says", who="ana", files=[SALARIES])
        told = shown(await card(talk, 2))
        assert office.side.calls == 1
    assert "Similar calls were approved before these could be seen: *salaries.txt*." in told
