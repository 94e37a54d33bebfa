"""Opens issues of GitHub and GitLab by REST, and finds them by their marks; bounded in time and size, no redirects."""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from typing import Any

import aiohttp

from handoff.text.invisible_characters import remove_invisible
from specialists.outbound.clients import open_session
from specialists.outbound.network_faults import describe_network_fault
from specialists.tools.tickets.ticket_place import TicketPlace

CALL_SECONDS = 20.0
LARGEST_ANSWER_BYTES = 8 * 1024 * 1024
PAGE_SIZE, MAX_PAGES = 100, 3
MAX_ISSUE_AGE_SECONDS = 14 * 86_400.0
"""Seconds. An issue that we look for is younger, so the search ends at an older one.

If `MAX_PAGES` pages hold only younger issues without the mark, it is unknown whether the issue was opened.
"""


class IssueNotOpened(Exception):
    """An issue was certainly not opened. The message says why, and what to do."""


class IssueOutcomeUnknown(Exception):
    """It is unknown whether an issue was opened."""


class IssueTracker:
    """The issues of one repository or project."""

    def __init__(self, place: TicketPlace) -> None:
        self._desk = place
        github = place.kind == "github"
        token = {"Authorization": f"Bearer {place.token}"} if github else {"PRIVATE-TOKEN": place.token}
        kind = "application/vnd.github+json" if github else "application/json"
        self._headers = {"Accept": kind, "User-Agent": "leadhand", **token}
        self._body_field = "body" if github else "description"

    async def open_issue(self, title: str, body: str, key: str) -> str:
        """Open an issue and return its address. `body` has to be harmless already (`sanitize_body`).

        Raises IssueNotOpened, and IssueOutcomeUnknown if it is unknown whether the issue was opened.
        """
        fields = {"title": title, self._body_field: f"{body}\n\n{make_issue_mark(key)}"}
        try:
            status, data = await self._call_api("POST", json_body=fields)
        except (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError) as error:  # nothing was sent
            why = f" ({fault})" if (fault := describe_network_fault(error)) else ""
            raise IssueNotOpened(f"{self._desk.host} cannot be reached{why}") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise IssueOutcomeUnknown(f"{self._desk.host} gave no answer") from error
        if status >= 500 or status == 408:
            raise IssueOutcomeUnknown(f"{self._desk.host} answered {status}")
        if status not in {200, 201}:
            raise IssueNotOpened(self._describe_refusal(status, data))
        return _read_issue_address(_parse_answer(data))

    async def find_issue(self, key: str) -> str | None:
        """Return the address of the issue with a key's mark; None if there certainly is none.

        Raises IssueOutcomeUnknown.
        """
        order = {"sort": "created", "direction": "desc"} if self._desk.kind == "github" else {"order_by": "created_at"}
        mark, oldest = make_issue_mark(key), time.time()
        for page in range(1, MAX_PAGES + 1):
            try:
                status, data = await self._call_api(
                    "GET", {"state": "all", "per_page": PAGE_SIZE, "page": page, **order}
                )
            except (aiohttp.ClientError, TimeoutError) as error:
                raise IssueOutcomeUnknown(f"{self._desk.host} gave no answer") from error
            issues = _parse_answer(data) if status == 200 else None
            if not isinstance(issues, list):
                raise IssueOutcomeUnknown(f"{self._desk.host} answered {status}")
            for one in issues:
                if mark in str(one.get(self._body_field) or ""):
                    return _read_issue_address(one)
                oldest = min(oldest, _read_creation_time(one))
            if len(issues) < PAGE_SIZE or oldest < time.time() - MAX_ISSUE_AGE_SECONDS:
                return None
        raise IssueOutcomeUnknown(
            f"{PAGE_SIZE * MAX_PAGES} issues were opened there in {MAX_ISSUE_AGE_SECONDS / 86_400:.0f} days"
        )

    async def _call_api(
        self, method: str, query: dict[str, str | int] | None = None, json_body: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        async with (
            open_session(seconds=CALL_SECONDS, headers=self._headers) as session,
            session.request(
                method, self._desk.issues_url, params=query, json=json_body, allow_redirects=False
            ) as answer,
        ):
            data = bytearray()
            async for piece in answer.content.iter_chunked(64 * 1024):
                data += piece
                if len(data) > LARGEST_ANSWER_BYTES:
                    break
            return answer.status, bytes(data)

    def _describe_refusal(self, status: int, data: bytes) -> str:
        place = self._desk
        if status in {401, 403, 404, 410}:
            name = "GITHUB_TOKEN" if place.kind == "github" else "GITLAB_TOKEN"
            return f"{place.host} answered {status}: there is no {place.path} with issues, or {name} may not open them"
        answer = _parse_answer(data)
        message = answer.get("message", "") if isinstance(answer, dict) else ""
        return f"{place.host} answered {status}" + (f": {str(message)[:200]}" if message else "")


def _parse_answer(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _read_issue_address(issue: Any) -> str:
    fields = issue if isinstance(issue, dict) else {}
    return str(fields.get("html_url") or fields.get("web_url") or "an unknown address")


def _read_creation_time(issue: Any) -> float:
    try:
        return datetime.fromisoformat(str(issue.get("created_at"))).timestamp()
    except ValueError:
        return time.time()


_MENTION = re.compile(r"(?<![\w`/.@-])@(?=[A-Za-z0-9])([\w./-]*[\w-])")
_PICTURE = re.compile(r"!\[")
_SLASH_COMMAND = re.compile(r"^(\s*)/(?=[A-Za-z])", re.MULTILINE)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_FENCE = re.compile(r"(^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\2[ \t]*$|\Z))", re.MULTILINE | re.DOTALL)


def make_issue_mark(key: str) -> str:
    """Return the mark by which an issue is found again: an HTML comment, which the forge does not show."""
    return f"<!-- leadhand:{key} -->"


def sanitize_body(body: str) -> str:
    """Return the body with tags, pictures, mentions and commands made inactive.

    Code in fences stays as it is. A second call changes nothing more.
    """
    pieces = _FENCE.split(remove_invisible(body).strip())
    # Splitting by a pattern with two groups gives text, fence, the fence's mark, text, ...
    plain = [_sanitize_text(piece) if place % 3 == 0 else piece for place, piece in enumerate(pieces) if place % 3 != 2]
    return "".join(plain)


def _sanitize_text(text: str) -> str:
    text = _TAG.sub("&lt;", text)
    text = _PICTURE.sub("[", text)
    text = _MENTION.sub(lambda match: f"`@{match[1]}`", text)
    return _SLASH_COMMAND.sub(r"\1\\/", text)
