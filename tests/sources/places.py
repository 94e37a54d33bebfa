"""A workbench without files, and a folder with documents of several kinds and with what is none."""

from __future__ import annotations

import os
from pathlib import Path

from specialists.tools.tool import FolderWorkbench
from tests.reading.hostile_files import docx_of, word


def bench() -> FolderWorkbench:
    async def fetch(blob: str) -> bytes:
        raise KeyError(blob)

    async def store(_data: bytes) -> str:
        return "0" * 64

    return FolderWorkbench((), fetch, store, Path("/nowhere"))


def shared_docs(folder: Path, vpn: str) -> None:
    """Fill a folder."""
    for name in ("handbook", "haus", ".git"):
        (folder / name).mkdir(parents=True)
    (folder / "handbook" / "vpn.md").write_text(vpn)
    (folder / "haus" / "müller.txt").write_text("Herr Müller führt das Straßenverzeichnis.\n", encoding="utf-8")
    (folder / "refunds.html").write_text("<h1>Refunds</h1><p>Our refund policy gives 30 days.</p>")
    (folder / "refunds.html.url").write_text("[InternetShortcut]\nURL=https://example.com/refunds\n")
    (folder / "report.docx").write_bytes(docx_of(word(b"<w:p><w:r><w:t>The quarterly rocket flew.</w:t></w:r></w:p>")))
    (folder / "long.md").write_text("# Long\n\n" + "Many words stand here. " * 1000)
    (folder / "knowledge.yml").write_text("base: 'https://wiki.example.com/{page}?raw'\n")
    (folder / ".git" / "config.md").write_text("hidden amber")
    (folder / "logo.png").write_bytes(b"\x89PNG")
    (folder / "noise.dat").write_bytes(bytes(range(256)) * 20)
    (folder / "out.md").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to("loop")
    (folder / "round").symlink_to(folder, target_is_directory=True)
    with (folder / "huge.txt").open("wb") as huge:
        os.truncate(huge.fileno(), 1 << 30)
