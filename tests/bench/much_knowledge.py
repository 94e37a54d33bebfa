"""10,000 documents of 3,000 characters: how long the first index takes, and a search."""

from __future__ import annotations

import itertools
import random
import sqlite3
import time
from pathlib import Path

from specialists.tools.knowledge.knowledge_folder import KnowledgeFolder
from tests.bench.stage import compare
from tests.proof_kit import row

DOCUMENTS, WORDS, SEARCHES = 10_000, 430, 200
INDEX_BAR, SEARCH_BAR = 4.0, 4.0


async def much_knowledge(data: Path) -> None:
    """Index a made handbook beside a bare FTS5 table, and search it for rare words and for common ones."""
    dice = random.Random(7)
    words = ["".join(dice.choice("abcdefghiklmnoprstuvwz") for _ in range(dice.randint(3, 10))) for _ in range(20_000)]
    weights = [1 / (place + 1) for place in range(len(words))]
    folder = data / "handbook"
    for number in range(DOCUMENTS):
        path = folder / str(number % 100) / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_document(number, dice.choices(words, weights, k=WORDS)))
    knowledge = KnowledgeFolder(folder, data / "index")
    marks = [time.perf_counter()]
    await knowledge.update_index()
    marks.append(time.perf_counter())
    plain = _index_by_hand(folder, data / "by-hand.sqlite")
    marks.append(time.perf_counter())
    await knowledge.update_index()
    marks.append(time.perf_counter())
    ours, hand, again = (until - since for since, until in itertools.pairwise(marks))
    compare(f"first index of {DOCUMENTS:,} documents", [ours], [hand], INDEX_BAR)
    row("a look that finds nothing new", f"{again * 1000:.0f} ms")
    spans, hands = [], []
    for number in range(SEARCHES):
        common = dice.choices(words, weights, k=6)
        question = f"how do i {' '.join(common)}" if number % 2 else " ".join(dice.choices(words[:2000], k=3))
        start = time.perf_counter()
        await knowledge.search(question, 24)
        between = time.perf_counter()
        _search_by_hand(plain, question)
        spans.append(between - start)
        hands.append(time.perf_counter() - between)
    plain.close()
    compare("a search", spans, hands, SEARCH_BAR, "ms")
    row("  99 of 100", f"{sorted(spans)[int(0.99 * len(spans))] * 1000:.1f} ms")


def _index_by_hand(folder: Path, file: Path) -> sqlite3.Connection:
    """Read the same documents into an FTS5 table, a row each: what anybody writes first."""
    database = sqlite3.connect(file)
    database.execute("CREATE VIRTUAL TABLE documents USING fts5(path, text)")
    rows = ((str(path), path.read_text()) for path in sorted(folder.rglob("*.md")))
    database.executemany("INSERT INTO documents VALUES (?, ?)", rows)
    database.commit()
    return database


def _search_by_hand(database: sqlite3.Connection, question: str) -> None:
    """Ask that table for the best 24 documents with any of the words."""
    wanted = " OR ".join(f'"{word}"' for word in question.split())
    sql = "SELECT path, snippet(documents, 1, '', '', '', 40) FROM documents WHERE documents MATCH ? ORDER BY rank"
    database.execute(f"{sql} LIMIT 24", (wanted,)).fetchall()


def _document(number: int, words: list[str]) -> str:
    parts = [f"# Document {number} {words[5]}"]
    for place in range(0, len(words), 60):
        parts += [f"## {' '.join(words[place : place + 3])}"] if place % 120 == 0 else []
        parts.append(f"{' '.join(words[place : place + 60])}.")
    return "\n\n".join(parts)
