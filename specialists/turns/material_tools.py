"""Tools that read or search material that did not fit into the brief. They are offered only if there is any."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from handoff.contracts import Artifact, Material
from handoff.materials import passages
from handoff.materials.outline import find_part, name_place, summarize_outline
from specialists.tools.tool import Tool, ToolOutcome, Workbench

MAX_PART_CHARS = 6_000
"""Most characters of a part that one call returns."""
MAX_HITS, MAX_HITS_CHARACTERS = 8, 6_000
"""Most passages that a search returns, and most characters of all of them."""
MAX_OUTLINE_CHARS = 1_500
_NO_PART_MESSAGE = (
    "No part called {part!r} was found in {name}, which has: {outline}. search_material looks through all of it."
)


class ReadMaterialArguments(BaseModel):
    """The arguments of `read_material`."""

    model_config = ConfigDict(extra="forbid")
    name: str
    part: str = ""


class SearchMaterialArguments(BaseModel):
    """The arguments of `search_material`."""

    model_config = ConfigDict(extra="forbid")
    words: str = Field(min_length=1)


def make_reading_tools(materials: Sequence[Material], *, include_tables: bool) -> tuple[Tool, ...]:
    """Return the tools that read and search material, or none if it has no text.

    Tables count only with `include_tables`.
    """
    texts = tuple(one for one in materials if one.text and (include_tables or not one.is_table))
    return _MaterialTools(texts).tools if texts else ()


@dataclass(frozen=True, slots=True)
class _MaterialTools:
    """The reading tools over a fixed set of texts."""

    materials: tuple[Material, ...]

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools `read_material` and `search_material`."""
        return (
            Tool("read_material", "read", ReadMaterialArguments, self.read_material, public=True),
            Tool("search_material", "read", SearchMaterialArguments, self.search_material, public=True),
        )

    async def read_material(self, arguments: ReadMaterialArguments, workbench: Workbench) -> ToolOutcome:
        """Read more of a material by its name. part: a page, heading or sheet, line 120, or at 12000 (a character)."""
        material = self._find_material(arguments.name)
        if material is None:
            return ToolOutcome(f"There is no {arguments.name!r}. {self._describe_texts()}", failed=True)
        text = await read_full_text(material, workbench)
        if not text:
            return ToolOutcome(f"The text of {material.name} is no longer kept.", failed=True)
        part = find_part(text, material.outline, arguments.part, MAX_PART_CHARS)
        if part is None:
            outline = summarize_outline(material, MAX_OUTLINE_CHARS) or f"{len(text):,} characters"
            return ToolOutcome(
                _NO_PART_MESSAGE.format(part=arguments.part, name=material.name, outline=outline), failed=True
            )
        remaining_chars = len(text) - part.end
        more = f"\n[{remaining_chars:,} characters follow, from: at {part.end}]" if remaining_chars else ""
        place = name_place(text, material.outline, part.start)
        return ToolOutcome(f"[{material.name}, {place}]\n{text[part.start : part.end]}{more}", sources=(material.name,))

    async def search_material(self, arguments: SearchMaterialArguments, workbench: Workbench) -> ToolOutcome:
        """Find the passages of the material that hold these words, in the material's language; each with its place."""
        all_hits: list[tuple[float, Material, str, str]] = []
        for material in self.materials:
            text = await read_full_text(material, workbench)
            hits = await asyncio.to_thread(
                passages.find_best_passages, text, material.outline, arguments.words, MAX_HITS
            )
            for hit in hits:
                place = name_place(text, material.outline, hit.start)
                all_hits.append((hit.score, material, place, text[hit.start : hit.end].strip()))
        best = sorted(all_hits, key=lambda one: -one[0])[:MAX_HITS]
        if not best:
            return ToolOutcome(f"Nothing holds these words. Try others, or read. {self._describe_texts()}")
        lines: list[str] = []
        length = 0
        for _, material, place, words in best:
            length += len(words)
            if lines and length > MAX_HITS_CHARACTERS:
                break
            lines.append(f"[{material.name}, {place}]\n{words}")
        return ToolOutcome("\n\n".join(lines), sources=tuple(dict.fromkeys(one.name for _, one, _, _ in best)))

    def _find_material(self, name: str) -> Material | None:
        folded_name = " ".join(name.split()).casefold()
        matches = [one for one in self.materials if one.name.casefold() == folded_name]
        matches = matches or [one for one in self.materials if folded_name and folded_name in one.name.casefold()]
        return matches[0] if len(matches) == 1 or (matches and matches[0].name.casefold() == folded_name) else None

    def _describe_texts(self) -> str:
        descriptions = "; ".join(
            f"{one.name} ({summarize_outline(one, 200) or f'{one.size:,} characters'})" for one in self.materials
        )
        return f"There is: {descriptions}."


async def read_full_text(material: Material, workbench: Workbench) -> str:
    """Return the text of a material; empty if it is no longer kept."""
    try:
        path = await workbench.path(Artifact(id=material.text, name="text.txt"))
    except KeyError:
        return ""
    return await asyncio.to_thread(path.read_text, "utf-8", "replace")
