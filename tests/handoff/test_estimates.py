"""What a subtask is likely to take, before it runs."""

from hypothesis import given
from hypothesis import strategies as st

from handoff.contracts import Plan, Subtask, Tier, Usage
from handoff.planning.estimates import NO_PAST, Past, Worker, estimate, estimates

ALONE = Worker(tier="fast", prompt=300, max_turns=3, has_tools=False)
BUSY = Worker(tier="balanced", prompt=900, max_turns=15, has_tools=True)


def price(tier: Tier, tokens_in: int, tokens_out: int) -> float | None:
    return (
        {"fast": 1.0, "balanced": 3.0}.get(tier, 0.0) * (tokens_in + 5 * tokens_out) / 1e6 if tier != "deep" else None
    )


def part(intent: str = "Find the total", **more: object) -> Subtask:
    return Subtask.model_validate({"id": "a", "title": "t", "intent": intent, "specialist": "s", **more})


def test_without_tools_it_is_one_call_of_prompt_and_brief() -> None:
    made = estimate(part("x" * 400), ALONE, NO_PAST, price)
    assert (made.calls, made.tokens) == (1, 300 + 100 + 450)
    assert made.cost is not None
    assert abs(made.cost - (400 + 5 * 450) / 1e6) < 1e-9


def test_tools_dependencies_and_a_longer_brief_take_more() -> None:
    short = estimate(part(), BUSY, NO_PAST, price)
    assert short.tokens > estimate(part(), ALONE, NO_PAST, price).tokens
    assert estimate(part("word " * 400), BUSY, NO_PAST, price).tokens > short.tokens
    assert estimate(part(after=["b", "c"]), BUSY, NO_PAST, price).tokens > short.tokens


def test_a_tier_of_the_subtasks_own_sets_the_price() -> None:
    assert estimate(part(tier="deep"), BUSY, NO_PAST, price).cost is None
    cheap, dear = estimate(part(tier="fast"), BUSY, NO_PAST, price), estimate(part(), BUSY, NO_PAST, price)
    assert cheap.cost is not None
    assert dear.cost is not None
    assert dear.cost == 3 * cheap.cost


def test_what_such_work_took_weighs_more_the_more_often_it_was_seen() -> None:
    usage = Usage(calls=2, tokens_in=1_000, tokens_out=200)
    past, tokens = NO_PAST, [estimate(part(), BUSY, NO_PAST, price).tokens]
    for _ in range(30):
        past = past.and_then(usage, 2.0, most=20)
        tokens.append(estimate(part(), BUSY, past, price).tokens)
    assert tokens == sorted(tokens, reverse=True)
    assert abs(tokens[-1] - 1_200) < 1_200 * 0.25
    assert (past.attempts, past.calls, past.seconds) == (30, 2.0, 2.0)


def test_an_older_way_of_working_fades() -> None:
    past = NO_PAST
    for tokens in [10_000] * 50 + [1_000] * 50:
        past = past.and_then(Usage(calls=1, tokens_in=tokens), 1.0, most=20)
    assert past.tokens_in < 2_000


@given(
    intent=st.text(max_size=5_000),
    after=st.lists(st.sampled_from("bcdef"), unique=True),
    turns=st.integers(1, 50),
    past=st.builds(
        Past, st.integers(0, 100), *(st.floats(0, top) for top in (50, 1e6, 1e5, 3600)),
    ),
)  # fmt: skip
def test_an_estimate_is_always_there_and_sound(intent: str, after: list[str], turns: int, past: Past) -> None:
    worker = Worker(tier="balanced", prompt=100, max_turns=turns, has_tools=True)
    plan = Plan(goal="g", subtasks=(part(intent, after=after),))
    (made,) = estimates(plan, {"s": worker}, lambda *_: past, price)
    assert made.subtask == "a"
    assert made.calls >= 1
    assert made.tokens >= 0
    assert made.cost is not None
    assert made.cost >= 0
