"""The web addresses that a job knows word for word, from anybody but a model: only these are links for people.

A model could put what it knows into an address, and whoever clicks would carry it out. So an address counts only as it
was given: by a person, a search, a page or material.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from handoff.answering.code_places import line_links
from handoff.briefs.provenance import list_people_words
from handoff.contracts import Material, Result
from handoff.state.derived_values import cache_on_value
from handoff.state.job_state import Job, RequestState

APP = " (app)"
"""The end of the name of an author that is no person: a model may write for it, as one does for this bot."""
_TOKEN = re.compile(r"https?://(?:(?![<>`|\[\]\"\\])[!-~])+", re.IGNORECASE)
_AFTER = ".,;:!?*_'\")}~"
"""Characters that may follow an address in a sentence, and may be part of one."""


@cache_on_value
def known_addresses(job: Job, ask: RequestState) -> frozenset[str]:
    """Return the addresses that people wrote up to a request, and those that tools gave for results and for deeds.

    Those of the messages with which people had something remembered are known too: an answer cites them.
    """
    return frozenset().union(*map(_find_known_addresses, job.asks[: (job.find_request_index(ask.id) or 0) + 1]))


@cache_on_value
def _find_known_addresses(ask: RequestState) -> frozenset[str]:
    """Return the addresses that people wrote in one request, and that tools gave for it."""
    results = [work.result for work in ask.work.values() if work.result is not None]
    remembered = (part.name for one in ask.materials if one.kind == "memory" for part in one.outline)
    known = set(line_links((one for result in results for one in result.findings), ask.materials))
    known.update(*(addresses_in(text) for text in (*list_people_words(ask), *remembered)))
    deeds = (one for work in ask.work.values() for one in work.own_writes)
    known.update(one.address for one in deeds if one.address)
    return frozenset(known.union(*(result.addresses for result in results)))


def filter_cited_addresses(result: Result, given: Iterable[str]) -> tuple[str, ...]:
    """Return those of the given addresses that a result holds, in order."""
    return tuple(sorted(addresses_cited(result) & set(given)))


def addresses_cited(result: Result) -> set[str]:
    """Find the addresses in all that a result says."""
    findings = (text for one in result.findings for text in (one.message, one.where, one.suggestion, one.source))
    return addresses_in("\n".join((result.summary, result.content, *findings)))


def find_given_addresses(material: Material, text: str) -> set[str]:
    """Find the addresses in the text of a material, without what models and apps wrote.

    A thread whose messages are no longer told apart gives none.
    """
    if material.origin == "model" or material.author.endswith(APP):
        return set()
    if material.kind != "thread":
        return addresses_in(text)
    ends = (*(one.start for one in material.outline[1:]), len(text))
    parts = zip(material.outline, ends, strict=True) if material.outline else ()
    return {found for one, end in parts if not one.name.endswith(APP) for found in addresses_in(text[one.start : end])}


def addresses_in(text: str) -> set[str]:
    """Find the addresses with a scheme in a text, without what ends the sentence or the bracket around them."""
    found: set[str] = set()
    for match in _TOKEN.finditer(text):
        following = text[match.end() : match.end() + 1]
        if following.lower() == following.upper():  # else it goes on with letters beyond ASCII
            found.update(_strip_trailing_signs(part) for part in _split_at_bracket(match.group()))
    return found


def iterate_address_candidates(token: str) -> Iterator[str]:
    """Yield the beginnings of a word that may be an address, the longest first."""
    for part in _split_at_bracket(token):
        yield part
        for end in range(len(part) - 1, 0, -1):
            if part[end] not in _AFTER:
                break
            yield part[:end]


def _split_at_bracket(token: str) -> tuple[str, ...]:
    """Return a word, and its part before the bracket that closes none of its own."""
    depth = 0
    for place, character in enumerate(token):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return token, token[:place]
    return (token,)


def _strip_trailing_signs(token: str) -> str:
    """Drop what ends a sentence, and brackets that close none of the address's own."""
    while token and token[-1] in _AFTER and not (token[-1] == ")" and token.count(")") <= token.count("(")):
        token = token[:-1]
    return token
