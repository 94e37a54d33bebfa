"""Chooses the model: the one that the environment names, else the first that is there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any, Protocol, get_args
from urllib.parse import urlsplit

from bot.models.anthropic_messages import AnthropicMessages
from bot.models.openai_chat import OpenAIChat
from bot.models.openai_responses import OpenAIResponses
from bot.models.provider_model import ProviderModel
from bot.models.rehearsal.rehearsal import RehearsalModel
from handoff.contracts import Tier
from specialists.turns.model import Model, ModelCall, ModelError, ModelMessage

ANTHROPIC_TIERS: dict[Tier, str] = {
    "fast": "claude-haiku-5-5",
    "balanced": "claude-sonnet-5-5",
    "deep": "claude-opus-5-5",
}
OPENAI_TIERS: dict[Tier, str] = {"fast": "gpt-6-luna", "balanced": "gpt-6.1-terra", "deep": "gpt-6.1-sol"}
OLLAMA = "http://127.0.0.1:11434"

_TIERS: tuple[Tier, ...] = get_args(Tier)
_CHOICES = ("anthropic", "openai", "ollama", "rehearsal")
_FOUND_BY = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")
_PATIENCE = 3.0
"""Seconds that a server may take to say which models it has."""
_PROBE_SECONDS = 30.0
_NOT_FOR_CHAT = ("embed", "bge-", "minilm", "rerank", "whisper", "ocr")


class ModelSettingsError(Exception):
    """A setting about models is wrong. The text names it and says what to do."""


class ChosenModel(Model, Protocol):
    """A model whose provider, tiers and prices are known, and that can be made ready before it is needed."""

    @property
    def provider(self) -> str:
        """The provider's name, as settings and metrics have it."""

    @property
    def tiers(self) -> Mapping[Tier, str]:
        """The model's name for each tier."""

    async def warm(self) -> None:
        """Import the SDK and look prices up, without blocking the loop. Costs nothing once that is done."""

    def price(self, tier: Tier, tokens_in: int, tokens_out: int) -> float | None:
        """Return the dollars of so many tokens; 0 if calls take no tokens at all, None if no price is known (yet)."""


async def choose_model(env: Mapping[str, str]) -> ChosenModel:
    """Choose the model that an environment asks for.

    `LEADHAND_MODEL` (anthropic, openai, ollama, rehearsal) decides. Without it: Anthropic if there is a
    key, else OpenAI if there is one (with `OPENAI_BASE_URL`, and then even without a key: any compatible
    server), else an Ollama that answers on loopback, else the rehearsal model. `LEADHAND_MODEL_FAST`,
    `_BALANCED` and `_DEEP` name other models for the tiers; a compatible server that has none of OpenAI's
    gets the first one that it lists.

    Raises:
        ModelSettingsError: The model that is asked for is unknown or cannot be had.
    """
    wish = env.get("LEADHAND_MODEL", "").strip().lower()
    if wish and wish not in _CHOICES:
        raise ModelSettingsError(f"LEADHAND_MODEL is {wish!r}; it takes one of: {', '.join(_CHOICES)}.")
    found = {name for name in _FOUND_BY if env.get(name, "").strip()}
    if wish == "anthropic" or (not wish and "ANTHROPIC_API_KEY" in found):
        return _anthropic(env)
    if wish == "openai" or (not wish and found - {"ANTHROPIC_API_KEY"}):
        return await _openai(env)
    if wish != "rehearsal":
        ollama = await _ollama(env)
        if ollama is not None:
            return ollama
        if wish == "ollama":
            raise ModelSettingsError(
                f"LEADHAND_MODEL is ollama, but no Ollama with a chat model answers at {_ollama_url(env) or OLLAMA}. "
                "Start it with `ollama serve` and fetch a model, such as `ollama pull qwen3`."
            )
    return RehearsalModel(pace=_pace(env))


async def probe(model: Model) -> dict[Tier, str | None]:
    """Make one tiny call per distinct model. Gives None for each tier that answered, else its fault, for people."""
    tiers: Mapping[Tier, str] = getattr(model, "tiers", None) or dict.fromkeys(_TIERS, model.label)
    first: dict[str, Tier] = {}
    for tier, name in tiers.items():
        first.setdefault(name, tier)
    faults = await asyncio.gather(*(_fault(model, tier) for tier in first.values()))
    by_name = dict(zip(first, faults, strict=True))
    return {tier: by_name[name] for tier, name in tiers.items()}


async def _fault(model: Model, tier: Tier) -> str | None:
    call = ModelCall(
        purpose="check",
        system="",
        messages=(ModelMessage(role="user", text="Reply with the single word: ready"),),
        tier=tier,
        max_tokens=64,
        deadline=_PROBE_SECONDS,
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        return str(error)
    return "The model declined to answer." if turn.stop == "refused" else None


def _anthropic(env: Mapping[str, str]) -> ProviderModel:
    key = _key(env, "ANTHROPIC_API_KEY", "anthropic")
    wire = AnthropicMessages(key, env.get("ANTHROPIC_BASE_URL") or None)
    return ProviderModel(wire, _named(env, ANTHROPIC_TIERS), provider="anthropic")


async def _openai(env: Mapping[str, str]) -> ProviderModel:
    base_url = env.get("OPENAI_BASE_URL", "").strip() or None
    if base_url is None or urlsplit(base_url).hostname == "api.openai.com":
        key = _key(env, "OPENAI_API_KEY", "openai")
        return ProviderModel(OpenAIResponses(key, base_url), _named(env, OPENAI_TIERS), provider="openai")
    key = env.get("OPENAI_API_KEY", "").strip() or "none"  # most servers at home ask for none
    served = [] if all(_given(env).values()) else await _served(base_url, key)
    strange = served and not set(OPENAI_TIERS.values()) & set(served)
    defaults = dict.fromkeys(_TIERS, served[0]) if strange else OPENAI_TIERS
    return ProviderModel(OpenAIChat(key, base_url), _named(env, defaults), provider=_host(base_url))


def _host(url: str) -> str:
    """Return the host of an address, with its port if it names one, and without any name or password before it."""
    return urlsplit(url).netloc.rpartition("@")[2].lower() or url


async def _served(base_url: str, key: str) -> list[str]:
    """Ask a compatible server which chat models it has; none if it cannot be asked."""
    found = await _get_json(f"{base_url.rstrip('/')}/models", _PATIENCE, {"Authorization": f"Bearer {key}"})
    models = found.get("data") if isinstance(found, dict) else None
    names = [model.get("id") for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    return [name for name in names if isinstance(name, str) and _is_for_chat(name)]


def _key(env: Mapping[str, str], name: str, wish: str) -> str:
    key = env.get(name, "").strip()
    if not key:
        raise ModelSettingsError(
            f"LEADHAND_MODEL is {wish}, but {name} is not set. Set it, or leave LEADHAND_MODEL out."
        )
    return key


def _given(env: Mapping[str, str]) -> dict[Tier, str]:
    return {tier: env.get(f"LEADHAND_MODEL_{tier.upper()}", "").strip() for tier in _TIERS}


def _named(env: Mapping[str, str], defaults: Mapping[Tier, str]) -> dict[Tier, str]:
    """Name the model of each tier: the one given, else the default."""
    return {tier: name or defaults[tier] for tier, name in _given(env).items()}


def _pace(env: Mapping[str, str]) -> float:
    text = env.get("LEADHAND_REHEARSAL_PACE", "").strip() or "0"
    try:
        pace = float(text)
    except ValueError:
        pace = -1.0
    if not 0 <= pace <= 60:
        raise ModelSettingsError(f"LEADHAND_REHEARSAL_PACE is {text!r}; it takes seconds, from 0 to 60.")
    return pace


def _ollama_url(env: Mapping[str, str]) -> str | None:
    """Return the address of Ollama on this machine; None if `OLLAMA_HOST` names another machine."""
    host = env.get("OLLAMA_HOST", "").strip()
    if not host:
        return OLLAMA
    parts = urlsplit(host if "//" in host else f"//{host}")
    name = parts.hostname or "127.0.0.1"
    try:
        address = ip_address("127.0.0.1" if name == "localhost" else name)
        port = parts.port or 11434
    except ValueError:
        return None
    if address.is_unspecified:  # the address that a server listens at: 0.0.0.0 includes loopback
        address = ip_address("127.0.0.1" if address.version == 4 else "::1")
    if not address.is_loopback:
        return None
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"


async def _ollama(env: Mapping[str, str]) -> ProviderModel | None:
    url = _ollama_url(env)
    if url is None:
        return None
    models = await _ollama_models(url)
    best = _largest_for_chat(models)
    if best is None:
        return None
    names = _named(env, dict.fromkeys(_TIERS, best))
    return ProviderModel(OpenAIChat("ollama", f"{url}/v1"), names, provider="ollama")


async def _ollama_models(url: str) -> list[dict[str, Any]]:
    """Ask the Ollama at this address which models it has; none if nothing there answers like one."""
    found = await _get_json(f"{url}/api/tags", _PATIENCE, {})
    models = found.get("models") if isinstance(found, dict) else None
    return [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []


async def _get_json(url: str, patience: float, headers: Mapping[str, str]) -> Any:
    """Fetch the JSON at an address; None if there is none within that many seconds."""
    import aiohttp  # noqa: PLC0415 - only for servers that are asked for their models

    timeout = aiohttp.ClientTimeout(total=patience)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, allow_redirects=False, headers=headers) as response,
        ):
            return await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
        return None


def _largest_for_chat(models: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the name of the largest model that is not made for something other than chat."""
    fit = [
        (size if isinstance(size := model.get("size"), int) else 0, str(model["name"]))
        for model in models
        if model.get("name") and _is_for_chat(str(model["name"]))
    ]
    return max(fit, key=lambda each: each[0])[1] if fit else None


def _is_for_chat(name: str) -> bool:
    return not any(word in name.lower() for word in _NOT_FOR_CHAT)
