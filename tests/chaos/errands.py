"""The jobs of a run: what people ask, what the models say to it, and what must stand in the thread at the end.

Everything follows from the seed and the errand's number: what an undisturbed
run says is worked out here, not remembered.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

from specialists.dialogue import ToolCall
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of, task_of
from tests.providers.wire import WireRequest

CREW = Path(__file__).parent / "crew"
FILE_NAME = "figures.csv"
"""Both files of an errand have this name: they must be told apart all the same."""

Kind = Literal["single", "trio", "streamed", "question", "files", "cancel", "again", "write"]
WEIGHTS: dict[Kind, int] = {
    "single": 26,
    "trio": 20,
    "streamed": 10,
    "question": 12,
    "files": 8,
    "cancel": 8,
    "again": 8,
    "write": 8,
}
PEOPLE = ("ana", "ben", "cleo")
CHANNELS = ("#general", "#sales")
CITIES = ("Oslo", "Bergen")

_NAMED = re.compile(r"Errand (\d+)\.(\d) \((\w+)\)")
_PART = re.compile(r"part (\w) of it")
_SAID = re.compile(r"Part \w of errand [\d.]+ is [^.]*\.")
_ANSWERED = "Answered by a person: "


@dataclass(frozen=True)
class Errand:
    """One thread. `delay` is how long the person takes, in seconds; `way` how they do it, `choice` what they answer."""

    number: int
    kind: Kind
    person: str
    channel: str
    delay: float
    way: int
    choice: int

    @property
    def requests(self) -> tuple[str, ...]:
        """What is asked in the thread, in order."""
        count = 2 if self.kind == "again" else 1
        return tuple(
            f"Errand {self.number}.{turn} ({self.kind}): please see to all of it." for turn in range(1, count + 1)
        )

    @property
    def record(self) -> str:
        """What a booker enters."""
        return f"{self.number}.1/a"

    def expected(self, turn: int) -> str:
        """The text that the answer to that request (counted from 1) must hold. Spaces are single."""
        name = f"{self.number}.{turn}"
        said = [_sentence(name, part, self._value(name, part)) for part, _, _ in parts_of(self.kind, turn)]
        if len(said) == 1:
            return said[0]
        return " ".join([f"Errand {name} is done.", *said, *_filler(self.kind)])

    def sentences(self, turn: int) -> list[str]:
        """What each part of that request brings."""
        name = f"{self.number}.{turn}"
        return [_sentence(name, part, self._value(name, part)) for part, _, _ in parts_of(self.kind, turn)]

    def files(self) -> list[bytes]:
        """The contents of the files that must be in the thread, each once."""
        if self.kind != "files":
            return []
        return [file_of(f"{self.number}.1", part) for part in ("a", "b")]

    def _value(self, name: str, part: str) -> str:
        if self.kind == "question":
            return CITIES[self.choice]
        if part == "c":
            return f"{figure(name, 'c')} beside {figure(name, 'a')} and {figure(name, 'b')}"
        return str(figure(name, part))


def errands(seed: int) -> Sequence[Errand]:
    """An endless list would do; this one is long enough for any run."""
    rng = Random(f"{seed}/errands")
    kinds = rng.choices(list(get_args(Kind)), [WEIGHTS[kind] for kind in get_args(Kind)], k=20_000)
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


def parts_of(kind: str, turn: int) -> list[tuple[str, str, list[str]]]:
    """The plan of a request: name, specialist and dependencies of each part."""
    if kind == "trio":
        return [("a", "clerk_a", []), ("b", "clerk_b", []), ("c", "clerk_c", ["a", "b"])]
    if kind == "files":
        return [("a", "filer_a", []), ("b", "filer_b", [])]
    if kind == "write":
        return [("a", "booker", [])]
    if kind in {"streamed", "cancel"} or (kind == "again" and turn == 2):
        return [("a", "clerk_a", []), ("b", "clerk_b", [])]
    return [("a", "clerk_a", [])]


def _sentence(name: str, part: str, value: str) -> str:
    return f"Part {part} of errand {name} is {value}."


def _filler(kind: str) -> list[str]:
    return [*(["This line only takes its time."] * 30), "That is all."] if kind == "streamed" else []


# ------------------------------------------------------------------------------ what the models say


@dataclass(frozen=True)
class Asked:
    """Who asks a model for what. `part` is empty but for a specialist's call."""

    name: str
    kind: str
    purpose: str
    part: str

    @property
    def turn(self) -> int:
        """Which request of its thread it is, from 1."""
        return int(self.name.partition(".")[2])


def asked(request: WireRequest) -> Asked | None:
    """What a call is about, or None for one that belongs to no errand."""
    purpose = purpose_of(request)
    text = task_of(request) if purpose.startswith("specialist") else first_text(request)
    found = _NAMED.search(text)
    if found is None:
        return None
    part = _PART.search(text)
    return Asked(
        f"{found[1]}.{found[2]}", found[3], purpose, part[1] if part and purpose.startswith("specialist") else ""
    )


def say(request: WireRequest) -> Reply:
    """What the models say. They keep nothing: a call that is made again gets the same reply."""
    about = asked(request)
    if about is None:
        return Reply("ready")
    if about.purpose == "planner":
        return Reply(json.dumps(_plan(about)))
    if about.purpose == "synthesizer":
        said = dict.fromkeys(_SAID.findall(first_text(request)))
        text = " ".join([f"Errand {about.name} is done.", *said, *_filler(about.kind)])
        return Reply(text, pause=0.06) if about.kind == "streamed" else Reply(text)
    return _work(about, request)


def _plan(about: Asked) -> dict[str, Any]:
    subtasks = [
        {
            "id": part,
            "title": f"Part {part}",
            "intent": f"Errand {about.name} ({about.kind}): work out part {part} of it and say its figure.",
            "specialist": specialist,
            "after": after,
            "done_when": "The figure is said.",
            "tier": None,
        }
        for part, specialist, after in parts_of(about.kind, about.turn)
    ]
    return {"goal": f"Errand {about.name}", "subtasks": subtasks, "strategy": "merge", "instruction": ""}


def _work(about: Asked, request: WireRequest) -> Reply:
    brief = first_text(request)
    replies = [reply for message in request.messages for reply in message.replies]
    if about.kind == "question":
        if _ANSWERED not in brief:
            arguments = {"reason": "ambiguous_input", "message": "Which city is it?", "options": list(CITIES)}
            return _call("escalate", about, arguments)
        return _result(about, brief.rpartition(_ANSWERED)[2].split("\n")[0].strip())
    if about.kind == "files" and not replies:
        return _call(
            f"make_file_{about.part}", about, {"name": FILE_NAME, "text": file_of(about.name, about.part).decode()}
        )
    if about.kind == "write" and not replies:
        return _call("enter_record", about, {"record": f"{about.name}/{about.part}"})
    if about.part == "c":
        earlier = [re.findall(rf"Part {part} of errand {about.name} is (\d+)\.", brief) for part in ("a", "b")]
        return _result(
            about, f"{figure(about.name, 'c')} beside {' and '.join((each or ['nothing'])[0] for each in earlier)}"
        )
    return _result(about, str(figure(about.name, about.part)))


def _result(about: Asked, value: str) -> Reply:
    text = _sentence(about.name, about.part, value)
    return _call("return_result", about, {"summary": text, "content": text, "confidence": 90})


def _call(tool: str, about: Asked, arguments: dict[str, Any]) -> Reply:
    call = ToolCall(id=f"{tool}_{about.name}_{about.part}", name=tool, arguments=arguments)
    return Reply(calls=(call,), stop="tool_use")
