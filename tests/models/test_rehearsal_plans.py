"""The rehearsal's planner: what it makes of the words of a request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.models.rehearsal.rehearsed_brief import GOES_ON
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
        ("summarise sales.csv", [SALES], "analyst writer"),
        ("look up what Slack says about rate limits", [], "researcher"),
        ("what does https://example.com/pricing promise?", [], "researcher"),
        ("proofread this: The the cat sat.", [], "reviewer"),
        ("what is 17 * 23?", [], "analyst"),
        ("why did churn rise in sales.csv, and draft a one-page note to the board", [SALES], "analyst writer"),
        (
            "why did churn rise in sales.csv, what do the vendors' pages promise about support, and draft the note",
            [SALES],
            "analyst researcher writer",
        ),
        ("chart the revenue, write a memo about it, then check the memo", [SALES], "analyst writer reviewer"),
    ],
)
async def test_a_request_gets_the_specialists_it_needs(request_text: str, files: list[str], who: str) -> None:
    subtasks = await planned(request_text, *files)
    assert [subtask.specialist for subtask in subtasks] == who.split()


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
    assert said in decided["text"]


async def test_texts_wait_for_facts_and_checks_for_all() -> None:
    request = "analyse sales.csv, search the web for competitors, write a report and review it"
    analysis, research, text, review = await planned(request, SALES)
    assert analysis.after == research.after == ()
    assert text.after == (analysis.id, research.id)
    assert review.after == (analysis.id, research.id, text.id)


async def test_intents_and_titles_are_the_requests_own_words() -> None:
    analysis, text = await planned("Why did revenue fall in sales.csv, by region, and draft a note to the board", SALES)
    assert analysis.title == "Why did revenue fall in sales.csv, by region"
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
    (looked_up,) = await planned("is that so?", about="Look up what Slack says about limits")
    assert looked_up.specialist == "researcher", "words that ask for nothing by themselves go by the message"


async def test_files_that_are_asked_about_apart_are_worked_on_side_by_side() -> None:
    files = ("- sales.csv (text/csv, 9 bytes)", "- churn.csv (text/csv, 9 bytes)")
    first, second = await planned("what is the total in sales.csv, and what is the average in churn.csv?", *files)
    assert (first.after, second.after) == ((), ())
    assert "sales.csv" in first.intent.splitlines()[0]
    assert "churn.csv" in second.intent.splitlines()[0]
    together = await planned("compare the totals of sales.csv and churn.csv", *files)
    assert len(together) == 1


async def test_only_listed_specialists_are_used() -> None:
    crew = "# Specialists\n- scribe: Writes texts.\n- counter: Works on tables and data."
    subtasks = await planned("total sales by region, search the web, then write a note and check it", SALES, crew=crew)
    assert [subtask.specialist for subtask in subtasks] == ["counter", "scribe"]
    stranger = "# Specialists\n- oracle: Knows all."
    assert [subtask.specialist for subtask in await planned("what now?", crew=stranger)] == ["oracle"]


async def test_a_follow_up_hands_the_earlier_answer_on() -> None:
    earlier = "## Asked: total sales?\nNorth has 120."
    (text,) = await planned("now write that as a short memo", SALES, earlier=earlier)
    assert text.specialist == "writer"
    assert "North has 120." in text.intent


@pytest.mark.parametrize(
    ("request_text", "who", "missing"),
    [
        ("book a table for two", "", ("book a table for two",)),
        ("what is 3 * 4, and buy a cake for the team", "analyst", ("buy a cake for the team",)),
        (
            "what is 3 * 4, and translate 'cake' into French",
            "analyst",
            ("translate 'cake' into French without a language model",),
        ),
    ],
)
async def test_what_nobody_can_do_is_named_and_not_planned(
    request_text: str, who: str, missing: tuple[str, ...]
) -> None:
    text = f"# Request\n{request_text}\n\n{CREW}"
    call = ModelCall(purpose="planner", system="", messages=(ModelMessage(role="user", text=text),))
    plan = plan_in((await RehearsalModel().reply(call)).text)
    assert [subtask.specialist for subtask in plan.subtasks] == who.split()
    assert plan.missing == missing
    assert not any("cake" in subtask.intent for subtask in plan.subtasks)


@pytest.mark.parametrize(
    ("request_text", "files", "who", "missing"),
    [
        (
            "look up the price of tea",
            ["- a.png (image/png, 9 bytes)"],
            "researcher",
            ("read a.png, which is no table",),
        ),
        ("what is the total?", [SALES, "- b.pdf (application/pdf, 9 bytes)"], "analyst", ("read b.pdf, which is no",)),
    ],
)
async def test_a_file_that_nobody_can_read_is_named(
    request_text: str, files: list[str], who: str, missing: tuple[str, ...]
) -> None:
    parts = [f"# Request\n{request_text}", CREW, "# Files that could not be read\n- x.csv is too large."]
    text = "\n\n".join([*parts, *(["\n".join(["# Files", *files])] if files else [])])
    call = ModelCall(purpose="planner", system="", messages=(ModelMessage(role="user", text=text),))
    plan = plan_in((await RehearsalModel().reply(call)).text)
    assert [subtask.specialist for subtask in plan.subtasks] == who.split()
    assert [found.startswith(said) for found, said in zip(plan.missing, missing, strict=True)] == [True]


@pytest.mark.parametrize(
    ("request_text", "files", "said"),
    [
        ("draft a welcome note for new colleagues", [], "can't do that"),
        ("draft a welcome note, and buy a cake for the team", [], "can't do that"),
        ("translate 'good morning' into French", [], "can't do that"),
        ("deploy the api to production", [], "can't do that"),
        ("remind me tomorrow at 9", [], "can't do that"),
        ("Erkläre mir die Quantenphysik", [], "can't do that"),
        ("what is the total revenue?", ["- notes.bin (application/x, 9 bytes)"], "can't read notes.bin"),
        ("total revenue by month", [], "can't do that"),
    ],
)
async def test_what_rules_cannot_do_is_declined_in_one_sentence(request_text: str, files: list[str], said: str) -> None:
    parts = [f"# Request\n{request_text}", CREW, *(["\n".join(["# Files", *files])] if files else [])]
    call = ModelCall(purpose="planner", system="", messages=(ModelMessage(role="user", text="\n\n".join(parts)),))
    decided = json.loads((await RehearsalModel().reply(call)).text)
    assert (decided["why"], decided["next"]["who"]) == (DECLINED, "answer")
    assert said in decided["next"]["text"]
    assert len(decided["next"]["text"].splitlines()) == 1
    assert not decided["next"]["text"].startswith("#")


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


async def test_a_plan_is_the_same_every_time() -> None:
    request = "analyse sales.csv and write a report"
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


@pytest.mark.parametrize(("strategy", "shown"), [("select", "Second."), ("reduce", "First")])
async def test_the_plans_strategy_is_kept_to(strategy: str, shown: str) -> None:
    results = (
        f"# Request\nx\n\n# Plan\ny (strategy: {strategy})\n\n# Results\n"
        '## One\n<result id="one" sure="40"/>\nFirst one. Then two. Then three. Then four.\n\n'
        '## Two\n<result id="two" sure="90"/>\nSecond.'
    )
    call = ModelCall(purpose="synthesizer", system="", messages=(ModelMessage(role="user", text=results),))
    turn = await RehearsalModel().reply(call)
    assert shown in turn.text
    assert "Then four." not in turn.text
    assert ("First one." in turn.text) == (strategy == "reduce")
