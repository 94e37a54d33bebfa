"""The text of a Word paragraph: what stands there once all tracked changes are accepted, and nothing hidden."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as ET

from specialists.reading.xml_package import local_name, value_of

_GONE = frozenset({"del", "moveFrom"})
_LEFT_OUT = frozenset({"instrText", "delText", "Fallback", "pPr", "rPr", "sdtPr", "tblPr", "trPr", "tcPr"})
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_REFERENCES = {"footnoteReference": "note", "endnoteReference": "end note", "commentReference": "comment"}
_PICTURES = frozenset({"pic", "imagedata"})
_NO = ("0", "false", "off")


class Runs:
    """Reads paragraphs, and counts what is no text in them."""

    def __init__(self, links: Mapping[str, str]) -> None:
        """Know the addresses of links by their ids."""
        self._links = links
        self._deleted = self._hidden = self._pictures = 0
        self._numbers: dict[tuple[str, str], int] = {}

    def text_of(self, paragraph: ET.Element) -> tuple[str, list[ET.Element]]:
        """Give the text of a paragraph, and the boxes in it, which hold paragraphs of their own."""
        pieces: list[str] = []
        boxes: list[ET.Element] = []
        self._collect(paragraph, pieces, boxes)
        return "".join(pieces).strip(), boxes

    def gaps(self) -> list[str]:
        """Say what is no part of the text."""
        said = []
        if self._deleted:
            said.append(f"tracked deletions are left out, in {self._deleted:,} places, as if they were accepted")
        if self._hidden:
            said.append(f"hidden text is left out, in {self._hidden:,} places")
        if self._pictures:
            said.append(f"{self._pictures:,} picture{'s' * (self._pictures > 1)} in it not looked at")
        return said

    def _collect(self, element: ET.Element, pieces: list[str], boxes: list[ET.Element]) -> None:
        for part in element:
            kind = local_name(part)
            if kind in _GONE:
                self._deleted += 1
            elif kind == "txbxContent":
                boxes.append(part)
            elif kind == "r" and _is_hidden(part):
                self._hidden += 1
            elif kind not in _LEFT_OUT:
                pieces.append(self._sign(part, kind))
                self._pictures += kind in _PICTURES
                self._collect(part, pieces, boxes)
                if kind == "hyperlink" and (address := self._links.get(value_of(part, "id"))):
                    pieces.append("" if address in "".join(pieces) else f" ({address.removeprefix('mailto:')})")

    def _sign(self, part: ET.Element, kind: str) -> str:
        """Give what an element itself stands for; most stand for nothing but what is in them."""
        if kind == "t":
            return part.text or ""
        if word := _REFERENCES.get(kind):
            return f"[{word} {self.number_of(word, value_of(part, 'id'))}]"
        return _SIGNS.get(kind, "")

    def number_of(self, word: str, key: str) -> int:
        """Give the number that people see of a note or comment: the file has another, which nobody sees."""
        return self._numbers.setdefault((word, key), 1 + sum(kind == word for kind, _ in self._numbers))


def _is_hidden(run: ET.Element) -> bool:
    for part in run:
        if local_name(part) == "rPr":
            return any(local_name(one) == "vanish" and value_of(one, "val") not in _NO for one in part)
    return False
