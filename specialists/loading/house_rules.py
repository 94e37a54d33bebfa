"""Reads the house rules of a crew, `AGENTS.md` and `CLAUDE.md` in its folder, for its planner and synthesizer."""

from __future__ import annotations

from pathlib import Path

from handoff.text.headings import demote_headings
from specialists.files.frontmatter import CrewFault

FILES = ("AGENTS.md", "CLAUDE.md")
LONGEST = 3_000
"""Characters of both together: every call of these roles carries them."""
BYTES = 200_000


def read(folder: Path) -> tuple[str, tuple[CrewFault, ...]]:
    """Read them, each once and under its name; what is cut or cannot be read is a warning. Empty: there are none.

    A file that says the same as the one before it, or only points to it (`@AGENTS.md`), is left out.
    """
    texts: dict[str, str] = {}
    parts: list[str] = []
    warnings: list[CrewFault] = []
    room = LONGEST
    for path in (folder / name for name in FILES):
        if not path.is_file():
            continue
        try:
            with path.open("rb") as file:
                text = file.read(BYTES).decode("utf-8-sig", "ignore").strip()
        except OSError as error:
            text = f"the house rules cannot be read: {error.strerror}; check the permissions"
            warnings.append(CrewFault(path, 1, text))
            continue
        if not text or text in texts.values() or text in {f"@{one}" for one in texts}:
            continue
        texts[path.name] = text
        if len(text) > room:
            words = f"it has {len(text):,} characters, and only {room:,} of them are used; put what matters first"
            warnings.append(CrewFault(path, 1, words))
        if kept := demote_headings(text[:room]):
            parts.append(f"# House rules ({path.name})\n{kept}")
        room = max(0, room - len(text))
    return "\n\n".join(parts), tuple(warnings)
