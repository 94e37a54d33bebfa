"""Each message is seen once, whatever Slack and the network do: the real client against the local workspace."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from bot.jobs.lease import Lease, read_boot_clock
from bot.slack.send.budget import CallBudget
from bot.slack.send.lookup import READ_WAIT_SECONDS, ThreadLookup, _compute_remaining_waits
from bot.slack.send.outbox import MAX_STOP_TRIES, NOT_ALLOWED_FAULT, Outbox, SentMessage
from bot.slack.send.web_calls import CALL_TIMEOUT_SECONDS, MAX_TRIES, JobGone
from bot.slack.show.closed_questions import redraw_closed_questions
from bot.slack.show.publisher import ArtifactPublisher
from bot.slack.show.session import SessionView, set_status
from bot.slack.show.stream import AnswerStream
from bot.slack.views.outgoing import Outgoing
from bot.store.redis.redis_store import Store
from bot.store.values import Claim
from bot.workspace.fault_injection import FaultKind
from bot.workspace.workspace_server import Workspace
from handoff import events as ev
from handoff.contracts import Artifact, Escalation, Member, Place, Plan, Request, Subtask
from handoff.effects import make_question_key
from handoff.engine.engine import fold_log
from tests.patience import patience
from tests.slack.workspaces import owned_thread
from tests.store.kit import MovedClock

TEA = Artifact(id="a" * 64, name="tea.txt", media_type="text/plain", size=5, about="Tea")
NOTE = Artifact(id="a" * 64, name="note.md", media_type="text/markdown", about="The note", publish_as="canvas")
HELLO = Outgoing("Hello", ({"type": "section", "text": {"type": "mrkdwn", "text": "Hello"}},))


class Scene:
    """A thread, a job that we own, and the way out to it."""

    def __init__(self, workspace: Workspace, outbox: Outbox, store: Store, place: Place, claim: Claim) -> None:
        self.workspace = workspace
        self.outbox = outbox
        self.publisher = ArtifactPublisher(outbox)
        self.store = store
        self.place = place
        self.claim = claim
        self.clock = MovedClock(store)

    def list_bot_messages(self) -> list[dict]:
        thread = self.workspace.thread(self.place.channel, self.place.thread_ts)
        return [message for message in thread if message.get("user") == self.workspace.bot_user_id]

    async def post(self, key: str = "k") -> SentMessage:
        return await self.outbox.post(self.claim, self.place, key, HELLO)

    async def end(self, claim: Claim | None = None, message: Outgoing = HELLO) -> SentMessage:
        """Post the end of the request whose answer is streamed here, as `Thread` does."""
        claim = claim or self.claim
        sent = await self.outbox.post(claim, self.place, "answer", message)
        await self.outbox.clear_stream(claim, self.place, "answer", check_allowed=self.outbox.make_claim_check(claim))
        return sent

    async def taken_over(self) -> Claim:
        """Another instance has claimed the job: the lease ran out long ago."""
        self.clock.advance(60)
        claim = await self.store.jobs.claim("other", lease=30, schema=1)
        assert claim is not None
        return claim

    def list_file_ids(self) -> list[str]:
        return [file["id"] for message in self.list_bot_messages() for file in message.get("files", [])]

    def shows(self, *texts: str) -> bool:
        """Whether these are our messages of the thread, and there is no other."""
        return tuple(message["text"] for message in self.list_bot_messages()) == texts

    def stream(self) -> AnswerStream:
        reader, allowed = self.workspace.person("ana").id, self.outbox.make_claim_check(self.claim)
        return AnswerStream(self.outbox, self.claim, self.place, "answer", reader=reader, check_allowed=allowed)

    async def half_written(self, text: str = "Half of the ans", *, beside: int = 0) -> AnswerStream:
        """A stream that people see the beginning of, beside so many other messages of ours."""
        stream = self.stream()
        await stream.write(text)
        await self.workspace.until(lambda: len(self.list_bot_messages()) > beside)
        return stream

    async def broken_stream(self) -> AnswerStream:
        """A stream whose beginning a fault has met."""
        stream = self.stream()
        await stream.write("Half of the ans")
        await wait_until(lambda: stream._is_broken)
        return stream


async def wait_until(condition: Callable[[], object]) -> None:
    """Return once it holds; a failing call changes nothing that could be waited on."""
    async with asyncio.timeout(patience()):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.02)


@pytest.fixture
async def scene(store: Store) -> AsyncIterator[Scene]:
    async with owned_thread(store) as (workspace, client, place, claim):
        outbox = Outbox(client, store, CallBudget(), bot_user_id=workspace.bot_user_id, read_waits=(0, 0.3, 0.6))
        yield Scene(workspace, outbox, store, place, claim)


async def test_a_message_is_posted_once_with_its_key(scene: Scene) -> None:
    sent, again = await scene.post(), await scene.post()
    assert again == SentMessage(sent.ts, is_adopted=True)
    (message,) = scene.list_bot_messages()
    assert message["ts"] == sent.ts
    assert message["metadata"]["event_payload"] == {"key": "k", "job": scene.place.job_id}


async def test_a_job_posts_nowhere_but_in_its_own_thread(scene: Scene) -> None:
    for elsewhere in ({"thread_ts": "1.0"}, {"channel": scene.workspace.channel_id("sales")}, {"team": "T0OTHER"}):
        place = scene.place.model_copy(update=elsewhere)
        sent = await scene.outbox.post(scene.claim, place, "k", Outgoing("secret", ()))
        assert (sent.ts, sent.fault) == ("", NOT_ALLOWED_FAULT)
    assert scene.workspace.call_count("chat.postMessage") == 0
    assert (await scene.post()).ts, "and nothing of it was recorded as begun"


async def test_a_lost_reply_and_a_lagging_history_still_make_one(scene: Scene) -> None:
    scene.workspace.faults.add("chat.postMessage", "lost_reply")
    scene.workspace.faults.add("conversations.replies", "lagging_history", times=2, seconds=0.5)
    sent = await scene.post()
    assert [message["ts"] for message in scene.list_bot_messages()] == [sent.ts]


async def test_a_new_owner_adopts_what_the_old_one_posted(scene: Scene) -> None:
    await scene.outbox.record_intent(scene.claim, "k")
    ts = await scene.outbox._post_once(scene.claim, scene.place, "k", HELLO, time.time())
    claim = await scene.taken_over()
    sent = await scene.outbox.post(claim, scene.place, "k", HELLO)
    assert sent.ts == ts
    assert len(scene.list_bot_messages()) == 1


async def test_a_new_owner_posts_what_the_old_one_only_meant_to(scene: Scene) -> None:
    await scene.outbox.record_intent(scene.claim, "k")
    claim = await scene.taken_over()
    await scene.outbox.post(claim, scene.place, "k", HELLO)
    assert len(scene.list_bot_messages()) == 1
    assert scene.workspace.call_count("conversations.replies") == 1, "what is a minute old no history lags behind"


@pytest.mark.parametrize(
    ("waited_seconds", "remaining_waits"),
    [(0.0, [0.0, 1.0, 2.0, 4.0]), (0.5, [0.0, 0.5, 2.0, 4.0]), (3.0, [0.0, 4.0]), (7.0, [0.0]), (99.0, [0.0])],
)
def test_who_comes_late_looks_as_long_after_the_post_as_who_does_not(
    waited_seconds: float, remaining_waits: list[float]
) -> None:
    assert _compute_remaining_waits(READ_WAIT_SECONDS, waited_seconds) == remaining_waits


async def test_who_takes_over_is_as_patient_as_the_last_that_sent_it_needs(scene: Scene) -> None:
    """The first owner only meant to post it; the second did, a minute later, and died before it could say so."""
    await scene.outbox.record_intent(scene.claim, "k")
    second = await scene.taken_over()
    intent = await scene.outbox.record_intent(second, "k")
    assert not intent.is_first
    assert intent.sent_at == 0
    ts = await scene.outbox._post_once(second, scene.place, "k", HELLO, 0.0)
    [intent] = (await scene.store.outbox.read_messages(scene.claim.key)).values()
    assert intent.sent_at > intent.began_at + 59, "the store knows when it was sent last"
    scene.workspace.faults.add("conversations.replies", "lagging_history", times=1, seconds=3600)
    third = await scene.taken_over()
    scene.clock.advance(-60 + CALL_TIMEOUT_SECONDS + 0.05)  # as soon as no call of the second can be under way
    posted = await scene.outbox.post(third, scene.place, "k", HELLO)
    assert (posted.ts, posted.is_adopted, len(scene.list_bot_messages())) == (ts, True, 1), (
        f"{posted}: one look is not enough where history lags"
    )


async def test_an_owner_that_lost_the_job_posts_nothing(scene: Scene) -> None:
    await scene.taken_over()
    with pytest.raises(JobGone):
        await scene.post()
    assert scene.list_bot_messages() == []


async def test_a_channel_that_we_left_is_a_fault_and_no_error(scene: Scene) -> None:
    await scene.workspace.person("ana").kick("#general")
    sent = await scene.post()
    assert sent.ts == ""
    assert "no longer in that channel" in sent.fault


async def test_a_block_that_slack_does_not_know_leaves_the_others(scene: Scene) -> None:
    whole = {"type": "markdown", "text": "The whole answer."}
    message = Outgoing("The whole", (whole, {"type": "of_tomorrow"}))
    await scene.outbox.post(scene.claim, scene.place, "k", message)
    (shown,) = scene.list_bot_messages()
    assert [block["type"] for block in shown["blocks"]] == ["markdown"]
    assert shown["blocks"][0]["text"] == "The whole answer."
    await scene.outbox.post(
        scene.claim, scene.place, "of strange blocks alone", Outgoing("The text", message.blocks[1:])
    )
    assert scene.shows("The whole", "The text")


@pytest.mark.parametrize("method", ["files.getUploadURLExternal", "files.completeUploadExternal"])
async def test_a_file_comes_once(scene: Scene, method: str) -> None:
    scene.workspace.faults.add(method, "lost_reply")
    sent = await scene.publisher.publish_file(scene.claim, scene.place, "f", TEA, b"green")
    assert scene.list_file_ids() == [sent.ts]
    claim = await scene.taken_over()
    again = await scene.publisher.publish_file(claim, scene.place, "f", TEA, b"green")
    assert again.ts == sent.ts


async def test_a_files_name_and_title_show_what_is_there(scene: Scene) -> None:
    artifact = Artifact(
        id="0" * 64, name="r\u202efdp.csv", media_type="text/csv", size=3, about="<!here>\u200b a\nb" + "x" * 300
    )
    await scene.publisher.publish_file(scene.claim, scene.place, "f", artifact, b"a,b")
    (file,) = scene.list_bot_messages()[0]["files"]
    assert file["name"] == "rfdp.csv"
    assert file["title"].startswith("\u2039!here\u203a a b")
    assert len(file["title"]) == 150


async def test_a_canvas_in_a_channel_can_be_read_there(scene: Scene) -> None:
    sent = await scene.publisher.publish_canvas(scene.claim, scene.place, "c", NOTE, "# Note\nHello")
    (granted,) = scene.workspace.calls("canvases.access.set")
    assert granted.ok
    assert granted.args["channel_ids"] == scene.place.channel
    (message,) = scene.list_bot_messages()
    assert message["ts"] == sent.ts
    assert "The note" in message["text"]
    shown = await scene.outbox.client.files_info(file=granted.args["canvas_id"])
    assert shown["file"]["permalink"] in message["text"]
    again = await scene.publisher.publish_canvas(await scene.taken_over(), scene.place, "c", NOTE, "# Note\nHello")
    assert again.ts == sent.ts
    assert scene.workspace.call_count("canvases.create") == 1


async def test_an_answer_streams_and_ends_with_its_closing_blocks(scene: Scene) -> None:
    stream = scene.stream()
    await stream.write("One **two** ")
    await scene.workspace.until(lambda: scene.list_bot_messages() and scene.list_bot_messages()[0].get("streaming"))
    await stream.write("three.")
    closing = [{"type": "context", "elements": [{"type": "mrkdwn", "text": "the end"}]}]
    sent = await stream.finish("One **two** three.", [HELLO], closing)
    assert sent is not None
    (message,) = scene.list_bot_messages()
    assert not message.get("streaming")
    assert "three." in str(message)
    assert "the end" in str(message["blocks"])
    assert message["metadata"]["event_payload"]["key"] == "answer"


async def test_a_quick_answer_is_not_streamed(scene: Scene) -> None:
    stream = scene.stream()
    await stream.write("Done.")
    assert await stream.finish("Done.", [HELLO], []) is None
    assert scene.list_bot_messages() == []


async def test_a_stream_that_dies_is_replaced_by_the_whole_answer(scene: Scene) -> None:
    stream = await scene.half_written("One ")
    scene.workspace.faults.add("chat.appendStream", "error", error="message_not_in_streaming_state")
    await stream.write("two\n\nthree ")
    await wait_until(lambda: scene.workspace.call_count("chat.appendStream"))
    assert await stream.finish("One two\n\nthree", [HELLO], []) is None
    await scene.end()
    assert scene.shows("Hello")


@pytest.mark.parametrize("streamed_text", ["One two", "One two One two three"])
async def test_an_answer_that_is_not_what_was_streamed_is_posted_whole(scene: Scene, streamed_text: str) -> None:
    """The model's reply was cut off, and the results go out as they are; or it was begun anew in the middle."""
    stream = scene.stream()
    await stream.write(streamed_text)
    await scene.workspace.until(scene.list_bot_messages)
    assert await stream.finish("The parts could not be put together.", [HELLO], []) is None
    await scene.end()
    assert scene.shows("Hello")


async def test_what_the_answer_has_more_than_the_stream_is_added(scene: Scene) -> None:
    stream = await scene.half_written(" One two ")
    assert await stream.finish("One two\n\n_(cut off here: too long, or repeating itself)_", [HELLO], [])
    (message,) = scene.list_bot_messages()
    assert "(cut off here: too long, or repeating itself)" in str(message)


# -- what an owner that died leaves behind -------------------------------------------------------


async def died_at(scene: Scene, method: str, work: Callable[[], Coroutine[Any, Any, object]]) -> Claim:
    """Begin some work, end it while the answer to its first call of a method is on its way, and take the job over."""
    scene.workspace.faults.add(method, "slow_reply", seconds=30)
    task = asyncio.create_task(work())
    await wait_until(lambda: scene.workspace.call_count(method))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return await scene.taken_over()


async def test_another_file_of_the_same_name_is_not_taken_for_ours(scene: Scene) -> None:
    first = await scene.publisher.publish_file(scene.claim, scene.place, "f1", TEA, b"green")
    await scene.outbox.record_intent(scene.claim, "f2")
    claim = await scene.taken_over()
    second = await scene.publisher.publish_file(claim, scene.place, "f2", TEA, b"black")
    assert scene.list_file_ids() == [first.ts, second.ts]
    assert first.ts != second.ts
    assert await scene.workspace.file(second.ts) == b"black"


async def test_a_file_that_a_dead_owner_showed_is_found_by_its_id(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    claim = await died_at(
        scene,
        "files.completeUploadExternal",
        lambda: scene.publisher.publish_file(scene.claim, scene.place, "f", TEA, b"green"),
    )
    sent = await scene.publisher.publish_file(claim, scene.place, "f", TEA, b"green")
    assert scene.list_file_ids() == [sent.ts]
    assert scene.workspace.call_count("files.completeUploadExternal") == 1
    assert [record.event for record in caplog.records if hasattr(record, "event")] == ["reconciled"]


async def test_a_file_that_a_dead_owner_only_uploaded_is_shown_under_its_id(scene: Scene) -> None:
    file_id = await scene.publisher._upload(TEA, b"green")
    await scene.outbox.record_intent(scene.claim, "f")
    await scene.outbox.record_draft(scene.claim, "f", file_id)
    sent = await scene.publisher.publish_file(await scene.taken_over(), scene.place, "f", TEA, b"green")
    assert scene.list_file_ids() == [sent.ts] == [file_id]
    assert scene.workspace.call_count("files.getUploadURLExternal") == 1


async def test_an_upload_that_slack_has_forgotten_is_made_again(scene: Scene) -> None:
    await scene.outbox.record_intent(scene.claim, "f")
    await scene.outbox.record_draft(scene.claim, "f", "F0FORGOTTEN")
    sent = await scene.publisher.publish_file(await scene.taken_over(), scene.place, "f", TEA, b"green")
    assert scene.list_file_ids() == [sent.ts]


async def test_a_canvas_that_a_dead_owner_made_gets_its_link(scene: Scene) -> None:
    claim = await died_at(
        scene, "files.info", lambda: scene.publisher.publish_canvas(scene.claim, scene.place, "c", NOTE, "# Note")
    )
    sent = await scene.publisher.publish_canvas(claim, scene.place, "c", NOTE, "# Note")
    assert [message["ts"] for message in scene.list_bot_messages()] == [sent.ts]
    assert scene.workspace.call_count("canvases.create") == 1


async def test_a_canvas_in_a_direct_message_is_opened_to_its_person_after_a_crash(scene: Scene) -> None:
    ana = scene.workspace.person("ana")
    place = Place(team=scene.place.team, channel=ana.dm, thread_ts=await ana.say(ana.dm, "a note, please"))
    claim = await died_at(
        scene, "chat.postMessage", lambda: scene.publisher.publish_canvas(scene.claim, place, "c", NOTE, "# Note")
    )
    assert not scene.workspace.calls("canvases.access.set")
    sent = await scene.publisher.publish_canvas(claim, place, "c", NOTE, "# Note")
    assert sent.fault == ""
    (granted,) = scene.workspace.calls("canvases.access.set")
    assert granted.ok
    assert granted.args["user_ids"] == ana.id
    links = [message["ts"] for message in scene.workspace.thread(place.channel, place.thread_ts)[1:]]
    assert links == [sent.ts]
    assert scene.workspace.call_count("canvases.create") == 1


@pytest.fixture
def short_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call is under way for a second at most, so that nobody waits ten for one that got lost."""
    monkeypatch.setattr("bot.slack.send.outbox.CALL_TIMEOUT_SECONDS", min(CALL_TIMEOUT_SECONDS, patience(0.3)))
    monkeypatch.setattr("bot.slack.send.outbox.TRY_PAUSE_SECONDS", (0.0, 0.01, 0.01))
    monkeypatch.setattr("bot.slack.send.web_calls.RETRY_WAIT_SECONDS", (0.01,))


@pytest.mark.usefixtures("short_calls")
@pytest.mark.parametrize(
    ("fault_kind", "more"),
    [
        ("lost_reply", {}),
        ("lost_reply", {"method": "chat.delete", "kind": "server_error_before", "times": MAX_TRIES + 1}),
        (
            "server_error_after",
            {"method": "conversations.replies", "kind": "lagging_history", "times": 2, "seconds": 60},
        ),
    ],
    ids=["seen at once", "Slack deletes nothing for long", "in a thread too new for the history"],
)
async def test_a_stream_whose_beginning_was_lost_is_swept_away(
    scene: Scene, fault_kind: FaultKind, more: dict[str, Any]
) -> None:
    scene.workspace.faults.add("chat.startStream", fault_kind)
    stream = await scene.broken_stream()
    if more:
        scene.workspace.faults.add(**more)
    assert await stream.finish("Half of the answer.", [HELLO], []) is None
    await scene.end()
    assert scene.shows("Hello")


@pytest.mark.usefixtures("short_calls")
async def test_a_stream_is_ended_where_the_history_does_not_call_it_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`streaming_state` is documented for events alone; without it, what Slack lets us end was a stream."""
    half_written = ThreadLookup.list_unfinished_streams

    def without_state(self: ThreadLookup, messages: list[dict], record: str, since: float) -> list[dict]:
        found = half_written(self, messages, record, since)
        return [{name: value for name, value in one.items() if name != "streaming_state"} for one in found]

    monkeypatch.setattr(ThreadLookup, "list_unfinished_streams", without_state)
    scene.workspace.faults.add("chat.startStream", "lost_reply")
    scene.workspace.faults.add("chat.stopStream", "lost_reply", times=MAX_STOP_TRIES - 1)
    await scene.broken_stream()
    await scene.outbox.client.chat_postMessage(
        channel=scene.place.channel, thread_ts=scene.place.thread_ts, text="a notice"
    )
    await scene.end()
    assert scene.shows("a notice", "Hello")


async def test_a_stream_that_slack_refuses_is_not_looked_for(scene: Scene) -> None:
    scene.workspace.faults.add("chat.startStream", "error", error="method_not_supported_for_channel_type")
    await scene.broken_stream()
    await scene.end()
    assert not scene.workspace.calls("conversations.replies")
    assert len(scene.list_bot_messages()) == 1


async def test_an_owner_that_was_fenced_while_it_started_a_stream_takes_it_away(scene: Scene) -> None:
    """It was frozen before the call, say, and woke when the next owner had ended the request long ago."""
    scene.workspace.faults.add("chat.startStream", "slow_reply", seconds=1)
    stream = await scene.half_written()
    await scene.taken_over()
    await wait_until(lambda: stream._is_broken)
    assert not scene.list_bot_messages()


async def test_what_an_earlier_release_left_is_taken_away(scene: Scene) -> None:
    """It was told to end while it streamed, for an upgrade to this release; its record was the answer's own."""
    client, place = scene.outbox.client, scene.place
    await scene.outbox.record_intent(scene.claim, "answer")
    started = await client.chat_startStream(
        channel=place.channel,
        thread_ts=place.thread_ts,
        markdown_text="Half of the ans",
        recipient_team_id=place.team,
        recipient_user_id=scene.workspace.person("ana").id,
    )
    await scene.outbox.record_draft(scene.claim, "answer", str(started["ts"]))
    await scene.end(await scene.taken_over())
    assert scene.shows("Hello")


async def test_a_job_that_is_set_aside_loses_the_half_of_its_answer_and_keeps_the_earlier_ones(scene: Scene) -> None:
    await scene.post("earlier:answer")
    await scene.outbox.record_intent(scene.claim, "earlier:answer:stream")
    await scene.outbox.record_draft(scene.claim, "earlier:answer:stream", scene.list_bot_messages()[0]["ts"])
    stream = await scene.half_written(beside=1)
    stream.abandon()
    claim = await scene.taken_over()
    await scene.outbox.clear_streams(claim, scene.place, check_allowed=scene.outbox.make_claim_check(claim))
    assert scene.shows("Hello")


async def test_a_second_stream_of_an_answer_is_never_started(scene: Scene) -> None:
    """One of them would be nobody's: the record has room for one."""
    first, second = scene.stream(), scene.stream()
    await first.write("Half of the ans")
    await scene.workspace.until(scene.list_bot_messages)
    await second.write("Half of anoth")
    await wait_until(lambda: second._is_broken)
    assert scene.workspace.call_count("chat.startStream") == 1
    await first.stop_sending()
    await scene.end()
    assert scene.shows("Hello")


async def test_a_question_is_closed_in_a_thread_too_new_for_the_history(scene: Scene) -> None:
    """Told by its key, where its log entry was never made: the thread is looked at until it shows it."""
    of = {"request": "1.1", "subtask": "a", "attempt": 1}
    part = Subtask(id="a", title="Part a", intent="Work out part a.", specialist="clerk")
    job = fold_log(
        [
            ev.RequestAdded(at=1, place=scene.place, request=Request(id="1.1", user="U1", text="Do it", at=1)),
            ev.PlanProposed(
                at=2, request="1.1", plan=Plan(goal="It", subtasks=(part,)), members=(Member(name="clerk"),)
            ),
            ev.AttemptStarted(at=3, specialist="clerk", tier="fast", **of),
            ev.Escalated(at=4, escalation=Escalation(reason="ambiguous_input", message="Which?"), **of),
            ev.QuestionAnswered(at=5, request="1.1", subtask="a", user="U1", text="Oslo", number=1),
        ]
    )
    assert job is not None
    button = {"type": "button", "text": {"type": "plain_text", "text": "Oslo"}, "action_id": "x", "value": "x"}
    buttons = {"type": "actions", "elements": [button]}
    key = make_question_key("1.1", "a", 1)
    await scene.outbox.post(scene.claim, scene.place, key, Outgoing("Which?", (buttons,)))
    scene.workspace.faults.add("conversations.replies", "lagging_history", times=2, seconds=60)
    await redraw_closed_questions(scene.outbox, job, check_allowed=scene.outbox.make_claim_check(scene.claim))
    (message,) = scene.list_bot_messages()
    assert not [block for block in message["blocks"] if block["type"] == "actions"]


async def test_a_stream_that_died_before_its_id_was_recorded_is_replaced(scene: Scene) -> None:
    stream = scene.stream()
    scene.workspace.faults.add("chat.startStream", "slow_reply", seconds=30)
    await stream.write("Half of the ans")
    await scene.workspace.until(scene.list_bot_messages)
    assert stream._pump is not None
    stream._pump.cancel()
    claim = await scene.taken_over()
    intents = await scene.store.outbox.read_messages(claim.key)
    assert intents["answer:stream"].draft_ts == ""
    await scene.end(claim)
    assert scene.shows("Hello")


async def test_an_answer_whose_end_went_through_is_adopted_and_never_deleted(scene: Scene) -> None:
    stream = await scene.half_written("The whole ")
    await stream.write("answer.")
    claim = await died_at(scene, "chat.stopStream", lambda: stream.finish("The whole answer.", [HELLO], []))
    sent = await scene.end(claim)
    (message,) = scene.list_bot_messages()
    assert message["ts"] == sent.ts
    assert "The whole answer." in str(message)
    assert sent.is_adopted
    assert not scene.workspace.calls("chat.delete")


async def test_only_our_own_unfinished_stream_is_ever_deleted(scene: Scene) -> None:
    """Messages without a key, of the same second too, are somebody's: another program's with the same token, say."""
    client = scene.outbox.client
    channel, thread_ts = scene.place.channel, scene.place.thread_ts
    await scene.outbox.post(scene.claim, scene.place, "question", HELLO)
    await client.chat_postMessage(channel=channel, thread_ts=thread_ts, text="a notice")
    stream = await scene.half_written(beside=2)
    stream.abandon()
    await client.chat_postMessage(channel=channel, thread_ts=thread_ts, text="another notice")
    claim = await scene.taken_over()
    await scene.end(claim, Outgoing("The answer", ()))
    assert scene.shows("Hello", "a notice", "another notice", "The answer")


async def test_a_plain_message_deletes_nothing(scene: Scene) -> None:
    """A second request's card is posted while something of ours without a key is in the thread."""
    await scene.outbox.record_intent(scene.claim, "card")
    stream = await scene.half_written()
    stream.abandon()
    await stream.stop_sending()  # its id is recorded: an owner that lost the job before would take it away itself
    claim = await scene.taken_over()
    await scene.outbox.post(claim, scene.place, "card", HELLO)
    assert len(scene.list_bot_messages()) == 2
    assert not scene.workspace.calls("chat.delete")


async def test_a_thread_that_may_not_be_read_leaves_a_message_in_doubt(scene: Scene) -> None:
    await scene.outbox.record_intent(scene.claim, "k")
    scene.workspace.faults.add("conversations.replies", "error", error="missing_scope")
    sent = await scene.outbox.post(await scene.taken_over(), scene.place, "k", HELLO)
    assert sent.ts == ""
    assert "cannot be told" in sent.fault
    assert scene.list_bot_messages() == []


async def test_a_look_that_failed_is_no_look(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.slack.send.lookup.FURTHER_READ_SECONDS", 0.01)
    monkeypatch.setattr("bot.slack.send.web_calls.RETRY_WAIT_SECONDS", (0.01,))
    await scene.outbox.record_intent(scene.claim, "k")
    ts = await scene.outbox._post_once(scene.claim, scene.place, "k", HELLO, time.time())
    scene.outbox.lookup.read_waits = (0.0,)
    scene.workspace.faults.add("conversations.replies", "server_error_before", times=5)
    sent = await scene.outbox.post(await scene.taken_over(), scene.place, "k", HELLO)
    assert sent == SentMessage(ts, is_adopted=True)
    assert len(scene.list_bot_messages()) == 1


async def test_a_message_is_found_on_the_second_page_of_a_long_thread(scene: Scene) -> None:
    ana = scene.workspace.person("ana")
    for number in range(210):
        await ana.say(scene.place.channel, f"reply {number}", thread_ts=scene.place.thread_ts)
    await scene.outbox.record_intent(scene.claim, "k")
    ts = await scene.outbox._post_once(scene.claim, scene.place, "k", HELLO, time.time())
    sent = await scene.outbox.post(await scene.taken_over(), scene.place, "k", HELLO)
    assert sent == SentMessage(ts, is_adopted=True)


async def test_who_looked_long_for_an_earlier_post_and_lost_the_job_meanwhile_posts_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack.send.outbox.CLAIM_FRESH_SECONDS", 0.3)
    await scene.outbox.record_intent(scene.claim, "k")
    claim = await scene.taken_over()
    scene.outbox.lookup.read_waits = (0.0, 60 - CALL_TIMEOUT_SECONDS + 1)  # it comes a minute late
    posting = asyncio.create_task(scene.outbox.post(claim, scene.place, "k", HELLO))
    await wait_until(lambda: scene.workspace.call_count("conversations.replies"))
    await scene.taken_over()
    with pytest.raises(JobGone):
        await posting
    assert scene.list_bot_messages() == []


async def test_who_waited_for_slack_and_lost_the_job_meanwhile_posts_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack.send.outbox.CLAIM_FRESH_SECONDS", 0.3)
    scene.workspace.faults.add("chat.postMessage", "rate_limited", retry_after=1)
    posting = asyncio.create_task(scene.post())
    await wait_until(lambda: scene.workspace.call_count("chat.postMessage"))
    await scene.taken_over()
    with pytest.raises(JobGone):
        await posting
    assert scene.list_bot_messages() == []


@pytest.fixture
def lease(scene: Scene) -> Lease:
    """Our hold on the job, on the clock that the store is on as well."""

    def clock() -> float:
        return read_boot_clock() + scene.clock.seconds_ahead

    return Lease(scene.claim, scene.store, seconds=30, claimed_at=clock(), clock=clock)


def make_shown_calls(scene: Scene, lease: Lease) -> dict[str, Callable[[], Coroutine[Any, Any, object]]]:
    """What an owner shows that is not posted once: by Slack's method."""
    outbox, place, ts = scene.outbox, scene.place, scene.place.thread_ts

    async def status() -> None:
        calls, who = outbox.calls, scene.workspace.person("ana").id
        shown = SessionView("processing", "t", who)
        await set_status(outbox.client, calls, place, lambda: shown, check_allowed=lease.may_show)

    return {
        "agents.sessions.setStatus": status,
        "chat.update": lambda: outbox.edit_message(place, ts, HELLO, check_allowed=lease.may_show),
        "chat.delete": lambda: outbox.delete_message(place, ts, check_allowed=lease.may_show),
    }


METHODS = ["agents.sessions.setStatus", "chat.update", "chat.delete"]


@pytest.mark.parametrize("method", METHODS)
async def test_a_try_again_is_left_out_once_the_job_is_in_other_hands(
    scene: Scene, lease: Lease, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    scene.workspace.faults.add(method, "server_error_before")
    call = asyncio.create_task(make_shown_calls(scene, lease)[method]())
    await wait_until(lambda: "tried again" in caplog.text)
    await scene.taken_over()  # while it pauses, as a process that was frozen does
    await asyncio.gather(call, return_exceptions=True)
    if method != "agents.sessions.setStatus":  # which nobody waits for
        with pytest.raises(JobGone):
            await call
    assert len(scene.workspace.calls(method)) == 1


@pytest.mark.parametrize("method", METHODS)
async def test_while_the_job_is_ours_the_store_is_not_asked(scene: Scene, lease: Lease, method: str) -> None:
    scene.outbox.store = lease._store = None  # type: ignore[assignment]
    scene.workspace.faults.add(method, "server_error_before")
    await make_shown_calls(scene, lease)[method]()
    assert len(scene.workspace.calls(method)) == 2


async def test_what_a_job_is_let_go_of_with_still_arrives_until_it_is_taken(scene: Scene, lease: Lease) -> None:
    await lease.close()
    assert await lease.may_show(), "about to be let go of"
    await scene.store.jobs.release(scene.claim, due=0)
    assert await lease.may_show()
    await scene.taken_over()
    assert not await lease.may_show()


async def test_an_owner_whose_lease_is_over_asks_before_it_shows_anything(scene: Scene, lease: Lease) -> None:
    for seconds in (19, 2, 31):
        scene.clock.advance(seconds)
        assert await lease.may_show()
        expires = await scene.store.jobs.read_next_due()
        assert expires is not None
        left = expires - scene.store.clock()
        assert left == pytest.approx(11 if seconds == 19 else 30, abs=0.9), "renewed once a call could outlive it"
    await scene.taken_over()
    assert not await lease.may_show()


async def test_a_woken_owner_streams_and_ends_nothing(scene: Scene) -> None:
    stream = scene.stream()
    await stream.write("Once upon a time there was ")
    await wait_until(lambda: scene.workspace.calls("chat.startStream"))
    await wait_until(lambda: stream.ts)
    await scene.taken_over()
    await stream.write("a stale owner.")
    with pytest.raises(JobGone):
        await stream.finish("Once upon a time there was a stale owner.", [HELLO], HELLO.blocks)
    assert not scene.workspace.calls("chat.appendStream")
    assert not scene.workspace.calls("chat.stopStream")
    assert not scene.workspace.calls("chat.delete")


async def test_a_post_that_slack_puts_off_again_and_again_still_goes_out(scene: Scene) -> None:
    """A 429 does nothing, so it says nothing about the message: before, fifteen in a row gave it up for good."""
    scene.outbox.calls.budget = CallBudget(is_unlimited=True)  # else it is our own that spreads them over seconds
    scene.workspace.faults.add("chat.postMessage", "rate_limited", times=16, retry_after=0)
    sent = await scene.post()
    (message,) = scene.list_bot_messages()
    assert sent.ts == message["ts"]
    assert not scene.workspace.calls("conversations.replies"), "nothing was in doubt"


@pytest.mark.parametrize("fault", ["server_error_before", "server_error_after"])
async def test_a_message_outlives_a_bad_minute_of_slacks(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, fault: FaultKind
) -> None:
    """Before, three tries within seconds were all: the message, a plan card as well, was given up for good."""
    monkeypatch.setattr("bot.slack.send.outbox.TRY_PAUSE_SECONDS", (0.0, *(0.01,) * 9))
    scene.outbox.calls.budget = CallBudget(is_unlimited=True)
    scene.outbox.lookup.read_waits = (0.0,)
    scene.workspace.faults.add("chat.postMessage", fault, times=7)
    sent = await scene.post()
    (message,) = scene.list_bot_messages()
    assert sent.ts == message["ts"]
