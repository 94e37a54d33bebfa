"""The README's ten lines really add a specialist, and the crew file of docs/crews.md is one."""

import re
import shutil
from pathlib import Path

from specialists.registry import CREWS, load_crew
from specialists.toolkits.catalogue import all_tools

README = Path(__file__).parents[2] / "README.md"
CREW_PAGE = Path(__file__).parents[2] / "docs" / "crews.md"


def test_the_specialist_of_the_readme_joins_the_crew(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    found = re.search(r"`specialists/crews/general/(\w+)\.md`.*?```markdown\n(.*?)```", text, re.DOTALL)
    assert found, "the README no longer shows a specialist"
    crew = tmp_path / "general"
    shutil.copytree(CREWS / "general", crew)
    (crew / f"{found[1]}.md").write_text(found[2], encoding="utf-8")
    specialists = load_crew(crew, all_tools()).specialists
    assert found[1] in specialists
    assert len(found[2].splitlines()) <= 10


def test_the_crew_file_of_the_page_on_crews_is_one(tmp_path: Path) -> None:
    text = CREW_PAGE.read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(rules:.*?)```", text, re.DOTALL)
    assert found, "the page no longer shows a crew file"
    for name in ("translator", "translator_b"):
        page = f"---\nname: {name}\ndescription: Translates.\ntools: []\nmodel: fast\n---\nYou translate.\n"
        (tmp_path / f"{name}.md").write_text(page, encoding="utf-8")
    (tmp_path / "crew.yml").write_text(found[1], encoding="utf-8")
    crew = load_crew(tmp_path, all_tools())
    (rule,) = crew.rules
    assert rule.fits("Please translate this: good morning", [])
    assert not rule.fits("translate this and check it", [])
    assert crew.equals == (("translator", "translator_b"),)
    who = {"approvers": ("requester", "admins"), "quorum": 1, "own_approval": True}
    costs = {"ask_above_cost": 2.5, "ask_above_tokens": 0}
    assert crew.terms == {"confidence": 70, "unsure": "mark", **who, **costs}
    assert crew.make is not None
    assert (crew.make.tools, crew.make.at_most, crew.make.fallback) == (("calculate", "web_search"), 2, "translator")
