"""Sends a call to a provider with retries, within one deadline. Counts the usage of all attempts together."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from bot.models.model_faults import CallFault, classify_error
from bot.models.prices import Prices
from bot.models.wire import BadReplyError, Emitter, TokenCounts, WireReply
from handoff.contracts import Turn, Usage
from handoff.text.reply_text import replace_surrogates
from specialists.model import ModelCall, ModelError

_log = logging.getLogger(__name__)
MAX_REPLY_BYTES = 64 * 1024
"""Maximum bytes of a reply that are kept, as every turn goes into the job's log. A reply of 8,192 tokens has fewer."""

MAX_THOUGHT_BYTES = 256 * 1024
"""Maximum bytes of a turn's thoughts, in addition to the reply. Longer thoughts are dropped."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When and how often a failed call is sent again.

    Attributes:
        max_attempts: Maximum number of attempts, the first included.
        first_pause_seconds: Maximum seconds of the first pause. The maximum doubles with each further pause.
        max_pause_seconds: Maximum seconds of any pause that the provider does not ask for.
        draw_random: Returns a random number from 0 to 1, by which the limit is multiplied (full jitter).
        max_wait_seconds: Seconds. A call fails if its next pause would last this long or longer.
    """

    max_attempts: int = 3
    first_pause_seconds: float = 0.5
    max_pause_seconds: float = 8.0
    draw_random: Callable[[], float] = random.random
    max_wait_seconds: float = 120.0


SendOnce = Callable[[Emitter], Awaitable[WireReply]]


@dataclass(frozen=True, slots=True)
class CallRetrier:
    """Makes calls to one provider, with retries. `provider` is its name for people."""

    provider: str
    policy: RetryPolicy
    prices: Prices

    async def run(self, call: ModelCall, model: str, sdk: Any, attempt: SendOnce) -> Turn:
        """Make a call, with retries within its deadline, and return the turn.

        Raises `ModelError`, or the exception that the call's own `on_text` raised.
        """
        tally = _AttemptTally(model, call.timeout_seconds, self.prices)
        emitter = Emitter(call.on_text)
        try:
            async with asyncio.timeout(call.timeout_seconds) as timer:
                wire_reply = await self._run_attempts(call, emitter, tally, sdk, attempt)
        except ModelError as error:
            error.usage = await tally.collect_usage()
            raise
        except TimeoutError:
            if not timer.expired():
                raise
            message = (
                f"{self.provider} did not answer within {call.timeout_seconds:g} seconds. If it is only slow, raise "
                "LEADHAND_CALL_DEADLINE and LEADHAND_SUBTASK_DEADLINE."
            )
            raise ModelError(
                "timeout", message, transient=True, usage=await tally.collect_usage(), tries=max(1, tally.attempt_count)
            ) from None
        wire_reply = replace(wire_reply, text=replace_surrogates(wire_reply.text))
        if call.answer_schema is None:  # a schema answer is parsed and not stored, and its parser reports faults
            wire_reply = _cut_reply(wire_reply)
        thoughts = replace_surrogates(list(wire_reply.thoughts))
        return Turn(
            text=wire_reply.text,
            calls=wire_reply.calls,
            stop=wire_reply.stop_reason,
            usage=await tally.collect_usage(),
            thoughts=() if _measure_json_bytes(thoughts) > MAX_THOUGHT_BYTES else tuple(thoughts),
        )

    async def _run_attempts(
        self, call: ModelCall, emitter: Emitter, tally: _AttemptTally, sdk: Any, attempt: SendOnce
    ) -> WireReply:
        for number in range(1, self.policy.max_attempts + 1):
            try:
                wire_reply = await attempt(emitter)
            except asyncio.CancelledError:
                tally.add(TokenCounts())  # the attempt counts, though it was cancelled
                raise
            except Exception as error:
                if error is emitter.listener_error:
                    raise
                fault = classify_error(error, sdk, self.provider)
                tally.add(error.tokens if isinstance(error, BadReplyError) else TokenCounts())
                pause = (
                    self._choose_pause(fault, number, tally.measure_seconds_left()) if number < call.max_tries else None
                )
                if emitter.has_emitted or pause is None:
                    raise ModelError(
                        fault.kind,
                        fault.message,
                        transient=fault.transient,
                        pause=fault.pause or 0.0,
                        tries=number,
                        share=fault.share,
                    ) from error
                # The message is not logged, as it may quote the request.
                _log.info("%s: %s; tried again in %.1f s", call.purpose, fault.kind, pause)
                await asyncio.sleep(pause)
            else:
                tally.add(wire_reply.tokens)
                return wire_reply
        raise AssertionError("the last attempt neither returned nor raised")

    def _choose_pause(self, fault: CallFault, number: int, seconds_left: float) -> float | None:
        """Return the seconds to wait after attempt `number`; None if no other is allowed or there is no time."""
        if number >= self.policy.max_attempts or number > fault.max_retries:
            return None
        longest = min(self.policy.max_pause_seconds, self.policy.first_pause_seconds * 2 ** (number - 1))
        pause = longest * self.policy.draw_random()
        if fault.pause is not None:
            # Wait at least as long as the provider asks, and a little more, to spread callers that were asked the same.
            pause = fault.pause + min(pause, fault.pause * 0.1)
        return pause if pause < min(seconds_left, self.policy.max_wait_seconds) else None


def _cut_reply(wire_reply: WireReply) -> WireReply:
    """Cut a reply that is longer than `MAX_REPLY_BYTES`. Drops its calls and sets `max_tokens`, except in a refusal."""
    calls = sum(_measure_json_bytes(call.arguments) for call in wire_reply.calls)
    if _measure_json_bytes(wire_reply.text) + calls <= MAX_REPLY_BYTES or wire_reply.stop_reason == "refused":
        return replace(wire_reply, text=_cut_to_bytes(wire_reply.text))
    return replace(wire_reply, text=_cut_to_bytes(wire_reply.text), calls=(), stop_reason="max_tokens", thoughts=())


def _cut_to_bytes(text: str) -> str:
    while _measure_json_bytes(text) > MAX_REPLY_BYTES:
        text = text[: len(text) * 3 // 4]
    return text


def _measure_json_bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


class _AttemptTally:
    """The time and the tokens that the attempts of one call have taken so far."""

    def __init__(self, model: str, deadline: float, prices: Prices) -> None:
        self._model = model
        self._deadline = deadline
        self._prices = prices
        self._began = time.perf_counter()
        self._attempts: list[TokenCounts] = []

    def add(self, tokens: TokenCounts) -> None:
        self._attempts.append(tokens)

    @property
    def attempt_count(self) -> int:
        return len(self._attempts)

    def measure_seconds(self) -> float:
        return time.perf_counter() - self._began

    def measure_seconds_left(self) -> float:
        return self._deadline - self.measure_seconds()

    async def collect_usage(self) -> Usage:
        """Return the usage of all attempts. If they took tokens, waits for prices until the call's deadline."""
        duration = self.measure_seconds()
        if any(tokens.input or tokens.output for tokens in self._attempts):
            await self._prices.wait_until_ready(seconds=self.measure_seconds_left())
        costs = [self._prices.compute_cost(self._model, tokens) for tokens in self._attempts]
        known_costs = [cost for cost in costs if cost is not None]
        return Usage(
            model=self._model,
            calls=len(self._attempts),
            tokens_in=sum(tokens.input for tokens in self._attempts),
            tokens_out=sum(tokens.output for tokens in self._attempts),
            tokens_cached=sum(tokens.cache_read for tokens in self._attempts),
            cost=sum(known_costs) if known_costs else None,
            duration=duration,
        )
