"""No example in a prompt is a case of a labelled set: figures on cases that the model was told would flatter us."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from bot.evaluation.set_files import OWN
from tests.command_line.command import ROOT

QUOTED = re.compile(r'"((?:[^"\\]|\\.){6,400})"|“([^”]{6,400})”')
FEWEST = 3
"""Words of an example: two of them stand in cases by chance."""
ALIKE = 0.6
"""The share of the words of both that an example and a case may have in common."""
CREWS = ROOT / "specialists" / "crews"


def words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", text.casefold()))


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one)


def cases() -> Iterator[tuple[str, str]]:
    """Each text of each case, with the name of the case."""
    for path in (*OWN.glob("*.yml"), *CREWS.glob("**/evaluation/*.yml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")):
            given = {name: value for name, value in case.items() if name not in {"id", "tags", "expect"}}
            yield from ((f"{path.parent.parent.name}/{path.name} {case['id']}", text) for text in texts_in(given))


def examples() -> Iterator[tuple[str, str]]:
    """Each text that a prompt quotes, and each request that a specialist names as its own, with the prompt's name."""
    prompts = (ROOT / "bot" / "supervisor").glob("*.md")
    people = (path for path in CREWS.glob("**/*.md") if not {"evaluation", "knowledge"} & set(path.parts))
    for path in (*prompts, *people):
        text = path.read_text(encoding="utf-8")
        if text.startswith("---"):
            _, front, text = text.split("---", 2)
            yield from ((path.name, each) for each in yaml.safe_load(front).get("examples") or ())
        yield from ((path.name, found[1] or found[2]) for found in QUOTED.finditer(text))


def leaks(shown: list[tuple[str, str]], labelled: list[tuple[str, str]]) -> list[str]:
    known = [(name, text, of) for name, text in labelled if len(of := words(text)) >= FEWEST]
    return [
        f"{prompt}: {example!r} is like {name}: {text!r}"
        for prompt, example in shown
        if len(mine := words(example)) >= FEWEST
        for name, text, of in known
        if len(mine & of) > ALIKE * len(mine | of)
    ]


def test_no_example_is_a_case() -> None:
    shown, labelled = list(examples()), list(cases())
    assert len(shown) > 200
    assert len(labelled) > 2_000
    assert leaks(shown, labelled) == []


def test_a_leak_is_found_whatever_its_case_and_signs() -> None:
    told = [("planner.md", "Gracias, es todo!")]
    assert leaks(told, [("es-050", "gracias, eso es todo")]) == [
        "planner.md: 'Gracias, es todo!' is like es-050: 'gracias, eso es todo'"
    ]
    assert leaks(told, [("es-051", "Resume el contrato en tres frases")]) == []
