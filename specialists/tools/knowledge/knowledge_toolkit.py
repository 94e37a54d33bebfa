"""Knowledge as a toolkit: the folder `knowledge` beside a crew's specialists, or what the operator named for all."""

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
    """Make the toolkit of a crew's own folder; none if it is missing or empty. It takes the place of any other."""
    own = folder / FOLDER
    if not own.is_dir() or not any(own.iterdir()):
        return ()
    return (_make_toolkit(f"{FOLDER}/", Knowledge(own, settings.data), own),)


def make_knowledge_toolkit(settings: ToolSettings) -> Toolkit:
    """Make the toolkit of what the operator named, a folder or addresses; without, its tools say what to set up."""
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
