"""Fetches the changes that a request names, so that they are material before planning begins.

A request names a change by the link of a pull or merge request (or `shop#7`), or by two revisions with dots between
them (`main...topic`) if only one repository can be meant.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from handoff.text.code_changes import REVISION_RANGE_PATTERN
from specialists.tools.code.code_history import read_diff
from specialists.tools.code.named_repositories import Repository
from specialists.tools.code.pull_requests import Forge, PullRequest, ReviewComment, find_pull_requests
from specialists.tools.code.repository_reader import RepositoryCallRefused, RepositoryReader
from specialists.tools.toolkit import FoundFile, FoundMaterial

MAX_CHANGES = 3
"""Most changes that are fetched for one request."""
FETCH_SECONDS = 60.0
LONGEST_DIFF = 1_000_000
"""Most characters of a diff that become material."""
LONGEST_DISCUSSION = 100_000
"""Most characters of a pull request's description and comments that become material."""
_RANGE = re.compile(REVISION_RANGE_PATTERN)
_WORD = re.compile(r"[\w.-]+")

ForgeFinder = Callable[[str], Awaitable[tuple[Forge, int]]]


async def fetch_named_changes(text: str, reader: RepositoryReader, find_forge: ForgeFinder) -> FoundMaterial:
    """Fetch the changes that a text names; ranges only if it names no pull request.

    A change that cannot be fetched is a fault. Words with dots that are no revisions are ignored.
    """
    pull_requests = find_pull_requests(text, reader.named_repositories)[:MAX_CHANGES]
    ranges = [] if pull_requests else list(dict.fromkeys(each.groups() for each in _RANGE.finditer(text)))[:MAX_CHANGES]
    work = [_fetch_pull_request(repository, number, find_forge) for repository, number in pull_requests]
    if ranges and (named_repository := _find_named_repository(text, reader)) is not None:
        work += [_fetch_revisions(named_repository, f"{old}{dots}{new}", reader) for old, dots, new in ranges]
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            materials = await asyncio.gather(*work)
    except TimeoutError:
        return FoundMaterial(faults=("The change that the request names did not come in time.",))
    return FoundMaterial(
        tuple(file for one in materials for file in one.files),
        tuple(fault for one in materials for fault in one.faults),
    )


def _find_named_repository(text: str, reader: RepositoryReader) -> Repository | None:
    """Return the only repository that a text names, or else the only one set up; None if there are several."""
    repositories = reader.named_repositories.repositories
    words = {word.strip(".") for word in _WORD.findall(text)}
    named_repositories = [one for name, one in repositories.items() if name in words]
    candidates = named_repositories or list(repositories.values())
    return candidates[0] if len(candidates) == 1 else None


async def _fetch_pull_request(repository: Repository, number: int, find_forge: ForgeFinder) -> FoundMaterial:
    try:
        forge, _ = await find_forge(f"{repository.name}#{number}")
        pull_request, (diff, diff_gap), (comments, comments_gap) = await asyncio.gather(
            forge.get_pull_request(number), forge.get_diff(number), forge.list_comments(number)
        )
    except RepositoryCallRefused as error:
        return FoundMaterial(faults=(f"{repository.name}#{number}: {error}",))
    name = f"{repository.name}-{number}"
    diff_file = FoundFile(
        f"{name}.diff",
        "text/x-diff",
        diff[:LONGEST_DIFF].encode(),
        repository.make_line_url_template(pull_request.head),
    )
    description_file = FoundFile(f"{name}.md", "text/markdown", _render_pull_request(pull_request, comments).encode())
    gaps = [f"{file.name}: {gap}." for file, gap in ((diff_file, diff_gap), (description_file, comments_gap)) if gap]
    return FoundMaterial((diff_file, description_file), (*_describe_cut_diff(name, diff), *gaps))


async def _fetch_revisions(repository: Repository, revisions: str, reader: RepositoryReader) -> FoundMaterial:
    try:
        await reader.ensure_copy(repository)
    except RepositoryCallRefused as error:
        return FoundMaterial(faults=(str(error),))
    try:
        _, diff = await read_diff(reader, repository, revisions)
        head = await reader.resolve_commit(repository, revisions.rpartition(".")[2])
    except RepositoryCallRefused:
        return FoundMaterial()
    if not diff.strip():
        return FoundMaterial(faults=(f"{repository.name}: nothing differs between {revisions}.",))
    name = f"{repository.name} {revisions}".replace("/", "-")
    url_template = repository.make_line_url_template(head)
    return FoundMaterial(
        (FoundFile(f"{name}.diff", "text/x-diff", diff[:LONGEST_DIFF].encode(), url_template),),
        _describe_cut_diff(name, diff),
    )


def _render_pull_request(pull_request: PullRequest, comments: list[ReviewComment]) -> str:
    parts = [
        f"# {pull_request.summary_line}",
        pull_request.text.strip(),
        "## Comments",
        *(one.text_with_place for one in comments),
    ]
    text = "\n\n".join(part for part in (parts if comments else parts[:2]) if part)
    return (
        text
        if len(text) <= LONGEST_DISCUSSION
        else f"{text[:LONGEST_DISCUSSION]}\n\n(… {len(text) - LONGEST_DISCUSSION:,} characters more)"
    )


def _describe_cut_diff(name: str, diff: str) -> tuple[str, ...]:
    excess = len(diff) - LONGEST_DIFF
    return (f"{name}.diff: its last {excess:,} characters were not read.",) if excess > 0 else ()
