"""Reads the history of code: commits, blame, diffs, and earlier changes of the same lines."""

from __future__ import annotations

from specialists.tools.code.code_arguments import CodeDiffArguments, CodeLogArguments, LinesArguments
from specialists.tools.code.diff_text import summarize_diff
from specialists.tools.code.named_repositories import Repository
from specialists.tools.code.repository_reader import (
    MOST_SHOWN,
    RepositoryCallRefused,
    RepositoryReader,
    outcome,
    plain_path,
)
from specialists.tools.tool import ToolOutcome

MOST_LINES = 400
"""Lines whose blame or history one call may ask for."""
LARGEST_DIFF = 4 * 1024 * 1024
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")
_COMMIT_LINE = "%h %ad %an: %s"


async def code_log(arguments: CodeLogArguments, reader: RepositoryReader) -> ToolOutcome:
    """List commits, newest first. Raises RepositoryCallRefused."""
    repository = reader.find(arguments.repository)
    commit = await reader.resolve_commit(repository, arguments.revision)
    found = [f"--max-count={arguments.count}", "--date=short", f"--format={_COMMIT_LINE}"]
    if arguments.words:
        found += ["--fixed-strings", "--regexp-ignore-case", f"--grep={arguments.words}"]
    if arguments.code:
        found.append(f"-S{arguments.code}")
    below = ("--", path) if (path := plain_path(arguments.path)) else ()
    reply = await reader.git(repository, "log", *_PLAIN, *found, commit, *below)
    lines = reply.text.splitlines()
    if not lines:
        return ToolOutcome(f"No commit of {repository.name} before {commit[:10]} matches.")
    return outcome(f"Commits of {repository.name}{f', {path}' if below else ''}, newest first.", lines)


async def code_blame(arguments: LinesArguments, reader: RepositoryReader) -> ToolOutcome:
    """Show lines of a file, each with the commit that it comes from. Raises RepositoryCallRefused."""
    repository, commit, path = await _lines_of(arguments, reader)
    spot = f"-L{arguments.start},{arguments.end}"
    blame = ("blame", "--no-textconv", "--date=short", spot, commit, "--", path)
    reply = await reader.git(repository, *blame)
    if reply.code != 0:
        raise _refuse_missing_lines(repository, path, reply.error)
    return outcome(f"Who wrote {path} of {repository.name}, at {commit[:10]}.", reply.text.splitlines())


async def line_history(arguments: LinesArguments, reader: RepositoryReader) -> ToolOutcome:
    """Show the commits that changed some lines, each with its change of these lines. Raises RepositoryCallRefused."""
    repository, commit, path = await _lines_of(arguments, reader)
    spot = f"-L{arguments.start},{arguments.end}:{path}"
    form = "--format=%n%h %ad %an: %s%n%w(0,2,2)%b"
    reply = await reader.git(repository, "log", *_PLAIN, "--date=short", "--max-count=12", form, spot, commit)
    if reply.code != 0 and not reply.cut:
        raise _refuse_missing_lines(repository, path, reply.error)
    kept = [line for line in reply.text.splitlines() if not line.startswith(("diff --git", "--- ", "+++ "))]
    title = f"Changes of {path} of {repository.name}, lines {arguments.start} to {arguments.end}, newest first."
    return outcome(title, kept, more="ask for fewer lines")


async def code_diff(arguments: CodeDiffArguments, reader: RepositoryReader) -> ToolOutcome:
    """Show a diff, whole if it is short or of one path, otherwise its files and hunks. Raises RepositoryCallRefused."""
    repository = reader.find(arguments.repository)
    path = plain_path(arguments.path)
    about, text = await diff_of(reader, repository, arguments.revisions, path)
    if not text.strip():
        return ToolOutcome(f"{about}: nothing differs.")
    if len(text) <= MOST_SHOWN - 300 or path:
        return outcome(f"{about}.", text.splitlines(), more="read the file itself with read_code")
    return outcome(f"{about}, in brief: name a path to see its diff.", summarize_diff(text))


async def diff_of(reader: RepositoryReader, repository: Repository, revisions: str, path: str = "") -> tuple[str, str]:
    """Return a title for a diff, and its text. Raises RepositoryCallRefused if a revision does not exist."""
    below = ("--", path) if path else ()
    first, dots, second = revisions.strip().partition("..")
    if not dots:
        commit = await reader.resolve_commit(repository, first)
        log = ("show", *_PLAIN, "--date=short", f"--format={_COMMIT_LINE}%n%w(0,2,2)%b", commit, *below)
        reply = await reader.git(repository, *log, most=LARGEST_DIFF)
        return f"What {commit[:10]} changed in {repository.name}", reply.text
    old = await reader.resolve_commit(repository, first)
    new = await reader.resolve_commit(repository, second.removeprefix("."))
    between = f"{old}{'...' if second.startswith('.') else '..'}{new}"
    reply = await reader.git(repository, "diff", *_PLAIN, between, *below, most=LARGEST_DIFF)
    if reply.code != 0 and not reply.cut:
        raise RepositoryCallRefused(f"{first} and {second} cannot be compared: {reply.error[:200]}")
    return f"{first} to {second.removeprefix('.') or 'HEAD'} in {repository.name}", reply.text


async def _lines_of(arguments: LinesArguments, reader: RepositoryReader) -> tuple[Repository, str, str]:
    if arguments.end < arguments.start:
        raise RepositoryCallRefused("end comes before start.")
    if arguments.end - arguments.start >= MOST_LINES:
        raise RepositoryCallRefused(f"Ask for {MOST_LINES} lines at most.")
    repository = reader.find(arguments.repository)
    return repository, await reader.resolve_commit(repository, arguments.revision), plain_path(arguments.path)


def _refuse_missing_lines(repository: Repository, path: str, error: str) -> RepositoryCallRefused:
    said = error.splitlines()[-1:] or ["no such lines"]
    return RepositoryCallRefused(f"{repository.name}: {path}: {said[0].removeprefix('fatal: ')[:200]}")
