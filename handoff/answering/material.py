"""The whole text of a result: its content, and the findings that the content does not mention. Pure."""

from __future__ import annotations

from functools import lru_cache

from handoff.checking.claims import words
from handoff.checking.quantities import quantities
from handoff.contracts import Finding, Result

HELD = 0.7
"""The share of a finding's words that a text must have to contain it, beside all of its figures."""


def whole(result: Result) -> str:
    """Return the content as Markdown, with the findings that it does not contain, in any words, listed below it."""
    text = result.content or result.summary
    missing = [one for one in result.findings if not _holds(text, one.message)]
    return "\n".join([text.rstrip(), "", *(line(one) for one in missing)]) if missing else text


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
    figures = quantities(text)
    return all(any(one.kind == each.kind and one.agrees(each) for each in figures) for one in quantities(message))
