"""The code tools: files and history of the repositories that the operator names, pull and merge requests, reviews.

`LEADHAND_REPOSITORIES` names the repositories. Git runs only on our own copies of them (`bare_copy`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import cast

from handoff.text.counts import format_count
from specialists.tools.code import code_history, named_changes, named_repositories, pull_requests, repository_reader
from specialists.tools.code.bare_copy import BareCopies
from specialists.tools.code.code_arguments import (
    CodeDiffArguments,
    CodeLogArguments,
    LineComment,
    LinesArguments,
    ListFilesArguments,
    PostReviewArguments,
    ReadCodeArguments,
    ReadPullRequestArguments,
    SearchCodeArguments,
)
from specialists.tools.code.diff_text import find_commentable_lines
from specialists.tools.code.forge_http import ForgeHttp
from specialists.tools.code.github_forge import GithubForge
from specialists.tools.code.gitlab_forge import GitlabForge
from specialists.tools.code.pull_requests import Forge
from specialists.tools.code.repository_reader import RepositoryCallRefused, RepositoryReader, make_refusal_outcome
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.tools.toolkit import FoundMaterial, Toolkit, ToolSettings

REPOSITORIES_SETTING = named_repositories.REPOSITORIES_SETTING


def code_toolkit(settings: ToolSettings) -> Toolkit:
    """Make the code tools over the repositories that `settings` name; without any, the tools say what to set."""
    code = CodeTools(settings)
    tools = (
        Tool("list_files", "read", ListFilesArguments, code.list_files),
        Tool("read_code", "read", ReadCodeArguments, code.read_code),
        Tool("search_code", "read", SearchCodeArguments, code.search_code),
        Tool("code_log", "read", CodeLogArguments, code.code_log),
        Tool("code_blame", "read", LinesArguments, code.code_blame),
        Tool("code_diff", "read", CodeDiffArguments, code.code_diff),
        Tool("line_history", "read", LinesArguments, code.line_history),
        Tool("read_pull_request", "read", ReadPullRequestArguments, code.read_pull_request),
        Tool(
            *("post_review", "write", PostReviewArguments, code.post_review),
            key="marks",
            look_up=code.look_up_review,
            what=_describe_review,
            target=lambda arguments: str(arguments.link),
        ),
    )
    prove = code.check_repositories if settings.env.get(REPOSITORIES_SETTING) else None
    return Toolkit(REPOSITORIES_SETTING, tools, prove, code.close, finds=code.fetch_named_changes)


def _describe_review(arguments: PostReviewArguments) -> str:
    count = len(arguments.comments)
    comments_text = f" with {format_count(count, 'comment')} at lines" if count else ""
    return f"post a review on {arguments.link}{comments_text}"


class CodeTools:
    """The code tools over one set of repositories. Models get the docstring of each tool as its description."""

    def __init__(self, settings: ToolSettings) -> None:
        self.named_repositories = named_repositories.read_repositories(settings.env)
        tokens = {"github": settings.env.get("GITHUB_TOKEN", ""), "gitlab": settings.env.get("GITLAB_TOKEN", "")}
        self._tokens = tokens
        self._copies = BareCopies(settings.data, tokens, settings.env)
        self.reader = RepositoryReader(self.named_repositories, self._copies)

    async def list_files(self, arguments: ListFilesArguments, _workbench: Workbench) -> ToolOutcome:
        """List a repository's files; pattern: a folder or a glob (src/**/*.py)."""
        return await _catch_refusal(repository_reader.list_files(arguments, self.reader))

    async def read_code(self, arguments: ReadCodeArguments, _workbench: Workbench) -> ToolOutcome:
        """Read numbered lines of a repository's file. revision: a branch, tag or commit; default: the main branch."""
        return await _catch_refusal(repository_reader.read_code(arguments, self.reader))

    async def search_code(self, arguments: SearchCodeArguments, _workbench: Workbench) -> ToolOutcome:
        """Search a repository's files, or those below path, for an extended regular expression."""
        return await _catch_refusal(repository_reader.search_code(arguments, self.reader))

    async def code_log(self, arguments: CodeLogArguments, _workbench: Workbench) -> ToolOutcome:
        """List commits: of a path, with words in their messages, or that added or removed some code."""
        return await _catch_refusal(code_history.list_commits(arguments, self.reader))

    async def code_blame(self, arguments: LinesArguments, _workbench: Workbench) -> ToolOutcome:
        """Say for each line which commit it comes from, whose and when."""
        return await _catch_refusal(code_history.blame_lines(arguments, self.reader))

    async def code_diff(self, arguments: CodeDiffArguments, _workbench: Workbench) -> ToolOutcome:
        """Show what a commit changed, or what differs between two revisions (main...topic)."""
        return await _catch_refusal(code_history.show_diff(arguments, self.reader))

    async def line_history(self, arguments: LinesArguments, _workbench: Workbench) -> ToolOutcome:
        """Show the earlier changes of these lines, newest first, with the commits' messages."""
        return await _catch_refusal(code_history.list_line_changes(arguments, self.reader))

    async def read_pull_request(self, arguments: ReadPullRequestArguments, _workbench: Workbench) -> ToolOutcome:
        """Read a pull or merge request: its text, comments and diff, or a part of them, or the diff of one path.

        link: its address, repository#number, or repository@commit for the one that a commit came with.
        """
        return await _catch_refusal(self._show_pull_request(arguments))

    async def post_review(self, arguments: PostReviewArguments, _workbench: Workbench, key: str) -> ToolOutcome:
        """Post a review on a pull or merge request, with comments at lines of the new files."""
        return await _catch_refusal(self._post_review(arguments, key))

    async def look_up_review(
        self, arguments: PostReviewArguments, _workbench: Workbench, key: str
    ) -> ToolOutcome | None:
        """Return the outcome of an earlier call with this key; None if its review was not posted.

        If that cannot be looked up, the outcome is a failed one.
        """
        try:
            forge, number = await self.find_forge(arguments.link)
            return await find_posted_review(forge, number, key)
        except RepositoryCallRefused as error:
            return make_refusal_outcome(error)

    async def find_forge(self, link: str) -> tuple[Forge, int]:
        """Return the forge and the number of the pull or merge request behind a link. Raises RepositoryCallRefused."""
        repository, number = pull_requests.find_named_pull_request(link, self.named_repositories)
        http = ForgeHttp(repository, self._tokens[cast("str", repository.forge)])
        forge: Forge = GithubForge(http) if repository.forge == "github" else GitlabForge(http)
        return forge, number if isinstance(number, int) else await forge.find_pull_request_number(number)

    async def fetch_named_changes(self, text: str) -> FoundMaterial:
        """Fetch the diffs of the pull and merge requests, or of the pairs of revisions, that a text names."""
        return await named_changes.fetch_named_changes(text, self.reader, self.find_forge)

    async def check_repositories(self) -> tuple[str, ...]:
        """Copy each repository, or renew its copy, and return one line for each fault."""
        repositories = self.named_repositories.repositories.values()
        results = await asyncio.gather(*map(self.reader.ensure_copy, repositories), return_exceptions=True)
        errors = [each for each in results if isinstance(each, BaseException)]
        for each in errors:
            if not isinstance(each, RepositoryCallRefused):
                raise each
        return (*self.named_repositories.faults, *dict.fromkeys(map(str, errors)), *self._copies.stale_reasons.values())

    async def close(self) -> None:
        """Cancel the copying that is under way."""
        await self._copies.close()

    async def _show_pull_request(self, arguments: ReadPullRequestArguments) -> ToolOutcome:
        forge, number = await self.find_forge(arguments.link)
        return await pull_requests.show_pull_request(arguments, forge, number)

    async def _post_review(self, arguments: PostReviewArguments, key: str) -> ToolOutcome:
        forge, number = await self.find_forge(arguments.link)
        return await post_review(arguments, forge, number, key)


async def _catch_refusal(call: Awaitable[ToolOutcome]) -> ToolOutcome:
    try:
        return await call
    except RepositoryCallRefused as error:
        return make_refusal_outcome(error)


def make_review_mark(key: str) -> str:
    """Return the mark of a call's review: an HTML comment with its key, which the forge does not show."""
    return f"<!-- leadhand:{key} -->"


async def post_review(arguments: PostReviewArguments, forge: Forge, number: int, key: str) -> ToolOutcome:
    """Post a review; comments at lines that the diff does not show go into its summary.

    Raises RepositoryCallRefused if nothing was posted, and ForgeOutcomeUnknown if that is unknown.
    """
    pull_request = await forge.get_pull_request(number)
    diff, _ = await forge.get_diff(number)
    lines = await asyncio.to_thread(find_commentable_lines, diff)
    if isinstance(lines, str):
        raise RepositoryCallRefused(lines)
    line_comments = [one for one in arguments.comments if one.line in lines.get(one.path, {})]
    summary_comments = [one for one in arguments.comments if one not in line_comments]
    summary = "\n\n".join((arguments.summary, *map(_render_comment, summary_comments)))
    address = await forge.post_review(pull_request, summary, line_comments, diff, make_review_mark(key))
    summary_note = (
        f" In the summary instead, as the request does not show their lines: "
        f"{format_count(len(summary_comments), 'comment')}."
        if summary_comments
        else ""
    )
    return ToolOutcome(
        f"Posted with {format_count(len(line_comments), 'comment')} at lines: {address}.{summary_note}",
        sources=(address,),
    )


async def find_posted_review(forge: Forge, number: int, key: str) -> ToolOutcome | None:
    """Return the outcome of the review with a key; None if none was posted. Raises RepositoryCallRefused if unclear."""
    address = await forge.find_review(number, make_review_mark(key))
    return None if address is None else ToolOutcome(f"It was posted: {address}.", sources=(address,))


def _render_comment(comment: LineComment) -> str:
    return f"**{comment.path}:{comment.line}** {comment.text}"
