"""Pull requests of GitHub and merge requests of GitLab: their values, how texts name them, and how they are shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from handoff.text.capitalization import capitalize_first
from specialists.tools.code.code_arguments import LineComment, ReadPullRequestArguments
from specialists.tools.code.diff_text import split_by_file, summarize_diff
from specialists.tools.code.named_repositories import NamedRepositories, Repository
from specialists.tools.code.repository_reader import LONGEST_REPLY, RepositoryCallRefused, make_outcome, normalize_path
from specialists.tools.tool import ToolOutcome

_ADDRESS = re.compile(r"(https?://[^\s<>|]+?)(?:/pull|/-/merge_requests)/(\d{1,9})(?:[/?#][^\s<>|]*)?")
_SHORT_NAME = re.compile(r"([\w.-]+)[#!](\d{1,9})")
_COMMIT_NAME = re.compile(r"([\w.-]+)@([0-9a-f]{7,64})")
LONGEST_DESCRIPTION = 3_000
"""Most characters of a pull request's description that are shown."""


@dataclass(frozen=True, slots=True)
class ReviewComment:
    """A comment on a pull request. `day` is YYYY-MM-DD; `line` is in the new file, 0 if it is at no line."""

    author: str
    day: str
    text: str
    path: str = ""
    line: int = 0

    @property
    def text_with_place(self) -> str:
        """The comment as text; the first line names its author, day and place."""
        place = f" at {self.path}{f':{self.line}' if self.line else ''}" if self.path else ""
        return f"{self.author}, {self.day}{place}: {self.text.strip()}"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull or merge request. `head` and `base` are commit ids, `address` is its web page."""

    repository: Repository
    number: int
    title: str
    text: str
    author: str
    state: str
    head: str
    base: str
    address: str
    comment_refs: tuple[str, str, str] = ("", "", "")
    """GitLab only: the base, start and head commits that a comment at a line has to name."""

    @property
    def summary_line(self) -> str:
        """The pull request in one line: repository and number, title, author, state and address."""
        return f"{self.repository.name}#{self.number} “{self.title}” by {self.author}, {self.state}, {self.address}"


class Forge(Protocol):
    """The pull or merge requests of a repository. All methods raise RepositoryCallRefused, which says why."""

    async def get_pull_request(self, number: int) -> PullRequest:
        """Return a request by its number."""

    async def find_pull_request_number(self, commit: str) -> int:
        """Return the number of the request that a commit came with."""

    async def get_diff(self, number: int) -> tuple[str, str]:
        """Return (diff of a request, gap that says what is left out of it or "")."""

    async def list_comments(self, number: int) -> tuple[list[ReviewComment], str]:
        """Return (comments on a request, oldest first, gap that says which are left out or "")."""

    async def post_review(
        self, pull_request: PullRequest, summary: str, comments: list[LineComment], diff: str, mark: str
    ) -> str:
        """Post a review and return its address. Raises ForgeOutcomeUnknown if it is unknown whether it was posted."""

    async def find_review(self, number: int, mark: str) -> str | None:
        """Return the address of the review with this mark; None if there certainly is none."""


def find_named_pull_request(link: str, named_repositories: NamedRepositories) -> tuple[Repository, int | str]:
    """Return (repository, pull request number or commit id) that a link names. Raises RepositoryCallRefused."""
    text = link.strip().strip("<>").partition("|")[0]
    by_address = {
        one.address.casefold(): one for one in named_repositories.repositories.values() if one.forge is not None
    }
    if match := _ADDRESS.fullmatch(text):
        if (repository := by_address.get(match[1].casefold())) is not None:
            return repository, int(match[2])
    elif match := _SHORT_NAME.fullmatch(text) or _COMMIT_NAME.fullmatch(text):
        repository = named_repositories.repositories.get(match[1])
        if repository is not None and repository.forge is not None:
            return repository, int(match[2]) if "@" not in text else match[2]
    known_repositories = ", ".join(f"{one.name} ({one.address})" for one in by_address.values()) or "none"
    raise RepositoryCallRefused(
        f"{text[:100]!r} is no request of a repository that is set up here with its web address: {known_repositories}."
    )


def find_pull_requests(text: str, named_repositories: NamedRepositories) -> list[tuple[Repository, int]]:
    """Return the pull requests that a text names by address or as `shop#7`, each once, as (repository, number)."""
    pull_requests: dict[tuple[str, int], tuple[Repository, int]] = {}
    for each in (*_ADDRESS.finditer(text), *_SHORT_NAME.finditer(text)):
        try:
            repository, number = find_named_pull_request(
                each[0].split("#")[0] if "://" in each[0] else each[0], named_repositories
            )
        except RepositoryCallRefused:
            continue
        if isinstance(number, int):
            pull_requests[repository.name, number] = (repository, number)
    return list(pull_requests.values())


async def show_pull_request(arguments: ReadPullRequestArguments, forge: Forge, number: int) -> ToolOutcome:
    """Show a pull request, or the part of it that `arguments` ask for. Raises RepositoryCallRefused."""
    pull_request = await forge.get_pull_request(number)
    parts = {"about", "comments", "diff"} if arguments.part == "all" else {arguments.part}
    path = normalize_path(arguments.path)
    parts = {"diff"} if path else parts
    lines: list[str] = []
    gaps: list[str] = []
    if "about" in parts and pull_request.text.strip():
        lines += ["## Description", *pull_request.text.strip()[:LONGEST_DESCRIPTION].splitlines()]
    if "comments" in parts:
        comments, comments_gap = await forge.list_comments(number)
        gaps.append(comments_gap)
        lines += [
            f"## Comments ({len(comments)})",
            *(line for one in comments for line in one.text_with_place.splitlines()),
        ]
    if "diff" in parts:
        diff, diff_gap = await forge.get_diff(number)
        lines += _render_diff_lines(diff, diff_gap, path, pull_request)
        gaps.append("" if path else diff_gap)
    title = f"{pull_request.summary_line}."
    name = f"{pull_request.repository.name}#{number}"
    return make_outcome(
        " ".join((title, *(f"{capitalize_first(gap)}." for gap in gaps if gap))),
        lines,
        more="name a part or a path",
        sources=(pull_request.address,),
        gaps=tuple(f"{name}: {gap}" for gap in gaps if gap),
    )


def _render_diff_lines(text: str, gap: str, path: str, pull_request: PullRequest) -> list[str]:
    if path:
        file_diff = split_by_file(text).get(path)
        if file_diff is None:
            name = f"{pull_request.repository.name}#{pull_request.number}"
            raise RepositoryCallRefused(
                f"The diff of {path!r} in {name} is not known: {gap}." if gap else f"{name} does not change {path!r}."
            )
        return file_diff.splitlines()
    if len(text) < LONGEST_REPLY // 2:
        return ["## Diff", *text.splitlines()]
    return ["## Diff, in brief: name a path to see its part", *summarize_diff(text)]
