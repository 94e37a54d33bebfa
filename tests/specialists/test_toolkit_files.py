"""A file of a crew's folder `toolkits`: which functions become tools, how they are called, and what is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handoff.contracts import Artifact
from specialists.crew import Crew
from specialists.loading import crew_toolkits
from specialists.registry import CrewError
from specialists.tools import plain_functions
from specialists.tools.tool import Tool, ToolOutcome
from tests.own_tools import all_tools
from tests.specialists.crew_files import list_faults, load_files, page, write_crew
from tests.specialists.scripted_model import EmptyBench, call_tool

FILE = '''
"""Words of our house."""
from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.tools.toolkit import public, sends_to, writes

from ._words import WORDS, helper


@functools.cache
def look_up(word: str, language: Literal["de", "fr"] = "de") -> str:
    """Give our word for a word."""
    return WORDS[word] + language


async def count(workbench: Workbench, words: list[str]) -> dict[str, int]:
    """Count words and files."""
    return {"words": len(words), "files": len(workbench.artifacts)}


@writes
def note(text: str) -> None:
    """Write a note."""
    if text == "break":
        raise RuntimeError("the pen broke")
    Path(__file__).with_name("notes.txt").write_text(text)


@public
@sends_to("rates.example")
def rate(day: str):
    """Give the rate of a day."""
    return ToolOutcome("1.08", sources=("https://rates.example",))


def leave() -> str:
    """Leave."""
    raise SystemExit(3)


def first() -> str:
    """Give the first of none."""
    return next(iter([]))


def odd() -> object:
    """Give something odd."""
    return object()


def _private(x): ...
'''
WORDS = 'WORDS = {"house": "Haus-"}\ndef helper(): ...\n'


def make_files(tools: str = "[]", **toolkits: str) -> dict[str, str]:
    return {"a": page("a", tools=tools), **{f"toolkits/{name}.py": text for name, text in toolkits.items()}}


def crew_with(folder: Path, tools: str = "[]", **toolkits: str) -> Crew:
    return load_files(folder, all_tools(), **make_files(tools, **toolkits))


def faults(folder: Path, **toolkits: str) -> list[str]:
    lines = list_faults(folder, all_tools(), **make_files(**toolkits))
    return [line.removeprefix("toolkits/") for line in lines]


@pytest.fixture
def toolbox(tmp_path: Path) -> dict[str, Tool]:
    names = "[look_up, count, note, rate, leave, first, odd]"
    return crew_with(tmp_path, tools=names, words=FILE, _words=WORDS).specialists["a"].toolbox


def test_functions_of_a_file_are_tools_by_their_signatures_and_docstrings(toolbox: dict[str, Tool]) -> None:
    spec = toolbox["look_up"].spec
    assert (spec.name, spec.description) == ("look_up", "Give our word for a word.")
    assert spec.parameters["properties"] == {
        "word": {"type": "string"},
        "language": {"type": "string", "default": "de", "enum": ["de", "fr"]},
    }
    assert spec.parameters["required"] == ["word"]
    assert list(toolbox["count"].spec.parameters["properties"]) == ["words"], "a model knows nothing of the workbench"
    assert {one.origin for one in toolbox.values()} == {"toolkits/words.py"}
    assert [name for name, one in toolbox.items() if one.access == "write"] == ["note"]
    assert [name for name, one in toolbox.items() if one.public] == ["rate"]
    sends = toolbox["rate"].sends
    sent = sends(toolbox["rate"].arguments.model_validate({"day": "2026-11-02"}))
    assert (sent.to, sent.wire) == ("rates.example", '{"day":"2026-11-02"}')


async def test_what_a_function_gives_is_told_as_text(toolbox: dict[str, Tool], tmp_path: Path) -> None:
    bench = EmptyBench(artifacts=(Artifact(id="1", name="a"), Artifact(id="2", name="b")))
    assert await call_tool(toolbox["look_up"], word="house") == ToolOutcome("Haus-de")
    assert await call_tool(toolbox["count"], bench, words=["a", "b"]) == ToolOutcome('{"words":2,"files":2}')
    assert (await call_tool(toolbox["rate"], day="today")).sources == ("https://rates.example",)
    assert await call_tool(toolbox["note"], text="tea") == ToolOutcome("Done.")
    assert (tmp_path / "toolkits" / "notes.txt").read_text() == "tea"
    odd = await call_tool(toolbox["odd"])
    assert (odd.failed, odd.text) == (True, "odd gave a object, which is neither a text nor JSON.")


async def test_what_a_function_raises_is_said_in_words(toolbox: dict[str, Tool]) -> None:
    missing = await call_tool(toolbox["look_up"], word="tea")
    assert (missing.failed, missing.text) == (True, "look_up failed: KeyError: 'tea'")
    left = await call_tool(toolbox["leave"])
    assert (left.failed, left.text) == (True, "leave failed: SystemExit: 3"), "it does not end the bot"
    assert (await call_tool(toolbox["first"])).text == "first failed: RuntimeError: StopIteration"
    with pytest.raises(RuntimeError, match="the pen broke"):  # whether it wrote is in doubt: people are asked
        await call_tool(toolbox["note"], text="break")


async def test_functions_that_hang_do_not_take_all_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(plain_functions, "MAX_PARALLEL_CALLS", 2)
    text = 'from threading import Event\nGO = Event()\ndef wait() -> str:\n    """Wait."""\n    GO.wait(20)\n'
    crew = crew_with(tmp_path, tools="[wait]", slow=f"{text}    return 'gone on'\n")
    tool = crew.specialists["a"].toolbox["wait"]
    for _ in range(2):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await call_tool(tool)
    assert (await call_tool(tool)).text == "wait is busy with 2 other calls. Go on without it."


FUNCTION_FAULTS = {
    "no docstring": ("def f(a: str): ...", "f.py:1: the function f has no docstring, which is what models read of it;"),
    "no type": ('def f(a): "F."', "f.py:1: the function f has no type at the argument a; write one, such as a: str"),
    "unknown type": ('def f(a: "Odd"): "F."', "f.py:1: the function f has a type that cannot be found (name 'Odd' is"),
    "odd type": (
        'class C: ...\ndef f(a: C): "F."',
        "f.py:2: the function f has an argument of a type that JSON does not know (Unable to generate pydantic-core",
    ),
    "star": ('def f(*a: str): "F."', "f.py:1: the function f takes *a: str, which models cannot fill in; name each"),
    "kept name": (
        'def f(copy: str): "F."',
        "f.py:1: the function f has an argument copy, a name that pydantic reserves",
    ),
    "yields": ('def f():\n  "F."\n  yield 1', "f.py:1: the function f yields, and might never end; return a list"),
    "long": (f'def f():\n  "{"x" * 2001}"', "f.py:1: the function f has a docstring of 2,001 characters, and every"),
    "taken by ours": (
        '\ndef web_search(a: str):\n  "F."',
        "f.py:2: the tool web_search is there already, from Leadhand; rename this one",
    ),
    "kept for the bot": ('def escalate():\n  "F."', "f.py:1: the name escalate is that of a tool which the bot itself"),
    "odd name": ('def größe(a: str):\n  "F."', "f.py:1: the tool 'größe' must be called in letters, digits, _ and -"),
    "raises": ("\n\n1 / 0", "f.py:3: it raises ZeroDivisionError (division by zero) when it is imported; fix it, or"),
    "exits": ("import sys\nsys.exit(2)", "f.py:2: it raises SystemExit (2) when it is imported; fix it, or remove"),
    "syntax": ("\ndef f(:\n", "f.py:2: it raises SyntaxError (invalid syntax) when it is imported; fix it, or remove"),
    "missing package": ("import no_such", "f.py:1: it raises ModuleNotFoundError (No module named 'no_such') when it"),
    "nothing": ("x = 1", "f.py:1: it has no function that could be a tool; write one with types and a docstring, or"),
    "gives raises": (
        "\ndef tools(): raise OSError('away')",
        "f.py:2: it raises OSError (away) when it gives its tools;",
    ),
    "gives oddly": ("def tools(): return 5", "f.py:1: it raises TypeError ('int' object is not iterable) when"),
    "gives others": ("def tools(): return ['f']", "f.py:1: it gives a str, which is neither a tool nor a function"),
}


@pytest.mark.parametrize(("text", "expected"), FUNCTION_FAULTS.values(), ids=FUNCTION_FAULTS)
def test_a_fault_of_a_toolkit_is_named_with_file_line_and_remedy(tmp_path: Path, text: str, expected: str) -> None:
    (found,) = faults(tmp_path, f=text, good='def g() -> str:\n  "G."\n')
    assert found.startswith(expected)


def test_tools_that_are_unknown_as_their_file_has_a_fault_are_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CrewError) as raised:
        crew_with(Path("crew"), tools="[f, g, h]", f="\n\ndef f(:\n", g='def g() -> str:\n  "G."\n')
    assert [str(one) for one in raised.value.faults] == [
        "crew/a.md:4: unknown tools f, h; fix f.py first",
        "crew/toolkits/f.py:3: it raises SyntaxError (invalid syntax) when it is imported; fix it, or remove it",
    ]


def test_two_files_with_a_tool_of_one_name_are_refused(tmp_path: Path) -> None:
    text = 'def f() -> str:\n  "F."\n'
    assert faults(tmp_path, a=text, b=text) == [
        "b.py:1: the tool f is there already, from toolkits/a.py; rename this one"
    ]


def test_a_file_that_takes_too_long_to_import_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(crew_toolkits.toolkit_files, "IMPORT_SECONDS", 0.05)
    (found,) = faults(tmp_path, f="import time\ntime.sleep(0.3)")
    assert found.startswith("f.py:1: it is imported in more than 0.05 s; do such work when a function")


def test_a_tool_that_is_declared_wrongly_is_named_in_its_file(tmp_path: Path) -> None:
    text = (
        "from pydantic import BaseModel\nfrom specialists.tools.tool import Tool\n"
        'async def run(arguments, workbench):\n  "Run."\nBAD = Tool("bad", "read", BaseModel, run, target=str)\n'
    )
    found = faults(tmp_path, f=text)
    assert found == ["f.py:3: the tool bad only reads, so target does nothing; leave it out"]


def test_a_function_may_say_more_than_its_line_does(tmp_path: Path) -> None:
    text = (
        "from specialists.tools.plain_functions import tool_of\n"
        'def post(board: str) -> str:\n  "Post."\n'
        'POST = tool_of(post, access="write", target=lambda arguments: arguments.board)\n'
        'def tea() -> str:\n  "Tea."\n'
    )
    toolbox = crew_with(tmp_path, tools="[post, tea]", f=text).specialists["a"].toolbox
    target = toolbox["post"].target
    assert target(toolbox["post"].arguments.model_validate({"board": "news"})) == "news"
    text += 'from specialists.tools.toolkit import Toolkit\ndef tools(settings):\n  return Toolkit("x", [POST])\n'
    assert list(crew_with(tmp_path, tools="[post]", f=text).specialists["a"].toolbox) == ["post"]


def test_a_toolkit_serves_the_crews_inside_its_crew(tmp_path: Path) -> None:
    inner = {"crew": "description: Reads contracts.\n", "b": page("b", tools="[f, g]")}
    write_crew(tmp_path / "legal", **inner, **{"toolkits/f.py": 'def g() -> str:\n  "G."\n'})
    text = 'def f() -> str:\n  "F."\n'
    toolbox = crew_with(tmp_path, f=text).all_specialists["legal/b"].toolbox
    assert {name: tool.origin for name, tool in toolbox.items()} == {"f": "toolkits/f.py", "g": "legal/toolkits/f.py"}
    write_crew(tmp_path / "legal", **{"toolkits/f.py": text})
    assert "legal/toolkits/f.py:1: the tool f is there already, from toolkits/f.py; rename this one" in faults(tmp_path)
