"""The index of a knowledge folder: one SQLite file with full-text search, shared by all processes of a machine.

SQLite's write-ahead log lets any number of processes search while one writes. The caller ensures that only one
writes. A damaged index is deleted and made anew.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from handoff.contracts import Section
from handoff.materials import passages
from handoff.materials.outline import name_place
from specialists.tools.knowledge.knowledge_reading import KnowledgeDocument

MAX_WORDS = 12
"""Most words of a question that are searched: its longest, since short words occur everywhere."""
_MIN_PREFIX_LETTERS = 5
"""A word of at least this many letters also finds longer words that begin with it: plurals, compounds."""
_WORD = re.compile(r"[^\W_]+")
_UMLAUTS = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"))


def list_words(question: str) -> list[str]:
    """List the words of a question in lower case, each once, longest first, at most `MAX_WORDS`."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(question)))
    return sorted(words, key=lambda word: -len(word))[:MAX_WORDS]


def make_match_query(words: list[str], *, all_words: bool) -> str:
    """Return the FTS5 query for passages with every word, or with any of them; "" if there are no words."""
    groups = [" OR ".join(_quote_word(one) for one in sorted(list_spellings(word))) for word in words]
    return (" AND " if all_words else " OR ").join(f"({group})" for group in groups)


def list_spellings(word: str) -> set[str]:
    """Return the spellings that a word may have in the index: with `ss` for ß, `ue` for ü, and the other way round.

    The index itself only drops accents: it stores `Müller` as `muller`.
    """
    expanded_word, contracted_word = word, word
    for umlaut, pair in _UMLAUTS:
        expanded_word, contracted_word = expanded_word.replace(umlaut, pair), contracted_word.replace(pair, umlaut)
    return {
        spelling
        for one in (word, expanded_word, contracted_word)
        for spelling in (one, one.replace("ß", "ss"), one.replace("ss", "ß"))
    }


def _quote_word(word: str) -> str:
    return f'"{word}"{" *" if len(word) >= _MIN_PREFIX_LETTERS else ""}'


INDEX_VERSION = 1
"""The version of the tables below and of their contents. It is part of the file's name: a new one begins a new file."""
NO_FTS5_MESSAGE = (
    "The knowledge cannot be searched: SQLite was built without FTS5 here. Use another build of Python, or set "
    "LEADHAND_KNOWLEDGE to nothing and take the folder out."
)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents(
    id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, state TEXT NOT NULL, title TEXT, link TEXT, text BLOB,
    outline TEXT, fault TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts5(
    title, section, text, tokenize = 'porter unicode61 remove_diacritics 2', prefix = '5');
CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value TEXT);
"""
_ROWID_SHIFT = 20
"""A passage's rowid is its document's id, shifted left by so many bits, plus its number in the document.

So the passages of a document are one range of rowids.
"""
_MAX_RANKED_PASSAGES = 2_500
"""Most passages that one search ranks, so that a question of common words takes no longer than any other."""
_SEARCH_SQL = f"""
SELECT d.path, d.title, d.link, p.section, p.text, f.row FROM (
    SELECT rowid AS row, bm25(passages, 4.0, 3.0, 1.0) AS score FROM passages WHERE passages MATCH ? LIMIT ?) f
JOIN passages p ON p.rowid = f.row JOIN documents d ON d.id = f.row >> {_ROWID_SHIFT} ORDER BY f.score LIMIT ?
"""  # noqa: S608  # a number of ours
_COUNT_MATCHES_SQL = "SELECT count(*) FROM (SELECT 1 FROM passages WHERE passages MATCH ? LIMIT ?)"
_INSERT_SQL = "INSERT INTO documents(path, state, title, link, text, outline, fault) VALUES (?, ?, ?, ?, ?, ?, ?)"
_LINE_PREFIX = re.compile(r"line [\d,]+: ")
_NUMBERED_SECTION = re.compile(r"(?:page|slide) \d+\b|sheet .+|line [\d,]+$")
"""Sections without a heading, which are cited by their number or sheet."""
_LOCK_WAIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class KnowledgeHit:
    """A passage that a search found. `section` is its place as it is cited, such as `page 3`; `link` may be empty."""

    path: str
    title: str
    link: str
    section: str
    text: str

    @property
    def citation(self) -> str:
        """The place as people cite it: `handbook/vpn.md, section "Reset"`."""
        return f"{self.path}, {self.section}" if self.section else self.path


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document as the index stores it; `link` may be empty."""

    path: str
    title: str
    link: str
    text: str
    outline: tuple[Section, ...]


def has_fts5() -> bool:
    """Return whether this Python's SQLite has full-text search (FTS5)."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        return ("ENABLE_FTS5",) in database.execute("PRAGMA compile_options").fetchall()


class KnowledgeIndex:
    """The index in a file, which is made at the first call. All methods block: call them in a thread."""

    def __init__(self, file: Path) -> None:
        self._file = file

    # ------------------------------------------------------------ searching

    def search(self, question: str, most: int) -> list[KnowledgeHit]:
        """Return up to `most` passages, best first: those with all words of the question before those with some."""
        words = list_words(question)
        if not words:
            return []
        with self._open_transaction() as database:
            rows = database.execute(
                _SEARCH_SQL, (make_match_query(words, all_words=True), _MAX_RANKED_PASSAGES, most)
            ).fetchall()
            rare_words = _choose_rare_words(database, words) if len(rows) < most and len(words) > 1 else []
            if rare_words:
                seen_rowids = {row[-1] for row in rows}
                more = database.execute(
                    _SEARCH_SQL, (make_match_query(rare_words, all_words=False), _MAX_RANKED_PASSAGES, most)
                ).fetchall()
                rows += [row for row in more if row[-1] not in seen_rowids]
        return [KnowledgeHit(*row[:-1]) for row in rows[:most]]

    def find_document(self, path: str) -> IndexedDocument | None:
        """Return the document with this path, title or end of a path; None if no document, or several, match."""
        with self._open_transaction() as database:
            columns = "SELECT path, title, link, text, outline FROM documents WHERE fault = '' AND "
            rows = database.execute(f"{columns} path = ?", (path,)).fetchall()
            if not rows:
                escaped_path = path.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
                search_sql = f"{columns} (title = ? OR path LIKE ? ESCAPE '\\') LIMIT 2"
                rows = database.execute(search_sql, (path, f"%{escaped_path}")).fetchall()
        if len(rows) != 1:
            return None
        name, title, link, text, outline = rows[0]
        sections = tuple(Section(name=section, start=start) for section, start in json.loads(outline))
        return IndexedDocument(name, title, link, zlib.decompress(text).decode(), sections)

    def list_similar_paths(self, path: str, most: int) -> list[str]:
        """List up to `most` paths of documents that contain the file name of a path that does not exist."""
        name = path.rpartition("/")[2].partition(".")[0].replace("%", "").replace("_", "")
        with self._open_transaction() as database:
            ask = "SELECT path FROM documents WHERE fault = '' AND path LIKE ? ORDER BY path LIMIT ?"
            return [row[0] for row in database.execute(ask, (f"%{name}%", most))]

    # ------------------------------------------------------------ progress

    def count_documents(self) -> int:
        """Count the documents that can be searched."""
        with self._open_transaction() as database:
            return int(database.execute("SELECT count(*) FROM documents WHERE fault = ''").fetchone()[0])

    def list_faults(self) -> list[tuple[str, str]]:
        """List the documents that could not be read, as (path, reason)."""
        with self._open_transaction() as database:
            return list(database.execute("SELECT path, fault FROM documents WHERE fault != '' ORDER BY path"))

    def read_fact(self, name: str) -> str:
        """Return the value that `write_facts` stored under a name; "" if there is none."""
        with self._open_transaction() as database:
            row = database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    # ------------------------------------------------------------ writing

    def write_facts(self, **facts: str) -> None:
        """Store values by name, for all processes that share the index."""
        with self._open_transaction() as database:
            database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    def list_file_states(self) -> Mapping[str, str]:
        """Return the `KnowledgeFile.state` of each document in the index, by path."""
        with self._open_transaction() as database:
            return dict(database.execute("SELECT path, state FROM documents").fetchall())

    def remove_documents(self, paths: Sequence[str]) -> None:
        """Remove documents from the index."""
        with self._open_transaction() as database:
            for path in paths:
                _remove_document(database, path)

    def index_documents(self, documents: Sequence[KnowledgeDocument]) -> None:
        """Add documents to the index, in place of their earlier versions."""
        with self._open_transaction() as database:
            for one in documents:
                _remove_document(database, one.file.path)
                outline = json.dumps([(section.name, section.start) for section in one.outline])
                values = (one.file.path, one.file.state, one.title, one.link, zlib.compress(one.text.encode(), 1))
                document_id = database.execute(_INSERT_SQL, (*values, outline, one.fault)).lastrowid
                database.executemany(
                    "INSERT INTO passages(rowid, title, section, text) VALUES (?, ?, ?, ?)",
                    (
                        ((int(document_id or 0) << _ROWID_SHIFT) + n, *passage)
                        for n, passage in enumerate(_iterate_passages(one))
                    ),
                )

    @contextlib.contextmanager
    def _open_transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, which is committed at the end and rolled back if the block raises."""
        with contextlib.closing(self._open_or_rebuild()) as database, database:
            yield database

    def _open_or_rebuild(self) -> sqlite3.Connection:
        try:
            return self._open_database()
        except sqlite3.OperationalError:  # the file is locked or the disk full, but it need not be damaged
            raise
        except sqlite3.DatabaseError:
            for ending in ("", "-wal", "-shm"):
                self._file.with_name(self._file.name + ending).unlink(missing_ok=True)
            return self._open_database()

    def _open_database(self) -> sqlite3.Connection:
        new = not self._file.exists()
        if new:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        database = sqlite3.connect(self._file, timeout=_LOCK_WAIT_SECONDS)
        try:
            if new:
                database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            if new or not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'facts'").fetchone():
                database.executescript(_SCHEMA)
        except BaseException:
            database.close()
            raise
        return database


def _choose_rare_words(database: sqlite3.Connection, words: list[str]) -> list[str]:
    """Choose the rarest words, as long as fewer than `_MAX_RANKED_PASSAGES` passages hold them in all.

    Words that no passage holds are left out. A common word says little, and ranking its passages takes long.
    """
    passage_counts = {
        one: database.execute(
            _COUNT_MATCHES_SQL, (make_match_query([one], all_words=True), _MAX_RANKED_PASSAGES)
        ).fetchone()[0]
        for one in words
    }
    rare_words, remaining_passages = [], _MAX_RANKED_PASSAGES
    for word in sorted((one for one in words if passage_counts[one]), key=lambda one: int(passage_counts[one])):
        remaining_passages -= passage_counts[word]
        if remaining_passages <= 0:
            break
        rare_words.append(word)
    return rare_words


def _remove_document(database: sqlite3.Connection, path: str) -> None:
    row = database.execute("SELECT id FROM documents WHERE path = ?", (path,)).fetchone()
    if row is not None:
        database.execute(
            "DELETE FROM passages WHERE rowid BETWEEN ? AND ?",
            (row[0] << _ROWID_SHIFT, ((row[0] + 1) << _ROWID_SHIFT) - 1),
        )
        database.execute("DELETE FROM documents WHERE id = ?", row)


def _iterate_passages(document: KnowledgeDocument) -> Iterator[tuple[str, str, str]]:
    """Yield title, section and text of each passage of a document."""
    for start, end in passages.split_passages(document.text, document.outline)[: 1 << _ROWID_SHIFT]:
        yield (
            document.title,
            format_section(name_place(document.text, document.outline, start)),
            document.text[start:end].strip(),
        )


def format_section(name: str) -> str:
    """Format the name of a section as it is cited: `section "Reset"`, `page 3`, `line 120`."""
    if match := _NUMBERED_SECTION.match(name):
        return match[0]
    return f'section "{_LINE_PREFIX.sub("", name)}"' if name else ""
