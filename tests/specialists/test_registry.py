"""What a crew's files may say, and that every fault in them is named at once, with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.supervisor.planner import render_examples
from handoff.contracts import RESERVED_NAMES, Member
from specialists import registry, specialist
from specialists.registry import CREWS_FOLDER, CrewError, list_crew_names, load_crew
from specialists.tools.tool import Tool, ToolOutcome
from tests.own_tools import all_tools
from tests.specialists.crew_files import TOOLS, list_faults, load_files, page
from tests.specialists.scripted_model import LookArguments

EXAMPLES = (
    "a.md:6: examples must be requests, each with its kind of work, a line each: "
    """`"What is 8 % of 940?": a sum`; """
)


def test_a_specialist_is_what_its_file_says(tmp_path: Path) -> None:
    crew = load_files(
        tmp_path / "sea",
        TOOLS,
        scout=page("scout", tools="[look, listen]", fallback="cook", max_turns="7", body="You are\n\nthe scout."),
        cook=page("cook", tools="taste", model="deep"),
    )
    assert crew.name == "sea"
    assert list(crew.specialists) == ["cook", "scout"]
    scout = crew.specialists["scout"]
    assert [tool.name for tool in scout.tools] == ["look", "listen"]
    assert (scout.tier, scout.fallback, scout.max_turns) == ("fast", "cook", 7)
    assert scout.prompt == "You are\n\nthe scout."
    assert scout.path == tmp_path / "sea" / "scout.md"
    assert [tool.name for tool in crew.specialists["cook"].tools] == ["taste"]
    assert (crew.specialists["cook"].tier, crew.specialists["cook"].fallback) == ("deep", None)
    assert crew.specialists["cook"].max_turns == specialist.DEFAULT_TURNS


def test_windows_line_ends_a_byte_order_mark_and_folders_are_fine(tmp_path: Path) -> None:
    marked = b"\xef\xbb\xbf" + page("a").replace("\n", "\r\n").encode()
    crew = load_files(tmp_path, TOOLS, a=marked, **{"north/b": page("b"), "north/far/c": page("c")})
    assert list(crew.specialists) == ["a", "b", "c"]
    assert crew.specialists["a"].prompt == "You work."


ONE_FAULT = {
    "unknown key": (
        page("a", colour="red"),
        "a.md:6: unknown key colour; the keys are name, description, tools, model",
    ),
    "unknown tool": (page("a", tools="[lok]"), "a.md:4: unknown tool lok (did you mean look?); the tools are listen, "),
    "tool twice": (page("a", tools="[look, look]"), "a.md:4: the tool look is named twice; keep one"),
    "built-in tool": (page("a", tools="[escalate]"), "a.md:4: every specialist has escalate; take it out of tools"),
    "tools no list": (
        page("a", tools="{look: 1}"),
        "a.md:4: tools must be a list of tool names; write [] for none: this is a mapping",
    ),
    "a tab": (page("a", tools="\n\t- look"), "a.md:5: the front matter is not valid YAML: found character '\\t' that"),
    "no such date": (page("a", description="2026-99-01"), "a.md:3: the value cannot be read (month must be in 1..12)"),
    "nested": (page("a", tools="[" * 600 + "]" * 600), "a.md:2: the front matter is nested too deep"),
    "zero byte": (page("a", description="x\0"), "a.md:2: the front matter is not valid YAML: the character U+0000 may"),
    "tools not named": (page("a", tools="[1]"), "a.md:4: tools must be a list"),
    "missing fallback": (page("a", fallback="b"), "a.md:6: there is no specialist b to fall back to; there are a"),
    "own fallback": (page("a", fallback="a"), "a.md:6: a is its own fallback; name another"),
    "fallback no name": (page("a", fallback="[b]"), "a.md:6: fallback must be the name of another specialist"),
    "bad tier": (page("a", model="gpt"), "a.md:5: model must be a tier (fast, balanced, deep; which"),
    "no turns": (page("a", max_turns="0"), "a.md:6: max_turns must be a whole number from 1 to 50"),
    "other name": (page("b"), "a.md:2: the name b is not that of the file; call the file b.md"),
    "empty prompt": (page("a", body="  \n"), "a.md:7: the prompt is empty; write it below the front matter"),
    "empty description": (page("a", description='" "'), "a.md:3: description must be one line"),
    "long description": (
        page("a", description="x" * 201),
        "a.md:3: the description has 201 characters, and at most 200",
    ),
    "no front matter": ("You work.", "a.md:1: there is no front matter; start the file with a line ---"),
    "open front matter": ("---\nname: a\n", "a.md:1: the front matter does not end; close it with a line ---"),
    "no mapping": ("---\n- a\n---\nYou work.", "a.md:2: the front matter is not a list of `key: value` lines"),
    "key twice": (page("a", "name: a"), "a.md:6: the key name is there twice; keep one"),
    "tag": (page("a", description="!!python/name:os.system"), "a.md:3: the front matter is not valid YAML"),
    "cannot empty": (page("a", cannot="[]"), "a.md:6: cannot must be a list of what it cannot do"),
    "cannot blank": (page("a", cannot="['']"), "a.md:6: cannot has an empty item; take it out"),
    "cannot twice": (page("a", cannot="[swim, Swim]"), "a.md:6: cannot says Swim twice; keep one"),
    "cannot not": (page("a", cannot="[cannot swim]"), "a.md:6: 'cannot swim' under cannot: leave out 'cannot'"),
    "cannot all": (page("a", cannot="[anything]"), "a.md:6: cannot says anything, which tells the planner nothing"),
    "cannot long": (page("a", cannot=f"[{'x' * 61}]"), "a.md:6: an item of cannot has 61 characters, and at most 60"),
    "cannot many": (page("a", cannot=str([f"x{n}" for n in range(9)])), "a.md:6: cannot has 9 items; at most 8"),
    "cannot a tool": (page("a", tools="[look]", cannot="[look]"), "a.md:6: it cannot look, and has that tool"),
    "can and cannot": (
        page("a", can="[swim]", cannot="[swim]"),
        "a.md:7: it says that it can and that it cannot swim; take one out",
    ),
    "cannot said twice": (
        page("a", description="Swims. Cannot fly.", cannot="[run]"),
        "a.md:6: the description says what it cannot do, and so does cannot",
    ),
    "long line": (
        page("a", description="x" * 195, cannot="[climb a very high mountain, sing a very long song]"),
        "a.md:6: the description, can and cannot make a line longer than 240",
    ),
    "examples a list": (
        page("a", examples="['Who is on shift?: a look']"),
        EXAMPLES + """this is a list: write `"Who is on shift?": a look`""",
    ),
    "examples a text": (
        page("a", examples="Who is on shift"),
        EXAMPLES + 'this is a text: write `"Who is on shift": KIND OF WORK`',
    ),
    "example blank": (page("a", examples="{swim: ' '}"), "a.md:6: an example is a request of at most 160 characters"),
    "examples many": (
        page("a", examples=str({f"x{n}": "y" for n in range(9)})),
        "a.md:6: examples has 9 items; at most 8",
    ),
    "not utf-8": (page("a").encode() + b"\xff", "a.md:8: the file is not UTF-8; save it as UTF-8"),
}


@pytest.mark.parametrize(("text", "expected"), ONE_FAULT.values(), ids=ONE_FAULT)
def test_a_fault_is_named_with_file_line_and_remedy(tmp_path: Path, text: str | bytes, expected: str) -> None:
    (found,) = list_faults(tmp_path, TOOLS, a=text)
    assert found.startswith(expected)


def test_what_it_can_and_cannot_do_makes_one_line(tmp_path: Path) -> None:
    crew = load_files(
        tmp_path,
        TOOLS,
        a=page("a", description="Swims.", cannot="[fly, 'run a marathon.']"),
        b=page("b", description="", can="[swim, dive deep]"),
        c=page("c", description="Swims.", can="[dive]", cannot="[fly]"),
        d=page("d", description="Swims. Cannot fly."),
    )
    lines = {
        name: Member(name=name, description=one.description, cannot=one.cannot).planner_line
        for name, one in crew.specialists.items()
    }
    assert lines == {
        "a": "Swims. Cannot fly or run a marathon.",
        "b": "Can swim, dive deep.",
        "c": "Swims. Can dive. Cannot fly.",
        "d": "Swims. Cannot fly.",
    }


def test_an_empty_front_matter_misses_everything(tmp_path: Path) -> None:
    missing = ("description", "model", "name", "tools")
    found = list_faults(tmp_path, TOOLS, a="---\n---\nYou work.")
    assert sorted(line.partition(";")[0] for line in found) == [f"a.md:1: the key {key} is missing" for key in missing]


def test_no_name_of_the_bots_own_is_given_away(tmp_path: Path) -> None:
    for name in RESERVED_NAMES:
        (found,) = list_faults(tmp_path / name, TOOLS, **{name: page(name)})
        assert found.startswith(f"{name}.md:2: the name {name} is taken")


def test_its_examples_are_what_the_planner_is_shown(tmp_path: Path) -> None:
    crew = load_files(tmp_path, TOOLS, a=page("a", examples="{'Swim to Oslo?': a swim, Dive: a dive}"), b=page("b"))
    assert crew.specialists["a"].examples == (("Swim to Oslo?", "a swim"), ("Dive", "a dive"))
    members = [Member(name=name, examples=one.examples) for name, one in crew.specialists.items()]
    shown = render_examples(members).splitlines()
    assert shown[:3] == [
        "# Examples",
        '"Swim to Oslo?": {"why":"a swim","next":{"who":"a"}}',
        '"Dive": {"why":"a dive","next":{"who":"a"}}',
    ]
    assert "examples" not in members[0].model_dump(), "they are not kept with a plan"
    for line in shown[1:]:
        asked, _, reply = line.partition(": {")
        assert json.loads(asked)
        assert set(json.loads("{" + reply)) == {"why", "next"}


def test_a_tool_that_only_reads_may_be_in_several_hands(tmp_path: Path) -> None:
    crew = load_files(
        tmp_path, TOOLS, a=page("a", tools="[look]"), b=page("b", tools="[listen, look]"), c=page("c", tools="look")
    )
    assert [name for name, one in crew.specialists.items() if "look" in one.toolbox] == ["a", "b", "c"]


def test_a_tool_that_writes_belongs_to_one_specialist(tmp_path: Path) -> None:
    found = list_faults(tmp_path, TOOLS, a=page("a", tools="[post]"), b=page("b", tools="[listen, post]"))
    text = f"the tool post writes, and {tmp_path}/a.md has it already; a tool that writes has one holder"
    assert found == [f"b.md:4: {text}: take it out of one of them"]


def test_fallbacks_may_not_go_in_a_circle(tmp_path: Path) -> None:
    ring = {"a": "b", "b": "c", "c": "a", "d": "a"}
    found = list_faults(tmp_path, TOOLS, **{name: page(name, fallback=to) for name, to in ring.items()})
    assert [line.split(";")[0] for line in found] == [
        "a.md:6: the fallbacks go in a circle: a -> b -> c -> a",
        "b.md:6: the fallbacks go in a circle: b -> c -> a -> b",
        "c.md:6: the fallbacks go in a circle: c -> a -> b -> c",
    ]


def test_two_specialists_of_one_name_are_refused(tmp_path: Path) -> None:
    found = list_faults(tmp_path, TOOLS, a=page("a"), **{"north/a": page("a")})
    assert len(found) == 1
    assert "the name a is that of" in found[0]


def test_a_file_too_deep_an_empty_crew_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    found = list_faults(tmp_path / "deep", TOOLS, **{"a": page("a"), "1/2/b": page("b"), "1/2/3/c": page("c")})
    assert found == ["1/2/3/c.md:1: the file lies more than 3 levels deep; move it up"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(CrewError, match="the crew is empty; add a specialist"):
        load_crew(tmp_path / "empty", TOOLS)
    with pytest.raises(CrewError, match="there is no such folder; there are: deep, empty"):
        load_crew(tmp_path / "none", TOOLS)


def test_all_faults_come_at_once_and_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(CrewError) as raised:
        load_files(
            tmp_path,
            TOOLS,
            a=page("a", model="huge", tools="[smell]", max_turns="99"),
            b=page("x", fallback="nobody", body=""),
            c="nothing",
            d=page("d", fallback="c"),
        )
    assert [(fault.path.name, fault.line) for fault in raised.value.faults] == [
        ("a.md", 4), ("a.md", 5), ("a.md", 6), ("b.md", 2), ("b.md", 6), ("b.md", 8), ("c.md", 1),
    ]  # fmt: skip
    assert "A specialist is one Markdown file in the crew's folder" in str(raised.value)


def test_the_example_in_the_error_is_itself_right(tmp_path: Path) -> None:
    example = registry._EXAMPLE_FILE.partition("\n\n")[2]
    crew = load_files(tmp_path, TOOLS, translator=example, writer=page("writer"))
    assert crew.specialists["translator"].max_turns == 5


def test_the_crew_general_is_compact_and_no_two_that_are_planned_with_share_a_tool() -> None:
    crew = load_crew(CREWS_FOLDER / "general", all_tools())
    assert crew.first == "assistant"
    assistant = [tool.name for tool in crew.specialists["assistant"].tools]
    assert assistant == ["profile_table", "query_table", "calculate", "draw_chart", "web_search", "fetch_page"]
    assert all(tool.access == "read" for tool in crew.specialists["assistant"].tools)
    for one in crew.specialists.values():
        assert len(one.prompt) / 4 <= (330 if one.name == "assistant" else 220), one.name
        assert len(one.system_prompt) - len(one.prompt) <= 90 * 4
        assert one.cannot, "the planner must read what it cannot do"
    crew = crew.without_first_responder()
    owned = {name: [tool.name for tool in one.tools] for name, one in crew.specialists.items()}
    assert owned == {
        "analyst": ["profile_table", "query_table", "calculate", "draw_chart"],
        "researcher": ["web_search", "fetch_page"],
        "reviewer": [],
        "writer": ["publish_document"],
    }
    tools = [tool for names in owned.values() for tool in names]
    assert len(tools) == len(set(tools))


def test_every_crew_that_comes_along_loads_with_the_real_tools_and_says_three_requests() -> None:
    tools, names = all_tools(), list_crew_names()
    crews = [load_crew(CREWS_FOLDER / name, tools) for name in names]
    assert {crew.name: len(crew.requests) for crew in crews} == dict.fromkeys(names, 3)
    used = {tool.name for crew in crews for one in crew.all_specialists.values() for tool in one.tools}
    assert used >= set(tools), "a tool that nobody has is dead weight"
    for name, tool in tools.items():
        assert tool.name == name
        assert tool.spec.description, name


async def _write(_arguments: object, _bench: object) -> ToolOutcome:
    """Write."""
    return ToolOutcome("written")


TOOL_FAULTS = {
    "only reads, so look_up does nothing": Tool("bad", "read", LookArguments, _write, look_up=_write),
    "only reads, so a key does nothing": Tool("bad", "read", LookArguments, _write, key="drops_repeats"),
    "only reads, so what does nothing": Tool("bad", "read", LookArguments, _write, what=str),
    "has the access 'scribble'": Tool("bad", "scribble", LookArguments, _write),  # type: ignore[arg-type]
    "has the key 'maybe'": Tool("bad", "write", LookArguments, _write, key="maybe"),  # type: ignore[arg-type]
    "must have a run that takes arguments, workbench, key": Tool(
        "bad", "write", LookArguments, _write, key="drops_repeats"
    ),
    "must have a look_up that takes arguments, workbench": Tool(
        "bad", "write", LookArguments, _write, look_up=lambda: _write(0, 0)
    ),
    "has a key that marks, and no look_up": Tool("bad", "write", LookArguments, _write, key="marks"),
}


@pytest.mark.parametrize("fault", TOOL_FAULTS)
def test_a_tool_that_is_declared_wrongly_is_named_where_it_is_used(fault: str, tmp_path: Path) -> None:
    lines = list_faults(tmp_path, {"bad": TOOL_FAULTS[fault]}, a=page("a", tools="[bad]"))
    assert any(line.startswith(f"a.md:4: the tool bad {fault}") for line in lines), lines


def test_a_call_that_writes_is_named_in_a_few_words() -> None:
    plain = Tool("post", "write", LookArguments, _write)
    assert plain.describe_call(LookArguments(at="x" * 300)) == f"post(at='{'x' * 58}…, times=1)"
    told = Tool("post", "write", LookArguments, _write, what=lambda arguments: f"post to\n{arguments.at}")
    assert told.describe_call(LookArguments(at="the board")) == "post to the board"
    assert not told.faults
