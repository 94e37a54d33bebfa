"""Rows that admins set: one that is another by now is not written over."""

from __future__ import annotations

import pytest

from bot.access import channel_settings
from bot.access.access_values import ChannelValues
from bot.access.channel_settings import ChannelSettings
from bot.store.redis import redis_store
from bot.store.redis.redis_store import Store
from bot.store.values import PayloadTooLarge


async def test_a_row_is_set_only_in_place_of_the_one_that_was_read(store: Store) -> None:
    rows = store.settings
    assert await rows.put("T1", "C1", "one", old_payload="")
    assert not await rows.put("T1", "C1", "two", old_payload=""), "somebody set it since"
    assert await rows.put("T1", "C1", "two", old_payload="one")
    assert await rows.put("T1", "C1", "two", old_payload="one"), "the call itself, made again, is no conflict"
    assert await rows.put("T1", "C1", "three")
    assert await rows.read_team("T1") == {"C1": "three"}


async def test_a_full_hash_takes_no_new_row_but_changes_of_those_it_has(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_store, "SETTINGS_LIMIT", 1)
    assert await store.settings.put("T1", "C1", "one")
    with pytest.raises(PayloadTooLarge):
        await store.settings.put("T1", "C2", "one", old_payload="")
    assert await store.settings.put("T1", "C1", "two", old_payload="one")
    with pytest.raises(PayloadTooLarge):
        await store.settings.put("T1", "C1", "x" * 100_000)


async def test_what_one_instance_sets_holds_in_another_within_two_seconds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(channel_settings.time, "monotonic", lambda: now)
    one, other = (ChannelSettings(store, lambda _: ChannelValues(), {}) for _ in range(2))
    assert (await other.read_effective_values("T1", "C0123ABCD")).instructions == ""
    await one.save_form("T1", "C0123ABCD", ChannelValues(instructions="In EUR."), user="U1")
    assert (await one.read_effective_values("T1", "C0123ABCD")).instructions == "In EUR.", "at once where it was set"
    now += 2.0
    assert (await other.read_effective_values("T1", "C0123ABCD")).instructions == "In EUR."
