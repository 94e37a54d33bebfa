"""A specialist asks: buttons, clicks and replies, by the right person and the wrong one, after a restart too."""

from __future__ import annotations

from bot.slack.show import notices
from handoff import events as ev
from handoff.state.job_state import Job
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, connect, escalation, plan, played, provider, purposes, result, subtask
from tests.system.scene import Json, Scene, Talk, block_of, buttons, card_title, rows, shown

NORTH = ("north.csv", b"month,revenue\n2026-01,10\n2026-02,20\n")
SOUTH = ("south.csv", b"month,revenue\n2026-01,7\n2026-02,9\n")
AMBIGUOUS = "total revenue, and draft a short note to the board"
OFFICE = plan(subtask("place", "writer"), subtask("food", "reviewer"))


async def asked(scene: Scene) -> tuple[Talk, Json]:
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


def waiting(job: Job) -> bool:
    return job.latest.state == "input_required"


async def test_two_tables_and_no_name_lead_to_a_question_and_a_click_resumes(scene: Scene) -> None:
    async with scene.bot():
        talk, question = await asked(scene)
        assert list(buttons(question)) == ["north.csv", "south.csv"]
        assert "<@" + scene.person().id in shown(question)
        await talk.seen(lambda: talk.status() == "suspended")
        await talk.seen(lambda: card_title(talk.cards()[0]).startswith("Waiting for an answer"))
        assert rows(talk.cards()[0])["analysis"] == ("in_progress", "analyst · waits for ")
        assert rows(talk.cards()[0])["text"][0] == "pending"
        ana = scene.person().id
        assert {"type": "user", "user_id": ana} in asked_in(talk.cards()[0], "analysis"), "it is named who is asked"
        assert "· waiting for you ·" in shown(await scene.command("status"))
        assert list(buttons(talk.cards()[0])) == ["Stop"], "Slack shows none of its own while nobody works"

        await scene.person("ben").click(talk.channel, question["ts"], "answer:1")
        told = await talk.seen(lambda: scene.person("ben").ephemerals(talk.channel))
        assert told[0]["text"] == f"That question is for <@{ana}>: nobody else can answer it."
        await scene.person().click(talk.channel, question["ts"], "answer:1")
        await talk.over()
        await talk.seen(lambda: talk.status() == "active")

    (closed, answer) = talk.words()
    assert not buttons(closed)
    assert f"<@{scene.person().id}> answered “south.csv”" in shown(closed)
    assert "Total revenue of all rows: **16**" in shown(answer), "the file that was chosen: 7 and 9"
    assert "Answered in part" not in shown(answer)
    (decided,) = await talk.of(ev.QuestionAnswered)
    assert (decided.user, decided.text) == (scene.person().id, "south.csv")


async def test_a_sibling_goes_on_while_a_question_is_open_and_a_plain_reply_resumes(scene: Scene) -> None:
    gate = Gate(result("Soup."))
    async with played(scene, planner=lambda _: OFFICE, writer=ask_first, reviewer=gate) as server:
        talk = await scene.ask("Where shall we meet, and what do we eat?")
        await talk.question()
        await talk.seen(lambda: rows(talk.cards()[0]).get("food", ("",))[0] == "in_progress")
        gate.open()
        await talk.until(waiting)
        assert len(await talk.of(ev.ResultReturned)) == 1, "the sibling's"
        reply = await talk.say("Trondheim, of course")
        await talk.over()
        await talk.seen(lambda: reacted(scene, talk, reply) == ["eyes"])

    assert "Chosen: Trondheim, of course" in talk.said()
    assert purposes(server).count("specialist:writer") == 2
    (closed, _) = talk.words()
    await talk.seen(lambda: "answered “Trondheim, of course”" in shown(closed))
    assert len(talk.cards()) == 1


async def test_a_file_with_an_answer_is_not_taken_and_its_person_is_told(scene: Scene) -> None:
    async with played(scene, planner=lambda _: plan(subtask("place", "writer")), writer=ask_first):
        talk = await scene.ask("Where shall we meet?")
        await talk.question()
        await talk.say("Oslo", files=[NORTH])
        told = await talk.seen(lambda: scene.person().ephemerals(talk.channel))
        await talk.over()
    assert [message["text"] for message in told] == [notices.WORDS_ONLY]
    assert "Chosen: Oslo" in talk.said()


def reacted(scene: Scene, talk: Talk, ts: str) -> list[str]:
    """The reactions to a reply."""
    thread = scene.workspace.thread(talk.channel, talk.ts)
    return [each["name"] for message in thread if message["ts"] == ts for each in message.get("reactions", ())]


async def test_a_stale_click_gets_its_reason_and_changes_nothing(scene: Scene) -> None:
    async with played(scene, planner=lambda _: plan(subtask("place", "writer")), writer=ask_first):
        talk = await scene.ask("Where shall we meet?")
        question = await talk.question()
        await talk.say("Oslo")
        await talk.over()
        await scene.person().click(talk.channel, question["ts"], "answer:1")
        told = await talk.seen(lambda: scene.person().ephemerals(talk.channel))
        await scene.barrier()

    assert "closed" in told[0]["text"]
    (closed, answer) = talk.words()
    assert "Chosen: Oslo" in shown(answer)
    assert "answered “Oslo”" in shown(closed)
    assert len(await talk.of(ev.QuestionAnswered)) == 1


async def test_two_clicks_at_once_are_one_answer(scene: Scene) -> None:
    async with played(scene, planner=lambda _: plan(subtask("place", "writer")), writer=ask_first):
        talk = await scene.ask("Where shall we meet?")
        question = await talk.question()
        ana = scene.person()
        await ana.click(talk.channel, question["ts"], "answer:0")
        await ana.click(talk.channel, question["ts"], "answer:1")
        await talk.over()
        await scene.barrier()

    assert len(talk.words()) == 2
    (closed, answer) = talk.words()
    assert "Chosen: Oslo" in shown(answer)
    assert "answered “Oslo”" in shown(closed), "the question says what counted"


async def test_a_question_outlives_the_bot(scene: Scene) -> None:
    words = {"planner": lambda _: OFFICE, "writer": ask_first, "reviewer": lambda _: result("Soup.")}
    async with provider(**words) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("Where shall we meet, and what do we eat?")
            question = await talk.question()
            await talk.until(waiting)
        calls = len(server.requests)
        async with scene.bot(connect("chat", server)):
            await scene.person().click(talk.channel, question["ts"], "answer:1")
            await talk.over()

    assert "Chosen: Bergen" in talk.said()
    assert purposes(server)[calls:] == ["specialist:writer", "synthesizer"], "what was done stays done"
    assert len(talk.cards()) == 1
    assert len(talk.words()) == 2


async def test_an_answer_given_while_the_bot_was_away_counts(scene: Scene) -> None:
    async with provider(planner=lambda _: plan(subtask("place", "writer")), writer=ask_first) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("Where shall we meet?")
            await talk.question()
        await talk.say("Bodø")
        async with scene.bot(connect("chat", server)):
            await talk.over()

    assert "Chosen: Bodø" in talk.said()


async def test_a_mention_while_a_question_is_open_is_its_answer(scene: Scene) -> None:
    async with played(scene, planner=lambda _: plan(subtask("place", "writer")), writer=ask_first):
        talk = await scene.ask("Where shall we meet?")
        await talk.question()
        await talk.say("Bergen, @leadhand")
        job = await talk.over()
        await scene.barrier()

    assert len(job.asks) == 1
    assert "Chosen: Bergen" in talk.said()
    assert len(await talk.of(ev.QuestionAnswered)) == 1


async def test_two_open_questions_are_answered_one_by_one(scene: Scene) -> None:
    both = plan(subtask("place", "writer"), subtask("food", "reviewer"))
    async with played(scene, planner=lambda _: both, writer=ask_first, reviewer=ask_first):
        talk = await scene.ask("Where shall we meet, and what do we eat?")
        await talk.question(2)
        _, second = talk.words()
        await scene.person().click(talk.channel, second["ts"], "answer:1")
        await talk.until(lambda job: sum(bool(work.answers) for work in job.latest.work.values()) == 1)
        await talk.say("Oslo")
        job = await talk.over()

    assert all(work.state == "complete" for work in job.latest.work.values())
    assert {event.subtask for event in await talk.of(ev.QuestionAnswered)} == {"place", "food"}
    assert {label for message in talk.words() for label in buttons(message)} == {"Evidence"}


async def test_an_answer_that_is_offered_is_no_command(scene: Scene) -> None:
    def status_or_help(request: WireRequest) -> Reply:
        reply = ask_first(request)
        return escalation("ambiguous_input", "Which page?", ["Status", "Help"]) if "Oslo" in str(reply) else reply

    async with played(scene, planner=lambda _: plan(subtask("place", "writer")), writer=status_or_help):
        talk = await scene.ask("Which page shall I write?")
        await talk.question()
        await talk.say("@leadhand status")
        await talk.over()
    assert "Chosen: status" in talk.said()
    assert not scene.person().ephemerals(talk.channel)
