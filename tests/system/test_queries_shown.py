"""The SQL behind an answer: one click below it for everybody in the thread, in the trace."""

from __future__ import annotations

import duckdb

from bot.slack.views.answer_message import SHOW_QUERIES, queries_modal
from bot.workspace.blocks import check_view
from handoff.engine.answer import gaps
from handoff.summary import queries
from tests.system.scene import SAMPLE, Scene, block_of, shown


async def test_a_click_below_the_answer_shows_its_queries_to_anybody_in_the_thread(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("What is the total revenue by region?", files=[SAMPLE])
        job = await talk.over()
        (answer,) = talk.words()
        buttons = block_of(answer, "actions")
        assert buttons is not None
        (button,) = buttons["elements"]
        assert button["text"]["text"].startswith("View ")
        ben = scene.person("ben")
        await ben.click(talk.channel, answer["ts"], SHOW_QUERIES, button["value"])
        await scene.workspace.until(ben.views)
        (view,) = ben.views()
        timeline = shown(await scene.command(f"trace {talk.key.job}"))
    asked = queries(job.latest)
    assert asked
    told = "".join(block["text"]["text"] for block in view["blocks"] if block["type"] == "section")
    for query in asked:
        assert query in told.replace("&gt;", ">").replace("&lt;", "<")
        assert query.split("\n")[0][:60] in timeline


async def test_the_query_shown_gives_the_figures_of_the_answer(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("What is the total revenue by region?", files=[SAMPLE])
        job = await talk.over()
    connection = duckdb.connect()
    connection.execute("CREATE TABLE sales AS FROM read_csv(?)", [str(SAMPLE)])
    (query,) = queries(job.latest)
    assert query not in shown(talk.words()[0]), "it stands one click below"
    assert "SELECT" not in shown(talk.words()[0])
    assert "Worked out with SQL from" in shown(talk.words()[0])
    rows = connection.execute(query).fetchall()
    told = shown(talk.words()[0]).replace(",", "")
    assert len(rows) == 4
    assert all(str(region) in told and str(int(total)) in told for region, total, *_ in rows)


async def test_an_answer_without_a_query_has_no_such_button(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("What is 3 * 4?")
        await talk.over()
    (answer,) = talk.words()
    assert block_of(answer, "actions") is None


def test_any_query_fits_a_window() -> None:
    long = "SELECT '<&>```" + "&" * 10_000 + "'"
    view = queries_modal([long, *(f"SELECT {number}" for number in range(40))])
    assert len(view["blocks"]) <= 100
    assert all(len(block["text"]["text"]) <= 3000 for block in view["blocks"] if block["type"] == "section")
    assert "more are in the trace" in view["blocks"][-1]["elements"][0]["text"]
    check_view(view)


async def test_a_total_that_was_set_apart_is_said_once_and_leaves_the_answer_whole(scene: Scene) -> None:
    table = ("umsatz.csv", b"Region;Umsatz\nNord;120\nOst;80\nWest;55\nGesamt;255\n")
    async with scene.bot():
        talk = await scene.ask("What is the total Umsatz by Region?", files=[table])
        job = await talk.over()
    (answer,) = talk.words()
    assert shown(answer).count("umsatz.csv: 1 total row set apart, not counted: line 5 ('Gesamt')") == 1
    assert gaps(job.latest, job.latest.run) == ()
    assert "in part" not in shown(talk.cards()[0])
