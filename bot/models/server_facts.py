"""Asks servers for facts about their models (context size, picture support), and estimates a prompt's tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handoff.text.context_budget import estimate_token_count
from specialists.formats.picture_facts import estimate_picture_tokens
from specialists.model import ModelCall

ANSWER_SECONDS = 3.0
"""Seconds to wait for a server's answer to a question about its models."""


async def fetch_json(
    url: str, headers: Mapping[str, str], seconds: float = ANSWER_SECONDS, *, body: Mapping[str, Any] | None = None
) -> Any:
    """Fetch the JSON at a URL, by a POST if `body` is given. None if no JSON arrives within `seconds` seconds."""
    import aiohttp  # noqa: PLC0415 - only where a server is asked about its models

    from specialists.outbound.clients import open_session  # noqa: PLC0415 - the same

    try:
        async with (
            open_session(seconds=seconds) as session,
            session.request(
                "GET" if body is None else "POST", url, allow_redirects=False, headers=headers, json=body
            ) as response,
        ):
            return await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
        return None


async def fetch_context_size(base_url: str, model: str, headers: Mapping[str, str]) -> int | None:
    """Ask a compatible server for the size of a model's context in tokens; None if it does not report it.

    llama.cpp reports the size of a slot in `/props`. vLLM and others report that of a model in `/v1/models`, and Ollama
    that of a loaded model in `/api/ps`.
    """
    address = base_url.rstrip("/")
    root = address.removesuffix("/v1")
    props = await fetch_json(f"{root}/props", headers)
    if token_count := _find_positive_integer(_get_value(props, "default_generation_settings"), "n_ctx"):
        return token_count
    for entry in _find_entries(await fetch_json(f"{address}/models", headers), "data", "id", model):
        for about in (entry, _get_value(entry, "meta")):
            if token_count := _find_positive_integer(about, "max_model_len", "context_length", "n_ctx"):
                return token_count
    for entry in _find_entries(await fetch_json(f"{root}/api/ps", headers), "models", "name", model):
        return _find_positive_integer(entry, "context_length")
    return None


async def fetch_picture_support(base_url: str, model: str, headers: Mapping[str, str]) -> bool | None:
    """Ask a compatible server whether a model sees pictures; None if it does not report it.

    llama.cpp reports it in `/props`, gateways in `/v1/models`, and Ollama in `/api/show`.
    """
    address = base_url.rstrip("/")
    root = address.removesuffix("/v1")
    vision = _get_value(_get_value(await fetch_json(f"{root}/props", headers), "modalities"), "vision")
    if isinstance(vision, bool):
        return vision
    for entry in _find_entries(await fetch_json(f"{address}/models", headers), "data", "id", model):
        input_kinds = _get_value(_get_value(entry, "architecture"), "input_modalities")
        if isinstance(input_kinds, list):
            return "image" in input_kinds
    capabilities = _get_value(await fetch_json(f"{root}/api/show", headers, body={"model": model}), "capabilities")
    return "vision" in capabilities if isinstance(capabilities, list) else None


def _get_value(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _find_entries(value: Any, key: str, name_field: str, name: str) -> list[dict[str, Any]]:
    entries = _get_value(value, key)
    entries = entries if isinstance(entries, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and entry.get(name_field) == name]


def _find_positive_integer(value: Any, *keys: str) -> int | None:
    counts = (_get_value(value, key) for key in keys)
    return next((count for count in counts if isinstance(count, int) and count > 0), None)


_NEWEST_WEIGHT = 0.3
"""The weight of the newest count in the average of a model's factors."""
_CORRECTION_BOUNDS = (0.25, 4.0)
"""The bounds of the ratio of a server's count to our estimate."""


def estimate_prompt_tokens(call: ModelCall) -> int:
    """Estimate the tokens of a call's prompt: system prompt, messages, pictures and tools."""
    size = estimate_token_count(call.system)
    for message in call.messages:
        size += estimate_token_count(message.text) + sum(estimate_token_count(reply.text) for reply in message.replies)
        size += sum(estimate_token_count(json.dumps(one.arguments, ensure_ascii=False)) for one in message.calls)
        size += sum(estimate_picture_tokens(picture.data) for picture in message.pictures)
    size += sum(
        estimate_token_count(tool.description) + estimate_token_count(json.dumps(tool.parameters))
        for tool in call.tools
    )
    return size + 1


class PromptSizeEstimator:
    """Estimates of prompt sizes, corrected by the server's token counts of earlier calls to the same model."""

    def __init__(self) -> None:
        self._factors: dict[str, float] = {}

    def estimate_tokens(self, call: ModelCall, model: str) -> int:
        """Estimate the tokens of a call's prompt, with the correction learned for this model."""
        return round(estimate_prompt_tokens(call) * self._factors.get(model, 1.0))

    def learn_token_count(self, call: ModelCall, model: str, token_count: int) -> None:
        """Correct later estimates by the tokens that the server counted for a call; 0 changes nothing."""
        if token_count:
            least, most = _CORRECTION_BOUNDS
            ratio = max(least, min(most, token_count / estimate_prompt_tokens(call)))
            self._factors[model] = (1 - _NEWEST_WEIGHT) * self._factors.get(model, ratio) + _NEWEST_WEIGHT * ratio
