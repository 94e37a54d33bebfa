"""One thread, several requests; direct messages; and a job that begins with somebody's message."""

from __future__ import annotations

from handoff import events as ev
from handoff.engine.answer import gaps
from tests.providers.scripts import purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, connect, in_turn, plan, played, provider, purposes, result, subtask
from tests.system.scene import SAMPLE, Scene, card_title, shown

REVENUE = ("revenue.csv", b"month,revenue\n2026-01,10\n2026-02,20\n")


async def test_a_later_mention_knows_what_was_asked_and_answered(scene: Scene) -> None:
    one, notes = plan(subtask("text", "writer")), in_turn(result("Tea is calm."), result("Dear all, tea is calm."))
    async with played(scene, planner=lambda _: one, writer=notes) as server:
        talk = await scene.ask("Draft a short note about tea")
        await talk.over()
        await talk.say("@leadhand make a letter of it")
        job = await talk.over(2)

    planner = [request.messages[0].text for request in server.requests if purpose_of(request) == "planner"]
    assert len(planner) == 2
    assert "# Earlier in this thread" not in planner[0]
    earlier = planner[1].partition("# Earlier in this thread")[2]
    assert "## Asked: Draft a short note about tea" in earlier
    assert (job.asks[0].run.answer or "-")[:200] in earlier
    assert "make a letter of it" in planner[1].partition("# Earlier in this thread")[0]
    assert len(talk.cards()) == len(talk.words()) == 2
    assert [ask.state for ask in job.asks] == ["completed", "completed"]


async def test_a_file_of_the_first_request_serves_the_second(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("total revenue by month", files=[REVENUE])
        await talk.over()
        await talk.say("@leadhand what is the average revenue in revenue.csv?")
        job = await talk.over(2)

    assert job.asks[1].state == "completed"
    assert [work.specialist for work in job.asks[1].work.values()] == ["analyst"]
    assert not gaps(job.asks[1], job.asks[1].run)
    assert "average revenue" in (job.asks[1].run.answer or "").lower()
    fetched = [one.name for event in await talk.of(ev.MaterialGathered) for one in event.materials]
    assert fetched == ["revenue.csv"], "fetched once"


async def test_a_mention_while_a_request_is_under_way_waits_its_turn(scene: Scene) -> None:
    gate = Gate()
    async with played(scene, analyst=gate) as server:
        talk = await scene.ask("What is 3 * 4?")
        await gate.reached.wait()
        await talk.say("@leadhand what is 5 * 6?", who="ben")
        await talk.until(lambda job: len(job.asks) == 2)
        assert purposes(server).count("planner") == 1
        gate.open()
        job = await talk.over(2)
        await talk.seen(lambda: talk.status() == "active")

    assert [ask.state for ask in job.asks] == ["completed", "completed"]
    assert [ask.request.user for ask in job.asks] == [scene.person("ana").id, scene.person("ben").id]
    first, second = talk.words()
    assert talk.told("ben") == "Noted. I'll start on this once the request before it is done."
    assert talk.told("ana") == ""
    assert "3 * 4 = 12" in shown(first)
    assert "5 * 6 = 30" in shown(second)
    assert len(talk.cards()) == 2
    assert all(card_title(card).startswith("Done in ") for card in talk.cards())


async def test_the_card_of_a_queued_request_moves_too(scene: Scene) -> None:
    first, second = Gate(result("It is 12.")), Gate(result("It is 30."))

    async def analyst(request: WireRequest) -> object:
        return await (second if "5 * 6" in request.messages[0].text else first)(request)

    async with provider(analyst=analyst) as server, scene.bot(connect("chat", server)):  # type: ignore[arg-type]
        talk = await scene.ask("What is 3 * 4?")
        await first.reached.wait()
        await talk.say("@leadhand what is 5 * 6?")
        await talk.until(lambda job: len(job.asks) == 2)
        first.open()
        await second.reached.wait()
        await talk.seen(lambda: len(talk.cards()) == 2 and card_title(talk.cards()[1]).startswith("Working"))
        second.open()
        await talk.over(2)


async def test_a_direct_message_needs_no_mention(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("What is 3 * 4?", channel="@leadhand")
        await talk.seen(lambda: "eyes" in talk.reactions())
        job = await talk.over()
        await talk.say("And what is 5 * 6?")
        job = await talk.over(2)

    assert [ask.state for ask in job.asks] == ["completed", "completed"]
    assert len(talk.cards()) == len(talk.words()) == 2
    assert "5 * 6 = 30" in shown(talk.words()[1])


async def test_people_who_talk_among_themselves_are_left_alone(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("What is 3 * 4?")
        await talk.over()
        await talk.say("Thanks, looks good!", who="ben")
        await talk.say("I agree")
        await scene.person("ben").say("#general", "Lunch, anyone?")
        await scene.barrier()
    assert len(talk.replies()) == 2
    bot = scene.workspace.bot_user_id
    assert not [m for m in scene.workspace.messages("#general") if m["user"] == bot and m["thread_ts"] != talk.ts]


async def test_a_job_cannot_begin_where_the_bot_is_not(scene: Scene) -> None:
    ana = scene.person("ana")
    ts = await scene.person("ben").say("#sales", "What is 3 * 4?")
    await ana.kick("#sales")
    async with scene.bot():
        await ana.shortcut("start_job", "#sales", ts)
        (view,) = await scene.workspace.until(ana.views)
        assert not await ana.submit(view["id"], {"text": "What is 3 * 4?"})
        talk = scene.thread("#sales", ts)
        assert await scene.store.jobs.head(talk.key) is None, "nothing is done that nobody could be shown"
        await ana.invite("#sales")
        assert await ana.submit(view["id"], {"text": "What is 3 * 4?"})
        await talk.over()
    assert "3 * 4 = 12" in shown(talk.words()[0])


async def test_a_job_from_somebody_elses_message(scene: Scene) -> None:
    ana, ben = scene.person("ana"), scene.person("ben")
    ts = await ben.say("#general", "Churn went up again, see the table.", files=[SAMPLE])
    async with played(scene) as server:
        await ana.shortcut("start_job", "#general", ts)
        (view,) = await scene.workspace.until(ana.views)
        assert view["title"]["text"] == "Start a job"
        assert await ana.submit(view["id"], {"text": "why did churn rise?"})
        talk = scene.thread("#general", ts)
        job = await talk.over()

    assert job.latest.request.user == ana.id
    assert job.latest.request.quoted == "Churn went up again, see the table."
    assert job.latest.state == "completed"
    assert "Churn went up again" in server.requests[0].messages[0].text
    assert "sales.csv (text/csv" in server.requests[0].messages[0].text
    assert talk.reactions() == ["eyes"]
    (answer,) = talk.words()
    assert "total churned customers" in shown(answer)
    assert "Answered in part" not in shown(answer)
    assert not ana.views()


async def test_a_window_without_a_request_stays_open(scene: Scene) -> None:
    ana = scene.person("ana")
    ts = await ana.say("#general", "Something")
    async with scene.bot():
        await ana.shortcut("start_job", "#general", ts)
        (view,) = await scene.workspace.until(ana.views)
        assert not await ana.submit(view["id"], {"text": "  "})
        assert ana.views()
    assert await scene.store.jobs.head(scene.thread("#general", ts).key) is None
