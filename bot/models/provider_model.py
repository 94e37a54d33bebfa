"""The models of one provider by tier, in any wire format."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from bot.models.call_retrier import CallRetrier, RetryPolicy
from bot.models.named_models import explain_unavailable_model, get_model_name, strip_provider
from bot.models.picture_support import (
    REFUSED_REASON,
    TEXT_ONLY_REASON,
    has_pictures,
    is_picture_refusal,
    is_vision_refusal,
    replace_all_pictures,
    replace_excess_pictures,
)
from bot.models.prices import Prices
from bot.models.server_facts import PromptSizeEstimator
from bot.models.wire import Emitter, ProviderConnection, TokenCounts, Wire, WireReply
from handoff.contracts import Tier, Turn
from specialists.model import Effort, ModelCall, ModelError, ModelMessage

DISPLAY_NAMES: Mapping[str, str] = {"anthropic": "Anthropic", "openai": "OpenAI", "ollama": "Ollama"}
"""Names for people, by the provider's name. Other providers are shown by their own name."""
PRICED_PROVIDERS = frozenset({"anthropic", "openai"})
"""Providers that the price list knows by the same name. Any other is looked up by its address."""

_CALL_BLOCK_TYPES = ("tool_use", "function_call")
_MIN_COUNTED_SECONDS = 0.1
"""Seconds: a shorter wait for the SDK is not subtracted from a call's deadline."""


class ProviderModel:
    """The models of one provider. The SDK (2 s, 60 to 85 MB) is imported by `warm`, or by the first call.

    Args:
        wire: Sends a call in the provider's wire format.
        tiers: The model's name for each tier.
        provider: The provider's name as settings and metrics have it: `anthropic`, `openai`, `ollama`, or the host
            (with its port, if it has one) of another server.
        retry_policy: When and how often a failed call is sent again.
        picture_settings: By tier, whether its model sees pictures, if a setting says so. For other tiers `wire` is
            asked.
        efforts: By tier, the reasoning effort of its model, if a setting says so.
        fetch_served_models: Asks the server for the names of its models; None if it cannot be asked.
    """

    def __init__(
        self,
        wire: Wire,
        tiers: Mapping[Tier, str],
        *,
        provider: str,
        retry_policy: RetryPolicy | None = None,
        picture_settings: Mapping[Tier, bool] | None = None,
        efforts: Mapping[Tier, Effort] | None = None,
        fetch_served_models: Callable[[], Awaitable[list[str]]] | None = None,
    ) -> None:
        self.wire = wire
        self.tiers = dict(tiers)
        self.provider = provider
        self._display_name = DISPLAY_NAMES.get(provider, provider)
        self._prices = _make_prices(provider, wire.base_url, self.tiers.values())
        self._retrier = CallRetrier(self._display_name, retry_policy or RetryPolicy(), self._prices)
        self._prompt_sizes = PromptSizeEstimator()
        self._picture_settings: Mapping[Tier, bool] = picture_settings or {}
        self._picture_support: dict[str, bool | None] = {}
        self._text_only_models: set[str] = set()
        self._efforts: Mapping[Tier, Effort] = efforts or {}
        self._fetch_served_models = fetch_served_models
        self._tokens_under_way = 0
        self._connection_task: asyncio.Task[ProviderConnection] | None = None

    @property
    def label(self) -> str:
        """The name of the balanced model with its provider, for people."""
        return f"{self.tiers['balanced']} ({self._display_name})"

    async def warm(self) -> None:
        """Import the SDK and look up the prices, so that the first call need not wait for either."""
        self._prices.start_lookup()
        await asyncio.gather(self._connect(), self._prices.wait_until_ready())

    async def register_models(self, names: Iterable[str]) -> dict[str, str]:
        """Check that the provider offers these models, and look up prices of those that it does.

        Returns the fault of each unavailable one, by name.
        """
        wished_names = list(names)
        served_models = await self._fetch_served_models() if self._fetch_served_models is not None else []
        faults = {
            name: fault
            for name in wished_names
            if (fault := explain_unavailable_model(name, self.provider, served_models))
        }
        self._prices.add_models(strip_provider(self.provider, name) for name in wished_names if name not in faults)
        return faults

    def compute_price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """Return the price of these tokens in dollars; None if no price is known, as before `warm` has ended."""
        name = strip_provider(self.provider, model) if model else self.tiers[tier]
        return self._prices.compute_cost(name, TokenCounts(tokens_in, tokens_out))

    async def reply(self, call: ModelCall) -> Turn:
        """Make one turn. Raises `ModelError`."""
        self._prices.start_lookup()
        connection, call = await self._connect_within_deadline(call)
        model = get_model_name(self, call)
        if call.effort is None and not call.model:
            call = replace(call, effort=self._efforts.get(call.tier))
        origin = {"provider": self.provider, "model": model}
        call, unseen_lines = await self._drop_unseen_pictures(_drop_stale_thoughts(call, origin), connection)
        size = self._prompt_sizes.estimate_tokens(call, model)
        refused_lines: list[str] = []

        async def send_once(emitter: Emitter) -> WireReply:
            self._tokens_under_way += size
            try:
                # A small machine reads one prompt after the other, so the prompts of calls under way count too.
                wire_reply, picture_lines = await self._send(connection, call, model, emitter)
            finally:
                self._tokens_under_way -= size
            self._prompt_sizes.learn_token_count(call, model, wire_reply.tokens.input)
            refused_lines[:] = picture_lines
            return wire_reply

        turn = await self._retrier.run(call, model, connection.sdk, send_once)
        if unseen_lines or refused_lines:
            turn = turn.model_copy(update={"unseen": (*unseen_lines, *refused_lines)})
        return turn.model_copy(update={"thoughts": (origin, *turn.thoughts)}) if turn.thoughts else turn

    async def _drop_unseen_pictures(
        self, call: ModelCall, connection: ProviderConnection
    ) -> tuple[ModelCall, tuple[str, ...]]:
        """Return the call with a line in place of each picture that its model cannot take, and these lines."""
        if not has_pictures(call):
            return call, ()
        if not await self._model_sees_pictures(connection, call.tier, call.model):
            return replace_all_pictures(call)
        return replace_excess_pictures(call, self.wire.picture_limits)

    async def _send(
        self, connection: ProviderConnection, call: ModelCall, model: str, emitter: Emitter
    ) -> tuple[WireReply, tuple[str, ...]]:
        """Send a call. If the server refuses its pictures, sends it again with a line for each.

        Returns the reply and these lines.
        """
        try:
            return await self.wire.send(connection, call, model, emitter, self._tokens_under_way), ()
        except connection.sdk.APIStatusError as error:
            if not has_pictures(call) or not is_picture_refusal(error):
                raise
            refuses_all = is_vision_refusal(error)
        if refuses_all:
            self._text_only_models.add(model)
        blind, lines = replace_all_pictures(call, TEXT_ONLY_REASON if refuses_all else REFUSED_REASON)
        return await self.wire.send(connection, blind, model, emitter, self._tokens_under_way), lines

    async def sees_pictures(self, tier: Tier) -> bool | None:
        """Return whether the model of a tier sees pictures; None if unknown: then it is sent none."""
        return await self._model_sees_pictures(await self._connect(), tier)

    async def _model_sees_pictures(
        self, connection: ProviderConnection, tier: Tier, model_name: str = ""
    ) -> bool | None:
        model = strip_provider(self.provider, model_name) if model_name else self.tiers[tier]
        if model in self._text_only_models:
            return False
        if not model_name and (setting := self._picture_settings.get(tier)) is not None:
            return setting
        if model not in self._picture_support:
            self._picture_support[model] = await self.wire.sees_pictures(connection, model)
        return self._picture_support[model]

    def needs_step_schema(self, tier: Tier) -> bool:
        """Return True if the model of a tier calls tools by steps in a JSON schema."""
        return self.wire.needs_step_schema(self.tiers[tier])

    async def fetch_context_size(self, tier: Tier) -> int | None:
        """Return the context size of a tier's model in tokens; None if the server does not report it."""
        return await self.wire.fetch_context_size(await self._connect(), self.tiers[tier])

    async def close(self) -> None:
        """Close the provider's connections and cancel a running price lookup. Await it in the loop that opened them."""
        await self._prices.close()
        if self._connection_task is not None:
            done_tasks, _ = await asyncio.wait([self._connection_task])
            for task in done_tasks:
                if not task.cancelled() and task.exception() is None:
                    await task.result().client.close()

    async def _connect(self) -> ProviderConnection:
        """Return the connection. The first call opens it in a thread, which goes on even if that call is cancelled."""
        if self._connection_task is None or (self._connection_task.done() and _has_failed(self._connection_task)):
            self._connection_task = asyncio.create_task(asyncio.to_thread(self.wire.connect))
        return await asyncio.shield(self._connection_task)

    async def _connect_within_deadline(self, call: ModelCall) -> tuple[ProviderConnection, ModelCall]:
        """Return the connection, and the call with its deadline reduced by the wait for it. Raises `ModelError`."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout(call.timeout_seconds) as timer:
                connection = await self._connect()
        except TimeoutError:
            if not timer.expired():
                raise
            message = (
                f"The SDK of {self._display_name} was not loaded within {call.timeout_seconds:g} s: this "
                "machine is busy."
            )
            raise ModelError("timeout", message, transient=True, tries=1) from None
        waited_seconds = clock() - began
        return connection, call if waited_seconds < _MIN_COUNTED_SECONDS else replace(
            call, timeout_seconds=max(0.1, round(call.timeout_seconds - waited_seconds, 1))
        )


def _has_failed(task: asyncio.Task[ProviderConnection]) -> bool:
    return task.cancelled() or task.exception() is not None


def _drop_stale_thoughts(call: ModelCall, origin: dict[str, Any]) -> ModelCall:
    """Return the call without thoughts of other models, and without those that no longer fit their message's calls."""
    if not any(message.thoughts for message in call.messages):
        return call
    return replace(call, messages=tuple(_keep_own_thoughts(message, origin) for message in call.messages))


def _keep_own_thoughts(message: ModelMessage, origin: dict[str, Any]) -> ModelMessage:
    first, *thoughts = message.thoughts or ({},)
    fit = first == origin and _do_thoughts_fit(thoughts, {call.id for call in message.calls})
    return message.model_copy(update={"thoughts": tuple(thoughts) if fit else ()})


def _do_thoughts_fit(thoughts: list[dict[str, Any]], calls: set[str]) -> bool:
    """Return True if thoughts have exactly the calls of their message. Thoughts of chat completions may have fewer."""
    if any("calls" in item for item in thoughts):
        return all(calls >= set(item.get("calls", ())) for item in thoughts)
    return calls == {
        item.get("call_id") or item.get("id") for item in thoughts if item.get("type") in _CALL_BLOCK_TYPES
    }


def _make_prices(provider: str, base_url: str | None, models: Iterable[str]) -> Prices:
    if provider in PRICED_PROVIDERS:
        return Prices(models, provider=provider)
    public = base_url is not None and base_url.startswith("https://")  # nobody lists prices of local servers
    return Prices(models, api_url=base_url if base_url and public else "")
