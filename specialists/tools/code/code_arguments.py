"""The arguments of the code tools: files, history, pull and merge requests, and reviews."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

LONGEST_PATH = 400
"""Most characters of a path that a tool accepts."""
_RepositoryName = Annotated[str, Field(max_length=60)]
_Path = Annotated[str, Field(max_length=LONGEST_PATH)]
_Revision = Annotated[str, Field(max_length=120)]
_Line = Annotated[int, Field(ge=1, le=1_000_000)]


class ListFilesArguments(BaseModel):
    """Arguments of list_files."""

    pattern: _Path = "**"
    repository: _RepositoryName = ""
    revision: _Revision = ""


class ReadCodeArguments(BaseModel):
    """Arguments of read_code."""

    path: _Path
    start: _Line = 1
    lines: int = Field(default=200, ge=1, le=1000)
    repository: _RepositoryName = ""
    revision: _Revision = ""


class SearchCodeArguments(BaseModel):
    """Arguments of search_code."""

    pattern: str = Field(min_length=1, max_length=200)
    path: _Path = ""
    repository: _RepositoryName = ""
    revision: _Revision = ""


class CodeLogArguments(BaseModel):
    """Arguments of code_log. `words` are searched in commit messages, `code` in added and removed lines."""

    path: _Path = ""
    words: str = Field(default="", max_length=200)
    code: str = Field(default="", max_length=200)
    count: int = Field(default=15, ge=1, le=60)
    repository: _RepositoryName = ""
    revision: _Revision = ""


class LinesArguments(BaseModel):
    """Arguments of code_blame and line_history: lines `start` to `end` of a file."""

    path: _Path
    start: _Line
    end: _Line
    repository: _RepositoryName = ""
    revision: _Revision = ""


class CodeDiffArguments(BaseModel):
    """Arguments of code_diff. `revisions` is a commit, or two with `..` or `...` between them."""

    revisions: str = Field(min_length=1, max_length=250)
    path: _Path = ""
    repository: _RepositoryName = ""


class ReadPullRequestArguments(BaseModel):
    """Arguments of read_pull_request. `link` is its address, or `repository#number`; `part` is the part to read."""

    link: str = Field(min_length=1, max_length=300)
    part: str = Field(default="all", pattern="^(all|about|comments|diff)$")
    path: _Path = ""


class LineComment(BaseModel):
    """A comment at a line of the new file."""

    path: _Path
    line: _Line
    text: str = Field(min_length=1, max_length=4000)


class PostReviewArguments(BaseModel):
    """Arguments of post_review."""

    link: str = Field(min_length=1, max_length=300)
    summary: str = Field(min_length=1, max_length=8000)
    comments: list[LineComment] = Field(default_factory=list, max_length=50)
