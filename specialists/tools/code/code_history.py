"""Reads the history of code: commits, blame, diffs, and earlier changes of the same lines."""

from __future__ import annotations

from specialists.tools.code.code_arguments import CodeDiffArguments, CodeLogArguments, LinesArguments
from specialists.tools.code.diff_text import summarize_diff
from specialists.tools.code.named_repositories import Repository
from specialists.tools.code.repository_reader import (
    LONGEST_REPLY,
    RepositoryCallRefused,
    RepositoryReader,
    make_outcome,
    normalize_path,
)
from specialists.tools.tool import ToolOutcome

MAX_LINES = 400
"""Lines whose blame or history one call may ask for."""
LARGEST_DIFF_BYTES = 4 * 1024 * 1024
_PLAIN_OUTPUT = ("--no-ext-diff", "--no-textconv", "--no-color")
_COMMIT_LINE = "%h %ad %an: %s"


async def list_commits(arguments: CodeLogArguments, reader: RepositoryReader) -> ToolOutcome:
    """List commits, newest first. Raises RepositoryCallRefused."""
    repository = reader.find_repository(arguments.repository)
    commit = await reader.resolve_commit(repository, arguments.revision)
    found = [f"--max-count={arguments.count}", "--date=short", f"--format={_COMMIT_LINE}"]
    if arguments.words:
        found += ["--fixed-strings", "--regexp-ignore-case", f"--grep={arguments.words}"]
    if arguments.code:
        found.append(f"-S{arguments.code}")
    below = ("--", path) if (path := normalize_path(arguments.path)) else ()
    reply = await reader.run_git(repository, "log", *_PLAIN_OUTPUT, *found, commit, *below)
    lines = reply.output.splitlines()
    if not lines:
        return ToolOutcome(f"No commit of {repository.name} before {commit[:10]} matches.")
    return make_outcome(f"Commits of {repository.name}{f', {path}' if below else ''}, newest first.", lines)


async def blame_lines(arguments: LinesArguments, reader: RepositoryReader) -> ToolOutcome:
    """Show lines of a file, each with the commit that it comes from. Raises RepositoryCallRefused."""
    repository, commit, path = await _resolve_lines(arguments, reader)
    spot = f"-L{arguments.start},{arguments.end}"
    blame = ("blame", "--no-textconv", "--date=short", spot, commit, "--", path)
    reply = await reader.run_git(repository, *blame)
    if reply.code != 0:
        raise _make_missing_lines_error(repository, path, reply.error)
    return make_outcome(f"Who wrote {path} of {repository.name}, at {commit[:10]}.", reply.output.splitlines())


async def list_line_changes(arguments: LinesArguments, reader: RepositoryReader) -> ToolOutcome:
    """Show the commits that changed some lines, each with its change of these lines. Raises RepositoryCallRefused."""
    repository, commit, path = await _resolve_lines(arguments, reader)
    spot = f"-L{arguments.start},{arguments.end}:{path}"
    form = "--format=%n%h %ad %an: %s%n%w(0,2,2)%b"
    reply = await reader.run_git(
        repository, "log", *_PLAIN_OUTPUT, "--date=short", "--max-count=12", form, spot, commit
    )
    if reply.code != 0 and not reply.is_cut:
        raise _make_missing_lines_error(repository, path, reply.error)
    kept = [line for line in reply.output.splitlines() if not line.startswith(("diff --git", "--- ", "+++ "))]
    title = f"Changes of {path} of {repository.name}, lines {arguments.start} to {arguments.end}, newest first."
    return make_outcome(title, kept, more="ask for fewer lines")


async def show_diff(arguments: CodeDiffArguments, reader: RepositoryReader) -> ToolOutcome:
    """Show a diff, whole if it is short or of one path, otherwise its files and hunks. Raises RepositoryCallRefused."""
    repository = reader.find_repository(arguments.repository)
    path = normalize_path(arguments.path)
    about, text = await read_diff(reader, repository, arguments.revisions, path)
    if not text.strip():
        return ToolOutcome(f"{about}: nothing differs.")
    if len(text) <= LONGEST_REPLY - 300 or path:
        return make_outcome(f"{about}.", text.splitlines(), more="read the file itself with read_code")
    return make_outcome(f"{about}, in brief: name a path to see its diff.", summarize_diff(text))


async def read_diff(
    reader: RepositoryReader, repository: Repository, revisions: str, path: str = ""
) -> tuple[str, str]:
    """Return a title for a diff, and its text. Raises RepositoryCallRefused if a revision does not exist."""
    below = ("--", path) if path else ()
    first, dots, second = revisions.strip().partition("..")
    if not dots:
        commit = await reader.resolve_commit(repository, first)
        log = ("show", *_PLAIN_OUTPUT, "--date=short", f"--format={_COMMIT_LINE}%n%w(0,2,2)%b", commit, *below)
        reply = await reader.run_git(repository, *log, most_bytes=LARGEST_DIFF_BYTES)
        return f"What {commit[:10]} changed in {repository.name}", reply.output
    old = await reader.resolve_commit(repository, first)
    new = await reader.resolve_commit(repository, second.removeprefix("."))
    between = f"{old}{'...' if second.startswith('.') else '..'}{new}"
    reply = await reader.run_git(repository, "diff", *_PLAIN_OUTPUT, between, *below, most_bytes=LARGEST_DIFF_BYTES)
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


def _make_missing_lines_error(repository: Repository, path: str, error: str) -> RepositoryCallRefused:
    said = error.splitlines()[-1:] or ["no such lines"]
    return RepositoryCallRefused(f"{repository.name}: {path}: {said[0].removeprefix('fatal: ')[:200]}")
