"""Finds the web addresses that a job knows word for word from a source other than a model. Only these become links.

A model could encode private content in an address, and a click would send that content out. So an address is known only
if a person, a search, a page or material gave exactly this address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from handoff.answering.code_places import yield_line_links
from handoff.briefs.provenance import list_people_words
from handoff.contracts import Material, Result
from handoff.state.job_state import Job, RequestState
from handoff.state.value_cache import cache_on_value

APP_SUFFIX = " (app)"
"""The suffix of an author's name if the author is an app. A model may write an app's messages, as with this bot."""
_ADDRESS = re.compile(r"https?://(?:(?![<>`|\[\]\"\\])[!-~])+", re.IGNORECASE)
_TRAILING_SIGNS = ".,;:!?*_'\")}~"
"""Characters that may be part of an address, or belong to the sentence after it."""


@cache_on_value
def list_known_addresses(job: Job, request: RequestState) -> frozenset[str]:
    """Return the web addresses that a job knows up to `request`.

    They come from people's words, from tool results and writes, from lines of diffs, and from messages behind memories.
    """
    return frozenset().union(*map(_find_known_addresses, job.requests[: (job.find_request_index(request.id) or 0) + 1]))


@cache_on_value
def _find_known_addresses(request: RequestState) -> frozenset[str]:
    """Return the web addresses that one request knows by itself."""
    results = [subtask.result for subtask in request.subtasks.values() if subtask.result is not None]
    memory_texts = (part.name for one in request.materials if one.kind == "memory" for part in one.outline)
    known_addresses = set(yield_line_links((one for result in results for one in result.findings), request.materials))
    known_addresses.update(*(find_addresses(text) for text in (*list_people_words(request), *memory_texts)))
    deeds = (one for subtask in request.subtasks.values() for one in subtask.all_writes)
    known_addresses.update(one.address for one in deeds if one.address)
    return frozenset(known_addresses.union(*(result.addresses for result in results)))


def filter_cited_addresses(result: Result, addresses: Iterable[str]) -> tuple[str, ...]:
    """Return the members of `addresses` that a result contains, sorted."""
    return tuple(sorted(find_cited_addresses(result) & set(addresses)))


def find_cited_addresses(result: Result) -> set[str]:
    """Return the web addresses in the texts and findings of a result."""
    findings = (text for one in result.findings for text in (one.message, one.where, one.suggestion, one.source))
    return find_addresses("\n".join((result.summary, result.content, *findings)))


def find_addresses_from_people(material: Material, text: str) -> set[str]:
    """Return the web addresses in the text of a material that no model or app wrote.

    A thread without an outline gives none, since its authors are unknown.
    """
    if material.origin == "model" or material.author.endswith(APP_SUFFIX):
        return set()
    if material.kind != "thread":
        return find_addresses(text)
    ends = (*(one.start for one in material.outline[1:]), len(text))
    parts = zip(material.outline, ends, strict=True) if material.outline else ()
    return {
        address
        for one, end in parts
        if not one.name.endswith(APP_SUFFIX)
        for address in find_addresses(text[one.start : end])
    }


def find_addresses(text: str) -> set[str]:
    """Return the web addresses with a scheme in a text, without the punctuation or bracket that follows them."""
    addresses: set[str] = set()
    for match in _ADDRESS.finditer(text):
        following = text[match.end() : match.end() + 1]
        if following.lower() == following.upper():  # otherwise the address goes on with non-ASCII letters
            addresses.update(_strip_trailing_signs(part) for part in _split_at_bracket(match.group()))
    return addresses


def yield_address_candidates(token: str) -> Iterator[str]:
    """Yield a word, then shorter beginnings without trailing punctuation: one of them may be a web address."""
    for part in _split_at_bracket(token):
        yield part
        for end in range(len(part) - 1, 0, -1):
            if part[end] not in _TRAILING_SIGNS:
                break
            yield part[:end]


def _split_at_bracket(token: str) -> tuple[str, ...]:
    """Return a word and, if it has an unmatched closing bracket, also its part before that bracket."""
    depth = 0
    for place, character in enumerate(token):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return token, token[:place]
    return (token,)


def _strip_trailing_signs(token: str) -> str:
    """Return an address without trailing punctuation and unmatched closing brackets."""
    while token and token[-1] in _TRAILING_SIGNS and not (token[-1] == ")" and token.count(")") <= token.count("(")):
        token = token[:-1]
    return token
