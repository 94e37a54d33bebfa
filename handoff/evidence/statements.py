"""Splits an answer into the sentences that a verifier is shown, each with a number. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handoff.evidence.place_words import SENTENCE_END

MOST = 80
"""Sentences of an answer that are read; a longer one is read as far as that."""
FEW_WORDS, FEW_SIGNS = 3, 6
"""A sentence of fewer words, or of fewer signs in a script without spaces, says nothing that can be checked."""
_CODE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_NO_SENTENCE = re.compile(r"\s*(?:#{1,6} |\||[-*_]{3,}\s*$)")
"""Headings, rows of tables (which code puts in and checks) and rules."""
_LIST_MARK = re.compile(r"^\s*(?:>\s*)?(?:[-*\u2022]|\d{1,3}[.)])\s+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")


def statements_of(answer: str) -> list[str]:
    """Return the sentences of an answer, in order, as it writes them: without headings, tables and code."""
    return list(dict.fromkeys(_sentences(answer)))[:MOST]


def _sentences(answer: str) -> Iterator[str]:
    for line in _CODE.sub("", answer).split("\n"):
        if _NO_SENTENCE.match(line):
            continue
        for sentence in SENTENCE_END.split(_LIST_MARK.sub("", line).replace("**", "")):
            text = sentence.strip(" \t*_")
            enough = len(text) >= FEW_SIGNS if _UNSPACED.search(text) else len(text.split()) >= FEW_WORDS
            if enough:
                yield text
