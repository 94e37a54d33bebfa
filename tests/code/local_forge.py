"""A server that speaks the parts of GitHub's and GitLab's REST APIs that reviews need."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import BasicAuth, web

from tests.code.made_repository import run_git
from tests.specialists.local_web import Site, serving

TOKEN = "forge-token"
DIFF = """\
diff --git a/shop/basket.py b/shop/basket.py
index 1111111..2222222 100644
--- a/shop/basket.py
+++ b/shop/basket.py
@@ -1,3 +1,4 @@
 def total(prices, discount=0):
     # A discount is a share: 0.1, never 10.
-    return sum(prices) * (1 - discount)
+    rounded = round(sum(prices))
+    return rounded * (1 - discount)
"""
HEAD, BASE = "a" * 40, "b" * 40


@dataclass
class LocalForge:
    """What it was sent. Closed, `gate` holds a review after it was taken; `says` is a status to answer posts with."""

    site: Site = field(default_factory=lambda: Site(0))
    reviews: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    diff: str = DIFF
    text: str = "Totals are whole euros now."
    says: int = 0
    too_large: bool = False
    more_files: int = 0
    served_repository: Path | None = None
    """A bare repository that git can clone from here, over plain HTTP."""
    taken_event: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def env(self) -> dict[str, str]:
        """The settings with which a bot finds it: one repository at each forge."""
        base = self.site.url("")
        return {
            "LEADHAND_REPOSITORIES": f"shop={base}/acme/shop",
            "GITHUB_API_URL": f"{base}/api/v3",
            "GITHUB_TOKEN": TOKEN,
        }

    @property
    def gitlab_env(self) -> dict[str, str]:
        base = self.site.url("")
        return {"LEADHAND_REPOSITORIES": f"shop={base}/acme/shop", "GITLAB_URL": base, "GITLAB_TOKEN": TOKEN}

    @property
    def link(self) -> str:
        return f"{self.site.url('')}/acme/shop/pull/7"

    def serve(self, repository: Path, at: Path) -> None:
        """Have git clone a copy of a repository from here."""
        run_git(repository, "clone", "-q", "--bare", ".", str(at))
        run_git(at, "--bare", "update-server-info")
        self.served_repository = at

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.served_repository is not None and request.path.startswith("/acme/shop.git/"):
            return self._git(request, self.served_repository / request.path.removeprefix("/acme/shop.git/"))
        token = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.headers.get("PRIVATE-TOKEN")
        if token != TOKEN:
            raise web.HTTPNotFound
        path = request.raw_path.partition("?")[0]
        github, gitlab = "/api/v3/repos/acme/shop/", "/api/v4/projects/acme%2Fshop/"
        if request.method == "POST":
            return await self._take(path, await request.json())
        if path.startswith(github):
            return self._github(path.removeprefix(github), request)
        if path.startswith(gitlab):
            return self._gitlab(path.removeprefix(gitlab), request)
        raise web.HTTPNotFound

    def _git(self, request: web.Request, file: Path) -> web.StreamResponse:
        if BasicAuth.decode(request.headers["Authorization"]).password != TOKEN:
            raise web.HTTPForbidden
        if not file.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(file)

    async def _take(self, path: str, body: dict[str, Any]) -> web.Response:
        if self.says and self.says < 500:
            return web.json_response({"message": "Line must be part of the diff"}, status=self.says)
        if path.endswith("/pulls/7/reviews"):
            self.reviews.append(body)
        else:
            self.notes.append(body)
        self.taken_event.set()
        await self.gate.wait()
        if self.says:
            return web.json_response({}, status=self.says)
        number = len(self.reviews) + len(self.notes)
        return web.json_response({"id": number, "html_url": f"{self.link}#review-{number}"}, status=201)

    def _github(self, path: str, request: web.Request) -> web.Response:
        user, accept = {"login": "ben"}, request.headers.get("Accept", "")
        if path == "pulls/7" and accept.endswith(".diff") and self.too_large:
            return web.json_response({"message": "Sorry, the diff exceeded the maximum number of files"}, status=406)
        if path == "pulls/7" and accept.endswith(".diff"):
            return web.Response(text=self.diff)
        about = {"title": "Whole euros", "body": self.text, "user": user, "state": "open", "html_url": self.link}
        hunks = self.diff.partition("+++ b/shop/basket.py\n")[2]
        at_line = {"user": user, "created_at": "2026-10-02T08:00:00Z", "body": "Cents?", "path": "shop/basket.py"}
        answers: dict[str, Any] = {
            "pulls/7": about | {"head": {"sha": HEAD}, "base": {"sha": BASE}},
            "pulls/7/comments": [at_line | {"line": 3}],
            "issues/7/comments": [{"user": {"login": "cleo"}, "created_at": "2026-10-01T08:00:00Z", "body": "Why?"}],
            "pulls/7/reviews": [{"body": one["body"], "html_url": f"{self.link}#review"} for one in self.reviews],
            "pulls/7/files": [
                *({"filename": f"shop/{number}.bin", "status": "added"} for number in range(self.more_files)),
                {"filename": "shop/basket.py", "status": "modified", "patch": hunks},
            ],
            "commits/abcdef1/pulls": [{"number": 7}],
            "commits/abcdef2/pulls": [],
        }
        if path not in answers:
            raise web.HTTPNotFound
        return web.json_response(_page_of(answers[path], request))

    def _gitlab(self, path: str, request: web.Request) -> web.Response:
        about: dict[str, Any] = {
            "title": "Whole euros",
            "description": self.text,
            "author": {"username": "ben"},
            "state": "opened",
        }
        refs = {"base_sha": BASE, "start_sha": BASE, "head_sha": HEAD}
        hunks = self.diff.partition("+++ b/shop/basket.py\n")[2]
        file = {"old_path": "shop/basket.py", "new_path": "shop/basket.py", "diff": hunks}
        answers: dict[str, Any] = {
            "merge_requests/7": about
            | {"web_url": f"{self.site.url('')}/acme/shop/-/merge_requests/7", "diff_refs": refs},
            "merge_requests/7/diffs": [file],
            "merge_requests/7/notes": [
                {"author": {"username": "ben"}, "created_at": "2026-10-02T08", **one} for one in self.notes
            ],
        }
        if path not in answers:
            raise web.HTTPNotFound
        return web.json_response(_page_of(answers[path], request))


def _page_of(answer: Any, request: web.Request) -> Any:
    if "page" not in request.query:
        return answer
    size, page = int(request.query["per_page"]), int(request.query["page"])
    return answer[(page - 1) * size : page * size]


@asynccontextmanager
async def local_forge() -> AsyncIterator[LocalForge]:
    """A forge with one request, number 7 of acme/shop."""
    forge = LocalForge()
    forge.gate.set()
    async with serving(forge.handle) as site:
        forge.site = site
        yield forge
