"""Questions to others than the requester, reminders in working hours, expiry, and several questions at once."""

from __future__ import annotations

from bot.settings import TERMS
from bot.slack.show import notices
from handoff import events as ev
from handoff.contracts import Asking
from handoff.state.job_state import Job
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import connect, escalation, plan, played, provider, result, subtask
from tests.system.scene import Scene, Talk, block_of, buttons, shown

ALL_DAY = {"opens": 0, "closes": 24, "days": 7}
HOUR = 3600.0


def ask_ben(request: WireRequest) -> Reply:
    """The writer's words: a question for Ben, and once it is answered a result with the answer in it."""
    brief = request.messages[0].text
    for said in ("Answered by a person:", "Nobody answered; assume:"):
        if said in brief:
            return result("Chosen: " + brief.rpartition(said)[2].split("\n")[0].strip())
    return escalation("ambiguous_input", "Ben, which city is it?", ["Oslo", "Bergen"])


def ask_anybody(request: WireRequest) -> Reply:
    answered = ask_ben(request)
    return answered if "Chosen" in str(answered) else escalation("ambiguous_input", "Which one is it?")


def waiting(job: Job) -> bool:
    return job.latest.state == "input_required"


async def about_ben(scene: Scene) -> Talk:
    talk = await scene.ask(f"Where shall we meet? Ask <@{scene.person('ben').id}>")
    await talk.question()
    return talk


async def test_a_question_for_a_colleague_says_so_everywhere_and_is_the_colleagues_to_answer(scene: Scene) -> None:
    ana, ben = scene.person().id, scene.person("ben").id
    async with played(scene, planner=lambda _: plan(subtask("place", "writer")), writer=ask_ben):
        talk = await about_ben(scene)
        question = talk.words()[0]
        assert f"<@{ben}>" in shown(question)
        assert f"<@{ana}>" not in shown(question)
        assert f"Waits for <@{ben}>" in shown(question)
        await talk.until(waiting)
        await talk.seen(lambda: talk.status() == "suspended")
        await talk.seen(lambda: ben in str(block_of(talk.cards()[0], "plan")))
        assert ana not in str(block_of(talk.cards()[0], "plan"))
        assert f"· waiting for <@{ben}> ·" in shown(await scene.command("status"))
        assert f"waiting for <@{ben}>" in shown(await scene.command(f"status {talk.key.job}"))
        assert "waiting for you" not in shown(await scene.command(f"status {talk.key.job}"))

        await talk.say("Oslo")
        told = await talk.seen(lambda: [one["text"] for one in scene.person().ephemerals(talk.channel)][3:])
        assert told == [notices.not_asked((ben,))]
        await talk.say("Bergen", who="ben")
        await talk.over()
    assert "Chosen: Bergen" in talk.said()
    assert [event.user for event in await talk.of(ev.QuestionAnswered)] == [ben]


async def test_two_instances_remind_once_and_the_requester_next(scene: Scene) -> None:
    ana, ben = scene.person().id, scene.person("ben").id
    terms = TERMS.model_copy(update={"asking": Asking(remind_after=HOUR, **ALL_DAY)})
    words = {"planner": lambda _: plan(subtask("place", "writer")), "writer": ask_ben}
    async with provider(**words) as server:
        async with scene.bot(connect("chat", server), terms=terms):
            talk = await about_ben(scene)
            await talk.until(waiting)
        one, two = (scene.bot(connect("chat", server), terms=terms, later=1.1 * HOUR) for _ in range(2))
        async with one, two:
            await talk.seen(lambda: len(talk.words()) == 2)
            await scene.barrier()
        question, reminder = talk.words()
        assert shown(reminder).startswith(f"<@{ben}>: a question still waits for an answer: Ben, which city is it?")
        assert buttons(question), "it is still to be answered"
        async with scene.bot(connect("chat", server), terms=terms, later=2.3 * HOUR):
            await talk.seen(lambda: len(talk.words()) == 3)
            assert shown(talk.words()[2]).startswith(f"<@{ana}>: ")
            assert "You may answer it, too." in shown(talk.words()[2])
            await talk.say("Oslo")
            await talk.over()
    assert [event.to for event in await talk.of(ev.QuestionReminded)] == [(ben,), (ana,)]
    assert "Chosen: Oslo" in talk.said()


async def test_what_nobody_answers_is_assumed_and_the_answer_says_so(scene: Scene) -> None:
    terms = TERMS.model_copy(update={"asking": Asking(expire_after=48 * HOUR, assume="first", **ALL_DAY)})
    words = {"planner": lambda _: plan(subtask("place", "writer")), "writer": ask_ben}
    async with provider(**words) as server:
        async with scene.bot(connect("chat", server), terms=terms):
            talk = await about_ben(scene)
            await talk.until(waiting)
        async with scene.bot(connect("chat", server), terms=terms, later=49 * HOUR):
            await talk.over()
            await talk.seen(lambda: not buttons(talk.words()[0]))
    question, answer = talk.words()
    assert "Chosen: Oslo" in shown(answer)
    assert "Nobody answered “Ben, which city is it?” within 2 days; I assumed: Oslo" in shown(answer)
    assert "Nobody answered within 2 days; I assumed: “Oslo”" in shown(question)


async def test_a_reply_that_could_answer_two_questions_is_taken_for_none_until_it_says_which(scene: Scene) -> None:
    both = plan(subtask("place", "writer"), subtask("food", "reviewer"))
    async with played(scene, planner=lambda _: both, writer=ask_anybody, reviewer=ask_anybody):
        talk = await scene.ask("Where shall we meet, and what do we eat?")
        await talk.question(2)
        await talk.say("Soup")
        await talk.seen(lambda: "could answer more than one question" in talk.said())
        assert not await talk.of(ev.QuestionAnswered)
        assert all("Do part" in shown(message) for message in talk.words())
        await talk.say("food: Soup")
        await talk.until(lambda job: bool(job.latest.work["food"].answers))
        await talk.say("Oslo")
        job = await talk.over()
    work = job.latest.work
    assert [work[name].answered[0].text for name in ("place", "food")] == ["Oslo", "Soup"]
