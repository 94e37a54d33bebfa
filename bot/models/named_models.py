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

_NAME_PATTERNS = {
    "anthropic": re.compile(r"claude\b", re.IGNORECASE),
    "openai": re.compile(r"(?:gpt|chatgpt|o\d)\b(?!-oss)", re.IGNORECASE),
}
"""By provider: the beginning of model names that no other provider serves."""
_MAX_LISTED = 8
"""Most names of a server's models that a fault lists."""


def find_model_name(model: ChosenModel, call: ModelCall) -> str:
    """Return the name of the model that a call is for."""
    return strip_provider(model.provider, call.model) if call.model else model.tiers[call.tier]


def strip_provider(provider: str, wished_name: str) -> str:
    """Return the provider's own name of a model: `wished_name` without the provider's name before the slash."""
    prefix, _, rest = wished_name.partition("/")
    return rest if rest and prefix.lower() == provider else wished_name


def explain_unavailable_model(wished_name: str, provider: str, served_models: Sequence[str] = ()) -> str:
    """Return why the provider does not have a model, and what to do; "" if it has the model or that is unknown.

    `served_models` are the models that the provider's server lists; empty if it lists none.
    """
    name, (prefix, slash, rest) = strip_provider(provider, wished_name), wished_name.partition("/")
    if provider in _NAME_PATTERNS:
        family = next((one for one, words in _NAME_PATTERNS.items() if words.match(rest or name)), "")
        owner = prefix.lower() if slash and prefix.lower() != provider else family
        if owner and owner != provider:
            return (
                f"model names {wished_name}, one of {owner}'s, and this instance works with {provider}; name one of "
                f"{provider}'s or a tier (fast, balanced, deep)"
                + (f", or set LEADHAND_MODEL={owner}" if family else "")
            )
    elif served_models and not {name, f"{name}:latest"} & set(served_models):
        there = ", ".join(served_models[:_MAX_LISTED]) + (" and more" if len(served_models) > _MAX_LISTED else "")
        return (
            f"model names {wished_name}, which {provider} does not serve{suggest_name(name, served_models)}; it "
            f"serves {there}. "
            "Name one of these or a tier (fast, balanced, deep)"
        )
    return ""


def list_wished_models(*crews: Crew) -> tuple[str, ...]:
    """List the models that the files of crews, and of crews inside these, name."""
    everyone = (one for crew in crews for one in crew.all_specialists.values())
    return tuple(dict.fromkeys(one.model_wish.name for one in everyone if one.model_wish.name))


async def register_named_models(model: ChosenModel, *crews: Crew) -> tuple[CrewFault, ...]:
    """Register the models that the files of crews name, with prices. Returns a fault for each unavailable one.

    Await it once, before the first call. With the rehearsal no model is unavailable.
    """
    wished = list_wished_models(*crews)
    faults = await model.register_models(wished) if wished else {}
    named = (one.model_wish for crew in crews for one in crew.all_specialists.values() if one.model_wish.name in faults)
    return tuple(sorted({wish.make_fault(faults[wish.name]) for wish in named}))


def list_provider_names(model: ChosenModel, *crews: Crew) -> tuple[str, ...]:
    """List the models that the files of crews name, by the provider's own names."""
    return tuple(strip_provider(model.provider, one) for one in list_wished_models(*crews))
