"""Searches the web, without a key by default, or through one of two services with a key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from specialists.tools.blocking import run_in_thread
from specialists.tools.extras import describe_unavailable_tool
from specialists.tools.tool import OutgoingData

if TYPE_CHECKING:
    import aiohttp

Provider = Literal["ddgs", "brave", "tavily"]

BASE_URLS: Mapping[str, str] = {
    "brave": "https://api.search.brave.com/res/v1",
    "tavily": "https://api.tavily.com",
}
_BRAVE_PATH, _TAVILY_PATH = "/web/search", "/search"
_ENGINES_DESCRIPTION = (
    "public search engines (ddgs chooses them: Bing, Brave, DuckDuckGo, Google, Yahoo, Yandex and others)"
)
_LARGEST_ANSWER_BYTES = 2_000_000
_MAX_SNIPPET_CHARS = 500
_UNAUTHORIZED_STATUSES = (401, 403)
_QUOTA_STATUSES = (402, 429, 432, 433)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of the search service. `timeout` in seconds; `base_url` replaces the service's own address."""

    provider: Provider = "ddgs"
    api_key: str = field(default="", repr=False)
    base_url: str = ""
    timeout: float = 15.0


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A search result, as plain text."""

    title: str
    url: str
    snippet: str


class SearchFailed(Exception):
    """A search failed, or its answer cannot be read. The message says what to do."""


def describe_sent_data(query: str, count: int, settings: SearchSettings) -> OutgoingData:
    """Return the data that a search sends out, and to whom. ddgs queries several engines, each in its own way."""
    if settings.provider == "ddgs":
        return OutgoingData(_ENGINES_DESCRIPTION, f"q={quote(query)}", query)
    url, name = _choose_base_url(settings), urlsplit(_choose_base_url(settings)).netloc
    if settings.provider == "brave":
        return OutgoingData(name, f"GET {url}{_BRAVE_PATH}?{urlencode(_make_brave_parameters(query, count))}", query)
    return OutgoingData(name, f"POST {url}{_TAVILY_PATH} {json.dumps(_make_tavily_parameters(query, count))}", query)


async def search_web(query: str, count: int, settings: SearchSettings) -> list[SearchHit]:
    """Search the web.

    Args:
        query: What to look for.
        count: How many hits at most.
        settings: The service to query, and its key.

    Returns:
        The hits, best first; [] if there are none.

    Raises:
        SearchFailed: The service gave no answer, or one that cannot be used.
    """
    if settings.provider == "ddgs":
        rows = await _search_ddgs(query, count, settings)
        hits = [_make_hit(row, "href", "body") for row in rows]
    elif not settings.api_key:
        raise SearchFailed(f"Web search through {settings.provider} needs a key, and none is set.")
    elif settings.provider == "brave":
        hits = [_make_hit(row, "url", "description") for row in await _search_brave(query, count, settings)]
    else:
        hits = [_make_hit(row, "url", "content") for row in await _search_tavily(query, count, settings)]
    return [hit for hit in hits if hit.url.startswith(("http://", "https://"))][:count]


async def _search_ddgs(query: str, count: int, settings: SearchSettings) -> list[Any]:
    problem = describe_unavailable_tool("web", "ddgs")
    if problem:
        raise SearchFailed(problem)

    def ask() -> list[Any]:
        from specialists.outbound.clients import make_search_client  # noqa: PLC0415  # slow, so only a search pays for it

        client = make_search_client(max(1, int(settings.timeout / 2)))
        from ddgs.exceptions import DDGSException  # noqa: PLC0415  # the client loaded it

        try:
            return list(client.text(query, max_results=count))
        except DDGSException as error:
            if str(error) == "No results found.":
                return []
            raise SearchFailed("The search engines did not answer. Try again or use other words.") from error

    try:
        return await run_in_thread(ask, settings.timeout)
    except TimeoutError as error:
        raise SearchFailed(f"The search engines did not answer within {settings.timeout:g} s.") from error


async def _search_brave(query: str, count: int, settings: SearchSettings) -> list[Any]:
    answer = await _request_json(
        settings,
        "GET",
        _BRAVE_PATH,
        params=_make_brave_parameters(query, count),
        headers={"X-Subscription-Token": settings.api_key},
    )
    web = answer.get("web") or {}
    return _filter_rows(settings, web.get("results") or [] if isinstance(web, dict) else None)


def _make_brave_parameters(query: str, count: int) -> dict[str, str]:
    return {"q": query, "count": str(count), "text_decorations": "false"}


def _make_tavily_parameters(query: str, count: int) -> dict[str, Any]:
    return {"query": query, "max_results": count, "search_depth": "basic"}


def _choose_base_url(settings: SearchSettings) -> str:
    return (settings.base_url or BASE_URLS[settings.provider]).rstrip("/")


async def _search_tavily(query: str, count: int, settings: SearchSettings) -> list[Any]:
    answer = await _request_json(
        settings,
        "POST",
        _TAVILY_PATH,
        json=_make_tavily_parameters(query, count),
        headers={"Authorization": f"Bearer {settings.api_key}"},
    )
    return _filter_rows(settings, answer.get("results"))


def _filter_rows(settings: SearchSettings, rows: Any) -> list[Any]:
    if not isinstance(rows, list):
        raise SearchFailed(f"{settings.provider} answered without results.")
    return [row for row in rows if isinstance(row, dict)]


async def _request_json(settings: SearchSettings, method: str, path: str, **request: Any) -> dict[str, Any]:
    """Make one JSON call, and return the object in its answer. Raises SearchFailed.

    The service is trusted not to be hostile, but it may be broken.
    """
    import aiohttp  # noqa: PLC0415  # only a search pays for it

    from specialists.outbound.clients import open_session  # noqa: PLC0415  # the same
    from specialists.outbound.network_faults import describe_network_fault  # noqa: PLC0415  # the same

    url = _choose_base_url(settings) + path
    try:
        async with (
            open_session(seconds=settings.timeout, headers={"Accept": "application/json"}) as session,
            session.request(method, url, allow_redirects=False, **request) as response,
        ):
            return await _read_answer(response, settings)
    except TimeoutError as error:
        raise SearchFailed(f"{settings.provider} did not answer within {settings.timeout:g} s.") from error
    except aiohttp.ClientError as error:
        why = describe_network_fault(error) or type(error).__name__
        raise SearchFailed(f"{settings.provider} cannot be reached ({why}).") from error


async def _read_answer(response: aiohttp.ClientResponse, settings: SearchSettings) -> dict[str, Any]:
    name, status = settings.provider, response.status
    if status in _UNAUTHORIZED_STATUSES:
        raise SearchFailed(f"{name} refused the key ({status}). Whoever runs the bot has to check it.")
    if status in _QUOTA_STATUSES:
        raise SearchFailed(f"{name} allows no more searches for now ({status}). Go on with what you have.")
    if status != 200:
        raise SearchFailed(f"{name} answered with status {status}. Try again or use other words.")
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _LARGEST_ANSWER_BYTES:
            raise SearchFailed(f"{name} answered with more than {_LARGEST_ANSWER_BYTES:,} bytes.")
    try:
        answer = json.loads(bytes(body))
    except ValueError as error:
        raise SearchFailed(f"{name} answered with something that is not JSON.") from error
    if not isinstance(answer, dict):
        raise SearchFailed(f"{name} answered without results.")
    return answer


def _make_hit(row: dict[str, Any], url_key: str, snippet_key: str) -> SearchHit:
    return SearchHit(
        title=_clean_snippet(row.get("title")),
        url=str(row.get(url_key) or "").strip(),
        snippet=_clean_snippet(row.get(snippet_key)),
    )


def _clean_snippet(value: Any) -> str:
    """Remove tags and line breaks from a text, and cut it to a snippet's length."""
    text = " ".join(unescape(re.sub(r"<[^>]{0,200}>", "", str(value or ""))).split())
    return text if len(text) <= _MAX_SNIPPET_CHARS else text[: _MAX_SNIPPET_CHARS - 1] + "…"
