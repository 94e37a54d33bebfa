"""Merge requests of GitLab, through its REST API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from handoff.text.counts import format_count
from specialists.tools.code.code_arguments import LineComment
from specialists.tools.code.diff_text import find_commentable_lines
from specialists.tools.code.forge_http import ForgeHttp, ForgeOutcomeUnknown
from specialists.tools.code.pull_requests import PullRequest, ReviewComment
from specialists.tools.code.repository_reader import RepositoryCallRefused


class GitlabForge:
    """The merge requests of one project of GitLab: a `pull_requests.Forge`."""

    def __init__(self, http: ForgeHttp) -> None:
        self._http = http
        self._project_path = f"projects/{quote(http.repository.path, safe='')}"
        self._requests_path = f"{self._project_path}/merge_requests"

    async def get_pull_request(self, number: int) -> PullRequest:
        """Return a merge request by its number."""
        one = await self._http.get(f"{self._requests_path}/{number}")
        refs = one.get("diff_refs") or {}
        base, start, head = (str(refs.get(f"{name}_sha") or "") for name in ("base", "start", "head"))
        return PullRequest(
            repository=self._http.repository,
            number=number,
            title=str(one.get("title") or ""),
            text=str(one.get("description") or ""),
            author=_read_author(one),
            state=str(one.get("state") or ""),
            head=head or str(one.get("sha") or ""),
            base=base,
            address=str(one.get("web_url") or ""),
            comment_refs=(base, start, head),
        )

    async def find_pull_request_number(self, commit: str) -> int:
        """Return the number of the merge request that a commit came with."""
        merge_requests = await self._http.get(f"{self._project_path}/repository/commits/{commit}/merge_requests")
        if not isinstance(merge_requests, list) or not merge_requests:
            raise RepositoryCallRefused(f"{commit} came with no merge request.")
        return int(merge_requests[0]["iid"])

    async def get_diff(self, number: int) -> tuple[str, str]:
        """Return (diff of a merge request, joined from those of its files, gap or "")."""
        files, gap = await self._http.get_pages(f"{self._requests_path}/{number}/diffs", "changed files")
        return "".join(map(_render_file_diff, files)), gap

    async def list_comments(self, number: int) -> tuple[list[ReviewComment], str]:
        """Return (comments on a merge request, oldest first, without GitLab's own notes, gap or "")."""
        notes, gap = await self._http.get_pages(f"{self._requests_path}/{number}/notes", "comments", sort="asc")
        comments = [
            ReviewComment(
                _read_author(one),
                str(one.get("created_at") or "")[:10],
                str(one.get("body") or ""),
                *_read_comment_place(one),
            )
            for one in notes
            if not one.get("system")
        ]
        return comments, gap

    async def post_review(
        self, pull_request: PullRequest, summary: str, comments: list[LineComment], diff: str, mark: str
    ) -> str:
        """Post the comments at their lines, then the summary, which marks the review complete. Returns its address."""
        lines = find_commentable_lines(diff)
        lines_by_path = {} if isinstance(lines, str) else lines
        posted_count = 0
        try:
            for one in comments:
                position = _make_position(pull_request, one, lines_by_path.get(one.path, {}).get(one.line, 0))
                body = {"body": f"{one.text}\n\n{mark}", "position": position}
                await self._http.post(f"{self._requests_path}/{pull_request.number}/discussions", body)
                posted_count += 1
            summary_note = await self._http.post(
                f"{self._requests_path}/{pull_request.number}/notes", {"body": f"{summary}\n\n{mark} whole"}
            )
        except RepositoryCallRefused as error:
            if posted_count:
                raise ForgeOutcomeUnknown(
                    f"{posted_count} of {len(comments)} comments were posted, then: {error}"
                ) from error
            raise
        return f"{pull_request.address}#note_{summary_note.get('id', '')}"

    async def find_review(self, number: int, mark: str) -> str | None:
        """Return the address of the review with this mark, or None. Raises RepositoryCallRefused if incomplete."""
        newest_notes, gap = await self._http.get_pages(f"{self._requests_path}/{number}/notes", "comments")
        notes = [one for one in newest_notes if mark in str(one.get("body"))]
        if not notes and gap:
            raise RepositoryCallRefused(f"It is unknown whether the review was posted: {gap}.")
        if not notes:
            return None
        summary_note = next((one for one in notes if f"{mark} whole" in str(one["body"])), None)
        if summary_note is None:
            raise RepositoryCallRefused(f"The review has no summary yet, only {format_count(len(notes), 'comment')}.")
        return f"{self._http.repository.address}/-/merge_requests/{number}#note_{summary_note.get('id', '')}"


def _make_position(pull_request: PullRequest, comment: LineComment, old_line: int) -> dict[str, Any]:
    base, start, head = pull_request.comment_refs
    place: dict[str, Any] = {"position_type": "text", "base_sha": base, "start_sha": start, "head_sha": head}
    place |= {"new_path": comment.path, "old_path": comment.path, "new_line": comment.line}
    return place | ({"old_line": old_line} if old_line else {})


def _render_file_diff(file: Any) -> str:
    """Return the diff of one file with git's header lines; a note in place of a diff that is not given."""
    old, new = str(file.get("old_path") or ""), str(file.get("new_path") or "")
    head = f"diff --git a/{old} b/{new}\n"
    if not file.get("diff"):
        return f"{head}(its diff is not given: it is too large, or no text)\n"
    old_label = "/dev/null" if file.get("new_file") else f"a/{old}"
    new_label = "/dev/null" if file.get("deleted_file") else f"b/{new}"
    return f"{head}--- {old_label}\n+++ {new_label}\n{str(file['diff']).rstrip()}\n"


def _read_author(item: Any) -> str:
    return str((item.get("author") or {}).get("username") or "somebody")


def _read_comment_place(note: Any) -> tuple[str, int]:
    place = note.get("position") or {}
    return str(place.get("new_path") or ""), int(place.get("new_line") or 0)
