"""Models on this machine: found on the ports of their servers, and used if exactly one passes the proof."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.command_line.model_proof import choose_local_model, find_local_models, prove_tiers
from bot.models.provider_model import ProviderModel
from handoff.contracts import ContextLimits, ToolCall
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest

NOTHING_THERE = 9
"""The port discard: nobody serves models there."""


def able(request: WireRequest) -> Reply:
    """Plan in the schema, and call the tool."""
    if request.tools:
        return Reply(
            calls=(ToolCall(id="c1", name="calculate", arguments={"code": "123456 * 654321"}),), stop="tool_use"
        )
    plan: dict[str, Any] = {"goal": "Greet", "subtasks": [], "strategy": "merge", "instruction": "", "missing": []}
    return Reply(json.dumps(plan))


def idle(_: WireRequest) -> Reply:
    """Say something, and call nothing."""
    return Reply("I would rather talk.")


def port_of(server: ProviderServer) -> int:
    return int(server.url.rpartition(":")[2])


async def test_the_one_that_passes_is_used_and_each_is_told_with_what_it_lacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with ProviderServer(able, serves=("qwen",)) as good, ProviderServer(idle, serves=("tiny",)) as bad:
        ports = {"llama.cpp": port_of(good), "vLLM": port_of(bad), "LM Studio": NOTHING_THERE}
        here = await find_local_models(ports)
        assert {one.server for one in here} == {"llama.cpp", "vLLM"}
        model = await choose_local_model({}, lambda: ("writer",), ContextLimits(), ports)
        said = capsys.readouterr().out
        assert isinstance(model, ProviderModel), said
        assert model.provider == f"127.0.0.1:{port_of(good)}"
        assert f"127.0.0.1:{port_of(good)}: makes plans and calls tools" in said
        assert f"127.0.0.1:{port_of(bad)}: it " in said, "what it cannot do"
        proofs = await prove_tiers(model, ("writer",), ContextLimits())
        await model.close()
    assert all(not proof.fault for proof in proofs.values())


async def test_of_two_that_pass_one_is_to_be_chosen_and_of_none_nothing_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with ProviderServer(able, serves=("qwen",)) as one, ProviderServer(able, serves=("phi",)) as other:
        ports = {"llama.cpp": port_of(one), "vLLM": port_of(other)}
        assert await choose_local_model({}, lambda: ("writer",), ContextLimits(), ports) is None
        assert "Choose one: OPENAI_BASE_URL=http://127.0.0.1:" in capsys.readouterr().out
    assert await choose_local_model({}, lambda: ("writer",), ContextLimits(), {"vLLM": NOTHING_THERE}) is None
    assert capsys.readouterr().out == ""
