"""Free checks on a result: its statements are compared with what its tools said. Pure, and no model is asked.

Each function in `CHECKS` yields remarks that quote what they are about. A `fault` is certain enough to send the work
back; a `doubt` is for a judge to look at. A wrong remark costs more than a missing one, so a check that is not sure
says nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from handoff.contracts import Finding, Result

DOUBTFUL = 60
"""The confidence of a whole result, 0 to 100, below which somebody should look at it."""
MOST = 10
"""The most remarks of one check: more say nothing new."""
QUOTED = 120
"""Characters of a quotation."""
CERTAIN = 0.01
"""The highest probability that a figure looks like a tool's by chance at which that is a fault."""
LIKELY = 0.1
"""The same for a doubt: a figure that is more likely a coincidence is not worth a look."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A result and its origins. `evidence` are the replies of its tools, `sources` are what those read."""

    result: Result
    intent: str = ""
    done_when: str = ""
    evidence: Sequence[str] = ()
    sources: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark of a check, in words for the specialist, with a quotation."""

    kind: Literal["fault", "doubt"]
    text: str


@dataclass(frozen=True, slots=True)
class Looked:
    """The remarks of all checks: no remark at all is an acceptance."""

    faults: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def look(seen: Seen) -> Looked:
    """Run all checks over a result."""
    remarks = [remark for check in CHECKS for remark in islice(check(seen), MOST)]
    return Looked(
        tuple(dict.fromkeys(remark.text for remark in remarks if remark.kind == "fault")),
        tuple(dict.fromkeys(remark.text for remark in remarks if remark.kind == "doubt")),
    )


def quoted(text: str) -> str:
    """Quote a text on one line, cut if it is long."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= QUOTED else line[: QUOTED - 1] + '…'}”"


def _shape(seen: Seen) -> Iterable[Remark]:
    """Check what the contract cannot: that the summary and the findings have words in them."""
    if _is_blank(seen.result.summary):
        yield Remark("fault", f"The summary {quoted(seen.result.summary)} says nothing.")
    for finding in seen.result.findings:
        if _is_blank(finding.message):
            yield Remark("fault", f"The finding {quoted(finding.message)} says nothing.")


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


def _emptiness(seen: Seen) -> Iterable[Remark]:
    content = seen.result.content
    if _is_blank(content) or _NOTHING.fullmatch(content):
        yield Remark("fault", f"The content is {quoted(content)}: nothing was handed in.")
    elif found := _UNFILLED.search(content):
        yield Remark("doubt", f"The text holds {quoted(found[0])}, which looks like a place that was never filled in.")


_ASKS_LINKS = re.compile(r"\b(links?|linked|urls?|verlinkt?)\b", re.IGNORECASE)
_ASKS_SOURCES = re.compile(r"\b((?<!open[ -])sources?|cite[sd]?|citations?|quellen?)\b", re.IGNORECASE)
_NAMES_SOURCE = re.compile(r"https?://\S|(?<![\w-])[\w-]+\.[a-z]{2,12}\b", re.IGNORECASE)
"""An address, or the name of a site or file."""
_SITE = re.compile(r"https?://(?:www\.)?([^/:?#]*)")
_SHORTEST = 4
"""Letters of a part of a site's name by which a text may name the site, as in "according to Reuters"."""


def _source(seen: Seen) -> Iterable[Remark]:
    """Check that a source is named if the criterion asks for one, or if tools read pages."""
    if any(finding.source.strip() for finding in seen.result.findings) or _NAMES_SOURCE.search(seen.result.content):
        return
    links = _ASKS_LINKS.search(seen.done_when)
    if not links and _named(seen.sources) & set(re.findall(r"\w+", seen.result.content.casefold())):
        return
    asked = links or _ASKS_SOURCES.search(seen.done_when)
    read = next((source for source in seen.sources if source.startswith("http")), "")
    if read:
        kind: Literal["fault", "doubt"] = "fault" if asked else "doubt"
        yield Remark(kind, f"The tools read {quoted(read)}, and the result names no source.")
    elif asked:
        yield Remark("doubt", f"The criterion {quoted(seen.done_when)} asks for sources, and the result names none.")


def _named(sources: Sequence[str]) -> set[str]:
    """Return the words by which a text may name the sites of these addresses."""
    sites = [found[1].casefold() for source in sources if (found := _SITE.match(source))]
    return {part for site in sites for part in re.split(r"\W", site) if len(part) >= _SHORTEST}


_FIGURE = re.compile(
    r"\d(?<![\w.,/#-]\d)(?:\d{0,2}(?:[,\u202f\u00a0]\d{3})+(?:\.\d+)?(?!\w|-[A-Za-z])"
    r"|\d*(?:\.\d+)?(?![\w/]|-[A-Za-z]))"
)
"""A figure. This pattern and the next begin with a digit and look behind it, which is five times as fast."""
_DATE = re.compile(
    r"\d(?:(?<!\d\d)(?:\d{3}([./-])\d\d?\1\d\d?|\d?([./-])\d\d?\2(?:\d{4}|\d\d))(?!\d)"
    r"|(?<=\b[12])(?:(?<=1)9|(?<=2)0)\d{6}\b)"
)
_COUNTED = re.compile(r"^\s*\d+[.)]\s", re.MULTILINE)
"""The number of an item in a list."""
_YEARS = range(1800, 2200)
_LONGEST = 30
"""The most digits of a figure; more are noise."""


def _figures(text: str) -> dict[str, str]:
    """Return the figures of three digits and more in a text, except dates: as plain digits, and as they are written."""
    found: dict[str, str] = {}
    for match in _FIGURE.finditer(_DATE.sub(" ", _COUNTED.sub(" ", text))):
        plain = re.sub(r"[^\d.]", "", match[0])
        digits = plain.replace(".", "").strip("0")
        if len(digits) >= 3 and len(plain) <= _LONGEST and not (plain.isdigit() and int(plain) in _YEARS):
            found.setdefault(plain, match[0])
    return found


def _numbers(seen: Seen) -> Iterable[Remark]:
    """Find figures that differ from a tool's by a digit, two swapped digits or a zero, if the tool's is missing."""
    known: dict[str, str] = {}
    for text in seen.evidence:
        known.update(_figures(text))
    given = _figures(f"{seen.result.summary}\n{seen.result.content}")
    strange = given.keys() - known.keys() - _figures(seen.intent).keys()
    if not strange:
        return
    lengths = Counter(len(other) for other in known)
    whole = {_digits(other) for other in known}
    for plain, as_written in given.items():
        if plain not in strange:
            continue
        close = [other for other in _mistaken(plain) if other in known and other not in given]
        if len(close) != 1:
            continue
        chance = _chance(plain, lengths)
        if chance > LIKELY or _is_rounded(plain, whole):
            continue
        certain = chance <= CERTAIN and len(close[0]) == len(plain)
        text = f"A tool said {quoted(known[close[0]])}, and the result says {quoted(as_written)}."
        yield Remark("fault" if certain else "doubt", text)


def _digits(plain: str) -> str:
    """Return the significant digits: without the point, and without zeros at either end."""
    return plain.replace(".", "").strip("0")


def _chance(given: str, lengths: Counter[int]) -> float:
    """Return how many of the tools' figures would look like this one if it had nothing to do with them."""
    count = len(_digits(given))
    alike = sum(lengths[len(given) + more] for more in (-1, 0, 1))
    return alike * 10 * count / (9 * 10.0 ** (count - 1))


def _is_rounded(given: str, tools: Iterable[str]) -> bool:
    """Return True if it is a tool's figure with fewer digits, in any unit.

    For example, 12.3 % is 0.12346 and 4.13 million is 4,126,500. It makes no difference if it was rounded up, rounded
    down or cut off.
    """
    short = _digits(given)
    near = {str(int(short) + more) for more in (-1, 0, 1)}
    return any(len(long) > len(short) and long[: len(short)] in near for long in tools)


def _mistaken(given: str) -> Iterable[str]:
    """Yield the figures that this may be a misquotation of: another digit, two swapped digits, a zero more or less."""
    for place, sign in enumerate(given):
        if sign.isdigit():
            yield from (f"{given[:place]}{digit}{given[place + 1 :]}" for digit in "0123456789" if digit != sign)
        if given[place + 1 : place + 2] not in {"", sign}:
            yield f"{given[:place]}{given[place + 1]}{sign}{given[place + 2 :]}"
    if given.isdigit():
        yield f"{given}0"
        yield from [given[:-1]] if given.endswith("0") else []


def _confidence(seen: Seen) -> Iterable[Remark]:
    if seen.result.confidence < DOUBTFUL:
        yield Remark("doubt", f"Its own confidence is {seen.result.confidence} of 100.")


CHECKS: tuple[Callable[[Seen], Iterable[Remark]], ...] = (_shape, _emptiness, _source, _numbers, _confidence)
"""All checks, the cheapest first."""


_SENTENCE = re.compile(r".+?(?:[.!?]\s+|[\u3002\uff01\uff1f]+|$)")
_OF_IT = 3
"""The factor by which a sentence may be longer than a finding that it contains, and still count as saying it."""


def without_unsure(result: Result, threshold: int) -> tuple[Result, tuple[Finding, ...]]:
    """Return the result without the findings that are less sure than `threshold` (0 to 100), and those findings.

    Sentences of its text that say the same as one of them are removed too. If nothing would be left, the text stays as
    it is, and its gaps say how sure it is.
    """
    unsure = tuple(finding for finding in result.findings if finding.confidence < threshold)
    if not unsure:
        return result, ()
    sure = tuple(finding for finding in result.findings if finding.confidence >= threshold)
    said = {_flat(finding.message): finding for finding in unsure if not _is_blank(finding.message)}
    content, summary = _without(result.content, said), _without(result.summary, said)
    gaps = result.gaps
    if _is_blank(content):
        gaps = (*gaps, *(f"only {one.confidence} % sure: {quoted(one.message)}" for one in said.values()))
    kept = {
        "findings": sure,
        "content": result.content if _is_blank(content) else content,
        "summary": result.summary if _is_blank(summary) else summary,
        "gaps": gaps,
    }
    return result.model_copy(update=kept), unsure


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!?\u3002 ")


def _without(text: str, messages: Iterable[str]) -> str:
    """Return the text without the sentences that say one of these messages."""
    lines = []
    for line in text.splitlines():
        sentences = [found[0] for found in _SENTENCE.finditer(line)]
        kept = [one for one in sentences if not _says(_flat(one), messages)]
        if len(kept) == len(sentences):
            lines.append(line)
        elif not _is_blank("".join(kept)):
            lines.append("".join(kept).rstrip())
    return "\n".join(lines)


def _says(sentence: str, messages: Iterable[str]) -> bool:
    return any(message in sentence and len(sentence) <= _OF_IT * len(message) for message in messages)
