"""What only the owner of a job may do with it: every script checks the claim's token first."""

from __future__ import annotations

from collections.abc import Sequence

from bot.store import bounds
from bot.store.interface import Claim, Commit
from bot.store.redis.script_calls import Calls, flat, nonce, unless_full

COMMITS = {commit.value.encode(): commit for commit in Commit}


class Fenced:
    """Keeps a job, lets go of it and commits to it. `retention` is that of finished jobs, in seconds."""

    def __init__(self, calls: Calls, retention: float) -> None:
        self._calls = calls
        self._retention_ms = round(retention * 1000)

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        """See `Store.beat`."""
        args = (bounds.member(claim.key), claim.owner, claim.epoch, lease)
        return bool(await self._calls.run("beat", self._calls.keys.of_job(claim.key), *args))

    async def let_go(self, claim: Claim, due: float | None, *, lost: int | str) -> bool:
        """See `Store.release`.

        Args:
            claim: Whose it is.
            due: As there.
            lost: What the count of lost owners becomes; "+" for one more than before, "" for as many.
        """
        reply = await self._calls.run(
            "release",
            self._calls.keys.of_job(claim.key),
            bounds.member(claim.key),
            claim.owner,
            claim.epoch,
            nonce(),
            "" if due is None else repr(due),
            round(bounds.IDLE_RETENTION * 1000),
            round(bounds.OPERATIONS_FOR * 1000),
            self._calls.keys.channel,
            bounds.OPERATIONS_LEFT,
            lost,
        )
        return bool(reply)

    async def set_aside(self, claim: Claim, payload: str, *, schema: int, fields: dict[str, str]) -> bool:
        """See `Store.set_aside`."""
        bounds.check_fields(fields)
        reply = await self._calls.run(
            "set_aside",
            self._calls.keys.of_job(claim.key),
            bounds.member(claim.key),
            claim.owner,
            claim.epoch,
            nonce(),
            schema,
            bounds.digest_if_large(payload),
            payload,
            bounds.JOB_BYTES_LIMIT,
            round(bounds.IDLE_RETENTION * 1000),
            round(bounds.OPERATIONS_FOR * 1000),
            bounds.OPERATIONS_LEFT,
            *flat(fields),
        )
        return bool(unless_full(reply))

    async def commit(  # noqa: PLR0913 - all that one script checks and writes
        self,
        claim: Claim,
        operation: str,
        expected: int,
        payloads: Sequence[str],
        *,
        taken: Sequence[int],
        fields: dict[str, str],
        schema: int,
        ends: bool,
        progress: bool,
    ) -> Commit:
        """See `Store.commit`."""
        bounds.check_log(expected, payloads)
        bounds.check_fields(fields)
        reply = await self._calls.run(
            "commit",
            self._calls.keys.of_job(claim.key),
            operation,
            claim.owner,
            claim.epoch,
            expected,
            schema,
            self._retention_ms if ends else "",
            bounds.OPERATIONS_KEPT,
            bounds.JOB_BYTES_LIMIT,
            int(progress),
            len(taken),
            *taken,
            len(payloads),
            *(part for payload in payloads for part in (bounds.digest_if_large(payload), payload)),
            *flat(fields),
        )
        return COMMITS[unless_full(reply)]
