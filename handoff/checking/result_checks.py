"""Checks a result by rules, without a model call: its content, echoes of the task, sources and confidence. Pure.

Each function in `CHECKS` yields remarks that quote the text concerned. A `fault` sends the result back to the
specialist; a `doubt` only appears in the trace. A wrong remark costs more than a missing one, so an unsure check yields
nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from handoff.contracts import Result
from handoff.text.text_words import normalize_words

LOW_CONFIDENCE = 60
"""The confidence of a result, 0 to 100, below which it is in doubt."""
MAX_REMARKS = 10
"""The most remarks of one check."""
MAX_QUOTE_LENGTH = 120
"""The most characters of a quotation in a remark."""
MIN_ECHO_LENGTH = 40
"""The least number of characters of a content that is checked for echoes; a shorter one may be a proper answer."""


RemarkKind = Literal["fault", "doubt"]


@dataclass(frozen=True, slots=True)
class CheckSubject:
    """A result and the texts that it is compared with."""

    result: Result
    known_words: str = ""
    """The words of the brief, of people and of earlier results."""
    done_when: str = ""
    """The acceptance criterion of the subtask."""
    evidence: Sequence[str] = ()
    """The replies of the tools."""
    sources: Sequence[str] = ()
    """The names or addresses of what the tools read."""
    read_earlier_texts: Callable[[], str] = str
    """Returns the earlier requests and answers of the thread as one text. It is called only if a check needs them."""
    tasks: Sequence[str] = ()
    """The request and the brief."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark of a check, worded for the specialist, with a quotation of the text concerned."""

    kind: RemarkKind
    text: str


@dataclass(frozen=True, slots=True)
class CheckRemarks:
    """The remarks of all checks. A result without faults is accepted."""

    faults: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def run_checks(subject: CheckSubject) -> CheckRemarks:
    """Run all checks on a result and return their remarks, each once."""
    checks = (*(check(subject) for check in CHECKS), _check_confidence(subject))
    remarks = [remark for check in checks for remark in islice(check, MAX_REMARKS)]
    return CheckRemarks(
        tuple(dict.fromkeys(remark.text for remark in remarks if remark.kind == "fault")),
        tuple(dict.fromkeys(remark.text for remark in remarks if remark.kind == "doubt")),
    )


def join_result_texts(result: Result) -> str:
    """Return the content, the findings and the summary of a result as one text."""
    return "\n".join([result.content, *(finding.message for finding in result.findings), result.summary])


def quote_line(text: str) -> str:
    """Return a text in quotation marks on one line, cut at `MAX_QUOTE_LENGTH` characters."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= MAX_QUOTE_LENGTH else line[: MAX_QUOTE_LENGTH - 1] + '…'}”"


def _check_blank_texts(subject: CheckSubject) -> Iterable[Remark]:
    """Check that the summary and the findings contain words, since `Result` accepts texts of punctuation alone."""
    if _is_blank(subject.result.summary):
        yield Remark("fault", f"The summary {quote_line(subject.result.summary)} says nothing.")
    for finding in subject.result.findings:
        if _is_blank(finding.message):
            yield Remark("fault", f"The finding {quote_line(finding.message)} says nothing.")


def _is_blank(text: str) -> bool:
    """Return True if a text has no letter, digit or emoji. An emoji alone may be a proper answer."""
    return not any(sign.isalnum() or unicodedata.category(sign) == "So" for sign in text)


_EMPTY_CONTENT = re.compile(
    r"\W*((?-i:TODO)|tbd|n/?a|null|lorem ipsum.*|(please )?see (above|below|summary|content)|"
    r"(the )?(content|result|answer|text) (goes )?here)\W*",
    re.IGNORECASE | re.DOTALL,
)
_PLACEHOLDER = re.compile(
    r"(?i:\[(?:insert|your|todo|tbd|placeholder|fill in)\b[^\]\n]{0,80}\]|\blorem ipsum\b)|\bTODO\b(?!\s+[A-Z]{2})"
)
"""Placeholders in a text. TODO counts only in capitals, as "todo" is a word of other languages."""


_FILE_NAME = re.compile(
    r"[\w-][\w .-]{0,80}\.(?:docx?|pdf|xlsx?|pptx?|csv|tsv|md|txt|png|jpe?g|html?|json)", re.IGNORECASE
)
"""The name of a file of the types that specialists make and read."""


def _check_emptiness(subject: CheckSubject) -> Iterable[Remark]:
    content = subject.result.content
    if _is_blank(content) or _EMPTY_CONTENT.fullmatch(content):
        yield Remark("fault", f"The content is {quote_line(content)}: nothing was handed in.")
    elif _FILE_NAME.fullmatch(name := content.strip("`*_\"' \n.")) and not _is_known_file(name, subject):
        yield Remark(
            "fault", f"The content is {quote_line(content)}: a file's name, and no such file was made or given."
        )
    elif match := _PLACEHOLDER.search(content):
        # A letter may leave the name of its author open.
        kind: RemarkKind = "doubt" if match[0].casefold().startswith("[your") else "fault"
        yield Remark(kind, f"The text holds {quote_line(match[0])}, which looks like a place that was never filled in.")


def _is_known_file(name: str, subject: CheckSubject) -> bool:
    known_texts = (
        subject.known_words,
        subject.read_earlier_texts(),
        *subject.evidence,
        *subject.sources,
        *(one.name for one in subject.result.artifacts),
    )
    return any(name.casefold() in text.casefold() for text in known_texts)


def _check_echo(subject: CheckSubject) -> Iterable[Remark]:
    """Check that the content does not repeat the task: small models return a text to review as it is."""
    content = f" {normalize_words(subject.result.content)} "
    if len(content) < MIN_ECHO_LENGTH or subject.result.findings or subject.result.artifacts:
        return
    tasks = (f" {normalize_words(text)} " for text in subject.tasks)
    if any(content in task and 2 * len(content) > len(task) for task in tasks):
        yield Remark(
            "fault", f"The content {quote_line(subject.result.content)} repeats what was asked, word for word."
        )


_ASKS_LINKS = re.compile(r"\b(links?|linked|urls?|verlinkt?)\b", re.IGNORECASE)
_ASKS_SOURCES = re.compile(r"\b((?<!open[ -])sources?|cite[sd]?|citations?|quellen?)\b", re.IGNORECASE)
_NAMES_SOURCE = re.compile(r"https?://\S|(?<![\w-])[\w-]+\.[a-z]{2,12}\b", re.IGNORECASE)
"""A web address, or the name of a site or file."""
_SITE_ADDRESS = re.compile(r"https?://(?:www\.)?([^/:?#]*)")
_MIN_SITE_WORD_LETTERS = 4
"""The least number of letters of a part of a site's name that can name the site, as in "according to Reuters"."""


def _check_source(subject: CheckSubject) -> Iterable[Remark]:
    """Check that the result names a source if the criterion asks for one, or if tools read web pages."""
    if any(finding.source.strip() for finding in subject.result.findings) or _NAMES_SOURCE.search(
        subject.result.content
    ):
        return
    links = _ASKS_LINKS.search(subject.done_when)
    if not links and _list_site_words(subject.sources) & set(normalize_words(subject.result.content).split()):
        return
    asks_sources = links or _ASKS_SOURCES.search(subject.done_when)
    read_address = next((source for source in subject.sources if source.startswith("http")), "")
    if read_address:
        kind: Literal["fault", "doubt"] = "fault" if asks_sources else "doubt"
        yield Remark(kind, f"The tools read {quote_line(read_address)}, and the result names no source.")
    elif asks_sources:
        yield Remark(
            "fault", f"The criterion {quote_line(subject.done_when)} asks for sources, and the result names none."
        )


def _list_site_words(sources: Sequence[str]) -> set[str]:
    """Return the words by which a text may name the sites of these web addresses."""
    sites = [match[1].casefold() for source in sources if (match := _SITE_ADDRESS.match(source))]
    return {part for site in sites for part in re.split(r"\W", site) if len(part) >= _MIN_SITE_WORD_LETTERS}


def _check_confidence(subject: CheckSubject) -> Iterable[Remark]:
    yield from (Remark("doubt", doubt) for doubt in subject.result.doubts)
    if subject.result.confidence < LOW_CONFIDENCE and not subject.result.doubts:
        yield Remark("doubt", f"Its own confidence is {subject.result.confidence} of 100.")


CHECKS: tuple[Callable[[CheckSubject], Iterable[Remark]], ...] = (
    _check_blank_texts,
    _check_emptiness,
    _check_echo,
    _check_source,
)
"""All checks but `_check_confidence`, which `run_checks` adds."""
