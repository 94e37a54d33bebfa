"""The rehearsal's planner: what it makes of the words of a request."""

from __future__ import annotations

from typing import Any

import pytest

from bot.models.rehearsal.brief_parsing import FOLLOW_UP_PREFIX, NO_MODEL_MESSAGE, SUGGESTION_PREFIX
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.models.rehearsal.rehearsed_planner import DECLINE_REASON, plan_request
from handoff.contracts import Plan, Subtask
from specialists.model import ModelCall, ModelMessage

CREW = """# Specialists
- analyst: Profiles and queries attached tables, calculates, draws charts. Cannot browse the web.
- researcher: Searches the public web and reads pages; returns facts with their addresses.
- writer: Writes and restructures texts from given material; publishes documents."""
SALES = "- sales.csv (text/csv, 1200 bytes, for analyst)"
TEXT, PDF = "- a.md (text/markdown, 9 bytes)", "- b.pdf (application/pdf, 9 bytes)"
SOURCE_SECTION = "\n\n# Source material\n## a.md begins\nHolidays are long."


def make_decision(request: str, files: str = "", more: str = "", crew: str = CREW) -> dict[str, Any]:
    text = f"# Request\n{request}\n\n{crew}\n\n# Files\n{files}{more}"
    found = plan_request(text, "")
    assert found == plan_request(text, ""), "a plan is the same every time"
    return found


def list_subtasks(*texts: str, **more: str) -> tuple[Subtask, ...]:
    found = make_decision(*texts, **more)["next"]
    assert found.pop("who") == "several"
    return Plan.model_validate(found).subtasks


@pytest.mark.parametrize(
    ("request_text", "file", "who"),
    [
        ("what were total sales by region?", SALES, "analyst"),
        ("what is 17 * 23?", "", "analyst"),
        ("Why did churn rise? Draft a note to the board.", SALES, "analyst writer"),
        ("total revenue by month and write a report for the board", SALES, "analyst writer"),
        ("total revenue, draft a note and book a flight", SALES, "analyst"),
        ("what does it say about holidays?", TEXT, "writer"),
    ],
)
def test_a_request_gets_the_specialists_it_needs(request_text: str, file: str, who: str) -> None:
    subtasks = list_subtasks(request_text, file, SOURCE_SECTION if file == TEXT else "")
    assert [subtask.specialist for subtask in subtasks] == who.split()
    assert "flight" not in request_text or "flight" in subtasks[0].intent, "a word that nobody reads declines it"
    if len(subtasks) > 1:
        assert (subtasks[1].after, "note" in subtasks[0].intent) == ((subtasks[0].id,), False)


def test_only_listed_specialists_are_used() -> None:
    crew = "# Specialists\n- scribe: Writes texts.\n- counter: Works on tables and data."
    subtasks = list_subtasks("total sales by region, then write a note", SALES, crew=crew)
    assert [subtask.specialist for subtask in subtasks] == ["counter", "scribe"]
    assert [one.specialist for one in list_subtasks("what now?", crew="# Specialists\n- oracle: Knows all.")] == [
        "oracle"
    ]


def test_a_follow_up_on_a_table_names_what_it_goes_on_from() -> None:
    asked = "## Asked: revenue by region\nNorth has 120.\n## Asked: eligible orders\n(no answer: In sales.csv I can't.)"
    (analysis,) = list_subtasks("only North", SALES, f"\n\n# Earlier in this thread\n{asked}")
    assert analysis.intent.splitlines()[1:] == [f"{FOLLOW_UP_PREFIX} revenue by region"]


def test_a_file_that_is_not_read_beside_a_table_is_named() -> None:
    found = make_decision("what is the total?", f"{SALES}\n{PDF}")["next"]
    assert found["missing"] == ["read b.pdf beside a table without a language model"]


@pytest.mark.parametrize(
    ("words", "file", "expected_text"),
    [
        ("What can you do?", "", "without a language model"),
        ("hello!", SALES, "ANTHROPIC_API_KEY"),
        ("Thanks, that's all!", "", "You are welcome"),
        ("draft a welcome note, and buy a cake for the team", "", "No file is attached"),
        ("what is 3 * 4, and buy a cake for the team", "", "No file is attached"),
        ("remind me tomorrow at 9", "", "No file is attached"),
        ("proofread this: The the cat sat.", "", "No file is attached"),
        ("what is the total revenue?", PDF, "can't read b.pdf"),
        ("translate this file into French", TEXT, "“translate” takes words of my own"),
    ],
)
def test_what_takes_no_specialist_is_answered_or_declined_with_what_can_be_asked(
    words: str, file: str, expected_text: str
) -> None:
    found = make_decision(words, file, SOURCE_SECTION if file == TEXT else "")
    told = found["next"]["text"]
    assert found["next"]["who"] == "answer"
    assert expected_text in told
    assert not any(letter.isdigit() for letter in told), "a planner states no figures"
    assert found["why"] != DECLINE_REASON or (
        NO_MODEL_MESSAGE in told and SUGGESTION_PREFIX in told and len(told.splitlines()) == 1
    )


async def test_the_synthesizer_says_nothing_twice_and_names_gaps(text_listener: Any) -> None:
    pieces, listen = text_listener
    results = (
        "# Request\nwhy?\n\n# Plan\nA note (strategy: merge)\n\n# Results\n"
        '## Find why\n<result id="analysis" sure="85"/>\n- North fell.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n'
        '## Write the note\n<result id="text" sure="75"/>\n# Note\n\n## Find why\n\n- North fell.\n\n![c](c.png)\n\n'
        "# Gaps\n- The vendors' pages could not be read."
    )
    message = ModelMessage(role="user", text=results)
    call = ModelCall(purpose="synthesizer", system="", messages=(message,), on_text=listen)
    told = (await RehearsalModel().reply(call)).text
    assert told == "".join(pieces)
    assert len(pieces) > 3
    assert (told.startswith("# Note"), told.count("North fell."), "| 1 | 2 |" in told, "![" in told) == (
        True,
        1,
        True,
        False,
    )
    assert told.endswith("## What is missing\n\n- The vendors' pages could not be read.")
