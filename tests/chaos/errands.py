"""The jobs of a run: what people ask, how it is planned, and what must stand in the thread at the end.

Everything follows from the seed and the errand's number: what an undisturbed
run says is worked out here, not remembered. What the models say to it is in `words`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Literal, get_args

from tests.proof_kit import Worker, write_crew

FILE_NAME = "figures.csv"
"""Both files of an errand have this name: they must be told apart all the same."""

Kind = Literal[
    "single",
    "trio",
    "streamed",
    "question",
    "files",
    "cancel",
    "halted",
    "again",
    "write",
    "ladder",
    "revised",
    "nested",
    "disputed",
    "made",
    "costly",
]
"""`halted`: its owner is killed while it streams the answer, and then it is stopped. The last six are what a supervisor
is for.

`ladder`: a result that a check sends back, a brief that is rewritten, a stronger model, and a stand-in. `revised`: a
finding and a failure that each change the plan. `nested`: a crew in a crew in the crew, which contradicts
itself. `disputed`: two parts that contradict each other. `made`: a specialist that exists for this job alone.
`costly`: its budget is used up half-way.
"""
WEIGHTS: dict[Kind, int] = {
    "single": 26,
    "trio": 20,
    "streamed": 10,
    "question": 12,
    "files": 8,
    "cancel": 8,
    "halted": 4,
    "again": 8,
    "write": 8,
    "ladder": 9,
    "revised": 9,
    "nested": 9,
    "disputed": 5,
    "made": 5,
    "costly": 4,
}
HALTED_AT = 2
"""How many errands come before the first that is halted for certain: even a short run has one."""
STREAMED_KINDS = ("streamed", "halted")
"""Whose answers take long to write."""
SUPERVISED_KINDS: tuple[Kind, ...] = ("ladder", "revised", "nested", "disputed", "made", "costly")
_FIGURE = "Works out one figure. Cannot make files."
_FIGURE_OF_OFFICE = Worker("Works out one figure of the office. Cannot make files.", model="fast")
WORKERS: Mapping[str, Worker] = MappingProxyType(
    {
        **dict.fromkeys(("clerk_a", "clerk_b", "clerk_c", "loner"), Worker(_FIGURE, model="fast")),
        "doubter": Worker(_FIGURE),
        "refuser": Worker(_FIGURE, model="fast", more={"fallback": "clerk_b"}),
        "weigher": Worker("Weighs one figure. Cannot make files.", ("weigh",), "fast"),
        "booker": Worker("Enters a record in the book.", ("enter_record",), "fast"),
        "filer_a": Worker("Makes one file with a figure in it.", ("make_file_a",), "fast"),
        "filer_b": Worker("Makes one file with a figure in it.", ("make_file_b",), "fast"),
        **dict.fromkeys(("office/scribe_a", "office/scribe_b"), _FIGURE_OF_OFFICE),
        "office/archive/keeper": Worker("Looks up one figure. Cannot make files.", model="fast"),
    }
)
"""Who does the parts; no two who make files or enter records share a tool."""
INNER_CREWS: Mapping[str, str] = MappingProxyType(
    {
        "office": "Works out figures that take several people. Cannot make files.",
        "office/archive": "Looks up figures of old. Cannot make files.",
    }
)
PEOPLE = ("ana", "ben", "cleo")
CHANNELS = ("#general", "#sales")
CITIES = ("Oslo", "Bergen")

Part = tuple[str, str, list[str]]
"""A subtask of a plan: its name, its specialist, and what it waits for."""
PARTS: Mapping[str, list[Part]] = MappingProxyType(
    {
        "trio": [("a", "clerk_a", []), ("b", "clerk_b", []), ("c", "clerk_c", ["a", "b"])],
        "files": [("a", "filer_a", []), ("b", "filer_b", [])],
        "write": [("a", "booker", [])],
        "streamed": [("a", "clerk_a", []), ("b", "clerk_b", [])],
        "cancel": [("a", "clerk_a", []), ("b", "clerk_b", [])],
        "halted": [("a", "clerk_a", []), ("b", "clerk_b", [])],
        "ladder": [("a", "clerk_a", []), ("b", "doubter", []), ("c", "refuser", [])],
        "revised": [("a", "clerk_a", []), ("b", "clerk_b", ["a"]), ("e", "loner", [])],
        "nested": [("a", "office", []), ("b", "clerk_b", [])],
        "disputed": [("a", "clerk_a", []), ("b", "clerk_b", [])],
        "made": [("a", "odd_clerk", []), ("b", "clerk_b", [])],
        "costly": [("a", "weigher", [])],
    }
)
"""By the kind of errand; one that is not here has one part."""
INSIDE: Mapping[str, list[Part]] = MappingProxyType(
    {
        "a": [("x", "office/scribe_a", []), ("y", "office/scribe_b", []), ("z", "office/archive", [])],
        "z": [("k", "office/archive/keeper", [])],
    }
)
"""What a crew inside the crew plans for that part of a nested errand."""
REPLACEMENTS: Mapping[str, tuple[str, str]] = MappingProxyType({"b": ("d", "clerk_b"), "e": ("f", "clerk_c")})
"""What stands in the place of a part of a revised errand in the end, and who does it."""


@dataclass(frozen=True)
class Errand:
    """One thread. `delay` is how long the person takes, in seconds; `way` how they do it, `choice` what they answer.

    `mark` is a word of the team that it is of: all that is asked, answered, made and entered holds it.
    """

    number: int
    kind: Kind
    person: str
    channel: str
    delay: float
    way: int
    choice: int
    mark: str = ""

    @property
    def label(self) -> str:
        """What tells it from all others, of other teams too."""
        return f"{self.number}{self.mark}"

    @property
    def requests(self) -> tuple[str, ...]:
        """What is asked in the thread, in order."""
        count = 2 if self.kind == "again" else 1
        return tuple(
            f"Errand {self.name(turn)} ({self.kind}): please see to all of it. {self._list_figures(turn)}"
            for turn in range(1, count + 1)
        )

    def name(self, turn: int) -> str:
        """What a request of it (counted from 1) is called."""
        return f"{self.label}.{turn}"

    def _list_figures(self, turn: int) -> str:
        """All figures that may come up, so that each has a source."""
        figures = ", ".join(str(figure(self.name(turn), part)) for part in "abcdefkxyz")
        return f"The list has {figures}, and for churn 4.2 % and 6.1 %."

    @property
    def record(self) -> str:
        """What a booker enters."""
        return f"{self.name(1)}/a"

    def expected(self, turn: int) -> str:
        """The text that the answer to that request (counted from 1) must hold. Spaces are single."""
        name = self.name(turn)
        said = self.sentences(turn)
        if len(said) == 1:
            return said[0]
        return " ".join([f"Errand {name} is done.", *said, *filler(self.kind)])

    def sentences(self, turn: int) -> list[str]:
        """What each part of that request brings in the end."""
        name = self.name(turn)
        parts = [part for part, _, _ in parts_of(self.kind, turn)]
        if self.kind == "revised":
            parts = [REPLACEMENTS[part][0] if part in REPLACEMENTS else part for part in parts]
        return [sentence(name, part, self._value(name, part)) for part in parts]

    @property
    def contradicts_itself(self) -> bool:
        """Whether its answer has to show a contradiction."""
        return self.kind in {"disputed", "nested"}

    def files(self) -> list[bytes]:
        """The contents of the files that must be in the thread, each once."""
        if self.kind != "files":
            return []
        return [file_of(self.name(1), part) for part in ("a", "b")]

    def _value(self, name: str, part: str) -> str:
        if self.kind == "question":
            return CITIES[self.choice]
        if self.kind == "trio" and part == "c":
            return f"{figure(name, 'c')} beside {figure(name, 'a')} and {figure(name, 'b')}"
        if self.kind == "nested" and part == "a":
            return together(str(figure(name, inner)) for inner in ("x", "y", "k"))
        return str(figure(name, part))


def write_errands_crew(folder: Path) -> Path:
    """Write the crew that does the errands, which may have one specialist made, and return its folder."""
    write_crew(folder, WORKERS, INNER_CREWS)
    (folder / "crew.yml").write_text("make: {tools: [weigh], at_most: 1, fallback: clerk_b}\n", encoding="utf-8")
    return folder


def errands(seed: int) -> Sequence[Errand]:
    """An endless list would do; this one is long enough for any run."""
    rng = Random(f"{seed}/errands")
    kinds: list[Kind] = rng.choices(list(get_args(Kind)), [WEIGHTS[kind] for kind in get_args(Kind)], k=20_000)
    kinds[HALTED_AT] = "halted"
    return [
        Errand(
            number,
            kind,
            rng.choice(PEOPLE),
            rng.choice(CHANNELS),
            round(rng.uniform(0.1, 4.0), 2),
            rng.randrange(3),
            rng.randrange(2),
        )
        for number, kind in enumerate(kinds, 1)
    ]


def figure(name: str, part: str) -> int:
    """The figure of a part: anybody can work it out."""
    return zlib.crc32(f"{name}/{part}".encode()) % 100_000


def file_of(name: str, part: str) -> bytes:
    """The content of the file that a part makes."""
    return f"part,figure\n{part} of {name},{figure(name, part)}\n".encode()


def parts_of(kind: str, turn: int) -> list[Part]:
    """The plan of a request."""
    if kind == "again" and turn == 2:
        return PARTS["streamed"]
    return PARTS.get(kind, [("a", "clerk_a", [])])


def sentence(name: str, part: str, value: str) -> str:
    """What a part comes to, in the words of whoever works it out."""
    return f"Part {part} of errand {name} is {value}."


def together(figures: Iterable[str]) -> str:
    """The value of a part that a crew inside the crew works out."""
    return " with ".join(figures)


def filler(kind: str) -> list[str]:
    """What only makes an answer long."""
    return [*(["This line only takes its time."] * 30), "That is all."] if kind in STREAMED_KINDS else []
