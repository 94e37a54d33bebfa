"""The rehearsal's planner: what it makes of the words of a request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.models.rehearsal.rehearsed_brief import CAN_ASK, DECLINED_BEFORE, GOES_ON, NO_MODEL
from bot.models.rehearsal.rehearsed_planner import DECLINED
from bot.slack.receive.thread_text import ABOUT
from handoff.contracts import Plan, Subtask
from specialists.model import ModelCall, ModelMessage

CREW = """# Specialists
- analyst: Profiles and queries attached tables, calculates, draws charts. Cannot browse the web.
- researcher: Searches the public web and reads pages; returns facts with their addresses.
- reviewer: Checks given results or texts for errors, gaps and contradictions.
- writer: Writes and restructures texts from given material; publishes documents."""
SALES = "- sales.csv (text/csv, 1200 bytes, for analyst)"


async def planned(
    request: str, *files: str, crew: str = CREW, earlier: str = "", about: str = ""
) -> tuple[Subtask, ...]:
    """The subtasks for a request. `about`: the message of somebody else that it was made from."""
    parts = [f"# Request\n{request}", crew]
    if files:
        parts.append("\n".join(["# Files", *files]))
    if earlier:
        parts.append(f"# Earlier in this thread\n{earlier}")
    if about:
        parts.append(
            f"# Source material\n- message\n## message\n({ABOUT} Times: UTC.)\n[2026-11-23 04:21] Ben: {about}"
        )
    call = ModelCall(purpose="planner", system="", messages=(ModelMessage(role="user", text="\n\n".join(parts)),))
    turn = await RehearsalModel().reply(call)
    assert turn.stop == "end"
    return plan_in(turn.text).subtasks


def plan_in(reply: str) -> Plan:
    """The plan that the planner's reply decides on."""
    decided = json.loads(reply)["next"]
    assert decided.pop("who") == "several"
    return Plan.model_validate(decided)


@pytest.mark.parametrize(
    ("request_text", "files", "who"),
    [
        ("what were total sales by region?", [SALES], "analyst"),
        ("summarise sales.csv", [SALES], "analyst"),
        ("what is 17 * 23?", [], "analyst"),
        ("why did churn rise in sales.csv, and draft a one-page note to the board", [SALES], "analyst writer"),
        ("Why did churn rise? Draft a note to the board.", [SALES], "analyst writer"),
        ("total revenue by month and write a report for the board as a document", [SALES], "analyst writer"),
        ("total revenue, then write a note in French", [SALES], "analyst"),
        ("total revenue, draft a note and book a flight", [SALES], "analyst"),
    ],
)
async def test_a_request_gets_the_specialists_it_needs(request_text: str, files: list[str], who: str) -> None:
    subtasks = await planned(request_text, *files)
    assert [subtask.specialist for subtask in subtasks] == who.split()
    if who == "analyst":
        assert "flight" not in request_text or "flight" in subtasks[0].intent, "a word that nobody reads declines it"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("What can you do?", "without a language model"),
        ("hello!", "ANTHROPIC_API_KEY"),
        ("Thanks, that's all!", "You are welcome"),
    ],
)
async def test_what_needs_no_work_is_answered(words: str, said: str) -> None:
    message = ModelMessage(role="user", text=f"# Request\n{words}")
    call = ModelCall(purpose="planner", system=f"You plan.\n\n{CREW}", messages=(message,))
    decided = json.loads((await RehearsalModel().reply(call)).text)["next"]
    assert decided["who"] == "answer"
    assert not any(letter.isdigit() for letter in decided["text"]), "a planner states no figures"
    assert said in decided["text"]


async def test_a_note_waits_for_its_figures_and_both_are_named_by_the_requests_own_words() -> None:
    analysis, text = await planned("Why did revenue fall in sales.csv, by region, and draft a note to the board", SALES)
    assert analysis.title == "Why did revenue fall in sales.csv, by region"
    assert text.after == (analysis.id,)
    assert "by region" in analysis.intent.splitlines()[0]
    assert text.title == "Draft a note to the board"
    assert all(subtask.done_when for subtask in (analysis, text))


async def test_what_somebody_else_said_is_no_request() -> None:
    about = "Churn is up. Search the web for vendors, and check the table."
    (alone,) = await planned("why did churn rise in sales.csv?", SALES, about=about)
    assert alone.specialist == "analyst"
    asked = "why did churn rise in sales.csv? draft a note to the board"
    analysis, text = await planned(asked, SALES, about=about)
    assert (analysis.specialist, text.specialist) == ("analyst", "writer")
    assert "vendors" not in analysis.intent


async def test_only_listed_specialists_are_used() -> None:
    crew = "# Specialists\n- scribe: Writes texts.\n- counter: Works on tables and data."
    subtasks = await planned("total sales by region, then write a note", SALES, crew=crew)
    assert [subtask.specialist for subtask in subtasks] == ["counter", "scribe"]
    stranger = "# Specialists\n- oracle: Knows all."
    assert [subtask.specialist for subtask in await planned("what now?", crew=stranger)] == ["oracle"]


async def test_a_follow_up_hands_the_earlier_answer_on() -> None:
    earlier = "## Asked: total sales?\nNorth has 120."
    (text,) = await planned("draft a short memo", SALES, earlier=earlier)
    assert text.specialist == "writer"
    assert "North has 120." in text.intent


async def test_a_file_that_is_not_read_beside_a_table_is_named() -> None:
    files = (
        f"# Files\n{SALES}\n- b.pdf (application/pdf, 9 bytes)\n\n# Files that could not be read\n- x.csv is too large."
    )
    text = f"# Request\nwhat is the total?\n\n{CREW}\n\n{files}"
    call = ModelCall(purpose="planner", system="", messages=(ModelMessage(role="user", text=text),))
    plan = plan_in((await RehearsalModel().reply(call)).text)
    assert [subtask.specialist for subtask in plan.subtasks] == ["analyst"]
    assert plan.missing == ("read b.pdf beside a table without a language model",)


@pytest.mark.parametrize(
    ("request_text", "files", "said"),
    [
        ("draft a welcome note for new colleagues", [], "No file is attached"),
        ("draft a welcome note, and buy a cake for the team", [], "No file is attached"),
        ("translate 'good morning' into French", [], "No file is attached"),
        ("deploy the api to production", [], "No file is attached"),
        ("remind me tomorrow at 9", [], "No file is attached"),
        ("Erkläre mir die Quantenphysik", [], "No file is attached"),
        ("book a table for two", [], "No file is attached"),
        ("what is 3 * 4, and buy a cake for the team", [], "No file is attached"),
        ("look up what Slack says about rate limits", [], "No file is attached"),
        ("what does https://example.com/pricing promise?", [], "No file is attached"),
        ("proofread this: The the cat sat.", [], "No file is attached"),
        ("what is the total revenue?", ["- notes.bin (application/x, 9 bytes)"], "can't read notes.bin"),
        ("total revenue by month", [], "No file is attached"),
    ],
)
async def test_what_rules_cannot_do_is_declined_with_its_reason_and_what_they_can(
    request_text: str, files: list[str], said: str
) -> None:
    parts = [f"# Request\n{request_text}", CREW, *(["\n".join(["# Files", *files])] if files else [])]
    call = ModelCall(purpose="planner", system="", messages=(ModelMessage(role="user", text="\n\n".join(parts)),))
    decided = json.loads((await RehearsalModel().reply(call)).text)
    assert (decided["why"], decided["next"]["who"]) == (DECLINED, "answer")
    assert said in decided["next"]["text"]
    assert len(decided["next"]["text"].splitlines()) == 1
    assert decided["next"]["text"].endswith(f"{CAN_ASK} for a sum, or about a table or a text that you attach.")
    assert NO_MODEL in decided["next"]["text"]
    assert not any(letter.isdigit() for letter in decided["next"]["text"]), "a planner states no figures"


@pytest.mark.parametrize("request_text", ["outline it", "what does it say about holidays?", "who signed this?"])
async def test_a_text_that_can_be_read_is_outlined_or_quoted(request_text: str) -> None:
    text = (
        f"# Request\n{request_text}\n\n{CREW}\n\n# Files\n- a.md (text/markdown, 9 bytes)\n\n"
        "# Source material\n## a.md begins\nHolidays are long."
    )
    call = ModelCall(purpose="planner", system="", messages=(ModelMessage(role="user", text=text),))
    plan = plan_in((await RehearsalModel().reply(call)).text)
    assert ([subtask.specialist for subtask in plan.subtasks], plan.missing) == (["writer"], ())


async def test_a_follow_up_on_a_table_names_what_it_goes_on_from() -> None:
    earlier = "## Asked: revenue by region\nNorth has 120.\n## Asked: and by plan?\nPro has 60."
    (analysis,) = await planned("only North", SALES, earlier=earlier)
    assert analysis.specialist == "analyst"
    assert [line for line in analysis.intent.splitlines() if line.startswith(GOES_ON)] == [
        f"{GOES_ON} revenue by region",
        f"{GOES_ON} and by plan?",
    ]


async def test_the_second_refusal_in_a_row_is_shorter() -> None:
    earlier = "# Earlier in this thread\n## Asked: eligible orders\n(no answer: In sales.csv I can't. You can ask “x”.)"
    text = f"# Request\nbook a table\n\n{CREW}\n\n{earlier}"
    call = ModelCall(purpose="planner", system="", messages=(ModelMessage(role="user", text=text),))
    said = json.loads((await RehearsalModel().reply(call)).text)["next"]["text"]
    assert said.startswith("No file is attached, and without one rules can only do sums. You can ask for a sum")
    (analysis,) = await planned("total revenue", SALES, earlier=earlier.partition("\n")[2])
    assert DECLINED_BEFORE in analysis.intent
    assert GOES_ON not in analysis.intent, "what was declined is nothing to go on from"


async def test_a_plan_is_the_same_every_time() -> None:
    request = "total revenue and write a report"
    assert await planned(request, SALES) == await planned(request, SALES)


async def test_the_synthesizer_says_nothing_twice_and_names_gaps(heard: Any) -> None:
    pieces, listen = heard
    results = (
        "# Request\nwhy?\n\n# Plan\nA note (strategy: merge)\n\n# Results\n"
        '## Find why\n<result id="analysis" sure="85"/>\n- North fell.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n'
        '## Write the note\n<result id="text" sure="75"/>\n# Note\n\n## Find why\n\n- North fell.\n\n![c](c.png)\n\n'
        "# Gaps\n- The vendors' pages could not be read."
    )
    call = ModelCall(
        purpose="synthesizer", system="", messages=(ModelMessage(role="user", text=results),), on_text=listen
    )
    turn = await RehearsalModel().reply(call)
    assert turn.text == "".join(pieces)
    assert len(pieces) > 3
    assert turn.text.startswith("# Note")
    assert turn.text.count("North fell.") == 1
    assert "| 1 | 2 |" in turn.text
    assert "![" not in turn.text
    assert turn.text.endswith("## What is missing\n\n- The vendors' pages could not be read.")
