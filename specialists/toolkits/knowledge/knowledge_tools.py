"""The tools that search and read a crew's knowledge: its documents, indexed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from specialists.toolkits.tool import Tool, ToolOutcome, Workbench

NOT_SET_UP = (
    "No knowledge is set up here. Whoever runs the bot can put documents into the folder `knowledge` of the crew, or "
    "name a folder or addresses in LEADHAND_KNOWLEDGE."
)


class SearchKnowledge(BaseModel):
    """The arguments of `search_knowledge`."""

    model_config = ConfigDict(extra="forbid")
    query: str = Field(min_length=2, max_length=400)


class ReadKnowledge(BaseModel):
    """The arguments of `read_knowledge`."""

    model_config = ConfigDict(extra="forbid")
    document: str = Field(min_length=1, max_length=400)
    place: str = Field(default="", max_length=200)


async def search_knowledge(_arguments: SearchKnowledge, _workbench: Workbench) -> ToolOutcome:
    """Find passages of the house's documents by words, in their language; each with document, section, link."""
    return ToolOutcome(NOT_SET_UP, failed=True)


async def read_knowledge(_arguments: ReadKnowledge, _workbench: Workbench) -> ToolOutcome:
    """Read a document that search_knowledge found. place: a section, or at 6000 (a character)."""
    return ToolOutcome(NOT_SET_UP, failed=True)


UNSET = (
    Tool("search_knowledge", "read", SearchKnowledge, search_knowledge),
    Tool("read_knowledge", "read", ReadKnowledge, read_knowledge),
)
"""The tools where there is no knowledge: they say what to set up."""
