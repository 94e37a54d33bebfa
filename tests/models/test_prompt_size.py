"""How large a call is: estimated, and corrected by what its server counts."""

from __future__ import annotations

import pytest

from bot.models.server_facts import PromptSizeEstimator, estimate_prompt_tokens
from tests.models.conftest import ask, open_pair
from tests.providers.rendering import Reply

CALL = ask("Total by region? " * 40)


def test_an_estimate_is_corrected_by_what_was_counted() -> None:
    sizes = PromptSizeEstimator()
    plain = estimate_prompt_tokens(CALL)
    assert sizes.estimate_tokens(CALL, "qwen") == plain
    sizes.learn_token_count(CALL, "qwen", 2 * plain)
    assert sizes.estimate_tokens(CALL, "qwen") == 2 * plain
    assert sizes.estimate_tokens(CALL, "other") == plain
    for _ in range(20):
        sizes.learn_token_count(CALL, "qwen", plain)
    assert sizes.estimate_tokens(CALL, "qwen") == pytest.approx(plain, rel=0.01)


@pytest.mark.parametrize(("token_count", "most"), [(0, 1), (10**9, 4)])
def test_what_is_no_count_moves_an_estimate_little(token_count: int, most: int) -> None:
    sizes = PromptSizeEstimator()
    sizes.learn_token_count(CALL, "qwen", token_count)
    assert sizes.estimate_tokens(CALL, "qwen") <= most * estimate_prompt_tokens(CALL)


async def test_a_provider_learns_from_each_reply() -> None:
    async with open_pair("chat", lambda _: Reply("Yes.")) as pair:
        await pair.model.reply(CALL)
        counted = pair.server.stats.prompt_tokens
        assert pair.model._prompt_sizes.estimate_tokens(CALL, "gpt-6.1-terra") == counted
