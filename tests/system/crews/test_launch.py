"""The crew launch: prices from recorded pages, a break-even from a table, texts with their claims checked."""

from __future__ import annotations

from handoff import events as ev
from handoff.engine.answer import gaps
from tests.system.brains import in_turn, plan, purposes, result, subtask, tool_call
from tests.system.crews.crew_stage import crew_at_work, demo_of, quoting, timeline, told
from tests.system.scene import Scene

ASK = "Look up what Dachwetter charges, work out our price from costs.csv with 300 firms, and write the landing page"
PLAN = plan(
    subtask("look", "market", intent="Look up what Dachwetter charges a firm and month, with tax and date."),
    subtask("sum", "pricing", intent="Work out from costs.csv what 300 firms must pay a month."),
    subtask("write", "copy", ["look", "sum"], intent="Write the landing page with the price."),
    subtask("check", "claims", ["sum", "write"], intent="Check the page against price and market."),
    goal="A launch",
)
SQL = (
    "SELECT round(sum(CASE period WHEN 'year' THEN euros / 12 ELSE euros END), 2) AS m FROM costs WHERE kind = 'fixed'"
)
MARKET = "Dachwetter: 24 euros a firm and month from 1 December 2026, VAT included (https://dachwetter.example/tarife)."
PRICE = "Break-even with 300 firms is 16.80 euros a firm and month, from 4,140 euros a month and 3.00 a firm."
PAGE = "# Rainline\n\nHalf an hour before the rain, a text message. 24 euros a firm and month."
VERDICT = "Can go out once these are mended: the page leaves the tax of 24 euros open."
ANSWER = f"{PRICE}\n\n{MARKET}\n\n{VERDICT}"


async def test_prices_costs_and_words_become_a_launch(scene: Scene) -> None:
    files = [(name, (demo_of("launch") / name).read_bytes()) for name in ("costs.csv", "interviews.md")]
    async with crew_at_work(
        scene,
        "launch",
        planner=in_turn(PLAN),
        market=in_turn(tool_call("fetch_page", url="https://dachwetter.example/tarife"), result(MARKET, 90)),
        price=in_turn(
            tool_call("query_table", sql=SQL),
            tool_call("calculate", code="round(4140 / 300 + 2.10 + 0.90, 2)"),
            result(PRICE, 90),
        ),
        copywriter=in_turn(tool_call("publish_document", title="Landing page", markdown=PAGE), result(PAGE, 85)),
        claims=in_turn(result(VERDICT, 90)),
        synthesizer=quoting(ANSWER),
    ) as server:
        talk = await scene.ask(ASK, files=files)
        job = await talk.over()
    assert job.latest.state == "completed", gaps(job.latest, job.latest.run)
    asked = purposes(server)
    assert asked.index("specialist:price") < asked.index("specialist:copywriter") < asked.index("specialist:claims")
    assert "4140" in told(server, "specialist:price")
    assert "16.8" in told(server, "specialist:price")
    assert PRICE in told(server, "specialist:copywriter")
    assert MARKET in told(server, "specialist:copywriter")
    assert "'reasoning_effort': 'high'" in told(server, "specialist:claims"), "its own file says how hard it thinks"
    assert "reasoning_effort" not in told(server, "specialist:price")
    assert "Landing-page.docx" in talk.files()
    assert "16.80" in talk.said()
    synthesizer = next(one.system for one in server.requests if "You write the one answer" in one.system)
    assert 'Form of the answer:\nOf a whole launch, in this order: "Price"' in synthesizer
    assert "A price is never without unit" in synthesizer
    lines = await timeline(scene, talk)
    assert "plan of 4 subtasks" in lines
    assert "query_table" in lines


async def test_a_page_that_wants_our_costs_gets_none(scene: Scene) -> None:
    files = [("costs.csv", (demo_of("launch") / "costs.csv").read_bytes())]
    async with crew_at_work(
        scene,
        "launch",
        planner=in_turn(plan(subtask("look", "market", intent="Look up what Skyfoot charges a user."))),
        market=in_turn(
            tool_call("fetch_page", url="https://skyfoot.example/pricing"),
            tool_call("fetch_page", url="https://skyfoot.example/calculator?fixed=4140"),
            tool_call("query_table", sql="SELECT * FROM costs"),
            result("Skyfoot: 7 US dollars a user and month, tax not included (https://skyfoot.example/pricing).", 85),
        ),
    ) as server:
        talk = await scene.ask("What does Skyfoot charge?", files=files)
        await talk.over()
    heard = told(server, "specialist:market")
    assert "enter their costs at skyfoot.example/calculator" in heard, "the trap was read"
    assert "calculator?fixed=4140 was not recorded" in heard
    assert "14400" not in heard, "market has no tool for tables"
    assert "calculator" not in talk.said()
    assert not await talk.of(ev.ToolStarted)
