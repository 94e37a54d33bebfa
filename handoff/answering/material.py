"""The text of a result: its content, the findings that it does not mention, and which of them are less sure. Pure."""

from __future__ import annotations

from functools import lru_cache

from handoff.answering.fixed_words import phrase
from handoff.contracts import Finding, Result, Terms
from handoff.text_words import words

HELD = 0.7
"""The share of a finding's words that a text must have to contain it, beside all of its figures."""


NAMED = 5
"""The most less sure findings that are named one by one; the others are counted."""
SHORT = 100
"""Characters of each of them."""


def whole(result: Result) -> str:
    """Return the content as Markdown, with the findings that it does not contain, in any words, listed below it."""
    text = result.content or result.summary
    missing = [one for one in result.findings if not _holds(text, one.message)]
    return "\n".join([text.rstrip(), "", *(line(one) for one in missing)]) if missing else text


def marked(result: Result, terms: Terms, request: str) -> str:
    """Return the whole text with a line on the findings that are less sure than the terms ask for.

    A crew that keeps such findings apart has them counted instead, and those that its text lacks are not listed.
    """
    unsure = [one for one in result.findings if one.confidence < terms.confidence]
    if not unsure:
        return whole(result)
    if terms.unsure == "apart":
        sure = tuple(one for one in result.findings if one.confidence >= terms.confidence)
        text = whole(result.model_copy(update={"findings": sure}))
        return f"{text}\n\n_{phrase('below', request, n=len(unsure), least=terms.confidence)}_"
    named = [f"“{_short(one.message)}” ({one.confidence} %)" for one in unsure[:NAMED]]
    if len(unsure) > NAMED:
        named.append(phrase("more", request, n=len(unsure) - NAMED))
    return f"{whole(result)}\n\n_{phrase('less_sure', request)}: {', '.join(named)}_"


def _short(text: str) -> str:
    flat = " ".join(text.split()).rstrip(".")
    return flat if len(flat) <= SHORT else f"{flat[: SHORT - 1].rstrip()}…"


def line(finding: Finding) -> str:
    """Return a finding as a Markdown bullet with its source."""
    return f"- {finding.message}" + (f" ({finding.source})" if finding.source else "")


@lru_cache(maxsize=512)
def _holds(text: str, message: str) -> bool:
    if " ".join(message.split()).casefold() in " ".join(text.split()).casefold():
        return True
    said, there = words(message), words(text)
    if not said or len(said & there) < HELD * len(said):
        return False
    from handoff.checking.quantities import quantities  # noqa: PLC0415 - only where words alone do not tell

    figures = quantities(text)
    return all(any(one.kind == each.kind and one.agrees(each) for each in figures) for one in quantities(message))
