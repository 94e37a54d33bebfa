"""Makes the knowledge toolkit, of the folder `knowledge` in a crew's folder or of what the operator names for all."""

from __future__ import annotations

import hashlib
from pathlib import Path

from specialists.files.frontmatter import CrewFault
from specialists.tools.knowledge.knowledge import Knowledge
from specialists.tools.knowledge.knowledge_files import FOLDER
from specialists.tools.knowledge.knowledge_pages import FetchedPages
from specialists.tools.knowledge.knowledge_tools import UNSET, tools
from specialists.tools.toolkit import Toolkit, ToolSettings

SETTING = "LEADHAND_KNOWLEDGE"


def make_crew_toolkit(folder: Path, settings: ToolSettings, _faults: list[CrewFault]) -> tuple[Toolkit, ...]:
    """Return the toolkit of a crew's own folder, which replaces the operator's; () if there is no such folder."""
    own = folder / FOLDER
    if not own.is_dir() or not any(own.iterdir()):
        return ()
    return (_make_toolkit(f"{FOLDER}/", Knowledge(own, settings.data), own),)


def make_knowledge_toolkit(settings: ToolSettings) -> Toolkit:
    """Make the toolkit of the folder or addresses in `LEADHAND_KNOWLEDGE`; if unset, its tools say what to set up."""
    where = settings.env.get(SETTING, "").strip()
    if not where:
        return Toolkit("", UNSET)
    urls = [one for one in where.replace(",", " ").split() if one.lower().startswith(("http://", "https://"))]
    if not urls:
        return _make_toolkit(SETTING, Knowledge(Path(where).expanduser(), settings.data))
    key = hashlib.sha256(" ".join(sorted(urls)).encode()).hexdigest()[:12]
    pages = FetchedPages(urls, settings.data.expanduser() / "knowledge" / f"pages-{key}")
    return _make_toolkit(SETTING, Knowledge(pages.folder, settings.data, pages))


def _make_toolkit(origin: str, knowledge: Knowledge, own: Path | None = None) -> Toolkit:
    return Toolkit(
        origin,
        tools(knowledge),
        knowledge.prove,
        knowledge.close,
        beside=knowledge.keep_new,
        path=own,
        replaces=own is not None,
    )
