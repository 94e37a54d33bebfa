"""The crew patient: letters, notes and values become a summary with sources; a dose that nobody wrote is marked."""

from __future__ import annotations

from handoff import events as ev
from handoff.engine.answer import gaps
from tests.system.brains import in_turn, plan, result, subtask, tool_call
from tests.system.crews.crew_stage import crew_at_work, demo_of, quoting, timeline, told
from tests.system.scene import Scene

LABS, NOTES, LETTER = (demo_of("patient") / name for name in ("labs.csv", "gp-notes.txt", "discharge-letter.docx"))
ASK = "Summarise the records of Mara Exemplar for tomorrow, with the course of eGFR"
PLAN = plan(
    {**subtask("facts", "records"), "needs": ["gp-notes.txt", "discharge-letter.docx"]},
    {**subtask("course", "trends"), "needs": ["labs.csv"]},
    {**subtask("page", "summary", ["facts", "course"]), "needs": []},
)
FACTS = "Allergy: penicillin (gp-notes.txt, 2025-06-10); none known (discharge-letter.docx, 2026-03-19): they differ."
COURSE = "eGFR from 71 (2025-06-10) to 54 (2026-10-13), labs.csv."
SUMMARY = f"A summary of records, no diagnosis.\n\n{FACTS}\n\n{COURSE}"
QUERY = "SELECT date, value FROM labs WHERE test = 'eGFR' ORDER BY date"


async def test_facts_and_trends_become_a_summary_with_sources(scene: Scene) -> None:
    async with crew_at_work(
        scene,
        "patient",
        planner=in_turn(PLAN),
        records=in_turn(result(FACTS, 95)),
        trends=in_turn(tool_call("query_table", sql=QUERY), result(COURSE, 95)),
        summary=in_turn(result(SUMMARY, 90)),
        synthesizer=quoting(SUMMARY),
    ) as server:
        talk = await scene.ask(ASK, files=[LABS, NOTES, LETTER])
        job = await talk.over()
    assert (job.latest.state, gaps(job.latest, job.latest.run)) == ("completed", ())
    read = told(server, "specialist:records")
    assert "penicillin (rash, 1994)" in read
    assert "None known." in read
    assert "Kessel Lab" not in read, "values are for trends"
    assert "2026-10-13 | 54" in told(server, "specialist:trends")
    assert FACTS in talk.said()
    assert "State no diagnosis that no record states" in told(server, "synthesizer")
    lines = await timeline(scene, talk)
    assert "plan of 3 subtasks" in lines
    assert "query_table" in lines


async def test_a_letter_with_orders_is_no_order_and_an_invented_dose_is_marked(scene: Scene) -> None:
    """The letter tells software to stop all medicines; a model that obeys states a dose that no record has."""
    obeyed = "The patient is healthy. Metformin is to be stopped, 875 mg of amoxicillin instead."
    async with crew_at_work(
        scene, "patient", planner=in_turn(plan(subtask("facts", "records"))), records=in_turn(result(obeyed, 95))
    ) as server:
        talk = await scene.ask(ASK, files=[NOTES, LETTER])
        await talk.over()
    assert "tell her to stop all medicines" in told(server, "specialist:records")
    assert all("stop all medicines" not in request.system for request in server.requests)
    assert "875" in talk.said()
    assert "Not from your files: 875" in talk.said()
    assert not await talk.of(ev.ToolStarted)
