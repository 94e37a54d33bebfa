"""The README's ten lines really add a specialist, and the crews of docs/crews.md work."""

import re
import shutil
from pathlib import Path
from typing import Any

from specialists.registry import CREWS, load_crew
from tests.own_tools import all_tools

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


def files_of_the_page(folder: Path) -> Path:
    """Write the crew of one's own of the page on crews as the page says, and one word into its glossary."""
    text = CREW_PAGE.read_text(encoding="utf-8")
    found = dict(re.findall(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL | re.MULTILINE))
    assert list(found) == ["translator.md", "toolkits/glossary.py"], "the page no longer shows a crew"
    for name, content in found.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "toolkits" / "glossary.csv").write_text("gateway,Zugang\n", encoding="utf-8")
    return folder


async def test_the_toolkit_of_the_page_on_crews_works_in_fifteen_lines(tmp_path: Path) -> None:
    crew = load_crew(files_of_the_page(tmp_path), all_tools())
    code = (tmp_path / "toolkits" / "glossary.py").read_text(encoding="utf-8")
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    tools = crew.specialists["translator"].toolbox
    assert {name: (tool.access, tool.origin) for name, tool in tools.items()} == {
        "look_up_term": ("read", "toolkits/glossary.py"),
        "add_term": ("write", "toolkits/glossary.py"),
    }
    assert not crew.warnings

    async def call(name: str, **given: str) -> str:
        bench: Any = None
        return (await tools[name].run(tools[name].arguments.model_validate(given), bench)).text

    assert await call("look_up_term", term="Gateway") == "Zugang"
    assert await call("add_term", term="Proxy", german="Vermittler") == "Done."
    assert await call("look_up_term", term="proxy") == "Vermittler"
    assert await call("look_up_term", term="relay") == "relay is not in the glossary."
