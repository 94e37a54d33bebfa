"""Parses the prompts that the rehearsal model gets: sections under headings, files, arithmetic. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from bot.models.rehearsal.word_lists import FILLERS, read_word_list, split_words
from handoff.contracts import ToolCall, ToolReply
from specialists.model import ModelCall

TABLE_ENDINGS = {
    ".csv",
    ".tsv",
    ".tab",
    ".xlsx",
    ".xlsm",
    ".xls",
    ".ods",
    ".parquet",
    ".pq",
    ".json",
    ".jsonl",
    ".ndjson",
}
FULL_ANSWER_PREFIX = "Answer this request in full sentences:"
"""Words that the planner puts before a request of three words or fewer."""
FOLLOW_UP_PREFIX = "It goes on from:"
"""The words before each earlier request that a follow-up continues."""
NO_MODEL_MESSAGE = "I run without a language model: `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` gives me one."
SUGGESTION_PREFIX = "You can ask"
"""The first words of the sentence in a refusal that names questions which rules can answer."""
METHOD_PREFIX = "Worked out with SQL from"
"""The first words of the analyst's line about its method."""
UNAVAILABLE_PREFIX = "(not available:"
"""The first words of the note of a step that brought no result."""

_ARITHMETIC_PATTERN = re.compile(
    r"(?<![\w.-])(?!\d{4}-\d\d-\d\d)\(*-?\d[\d.]*(?:\s*\)*\s*[-+*/\u00d7\u00f7]\s*\(*\s*-?\d[\d.]*\)*)+(?![\w-])"
)
"""Plain arithmetic, such as `17 * 23`."""
_PERCENTAGE_PATTERN = re.compile(
    r"(?P<part>\d[\d.,]*)\s*(?:%|percent|prozent|por ciento)\s+(?:of|von|de)\s+(?P<whole>\d[\d.,]*\d|\d)", re.IGNORECASE
)
_ARITHMETIC_FILLERS = FILLERS | read_word_list("around_sum")
_GREETING = re.compile(
    r"(\W*(hi|hello|hey|hallo|hola|moin|servus|good (morning|afternoon|evening)|guten (tag|morgen|abend)|help|"
    r"what (can|do) you do|who are you|how does this work|was kannst du))+"
    r"(\W+(there|all|everyone|team|bot|leadhand|zusammen|for me|here|me|please|can you help( me)?))*\W*",
    re.IGNORECASE,
)
_ANSWER_PREFIX = "Answered by a person:"
_FAILURE_HEADING = "An earlier attempt failed"
_FILE_LINE = re.compile(r"^- (?P<name>.+) \((?P<type>[^()]*), [\d,]+ bytes(?:, for [^()]+)?\)(?: — .*)?$")


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as a brief lists it."""

    name: str
    media_type: str

    @property
    def is_table(self) -> bool:
        """True if the file may be a table, by the ending of its name."""
        return PurePath(self.name).suffix.lower() in TABLE_ENDINGS

    def is_named_in(self, text: str) -> bool:
        """Return True if a text names the file, with its ending or without."""
        names = filter(None, (self.name, PurePath(self.name).stem))
        return any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text, re.IGNORECASE) for each in names)


@dataclass(frozen=True, slots=True)
class Brief:
    """A specialist's first message, parsed.

    Attributes:
        task: The section of the task.
        notes: Results of earlier steps, as pairs of (source, text).
        answers: Answers of people to the specialist's questions.
        files: The listed files.
        source_texts: Source material, as pairs of (source, text).
        failure_reason: Why an earlier attempt failed; "" if none did. A fallback without rules repeats it.
    """

    task: str
    notes: tuple[tuple[str, str], ...] = ()
    answers: tuple[str, ...] = ()
    files: tuple[ListedFile, ...] = ()
    source_texts: tuple[tuple[str, str], ...] = ()
    failure_reason: str = ""

    @property
    def objective(self) -> str:
        """The task without the earlier requests that it continues."""
        return self.task.partition(FOLLOW_UP_PREFIX)[0].strip().removeprefix(FULL_ANSWER_PREFIX).strip() or self.task

    @property
    def earlier_requests(self) -> tuple[str, ...]:
        """The earlier requests that a follow-up continues, oldest first."""
        return tuple(line.strip() for line in self.task.split(FOLLOW_UP_PREFIX)[1:])


def render_decline(reason: str, suggestions: Sequence[str]) -> str:
    """Return the text that declines a request: the reason, and `suggestions`, questions that rules can answer."""
    suggestion_text = " or ".join(f"“{one}”" for one in suggestions)
    return " ".join([reason, NO_MODEL_MESSAGE, *([f"{SUGGESTION_PREFIX} {suggestion_text}."] if suggestions else [])])


def is_greeting(text: str) -> bool:
    """Return True if a text is only a greeting, or only asks what can be asked."""
    return _GREETING.fullmatch(text) is not None


def read_sections(text: str, headings: Sequence[str]) -> dict[str, str]:
    """Return the text under each of these headings that occurs. If a heading occurs twice, the first counts."""
    heading_matches = (
        (heading, re.search(rf"^# {re.escape(heading)}[ \t]*$", text, re.MULTILINE)) for heading in headings
    )
    starts = sorted((match.start(), match.end(), heading) for heading, match in heading_matches if match)
    bounds = [*starts, (len(text), len(text), "")]
    return {heading: text[end:following].strip() for (_, end, heading), (following, *_) in pairwise(bounds)}


def split_subsections(text: str) -> tuple[tuple[str, str], ...]:
    """Split a section into (name, text) parts, each with its headings at their original levels."""
    parts = (chunk.partition("\n") for chunk in re.split(r"^## ", text, flags=re.MULTILINE)[1:])
    return tuple((name.strip(), raise_headings(body)) for name, _, body in parts)


def raise_headings(text: str) -> str:
    """Return a text with its headings raised by two levels, since a message lowers them by two."""
    return re.sub(r"^##(?=#+ )", "", text.strip(), flags=re.MULTILINE)


def read_brief(text: str) -> Brief:
    """Parse a specialist's first message. Fields whose section is missing are empty."""
    parts = read_sections(text, ("Task", "Done when", "From earlier steps", "Source material", "Files"))
    notes = split_subsections(parts.get("From earlier steps", ""))
    return Brief(
        task=parts.get("Task", "") or text.strip(),
        notes=tuple(one for one in notes if _ANSWER_PREFIX not in one[1] and one[0] != _FAILURE_HEADING),
        answers=tuple(body.partition(_ANSWER_PREFIX)[2].strip() for _, body in notes if _ANSWER_PREFIX in body),
        files=read_files(parts.get("Files", "")),
        source_texts=split_subsections(parts.get("Source material", "")),
        failure_reason=dict(notes).get(_FAILURE_HEADING, ""),
    )


def read_files(text: str) -> tuple[ListedFile, ...]:
    """Return the files in a brief's list of files."""
    line_matches = (_FILE_LINE.match(line.strip()) for line in text.splitlines())
    return tuple(ListedFile(line["name"], line["type"]) for line in line_matches if line is not None)


def read_history(call: ModelCall) -> list[tuple[ToolCall, ToolReply]]:
    """List every tool call so far with its reply, in order."""
    replies = {reply.call_id: reply for message in call.messages for reply in message.replies}
    calls = [each for message in call.messages for each in message.calls]
    return [(each, replies[each.id]) for each in calls if each.id in replies]


def find_arithmetic(text: str) -> tuple[str, str] | None:
    """Return the arithmetic of a text as a pair of (text, code); None if the text has none, or has other words too."""
    ungrouped_text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    match = _PERCENTAGE_PATTERN.search(ungrouped_text) or _ARITHMETIC_PATTERN.search(ungrouped_text)
    if (
        match is None
        or {*split_words(f"{ungrouped_text[: match.start()]} {ungrouped_text[match.end() :]}")} - _ARITHMETIC_FILLERS
    ):
        return None
    expression = " ".join(match[0].split())
    if match.re is _PERCENTAGE_PATTERN:
        return expression, f"{match['part'].replace(',', '.')} / 100 * {match['whole'].replace(',', '.')}"
    return expression, match[0].replace("\u00d7", "*").replace("\u00f7", "/")


def limit_words(text: str, word_limit: int) -> str:
    """Return the first `word_limit` words of a text on one line, with an ellipsis if words are cut off."""
    parts = text.split()
    return " ".join(parts[:word_limit]) + ("…" if len(parts) > word_limit else "")
