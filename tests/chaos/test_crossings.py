"""The oracle of a run with several teams can fail: a word of another team, a token that is void or nobody's."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.store.redis.redis_store import Store
from tests.chaos.crossings import LEARNS, Crossings, in_store, on_screens
from tests.chaos.tap import SlackRequest
from tests.chaos.teams import Team, open_several
from tests.providers.wire import WireRequest
from tests.store.kit import free_port


@pytest.fixture
async def teams(tmp_path: Path) -> AsyncIterator[list[Team]]:
    async with AsyncExitStack() as stack:
        yield await open_several(stack, tmp_path, free_port())


def issue_token(crossings: Crossings, team: Team, token: str, *, wide: bool = False) -> None:
    """Tell of a token that was given out."""
    owner = (
        {"team": None, "enterprise": {"id": team.workspace.identity.enterprise_id}}
        if wide
        else {"team": {"id": team.id}}
    )
    crossings.hear(SlackRequest(team.id, "oauth.v2.access", "", "", {}, {"access_token": token, **owner}))


def post(token: str, text: str, at: Team, **args: Any) -> SlackRequest:
    """A message that is sent with a token."""
    return SlackRequest(at.id, "chat.postMessage", token, text, args, {"ok": True})


async def test_a_word_of_another_team_is_seen_with_each_kind_of_token(teams: list[Team]) -> None:
    crossings, first, second, south = Crossings(teams), teams[0], teams[1], teams[-1]
    issue_token(crossings, south, "s")
    issue_token(crossings, first, "e", wide=True)
    crossings.hear(post("s", f"for {south.word}", first))
    crossings.hear(post("e", f"for {second.word}", first, team_id=second.id))
    crossings.hear(post("e", f"for {second.word}", first, channel=second.workspace.channel_id("#leads")))
    crossings.hear(SlackRequest(second.id, "/files-pri/1-2/notes.txt", "e", "", {}, {}))
    assert crossings.wrong == []
    crossings.hear(post("s", f"for {first.word}", first))
    crossings.hear(post("e", f"for {first.word.upper()}", first, team_id=second.id))
    crossings.hear(post("e", "for nobody", first, team_id=south.id))
    crossings.hear(post("x", "for nobody", first))
    crossings.hear(SlackRequest(south.id, "/upload/v1/1", "", f"a file of {first.word}", {}, {}))
    crossings.hear(SlackRequest(first.id, "/files-pri/1-2/notes.txt", "s", "", {}, {}))
    assert len(crossings.wrong) == 6


async def test_what_is_sent_for_a_team_that_the_app_has_left_is_seen(teams: list[Team]) -> None:
    crossings, south = Crossings(teams), teams[-1]
    issue_token(crossings, south, "s")
    refused = replace(post("s", "late", south), answer={"ok": False, "error": "account_inactive"})
    asked = WireRequest("chat", {"messages": [{"content": f"Errand 1{south.word}"}]})
    for gone, wrong in ((LEARNS - 5, 0), (LEARNS + 5, 2)):
        south.removal_times = [time.time() - gone]
        crossings.hear(refused)
        crossings.hear_model(asked)
        assert len(crossings.wrong) == wrong


async def test_what_lies_in_the_store_or_is_on_a_screen_of_another_team_is_seen(
    teams: list[Team], store: Store
) -> None:
    first, south, server, prefix = teams[0], teams[-1], store._server, store._keys.prefix
    for team in teams:
        await server.run_command("SET", f"{prefix}:{team.id}/J1", f"of {team.word}")
    assert await in_store(store, teams) == []
    assert list(on_screens(teams)) == []
    await server.run_command("HSET", f"{prefix}:{first.id}/J2", "text", f"of {south.word}")
    await server.run_command("SET", f"{prefix}:board", f"of {south.word}")
    await server.run_command("SET", f"{prefix}:kept", "xoxb-1")
    await first.workspace.person("ana").say("#general", f"what {south.word} said")
    assert len(await in_store(store, teams)) == 3
    assert len(list(on_screens(teams))) == 1
