"""Pull requests of GitHub, through its REST API."""

from __future__ import annotations

from typing import Any

from specialists.tools.code.code_arguments import LineComment
from specialists.tools.code.forge_http import ForgeHttp
from specialists.tools.code.pull_requests import PullRequest, ReviewComment
from specialists.tools.code.repository_reader import RepositoryCallRefused

DIFF_MEDIA_TYPE = "application/vnd.github.diff"
TOO_LARGE_STATUS_TEXT = "answered 406"


class GithubForge:
    """The pull requests of one repository of GitHub: a `pull_requests.Forge`."""

    def __init__(self, http: ForgeHttp) -> None:
        self._http = http
        self._repository_path = f"repos/{http.repository.path}"

    async def get_pull_request(self, number: int) -> PullRequest:
        """Return a pull request by its number."""
        one = await self._http.get(f"{self._repository_path}/pulls/{number}")
        return PullRequest(
            repository=self._http.repository,
            number=number,
            title=str(one.get("title") or ""),
            text=str(one.get("body") or ""),
            author=_read_author(one),
            state="merged" if one.get("merged") else str(one.get("state") or ""),
            head=str((one.get("head") or {}).get("sha") or ""),
            base=str((one.get("base") or {}).get("sha") or ""),
            address=str(one.get("html_url") or ""),
        )

    async def find_pull_request_number(self, commit: str) -> int:
        """Return the number of the pull request that a commit came with."""
        pull_requests = await self._http.get(f"{self._repository_path}/commits/{commit}/pulls")
        if not isinstance(pull_requests, list) or not pull_requests:
            raise RepositoryCallRefused(f"{commit} came with no pull request.")
        return int(pull_requests[0]["number"])

    async def get_diff(self, number: int) -> tuple[str, str]:
        """Return (diff of a pull request, gap or ""); if GitHub finds it too large, joined from those of its files."""
        try:
            return await self._http.get_text(f"{self._repository_path}/pulls/{number}", DIFF_MEDIA_TYPE), ""
        except RepositoryCallRefused as error:
            if TOO_LARGE_STATUS_TEXT not in str(error):
                raise
        files, gap = await self._http.get_pages(f"{self._repository_path}/pulls/{number}/files", "changed files")
        return "".join(map(_render_file_diff, files)), gap

    async def list_comments(self, number: int) -> tuple[list[ReviewComment], str]:
        """Return (comments and reviews of a pull request, oldest first, gap or "")."""
        lists = [
            await self._http.get_pages(f"{self._repository_path}/{path}", noun)
            for path, noun in (
                (f"pulls/{number}/comments", "comments at lines"),
                (f"issues/{number}/comments", "comments"),
                (f"pulls/{number}/reviews", "reviews"),
            )
        ]
        dated_comments = [
            (str(one.get("created_at") or one.get("submitted_at") or ""), one)
            for items, _ in lists
            for one in items
            if one.get("body")
        ]
        comments = [
            ReviewComment(
                _read_author(one), at[:10], str(one["body"]), str(one.get("path") or ""), _read_comment_line(one)
            )
            for at, one in sorted(dated_comments, key=lambda each: each[0])
        ]
        return comments, ", ".join(gap for _, gap in lists if gap)

    async def post_review(
        self, pull_request: PullRequest, summary: str, comments: list[LineComment], diff: str, mark: str
    ) -> str:
        """Post a review in one call, so that it exists completely or not at all. Return its address."""
        del diff
        body = {
            "commit_id": pull_request.head,
            "body": f"{summary}\n\n{mark}",
            "event": "COMMENT",
            "comments": [{"path": one.path, "line": one.line, "side": "RIGHT", "body": one.text} for one in comments],
        }
        review = await self._http.post(f"{self._repository_path}/pulls/{pull_request.number}/reviews", body)
        return str(review.get("html_url") or pull_request.address)

    async def find_review(self, number: int, mark: str) -> str | None:
        """Return the address of the review with this mark; None if there is none."""
        reviews, gap = await self._http.get_pages(f"{self._repository_path}/pulls/{number}/reviews", "reviews")
        for one in reviews:
            if mark in str(one.get("body") or ""):
                return str(one.get("html_url") or "")
        if gap:
            raise RepositoryCallRefused(f"It is unknown whether the review was posted: {gap}.")
        return None


def _render_file_diff(file: Any) -> str:
    """Return the diff of one file with git's header lines; a note in place of a diff that is not given."""
    new = str(file.get("filename") or "")
    old = str(file.get("previous_filename") or new)
    head = f"diff --git a/{old} b/{new}\n"
    if not file.get("patch"):
        return f"{head}(its diff is not given: it is too large, or no text)\n"
    old_label = "/dev/null" if file.get("status") == "added" else f"a/{old}"
    new_label = "/dev/null" if file.get("status") == "removed" else f"b/{new}"
    return f"{head}--- {old_label}\n+++ {new_label}\n{str(file['patch']).rstrip()}\n"


def _read_author(item: Any) -> str:
    return str((item.get("user") or {}).get("login") or "somebody")


def _read_comment_line(comment: Any) -> int:
    return int(comment.get("line") or comment.get("original_line") or 0)
