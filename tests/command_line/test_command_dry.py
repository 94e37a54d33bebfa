"""`leadhand try --dry`: rules, pipelines, briefs and material as in a real job, and nothing at work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.command_line.dry_run import parse_plan_option
from bot.settings import SettingsError
from specialists.registry import CREWS_FOLDER, load_crew
from tests.command_line.command import environment, leadhand
from tests.own_tools import all_tools

COSTS = CREWS_FOLDER / "launch" / "demo" / "costs.csv"
SALES = CREWS_FOLDER.parent / "samples" / "sales.csv"


def test_a_named_plan_shows_what_each_specialist_is_sent(tmp_path: Path) -> None:
    words = ("--dry", "--plan", "market, pricing > copy", "--ask", "Price a rain alarm, and write the mail")
    ended = leadhand("try", "--crew", "launch", *words, "--file", COSTS, env=environment(tmp_path))
    assert ended.code == 0, ended.err
    shown = {block.split(" ")[0]: block for block in ended.out.split("──────── ")[1:]}
    assert set(shown) == {"market", "pricing", "copy"}
    assert "tools: profile_table, query_table, calculate, draw_chart" in shown["pricing"]
    assert "costs.csv (text/csv, 247 bytes)" in shown["pricing"]
    assert "Price a rain alarm, and write the mail" in shown["market"]
    assert "## pricing\nA dry run: nothing was worked out." in shown["copy"], "it comes after those before the arrow"
    assert "## market" not in shown["pricing"], "a comma is side by side"


def test_a_rule_needs_no_plan_and_what_no_rule_takes_needs_one(tmp_path: Path) -> None:
    env = environment(tmp_path)
    ruled = leadhand("try", "--dry", "--ask", "what is the total revenue by region?", "--file", SALES, env=env)
    assert ruled.code == 0, ruled.err
    assert "planned: rule figures-of-a-table" in ruled.out
    assert "──────── analyst (balanced)" in ruled.out
    free = leadhand("try", "--crew", "launch", "--dry", "--ask", "Write the mail", env=env)
    assert free.code == 1
    assert "so the planner, a model, would choose who gets it. It can choose from:\n" in free.out
    assert "\n  copy " in free.out
    assert "such as: --plan '" in free.out


def test_a_crew_of_one_needs_no_plan_and_prompt_and_brief_are_shown_whole(tmp_path: Path) -> None:
    env = environment(tmp_path / "data")
    assert leadhand("new", "crew", "tides", "--crew", tmp_path, env=env).code == 0
    dry = leadhand("try", "--crew", tmp_path / "tides", "--dry", "--ask", "Look up: gateway", env=env)
    assert dry.code == 0, dry.err
    head, prompt, brief = re.split(r"^──── (?:prompt|brief)$", dry.out, flags=re.MULTILINE)
    assert "planned: no rule takes this" in head
    assert "goes to: clerk\n" in head
    assert "tools: look_up_entry, add_entry" in head
    page = (tmp_path / "tides" / "clerk.md").read_text(encoding="utf-8")
    assert page.split("---\n")[2].strip() in prompt
    assert "Look up: gateway" in brief


@pytest.mark.parametrize(
    ("plan", "words"), [("copyy", "no specialist copyy (did you mean copy?)"), (" > ", "--plan names no specialist")]
)
def test_a_plan_that_nobody_can_do_is_refused(plan: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?")):
        parse_plan_option(plan, load_crew(CREWS_FOLDER / "launch", all_tools()))
