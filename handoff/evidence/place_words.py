"""Reads which section or page a sentence names, such as "section 7", "§ 7", "Seite 4" or "第7条". Pure.

The words for them are data. In a language that is not among them no place is read, and then none is called wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from handoff.contracts import Section

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|[\u3002\uff01\uff1f]|\n")
"""Where a sentence ends, within which a place or a row that is named belongs to a figure."""
Kind = Literal["section", "page"]
_WORDS: dict[Kind, str] = {
    "section": """
        section sections sec clause clauses article articles paragraph para chapter abschnitt abschnitte ziffer klausel
        artikel absatz paragraf paragraph kapitel clause article alinéa chapitre sección seccion cláusula clausula
        artículo articulo apartado párrafo capítulo sezione clausola articolo paragrafo capitolo secção seção artigo
        parágrafo sectie hoofdstuk lid sekcja klauzula artykuł paragraf rozdział ustęp punkt
    """,
    "page": "page pages pg seite seiten página pagina páginas paginas pagine bladzijde strona stronie",
}
_SPACED = re.compile(
    "|".join(
        rf"(?<![^\W\d_])(?P<{kind}>(?:{'|'.join(dict.fromkeys(words.split()))}))\.?[ \u00a0]{{0,2}}"
        rf"(?P<{kind}_number>\d{{1,4}})(?![\d%]|[.,]\d)"
        for kind, words in _WORDS.items()
    ),
    re.IGNORECASE,
)
_SIGNS = re.compile(
    r"§+\s?(?P<sign>\d{1,4})(?![\d%])|第\s?(?P<item>\d{1,4})\s?[条項節章款]|"
    r"第?\s?(?P<leaf>\d{1,4})\s?(?:ページ|頁|页)"
)
_NUMBERED = re.compile(
    r"^[ \t#*]*(?:(?:section|clause|article|abschnitt|ziffer|artikel|sección|cláusula|artículo|paragraf|punkt|§+)\s*"
    r"|第\s?)?(\d{1,3})(?:\s?[条項節章款]|[.):]|\s)\s*(?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
_PAGE = re.compile(r"(?:page|slide) (\d+)")


def find_named_places(sentence: str) -> list[tuple[Kind, int]]:
    """Return the sections and pages that a sentence names, by number."""
    text = unicodedata.normalize("NFKC", sentence)
    found: list[tuple[Kind, int]] = []
    for one in _SPACED.finditer(text):
        kind: Kind = "section" if one["section"] else "page"
        found.append((kind, int(one[f"{kind}_number"])))
    for one in _SIGNS.finditer(text):
        number = one["sign"] or one["item"]
        found.append(("section", int(number)) if number else ("page", int(one["leaf"])))
    return found


def spans_of(kind: Kind, text: str, outline: Sequence[Section]) -> dict[int, tuple[int, int]]:
    """Return where the numbered sections, or the pages, of a text begin and end; none if that is not certain.

    Sections are lines that begin with a number, each one more than the one before. If a number comes twice, a list
    inside a section may have it, and nothing is certain.
    """
    if kind == "page":
        starts = [(int(found[1]), one.start) for one in outline if (found := _PAGE.fullmatch(one.name))]
    else:
        starts = [(int(found[1]), found.start()) for found in _NUMBERED.finditer(text)]
    if len(starts) < 2 or [number for number, _ in starts] != list(range(1, len(starts) + 1)):
        return {}
    ends = [*(start for _, start in starts[1:]), len(text)]
    return {number: (start, end) for (number, start), end in zip(starts, ends, strict=True)}
