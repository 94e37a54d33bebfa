from typing import Any

import pytest
from slack_sdk.models.messages.chunk import BlocksChunk, MarkdownTextChunk, PlanUpdateChunk, TaskUpdateChunk
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.workspace.conftest import Change, Clients, ExpectRefusal, Start


@pytest.fixture
async def place(workspace: Workspace) -> Any:
    ana = workspace.person("ana")
    root = await ana.say("#general", "@testhand go")
    recipients = {"recipient_team_id": workspace.team_id, "recipient_user_id": ana.id}
    return {"channel": workspace.channel_id("#general"), "thread_ts": root}, recipients


def task(number: int, status: Any = "pending", **more: Any) -> Any:
    return TaskUpdateChunk(id=str(number), title=f"Task {number}", status=status, **more)


async def test_a_stream_grows_and_ends(
    workspace: Workspace, client: AsyncWebClient, place: tuple[dict[str, str], dict[str, str]]
) -> None:
    where, recipients = place
    stream = await client.chat_stream(buffer_size=1, **where, **recipients, task_display_mode="plan")
    await stream.append(markdown_text="**Hello**")
    await stream.append(chunks=[PlanUpdateChunk(title="Three steps"), task(1), task(2)])
    message = workspace.thread("#general", where["thread_ts"])[1]
    assert message["streaming"] is True
    assert message["markdown_text"] == "**Hello**"
    await stream.append(chunks=[task(1, "complete", output="Done")])
    await stream.append(markdown_text=" and goodbye")
    metadata = {"event_type": "answer", "event_payload": {"key": "7"}}
    await stream.stop(blocks=[{"type": "divider"}], metadata=metadata, session_status="active")
    message = workspace.thread("#general", where["thread_ts"])[1]
    assert message["streaming"] is False
    assert [block["type"] for block in message["blocks"]] == ["markdown", "plan", "markdown", "divider"]
    plan = message["blocks"][1]
    assert plan["title"] == "Three steps"
    assert [card["status"] for card in plan["tasks"]] == ["complete", "pending"]
    assert message["metadata"] == metadata
    assert workspace.session("#general", where["thread_ts"])["status"] == "active"


async def test_the_display_mode_is_fixed_at_the_start(
    workspace: Workspace,
    client: AsyncWebClient,
    place: tuple[dict[str, str], dict[str, str]],
    expect_refusal: ExpectRefusal,
) -> None:
    where, recipients = place
    ts = (await client.chat_startStream(**where, **recipients, chunks=[task(1)]))["ts"]
    call = client.api_call(
        "chat.appendStream", json={"channel": where["channel"], "ts": ts, "task_display_mode": "plan"}
    )
    await expect_refusal("invalid_arguments", call)
    await client.chat_appendStream(
        channel=where["channel"], ts=ts, chunks=[task(2), BlocksChunk(blocks=[{"type": "divider"}])]
    )
    kinds = [block["type"] for block in workspace.thread("#general", where["thread_ts"])[1]["blocks"]]
    assert kinds == ["task_card", "task_card", "divider"]
    await expect_refusal("invalid_arguments", client.chat_startStream(**where, **recipients, task_display_mode="grid"))


async def test_a_channel_needs_to_know_for_whom(
    workspace: Workspace,
    client: AsyncWebClient,
    place: tuple[dict[str, str], dict[str, str]],
    expect_refusal: ExpectRefusal,
) -> None:
    where, recipients = place
    team, user = recipients["recipient_team_id"], recipients["recipient_user_id"]
    await expect_refusal("missing_recipient_team_id", client.chat_startStream(**where, recipient_user_id=user))
    await expect_refusal("missing_recipient_user_id", client.chat_startStream(**where, recipient_team_id=team))
    await expect_refusal(
        "team_not_found", client.chat_startStream(**where, recipient_user_id=user, recipient_team_id="T0OTHER")
    )
    ana = workspace.person("ana")
    root = await ana.say("@testhand", "hi")
    await client.chat_startStream(channel=ana.dm, thread_ts=root)


async def test_text_and_chunks_exclude_each_other_and_have_limits(
    client: AsyncWebClient, place: tuple[dict[str, str], dict[str, str]], expect_refusal: ExpectRefusal
) -> None:
    where, recipients = place
    both = {"markdown_text": "a", "chunks": [MarkdownTextChunk(text="b")]}
    await expect_refusal("invalid_arguments", client.chat_startStream(**where, **recipients, **both))
    ts = (await client.chat_startStream(**where, **recipients))["ts"]
    here = {"channel": where["channel"], "ts": ts}
    await expect_refusal("msg_too_long", client.chat_appendStream(**here, markdown_text="x" * 12_001))
    await expect_refusal("no_text", client.chat_appendStream(**here))
    await expect_refusal("invalid_chunks", client.chat_appendStream(**here, chunks=[{"type": "thought", "text": "x"}]))
    await expect_refusal("invalid_chunks", client.chat_appendStream(**here, chunks=[task(1, "done")]))
    many = [task(number) for number in range(49)]
    await expect_refusal("msg_too_long", client.chat_appendStream(**here, chunks=many))
    await client.chat_appendStream(**here, chunks=many[:48])
    await expect_refusal("msg_too_long", client.chat_appendStream(**here, chunks=[task(50)]))


async def test_a_stream_expires_after_five_minutes(
    workspace: Workspace,
    client: AsyncWebClient,
    place: tuple[dict[str, str], dict[str, str]],
    expect_refusal: ExpectRefusal,
) -> None:
    where, recipients = place
    ts = (await client.chat_startStream(**where, **recipients, markdown_text="So far"))["ts"]
    here = {"channel": where["channel"], "ts": ts}
    await expect_refusal("streaming_state_conflict", client.chat_update(**here, text="x"))
    workspace.clock.advance(240)  # the clock goes on by itself too, on a busy machine by more than a second
    await client.chat_appendStream(**here, markdown_text=", so good")
    workspace.clock.advance(61)
    await workspace.until(lambda: not workspace.thread("#general", where["thread_ts"])[1]["streaming"])
    await expect_refusal("message_not_in_streaming_state", client.chat_appendStream(**here, markdown_text="late"))
    await expect_refusal("message_not_in_streaming_state", client.chat_stopStream(**here))
    assert workspace.thread("#general", where["thread_ts"])[1]["text"] == "So far, so good"
    await client.chat_update(**here, text="Fallback")
    assert workspace.thread("#general", where["thread_ts"])[1]["text"] == "Fallback"


async def test_only_a_stream_of_its_own_can_be_continued(
    client: AsyncWebClient, place: tuple[dict[str, str], dict[str, str]], expect_refusal: ExpectRefusal
) -> None:
    where, _ = place
    ts = (await client.chat_postMessage(**where, text="no stream"))["ts"]
    await expect_refusal(
        "message_not_in_streaming_state", client.chat_appendStream(channel=where["channel"], ts=ts, markdown_text="x")
    )


async def test_a_status_clears_itself_after_two_minutes_or_with_an_answer(
    workspace: Workspace, client: AsyncWebClient, place: tuple[dict[str, str], dict[str, str]]
) -> None:
    where, _ = place
    thread = {"channel_id": where["channel"], "thread_ts": where["thread_ts"]}

    def line() -> Any:
        return workspace.session("#general", where["thread_ts"])["line"]

    await client.assistant_threads_setStatus(**thread, status="is reading", loading_messages=["Reading…"])
    assert line() == "is reading"
    workspace.clock.advance(100)
    assert line() == "is reading"
    workspace.clock.advance(21)
    await workspace.until(lambda: not line())
    await client.assistant_threads_setStatus(**thread, status="is writing")
    await client.chat_postMessage(**where, text="Here it is")
    assert line() == ""


async def test_status_and_session_share_one_place(
    workspace: Workspace,
    client: AsyncWebClient,
    place: tuple[dict[str, str], dict[str, str]],
    expect_refusal: ExpectRefusal,
) -> None:
    where, _ = place
    thread = {"channel_id": where["channel"], "thread_ts": where["thread_ts"]}
    await client.assistant_threads_setStatus(**thread, status="is reading")
    await client.agents_sessions_setStatus(**thread, status="processing", title="First title")
    assert workspace.session("#general", where["thread_ts"]) == {
        "status": "processing",
        "title": "First title",
        "line": "",
    }
    await client.agents_sessions_setStatus(**thread, status="suspended", title="Ignored")
    await client.agents_sessions_rename(**thread, title="Second title")
    assert workspace.session("#general", where["thread_ts"])["title"] == "Second title"
    workspace.clock.advance(3600)
    assert workspace.session("#general", where["thread_ts"])["status"] == "suspended"
    await expect_refusal("invalid_arguments", client.agents_sessions_setStatus(**thread, status="working"))
    await expect_refusal("invalid_arguments", client.agents_sessions_rename(**thread, title="x" * 201))
    await expect_refusal(
        "invalid_arguments", client.assistant_threads_setStatus(**thread, status="x", loading_messages=["x"] * 11)
    )
    gone = {"channel_id": where["channel"], "thread_ts": "1.000001"}
    await expect_refusal("thread_not_found", client.agents_sessions_setStatus(**gone, status="active"))


async def test_sessions_need_an_agent_and_warn_without_the_stop_event(
    start: Start, manifest_with: Change, client_of: Clients, expect_refusal: ExpectRefusal
) -> None:
    def edit(raw: dict[str, Any]) -> None:
        raw["settings"]["event_subscriptions"]["bot_events"].remove("agent_session_stopped")

    workspace = await start(manifest=manifest_with(edit))
    ana = workspace.person("ana")
    thread = {"channel_id": ana.dm, "thread_ts": await ana.say("@testhand", "hi")}
    answer = await client_of(workspace).agents_sessions_setStatus(**thread, status="processing")
    assert answer["warning"] == "missing_agent_session_stopped_event_subscription"
    plain = await start(manifest=manifest_with(lambda raw: raw["features"].pop("agent_view")))
    cleo = plain.person("cleo")
    thread = {"channel_id": cleo.dm, "thread_ts": await cleo.say("@testhand", "hi")}
    await expect_refusal(
        "agent_view_not_enabled", client_of(plain).agents_sessions_setStatus(**thread, status="processing")
    )


async def test_prompts(workspace: Workspace, client: AsyncWebClient, expect_refusal: ExpectRefusal) -> None:
    dm = workspace.person("ana").dm
    prompts = [{"title": "Hello", "message": "Say hello"}]
    await client.assistant_threads_setSuggestedPrompts(channel_id=dm, prompts=prompts)
    assert workspace.prompts(dm) == prompts
    await expect_refusal(
        "invalid_arguments", client.assistant_threads_setSuggestedPrompts(channel_id=dm, prompts=prompts * 5)
    )
