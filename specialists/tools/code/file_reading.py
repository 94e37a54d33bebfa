"""Reads the files of a repository at one of its commits: their names, their lines, and what stands in them."""

from __future__ import annotations

import re
from collections import Counter

from specialists.tools.code.code_arguments import ListFilesArguments, ReadCodeArguments, SearchCodeArguments
from specialists.tools.code.repository_reader import RepositoryCallRefused, RepositoryReader, outcome, plain_path
from specialists.tools.tool import ToolOutcome

LARGEST_FILE = 2 * 1024 * 1024
MOST_NAMES = 300
MOST_WILD = 17
_WILD = re.compile(r"(\*\*/|\*\*|\*|\?)")
_GLOB = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


async def list_files(arguments: ListFilesArguments, reader: RepositoryReader) -> ToolOutcome:
    """List the names that a pattern fits, or those of the folders if they are many. Raises Refused."""
    repository = reader.find(arguments.repository)
    commit = await reader.commit(repository, arguments.revision)
    reply = await reader.git(repository, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    names = [name for name in reply.text.split("\0") if name]
    pattern = plain_path(arguments.pattern) or "**"
    fits = _compile_glob(pattern)
    found = [name for name in names if fits.match(name)]
    title = f"{len(found):,} of {len(names):,}{'+' if reply.cut else ''} files of {repository.name} at {commit[:10]}."
    if len(found) <= MOST_NAMES:
        return outcome(title, found, more="name a folder")
    fixed = re.split(r"[*?]", f"{pattern}/", maxsplit=1)[0]
    depth = fixed.count("/") + 1
    folders = Counter("/".join(name.split("/")[:depth]) for name in found)
    return outcome(title, [f"{name} ({count:,})" if count > 1 else name for name, count in folders.items()])


def _compile_glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob, in which `**/` may stand for no folder at all. A folder stands for all in it. Raises Refused."""
    pieces = _WILD.split(pattern)
    if len(pieces) == 1:
        return re.compile(rf"{re.escape(pattern)}(/.*)?\Z")
    if len(pieces) > MOST_WILD:
        raise RepositoryCallRefused("That pattern has too many stars.")
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    return re.compile(anywhere + "".join(_GLOB.get(piece, re.escape(piece)) for piece in pieces) + r"\Z")


async def read_code(arguments: ReadCodeArguments, reader: RepositoryReader) -> ToolOutcome:
    """Give lines of a file with their numbers. Raises Refused."""
    repository = reader.find(arguments.repository)
    commit = await reader.commit(repository, arguments.revision)
    path = plain_path(arguments.path)
    reply = await reader.git(repository, "cat-file", "blob", f"{commit}:{path}", most=LARGEST_FILE)
    if reply.code != 0 and not reply.cut:
        raise RepositoryCallRefused(f"{repository.name} has no file {path!r} at {commit[:10]}; look with list_files.")
    if "\0" in reply.text[:8_000]:
        raise RepositoryCallRefused(f"{path} is no text.")
    lines = reply.text.splitlines()
    if arguments.start > max(1, len(lines)):
        raise RepositoryCallRefused(f"{path} has only {len(lines):,} lines.")
    end = min(len(lines), arguments.start + arguments.lines - 1)
    title = f"{path} of {repository.name} at {commit[:10]}, lines {arguments.start} to {end} of {len(lines):,}."
    numbered = [f"{number}\t{lines[number - 1]}" for number in range(arguments.start, end + 1)]
    address = repository.line(commit, path, arguments.start)
    return outcome(title, numbered, more="call again with a later start", sources=(address,) if address else ())


async def search_code(arguments: SearchCodeArguments, reader: RepositoryReader) -> ToolOutcome:
    """Give the lines that a pattern is found in, with file and number. Raises Refused."""
    repository = reader.find(arguments.repository)
    commit = await reader.commit(repository, arguments.revision)
    below = ("--", path) if (path := plain_path(arguments.path)) else ()
    how = ("grep", "-n", "-I", "-E", "--no-textconv", "--full-name", "-m", "20", "--no-color")
    reply = await reader.git(repository, *how, "-e", arguments.pattern, commit, *below, most=400_000)
    if reply.code not in {0, 1}:
        said = reply.error.splitlines()[-1:] or ["git gave no reason"]
        raise RepositoryCallRefused(f"That pattern cannot be searched for: {said[0][:200]}")
    hits = [line.removeprefix(f"{commit}:").strip() for line in reply.text.splitlines()]
    if not hits:
        return ToolOutcome(f"Nothing in {repository.name} at {commit[:10]} matches.")
    title = f"{len(hits):,}{'+' if reply.cut else ''} lines of {repository.name} at {commit[:10]}."
    return outcome(title, hits, more="a narrower pattern or a path shows them")
