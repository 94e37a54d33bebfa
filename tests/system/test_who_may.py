"""Who may use it, by the whole bot: what is refused, what is let through, and what the ordinary case costs."""

import json

from handoff import events as ev
from tests.system.scene import Scene, shown
from tests.system.settings_windows import change

SUM = "what is 3 + 4?"


async def test_a_guest_and_a_stranger_begin_nothing_and_are_told_so_alone_once(scene: Scene) -> None:
    cleo = scene.person("cleo").id
    async with scene.bot(admins=frozenset({cleo})):
        for who, channel, words in (
            ("gus", "#sales", "Guests cannot use me here"),
            ("sol", "#northwind", "People of your workspace cannot use me here"),
        ):
            person = scene.person(who)
            talk = await scene.ask(SUM, who=who, channel=channel)
            (line,) = await scene.workspace.until(lambda person=person, channel=channel: person.ephemerals(channel))
            assert words in line["text"]
            assert f"Ask <@{cleo}>" in line["text"]
            again = await scene.ask(SUM, who=who, channel=channel)
            await (await scene.ask("", who="ben", channel=channel)).over()
            assert len(person.ephemerals(channel)) == 1, "once an hour"
            assert [await each.events() for each in (talk, again)] == [[], []]
            assert talk.replies() == again.replies() == []


async def test_the_ordinary_case_asks_slack_once_who_somebody_is(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask(SUM)
        await talk.over()
        assert "7" in talk.said()
        assert scene.workspace.call_count("users.info") == 1, (
            "for the name and for the leave, the twin of the mention too"
        )
        assert scene.workspace.call_count("usergroups.list") == 0


async def test_an_admin_lets_guests_in_with_the_window_and_every_instance_knows(scene: Scene) -> None:
    cleo, gus = scene.person("cleo"), scene.person("gus")
    async with scene.bot(admins=frozenset({cleo.id})):
        await change(scene, "people", who="cleo", guests="yes")
    async with scene.bot():
        talk = await scene.ask(SUM, who="gus", channel="#sales")
        await talk.over()
        assert "7" in talk.said()
        told = json.dumps(await scene.command("settings", who="gus", channel="#sales"))
        assert f"set by <@{cleo.id}>" in told
        assert (await talk.of(ev.RequestAdded))[0].request.user == gus.id


async def test_follow_ups_are_one_of_the_settings_of_a_channel(scene: Scene) -> None:
    cleo = scene.person("cleo")
    async with scene.bot(admins=frozenset({cleo.id})):
        await change(scene, "times", who="cleo", follow_ups="no")
        quiet, heard = [await scene.ask(SUM, channel=channel) for channel in ("#sales", "#general")]
        for talk in (quiet, heard):
            await talk.over()
            await talk.say("and times 2?")
        await heard.over(requests=2)
        assert not await quiet.of(ev.MessageHeard)
        assert "7" in shown(quiet.replies()[-1])
