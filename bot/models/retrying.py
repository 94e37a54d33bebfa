"""Retries of a call to a provider, with one deadline, one type of error, and the usage of all attempts together."""

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
from bot.models.wire import BadReplyError, Emitter, Tokens, WireReply
from handoff.contracts import Turn, Usage
from handoff.text.reply_text import replace_surrogates
from specialists.model import ModelCall, ModelError

_log = logging.getLogger(__name__)
MAX_REPLY_BYTES = 64 * 1024
"""Most bytes of a reply that are kept, as every turn goes into the job's log. A reply of 8,192 tokens has fewer."""

MAX_THOUGHT_BYTES = 256 * 1024
"""Most bytes of a turn's thoughts, in addition to the reply. Longer thoughts are dropped."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When and how often a failed call is sent again.

    Attributes:
        attempts: Most attempts, the first included.
        first_pause: Most seconds of the first pause. Each further limit is twice as long.
        longest_pause: Most seconds of any pause.
        draw_random: Returns a random number from 0 to 1, by which the limit is multiplied (full jitter).
        patience: Seconds. If the pause would not be shorter, as when the provider asks for a long one, the call fails.
    """

    attempts: int = 3
    first_pause: float = 0.5
    longest_pause: float = 8.0
    draw_random: Callable[[], float] = random.random
    patience: float = 120.0


Attempt = Callable[[Emitter], Awaitable[WireReply]]


@dataclass(frozen=True, slots=True)
class CallRetrier:
    """Makes calls to one provider, with retries. `provider` is its name for people."""

    provider: str
    policy: RetryPolicy
    prices: Prices

    async def run(self, call: ModelCall, model: str, sdk: Any, attempt: Attempt) -> Turn:
        """Make a call, with retries within its deadline, and return the turn.

        Raises `ModelError`, or the exception that the call's own `on_text` raised.
        """
        tally = _Tally(model, call.deadline, self.prices)
        emitter = Emitter(call.on_text)
        try:
            async with asyncio.timeout(call.deadline) as timer:
                reading = await self._run_attempts(call, emitter, tally, sdk, attempt)
        except ModelError as error:
            error.usage = await tally.collect_usage()
            raise
        except TimeoutError:
            if not timer.expired():
                raise
            message = (
                f"{self.provider} did not answer within {call.deadline:g} seconds. If it is only slow, raise "
                "LEADHAND_CALL_DEADLINE and LEADHAND_SUBTASK_DEADLINE."
            )
            raise ModelError(
                "timeout", message, transient=True, usage=await tally.collect_usage(), tries=max(1, tally.attempts)
            ) from None
        reading = replace(reading, text=replace_surrogates(reading.text))
        if call.answer_schema is None:  # a schema answer is parsed and not stored, and its parser reports faults
            reading = _cut_reply(reading)
        thoughts = replace_surrogates(list(reading.thoughts))
        return Turn(
            text=reading.text,
            calls=reading.calls,
            stop=reading.stop,
            usage=await tally.collect_usage(),
            thoughts=() if _measure_json(thoughts) > MAX_THOUGHT_BYTES else tuple(thoughts),
        )

    async def _run_attempts(
        self, call: ModelCall, emitter: Emitter, tally: _Tally, sdk: Any, attempt: Attempt
    ) -> WireReply:
        for number in range(1, self.policy.attempts + 1):
            try:
                reading = await attempt(emitter)
            except asyncio.CancelledError:
                tally.add(Tokens())  # the attempt counts, though it was cancelled
                raise
            except Exception as error:
                if error is emitter.listener_error:
                    raise
                fault = classify_error(error, sdk, self.provider)
                tally.add(error.tokens if isinstance(error, BadReplyError) else Tokens())
                pause = self._choose_pause(fault, number, tally.measure_seconds_left()) if number < call.tries else None
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
                tally.add(reading.tokens)
                return reading
        raise AssertionError("the last attempt neither returned nor raised")

    def _choose_pause(self, fault: CallFault, number: int, seconds_left: float) -> float | None:
        """Return the seconds to wait after attempt `number`; None if no other attempt is allowed in `seconds_left`."""
        if number >= self.policy.attempts or number > fault.retries:
            return None
        longest = min(self.policy.longest_pause, self.policy.first_pause * 2 ** (number - 1))
        pause = longest * self.policy.draw_random()
        if fault.pause is not None:
            # Wait at least as long as the provider asks, and a little more, to spread callers that were asked the same.
            pause = fault.pause + min(pause, fault.pause * 0.1)
        return pause if pause < min(seconds_left, self.policy.patience) else None


def _cut_reply(reading: WireReply) -> WireReply:
    """Cut a reply that is longer than `MAX_REPLY_BYTES`, as from a server without a limit, and mark it as cut off."""
    calls = sum(_measure_json(call.arguments) for call in reading.calls)
    if _measure_json(reading.text) + calls <= MAX_REPLY_BYTES or reading.stop == "refused":
        return replace(reading, text=_cut_to_bytes(reading.text))
    return replace(reading, text=_cut_to_bytes(reading.text), calls=(), stop="max_tokens", thoughts=())


def _cut_to_bytes(text: str) -> str:
    while _measure_json(text) > MAX_REPLY_BYTES:
        text = text[: len(text) * 3 // 4]
    return text


def _measure_json(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


class _Tally:
    """The time and the tokens that the attempts of one call have taken so far."""

    def __init__(self, model: str, deadline: float, prices: Prices) -> None:
        self._model = model
        self._deadline = deadline
        self._prices = prices
        self._began = time.perf_counter()
        self._attempts: list[Tokens] = []

    def add(self, tokens: Tokens) -> None:
        self._attempts.append(tokens)

    @property
    def attempts(self) -> int:
        return len(self._attempts)

    def measure_elapsed(self) -> float:
        return time.perf_counter() - self._began

    def measure_seconds_left(self) -> float:
        return self._deadline - self.measure_elapsed()

    async def collect_usage(self) -> Usage:
        """Return the usage of all attempts. If they took tokens, wait for the prices until the call's deadline."""
        duration = self.measure_elapsed()
        if any(tokens.input or tokens.output for tokens in self._attempts):
            await self._prices.wait_until_ready(seconds=self.measure_seconds_left())
        costs = [self._prices.compute_cost(self._model, tokens) for tokens in self._attempts]
        known = [cost for cost in costs if cost is not None]
        return Usage(
            model=self._model,
            calls=len(self._attempts),
            tokens_in=sum(tokens.input for tokens in self._attempts),
            tokens_out=sum(tokens.output for tokens in self._attempts),
            tokens_cached=sum(tokens.cache_read for tokens in self._attempts),
            cost=sum(known) if known else None,
            duration=duration,
        )
