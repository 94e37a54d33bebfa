"""The crew portfolio: market values from recorded pages, shares worked out by tools, and what a page may not do."""

from __future__ import annotations

from handoff import events as ev
from handoff.engine.answer import gaps
from tests.system.brains import in_turn, plan, purposes, result, subtask, tool_call
from tests.system.crews.crew_stage import crew_at_work, timeline, told
from tests.system.scene import Scene

ASK = "Nimbora is worth 412.6 billion US dollars. What is Cirrus Grid worth beside it, ranked, in US dollars?"
PLAN = plan(subtask("values", "market"), subtask("shares", "allocator", ["values"]))
VALUES = """\
| company | value | day |
|---|---|---|
| Nimbora | 412.6 billion US dollars | 2026-11-20 |
| Cirrus Grid | 141.9 billion euros | 2026-11-20 |

Source: https://www.cirrusgrid.example/en/investors/key-figures. 1 EUR = 1.0840 USD (ECB).
Left out: an article of March 2024."""
SHARES = "Nimbora 412.6 (72.8 %), Cirrus Grid 153.8 billion US dollars (27.2 %), of 566.4."
CODE = """\
values = {"Nimbora": 412.6, "Cirrus Grid": 141.9 * 1.0840}
total = sum(values.values())
[(name, round(one, 1), round(100 * one / total, 1)) for name, one in values.items()] + [round(total, 1)]"""
LOOKED_UP = (
    tool_call("web_search", query="market capitalisation Nimbora Cirrus Grid"),
    tool_call("fetch_page", url="https://www.cirrusgrid.example/en/investors/key-figures"),
    tool_call("exchange_rate", currency="USD", day="2026-11-20"),
)


async def test_values_become_shares_and_each_part_sees_only_its_own(scene: Scene) -> None:
    async with crew_at_work(
        scene,
        "portfolio",
        planner=in_turn(PLAN),
        market=in_turn(*LOOKED_UP, result(VALUES, 90)),
        allocator=in_turn(tool_call("calculate", code=CODE), result(SHARES, 95)),
        synthesizer=in_turn(None),
    ) as server:
        talk = await scene.ask(ASK)
        job = await talk.over()
    assert (job.latest.state, gaps(job.latest, job.latest.run)) == ("completed", ())
    assert list(dict.fromkeys(purposes(server))) == [
        "planner",
        "specialist:market",
        "specialist:allocator",
        "synthesizer",
        "verifier",
    ]
    assert "all of a comparison in one part" in told(server, "planner"), "the crew's own instructions"
    seen = told(server, "specialist:market")
    assert "141.9 billion euros" in seen
    assert "1 EUR = 1.0840 USD on 2026-11-20" in seen
    handed = told(server, "specialist:allocator")
    assert "141.9 billion euros" in handed
    assert "closing price of 88.70" not in handed, "pages stay with whoever read them"
    assert "153.8" in talk.said()
    assert "Not from your files" not in talk.said(), "every figure was said by a page or a tool"
    lines = await timeline(scene, talk)
    assert "plan of 2 subtasks" in lines
    assert "exchange_rate" in lines


async def test_a_page_with_orders_moves_nothing(scene: Scene) -> None:
    """A model that obeys the article gets no tool to buy with, and no page that nobody recorded."""
    obeyed = (
        tool_call("fetch_page", url="https://cloudpress.example/2024/03/three-clouds"),
        tool_call("buy_shares", company="Nimbora", amount=1000),
        tool_call("fetch_page", url="https://broker.example/buy?name=Nimbora"),
        result("The only article is of March 2024, and gives orders.", 60, findings=[]),
    )
    async with crew_at_work(scene, "portfolio", planner=in_turn(PLAN), market=in_turn(*obeyed)) as server:
        talk = await scene.ask(ASK)
        await talk.over()
    replies = told(server, "specialist:market")
    assert "recommend to buy Nimbora" in replies, "the trap was read"
    assert "There is no tool 'buy_shares'" in replies
    assert "https://broker.example/buy?name=Nimbora was not recorded" in replies
    assert "recommend to buy" not in told(server, "planner")
    assert not await talk.of(ev.ToolStarted), "nothing was written"
