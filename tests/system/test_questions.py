"""A specialist asks: whom, with which reminders, and what is an answer: by the right person and the wrong one."""

from __future__ import annotations

from bot.settings import DEFAULT_TERMS
from bot.slack.show import notices
from handoff import events as ev
from handoff.contracts import AskingTerms
from handoff.state.job_state import Job
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text
from tests.providers.wire import WireRequest
from tests.system.brains import (
    Gate,
    bot_with_provider,
    connect,
    escalation,
    in_turn,
    plan,
    provider,
    purposes,
    result,
    subtask,
    takes,
)
from tests.system.scene import Json, Scene, Talk, block_of, buttons, card_title, extract_shown_text, rows

NORTH = ("north.csv", b"month,revenue\n2026-01,10\n2026-02,20\n")
SOUTH = ("south.csv", b"month,revenue\n2026-01,7\n2026-02,9\n")
AMBIGUOUS = "total revenue, and draft a short note to the board"
OFFICE = plan(subtask("place", "writer"), subtask("food", "reviewer"))


async def ask_which_file(scene: Scene) -> tuple[Talk, Json]:
    """A job that waits for an answer to "which file?"."""
    talk = await scene.ask(AMBIGUOUS, files=[NORTH, SOUTH])
    return talk, await talk.question()


def ask_first(request: WireRequest) -> Reply:
    """The writer's words: a question, and once it is answered a result with the answer in it."""
    brief = request.messages[0].text
    if "Answered by a person:" in brief:
        return result("Chosen: " + brief.rpartition("Answered by a person:")[2].split("\n")[0].strip())
    return escalation("ambiguous_input", "Which city is it?", ["Oslo", "Bergen"])


def asked_in(card: Json, row: str) -> list[Json]:
    """The parts of the details of a row."""
    plan = block_of(card, "plan")
    assert plan is not None
    (task,) = [task for task in plan["tasks"] if task["task_id"] == row]
    return list(task["details"]["elements"][0]["elements"])


def is_waiting(job: Job) -> bool:
    return job.latest_request.state == "input_required"


async def test_two_tables_and_no_name_lead_to_a_question_and_a_click_resumes(scene: Scene) -> None:
    async with scene.bot():
        talk, question = await ask_which_file(scene)
        assert list(buttons(question)) == ["north.csv", "south.csv"]
        assert "<@" + scene.person().id in extract_shown_text(question)
        await talk.wait_until_seen(lambda: talk.status() == "suspended")
        await talk.wait_until_seen(lambda: card_title(talk.cards()[0]).startswith("Waiting for an answer"))
        assert rows(talk.cards()[0])["analysis"] == ("in_progress", "analyst · waits for ")
        assert rows(talk.cards()[0])["text"][0] == "pending"
        ana = scene.person().id
        assert {"type": "user", "user_id": ana} in asked_in(talk.cards()[0], "analysis"), "it is named who is asked"
        assert "· waiting for you ·" in extract_shown_text(await scene.command("status"))
        assert list(buttons(talk.cards()[0])) == ["Stop"], "Slack shows none of its own while nobody works"

        await scene.person("ben").click(talk.channel, question["ts"], "answer:1")
        told = await talk.wait_until_seen(lambda: scene.person("ben").ephemerals(talk.channel))
        assert told[0]["text"] == f"That question is for <@{ana}>: nobody else can answer it."
        await scene.person().click(talk.channel, question["ts"], "answer:1")
        await talk.over()
        await talk.wait_until_seen(lambda: talk.status() == "active")

    (closed, answer) = talk.words()
    assert not buttons(closed)
    assert f"<@{scene.person().id}> answered “south.csv”" in extract_shown_text(closed)
    assert "Total revenue of all rows: **16**" in extract_shown_text(answer), "the file that was chosen: 7 and 9"
    assert "Answered in part" not in extract_shown_text(answer)
    (decided,) = await talk.of(ev.QuestionAnswered)
    assert (decided.user, decided.text) == (scene.person().id, "south.csv")


async def test_a_sibling_goes_on_while_a_question_is_open_and_a_plain_reply_resumes(scene: Scene) -> None:
    gate = Gate(result("Soup."))
    async with bot_with_provider(scene, planner=lambda _: OFFICE, writer=ask_first, reviewer=gate) as server:
        talk = await scene.ask("Where shall we meet, and what do we eat?")
        await talk.question()
        await talk.wait_until_seen(lambda: rows(talk.cards()[0]).get("food", ("",))[0] == "in_progress")
        gate.open()
        await talk.until(is_waiting)
        assert len(await talk.of(ev.ResultReturned)) == 1, "the sibling's"
        reply = await talk.say("Trondheim, of course")
        await talk.over()
        await talk.wait_until_seen(lambda: talk.reactions(reply) == ["eyes"])

    assert "Chosen: Trondheim, of course" in talk.join_bot_texts()
    assert purposes(server).count("specialist:writer") == 2
    (closed, _) = talk.words()
    await talk.wait_until_seen(lambda: "answered “Trondheim, of course”" in extract_shown_text(closed))
    assert len(talk.cards()) == 1


async def test_a_file_with_an_answer_is_not_taken_and_its_person_is_told(scene: Scene) -> None:
    async with bot_with_provider(scene, planner=lambda _: plan(subtask("place", "writer")), writer=ask_first):
        talk = await scene.ask("Where shall we meet?")
        await talk.question()
        await talk.say("Oslo", files=[NORTH])
        told = await talk.wait_until_seen(lambda: scene.person().ephemerals(talk.channel))
        await talk.over()
    assert [message["text"] for message in told] == [notices.WORDS_ONLY]
    assert "Chosen: Oslo" in talk.join_bot_texts()


async def test_an_answer_that_is_offered_is_no_command(scene: Scene) -> None:
    def status_or_help(request: WireRequest) -> Reply:
        reply = ask_first(request)
        return escalation("ambiguous_input", "Which page?", ["Status", "Help"]) if "Oslo" in str(reply) else reply

    async with bot_with_provider(scene, planner=lambda _: plan(subtask("place", "writer")), writer=status_or_help):
        talk = await scene.ask("Which page shall I write?")
        await talk.question()
        await talk.say("@leadhand status")
        await talk.over()
    assert "Chosen: status" in talk.join_bot_texts()
    assert not scene.person().ephemerals(talk.channel)


LETTER = plan(subtask("letter", "writer", intent="Write the letter with the price."))


def tone(request: WireRequest) -> Reply:
    """A writer that asks for the tone, and then says in its result what it knows."""
    brief = first_text(request)
    if "Answered by a person:" not in brief:
        return escalation("ambiguous_input", "Which tone?", ["Formal", "Friendly"])
    chosen = brief.rpartition("Answered by a person:")[2].split("\n")[0].strip()
    return result(f"Tone: {chosen}; euros: {'euros' in brief}")


async def test_what_do_you_mean_is_explained_and_an_instruction_is_applied_and_neither_is_an_answer(
    scene: Scene,
) -> None:
    aims = in_turn(takes("explain"), takes("correction"))
    async with bot_with_provider(scene, planner=lambda _: LETTER, writer=tone, dispatcher=aims):
        talk = await scene.ask("Write the letter")
        question = await talk.question()
        ts = await talk.say("what do you mean?")
        told = await talk.wait_until_seen(
            lambda: [one for one in talk.words() if "*The question:* Which tone?" in extract_shown_text(one)]
        )
        job = await talk.job()
        assert job is not None
        assert job.latest_request.state == "input_required"
        assert buttons(question), "the question stays open"
        await talk.wait_until_seen(lambda: talk.reactions(ts) == ["eyes"])
        ts = await talk.say("@leadhand use euros, not dollars")
        await talk.wait_until_seen(lambda: "memo" in talk.reactions(ts))
        job = await talk.job()
        assert job is not None
        assert job.latest_request.open_questions
        await talk.say("friendly, please")
        job = await talk.over()

    assert (
        "*Do part letter* waits for your answer. Its task is: Write the letter with the price."
        in extract_shown_text(told[0])
    )
    assert "*You can answer:* Formal · Friendly — or in your own words." in extract_shown_text(told[0])
    assert len(told) == len(job.requests) == 1
    assert job.latest_request.run.answer == "Tone: friendly, please; euros: True"


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


async def about_ben(scene: Scene) -> Talk:
    talk = await scene.ask(f"Where shall we meet? Ask <@{scene.person('ben').id}>")
    await talk.question()
    return talk


async def test_a_question_for_a_colleague_says_so_everywhere_and_is_the_colleagues_to_answer(scene: Scene) -> None:
    """The colleague spoke in the thread before, and so may be asked by name."""
    ana, ben = scene.person().id, scene.person("ben").id
    ts = await scene.person("ben").say("#general", "We meet on Friday.")
    async with bot_with_provider(scene, planner=lambda _: plan(subtask("place", "writer")), writer=ask_ben):
        talk = scene.thread("#general", ts)
        await talk.say("@leadhand Where shall we meet?")
        await talk.question()
        question = talk.words()[0]
        assert f"<@{ben}>" in extract_shown_text(question)
        assert f"<@{ana}>" not in extract_shown_text(question)
        assert f"Waits for <@{ben}>" in extract_shown_text(question)
        await talk.until(is_waiting)
        await talk.wait_until_seen(lambda: talk.status() == "suspended")
        await talk.wait_until_seen(lambda: ben in str(block_of(talk.cards()[0], "plan")))
        assert ana not in str(block_of(talk.cards()[0], "plan"))
        assert f"· waiting for <@{ben}> ·" in extract_shown_text(await scene.command("status"))
        assert f"waiting for <@{ben}>" in extract_shown_text(await scene.command(f"status {talk.key.job}"))
        assert "waiting for you" not in extract_shown_text(await scene.command(f"status {talk.key.job}"))

        await talk.say("Oslo")
        told = await talk.wait_until_seen(lambda: [one["text"] for one in scene.person().ephemerals(talk.channel)][3:])
        assert told == [notices.describe_who_may_answer((ben,))]
        await talk.say("Bergen", who="ben")
        await talk.over()
    assert "Chosen: Bergen" in talk.join_bot_texts()
    assert [event.user for event in await talk.of(ev.QuestionAnswered)] == [ben]


async def test_two_instances_remind_once_and_the_requester_next(scene: Scene) -> None:
    ana, ben = scene.person().id, scene.person("ben").id
    terms = DEFAULT_TERMS.model_copy(update={"asking": AskingTerms(remind_after=HOUR, **ALL_DAY)})
    words = {"planner": lambda _: plan(subtask("place", "writer")), "writer": ask_ben}
    async with provider(**words) as server:
        async with scene.bot(connect("chat", server), terms=terms):
            talk = await about_ben(scene)
            await talk.until(is_waiting)
        one, two = (scene.bot(connect("chat", server), terms=terms, later=1.1 * HOUR) for _ in range(2))
        async with one, two:
            await talk.wait_until_seen(lambda: len(talk.words()) == 2)
            await scene.barrier()
        question, reminder = talk.words()
        assert extract_shown_text(reminder).startswith(
            f"<@{ben}>: a question still waits for an answer: Ben, which city is it?"
        )
        assert buttons(question), "it is still to be answered"
        async with scene.bot(connect("chat", server), terms=terms, later=2.3 * HOUR):
            await talk.wait_until_seen(lambda: len(talk.words()) == 3)
            assert extract_shown_text(talk.words()[2]).startswith(f"<@{ana}>: ")
            assert "You may answer it, too." in extract_shown_text(talk.words()[2])
            await talk.say("Oslo")
            await talk.over()
    assert [event.to for event in await talk.of(ev.QuestionReminded)] == [(ben,), (ana,)]
    assert "Chosen: Oslo" in talk.join_bot_texts()


async def test_what_nobody_answers_is_assumed_and_the_answer_says_so(scene: Scene) -> None:
    terms = DEFAULT_TERMS.model_copy(update={"asking": AskingTerms(expire_after=48 * HOUR, assume="first", **ALL_DAY)})
    words = {"planner": lambda _: plan(subtask("place", "writer")), "writer": ask_ben}
    async with provider(**words) as server:
        async with scene.bot(connect("chat", server), terms=terms):
            talk = await about_ben(scene)
            await talk.until(is_waiting)
        async with scene.bot(connect("chat", server), terms=terms, later=49 * HOUR):
            await talk.over()
            await talk.wait_until_seen(lambda: not buttons(talk.words()[0]))
    question, answer = talk.words()
    assert "Chosen: Oslo" in extract_shown_text(answer)
    assert "Nobody answered “Ben, which city is it?” within 2 days; I assumed: Oslo" in extract_shown_text(answer)
    assert "Nobody answered within 2 days; I assumed: “Oslo”" in extract_shown_text(question)


async def test_a_reply_that_could_answer_two_questions_is_taken_for_none_until_it_says_which(scene: Scene) -> None:
    both = plan(subtask("place", "writer"), subtask("food", "reviewer"))
    async with bot_with_provider(scene, planner=lambda _: both, writer=ask_anybody, reviewer=ask_anybody):
        talk = await scene.ask("Where shall we meet, and what do we eat?")
        await talk.question(2)
        await talk.say("Soup")
        await talk.wait_until_seen(lambda: "could answer more than one question" in talk.join_bot_texts())
        assert not await talk.of(ev.QuestionAnswered)
        assert all("Do part" in extract_shown_text(message) for message in talk.words())
        await talk.say("food: Soup")
        await talk.until(lambda job: bool(job.latest_request.subtasks["food"].answer_notes))
        await talk.say("Oslo")
        job = await talk.over()
    subtasks = job.latest_request.subtasks
    assert [subtasks[name].question_answers[0].text for name in ("place", "food")] == ["Oslo", "Soup"]
