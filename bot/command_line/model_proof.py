"""Finds models on this machine, and tests whether a model can fill the plan's schema and call a tool."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bot.command_line.console import say
from bot.models.chosen_model import ChosenModel
from bot.models.model_choice import choose_model, fetch_served_models
from bot.models.provider_model import ProviderModel
from bot.supervisor.planner import make_plan_schema
from bot.supervisor.prompts import parse_json_object
from handoff.contracts import ContextLimits, Tier, Turn
from specialists.model import ModelCall, ModelError, ModelMessage
from specialists.tools.tool import ToolSpec

CALL_TIMEOUT_SECONDS = 240.0
"""Maximum seconds of one model call in a test."""
MAX_REPLY_TOKENS = 2048
"""Maximum tokens of a reply: enough to reason first, and a limit for a model that does not stop."""
CONTEXT_SHARE = 0.5
"""The share of a model's context that material may fill. Prompt, tools, conversation and reply need the rest."""
_TOOL = ToolSpec(
    "calculate",
    "Works out a term.",
    {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
)
_REQUEST = "Say hello to the team in one sentence."
_TOOL_REQUEST = "How much is 123456 * 654321?"
SIGHT_UNKNOWN_NOTE = "is shown no pictures, as nobody says that it sees (LEADHAND_SEES does)"
_OTHER_MODEL_HINT = "name another model by LEADHAND_MODEL_FAST, _BALANCED and _DEEP"


@dataclass(frozen=True, slots=True)
class ModelProof:
    """The results of a model's tests. `fault` says what it cannot do, `risk` what it does badly; both may be empty."""

    note: str = ""
    fault: str = ""
    risk: str = ""


async def prove_tiers(model: ChosenModel, specialists: Sequence[str], context: ContextLimits) -> dict[Tier, ModelProof]:
    """Test the model of each tier, each model only once. A rehearsal is not called: its proof is "answers"."""
    tiers: Mapping[Tier, str] = model.tiers
    if not isinstance(model, ProviderModel):
        return dict.fromkeys(tiers, ModelProof("answers"))
    first: dict[str, Tier] = {}
    for tier, name in tiers.items():
        first.setdefault(name, tier)
    results = await asyncio.gather(*(_prove_tier(model, tier, specialists) for tier in first.values()))
    by_name = dict(zip(first, results, strict=True))
    proofs = {tier: _add_context(*by_name[name], tier, context) for tier, name in tiers.items()}
    return {tier: await _add_vision_note(proof, model, tier) for tier, proof in proofs.items()}


async def _prove_tier(model: ProviderModel, tier: Tier, specialists: Sequence[str]) -> tuple[ModelProof, int | None]:
    """Run both tests of a model. Returns the proof, and the size of its context in tokens, None if unknown."""
    try:
        plan_proof, pace = await _prove_plan(model, tier, specialists)
        call_proof = await _prove_tool_call(model, tier)
    except ModelError as error:
        return ModelProof(fault=str(error)), None
    notes = [each.note for each in (plan_proof, call_proof) if each.note] + ([pace] if pace else [])
    faults = [each.fault for each in (plan_proof, call_proof) if each.fault]
    risks = [each.risk for each in (plan_proof, call_proof) if each.risk]
    return ModelProof(", ".join(notes), "; ".join(faults), "; ".join(risks)), await model.fetch_context_size(tier)


async def _prove_plan(model: ProviderModel, tier: Tier, specialists: Sequence[str]) -> tuple[ModelProof, str]:
    """Have the model make a plan in the crew's schema. Returns the proof, and the model's speed in words or ""."""
    schema = make_plan_schema(tuple(specialists))
    times: list[float] = []

    async def record_time(_: str) -> None:
        times.append(time.monotonic())

    text = f"# Request\n{_REQUEST}\n\n# Specialists\n{', '.join(specialists)}"
    turn = await model.reply(
        ModelCall(
            purpose="check",
            system=_read_prompt("proof_plan"),
            messages=(ModelMessage(role="user", text=text),),
            tier=tier,
            max_tokens=MAX_REPLY_TOKENS,
            timeout_seconds=CALL_TIMEOUT_SECONDS,
            answer_schema=schema,
            on_text=record_time,
        )
    )
    if turn.stop == "refused":
        return ModelProof(fault="it declined a harmless request"), ""
    plan = parse_json_object(turn.text)
    lacking = [name for name in schema["required"] if name not in plan]
    if turn.stop == "max_tokens" or lacking:
        what = "ran on beyond the end of a plan" if turn.stop == "max_tokens" else f"left out {', '.join(lacking)}"
        return ModelProof(
            risk=f"it does not keep to a plan's schema ({what}), so plans may fail; {_OTHER_MODEL_HINT}"
        ), ""
    return ModelProof("makes plans"), _describe_pace(turn, times)


async def _prove_tool_call(model: ProviderModel, tier: Tier) -> ModelProof:
    """Offer a tool to the model. If the model does not call it, repeat the call with `tool_choice` "required"."""
    turn = await _call_with_tool(model, tier, must_call=False)
    if _has_tool_call(turn):
        if model.needs_step_schema(tier):
            return ModelProof("calls tools by steps in a JSON schema (its server does not recognise its own calls)")
        return ModelProof("calls tools")
    if _has_tool_call(await _call_with_tool(model, tier, must_call=True)):
        return ModelProof("calls tools", risk="it calls a tool only when it is forced to: work may be done without any")
    return ModelProof(fault=f"it calls no tools, so specialists cannot work with it; {_OTHER_MODEL_HINT}")


async def _call_with_tool(model: ProviderModel, tier: Tier, *, must_call: bool) -> Turn:
    return await model.reply(
        ModelCall(
            purpose="check",
            system=_read_prompt("proof_tool"),
            messages=(ModelMessage(role="user", text=_TOOL_REQUEST),),
            tools=(_TOOL,),
            tool_choice="required" if must_call else "auto",
            tier=tier,
            max_tokens=MAX_REPLY_TOKENS,
            timeout_seconds=CALL_TIMEOUT_SECONDS,
        )
    )


def _has_tool_call(turn: Turn) -> bool:
    return any(call.name == _TOOL.name and isinstance(call.arguments.get("code"), str) for call in turn.calls)


def _describe_pace(turn: Turn, times: Sequence[float]) -> str:
    """Return the tokens a second from the first one on, in words; "" if there were too few to tell."""
    seconds = times[-1] - times[0] if times else 0.0
    count = turn.usage.tokens_out or len(times)
    return f"{count / seconds:.3g} tokens a second" if seconds > 0.05 and len(times) > 3 else ""


def _add_context(proof: ModelProof, tokens: int | None, tier: Tier, context: ContextLimits) -> ModelProof:
    """Add to a proof the size of the model's context, and a risk if that is too small for the tier's material."""
    if tokens is None:
        return proof
    note = ", ".join(filter(None, (proof.note, f"a context of {tokens:,} tokens")))
    material_tokens, fitting_tokens = context.get_tokens(tier), int(tokens * CONTEXT_SHARE) // 1000 * 1000
    if material_tokens <= tokens * CONTEXT_SHARE:
        return ModelProof(note, proof.fault, proof.risk)
    small = (
        f"LEADHAND_CONTEXT gives it up to {material_tokens:,} tokens of material; set `{tier} "
        f"{max(1000, fitting_tokens) // 1000}k`"
    )
    return ModelProof(note, proof.fault, "; ".join(filter(None, (proof.risk, small))))


async def _add_vision_note(proof: ModelProof, model: ProviderModel, tier: Tier) -> ModelProof:
    """Add to a proof whether the model is shown pictures."""
    sees = await model.sees_pictures(tier) if not proof.fault else False
    words = {True: "sees pictures", False: "reads text only", None: SIGHT_UNKNOWN_NOTE}[sees]
    return replace(proof, note=", ".join(filter(None, (proof.note, words))))


@cache
def _read_prompt(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


SERVER_PORTS: Mapping[str, int] = {"llama.cpp": 8080, "LM Studio": 1234, "vLLM": 8000}
"""The usual ports of servers with a chat completions API, by server. Ollama is not here: `choose_model` finds it."""
PROOF_TIMEOUT_SECONDS = 90.0
"""Seconds that a local model may take for both tests. A model that takes longer is too slow for a job."""
MAX_SERVER_MODELS = 3
"""Maximum number of models of one server that are tested."""
LOCAL_MODEL_HINT = "ollama pull qwen3, or llama-server, LM Studio or vLLM with a model that calls tools"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of a server on this machine. `fault` says why jobs cannot use it; empty before the tests."""

    server: str
    url: str
    name: str
    fault: str = ""

    @property
    def env(self) -> dict[str, str]:
        """The settings that choose this model."""
        tiers = dict.fromkeys(("LEADHAND_MODEL_FAST", "LEADHAND_MODEL_BALANCED", "LEADHAND_MODEL_DEEP"), self.name)
        return {"OPENAI_BASE_URL": self.url, **tiers}


async def find_local_models(ports: Mapping[str, int] = SERVER_PORTS) -> list[LocalModel]:
    """List up to `MAX_SERVER_MODELS` models of each server that answers on this machine. They are not tested yet."""

    async def list_server_models(server: str, port: int) -> list[LocalModel]:
        url = f"http://127.0.0.1:{port}/v1"
        return [LocalModel(server, url, name) for name in (await fetch_served_models(url, "none"))[:MAX_SERVER_MODELS]]

    model_lists = await asyncio.gather(*(list_server_models(server, port) for server, port in ports.items()))
    return [one for models in model_lists for one in models]


async def prove_model(
    local_model: LocalModel, env: Mapping[str, str], specialists: Sequence[str], context: ContextLimits
) -> LocalModel:
    """Test a local model as `leadhand check` does. Returns it with its `fault`: a risk counts as one too."""
    model = await choose_model({**env, **local_model.env})
    try:
        async with asyncio.timeout(PROOF_TIMEOUT_SECONDS):
            proofs = await prove_tiers(model, specialists, context)
        fault = next((proof.fault or proof.risk for proof in proofs.values() if proof.fault or proof.risk), "")
    except TimeoutError:
        fault = f"it took more than {PROOF_TIMEOUT_SECONDS:g} s to make a plan and call a tool"
    finally:
        await model.close()
    return replace(local_model, fault=fault)


async def choose_local_model(
    env: Mapping[str, str],
    specialists: Callable[[], Sequence[str]],
    context: ContextLimits,
    ports: Mapping[str, int] = SERVER_PORTS,
) -> ChosenModel | None:
    """Test the models on this machine, printing a line for each. Returns the only one that passes, else None."""
    local_models = await find_local_models(ports)
    if not local_models:
        return None
    names = ", ".join(f"{one.name} ({one.server})" for one in local_models)
    say(f"Found on this machine: {names}. Putting {'it' if len(local_models) == 1 else 'them'} to the proof ...")
    specialist_names = specialists()
    # One by one, as they would slow each other down.
    tested_models = [await prove_model(one, env, specialist_names, context) for one in local_models]
    for one in tested_models:
        verdict = one.fault or "makes plans and calls tools"
        say(f"  {one.name} at {one.url.removeprefix('http://').removesuffix('/v1')}: {verdict}")
    passing_models = [one for one in tested_models if not one.fault]
    if len(passing_models) == 1:
        return await choose_model({**env, **passing_models[0].env})
    if passing_models:
        say(
            f"  Choose one: OPENAI_BASE_URL={passing_models[0].url} "
            f"LEADHAND_MODEL_BALANCED={passing_models[0].name} leadhand try"
        )
    return None
