"""The bot ends in the middle and starts again on the same store: it goes on, and nothing is there twice."""

from __future__ import annotations

from handoff import events as ev
from handoff.contracts import Terms
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, connect, escalation, in_turn, plan, provider, purposes, result, subtask
from tests.system.scene import SAMPLE, Scene, card_title, rows, shown

QUESTION = "why did churn rise? draft a short note to the board"
TWO = plan(subtask("first", "writer"), subtask("second", "reviewer"))


async def test_an_analysis_goes_on_from_its_last_turn(scene: Scene) -> None:
    gate = Gate()

    async def after_the_queries(request: WireRequest) -> None:
        if sum(len(message.replies) for message in request.messages) > 1:
            await gate(request)

    async with provider(analyst=after_the_queries) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask(QUESTION, files=[SAMPLE])
            await gate.reached.wait()
            turns = len(await talk.of(ev.TurnTaken))
            assert turns == 2, "it looked at the table and queried it"
        before = purposes(server)
        gate.open()
        async with scene.bot(connect("chat", server)):
            job = await talk.over()
            await talk.seen(lambda: talk.status() == "active")

    again = purposes(server)[len(before) :]
    assert "planner" not in again
    assert again.count("specialist:analyst") == 2, "the turn that was cut off, and the last"
    assert [event.attempt for event in await talk.of(ev.AttemptStarted)] == [1, 1]
    assert job.latest.state == "completed"
    assert len(talk.cards()) == len(talk.files()) == len(talk.words()) == 1
    assert {status for status, _ in rows(talk.cards()[0]).values()} == {"complete"}
    assert "rose from" in shown(talk.words()[0])
    assert "Answered in part" not in shown(talk.words()[0])


async def test_side_by_side_work_goes_on_side_by_side(scene: Scene) -> None:
    gate = Gate(result("Done."))
    async with provider(planner=lambda _: TWO, writer=gate, reviewer=gate) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("Do two things")
            await talk.until(lambda job: len([w for w in job.latest.work.values() if w.state == "in_progress"]) == 2)
        async with scene.bot(connect("chat", server)):
            await talk.seen(lambda: server.stats.at_once >= 2)
            gate.open()
            await talk.over()

    assert len(talk.cards()) == len(talk.words()) == 1
    assert len(await talk.of(ev.ResultReturned)) == 2
    assert purposes(server).count("planner") == 1


async def test_a_restart_while_the_answer_is_streamed_leaves_one_answer(scene: Scene) -> None:
    slow = Reply("Tea is ready. " * 200, pause=0.08)
    whole = Reply("Tea is ready, and so are the scones.")
    async with provider(
        planner=lambda _: TWO, specialist=lambda _: result("Done."), synthesizer=in_turn(slow, whole)
    ) as server:
        async with scene.bot(connect("chat", server), terms=Terms(verifier=False)):
            talk = await scene.ask("Do two things")
            await talk.seen(lambda: [message for message in talk.words() if message["streaming"]])
        async with scene.bot(connect("chat", server), later=60.0, terms=Terms(verifier=False)):
            await talk.over()

    assert purposes(server).count("synthesizer") == 2
    assert purposes(server).count("specialist:writer") == 1
    assert len(talk.cards()) == len(talk.words()) == 1, "the half-written message is gone"
    assert "and so are the scones" in talk.said()
    assert len(await talk.of(ev.AnswerWritten)) == 1


async def test_what_is_asked_while_the_bot_is_away_is_done_when_it_is_back(scene: Scene) -> None:
    talk = await scene.ask("What is 3 * 4?")
    async with scene.bot():
        job = await talk.over()
    assert job.latest.state == "completed"
    assert card_title(talk.cards()[0]).startswith("Done in ")
    assert len(talk.words()) == 1


async def test_a_session_does_not_stay_at_work_where_slack_took_no_last_word(scene: Scene) -> None:
    gate = Gate(result("Done."))
    async with provider(planner=lambda _: TWO, writer=gate, reviewer=gate) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("Do two things")
            await gate.reached.wait()
            await talk.seen(lambda: talk.status() == "processing")
            scene.workspace.faults.add("agents.sessions.setStatus", "error", error="token_revoked", times=2)
            await talk.say("@leadhand stop")
            await talk.over()
            await talk.seen(lambda: [call for call in scene.workspace.calls("agents.sessions.setStatus") if call.error])
        assert talk.status() == "processing"
        async with scene.bot(connect("chat", server)):
            await talk.seen(lambda: talk.status() == "active")


async def test_a_session_says_that_it_waits_once_slack_takes_it(scene: Scene) -> None:
    asks = escalation("ambiguous_input", "Which one?", ["A", "B"])
    async with (
        provider(planner=lambda _: TWO, writer=lambda _: asks, reviewer=lambda _: result("Done.")) as server,
        scene.bot(connect("chat", server)),
    ):
        scene.workspace.faults.add("agents.sessions.setStatus", "error", error="token_revoked", times=6)
        talk = await scene.ask("Do two things")
        await talk.question()
        await talk.seen(lambda: talk.status() == "suspended")


async def test_two_bots_on_one_store_do_each_job_once(scene: Scene) -> None:
    async with provider() as server, scene.bot(connect("chat", server)), scene.bot(connect("chat", server)):
        talks = [await scene.ask(f"What is 3 * {n}?", channel="#sales") for n in range(3)]
        for talk in talks:
            await talk.over()
        await scene.barrier()

    for talk in talks:
        assert len(talk.cards()) == len(talk.words()) == 1
    assert purposes(server).count("planner") == len(talks)
