"""Finds the specialists and inner crews in a crew's folder, and files in the wrong place."""

from __future__ import annotations

from pathlib import Path

from specialists.files.frontmatter import CrewFault
from specialists.loading.crew_file import FILE_NAME
from specialists.loading.skill_folders import FILE_NAME as SKILL

NON_SPECIALIST_FOLDERS = ("demo", "evaluation", "knowledge", "skills", "toolkits")
"""Folders at the top of a crew's folder that hold no specialists and no inner crews."""
NON_SPECIALIST_FILES = ("AGENTS.md", "CLAUDE.md", "README.md")
"""Markdown files of a crew that are no specialists: its house rules, and its page for people."""
_FOLDER_FAULT = (
    f"folders called {', '.join(NON_SPECIALIST_FOLDERS)} hold other things than crews; call this one something else"
)


def list_inner_crews(folder: Path, *, is_top: bool = True) -> list[Path]:
    """List the folders inside a crew's folder that are crews themselves, those with a `crew.yml`, in order.

    Other folders inside a crew only group its files. `is_top` is True for the crew's own folder.
    """
    crews: list[Path] = []
    for path in _list_member_folders(folder, is_top=is_top):
        crews += [path] if (path / FILE_NAME).exists() else list_inner_crews(path, is_top=False)
    return crews


def list_specialist_files(folder: Path, inner_crews: list[Path], *, is_top: bool = True) -> list[Path]:
    """List the files of a crew's own specialists, in order.

    `inner_crews` are the folders of crews inside it, left out here. `is_top` is True for the crew's own folder.
    """
    own = [one for one in folder.glob("*.md") if one.name[0] != "." and one.name not in (SKILL, *NON_SPECIALIST_FILES)]
    others = [one for one in _list_member_folders(folder, is_top=is_top) if one not in inner_crews]
    return sorted([*own, *(page for one in others for page in list_specialist_files(one, inner_crews, is_top=False))])


def _list_member_folders(folder: Path, *, is_top: bool) -> list[Path]:
    """List the folders that may hold specialists or crews. Links are left out unless they lead to a crew."""
    return [
        path
        for path in sorted(folder.iterdir())
        if path.is_dir()
        and path.name[0] != "."
        and not (is_top and path.name in NON_SPECIALIST_FOLDERS)
        and (not path.is_symlink() or (path / FILE_NAME).exists())
    ]


def find_misplaced_files(folder: Path) -> list[CrewFault]:
    """Return faults for crews in folders meant for other things, and for skills among specialists."""
    files = (folder / name / FILE_NAME for name in NON_SPECIALIST_FOLDERS)
    misplaced_skills = [
        one
        for one in (*folder.glob(SKILL), *folder.glob(f"*/{SKILL}"))
        if one.parent.name not in NON_SPECIALIST_FOLDERS
    ]
    return [
        *(CrewFault(file, 1, _FOLDER_FAULT) for file in files if file.exists()),
        *(
            CrewFault(one, 1, f"skills lie in skills/NAME/{SKILL}; move this one's folder there")
            for one in misplaced_skills
        ),
    ]
