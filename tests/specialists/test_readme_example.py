"""The examples of README and docs really work, and so does a crew's demo, whose faults are told by their lines."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from bot.command_line import crew_demo
from specialists.loading import demo_file
from specialists.loading.demo_file import Demo
from specialists.registry import CREWS_FOLDER, load_crew
from specialists.tools.web import recorded_web
from tests.own_tools import all_tools
from tests.specialists.crew_files import load_files, page, write_crew
from tests.specialists.scripted_model import call_tool

README = Path(__file__).parents[2] / "README.md"
CREW_PAGE = Path(__file__).parents[2] / "docs" / "crews.md"


def test_the_specialist_of_the_readme_joins_the_crew(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    found = re.search(r"`specialists/crews/general/(\w+)\.md`.*?```markdown\n(.*?)```", text, re.DOTALL)
    assert found, "the README no longer shows a specialist"
    crew = tmp_path / "general"
    shutil.copytree(CREWS_FOLDER / "general", crew)
    specialists = load_files(crew, all_tools(), **{found[1]: found[2]}).specialists
    assert found[1] in specialists
    assert len(found[2].splitlines()) <= 10


def test_the_crew_file_of_the_page_on_crews_is_one(tmp_path: Path) -> None:
    text = CREW_PAGE.read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(rules:.*?)```", text, re.DOTALL)
    assert found, "the page no longer shows a crew file"
    pages = {name: page(name) for name in ("translator", "translator_b")}
    crew = load_files(tmp_path, all_tools(), crew=found[1], **pages)
    (rule,) = crew.rules
    assert rule.fits("Please translate this: good morning", [])
    assert not rule.fits("translate this and check it", [])
    assert crew.equals == (("translator", "translator_b"),)
    who = {"approvers": ("requester", "admins"), "quorum": 1, "own_approval": True}
    costs = {"ask_above_cost": 2.5, "ask_above_tokens": 0}
    assert crew.terms == {"confidence": 70, "unsure": "mark", **who, **costs}
    assert (crew.make.tools, crew.make.at_most, crew.make.fallback) == (("calculate", "web_search"), 2, "translator")


def files_of_the_page(folder: Path) -> Path:
    """Write the crew of one's own of the page on crews as the page says, and one word into its glossary."""
    text = CREW_PAGE.read_text(encoding="utf-8")
    found = dict(re.findall(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL | re.MULTILINE))
    assert list(found) == ["translator.md", "toolkits/glossary.py"], "the page no longer shows a crew"
    return write_crew(folder, **found, **{"toolkits/glossary.csv": "gateway,Zugang\n"})


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
    look_up, add = tools["look_up_term"], tools["add_term"]
    assert (await call_tool(look_up, term="Gateway")).text == "Zugang"
    assert (await call_tool(add, term="Proxy", german="Vermittler")).text == "Done."
    assert (await call_tool(look_up, term="proxy")).text == "Vermittler"
    assert (await call_tool(look_up, term="relay")).text == "relay is not in the glossary."


GOOD = """\
says: One scout
  reads.
ask: What does Acme charge?
files: [note.txt]
settings: {LEADHAND_DATA: "shop={demo}/shop"}
prepare: {shop: note.txt}
replies:
  plan:
    - {id: read, specialist: scout, needs: []}
  specialists:
    scout:
      - web_search: {query: acme, count: 3}
        read_material: {name: note.txt}
      - return_result: {content: Acme charges 12 dollars., confidence: 90}
  answer: Acme charges 12 dollars.
"""


def demo_of(folder: Path, text: str) -> Demo:
    (folder / "demo").mkdir(exist_ok=True)
    (folder / "demo" / "note.txt").write_text("A note.")
    (folder / "demo" / "demo.yml").write_text(text)
    demo = demo_file.read_demo(folder)
    assert demo is not None
    return demo


def test_a_demo_is_read(tmp_path: Path) -> None:
    demo = demo_of(tmp_path, GOOD)
    assert demo.faults == []
    assert (demo.says, demo.ask) == ("One scout reads.", "What does Acme charge?")
    assert [path.name for path in demo.files] == ["note.txt"]
    assert demo.settings == {"LEADHAND_DATA": "shop={demo}/shop"}
    assert demo.replies.answer == "Acme charges 12 dollars."
    (part,) = demo.replies.plan["subtasks"]
    assert (part["intent"], part["needs"], part["title"]) == (demo.ask, [], "read")
    step, end = demo.replies.turns["scout"]
    assert end.calls == (("return_result", {"content": "Acme charges 12 dollars.", "confidence": 90}),)
    assert step.calls == (("web_search", {"query": "acme", "count": 3}), ("read_material", {"name": "note.txt"}))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("says: One", "sais: One", 1, "unknown key sais (did you mean says?)"),
        ("ask: What does Acme charge?\n", "", 1, "the key ask is missing"),
        ("note.txt]", "../crew.yml]", 4, "there is no file ../crew.yml in the demo's folder"),
        ("LEADHAND_DATA:", "data dir:", 5, "no name of a setting"),
        ("{shop: note", "{shop: gone", 6, "there is no git bundle gone.txt"),
        ("{shop: note", "{note.txt: note", 6, "it must be new, and a name alone"),
        ("specialist: scout,", "specialist: scout, who: me,", 9, "unknown key who"),
        ("{id: read, ", "{", 9, "the part of the plan has no id"),
        ("{query: acme, count: 3}", "[acme]", 12, "takes its arguments by name"),
        ("count: 3", "count: 2026-11-02", 12, "quote dates"),
    ],
)
def test_what_is_wrong_is_told_by_its_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    assert old in GOOD
    demo = demo_of(tmp_path, GOOD.replace(old, new))
    assert any(fault.line == line and words in fault.text for fault in demo.faults), demo.faults


def test_a_step_that_nobody_can_take_is_told_before_anything_runs(tmp_path: Path) -> None:
    crew = load_files(tmp_path, all_tools(), scout=page("scout", tools="[web_search]"))
    assert crew_demo.find_step_faults(demo_of(tmp_path, GOOD), crew) == []
    (fault,) = crew_demo.find_step_faults(demo_of(tmp_path, GOOD.replace("web_search:", "web_serch:")), crew)
    assert (fault.line, fault.text) == (12, "scout has no tool web_serch (did you mean web_search?)")
    (fault,) = crew_demo.find_step_faults(demo_of(tmp_path, GOOD.replace("    scout:", "    scott:")), crew)
    assert "there is no specialist scott (did you mean scout?)" in fault.text


def test_the_example_of_the_page_is_a_demo(tmp_path: Path) -> None:
    text = (CREWS_FOLDER.parents[1] / "docs" / "crews" / "README.md").read_text(encoding="utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    for name in ("contract.pdf", "shop.bundle", "pages/index.yml"):
        (tmp_path / "demo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "demo" / name).write_text("")
    demo = demo_of(tmp_path, example)
    assert demo.faults == []
    assert list(demo.replies.turns) == ["scout", "clerk"]
    index = text.rpartition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "demo" / "pages" / "index.yml").write_text(index)
    (tmp_path / "demo" / "pages" / "acme.html").write_text("<p>Acme</p>")
    assert recorded_web.read_index(tmp_path / "demo" / "pages").faults == []
