"""Reading a thread from Slack: pages, names, limits, what is refused, and what was read before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.slack.receive import thread_reader
from bot.slack.receive.thread_reader import LOST_FILES_FAULT, ThreadReader, ThreadReadOutcome, find_last_read_ts
from bot.slack.send.budget import CallBudget
from bot.slack.send.lookup import make_metadata
from bot.slack.send.web_calls import WebCalls
from bot.slack.show.people import People
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place, Request
from handoff.state.job_state import Job, RequestState
from tests.slack.workspaces import MANIFEST, manifest_without, workspace_and_client

CSV = ("labs.csv", b"test,value\nHbA1c,41\n")


@asynccontextmanager
async def slack(manifest: Path = MANIFEST) -> AsyncIterator[tuple[Workspace, ThreadReader]]:
    """A workspace, and a reader of its threads."""
    calls = WebCalls(CallBudget(is_unlimited=True))
    async with workspace_and_client(manifest) as (workspace, client):
        yield workspace, ThreadReader(client, calls, People(client, calls), bot_user=workspace.bot_user_id)


def make_thread_job(
    workspace: Workspace, root: str, ts: str, *, before: Sequence[RequestState] = ()
) -> tuple[Job, RequestState]:
    """The job of a request in the thread of #general that begins with `root`."""
    spec = Request(
        id=ts, user=workspace.person("ana").id, text="do it", at=float(ts.partition("-")[0]), look_back="thread"
    )
    place = Place(team=workspace.team_id, channel=workspace.channel_id("#general"), thread_ts=root)
    request = RequestState(spec=spec)
    return Job(place=place, requests=(*before, request)), request


def mark_gathered(request: RequestState) -> RequestState:
    return RequestState(spec=request.spec, is_gathered=True)


def lines(outcome: ThreadReadOutcome) -> list[str]:
    """What the text says, without times."""
    return [line.partition("] ")[2] or line for line in outcome.thread.text.split("\n")[1:]]


async def talk(workspace: Workspace, count: int) -> tuple[str, str]:
    """A thread of so many messages by ben and cleo, and ana's mention at its end: its root and the mention's ts."""
    root = await workspace.person("ben").say("#general", "message 1")
    for number in range(2, count + 1):
        await workspace.person("cleo" if number % 2 else "ben").say("#general", f"message {number}", thread_ts=root)
    return root, await workspace.person("ana").say("#general", "@leadhand sum it up", thread_ts=root)


async def test_a_thread_is_read_up_to_the_request_with_names_and_files() -> None:
    async with slack() as (workspace, reader):
        ana, ben, cleo = (workspace.person(name) for name in ("ana", "ben", "cleo"))
        root = await ana.say("#general", "Shall we move the launch, @ben?")
        await ben.say("#general", "Yes, to the 12th. These are the figures:", thread_ts=root, files=[CSV])
        note = await cleo.say("#general", "I am aganst it", thread_ts=root)
        await cleo.edit("#general", note, "I am against it")
        typo = await cleo.say("#general", "oops", thread_ts=root)
        await cleo.delete("#general", typo)
        request = await ana.say("#general", "@leadhand write what we agreed", thread_ts=root)
        await ben.say("#general", "said too late", thread_ts=root)
        read = await reader.read(*make_thread_job(workspace, root, request))

    assert lines(read) == [
        "Ana Duarte: Shall we move the launch, @Ben Okafor?",
        "Ben Okafor: Yes, to the 12th. These are the figures: [file: labs.csv]",
        "Cleo Marsh (edited): I am against it",
    ]
    assert [(shared.file.name, shared.author) for shared in read.thread.files] == [("labs.csv", "Ben Okafor")]
    assert read.thread.files[0].file.url
    assert (read.fault, read.thread.gaps, read.own_files) == ("", (), ())


async def test_a_thread_of_a_thousand_messages_is_read_page_by_page() -> None:
    async with slack() as (workspace, reader):
        root, request = await talk(workspace, 1_050)
        read = await reader.read(*make_thread_job(workspace, root, request), room=2_000)
        calls = [call for call in workspace.calls() if call.method == "conversations.replies"]

    assert len(calls) == 6
    assert lines(read)[0] == "Ben Okafor: message 1"
    assert lines(read)[-1] == "Ben Okafor: message 1050"
    assert read.thread.left_out_count == 1_050 - len(read.thread.outline) > 900
    assert len(read.thread.outline) > 40


async def test_a_later_request_reads_what_people_said_since() -> None:
    async with slack() as (workspace, reader):
        root, first = await talk(workspace, 3)
        before = mark_gathered(make_thread_job(workspace, root, first)[1])
        general = workspace.channel_id("#general")
        place = Place(team=workspace.team_id, channel=general, thread_ts=root)
        await reader._client.chat_postMessage(
            channel=general, thread_ts=root, text="My answer", metadata=make_metadata(place, f"{first}:answer")
        )
        await workspace.person("ben").say("#general", "and what of March?", thread_ts=root)
        second = await workspace.person("ana").say("#general", "@leadhand answer him", thread_ts=root)
        job, request = make_thread_job(workspace, root, second, before=[before])
        read = await reader.read(job, request)
        assert find_last_read_ts(job, request) == first
        unread = await reader.read(*make_thread_job(workspace, root, second, before=[RequestState(spec=before.spec)]))

    assert lines(read) == ["Ben Okafor: and what of March?"]
    assert len(unread.thread.outline) == 4, "what could not be read before is read now"


async def test_answers_of_a_forgotten_job_are_read_and_its_cards_are_not() -> None:
    async with slack() as (workspace, reader):
        root = await workspace.person("ana").say("#general", "@leadhand first")
        general = workspace.channel_id("#general")
        place = Place(team=workspace.team_id, channel=general, thread_ts=root)
        for what in ("card", "answer"):
            await reader._client.chat_postMessage(
                channel=general, thread_ts=root, text=f"The {what}", metadata=make_metadata(place, f"{root}:{what}")
            )
        request = await workspace.person("ana").say("#general", "@leadhand again", thread_ts=root)
        read = await reader.read(*make_thread_job(workspace, root, request))
    assert lines(read) == ["Ana Duarte: @Leadhand first", "leadhand (app): The answer"]


async def test_a_request_from_a_window_does_not_read_its_message_twice() -> None:
    async with slack() as (workspace, reader):
        root, last = await talk(workspace, 3)
        job, request = make_thread_job(workspace, root, f"{last}-V1")
        later = request.spec.model_copy(update={"at": float(last) + 60})
        read = await reader.read(Job(place=job.place, requests=(RequestState(spec=later),)), RequestState(spec=later))
    assert [line.partition(": ")[2] for line in lines(read)] == ["message 1", "message 2", "message 3"]


async def test_the_files_of_the_requests_own_message_are_found() -> None:
    async with slack() as (workspace, reader):
        root = await workspace.person("ana").say("#general", "@leadhand profile it", files=[CSV])
        top = await reader.read(*make_thread_job(workspace, root, root))
        request = await workspace.person("ben").say("#general", "@leadhand and this", thread_ts=root, files=[CSV])
        inside = await reader.read(*make_thread_job(workspace, root, request))
    for read in (top, inside):
        assert [file.name for file in read.own_files] == ["labs.csv"]
        assert read.fault == ""
    assert top.thread.text == ""
    assert lines(inside) == ["Ana Duarte: @Leadhand profile it [file: labs.csv]"]


async def test_a_history_that_lags_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_reader, "READ_WAITS", (0.0, 0.01, 0.01))
    async with slack() as (workspace, reader):
        root = await workspace.person("ana").say("#general", "@leadhand profile it", files=[CSV])
        workspace.faults.add("conversations.replies", "lagging_history", times=2, seconds=30)
        read = await reader.read(*make_thread_job(workspace, root, root))
    assert [file.name for file in read.own_files] == ["labs.csv"]


async def test_too_many_calls_are_waited_out_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    async with slack() as (workspace, reader):
        root, request = await talk(workspace, 3)
        workspace.faults.add("conversations.replies", "rate_limited", retry_after=0)
        assert len(lines(await reader.read(*make_thread_job(workspace, root, request)))) == 3

        monkeypatch.setattr(thread_reader, "MAX_READ_SECONDS", 0.3)
        monkeypatch.setattr(thread_reader, "PAGE_SIZE", 2)
        workspace.faults.add("conversations.replies", "rate_limited", times=9, retry_after=60)
        read = await reader.read(*make_thread_job(workspace, root, request))
        assert "did not give the whole thread in time" in read.fault
        top = await reader.read(*make_thread_job(workspace, root, root))
        assert top.fault == LOST_FILES_FAULT


@pytest.mark.parametrize(
    ("error", "words"),
    [("not_in_channel", "I am no longer in that channel"), ("thread_not_found", "the thread was deleted")],
)
async def test_what_slack_refuses_is_said(error: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_reader, "READ_WAITS", (0.0, 0.01))
    async with slack() as (workspace, reader):
        root, request = await talk(workspace, 2)
        workspace.faults.add("conversations.replies", "error", times=2, error=error)
        read = await reader.read(*make_thread_job(workspace, root, request))
    assert read.fault == f"The thread could not be read: {words}. Paste into the request what it needs from there."
    assert read.thread.text == ""


async def test_an_app_without_the_scope_says_so_in_a_thread_alone(tmp_path: Path) -> None:
    async with slack(manifest_without(tmp_path, "channels:history")) as (workspace, reader):
        root, request = await talk(workspace, 2)
        inside = await reader.read(*make_thread_job(workspace, root, request))
        top = await reader.read(*make_thread_job(workspace, root, root))
    assert "the app lacks a scope" in inside.fault
    assert top.fault == "", "its event brings what it has: without the scope there is no other"


async def test_a_deleted_first_message_is_said() -> None:
    async with slack() as (workspace, reader):
        root, request = await talk(workspace, 3)
        await workspace.person("ben").delete("#general", root)
        read = await reader.read(*make_thread_job(workspace, root, request))
    assert [line.partition(": ")[2] for line in lines(read)] == ["message 2", "message 3"]
    assert read.thread.gaps == ("1 deleted message",)
