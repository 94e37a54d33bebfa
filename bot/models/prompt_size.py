"""Estimates how many tokens a call sends, and learns from what the server counts."""

from __future__ import annotations

import json

from handoff.text.context_budget import tokens
from specialists.formats.picture_facts import picture_tokens
from specialists.model import ModelCall

_LEARNT = 0.3
"""The weight of the newest count."""
_BOUNDS = (0.25, 4.0)
"""How far a server's counts can move an estimate: what lies outside is no count of tokens."""


def prompt_tokens(call: ModelCall) -> int:
    """Estimate how many tokens a call sends."""
    size = tokens(call.system)
    for message in call.messages:
        size += tokens(message.text) + sum(tokens(reply.text) for reply in message.replies)
        size += sum(tokens(json.dumps(one.arguments, ensure_ascii=False)) for one in message.calls)
        size += sum(picture_tokens(picture.data) for picture in message.pictures)
    size += sum(tokens(tool.description) + tokens(json.dumps(tool.parameters)) for tool in call.tools)
    return size + 1


class PromptSizes:
    """Estimates corrected by what the server counted for the same model before."""

    def __init__(self) -> None:
        self._factors: dict[str, float] = {}

    def of(self, call: ModelCall, model: str) -> int:
        """Estimate how many tokens a call sends to a model."""
        return round(prompt_tokens(call) * self._factors.get(model, 1.0))

    def learn(self, call: ModelCall, model: str, counted: int) -> None:
        """Take in what the server counted for a call; 0: it does not count."""
        if counted:
            least, most = _BOUNDS
            seen = max(least, min(most, counted / prompt_tokens(call)))
            self._factors[model] = (1 - _LEARNT) * self._factors.get(model, seen) + _LEARNT * seen
