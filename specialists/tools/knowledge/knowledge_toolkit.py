"""Makes the knowledge toolkits: of the folder `knowledge` of a crew, and of the setting `LEADHAND_KNOWLEDGE`."""

from __future__ import annotations

import hashlib
from pathlib import Path

from specialists.files.frontmatter import CrewFault
from specialists.tools.knowledge.knowledge_files import KNOWLEDGE_FOLDER
from specialists.tools.knowledge.knowledge_folder import KnowledgeFolder
from specialists.tools.knowledge.knowledge_pages import FetchedPages
from specialists.tools.knowledge.knowledge_tools import UNSET_TOOLS, tools
from specialists.tools.toolkit import Toolkit, ToolSettings

KNOWLEDGE_SETTING = "LEADHAND_KNOWLEDGE"


def make_crew_toolkits(folder: Path, settings: ToolSettings, _faults: list[CrewFault]) -> tuple[Toolkit, ...]:
    """Return the toolkit of a crew's own folder, which replaces the operator's; () if it is missing or empty."""
    knowledge_folder = folder / KNOWLEDGE_FOLDER
    if not knowledge_folder.is_dir() or not any(knowledge_folder.iterdir()):
        return ()
    return (_make_toolkit(f"{KNOWLEDGE_FOLDER}/", KnowledgeFolder(knowledge_folder, settings.data), knowledge_folder),)


def make_knowledge_toolkit(settings: ToolSettings) -> Toolkit:
    """Make the toolkit of the folder or addresses in `LEADHAND_KNOWLEDGE`; if unset, its tools say what to set up."""
    setting = settings.env.get(KNOWLEDGE_SETTING, "").strip()
    if not setting:
        return Toolkit("", UNSET_TOOLS)
    urls = [one for one in setting.replace(",", " ").split() if one.lower().startswith(("http://", "https://"))]
    if not urls:
        return _make_toolkit(KNOWLEDGE_SETTING, KnowledgeFolder(Path(setting).expanduser(), settings.data))
    key = hashlib.sha256(" ".join(sorted(urls)).encode()).hexdigest()[:12]
    pages = FetchedPages(urls, settings.data.expanduser() / "knowledge" / f"pages-{key}")
    return _make_toolkit(KNOWLEDGE_SETTING, KnowledgeFolder(pages.folder, settings.data, pages))


def _make_toolkit(origin: str, knowledge: KnowledgeFolder, crew_folder: Path | None = None) -> Toolkit:
    return Toolkit(
        origin,
        tools(knowledge),
        knowledge.check_documents,
        knowledge.close,
        background_task=knowledge.keep_updated,
        path=crew_folder,
        replaces=crew_folder is not None,
    )
