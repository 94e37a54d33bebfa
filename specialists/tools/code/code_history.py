"""Reads the history of code: commits, blame, diffs, and earlier changes of the same lines."""

from __future__ import annotations

from specialists.tools.code.code_arguments import CodeDiffArguments, CodeLogArguments, LinesArguments
from specialists.tools.code.diff_text import summarize_diff
from specialists.tools.code.named_repositories import Repository
from specialists.tools.code.repository_reader import (
    LONGEST_REPLY,
    RepositoryCallRefused,
    RepositoryReader,
    make_git_error,
    make_outcome,
    normalize_path,
)
from specialists.tools.tool import ToolOutcome

MAX_LINES = 400
"""Most lines whose blame or history one call may ask for."""
LARGEST_DIFF_BYTES = 4 * 1024 * 1024
_PLAIN_OUTPUT = ("--no-ext-diff", "--no-textconv", "--no-color")
_COMMIT_LINE = "%h %ad %an: %s"


async def list_commits(arguments: CodeLogArguments, reader: RepositoryReader) -> ToolOutcome:
    """List commits, newest first. Raises RepositoryCallRefused."""
    repository = reader.find_repository(arguments.repository)
    commit = await reader.resolve_commit(repository, arguments.revision)
    log_options = [f"--max-count={arguments.count}", "--date=short", f"--format={_COMMIT_LINE}"]
    if arguments.words:
        log_options += ["--fixed-strings", "--regexp-ignore-case", f"--grep={arguments.words}"]
    if arguments.code:
        log_options.append(f"-S{arguments.code}")
    below = ("--", path) if (path := normalize_path(arguments.path)) else ()
    reply = await reader.run_git(repository, "log", *_PLAIN_OUTPUT, *log_options, commit, *below)
    if reply.code != 0:
        raise make_git_error(repository, f"the commits before {commit[:10]} cannot be listed", reply.error)
    lines = reply.output.splitlines()
    if not lines:
        return ToolOutcome(f"No commit of {repository.name} before {commit[:10]} matches.")
    return make_outcome(f"Commits of {repository.name}{f', {path}' if below else ''}, newest first.", lines)


async def blame_lines(arguments: LinesArguments, reader: RepositoryReader) -> ToolOutcome:
    """Show lines of a file, each with the commit that it comes from. Raises RepositoryCallRefused."""
    repository, commit, path = await _resolve_lines(arguments, reader)
    line_range = f"-L{arguments.start},{arguments.end}"
    blame = ("blame", "--no-textconv", "--date=short", line_range, commit, "--", path)
    reply = await reader.run_git(repository, *blame)
    if reply.code != 0:
        raise make_git_error(repository, path, reply.error)
    return make_outcome(f"Who wrote {path} of {repository.name}, at {commit[:10]}.", reply.output.splitlines())


async def list_line_changes(arguments: LinesArguments, reader: RepositoryReader) -> ToolOutcome:
    """Show the last 12 commits that changed some lines, each with its diff of them. Raises RepositoryCallRefused."""
    repository, commit, path = await _resolve_lines(arguments, reader)
    line_range = f"-L{arguments.start},{arguments.end}:{path}"
    log_format = "--format=%n%h %ad %an: %s%n%w(0,2,2)%b"
    reply = await reader.run_git(
        repository, "log", *_PLAIN_OUTPUT, "--date=short", "--max-count=12", log_format, line_range, commit
    )
    if reply.code != 0 and not reply.is_cut:
        raise make_git_error(repository, path, reply.error)
    shown_lines = [line for line in reply.output.splitlines() if not line.startswith(("diff --git", "--- ", "+++ "))]
    title = f"Changes of {path} of {repository.name}, lines {arguments.start} to {arguments.end}, newest first."
    return make_outcome(title, shown_lines, more="ask for fewer lines")


async def show_diff(arguments: CodeDiffArguments, reader: RepositoryReader) -> ToolOutcome:
    """Show a diff, whole if it is short or of one path, otherwise its files and hunks. Raises RepositoryCallRefused."""
    repository = reader.find_repository(arguments.repository)
    path = normalize_path(arguments.path)
    title, text = await read_diff(reader, repository, arguments.revisions, path)
    if not text.strip():
        return ToolOutcome(f"{title}: nothing differs.")
    if len(text) <= LONGEST_REPLY - 300 or path:
        return make_outcome(f"{title}.", text.splitlines(), more="read the file itself with read_code")
    return make_outcome(f"{title}, in brief: name a path to see its diff.", summarize_diff(text))


async def read_diff(
    reader: RepositoryReader, repository: Repository, revisions: str, path: str = ""
) -> tuple[str, str]:
    """Return (title, text) of a diff, of one commit or of two revisions. Raises RepositoryCallRefused.

    Only the first `LARGEST_DIFF_BYTES` bytes of the text are returned.
    """
    path_arguments = ("--", path) if path else ()
    first, dots, second = revisions.strip().partition("..")
    if not dots:
        commit = await reader.resolve_commit(repository, first)
        log = ("show", *_PLAIN_OUTPUT, "--date=short", f"--format={_COMMIT_LINE}%n%w(0,2,2)%b", commit, *path_arguments)
        reply = await reader.run_git(repository, *log, max_output_bytes=LARGEST_DIFF_BYTES)
        if reply.code != 0:
            raise make_git_error(repository, f"the change of {commit[:10]} cannot be shown", reply.error)
        return f"What {commit[:10]} changed in {repository.name}", reply.output
    old = await reader.resolve_commit(repository, first)
    new = await reader.resolve_commit(repository, second.removeprefix("."))
    revision_range = f"{old}{'...' if second.startswith('.') else '..'}{new}"
    reply = await reader.run_git(
        repository, "diff", *_PLAIN_OUTPUT, revision_range, *path_arguments, max_output_bytes=LARGEST_DIFF_BYTES
    )
    if reply.code != 0 and not reply.is_cut:
        raise RepositoryCallRefused(f"{first} and {second} cannot be compared: {reply.error[:200]}")
    return f"{first} to {second.removeprefix('.') or 'HEAD'} in {repository.name}", reply.output


async def _resolve_lines(arguments: LinesArguments, reader: RepositoryReader) -> tuple[Repository, str, str]:
    if arguments.end < arguments.start:
        raise RepositoryCallRefused("end comes before start.")
    if arguments.end - arguments.start >= MAX_LINES:
        raise RepositoryCallRefused(f"Ask for {MAX_LINES} lines at most.")
    repository = reader.find_repository(arguments.repository)
    return repository, await reader.resolve_commit(repository, arguments.revision), normalize_path(arguments.path)
