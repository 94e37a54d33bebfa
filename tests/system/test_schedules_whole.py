"""Schedules through the whole bot: said, shown back, saved with a button, run in a thread of their own, and stopped."""

from __future__ import annotations

import json
from typing import Any

from bot.features.schedules.schedule import LastRun, Schedule, ScheduleRule
from bot.features.schedules.service import ScheduleService
from bot.features.schedules.view import DISCARD, EDIT, PAUSE, REMOVE, RUN_ONCE_NOW, SAVE
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.store.values import JobKey
from handoff import events as ev
from handoff.contracts import Audience, Place, Request, Turn, Usage
from specialists.model import ModelCall
from tests.patience import patience
from tests.system.scene import Json, Scene, Talk, buttons, eventually, extract_shown_text

DAY = 86_400.0
WEEK = 7 * DAY
NUMBERS = ("numbers.csv", b"region,revenue\nNorth,10\nSouth,7\n")


async def alone(scene: Scene, text: str, *, who: str = "ana", channel: str = "#general", has: str = "") -> Json:
    """Mention the bot, and wait for what that person alone is shown."""
    person = scene.person(who)
    before = {one["ts"] for one in person.ephemerals(channel)}
    await person.say(channel, f"@leadhand {text}")

    def new() -> list[Json]:
        return [one for one in person.ephemerals(channel) if one["ts"] not in before and has in extract_shown_text(one)]

    return (await scene.workspace.until(new))[-1]


async def press(scene: Scene, message: Json, action: str, *, who: str = "ana", has: str = "") -> str:
    """Press a button of a message that only this person sees, and give what the message shows then."""
    person, channel = scene.person(who), message["channel"]
    await person.click(channel, message["ts"], action)
    found = await scene.workspace.until(
        lambda: [
            extract_shown_text(one)
            for one in person.ephemerals(channel)
            if one["ts"] == message["ts"] and has in extract_shown_text(one)
        ]
    )
    return str(found[0])


async def save_schedule(scene: Scene, text: str, **more: Any) -> Schedule:
    """Say a schedule, and save it."""
    said = await alone(scene, text, **more)
    await press(scene, said, SAVE, has="Saved as", **({"who": more["who"]} if "who" in more else {}))
    return (await schedules(scene))[-1]


async def schedules(scene: Scene) -> tuple[Schedule, ...]:
    found = await ScheduleService(scene.store).list_schedules(scene.workspace.team_id)
    return tuple(sorted(found, key=lambda one: one.made_at))


async def run_of(scene: Scene, words: str, channel: str = "#general", number: int = 1) -> Talk:
    """The thread of a run, by words of its line."""
    bot, where = scene.workspace.bot_user_id, scene.workspace.channel_id(channel)

    def tops() -> list[Json]:
        found = [
            one for one in scene.workspace.messages(where) if one["user"] == bot and words in extract_shown_text(one)
        ]
        return found if len(found) >= number else []

    return scene.thread(channel, (await scene.workspace.until(tops, timeout=patience()))[number - 1]["ts"])


def messages(scene: Scene, channel: str) -> list[Json]:
    """What stands at the top of a channel, given by its id."""
    return list(scene.workspace.messages(channel))


def tops(scene: Scene) -> list[Json]:
    """What stands at the top of #general."""
    return messages(scene, scene.workspace.channel_id("#general"))


def direct(scene: Scene, who: str = "ana") -> list[str]:
    dm = scene.person(who).dm
    return [
        extract_shown_text(one) for one in scene.workspace.messages(dm) if one["user"] == scene.workspace.bot_user_id
    ]


async def test_said_shown_back_saved_and_run_once_by_two_instances(scene: Scene) -> None:
    async with scene.bot():
        await scene.person("ben").say("#sales", "Nordwind ordered 40 chairs. <@U0> please check.")
        said = await alone(scene, "every Monday at 9 summarise #sales here")
        words = extract_shown_text(said)
        assert "*Every Monday at 9:00 (UTC)*\n>summarise #sales here" in words
        assert words.count("• <!date^") == 3
        assert f"*Reads:* what was said in <#{scene.workspace.channel_id('#sales')}> since the last run." in words
        assert list(buttons(said)) == ["Save", "Change", "Do it now instead, once", "Discard"]
        assert await schedules(scene) == (), "nothing runs before it is saved"
        assert "Saved as" in await press(scene, said, SAVE, has="Saved as")
    (one,) = await schedules(scene)
    assert one.next_at is not None
    later = one.next_at - scene.store.clock() + 1
    async with scene.bot(later=later), scene.bot(later=later):
        talk = await run_of(scene, "summarise #sales here")
        job = await talk.over()
    assert (
        len([each for each in scene.workspace.messages(talk.channel) if ", asked by <@" in extract_shown_text(each)])
        == 1
    )
    root = extract_shown_text(scene.workspace.thread(talk.channel, talk.ts)[0])
    assert root == f"*Every Monday at 9:00 (UTC)*: summarise #sales here, asked by <@{scene.person().id}>"
    request = job.latest_request.spec
    assert (request.user, request.text, request.schedule) == (scene.person().id, "summarise #sales here", one.id)
    (gathered,) = await talk.of(ev.MaterialGathered)
    (material,) = gathered.materials
    assert material.audience == Audience(channel=scene.workspace.channel_id("#sales"), kind="public")
    text = (await scene.store.blobs.get(talk.key, material.text)).decode()
    assert "Ben Okafor: Nordwind ordered 40 chairs." in text
    assert text.startswith("(What was said in #sales since the last run, the oldest first.")
    (after,) = await schedules(scene)
    assert after.last is not None
    assert (after.last.job, after.next_at) == (talk.key.job, one.next_at + WEEK)
    deeds = [json.loads(line) async for line in scene.store.audit.read()]
    assert [deed["why"] for deed in deeds if deed["deed"] == "scheduled"] == ["made"]
    assert len([deed for deed in deeds if deed["deed"] == "asked"]) == 1, "what opens the thread is no deed"


async def test_listed_changed_by_buttons_and_words_and_by_nobody_else(scene: Scene) -> None:
    async with scene.bot(admins=frozenset({scene.person("cleo").id})):
        one = await save_schedule(scene, "every day at 9 list our rooms")
        listed = await scene.command("schedule")
        assert "*Your 1 schedule*" in extract_shown_text(listed)
        assert "not run yet" in extract_shown_text(listed)
        assert "Paused: " in await press(scene, listed, PAUSE, has="Paused:")
        (paused,) = await schedules(scene)
        assert (paused.state, paused.next_at) == ("paused", None)
        refused = await scene.command(f"schedule resume {one.id}", who="ben")
        assert "You have no schedule" in extract_shown_text(refused)
        assert "Its next run is" in extract_shown_text(await scene.command(f"schedule resume {one.id}", who="cleo"))
        assert "runs now" in extract_shown_text(await alone(scene, f"run schedule {one.id}"))
        talk = await run_of(scene, "list our rooms")
        assert "Run now, beside its times." in extract_shown_text(scene.workspace.thread(talk.channel, talk.ts)[0])
        await talk.over()
        form_of = await scene.command("schedule")
        await scene.person().click(form_of["channel"], form_of["ts"], EDIT)
        view = (await scene.workspace.until(lambda: scene.person().views()))[-1]
        assert not await scene.person().submit(view["id"], {"when": "every Monday at 25", "asks": "x"})
        assert len(scene.person().views()) == 1, "there is no such time, and the form says so"
        await scene.command(f"schedule pause {one.id}", who="cleo")  # meanwhile
        assert await scene.person().submit(view["id"], {"when": "on weekdays at 10:30", "asks": "list our rooms, all"})
        page = (await scene.workspace.until(lambda: scene.person().views()[1:]))[-1]
        assert "Every weekday at 10:30" in str(page["blocks"])
        await scene.person().submit(page["id"])
        await scene.workspace.until(
            lambda: [
                one for one in scene.person().ephemerals("#general") if "at the same time" in extract_shown_text(one)
            ]
        )
        (same,) = await schedules(scene)
        assert (same.state, same.asks) == ("paused", "list our rooms"), "the second of two edits changes nothing"
        assert "lists yours" in extract_shown_text(await scene.command("schedule pause SABCDEF"))
        again = await scene.command("schedule")
        assert "You have no schedules" in await press(scene, again, REMOVE, has="You have no schedules")
    deeds = [json.loads(line) async for line in scene.store.audit.read()]
    whys = [deed["why"] for deed in deeds if deed["deed"] == "scheduled"]
    assert whys == ["made", "paused", "resumed", "run now", "paused", "removed"]


class GermanReader(RehearsalModel):
    """The rehearsal, with a model's reply to the one rule in German."""

    async def reply(self, call: ModelCall) -> Turn:
        if call.purpose != "rule_reader" or "jeden Montag" not in call.messages[0].text:
            return await super().reply(call)
        read = {"schedule": True, "asks": "fasse zusammen, was ansteht", "cron": "0 9 * * mon"}
        return Turn(
            text=json.dumps(read | dict.fromkeys(("at", "zone", "until", "cannot"), "")), stop="end", usage=Usage()
        )


async def test_the_form_makes_one_and_a_message_may_be_a_request_after_all(scene: Scene) -> None:
    async with scene.bot(GermanReader()):
        await scene.command("schedule new")
        view = (await scene.workspace.until(lambda: scene.person().views()))[-1]
        typed = {"when": "every Friday at 16:00", "asks": "plan my week", "zone": "Berlin"}
        assert await scene.person().submit(view["id"], typed)
        page = (await scene.workspace.until(lambda: scene.person().views()[1:]))[-1]
        await scene.person().submit(page["id"])
        await eventually(lambda: schedules(scene))
        (one,) = await schedules(scene)
        assert (one.asks, one.rule, one.zone) == ("plan my week", ScheduleRule(cron="0 16 * * fri"), "Europe/Berlin")
        german = await alone(scene, "jeden Montag um 9 fasse zusammen, was ansteht", has="Every Monday at 9:00")
        assert "fasse zusammen, was ansteht" in extract_shown_text(german)
        said = await alone(scene, "every Monday 9:30 say what 6 times 7 is", has="9:30")
        await press(scene, said, DISCARD, has="Discarded")
        said = await alone(scene, "every Monday 9:45 say what 6 times 7 is", has="9:45")
        assert "as a single request" in await press(scene, said, RUN_ONCE_NOW, has="as a single request")
        top = next(one for one in tops(scene) if "9:45" in one["text"])
        job = await scene.thread("#general", top["ts"]).over()
        assert job.latest_request.spec.text == "every Monday 9:45 say what 6 times 7 is"
        await scene.command("schedule every other Friday at half past nine list our rooms")
        told = await scene.workspace.until(
            lambda: [
                one
                for one in scene.person().ephemerals("#general")
                if "no model is connected" in extract_shown_text(one)
            ]
        )
        assert "“every weekday at 9:00”" in extract_shown_text(told[0]), "the rehearsal names the forms that it reads"
        bad = await scene.command("schedule every 5 minutes ping")
        assert "every 15 minutes at most" in extract_shown_text(bad)
        assert "sees nothing of this one" in extract_shown_text(
            await scene.command("schedule daily at 9 summarise this thread")
        )
        assert "what I should do" in extract_shown_text(await scene.command("schedule every Monday at 9"))
        assert len(await schedules(scene)) == 1


async def test_only_if_something_changed_keeps_quiet_and_says_so_in_the_trace(scene: Scene) -> None:
    async with scene.bot():
        one = await save_schedule(scene, "every day at 9 summarise #sales only if anything is new")
    assert one.next_at is not None
    now = scene.store.clock()
    async with scene.bot(later=one.next_at - now + 1):

        async def ran() -> Schedule | None:
            return next((each for each in await schedules(scene) if each.last is not None), None)

        after = await eventually(ran)
        assert after.last is not None
        assert (after.last.outcome, after.last.job) == ("quiet", "")
    traced = [ev.load_event(entry.payload) for entry in await scene.store.jobs.read_log(_key(scene, after.last.trace))]
    (opened,) = [each for each in traced if isinstance(each, ev.ThreadOpened)]
    assert opened.quiet
    assert "Nothing new was said" in opened.why
    assert not [
        each
        for each in scene.workspace.messages(scene.workspace.channel_id("#general"))
        if ", asked by <@" in extract_shown_text(each)
    ]


async def test_what_a_private_channel_says_stays_there_and_files_come_along(scene: Scene) -> None:
    async with scene.bot():
        crossing = await scene.command("schedule every Monday at 9 summarise #leads")
        assert "is private, and not all who read" in extract_shown_text(crossing)
        shared = await scene.command("schedule every Monday at 9 summarise #sales", channel="#northwind")
        assert "shared with another organisation" in extract_shown_text(shared)
        assert "I find no #leads that you can read" in extract_shown_text(
            await scene.command("schedule every Monday at 9 summarise #leads", who="cleo")
        )
        ana = scene.person()
        before = len(ana.ephemerals("#general"))
        await ana.say("#general", "@leadhand every day at 9 total revenue by region", files=[NUMBERS])
        said = (await scene.workspace.until(lambda: ana.ephemerals("#general")[before:]))[0]
        assert "*Works with:* numbers.csv" in extract_shown_text(said)
        await press(scene, said, SAVE, has="Saved as")
        direct_one = await scene.command("schedule every day at 9:30 say what 6 times 7 is", channel="@leadhand")
        await press(scene, direct_one, SAVE, has="Saved as")
        for one in await schedules(scene):
            await scene.command(f"schedule run {one.id}")
        talk = await run_of(scene, "total revenue by region")
        await talk.over()
        assert "North" in talk.join_bot_texts()
        own = await scene.workspace.until(
            lambda: [one for one in messages(scene, ana.dm) if "6 times 7" in extract_shown_text(one)]
        )
        await Talk(scene, ana.dm, own[0]["ts"]).over()


async def test_it_stops_with_a_word_to_its_owner_who_may_no_longer(scene: Scene) -> None:
    async with scene.bot():
        general = await save_schedule(scene, "every day at 9 list our rooms", channel="#sales")
        left = await save_schedule(scene, "every day at 9 list our desks", who="ben")
    assert general.next_at is not None
    failed = await failing(scene, "C", general.next_at)
    scene.workspace.archive("#sales")
    scene.workspace.deactivate("ben")
    async with scene.bot(later=general.next_at - scene.store.clock() + 1):
        await scene.workspace.until(lambda: direct(scene)[1:])

        async def is_paused() -> bool:
            return {one.state for one in await schedules(scene)} == {"paused"}

        await eventually(is_paused)
    third, word = sorted(direct(scene))
    assert "“it fails”" in third
    assert "its last three runs failed" in third
    assert "list our rooms" in word
    assert "is archived" in word
    assert f"`/leadhand schedule resume {general.id}`" in word
    whys = {one.id: one.why for one in await schedules(scene)}
    assert whys[left.id] == "its owner has left the workspace"
    assert whys[failed.id] == "its last three runs failed"


async def failing(scene: Scene, mark: str, due: float) -> Schedule:
    """A schedule whose last run failed, as two before it did."""
    desk, team, channel = ScheduleService(scene.store), scene.workspace.team_id, scene.workspace.channel_id("#general")
    place = Place(team=team, channel=channel, thread_ts=f"{mark}1.0")
    request = Request(id="1.0", user=scene.person().id, text="x", at=1.0)
    event = ev.RequestAdded(at=1.0, place=place, request=request, refusal="it cannot be")
    key = JobKey(team, place.job_id)
    fields = {"state": "failed"}
    assert await scene.store.jobs.ingest(key, ev.dump_event(event), dedupe=("x",), fields=fields)
    claim = await scene.store.jobs.claim("t", lease=1.0, schema=ev.SCHEMA, preferred_job=key)
    assert claim is not None
    assert claim.key == key
    await scene.store.jobs.quarantine(claim, ev.dump_event(ev.SetAside(at=1.0, step="x", reason="x")), schema=ev.SCHEMA)
    of: dict[str, Any] = {"team": team, "channel": channel, "owner": scene.person().id, "asks": "it fails"}
    one = await desk.create(Schedule(**of, rule=ScheduleRule(start=due), state="on"))
    assert isinstance(one, Schedule)
    last = LastRun(due=1.0, at=2.0, trace="J1", job=place.job_id)
    await desk.record_run(one, last, failures=2)
    return one


def _key(scene: Scene, job: str) -> JobKey:
    return JobKey(scene.workspace.team_id, job)
