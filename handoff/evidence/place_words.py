"""Finds the sections and pages that a sentence names, such as "section 7", "§ 7", "Seite 4" or "第7条". Pure.

It knows the words for them in several languages. In any other language no place is found, so none is called wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from handoff.contracts import Section

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|[\u3002\uff01\uff1f]|\n")
"""The end of a sentence. A place or row that a sentence names belongs to the figures of the same sentence."""
PlaceKind = Literal["section", "page"]
_PLACE_WORDS: dict[PlaceKind, str] = {
    "section": """
        section sections sec clause clauses article articles paragraph para chapter abschnitt abschnitte ziffer klausel
        artikel absatz paragraf paragraph kapitel clause article alinéa chapitre sección seccion cláusula clausula
        artículo articulo apartado párrafo capítulo sezione clausola articolo paragrafo capitolo secção seção artigo
        parágrafo sectie hoofdstuk lid sekcja klauzula artykuł paragraf rozdział ustęp punkt
    """,
    "page": "page pages pg seite seiten página pagina páginas paginas pagine bladzijde strona stronie",
}
_WORD_PLACE = re.compile(
    "|".join(
        rf"(?<![^\W\d_])(?P<{kind}>(?:{'|'.join(dict.fromkeys(words.split()))}))\.?[ \u00a0]{{0,2}}"
        rf"(?P<{kind}_number>\d{{1,4}})(?![\d%]|[.,]\d)"
        for kind, words in _PLACE_WORDS.items()
    ),
    re.IGNORECASE,
)
_SIGN_PLACE = re.compile(
    r"§+\s?(?P<sign>\d{1,4})(?![\d%])|第\s?(?P<item>\d{1,4})\s?[条項節章款]|"
    r"第?\s?(?P<leaf>\d{1,4})\s?(?:ページ|頁|页)"
)
_NUMBERED_LINE = re.compile(
    r"^[ \t#*]*(?:(?:section|clause|article|abschnitt|ziffer|artikel|sección|cláusula|artículo|paragraf|punkt|§+)\s*"
    r"|第\s?)?(\d{1,3})(?:\s?[条項節章款]|[.):]|\s)\s*(?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
_PAGE_NAME = re.compile(r"(?:page|slide) (\d+)")


def find_named_places(sentence: str) -> list[tuple[PlaceKind, int]]:
    """Return the sections and pages that a sentence names, as pairs (kind, number)."""
    text = unicodedata.normalize("NFKC", sentence)
    places: list[tuple[PlaceKind, int]] = []
    for one in _WORD_PLACE.finditer(text):
        kind: PlaceKind = "section" if one["section"] else "page"
        places.append((kind, int(one[f"{kind}_number"])))
    for one in _SIGN_PLACE.finditer(text):
        number = one["sign"] or one["item"]
        places.append(("section", int(number)) if number else ("page", int(one["leaf"])))
    return places


def find_place_spans(kind: PlaceKind, text: str, outline: Sequence[Section]) -> dict[int, tuple[int, int]]:
    """Return the spans (start, end) of the sections, or of the pages, of a text by number; empty if not certain.

    A section begins with a numbered line. The numbers must be 1, 2, 3 and so on: otherwise they may belong to lists
    inside sections, and nothing is certain. Pages are those of the outline.
    """
    if kind == "page":
        starts = [(int(match[1]), one.start) for one in outline if (match := _PAGE_NAME.fullmatch(one.name))]
    else:
        starts = [(int(match[1]), match.start()) for match in _NUMBERED_LINE.finditer(text)]
    if len(starts) < 2 or [number for number, _ in starts] != list(range(1, len(starts) + 1)):
        return {}
    ends = [*(start for _, start in starts[1:]), len(text)]
    return {number: (start, end) for (number, start), end in zip(starts, ends, strict=True)}
