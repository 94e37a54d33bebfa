"""Calls the API of a forge (GitHub, GitLab), bounded in time and size, without redirects, with readable errors."""

from __future__ import annotations

import json
from typing import Any

import aiohttp

from specialists.outbound.clients import open_session
from specialists.outbound.network_faults import describe_network_fault
from specialists.tools.code.named_repositories import Repository
from specialists.tools.code.repository_reader import RepositoryCallRefused

CALL_TIMEOUT_SECONDS = 30.0
LARGEST_ANSWER_BYTES = 4 * 1024 * 1024
PAGE_SIZE, MAX_PAGES = 100, 5
_TOKEN_SETTINGS = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}


class ForgeOutcomeUnknown(Exception):
    """It is unknown whether a call was carried out: no answer came, or one that leaves it open."""


class ForgeHttp:
    """The API of the forge of one repository. With an empty `token` only public data can be read."""

    def __init__(self, repository: Repository, token: str) -> None:
        self.repository = repository
        self._token = token

    async def get(self, path: str, **parameters: str | int) -> Any:
        """Get a path of the API and return its parsed JSON. Raises RepositoryCallRefused."""
        return _parse_json(await self._call_api("GET", path, "application/json", parameters=parameters))

    async def get_pages(self, path: str, noun: str, **parameters: str | int) -> tuple[list[Any], str]:
        """Get a list of things called `noun`, at most `MAX_PAGES` pages of it. Raises RepositoryCallRefused.

        Returns (the items, a gap that says that later items are left out or "").
        """
        items: list[Any] = []
        for page in range(1, MAX_PAGES + 2):
            page_items = await self.get(path, per_page=PAGE_SIZE, page=page, **parameters)
            if page > MAX_PAGES and page_items:
                return items, f"only the first {len(items)} {noun} were read"
            items += page_items if isinstance(page_items, list) else []
            if not isinstance(page_items, list) or len(page_items) < PAGE_SIZE:
                break
        return items, ""

    async def get_text(self, path: str, media_type: str) -> str:
        """Get a path of the API as text, in the form that `media_type` names. Raises RepositoryCallRefused."""
        return (await self._call_api("GET", path, media_type)).decode("utf-8", "replace")

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Post JSON. Raises RepositoryCallRefused if nothing was done, and ForgeOutcomeUnknown if that is unknown."""
        return _parse_json(await self._call_api("POST", path, "application/json", body=body))

    async def _call_api(
        self,
        method: str,
        path: str,
        media_type: str,
        parameters: dict[str, str | int] | None = None,
        body: dict[str, Any] | None = None,
    ) -> bytes:
        url, is_writing = f"{self.repository.api}/{path}", method == "POST"
        try:
            async with (
                open_session(seconds=CALL_TIMEOUT_SECONDS, headers=self._make_headers(media_type)) as session,
                session.request(method, url, params=parameters, json=body, allow_redirects=False) as answer,
            ):
                data = await _read_answer(answer)
                status = answer.status
        except aiohttp.ClientConnectorError as error:  # nothing was sent
            raise RepositoryCallRefused(
                f"{self._api_host} cannot be reached ({_describe_client_error(error)})."
            ) from None
        except aiohttp.ClientHttpProxyError as error:  # the proxy refused, so nothing was sent
            raise RepositoryCallRefused(
                f"{self._api_host} cannot be reached ({_describe_client_error(error)})."
            ) from None
        except (aiohttp.ClientError, TimeoutError) as error:
            if is_writing:
                raise ForgeOutcomeUnknown(f"{self._api_host} gave no answer") from error
            raise RepositoryCallRefused(f"{self._api_host} gave no answer; try again.") from None
        if is_writing and (status >= 500 or status == 408):
            raise ForgeOutcomeUnknown(f"{self._api_host} answered {status}")
        if status not in {200, 201}:
            raise RepositoryCallRefused(self._describe_status_fault(status, data))
        if len(data) > LARGEST_ANSWER_BYTES and not is_writing:
            raise RepositoryCallRefused(
                f"{self._api_host} gave more than {LARGEST_ANSWER_BYTES >> 20} MB; ask for less."
            )
        return data

    def _make_headers(self, media_type: str) -> dict[str, str]:
        headers = {"Accept": media_type, "User-Agent": "leadhand"}
        if self._token and self.repository.forge == "gitlab":
            return headers | {"PRIVATE-TOKEN": self._token}
        return headers | ({"Authorization": f"Bearer {self._token}"} if self._token else {})

    @property
    def _api_host(self) -> str:
        return self.repository.api.partition("://")[2].partition("/")[0]

    def _describe_status_fault(self, status: int, data: bytes) -> str:
        variable = _TOKEN_SETTINGS[self.repository.forge or "github"]
        if status in {401, 403, 404}:
            hint = f"{variable} may not read or do this" if self._token else f"{variable} is not set"
            return f"{self._api_host} answered {status}: there is no such thing in {self.repository.path}, or {hint}."
        try:
            message = json.loads(data).get("message", "")
        except (ValueError, AttributeError):
            message = ""
        return f"{self._api_host} answered {status}{f': {str(message)[:300]}' if message else ''}."


def _describe_client_error(error: aiohttp.ClientError) -> str:
    """Return why nothing was sent, and what to do, without a full stop."""
    return describe_network_fault(error) or f"{getattr(error, 'strerror', None) or 'no connection'}; try again"


async def _read_answer(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in answer.content.iter_chunked(64 * 1024):
        body += piece
        if len(body) > LARGEST_ANSWER_BYTES:
            break
    return bytes(body)


def _parse_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise RepositoryCallRefused(
            "The forge's answer cannot be read; its address may be that of a page, not of an API."
        ) from None
