"""Collects what a specialist could read for its result: the brief, the whole texts of its material, tools' replies."""

from __future__ import annotations

from handoff.contracts import Handoff, Material
from handoff.evidence.evidence_check import SourceDocument
from specialists.tools.tool import Workbench
from specialists.turns.conversation import Conversation
from specialists.turns.material_tools import read_full_text


class AttemptSources:
    """The sources of one attempt. Texts of material are read once, when they are first needed.

    Args:
        handoff: All that the specialist was given.
        workbench: Where the texts of material are kept.
        brief: The brief as the specialist read it.
        conversation: Holds the tools' replies.
    """

    def __init__(self, handoff: Handoff, workbench: Workbench, brief: str, conversation: Conversation) -> None:
        self._handoff = handoff
        self._workbench = workbench
        self._brief = brief
        self._conversation = conversation
        self._materials: list[SourceDocument] | None = None

    async def load_documents(self) -> list[SourceDocument]:
        """Return the sources as documents, material first. A text that is no longer kept is empty."""
        if self._materials is None:
            materials = (*self._handoff.given_whole, *self._handoff.readable)
            self._materials = [await self._load_document(one) for one in materials if one.kind != "request"]
        return [
            *self._materials,
            *self._conversation.replies,
            SourceDocument("the brief", self._brief_without_tables, is_material=False, is_brief=True),
        ]

    @property
    def _brief_without_tables(self) -> str:
        """The brief without the tables that it quotes whole, whose figures are checked by their rows."""
        text = self._brief
        for one in self._materials or ():
            text = text.replace(one.text.strip(), "") if one.is_table and one.text.strip() else text
        return text

    async def _load_document(self, material: Material) -> SourceDocument:
        text = await read_full_text(material, self._workbench)
        return SourceDocument(material.name, text, material.outline, is_table=material.is_table)
