"""Chooses the model of an instance: the one that the environment names, otherwise the first that is available."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

from bot.models.chosen_model import ChosenModel
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.models.server_facts import fetch_json
from handoff.contracts import Tier
from specialists.model import Effort

if TYPE_CHECKING:
    from bot.models.openai_chat import OpenAIChat
    from bot.models.provider_model import ProviderModel

ANTHROPIC_TIERS: dict[Tier, str] = {
    "fast": "claude-haiku-5-5",
    "balanced": "claude-sonnet-5-5",
    "deep": "claude-opus-5-5",
}
OPENAI_TIERS: dict[Tier, str] = {"fast": "gpt-6-luna", "balanced": "gpt-6.1-terra", "deep": "gpt-6.1-sol"}
OLLAMA_URL = "http://127.0.0.1:11434"

_TIERS: tuple[Tier, ...] = get_args(Tier)
_EFFORTS: tuple[Effort, ...] = get_args(Effort)
_PROVIDER_CHOICES = ("anthropic", "openai", "ollama", "rehearsal")
_PROVIDER_VARIABLES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")
_NON_CHAT_WORDS = ("embed", "bge-", "minilm", "rerank", "whisper", "ocr")


class ModelSettingsError(Exception):
    """A setting about models is wrong. The text names it and says what to do."""


async def choose_model(env: Mapping[str, str]) -> ChosenModel:
    """Return the model that the environment variables select.

    `LEADHAND_MODEL` (anthropic, openai, ollama, rehearsal) decides. Without it, the first that applies:

    - Anthropic, if `ANTHROPIC_API_KEY` is set
    - a compatible server, if `OPENAI_BASE_URL` is set, even without a key; OpenAI, if `OPENAI_API_KEY` is set
    - an Ollama that answers on loopback
    - the rehearsal model

    `LEADHAND_MODEL_FAST`, `_BALANCED` and `_DEEP` name other models for the tiers. For a compatible server that has
    none of OpenAI's default models, the default is the first model that it lists.

    Raises:
        ModelSettingsError: A setting has an unknown value, or the selected model is not available.
    """
    setting = env.get("LEADHAND_MODEL", "").strip().lower()
    if setting and setting not in _PROVIDER_CHOICES:
        raise ModelSettingsError(f"LEADHAND_MODEL is {setting!r}; it takes one of: {', '.join(_PROVIDER_CHOICES)}.")
    set_variables = {name for name in _PROVIDER_VARIABLES if env.get(name, "").strip()}
    if setting == "anthropic" or (not setting and "ANTHROPIC_API_KEY" in set_variables):
        return _make_anthropic(env)
    if setting == "openai" or (not setting and set_variables - {"ANTHROPIC_API_KEY"}):
        return await _make_openai(env)
    if setting != "rehearsal":
        ollama = await _make_ollama(env)
        if ollama is not None:
            return ollama
        if setting == "ollama":
            raise ModelSettingsError(
                "LEADHAND_MODEL is ollama, but no Ollama with a chat model answers at "
                f"{_read_ollama_url(env) or OLLAMA_URL}. "
                "Start it with `ollama serve` and fetch a model, such as `ollama pull qwen3`."
            )
    return RehearsalModel(pace=_read_pace_seconds(env))


def _make_anthropic(env: Mapping[str, str]) -> ProviderModel:
    from bot.models.anthropic_messages import AnthropicMessages  # noqa: PLC0415 - only where it is chosen
    from bot.models.provider_model import ProviderModel  # noqa: PLC0415 - only where it is chosen

    key = _require_key(env, "ANTHROPIC_API_KEY", "anthropic")
    wire = AnthropicMessages(key, env.get("ANTHROPIC_BASE_URL") or None, silence=_read_silence_seconds(env))
    return ProviderModel(
        wire,
        _choose_model_names(env, ANTHROPIC_TIERS),
        provider="anthropic",
        picture_settings=_read_picture_support(env),
        efforts=_read_efforts(env),
    )


async def _make_openai(env: Mapping[str, str]) -> ProviderModel:
    from bot.models.openai_responses import OpenAIResponses  # noqa: PLC0415 - only where it is chosen
    from bot.models.provider_model import ProviderModel  # noqa: PLC0415 - only where it is chosen

    base_url = env.get("OPENAI_BASE_URL", "").strip() or None
    if base_url is None or urlsplit(base_url).hostname == "api.openai.com":
        key = _require_key(env, "OPENAI_API_KEY", "openai")
        wire = OpenAIResponses(key, base_url, silence=_read_silence_seconds(env))
        return ProviderModel(
            wire,
            _choose_model_names(env, OPENAI_TIERS),
            provider="openai",
            picture_settings=_read_picture_support(env),
            efforts=_read_efforts(env),
        )
    key = env.get("OPENAI_API_KEY", "").strip() or "none"  # most local servers need no key
    served_models = [] if all(_read_model_names(env).values()) else await fetch_served_models(base_url, key)
    has_foreign_models = served_models and not set(OPENAI_TIERS.values()) & set(served_models)
    defaults = dict.fromkeys(_TIERS, served_models[0]) if has_foreign_models else OPENAI_TIERS
    names, host = _choose_model_names(env, defaults), _extract_host(base_url)
    fetch_served = partial(fetch_served_models, base_url, key)
    return ProviderModel(
        _make_openai_chat(env, key, base_url),
        names,
        provider=host,
        picture_settings=_read_picture_support(env),
        efforts=_read_efforts(env),
        fetch_served_models=fetch_served,
    )


def _make_openai_chat(env: Mapping[str, str], key: str, base_url: str) -> OpenAIChat:
    from bot.models.openai_chat import OpenAIChat, ToolMode  # noqa: PLC0415 - only where it is chosen

    wish = env.get("LEADHAND_TOOL_CALLS", "").strip().lower() or "auto"
    mode = next((mode for mode in get_args(ToolMode) if mode == wish), None)
    if mode is None:
        raise ModelSettingsError(f"LEADHAND_TOOL_CALLS is {wish!r}; it takes one of: {', '.join(get_args(ToolMode))}.")
    return OpenAIChat(key, base_url, silence=_read_silence_seconds(env), tool_mode=mode)


def _extract_host(url: str) -> str:
    """Return the host of a URL, with the port if there is one, and without user name and password."""
    return urlsplit(url).netloc.rpartition("@")[2].lower() or url


async def fetch_served_models(base_url: str, key: str) -> list[str]:
    """Ask a compatible server for the names of its chat models; [] if it lists none or does not answer."""
    reply = await fetch_json(f"{base_url.rstrip('/')}/models", {"Authorization": f"Bearer {key}"})
    models = reply.get("data") if isinstance(reply, dict) else None
    names = [model.get("id") for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    return [name for name in names if isinstance(name, str) and _is_chat_model(name)]


def _require_key(env: Mapping[str, str], name: str, provider: str) -> str:
    key = env.get(name, "").strip()
    if not key:
        raise ModelSettingsError(
            f"LEADHAND_MODEL is {provider}, but {name} is not set. Set it, or leave LEADHAND_MODEL out."
        )
    return key


def _read_model_names(env: Mapping[str, str]) -> dict[Tier, str]:
    return {tier: env.get(f"LEADHAND_MODEL_{tier.upper()}", "").strip() for tier in _TIERS}


def _choose_model_names(env: Mapping[str, str], defaults: Mapping[Tier, str]) -> dict[Tier, str]:
    """Return the model's name for each tier: the one in the environment, otherwise the default."""
    return {tier: name or defaults[tier] for tier, name in _read_model_names(env).items()}


def _read_picture_support(env: Mapping[str, str]) -> dict[Tier, bool]:
    """Read `LEADHAND_SEES`: by tier, whether its model sees pictures; {} if not set. Raises ModelSettingsError."""
    wish = env.get("LEADHAND_SEES", "").strip().lower()
    if not wish:
        return {}
    if wish in {"all", "none"}:
        return dict.fromkeys(_TIERS, wish == "all")
    tier_names = [part.strip() for part in wish.split(",")]
    if not set(tier_names) <= set(_TIERS):
        raise ModelSettingsError(
            f"LEADHAND_SEES is {wish!r}; it takes all, none, or the tiers whose models see pictures, with commas: "
            "`balanced, deep`."
        )
    return {tier: tier in tier_names for tier in _TIERS}


def _read_efforts(env: Mapping[str, str]) -> dict[Tier, Effort]:
    """Read `LEADHAND_EFFORT`: by tier, its reasoning effort, for the tiers that it names. Raises ModelSettingsError."""
    wish = env.get("LEADHAND_EFFORT", "").strip().lower()
    efforts: dict[Tier, Effort] = {}
    for part in filter(None, (each.split() for each in wish.split(","))):
        tier = next((one for one in _TIERS if part[0] == one), None)
        effort = next((one for one in _EFFORTS if part[1:] == [one]), None)
        if tier is None or effort is None:
            raise ModelSettingsError(
                f"LEADHAND_EFFORT is {wish!r}; it takes a tier and low, medium or high, with commas: `deep high`."
            )
        efforts[tier] = effort
    return efforts


def _read_pace_seconds(env: Mapping[str, str]) -> float:
    return _read_seconds(env, "LEADHAND_REHEARSAL_PACE", 0.0, low=0, high=60)


def _read_silence_seconds(env: Mapping[str, str]) -> float:
    from bot.models.event_stream import SILENCE_SECONDS  # noqa: PLC0415 - only where a provider is chosen

    return _read_seconds(env, "LEADHAND_SILENCE", SILENCE_SECONDS, low=1, high=3_600)


def _read_seconds(env: Mapping[str, str], name: str, default: float, *, low: int, high: int) -> float:
    text = env.get(name, "").strip() or f"{default:g}"
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not low <= seconds <= high:
        raise ModelSettingsError(f"{name} is {text!r}; it takes seconds, from {low} to {high}.")
    return seconds


def _read_ollama_url(env: Mapping[str, str]) -> str | None:
    """Return the address of Ollama on this machine; None if `OLLAMA_HOST` names another machine."""
    host = env.get("OLLAMA_HOST", "").strip()
    if not host:
        return OLLAMA_URL
    parts = urlsplit(host if "//" in host else f"//{host}")
    name = parts.hostname or "127.0.0.1"
    try:
        address = ip_address("127.0.0.1" if name == "localhost" else name)
        port = parts.port or 11434
    except ValueError:
        return None
    if address.is_unspecified:  # OLLAMA_HOST may be the address to listen at: 0.0.0.0 includes loopback
        address = ip_address("127.0.0.1" if address.version == 4 else "::1")
    if not address.is_loopback:
        return None
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"


async def _make_ollama(env: Mapping[str, str]) -> ProviderModel | None:
    from bot.models.provider_model import ProviderModel  # noqa: PLC0415 - only where it is chosen

    url = _read_ollama_url(env)
    if url is None:
        return None
    models = await _fetch_ollama_models(url)
    best = _find_largest_chat_model(models)
    if best is None:
        return None
    names = _choose_model_names(env, dict.fromkeys(_TIERS, best))
    wire = _make_openai_chat(env, key="ollama", base_url=f"{url}/v1")
    fetch_served = partial(_fetch_ollama_names, url)
    return ProviderModel(
        wire,
        names,
        provider="ollama",
        picture_settings=_read_picture_support(env),
        efforts=_read_efforts(env),
        fetch_served_models=fetch_served,
    )


async def _fetch_ollama_models(url: str) -> list[dict[str, Any]]:
    """Ask the Ollama at this address for its models, as it describes them; [] if no Ollama answers."""
    reply = await fetch_json(f"{url}/api/tags", {})
    models = reply.get("models") if isinstance(reply, dict) else None
    return [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []


async def _fetch_ollama_names(url: str) -> list[str]:
    return [str(model["name"]) for model in await _fetch_ollama_models(url) if model.get("name")]


def _find_largest_chat_model(models: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the name of the largest chat model, or None. Models for embeddings, speech and the like do not count."""
    fit = [
        (size if isinstance(size := model.get("size"), int) else 0, str(model["name"]))
        for model in models
        if model.get("name") and _is_chat_model(str(model["name"]))
    ]
    return max(fit, key=lambda each: each[0])[1] if fit else None


def _is_chat_model(name: str) -> bool:
    return not any(word in name.lower() for word in _NON_CHAT_WORDS)
