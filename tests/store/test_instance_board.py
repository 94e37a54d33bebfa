"""What instances tell each other: their crews and the load of equals, and that what died counts no more."""

from __future__ import annotations

import asyncio
import json

from bot.store.redis.redis_store import Store
from bot.supervisor import instance_board
from bot.supervisor.instance_board import CREWS_EXPIRY_SECONDS, LOAD_EXPIRY_SECONDS, InstanceBoard, SpecialistLoad
from bot.supervisor.track_record import TrackRecord
from handoff import events as ev
from handoff.effects import RunSubtask
from handoff.planning.routing import choose_least_loaded

EFFECT = RunSubtask("1.0", "a", 1, "writer", "fast", 60.0)


def make_failure_event() -> ev.Event:
    return ev.AttemptFailed(at=1.0, request="1.0", subtask="a", attempt=1, kind="model", message="m")


async def test_the_load_of_equals_is_that_of_all_instances(store: Store) -> None:
    boards = [InstanceBoard(store.board, name, ["general"]) for name in ("one", "two")]
    equals = ("writer", "scribe")
    first, second = (TrackRecord(crew="general", equals=equals, board=board) for board in boards)
    gate = asyncio.Event()

    async def attempt() -> ev.Event:
        await gate.wait()
        return make_failure_event()

    tasks = [asyncio.create_task(first.record_attempt(EFFECT, attempt())) for _ in range(2)]
    await asyncio.sleep(0)
    await boards[0].write_row()
    await second.read_other_loads()
    assert second.find_load("writer").running_attempts == 2
    assert choose_least_loaded(equals, second.find_load)[0] == "scribe"
    assert TrackRecord(crew="other", equals=equals, board=boards[1]).find_load("writer").running_attempts == 0
    await boards[0].close()
    boards[1]._read_at -= instance_board.CACHE_SECONDS
    await second.read_other_loads()
    assert second.find_load("writer").running_attempts == 0, "who was stopped has nothing under way"
    gate.set()
    await asyncio.gather(*tasks)
    for board in boards:
        await board.close()


async def test_what_an_instance_said_last_counts_for_a_bounded_time(store: Store) -> None:
    ages = {"there": 1.0, "slow": LOAD_EXPIRY_SECONDS + 1, "gone": CREWS_EXPIRY_SECONDS + 1}
    for name, age in ages.items():
        load = {"general:writer": [1, 2.0]}
        row = json.dumps({"crews": [name], "load": load})
        await store._server.run_command("HSET", store._keys.board_key, name, f"{store.clock() - age:.3f} {row}")
    for name, text in (("odd", "1"), ("newer", '{"crews": {"a": 1}, "load": [[]]}'), ("worse", "{")):
        await store.board.put(name, text)
    board = InstanceBoard(store.board, "me", ["general"])
    assert [await board.has_crew_elsewhere(name) for name in ages] == [True, True, False]
    assert board.find_load("general:writer") == SpecialistLoad(1, 2.0), "a slow one counts as idle"
    assert not await board.has_crew_elsewhere("general"), "that is only here"


async def test_the_row_of_an_instance_with_many_equals_is_read_whole(store: Store) -> None:
    board, other = (InstanceBoard(store.board, name, ["general", "law"]) for name in ("me", "other"))
    loads = {f"general:specialist-of-a-long-name-{number}": SpecialistLoad(1, 2.5) for number in range(500)}
    other.add_load_source(lambda: loads)
    await other.write_row()
    assert await board.has_crew_elsewhere("law")
    assert {key: board.find_load(key) for key in loads} == loads


async def test_an_old_row_is_dropped(store: Store) -> None:
    await store._server.run_command("HSET", store._keys.board_key, "old", f"{store.clock() - 3600:.3f} x")
    await store.board.put("new", "y")
    assert list(await store.board.read_rows()) == ["new"]
    assert list(await store._server.run_command("HGETALL", store._keys.board_key)) == [b"new"]


async def test_a_store_that_is_away_changes_nothing(store: Store) -> None:
    board = InstanceBoard(store.board, "me", ["general"])
    other = InstanceBoard(store.board, "other", ["law"])
    await other.write_row()
    assert await board.has_crew_elsewhere("law")
    await store.close()
    board._read_at -= instance_board.CACHE_SECONDS
    assert await board.has_crew_elsewhere("law"), "as last heard"
    await board.write_row()
