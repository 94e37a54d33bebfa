"""A crew's demo: what is read of demo.yml, and each fault by its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from specialists import demo_steps
from specialists.loading import demo_file
from specialists.loading.demo_file import Demo
from specialists.registry import CREWS, available_crews, load_crew
from specialists.tools.toolkit import ToolSettings
from specialists.tools.web import recorded_web
from tests.own_tools import all_tools

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
    demo = demo_file.read(folder)
    assert demo is not None
    return demo


def test_a_demo_is_read(tmp_path: Path) -> None:
    demo = demo_of(tmp_path, GOOD)
    assert demo.faults == []
    assert (demo.says, demo.ask) == ("One scout reads.", "What does Acme charge?")
    assert [path.name for path in demo.files] == ["note.txt"]
    assert demo.settings == {"LEADHAND_DATA": "shop={demo}/shop"}
    assert demo.replies is not None
    assert demo.replies.plan is not None
    assert demo.replies.answer == "Acme charges 12 dollars."
    (part,) = demo.replies.plan["subtasks"]
    assert (part["intent"], part["needs"], part["title"]) == (demo.ask, [], "read")
    step, end = demo.replies.steps["scout"]
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
    page = "---\nname: scout\ndescription: Reads.\ntools: [web_search]\nmodel: fast\n---\nYou are the scout.\n"
    (tmp_path / "scout.md").write_text(page)
    crew = load_crew(tmp_path, all_tools())
    assert demo_steps.faults(demo_of(tmp_path, GOOD), crew) == []
    (fault,) = demo_steps.faults(demo_of(tmp_path, GOOD.replace("web_search:", "web_serch:")), crew)
    assert (fault.line, fault.text) == (12, "scout has no tool web_serch (did you mean web_search?)")
    (fault,) = demo_steps.faults(demo_of(tmp_path, GOOD.replace("    scout:", "    scott:")), crew)
    assert "there is no specialist scott (did you mean scout?)" in fault.text


@pytest.mark.parametrize("name", [each for each in available_crews() if demo_file.read(CREWS / each) is not None])
def test_the_demos_that_come_with_leadhand_fit_their_crews(name: str) -> None:
    demo = demo_file.read(CREWS / name)
    assert demo is not None
    assert demo.faults == []
    pages = demo.pages
    assert pages is None or recorded_web.read(pages).faults == []
    env = {"LEADHAND_RECORDED_PAGES": str(pages)} if pages else {}
    settings = ToolSettings(env)
    assert demo_steps.faults(demo, load_crew(CREWS / name, all_tools(settings), settings)) == []


def test_the_example_of_the_page_is_a_demo(tmp_path: Path) -> None:
    page = (CREWS.parents[1] / "docs" / "crews" / "README.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]
    for name in ("contract.pdf", "shop.bundle", "pages/index.yml"):
        (tmp_path / "demo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "demo" / name).write_text("")
    demo = demo_of(tmp_path, example)
    assert demo.faults == []
    assert demo.replies is not None
    assert list(demo.replies.steps) == ["scout", "clerk"]
    index = page.rpartition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "demo" / "pages" / "index.yml").write_text(index)
    (tmp_path / "demo" / "pages" / "acme.html").write_text("<p>Acme</p>")
    assert recorded_web.read(tmp_path / "demo" / "pages").faults == []
