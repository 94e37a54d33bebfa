"""Small records apart from the jobs: open App Homes, instances, installations, memories and sign-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.store.redis.layout import INSTALLATIONS_LIMIT, decode_job_key, digest_if_large, encode_job_key
from bot.store.redis.script_runner import ScriptRunner, make_nonce, to_milliseconds
from bot.store.script import Arg
from bot.store.values import MEMORIES_LIMIT, OPEN_HOMES_LIMIT, WAITING_JOBS_LIMIT, JobKey, PayloadTooLarge, Retention

_OPEN_HOME_MS = 2 * 3_600_000


class OpenHomes:
    """The App Homes that people have open, and the jobs that wait for people.

    These records follow from others or expire soon, so that their loss does not lose any request. They are a hash for
    each team, and a sorted set for each person or group that jobs wait for.
    """

    def __init__(self, calls: ScriptRunner, retention: Retention) -> None:
        self._calls = calls
        self._waiting_ms = to_milliseconds(retention.waiting_jobs)

    async def put(self, team: str, user: str, row: str) -> None:
        """Store the state of a person's open App Home, as a text.

        A team's rows expire two hours after the last of them was stored. If the team has `OPEN_HOMES_LIMIT` rows, no
        further person's row is stored.
        """
        key, server = self._calls.keys.make_homes_key(team), self._calls.server
        if int(await server.run_command("HLEN", key)) >= OPEN_HOMES_LIMIT and not await server.run_command(
            "HEXISTS", key, user
        ):
            return
        await server.run_commands([("HSET", key, user, row), ("PEXPIRE", key, _OPEN_HOME_MS)])

    async def drop(self, team: str, users: Sequence[str]) -> None:
        """Delete the rows of people whose App Home is no longer open."""
        if users:
            await self._calls.server.run_command("HDEL", self._calls.keys.make_homes_key(team), *users)

    async def read_rows(self, team: str) -> Mapping[str, str]:
        """Read the rows of all open App Homes of a team, by person."""
        rows = await self._calls.server.run_command("HGETALL", self._calls.keys.make_homes_key(team))
        return {user.decode(): row.decode() for user, row in rows.items()}

    async def record_waits(self, key: JobKey, *, people: Sequence[str], former_people: Sequence[str] = ()) -> None:
        """Record for whom a job waits now, instead of `former_people`: ids of people and groups, or `EVERYBODY`.

        People in both lists keep the time at which their wait began.
        """
        name, at = encode_job_key(key), f"{self._calls.clock():.3f}"
        calls: list[tuple[Arg, ...]] = []
        for who in people:
            index = self._calls.keys.make_waiting_jobs_key(key.team, who)
            calls += [("ZADD", index, "NX", at, name), ("ZREMRANGEBYRANK", index, 0, -1 - WAITING_JOBS_LIMIT)]
            calls.append(("PEXPIRE", index, self._waiting_ms))
        calls += [
            ("ZREM", self._calls.keys.make_waiting_jobs_key(key.team, who), name)
            for who in former_people
            if who not in people
        ]
        if calls:
            await self._calls.server.run_commands(calls)

    async def list_waiting_jobs(self, team: str, people: Sequence[str], *, limit: int = 100) -> list[JobKey]:
        """List the jobs that wait for any of these people or groups, the longest wait first.

        Some may no longer wait, or no longer exist: their heads show that.
        """
        names, server = self._calls.keys, self._calls.server
        indexes = [names.make_waiting_jobs_key(team, one) for one in dict.fromkeys(people)]
        replies = await server.run_commands([("ZRANGE", index, 0, limit - 1, "WITHSCORES") for index in indexes])
        scored_names = sorted((float(row[at + 1]), row[at]) for row in replies for at in range(0, len(row), 2))
        return [decode_job_key(name) for name in dict.fromkeys(name for _, name in scored_names)][:limit]


ROW_EXPIRY_SECONDS = 600.0
"""Seconds after which an instance's row is dropped unless it was stored again."""
_HOUR_MS = 3_600_000


class InstanceRegistry:
    """The status rows by which instances know of each other: one text for each instance.

    A row begins with the time at which it was stored, in seconds since the epoch on the store's clock.
    """

    def __init__(self, calls: ScriptRunner) -> None:
        self._calls = calls

    async def put(self, instance: str, row: str) -> None:
        """Store the row of an instance, in place of its last one."""
        key, now = self._calls.keys.board_key, self._calls.clock()
        await self._calls.server.run_commands([("HSET", key, instance, f"{now:.3f} {row}"), ("PEXPIRE", key, _HOUR_MS)])

    async def read_rows(self) -> dict[str, tuple[float, str]]:
        """Read all rows by instance, as pairs of (age in seconds, text).

        Rows older than `ROW_EXPIRY_SECONDS` are dropped.
        """
        key, now = self._calls.keys.board_key, self._calls.clock()
        rows: dict[str, tuple[float, str]] = {}
        old: list[str] = []
        for name, text in (await self._calls.server.run_command("HGETALL", key)).items():
            at, _, row = text.decode().partition(" ")
            age = now - float(at)
            if age > ROW_EXPIRY_SECONDS:
                old.append(name.decode())
            else:
                rows[name.decode()] = (max(0.0, age), row)
        if old:
            await self._calls.server.run_command("HDEL", key, *old)
        return rows


_STATE_TEAM = "installing"
"""The team in the keys of OAuth states, which are stored before the team is known."""


class Installations:
    """The workspaces and organisations that installed the app: a text for each id, which never expires.

    The texts contain tokens, which the caller encrypts.
    """

    def __init__(self, calls: ScriptRunner) -> None:
        self._calls = calls
        self._states = SignIns(calls)

    async def put(self, name: str, payload: str, *, old_payload: str) -> bool:
        """Set the text of an installation if it is still `old_payload` (empty: there is none).

        An empty payload deletes it. Returns False, with nothing changed, if the text has changed since. Raises
        PayloadTooLarge for a text over `INLINE_LIMIT`, or if there are 10,000 installations already.
        """
        reply = b"full"
        if not digest_if_large(payload):
            args = (name, old_payload, payload, INSTALLATIONS_LIMIT)
            reply = await self._calls.run("installation_put", [self._calls.keys.installations_key], *args)
        if reply == b"full":
            raise PayloadTooLarge("there are more installations, or larger ones, than the store keeps")
        return bool(reply)

    async def read(self, name: str) -> str:
        """Read the text of an installation; "" if there is none."""
        payload = await self._calls.server.run_command("HGET", self._calls.keys.installations_key, name)
        return payload.decode() if payload is not None else ""

    async def read_all(self) -> dict[str, str]:
        """Read the texts of all installations, by id."""
        rows = await self._calls.server.run_command("HGETALL", self._calls.keys.installations_key)
        return {name.decode(): row.decode() for name, row in rows.items()}

    async def put_state(self, state: str, seconds: float) -> None:
        """Store the OAuth state of an installation under way, for `seconds` seconds."""
        await self._states.put(_STATE_TEAM, state, "1", seconds)

    async def consume_state(self, state: str) -> bool:
        """Delete an OAuth state. Returns True for exactly one caller, and only if it was stored and has not expired."""
        return bool(state) and await self._states.pop(_STATE_TEAM, state) != ""


class Memories:
    """Memories that people gave the bot: a text by name for each place (a channel or a person). They never expire.

    A write names the text that it replaces, so that two people who change the same text do not undo each other.
    """

    def __init__(self, calls: ScriptRunner) -> None:
        self._calls = calls

    async def put(self, team: str, place: str, name: str, payload: str, *, old_payload: str = "") -> bool:
        """Set a text if it is still `old_payload` (empty: there is none). An empty payload deletes it.

        Returns False, with nothing changed, if the text has changed since. Raises PayloadTooLarge for a text over
        `INLINE_LIMIT`, or if the place has `MEMORIES_LIMIT` texts already.
        """
        if digest_if_large(payload):
            raise PayloadTooLarge("this is too long to be remembered; make it shorter")
        keys = self._calls.keys.make_memory_keys(team, place)
        reply = await self._calls.run("memory_put", keys, place, name, old_payload, payload, MEMORIES_LIMIT)
        if reply == b"full":
            raise PayloadTooLarge(f"{MEMORIES_LIMIT} things are remembered there already; forget one first")
        return bool(reply)

    async def read_place(self, team: str, place: str) -> dict[str, str]:
        """Read all texts of a place, by name."""
        rows = await self._calls.server.run_command("HGETALL", self._calls.keys.make_memory_keys(team, place)[0])
        return {name.decode(): row.decode() for name, row in rows.items()}

    async def read_places(self, team: str) -> frozenset[str]:
        """List the places of a team that have memories."""
        places = await self._calls.server.run_command("SMEMBERS", self._calls.keys.make_memory_places_key(team))
        return frozenset(name.decode() for name in places)


_TAKEN_MARK_SECONDS = 60.0
"""Seconds for which the store knows which call took a text: longer than any call to the store."""


class SignIns:
    """The results of people's sign-ins to servers, and sign-ins under way: a text for each name within a team.

    The texts contain tokens, which anybody who can read the store can use.
    """

    def __init__(self, calls: ScriptRunner) -> None:
        self._calls = calls

    async def put(self, team: str, name: str, payload: str, seconds: float | None = None) -> None:
        """Store a text for `seconds` seconds; None: until it is taken. Raises PayloadTooLarge over `INLINE_LIMIT`."""
        if digest_if_large(payload):
            raise PayloadTooLarge("the server's sign-in data is larger than the store allows")
        ends = () if seconds is None else ("PX", to_milliseconds(seconds))
        key = self._calls.keys.make_sign_in_key(team, name)
        await self._calls.server.run_commands([("SET", key, payload, *ends), ("DEL", _make_taken_key(key))])

    async def read(self, team: str, name: str) -> str:
        """Read a text; "" if there is none."""
        payload = await self._calls.server.run_command("GET", self._calls.keys.make_sign_in_key(team, name))
        return payload.decode() if payload is not None else ""

    async def pop(self, team: str, name: str) -> str:
        """Delete a text and return it. Of several calls at once, one gets the text and the others "".

        The first call to set a mark gets the text. A repeat of a call finds its own mark.
        """
        key, mine = self._calls.keys.make_sign_in_key(team, name), make_nonce()
        mark = ("SET", _make_taken_key(key), mine, "NX", "PX", to_milliseconds(_TAKEN_MARK_SECONDS))
        _, whose, payload = await self._calls.server.run_commands([mark, ("GET", _make_taken_key(key)), ("GET", key)])
        if payload is None or whose is None or whose.decode() != mine:
            return ""
        await self._calls.server.run_command("DEL", key)
        return bytes(payload).decode()


def _make_taken_key(key: str) -> str:
    return f"{key}:taken"
