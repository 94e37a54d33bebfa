"""Proves that a model can do what every job asks of it: fill the plan's schema, and call a tool."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bot.models.chosen_model import ChosenModel
from bot.models.provider_model import ProviderModel
from bot.supervisor.json_replies import json_object
from bot.supervisor.planner import plan_schema
from handoff.contracts import ContextLimits, Tier, Turn
from specialists.model import ModelCall, ModelError, ModelMessage
from specialists.tools.tool import ToolSpec

SECONDS = 240.0
"""Seconds that each of the two proofs may take."""
MAX_TOKENS = 2048
"""Tokens of a proof: enough for a model that thinks first, and an end for one that runs on."""
SHARE = 0.5
"""The share of a model's context that material may fill: prompt, tools, conversation and reply need the rest."""
_TOOL = ToolSpec(
    "calculate",
    "Works out a term.",
    {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
)
_REQUEST = "Say hello to the team in one sentence."
_SUM = "How much is 123456 * 654321?"
UNKNOWN_SIGHT = "is shown no pictures, as nobody says that it sees (LEADHAND_SEES does)"
_NAME_OTHERS = "name another model by LEADHAND_MODEL_FAST, _BALANCED and _DEEP"


@dataclass(frozen=True, slots=True)
class Proof:
    """What a model showed. `fault` says what it cannot do, `risk` what it does badly."""

    note: str = ""
    fault: str = ""
    risk: str = ""


async def prove(model: ChosenModel, specialists: Sequence[str], context: ContextLimits) -> dict[Tier, Proof]:
    """Prove the model of each tier, each model once. The rehearsal needs no proof."""
    tiers: Mapping[Tier, str] = model.tiers
    if not isinstance(model, ProviderModel):
        return dict.fromkeys(tiers, Proof("answers"))
    first: dict[str, Tier] = {}
    for tier, name in tiers.items():
        first.setdefault(name, tier)
    shown = await asyncio.gather(*(_prove(model, tier, specialists) for tier in first.values()))
    by_name = dict(zip(first, shown, strict=True))
    proofs = {tier: _add_context(*by_name[name], tier, context) for tier, name in tiers.items()}
    return {tier: await _add_sight(proof, model, tier) for tier, proof in proofs.items()}


async def _prove(model: ProviderModel, tier: Tier, specialists: Sequence[str]) -> tuple[Proof, int | None]:
    """Make both proofs of a model, and ask its server for its context."""
    try:
        planned, pace = await _prove_plan(model, tier, specialists)
        called = await _prove_call(model, tier)
    except ModelError as error:
        return Proof(fault=str(error)), None
    notes = [each.note for each in (planned, called) if each.note] + ([pace] if pace else [])
    faults = [each.fault for each in (planned, called) if each.fault]
    risks = [each.risk for each in (planned, called) if each.risk]
    return Proof(", ".join(notes), "; ".join(faults), "; ".join(risks)), await model.context(tier)


async def _prove_plan(model: ProviderModel, tier: Tier, specialists: Sequence[str]) -> tuple[Proof, str]:
    """Have a plan made in the crew's own schema, and time its words."""
    schema = plan_schema(tuple(specialists))
    times: list[float] = []

    async def heard(_: str) -> None:
        times.append(time.monotonic())

    text = f"# Request\n{_REQUEST}\n\n# Specialists\n{', '.join(specialists)}"
    turn = await model.reply(
        ModelCall(
            purpose="check",
            system=_read_prompt("proof_plan"),
            messages=(ModelMessage(role="user", text=text),),
            tier=tier,
            max_tokens=MAX_TOKENS,
            deadline=SECONDS,
            answer_schema=schema,
            on_text=heard,
        )
    )
    if turn.stop == "refused":
        return Proof(fault="it declined a harmless request"), ""
    said = json_object(turn.text)
    lacking = [name for name in schema["required"] if name not in said]
    if turn.stop == "max_tokens" or lacking:
        what = "ran on beyond the end of a plan" if turn.stop == "max_tokens" else f"left out {', '.join(lacking)}"
        return Proof(risk=f"it does not keep to a plan's schema ({what}), so plans may fail; {_NAME_OTHERS}"), ""
    return Proof("makes plans"), _describe_pace(turn, times)


async def _prove_call(model: ProviderModel, tier: Tier) -> Proof:
    """Have a tool called: of its own accord, and if that fails, because it must."""
    turn = await _call_with_tool(model, tier, forced=False)
    if _has_tool_call(turn):
        if model.takes_steps(tier):
            return Proof("calls tools by steps in a JSON schema (its server does not recognise its own calls)")
        return Proof("calls tools")
    if _has_tool_call(await _call_with_tool(model, tier, forced=True)):
        return Proof("calls tools", risk="it calls a tool only when it is forced to: work may be done without any")
    return Proof(fault=f"it calls no tools, so specialists cannot work with it; {_NAME_OTHERS}")


async def _call_with_tool(model: ProviderModel, tier: Tier, *, forced: bool) -> Turn:
    return await model.reply(
        ModelCall(
            purpose="check",
            system=_read_prompt("proof_tool"),
            messages=(ModelMessage(role="user", text=_SUM),),
            tools=(_TOOL,),
            tool_choice="required" if forced else "auto",
            tier=tier,
            max_tokens=MAX_TOKENS,
            deadline=SECONDS,
        )
    )


def _has_tool_call(turn: Turn) -> bool:
    return any(call.name == _TOOL.name and isinstance(call.arguments.get("code"), str) for call in turn.calls)


def _describe_pace(turn: Turn, times: Sequence[float]) -> str:
    """Say how many tokens a second came, once they came; nothing if too few did to tell."""
    seconds = times[-1] - times[0] if times else 0.0
    count = turn.usage.tokens_out or len(times)
    return f"{count / seconds:.3g} tokens a second" if seconds > 0.05 and len(times) > 3 else ""


def _add_context(proof: Proof, tokens: int | None, tier: Tier, context: ContextLimits) -> Proof:
    """Add what the model's context takes, and if it is too small for what the tier is given."""
    if tokens is None:
        return proof
    note = ", ".join(filter(None, (proof.note, f"a context of {tokens:,} tokens")))
    given, fit = context.of(tier), int(tokens * SHARE) // 1000 * 1000
    if given <= tokens * SHARE:
        return Proof(note, proof.fault, proof.risk)
    small = f"LEADHAND_CONTEXT gives it up to {given:,} tokens of material; set `{tier} {max(1000, fit) // 1000}k`"
    return Proof(note, proof.fault, "; ".join(filter(None, (proof.risk, small))))


async def _add_sight(proof: Proof, model: ProviderModel, tier: Tier) -> Proof:
    """Add if the model is shown pictures."""
    sees = await model.sees(tier) if not proof.fault else False
    words = {True: "sees pictures", False: "reads text only", None: UNKNOWN_SIGHT}[sees]
    return replace(proof, note=", ".join(filter(None, (proof.note, words))))


@cache
def _read_prompt(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
