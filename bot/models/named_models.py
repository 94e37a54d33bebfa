"""Models that specialists' files name: their names at the chosen provider, and which are unavailable there.

An instance works with one provider. The name of one of its models is accepted, with or without the
provider's name before it (`openai/gpt-6-sol`); a model of another provider is refused at the start.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from specialists.files.frontmatter import CrewFault, suggest_name
from specialists.model import ModelCall

if TYPE_CHECKING:
    from bot.models.chosen_model import ChosenModel
    from specialists.crew import Crew

_PATTERNS_BY_PROVIDER = {
    "anthropic": re.compile(r"claude\b", re.IGNORECASE),
    "openai": re.compile(r"(?:gpt|chatgpt|o\d)\b(?!-oss)", re.IGNORECASE),
}
"""By provider: the beginning of model names that no other provider serves."""
_MAX_LISTED_MODELS = 8
"""Maximum number of a server's models that a fault lists."""


def get_model_name(model: ChosenModel, call: ModelCall) -> str:
    """Return the name of the model that a call is for."""
    return strip_provider(model.provider, call.model) if call.model else model.tiers[call.tier]


def strip_provider(provider: str, requested_name: str) -> str:
    """Return the provider's own name of a model: `requested_name` without the provider's name before the slash."""
    prefix, _, rest = requested_name.partition("/")
    return rest if rest and prefix.lower() == provider else requested_name


def explain_unavailable_model(requested_name: str, provider: str, served_models: Sequence[str] = ()) -> str:
    """Return why the provider does not have a model, and what to do; "" if it has the model or that is unknown.

    `served_models` are the models that the provider's server lists; empty if it lists none.
    """
    name, (prefix, slash, rest) = strip_provider(provider, requested_name), requested_name.partition("/")
    if provider in _PATTERNS_BY_PROVIDER:
        family = next((one for one, words in _PATTERNS_BY_PROVIDER.items() if words.match(rest or name)), "")
        owner = prefix.lower() if slash and prefix.lower() != provider else family
        if owner and owner != provider:
            return (
                f"model names {requested_name}, one of {owner}'s, and this instance works with {provider}; name one of "
                f"{provider}'s or a tier (fast, balanced, deep)"
                + (f", or set LEADHAND_MODEL={owner}" if family else "")
            )
    elif served_models and not {name, f"{name}:latest"} & set(served_models):
        listed_names = ", ".join(served_models[:_MAX_LISTED_MODELS]) + (
            " and more" if len(served_models) > _MAX_LISTED_MODELS else ""
        )
        return (
            f"model names {requested_name}, which {provider} does not serve{suggest_name(name, served_models)}; it "
            f"serves {listed_names}. "
            "Name one of these or a tier (fast, balanced, deep)"
        )
    return ""


def list_named_models(*crews: Crew) -> tuple[str, ...]:
    """List the models that the files of crews, and of crews inside these, name."""
    everyone = (one for crew in crews for one in crew.all_specialists.values())
    return tuple(dict.fromkeys(one.model_overrides.name for one in everyone if one.model_overrides.name))


async def register_named_models(model: ChosenModel, *crews: Crew) -> tuple[CrewFault, ...]:
    """Register the models that the files of crews name. Returns a fault of each file that names an unavailable one.

    Await it once, before the first call. The rehearsal has no unavailable models.
    """
    names = list_named_models(*crews)
    faults = await model.register_models(names) if names else {}
    faulty_overrides = (
        one.model_overrides
        for crew in crews
        for one in crew.all_specialists.values()
        if one.model_overrides.name in faults
    )
    return tuple(sorted({wish.make_fault(faults[wish.name]) for wish in faulty_overrides}))


def list_provider_model_names(model: ChosenModel, *crews: Crew) -> tuple[str, ...]:
    """List the provider's own names of the models that the files of crews name."""
    return tuple(strip_provider(model.provider, one) for one in list_named_models(*crews))
