"""Open questions and what is no answer to them: "what do you mean?", and an instruction that is something else."""

from __future__ import annotations

from tests.providers.rendering import Reply
from tests.providers.scripts import first_text
from tests.providers.wire import WireRequest
from tests.system.brains import escalation, plan, played, purposes, result, subtask
from tests.system.scene import Scene, buttons, shown
from tests.system.test_follow_ups import reactions, takes

LETTER = plan(subtask("letter", "writer", intent="Write the letter with the price."))


def tone(request: WireRequest) -> Reply:
    """A writer that asks for the tone, and then says in its result what it knows."""
    brief = first_text(request)
    if "Answered by a person:" not in brief:
        return escalation("ambiguous_input", "Which tone?", ["Formal", "Friendly"])
    chosen = brief.rpartition("Answered by a person:")[2].split("\n")[0].strip()
    return result(f"Tone: {chosen}; euros: {'euros' in brief}")


async def test_what_do_you_mean_is_explained_and_answers_nothing(scene: Scene) -> None:
    async with played(scene, planner=lambda _: LETTER, writer=tone, dispatcher=lambda _: takes("explain")):
        talk = await scene.ask("Write the letter")
        question = await talk.question()
        ts = await talk.say("what do you mean?")
        told = await talk.seen(lambda: [one for one in talk.words() if "*The question:* Which tone?" in shown(one)])
        job = await talk.job()
        assert job is not None
        assert job.latest.state == "input_required"
        assert buttons(question), "the question stays open"
        await talk.seen(lambda: reactions(talk, ts) == ["eyes"])
        await talk.say("Friendly")
        job = await talk.over()

    assert "*Do part letter* waits for your answer. Its task is: Write the letter with the price." in shown(told[0])
    assert "*You can answer:* Formal · Friendly — or in your own words." in shown(told[0])
    assert job.latest.run.answer == "Tone: Friendly; euros: False"
    assert len(told) == 1


async def test_an_instruction_is_no_answer_and_is_applied(scene: Scene) -> None:
    async with played(scene, planner=lambda _: LETTER, writer=tone, dispatcher=lambda _: takes("correction")):
        talk = await scene.ask("Write the letter")
        await talk.question()
        ts = await talk.say("@leadhand use euros, not dollars")
        await talk.seen(lambda: "memo" in reactions(talk, ts))
        job = await talk.job()
        assert job is not None
        assert job.latest.open_questions
        await talk.say("@leadhand friendly, please")
        job = await talk.over()

    assert len(job.asks) == 1
    assert job.latest.run.answer == "Tone: friendly, please; euros: True"


async def test_an_answer_in_ones_own_words_is_one(scene: Scene) -> None:
    async with played(scene, planner=lambda _: LETTER, writer=tone, dispatcher=lambda _: takes("answer")) as server:
        talk = await scene.ask("Write the letter")
        await talk.question()
        await talk.say("as you would write to an old friend")
        job = await talk.over()
        (closed, _) = talk.words()
        await talk.seen(lambda: not buttons(closed))

    assert job.latest.run.answer == "Tone: as you would write to an old friend; euros: False"
    assert purposes(server).count("dispatcher") == 1


async def test_what_is_said_to_a_colleague_is_no_answer(scene: Scene) -> None:
    async with played(scene, planner=lambda _: LETTER, writer=tone) as server:
        talk = await scene.ask("Write the letter")
        await talk.question()
        await talk.say("@ben formal?")
        await scene.barrier()
        job = await talk.job()

    assert job is not None
    assert job.latest.open_questions
    assert "dispatcher" not in purposes(server)
