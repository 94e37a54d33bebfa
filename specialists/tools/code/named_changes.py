"""Fetches the changes that a request names, so that they are material before planning begins.

A change is named by the link of a pull or merge request (or `shop#7`), or by two revisions with dots between them
(`main...topic`) if it is clear which repository is meant.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from handoff.text.change_names import REVISION_RANGE
from specialists.tools.code.code_history import read_diff
from specialists.tools.code.named_repositories import Repository
from specialists.tools.code.pull_requests import Forge, PullRequest, ReviewComment, find_requests
from specialists.tools.code.repository_reader import RepositoryCallRefused, RepositoryReader
from specialists.tools.toolkit import FoundFile, FoundMaterial

MAX_CHANGES = 3
"""Most changes that are fetched for one request."""
FETCH_SECONDS = 60.0
LONGEST_DIFF = 1_000_000
"""Most characters of a diff that become material."""
LONGEST_DISCUSSION = 100_000
"""Most characters of a pull request's description and comments that become material."""
_RANGE = re.compile(REVISION_RANGE)
_WORD = re.compile(r"[\w.-]+")

FindForge = Callable[[str], Awaitable[tuple[Forge, int]]]


async def fetch_named_changes(text: str, reader: RepositoryReader, find_forge: FindForge) -> FoundMaterial:
    """Fetch the changes that a text names. One that cannot be fetched is a fault; other words with dots are ignored."""
    named = find_requests(text, reader.named_repositories)[:MAX_CHANGES]
    ranges = [] if named else list(dict.fromkeys(each.groups() for each in _RANGE.finditer(text)))[:MAX_CHANGES]
    work = [_fetch_request(repository, number, find_forge) for repository, number in named]
    if ranges and (where := _find_named_repository(text, reader)) is not None:
        work += [_fetch_revisions(where, f"{old}{dots}{new}", reader) for old, dots, new in ranges]
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            found = await asyncio.gather(*work)
    except TimeoutError:
        return FoundMaterial(faults=("The change that the request names did not come in time.",))
    return FoundMaterial(
        tuple(file for one in found for file in one.files), tuple(fault for one in found for fault in one.faults)
    )


def _find_named_repository(text: str, reader: RepositoryReader) -> Repository | None:
    """Return the one repository that a text is about: the only one that it names, or the only one there is."""
    known = reader.named_repositories.repositories
    words = {word.strip(".") for word in _WORD.findall(text)}
    said = [one for name, one in known.items() if name in words]
    there = said or list(known.values())
    return there[0] if len(there) == 1 else None


async def _fetch_request(repository: Repository, number: int, find_forge: FindForge) -> FoundMaterial:
    try:
        forge, _ = await find_forge(f"{repository.name}#{number}")
        request, diff, said = await asyncio.gather(
            forge.get_request(number), forge.get_diff(number), forge.list_comments(number)
        )
    except RepositoryCallRefused as error:
        return FoundMaterial(faults=(f"{repository.name}#{number}: {error}",))
    name = f"{repository.name}-{number}"
    file = FoundFile(
        f"{name}.diff", "text/x-diff", diff[:LONGEST_DIFF].encode(), repository.make_line_url_template(request.head)
    )
    about = FoundFile(f"{name}.md", "text/markdown", _render_request(request, said).encode())
    return FoundMaterial((file, about), _describe_cut_diff(name, diff))


async def _fetch_revisions(repository: Repository, revisions: str, reader: RepositoryReader) -> FoundMaterial:
    try:
        await reader.find_copy(repository)
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
    lines = repository.make_line_url_template(head)
    return FoundMaterial(
        (FoundFile(f"{name}.diff", "text/x-diff", diff[:LONGEST_DIFF].encode(), lines),), _describe_cut_diff(name, diff)
    )


def _render_request(request: PullRequest, comments: list[ReviewComment]) -> str:
    parts = [
        f"# {request.summary_line}",
        request.text.strip(),
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
    over = len(diff) - LONGEST_DIFF
    return (f"{name}.diff: its last {over:,} characters were not read.",) if over > 0 else ()
