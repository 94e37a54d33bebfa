"""People have something tried again, through the real app: what is kept, what is run again, and what is asked first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.slack.views.try_again import GO_ON_ACTION, TRY_AGAIN_ACTION
from handoff import events as ev
from handoff.state.job_state import RequestState
from specialists.registry import load_crew
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of, task_of
from tests.providers.wire import WireRequest
from tests.specialists.far_side import FarSide, far_side
from tests.system.brains import (
    Gate,
    after_calls,
    bot_with_provider,
    by_part,
    connect,
    in_turn,
    plan,
    provider,
    purposes,
    result,
    subtask,
    tool_call,
)
from tests.system.scene import SAMPLE, Scene, Talk, buttons, card_title, extract_shown_text, rows
from tests.system.test_write_tools import crew_with

FIVE = plan(
    subtask("t1", "analyst"),
    subtask("t2", "reviewer"),
    subtask("t3", "analyst", ["t1"]),
    subtask("t4", "reviewer", ["t2"]),
    subtask("t5", "reviewer", ["t3", "t4"]),
)
AGAIN = "Try what is missing again"
PINS = after_calls(tool_call("post_note", text="tea"))


def states(request: RequestState) -> dict[str, str]:
    return {name: subtask.state for name, subtask in request.subtasks.items()}


def tasks(requests: list[WireRequest]) -> list[str]:
    """The parts that specialists were asked to do, in order of their names."""
    found = [task_of(one) for one in requests if purpose_of(one).startswith("specialist")]
    return sorted(text.partition("part ")[2].partition(".")[0] for text in found)


async def alone(talk: Talk, who: str, words: str) -> None:
    """Somebody alone is told something."""
    person = talk.scene.person(who)
    await talk.wait_until_seen(
        lambda: [one for one in person.ephemerals(talk.channel) if words in extract_shown_text(one)]
    )


async def test_two_people_press_the_button_at_once_on_two_instances(scene: Scene) -> None:
    """T1 failed, T3 was skipped for want of it, and T5 was done without T3: these three are run again, once."""
    gate, failing = Gate(result("Alpha is done.", 95)), [Fault("bad_request")]
    rest = by_part(
        t2=lambda _: result("Beta is done.", 95),
        t3=lambda _: result("Gamma is done.", 95),
        t4=lambda _: result("Delta is done.", 88),
        t5=lambda _: result("Both could be weighed.", 90),
    )

    async def answer_request(request: WireRequest) -> Reply | Fault | None:
        if "part t1." in task_of(request):
            return failing.pop() if failing else await gate(request)
        return rest(request)

    admin = {"admins": frozenset({scene.person("cleo").id})}
    async with provider(planner=lambda _: FIVE, specialist=answer_request) as server:
        model = connect("chat", server)
        async with scene.bot(model, **admin), scene.bot(model, **admin):
            talk = await scene.ask("Do five things")
            await talk.over()
            end = talk.words()[-1]
            assert AGAIN in buttons(end)
            before = len(server.requests)
            await asyncio.gather(
                scene.person("ana").click(talk.channel, end["ts"], TRY_AGAIN_ACTION),
                scene.person("cleo").click(talk.channel, end["ts"], TRY_AGAIN_ACTION),
            )
            people = (scene.person("ana"), scene.person("cleo"))
            told = await talk.wait_until_seen(lambda: [each for one in people for each in one.ephemerals(talk.channel)])
            gate.open()
            job = await talk.over(2)
            await scene.barrier("ben")
    first, again = job.requests
    assert states(first)["t1"] == "error"
    assert set(states(again).values()) == {"complete"}
    assert tasks(server.requests[before:]) == ["t1", "t3", "t5"]
    assert "planner" not in [purpose_of(one) for one in server.requests[before:]]
    assert [name for name, subtask in again.subtasks.items() if subtask.is_reused] == ["t2", "t4"]
    assert "is having that tried again already" in "".join(map(extract_shown_text, told))
    answer = extract_shown_text(talk.words()[-1])
    assert "Answered in part" not in answer
    assert "Beta is done." in answer or "Both could be weighed." in answer
    assert AGAIN not in buttons(talk.words()[-1])
    card = talk.cards()[1]
    assert {name: details for name, (_, details) in rows(card).items()}["t2"].endswith("kept")
    assert ": runs again “Do part t1”, “Do part t3” and “Do part t5”, keeps 2 of 5 parts" in extract_shown_text(card)
    assert (len(talk.cards()), len(talk.words())) == (2, 2), "one card and one end for each"


class Board:
    """A board on which a note is pinned, and a reviewer who fails the first time."""

    def __init__(self, scene: Scene, side: FarSide, folder: Path) -> None:
        self.scene, self.side, self.folder = scene, side, folder

    @asynccontextmanager
    async def bot(self) -> AsyncIterator[Talk]:
        """A thread in which the note is pinned."""
        parts = plan(subtask("pin", "clerk"), subtask("tell", "clerk2", ["pin"]))
        words = {"planner": lambda _: parts, "clerk": PINS, "clerk2": lambda _: result("Told.")}
        async with provider(**words) as server:
            model = connect("chat", server)
            async with self.scene.bot(model, crew=crew_with(self.folder, self.side.tool())):
                talk = await self.scene.ask("Pin it and tell them")
                await talk.over()
                yield talk


@pytest.fixture
async def board(scene: Scene, tmp_path: Path) -> AsyncIterator[Board]:
    async with far_side() as side:
        yield Board(scene, side, tmp_path)


@pytest.mark.parametrize(("button_label", "notes"), [("Keep what is done", 1), ("Do it again", 2)])
async def test_what_was_written_is_listed_first_and_not_written_again_without_a_yes(
    board: Board, button_label: str, notes: int
) -> None:
    async with board.bot() as talk:
        await talk.say("@leadhand retry from pin")
        question = await talk.wait_until_seen(lambda: [one for one in talk.words() if button_label in buttons(one)])
        assert "• post_note(text='tea')" in extract_shown_text(question[0])
        assert board.side.calls == 1, "nothing begins before people have decided"
        asked = await talk.until(lambda job: job.latest_request.open_questions)
        assert asked[""].whom == (board.scene.person().id,)
        await talk.press(button_label, "ben")
        await alone(talk, "ben", "nobody else can answer it")
        await talk.press(button_label)
        job = await talk.over(2)
    assert board.side.notes == ["tea"] * notes
    assert set(states(job.latest_request).values()) == {"complete"}
    if notes == 1:
        assert "carried out earlier in this task" in str(job.latest_request.subtasks["pin"].result)


def reads_first(gate: Callable[[WireRequest], object]) -> Callable[[WireRequest], object]:
    """A specialist that calculates, and then waits at the gate."""

    def words(request: WireRequest) -> object:
        if any(message.replies for message in request.messages):
            return gate(request)
        return tool_call("calculate", code="6 * 7")

    return words


async def test_continue_after_a_stop_goes_on_from_the_last_turn_on_another_instance(scene: Scene) -> None:
    gate = Gate(result("It is 42."))
    parts = plan(subtask("sum", "analyst"), subtask("text", "writer"), subtask("check", "reviewer", ["sum"]))
    words = {"planner": lambda _: parts, "analyst": reads_first(gate), "writer": lambda _: result("Written.")}
    async with provider(**words, reviewer=lambda _: result("Checked.")) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("Calculate and write")
            await gate.arrival_event.wait()
            await talk.until(lambda job: job.latest_request.subtasks["text"].state == "complete")
            await talk.say("@leadhand stop")
            await talk.over()
            await talk.wait_until_seen(lambda: "Continue" in buttons(talk.words()[-1]))
        end, before = talk.words()[-1], len(server.requests)
        gate.open()
        async with scene.bot(connect("chat", server)):
            await scene.person().click(talk.channel, end["ts"], GO_ON_ACTION)
            job = await talk.over(2)
    asked = server.requests[before:]
    analysts = [one for one in asked if purpose_of(one) == "specialist:analyst"]
    assert len(analysts) == 1, "its first turn is not taken again"
    assert any("42" in reply.text for message in analysts[0].messages for reply in message.replies)
    assert purposes(server).count("planner") == purposes(server).count("specialist:writer") == 1
    assert states(job.latest_request) == {"sum": "complete", "text": "complete", "check": "complete"}
    assert job.latest_request.state == "completed"
    first, again = (request.usage.calls for request in job.requests)
    assert first + again == len(server.requests) - 1, "none is charged twice; the one that was cut off brought nothing"
    assert "Second try: goes on with “Do part sum” and “Do part check”, keeps 1 of 3 parts" in extract_shown_text(
        talk.cards()[1]
    )


async def test_what_cannot_be_tried_again_is_said_in_one_line(scene: Scene) -> None:
    parts = plan(subtask("prices", "writer"), subtask("terms", "writer"))
    async with bot_with_provider(scene, planner=lambda _: parts, writer=lambda _: result("Done.")):
        talk = await scene.ask("Do both")
        await talk.over()
        await talk.say("@leadhand retry")
        await alone(talk, "ana", "Nothing of it failed")
        await talk.say("@leadhand retry from the pricing")
        await alone(talk, "ana", "• 1. Do part prices (prices)")
        await talk.say("@leadhand retry", who="ben")
        await alone(talk, "ben", "who asked for it, or an admin can have it tried again")
        other = await scene.ask("retry", who="ben")
        await alone(other, "ben", "nothing in this thread to try again")
        told = await scene.command(f"retry {talk.key.job} 2")
        assert "I run “Do part terms” again" in extract_shown_text(told)
        job = await talk.over(2)
    assert [name for name, work in job.latest_request.subtasks.items() if work.is_reused] == ["prices"]
    assert len(await talk.of(ev.RequestAdded)) == 2
    assert card_title(talk.cards()[1]).startswith("Done in ")


async def test_a_word_without_a_mention_and_a_file_that_is_not_kept_any_more(scene: Scene) -> None:
    parts = plan(subtask("sum", "analyst", intent="Sum the revenue in sales.csv."), subtask("text", "writer"))
    flaky = in_turn(Fault("bad_request"), result("There was no file."))
    async with bot_with_provider(scene, planner=lambda _: parts, analyst=flaky, writer=lambda _: result("Written.")):
        talk = await scene.ask("Sum it and write", files=[SAMPLE])
        job = await talk.over()
        (file,) = [one.file for one in job.latest_request.materials if one.file is not None]
        await scene.store.blobs.drop(talk.key, {file.id: b""})
        await talk.press(AGAIN)
        (question,) = await talk.wait_until_seen(
            lambda: [one for one in talk.words() if "Go on without" in buttons(one)]
        )
        assert "sales.csv is not here any more" in extract_shown_text(question)
        await scene.person().click(talk.channel, question["ts"], buttons(question)["Stop"]["action_id"])
        await talk.over(2)
        await talk.say("continue")
        await talk.press("Go on without")
        job = await talk.over(3)
    assert job.requests[1].state == "cancelled"
    assert job.requests[2].earlier_try == job.requests[0], "what was stopped before it began has nothing to take up"
    assert {name: work.is_reused for name, work in job.requests[2].subtasks.items()} == {"sum": False, "text": True}


async def test_a_specialist_who_is_gone_is_said_and_it_is_planned_anew(board: Board) -> None:
    parts = in_turn(plan(subtask("pin", "clerk"), subtask("tell", "clerk2", ["pin"])), plan(subtask("all", "clerk")))
    words = {"planner": parts, "clerk": PINS}
    async with provider(**words) as server:
        async with board.scene.bot(connect("chat", server), crew=crew_with(board.folder, board.side.tool())):
            talk = await board.scene.ask("Pin it and tell them")
            await talk.over()
        (board.folder / "clerk2.md").unlink()
        page = (board.folder / "clerk.md").read_text().replace("fallback: clerk2\n", "")
        (board.folder / "clerk.md").write_text(page)
        crew = load_crew(board.folder, {"post_note": board.side.tool()})
        async with board.scene.bot(connect("chat", server), crew=crew):
            await talk.say("@leadhand retry from tell")
            job = await talk.over(2)
    assert purposes(server).count("planner") == 2
    assert set(job.latest_request.subtasks) == {"all"}
    assert "Not in the crew any more: clerk2. So I planned this again." in talk.join_bot_texts()
    assert board.side.notes == ["tea"], "what the first try wrote is not written again, whoever works on it"
