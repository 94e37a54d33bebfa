"""`leadhand new`: what it writes is a crew that is accepted, and that does its demo without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.evaluation.set_files import read_sets
from specialists.registry import load_crew
from tests.command_line.command import environment, leadhand, leadhand_inside
from tests.own_tools import all_tools


def test_a_new_crew_is_accepted_and_does_its_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = environment(tmp_path / "data")
    made = leadhand_inside("new", "crew", "tides", "--crew", tmp_path, env=env, capture=capsys)
    assert made.code == 0, made.err
    folder = tmp_path / "tides"
    for path in (line.removeprefix("wrote ") for line in made.out.splitlines() if line.startswith("wrote ")):
        assert Path(path).is_file()
    assert leadhand_inside("new", "specialist", "diver", "--crew", folder, env=env, capture=capsys).code == 0
    crew = load_crew(folder, all_tools())
    assert set(crew.specialists) == {"clerk", "diver"}
    assert [tool.name for tool in crew.specialists["clerk"].tools] == ["look_up_entry", "add_entry"]
    assert crew.specialists["clerk"].tools[1].access == "write"
    (routing,) = [one for one in read_sets(folder, ["routing"]) if one.cases]
    assert len(routing.cases) == 4
    played = leadhand("try", "--crew", folder, "--demo", env=env)
    assert played.code == 0, played.err
    assert "gateway: Zugang" in played.out
    assert "Not from your files" not in played.out, "the tool gave what the scripted reply says"


def test_a_tool_is_called_by_hand(tmp_path: Path) -> None:
    env = environment(tmp_path / "data")
    assert leadhand("new", "crew", "tides", "--crew", tmp_path, env=env).code == 0
    folder = tmp_path / "tides"

    def call_tool(name: str, *arguments: str) -> tuple[int, str, str]:
        ended = leadhand("try", "--crew", folder, "--tool", name, *arguments, env=env)
        return ended.code, ended.out, ended.err

    assert call_tool("look_up_entry", '{"word": "gateway"}') == (0, "Zugang\n", "")
    code, out, _ = call_tool("look_up_entry")
    assert (code, '"required"' in out) == (0, True), "without arguments it says what it takes"
    code, out, _ = call_tool("look_up_entry", '{"wort": "gateway"}')
    assert (code, "there is no 'wort'" in out) == (1, True)
    register = (folder / "toolkits" / "register.csv").read_text(encoding="utf-8")
    code, out, _ = call_tool("add_entry", '{"word": "tide", "meaning": "Tide"}')
    assert (code, "was not called: nobody said yes" in out) == (1, True)
    assert (folder / "toolkits" / "register.csv").read_text(encoding="utf-8") == register
    code, _, err = call_tool("look_up", "{}")
    assert (code, "has no tool 'look_up'. It has: add_entry" in err) == (1, True)
    code, _, err = call_tool("look_up_entry", "gateway")
    assert (code, "The arguments are no JSON" in err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "expected_error"),
    [
        (["crew", "Tides!"], "'Tides!' is no name: it takes small letters"),
        (["crew", "there"], "is there already; choose another name"),
        (["specialist", "diver"], "is no crew's folder: name one with --crew"),
        (["specialist", "clerk", "--crew", "{}/there"], "clerk.md is there already"),
    ],
)
def test_what_cannot_be_written_is_said(
    tmp_path: Path, arguments: list[str], expected_error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "clerk.md").write_text("---\nname: clerk\n---\nHello.", encoding="utf-8")
    given = [one.format(tmp_path) for one in arguments]
    given += [] if "--crew" in given else ["--crew", str(tmp_path)]
    ended = leadhand_inside("new", *given, env=environment(tmp_path), capture=capsys)
    assert ended.code == 1
    assert expected_error in ended.err
    assert ended.err.startswith("leadhand: ")
