"""Merge requests of GitLab, through its REST API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from specialists.tools.code.code_arguments import LineComment
from specialists.tools.code.diff_text import find_commentable_lines
from specialists.tools.code.forge_http import ForgeHttp, NoForgeAnswer
from specialists.tools.code.pull_requests import PullRequest, ReviewComment
from specialists.tools.code.repository_reader import RepositoryCallRefused


class GitlabForge:
    """The merge requests of one project of GitLab: see `pull_requests.Forge`."""

    def __init__(self, http: ForgeHttp) -> None:
        self._http = http
        self._project = f"projects/{quote(http.repository.path, safe='')}"
        self._at = f"{self._project}/merge_requests"

    async def get_request(self, number: int) -> PullRequest:
        """Return a merge request by its number."""
        one = await self._http.get(f"{self._at}/{number}")
        refs = one.get("diff_refs") or {}
        base, start, head = (str(refs.get(f"{name}_sha") or "") for name in ("base", "start", "head"))
        return PullRequest(
            repository=self._http.repository,
            number=number,
            title=str(one.get("title") or ""),
            text=str(one.get("description") or ""),
            author=_author_username(one),
            state=str(one.get("state") or ""),
            head=head or str(one.get("sha") or ""),
            base=base,
            address=str(one.get("web_url") or ""),
            refs=(base, start, head),
        )

    async def number_of(self, commit: str) -> int:
        """Return the number of the merge request that a commit came with."""
        found = await self._http.get(f"{self._project}/repository/commits/{commit}/merge_requests")
        if not isinstance(found, list) or not found:
            raise RepositoryCallRefused(f"{commit} came with no merge request.")
        return int(found[0]["iid"])

    async def get_diff(self, number: int) -> str:
        """Return the diff of a merge request, joined from the diffs of its files."""
        return "".join(map(_file_diff, await self._http.pages(f"{self._at}/{number}/diffs")))

    async def list_comments(self, number: int) -> list[ReviewComment]:
        """List the comments on a merge request, oldest first."""
        notes = await self._http.pages(f"{self._at}/{number}/notes", sort="asc")
        return [
            ReviewComment(
                _author_username(one),
                str(one.get("created_at") or "")[:10],
                str(one.get("body") or ""),
                *_comment_place(one),
            )
            for one in notes
            if not one.get("system")
        ]

    async def post(self, request: PullRequest, summary: str, comments: list[LineComment], diff: str, mark: str) -> str:
        """Post the comments at their lines, and the summary last, as proof of a complete review. Return its address."""
        lines = find_commentable_lines(diff)
        old = {} if isinstance(lines, str) else lines
        done = 0
        try:
            for one in comments:
                position = _make_position(request, one, old.get(one.path, {}).get(one.line, 0))
                body = {"body": f"{one.text}\n\n{mark}", "position": position}
                await self._http.post(f"{self._at}/{request.number}/discussions", body)
                done += 1
            made = await self._http.post(f"{self._at}/{request.number}/notes", {"body": f"{summary}\n\n{mark} whole"})
        except RepositoryCallRefused as error:
            if done:
                raise NoForgeAnswer(f"{done} of {len(comments)} comments were posted, then: {error}") from error
            raise
        return f"{request.address}#note_{made.get('id', '')}"

    async def find_posted(self, number: int, mark: str) -> str | None:
        """Return the address of the review with this mark, or None. Raises RepositoryCallRefused for a part of one."""
        notes = [one for one in await self._http.pages(f"{self._at}/{number}/notes") if mark in str(one.get("body"))]
        if not notes:
            return None
        whole = next((one for one in notes if f"{mark} whole" in str(one["body"])), None)
        if whole is None:
            raise RepositoryCallRefused(f"{len(notes)} comments of the review are there, and its summary is not.")
        return f"{self._http.repository.address}/-/merge_requests/{number}#note_{whole.get('id', '')}"


def _make_position(request: PullRequest, one: LineComment, old_line: int) -> dict[str, Any]:
    base, start, head = request.refs
    place: dict[str, Any] = {"position_type": "text", "base_sha": base, "start_sha": start, "head_sha": head}
    place |= {"new_path": one.path, "old_path": one.path, "new_line": one.line}
    return place | ({"old_line": old_line} if old_line else {})


def _file_diff(one: Any) -> str:
    """Return the diff of one file with the header lines of git."""
    old, new = str(one.get("old_path") or ""), str(one.get("new_path") or "")
    head = f"diff --git a/{old} b/{new}\n"
    if not one.get("diff"):
        return f"{head}(its diff is not given: it is too large, or no text)\n"
    before = "/dev/null" if one.get("new_file") else f"a/{old}"
    after = "/dev/null" if one.get("deleted_file") else f"b/{new}"
    return f"{head}--- {before}\n+++ {after}\n{str(one['diff']).rstrip()}\n"


def _author_username(one: Any) -> str:
    return str((one.get("author") or {}).get("username") or "somebody")


def _comment_place(one: Any) -> tuple[str, int]:
    place = one.get("position") or {}
    return str(place.get("new_path") or ""), int(place.get("new_line") or 0)
