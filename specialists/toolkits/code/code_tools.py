"""The code tools: what stands in repositories that the operator names, how it came about, and requests for review.

`LEADHAND_REPOSITORIES` names the repositories. Git is run on copies of our own alone; see `bare_copy`.
"""

from __future__ import annotations

from specialists.toolkits.code.code_arguments import (
    CodeDiffArguments,
    CodeLogArguments,
    LinesArguments,
    ListFilesArguments,
    PostReviewArguments,
    ReadCodeArguments,
    ReadRequestArguments,
    SearchCodeArguments,
)
from specialists.toolkits.tool import Tool, ToolOutcome, Workbench
from specialists.toolkits.toolkit import Toolkit, ToolSettings

ORIGIN = "code"
_LATER = ToolOutcome("Not built yet.", failed=True)


def code_toolkit(settings: ToolSettings) -> Toolkit:
    """Make the code tools over the repositories that `settings` name; without any, the tools say what to set."""
    del settings
    tools = (
        Tool("list_files", "read", ListFilesArguments, list_files),
        Tool("read_code", "read", ReadCodeArguments, read_code),
        Tool("search_code", "read", SearchCodeArguments, search_code),
        Tool("code_log", "read", CodeLogArguments, code_log),
        Tool("code_blame", "read", LinesArguments, code_blame),
        Tool("code_diff", "read", CodeDiffArguments, code_diff),
        Tool("line_history", "read", LinesArguments, line_history),
        Tool("read_pull_request", "read", ReadRequestArguments, read_pull_request),
        Tool("post_review", "write", PostReviewArguments, post_review, key="marks", look_up=look_up),
    )
    return Toolkit(ORIGIN, tools)


async def list_files(_arguments: ListFilesArguments, _workbench: Workbench) -> ToolOutcome:
    """List a repository's files; pattern: a folder or a glob (src/**/*.py)."""
    return _LATER


async def read_code(_arguments: ReadCodeArguments, _workbench: Workbench) -> ToolOutcome:
    """Read lines of a file of a repository, numbered. revision: a branch, tag or commit; default: the main one."""
    return _LATER


async def search_code(_arguments: SearchCodeArguments, _workbench: Workbench) -> ToolOutcome:
    """Search a repository's files for an extended regular expression, line by line; path: only below it."""
    return _LATER


async def code_log(_arguments: CodeLogArguments, _workbench: Workbench) -> ToolOutcome:
    """List commits, newest first: of a path, with words in their message, or that added or removed some code."""
    return _LATER


async def code_blame(_arguments: LinesArguments, _workbench: Workbench) -> ToolOutcome:
    """Say for each line which commit it comes from, whose and when."""
    return _LATER


async def code_diff(_arguments: CodeDiffArguments, _workbench: Workbench) -> ToolOutcome:
    """Show what a commit changed, or what differs between two revisions (main...topic)."""
    return _LATER


async def line_history(_arguments: LinesArguments, _workbench: Workbench) -> ToolOutcome:
    """Show the earlier changes of these lines, newest first, with the commits' messages."""
    return _LATER


async def read_pull_request(_arguments: ReadRequestArguments, _workbench: Workbench) -> ToolOutcome:
    """Read a pull request (GitHub) or merge request (GitLab) with its diff and comments; part, path: only those."""
    return _LATER


async def post_review(_arguments: PostReviewArguments, _workbench: Workbench, _key: str) -> ToolOutcome:
    """Post a review on a pull or merge request, with comments at lines of the new files."""
    return _LATER


async def look_up(_arguments: PostReviewArguments, _workbench: Workbench, _key: str) -> ToolOutcome | None:
    return _LATER
