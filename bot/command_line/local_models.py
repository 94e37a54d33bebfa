"""Finds a model on this machine for `leadhand try`: servers on their usual ports, put to the proof of `check`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.command_line.console import say
from bot.command_line.model_proof import prove
from bot.models.choosing import choose_model, served_models
from bot.models.chosen_model import ChosenModel
from handoff.contracts import ContextLimits

SERVERS: Mapping[str, int] = {"llama.cpp": 8080, "LM Studio": 1234, "vLLM": 8000}
"""Servers that speak chat completions, and the ports that they usually take. An Ollama is found without this."""
PROOF_SECONDS = 90.0
"""Seconds that a model may take to make a plan and call a tool: one that takes longer is too slow for a job."""
MOST_MODELS = 3
"""Models of one server that are put to the proof."""
HOW_TO_GET = "ollama pull qwen3, or llama-server, LM Studio or vLLM with a model that calls tools"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of a server on this machine. `fault` says why no job can work with it; empty: it passed the proof."""

    server: str
    url: str
    name: str
    fault: str = ""

    @property
    def env(self) -> dict[str, str]:
        """The settings that choose it."""
        tiers = dict.fromkeys(("LEADHAND_MODEL_FAST", "LEADHAND_MODEL_BALANCED", "LEADHAND_MODEL_DEEP"), self.name)
        return {"OPENAI_BASE_URL": self.url, **tiers}


async def find_local_models(ports: Mapping[str, int] = SERVERS) -> list[LocalModel]:
    """List the models that answer on this machine, unproven."""

    async def at(server: str, port: int) -> list[LocalModel]:
        url = f"http://127.0.0.1:{port}/v1"
        return [LocalModel(server, url, name) for name in (await served_models(url, "none"))[:MOST_MODELS]]

    found = await asyncio.gather(*(at(server, port) for server, port in ports.items()))
    return [one for models in found for one in models]


async def prove_model(
    one: LocalModel, env: Mapping[str, str], specialists: Sequence[str], context: ContextLimits
) -> LocalModel:
    """Put a model to the proof of `leadhand check`: a plan in its schema, and a call of a tool."""
    model = await choose_model({**env, **one.env})
    try:
        async with asyncio.timeout(PROOF_SECONDS):
            proofs = await prove(model, specialists, context)
        fault = next((proof.fault or proof.risk for proof in proofs.values() if proof.fault or proof.risk), "")
    except TimeoutError:
        fault = f"it took more than {PROOF_SECONDS:g} s to make a plan and call a tool"
    finally:
        await model.close()
    return replace(one, fault=fault)


async def choose_local(
    env: Mapping[str, str],
    specialists: Callable[[], Sequence[str]],
    context: ContextLimits,
    ports: Mapping[str, int] = SERVERS,
) -> ChosenModel | None:
    """Use the model on this machine that passes the proof, if exactly one does. Says what was found, a line each."""
    here = await find_local_models(ports)
    if not here:
        return None
    names = ", ".join(f"{one.name} ({one.server})" for one in here)
    say(f"Found on this machine: {names}. Putting {'it' if len(here) == 1 else 'them'} to the proof ...")
    who = specialists()
    tried = [await prove_model(one, env, who, context) for one in here]  # one by one: they would slow each other
    for one in tried:
        said = one.fault or "makes plans and calls tools"
        say(f"  {one.name} at {one.url.removeprefix('http://').removesuffix('/v1')}: {said}")
    fit = [one for one in tried if not one.fault]
    if len(fit) == 1:
        return await choose_model({**env, **fit[0].env})
    if fit:
        say(f"  Choose one: OPENAI_BASE_URL={fit[0].url} LEADHAND_MODEL_BALANCED={fit[0].name} leadhand try")
    return None
