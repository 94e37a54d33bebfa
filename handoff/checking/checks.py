"""Free checks on a result: its statements are compared with what its tools said. Pure, and no model is asked.

Each function in `CHECKS` yields remarks that quote what they are about. A `fault` is certain enough to send the work
back, once; a `doubt` is told in the trace. A wrong remark costs more than a missing one, so a check that is not sure
says nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from handoff.contracts import Result
from handoff.text.text_words import words_in_order

DOUBTFUL = 60
"""The confidence of a whole result, 0 to 100, below which somebody should look at it."""
MOST = 10
"""The most remarks of one check: more say nothing new."""
QUOTED = 120
"""Characters of a quotation."""
ECHOED = 40
"""Characters from which on a text that repeats the task is an echo, not an answer that happens to have its words."""


Kind = Literal["fault", "doubt"]


@dataclass(frozen=True, slots=True)
class ResultOrigins:
    """A result and its origins.

    `intent` is all that the brief, people and earlier results say, and `asked` are the request and the brief alone.
    `before` returns what was asked and answered before in the thread, which may be much. `evidence` are the replies of
    its tools, and `sources` are what those read.
    """

    result: Result
    intent: str = ""
    done_when: str = ""
    evidence: Sequence[str] = ()
    sources: Sequence[str] = ()
    before: Callable[[], str] = str
    asked: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark of a check, in words for the specialist, with a quotation."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class CheckRemarks:
    """The remarks of all checks: no remark at all is an acceptance."""

    faults: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def run_checks(seen: ResultOrigins) -> CheckRemarks:
    """Run all checks over a result."""
    checks = (*(check(seen) for check in CHECKS), _check_confidence(seen))
    remarks = [remark for check in checks for remark in islice(check, MOST)]
    return CheckRemarks(
        tuple(dict.fromkeys(remark.text for remark in remarks if remark.kind == "fault")),
        tuple(dict.fromkeys(remark.text for remark in remarks if remark.kind == "doubt")),
    )


def text_of(result: Result) -> str:
    """Return all that a result says, the content first."""
    return "\n".join([result.content, *(finding.message for finding in result.findings), result.summary])


def quote_on_one_line(text: str) -> str:
    """Quote a text on one line, cut if it is long."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= QUOTED else line[: QUOTED - 1] + '…'}”"


def _check_shape(seen: ResultOrigins) -> Iterable[Remark]:
    """Check what the contract cannot: that the summary and the findings have words in them."""
    if _is_blank(seen.result.summary):
        yield Remark("fault", f"The summary {quote_on_one_line(seen.result.summary)} says nothing.")
    for finding in seen.result.findings:
        if _is_blank(finding.message):
            yield Remark("fault", f"The finding {quote_on_one_line(finding.message)} says nothing.")


def _is_blank(text: str) -> bool:
    """Return True if a text has no letter or digit, and no picture either, which may be all that was asked for."""
    return not any(sign.isalnum() or unicodedata.category(sign) == "So" for sign in text)


_NOTHING = re.compile(
    r"\W*((?-i:TODO)|tbd|n/?a|null|lorem ipsum.*|(please )?see (above|below|summary|content)|"
    r"(the )?(content|result|answer|text) (goes )?here)\W*",
    re.IGNORECASE | re.DOTALL,
)
_UNFILLED = re.compile(
    r"(?i:\[(?:insert|your|todo|tbd|placeholder|fill in)\b[^\]\n]{0,80}\]|\blorem ipsum\b)|\bTODO\b(?!\s+[A-Z]{2})"
)
"""Placeholders. TODO counts only in capitals: in small letters it is a word of other languages."""


_FILE = re.compile(r"[\w-][\w .-]{0,80}\.(?:docx?|pdf|xlsx?|pptx?|csv|tsv|md|txt|png|jpe?g|html?|json)", re.IGNORECASE)
"""The name of a file as specialists make and read them."""


def _check_emptiness(seen: ResultOrigins) -> Iterable[Remark]:
    content = seen.result.content
    if _is_blank(content) or _NOTHING.fullmatch(content):
        yield Remark("fault", f"The content is {quote_on_one_line(content)}: nothing was handed in.")
    elif _FILE.fullmatch(name := content.strip("`*_\"' \n.")) and not _is_known_file(name, seen):
        yield Remark(
            "fault", f"The content is {quote_on_one_line(content)}: a file's name, and no such file was made or given."
        )
    elif found := _UNFILLED.search(content):
        # A letter may well leave its writer's name open.
        kind: Kind = "doubt" if found[0].casefold().startswith("[your") else "fault"
        yield Remark(
            kind, f"The text holds {quote_on_one_line(found[0])}, which looks like a place that was never filled in."
        )


def _is_known_file(name: str, seen: ResultOrigins) -> bool:
    given = (seen.intent, seen.before(), *seen.evidence, *seen.sources, *(one.name for one in seen.result.artifacts))
    return any(name.casefold() in text.casefold() for text in given)


def _find_echo(seen: ResultOrigins) -> Iterable[Remark]:
    """Find a content that is the task itself, or most of it: small models give a text to review back as it is."""
    content = f" {words_in_order(seen.result.content)} "
    if len(content) < ECHOED or seen.result.findings or seen.result.artifacts:
        return
    tasks = (f" {words_in_order(text)} " for text in seen.asked)
    if any(content in task and 2 * len(content) > len(task) for task in tasks):
        yield Remark(
            "fault", f"The content {quote_on_one_line(seen.result.content)} repeats what was asked, word for word."
        )


_ASKS_LINKS = re.compile(r"\b(links?|linked|urls?|verlinkt?)\b", re.IGNORECASE)
_ASKS_SOURCES = re.compile(r"\b((?<!open[ -])sources?|cite[sd]?|citations?|quellen?)\b", re.IGNORECASE)
_NAMES_SOURCE = re.compile(r"https?://\S|(?<![\w-])[\w-]+\.[a-z]{2,12}\b", re.IGNORECASE)
"""An address, or the name of a site or file."""
_SITE = re.compile(r"https?://(?:www\.)?([^/:?#]*)")
_SHORTEST = 4
"""Letters of a part of a site's name by which a text may name the site, as in "according to Reuters"."""


def _check_source(seen: ResultOrigins) -> Iterable[Remark]:
    """Check that a source is named if the criterion asks for one, or if tools read pages."""
    if any(finding.source.strip() for finding in seen.result.findings) or _NAMES_SOURCE.search(seen.result.content):
        return
    links = _ASKS_LINKS.search(seen.done_when)
    if not links and _list_site_words(seen.sources) & set(words_in_order(seen.result.content).split()):
        return
    asked = links or _ASKS_SOURCES.search(seen.done_when)
    read = next((source for source in seen.sources if source.startswith("http")), "")
    if read:
        kind: Literal["fault", "doubt"] = "fault" if asked else "doubt"
        yield Remark(kind, f"The tools read {quote_on_one_line(read)}, and the result names no source.")
    elif asked:
        yield Remark(
            "fault", f"The criterion {quote_on_one_line(seen.done_when)} asks for sources, and the result names none."
        )


def _list_site_words(sources: Sequence[str]) -> set[str]:
    """Return the words by which a text may name the sites of these addresses."""
    sites = [found[1].casefold() for source in sources if (found := _SITE.match(source))]
    return {part for site in sites for part in re.split(r"\W", site) if len(part) >= _SHORTEST}


def _check_confidence(seen: ResultOrigins) -> Iterable[Remark]:
    yield from (Remark("doubt", doubt) for doubt in seen.result.doubts)
    if seen.result.confidence < DOUBTFUL and not seen.result.doubts:
        yield Remark("doubt", f"Its own confidence is {seen.result.confidence} of 100.")


CHECKS: tuple[Callable[[ResultOrigins], Iterable[Remark]], ...] = (
    _check_shape,
    _check_emptiness,
    _find_echo,
    _check_source,
)
"""All checks but that of the confidence, which `run_checks` adds."""
