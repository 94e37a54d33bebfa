"""`leadhand route`: who would get a request, and why; nothing is run."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bot.command_line.route import _apply_crew_choice, describe_decision
from bot.settings import Settings
from tests.command_line.command import environment, leadhand, processes_in
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.system.brains import in_turn, plan, subtask

REHEARSAL_ENV = {"LEADHAND_MODEL": "rehearsal"}


def test_a_rule_sends_it_to_its_specialist_and_nothing_is_started(tmp_path: Path) -> None:
    ended = leadhand("route", "search the web for tea prices", env=environment(tmp_path, **REHEARSAL_ENV))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "crew general:",
        "researcher gets it as it stands (by rule web-search)",
        "why: rule web-search: researcher alone, without asking the planner",
    ]
    assert processes_in(tmp_path) == []


def test_a_plan_shows_its_parts(tmp_path: Path) -> None:
    words = "why did churn rise in sales.csv, and draft a note"
    ended = leadhand("route", words, "--file", "sales.csv", env=environment(tmp_path, **REHEARSAL_ENV))
    assert ended.code == 0
    assert "a plan of 2 parts (by rehearsal (no language model))" in ended.out
    assert "- text: writer: Draft a note (after analysis)" in ended.out


def test_a_request_that_the_rehearsal_declines_is_answered_with_what_it_can_do(tmp_path: Path) -> None:
    ended = leadhand("route", "book a flight", env=environment(tmp_path, **REHEARSAL_ENV))
    assert "I run without a language model" in ended.out
    assert leadhand("route", env=environment(tmp_path, **REHEARSAL_ENV)).code == 2


async def route_request(tmp_path: Path, *replies: Reply | Fault) -> tuple[dict[str, Any], int]:
    async with ProviderServer(in_turn(*replies)) as server:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": server.url}
        env = environment(tmp_path, **keys)
        ended = await asyncio.to_thread(leadhand, "route", "--json", "which fair?", env=env)
        return json.loads(ended.out or "{}"), ended.code


def make_decision(who: str, **fields: Any) -> Reply:
    return Reply(json.dumps({"why": "so it is", "next": {"who": who, **fields}}))


async def test_what_the_planner_decides_is_told_as_json(tmp_path: Path) -> None:
    found, code = await route_request(tmp_path, make_decision("answer", text="Hello!"))
    assert (found["does"], found["text"], found["why"], found["calls"], code) == (
        "answer",
        "Hello!",
        ["so it is"],
        1,
        0,
    )
    found, code = await route_request(tmp_path, make_decision("ask", text="Which?", options=["a"]))
    assert (found["does"], found["text"], found["options"], code) == ("ask", "Which?", ["a"], 0)
    found, code = await route_request(tmp_path, make_decision("writer"))
    assert (found["does"], found["parts"][0]["intent"], code) == ("hand", "which fair?", 0)


async def test_a_refused_plan_is_asked_for_once_more(tmp_path: Path) -> None:
    travel = plan(subtask("trip", "travel_agent"))
    found, _ = await route_request(tmp_path, travel)
    assert "unknown specialist 'travel_agent'" in found["refused"][0]
    assert (found["does"], found["parts"][0]["specialist"], found["calls"]) == ("hand", "writer", 2)
    assert "no usable plan in two tries" in found["why"][0]


async def test_a_model_that_cannot_be_reached_decides_nothing(tmp_path: Path) -> None:
    assert (await route_request(tmp_path, Fault("bad_request")))[1] == 1


SETTINGS = Settings(env={}, crew="general", more_crews=("/srv/crews/review", "law"))


@pytest.mark.parametrize(
    ("text", "crew", "expected"),
    [
        ("is it fine?", "", ("general", "is it fine?")),
        ("Review: is it fine?", "", ("/srv/crews/review", "is it fine?")),
        ("Note: it is large", "", ("general", "Note: it is large")),
        ("is it fine?", "law", ("law", "is it fine?")),
        ("review: is it fine?", "law", ("law", "is it fine?")),
        ("is it fine?", "support", ("support", "is it fine?")),
    ],
)
def test_the_crew_is_chosen_as_in_slack(text: str, crew: str, expected: tuple[str, str]) -> None:
    settings, rest = _apply_crew_choice(argparse.Namespace(text=text, crew=crew), SETTINGS)
    assert (settings.crew, rest) == expected


def test_where_there_is_one_crew_its_name_is_no_word() -> None:
    settings, rest = _apply_crew_choice(argparse.Namespace(text="general: hello", crew=""), Settings(env={}))
    assert (settings.crew, rest) == ("general", "general: hello")


def test_the_crew_stands_above_what_it_decides() -> None:
    found: dict[str, Any] = {"does": "answer", "by": "rehearsal", "text": "Hello!", "parts": []}
    found |= {"missing": [], "refused": [], "why": []}
    assert describe_decision({"crew": "review", **found}).splitlines()[0] == "crew review:"
