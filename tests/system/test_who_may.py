"""Who may use it, by the whole bot: what is refused, what is let through, and what the ordinary case costs."""

from handoff import events as ev
from tests.system.scene import Scene
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
        await quiet.say("@leadhand and times 3?")
        assert len((await quiet.over(requests=2)).requests) == 2, "a mention is a request there, too"
