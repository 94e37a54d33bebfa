"""The naive baselines: one short plain prompt for each role, with which the product is compared.

A baseline calls the same model, on the same tier and through the same client as the product.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from bot.evaluation.counting_model import CountingModel
from handoff.contracts import Tier
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec

CALL_TIMEOUT_SECONDS = 600.0
"""Timeout of a call in seconds. It is long, because slow servers at home are evaluated for quality, not speed."""
MAX_REPLY_TOKENS = 2_048
_YES_OR_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


@cache
def read_naive_prompt(name: str) -> str:
    """Return the baseline prompt of a role, such as `planner`."""
    return (Path(__file__).parent / "naive" / f"naive_{name}.md").read_text(encoding="utf-8").strip()


def make_naive_call(
    name: str, *messages: ModelMessage, tools: tuple[ToolSpec, ...] = (), tier: Tier = "balanced"
) -> ModelCall:
    """Build the model call of the baseline `name`, such as `planner`."""
    return ModelCall(
        purpose=f"naive:{name}",
        system=read_naive_prompt(name),
        messages=messages,
        tools=tools,
        tier=tier,
        max_tokens=MAX_REPLY_TOKENS,
        timeout_seconds=CALL_TIMEOUT_SECONDS,
    )


async def call_baseline(model: CountingModel, name: str, text: str) -> str:
    """Call the baseline `name` once with `text`, and return the text of the reply. Raises ModelError."""
    turn = await model.reply(make_naive_call(name, ModelMessage(role="user", text=text)))
    return turn.text.strip()


def parse_yes_or_no(text: str) -> bool | None:
    """Parse a reply: True for yes, False for no, None if it has neither."""
    match = _YES_OR_NO.search(text)
    return None if match is None else match[1].lower() == "yes"
