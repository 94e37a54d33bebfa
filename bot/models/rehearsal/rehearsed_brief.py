"""Reads the prompts that the rehearsal model gets: sections under headings, files, words. Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from bot.models.rehearsal.rehearsed_words import FILLERS, word_set
from handoff.contracts import ToolCall, ToolReply
from handoff.materials.at_hand import MESSAGE
from specialists.model import ModelCall

TABLES = {".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".xls", ".ods", ".parquet", ".pq", ".json", ".jsonl", ".ndjson"}
EARLIER_ANSWER = "The earlier answer in this thread:"
"""The line under which the planner hands an earlier answer on to a specialist."""

IN_FULL = "Answer this request in full sentences:"
"""Words that the planner puts before a request that is too short to be a task."""

_SUM = re.compile(
    r"(?<![\w.-])(?!\d{4}-\d\d-\d\d)\(*-?\d[\d.]*(?:\s*\)*\s*[-+*/\u00d7\u00f7]\s*\(*\s*-?\d[\d.]*\)*)+(?![\w-])"
)
"""Plain arithmetic, such as `17 * 23`."""

_SUM_WORDS = FILLERS | word_set("calculate compute work out add up sum result equals berechne rechne ergibt calcula")
_SHARE_OF = re.compile(
    r"(?P<part>\d[\d.,]*)\s*(?:%|percent|prozent|por ciento)\s+(?:of|von|de)\s+(?P<whole>\d[\d.,]*\d|\d)", re.IGNORECASE
)

GOES_ON = "It goes on from:"
"""The line before each earlier request that a follow-up goes on from."""

WORKED_OUT = "Worked out with SQL from"
"""How the analyst's line on its method begins."""

UNAVAILABLE = "(not available:"
"""How the note of a step that brought no result begins."""

_ANSWERED = "Answered by a person:"
_FAILED = "An earlier attempt failed"
_FILE = re.compile(
    r"^- (?P<name>.+) \((?P<type>[^()]*), (?P<size>[\d,]+) bytes(?:, for [^()]+)?\)(?: — (?P<about>.*))?$"
)


@dataclass(frozen=True, slots=True)
class File:
    """A file as a brief lists it. `size` is in bytes."""

    name: str
    media_type: str
    size: int

    @property
    def is_table(self) -> bool:
        """True if it may be a table, by its name."""
        return PurePath(self.name).suffix.lower() in TABLES

    @property
    def is_image(self) -> bool:
        """True if it is a picture, such as a chart."""
        return self.media_type.startswith("image/")

    def is_named_in(self, text: str) -> bool:
        """Return True if a text names the file, with its ending or without."""
        stem = PurePath(self.name).stem
        return any(
            re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text, re.IGNORECASE) for each in (self.name, stem) if each
        )


@dataclass(frozen=True, slots=True)
class Brief:
    """A specialist's first message.

    `notes` are (source, text) of earlier steps, `given` those of material; `answers` are people's.
    """

    task: str
    notes: tuple[tuple[str, str], ...]
    answers: tuple[str, ...]
    files: tuple[File, ...]
    given: tuple[tuple[str, str], ...] = ()

    @property
    def message(self) -> str:
        """What the message says that the request was made from; empty if it was made from none."""
        return next((words_of_message(text) for name, text in self.given if name.partition(" (")[0] == MESSAGE), "")

    @property
    def objective(self) -> str:
        """The task without what is only there for context."""
        return self.task.partition(EARLIER_ANSWER)[0].strip().removeprefix(IN_FULL).strip() or self.task

    @property
    def own_words(self) -> str:
        """The objective without the requests that it goes on from."""
        return self.objective.partition(GOES_ON)[0].strip()

    @property
    def before(self) -> tuple[str, ...]:
        """The requests that a follow-up goes on from, oldest first."""
        return tuple(line.strip() for line in self.objective.split(GOES_ON)[1:])

    @property
    def earlier_answer(self) -> str:
        """The earlier answer in the thread that the task is about."""
        return self.task.partition(EARLIER_ANSWER)[2].strip()


def sections(text: str, headings: tuple[str, ...]) -> dict[str, str]:
    """Return the text under each heading that occurs; only the first of equal headings counts."""
    starts: list[tuple[int, int, str]] = []
    for heading in headings:
        found = re.search(rf"^# {re.escape(heading)}[ \t]*$", text, re.MULTILINE)
        if found:
            starts.append((found.start(), found.end(), heading))
    starts.sort()
    bounds = [*starts, (len(text), len(text), "")]
    return {heading: text[end:following].strip() for (_, end, heading), (following, *_) in pairwise(bounds)}


def read_brief(text: str) -> Brief:
    """The parts of a specialist's first message; whatever is missing is empty."""
    parts = sections(text, ("Task", "Done when", "From earlier steps", "Source material", "Files"))
    notes: list[tuple[str, str]] = []
    answers: list[str] = []
    for chunk in re.split(r"^## ", parts.get("From earlier steps", ""), flags=re.MULTILINE)[1:]:
        source, _, body = chunk.partition("\n")
        if _ANSWERED in body:
            answers.append(body.partition(_ANSWERED)[2].strip())
        elif source.strip() != _FAILED:
            notes.append((source.strip(), body.strip()))
    return Brief(
        task=parts.get("Task", "") or text.strip(),
        notes=tuple(notes),
        answers=tuple(answers),
        files=read_files(parts.get("Files", "")),
        given=material_in(parts.get("Source material", "")),
    )


def words_of_message(text: str) -> str:
    """The words of the one message in a text of what was said: without what stands above them, time and author."""
    lines = (line.strip() for line in text.partition("\n")[2].splitlines())
    return re.sub(r"^\[[^\]]*\] [^:]*: ", "", "\n".join(lines))


def material_in(text: str) -> tuple[tuple[str, str], ...]:
    """The texts of material, by name, with their own headings at the levels that they had."""
    chunks = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    parts = (chunk.partition("\n") for chunk in chunks)
    return tuple((name.strip(), re.sub(r"^##(?=#+ )", "", body.strip(), flags=re.MULTILINE)) for name, _, body in parts)


def read_files(text: str) -> tuple[File, ...]:
    """The files of a list in a brief."""
    found = (_FILE.match(line.strip()) for line in text.splitlines())
    return tuple(
        File(line["name"], line["type"], int(line["size"].replace(",", ""))) for line in found if line is not None
    )


def tool_history(call: ModelCall) -> list[tuple[ToolCall, ToolReply]]:
    """List every tool call so far with its reply, in order."""
    replies = {reply.call_id: reply for message in call.messages for reply in message.replies}
    calls = [each for message in call.messages for each in message.calls]
    return [(each, replies[each.id]) for each in calls if each.id in replies]


def sum_in(text: str) -> tuple[str, str] | None:
    """Return the plain arithmetic of a text, as it stands and as code; None if there is none, or if more is said."""
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    found = _SHARE_OF.search(plain) or _SUM.search(plain)
    if found is None or set(words(plain[: found.start()] + " " + plain[found.end() :])) - _SUM_WORDS:
        return None
    said = " ".join(found[0].split())
    if found.re is _SHARE_OF:
        return said, f"{found['part'].replace(',', '.')} / 100 * {found['whole'].replace(',', '.')}"
    return said, found[0].replace("\u00d7", "*").replace("\u00f7", "/")


def words(text: str) -> list[str]:
    """Split a text into words in lower case, camel case and underscores taken apart."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return re.findall(r"[^\W_]+", apart.casefold())


def sentences(text: str) -> list[str]:
    """Split a text into sentences; headings, tables, code and list signs are left out."""
    plain = re.sub(r"^```.*?^```[ \t]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line.strip().lstrip("-*• ").strip() for line in plain.splitlines()]
    prose = [line for line in lines if line and not line.startswith(("#", "|", ">", "```", "!["))]
    return [part.strip() for line in prose for part in re.split(r"(?<=[.!?])\s+(?=[^\Wa-z_])", line) if part.strip()]


def shortened(text: str, most: int) -> str:
    """Cut a text to so many words, on one line."""
    parts = text.split()
    return " ".join(parts[:most]) + ("…" if len(parts) > most else "")
