"""A workbench with files and a messenger that keeps what it is given, for tools that write."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from specialists.tools.messenger import Addressee, CommonReaders, MessageDelivery
from specialists.tools.tool import FolderWorkbench


@dataclass
class KeptMessenger:
    """A workspace of one channel, #help."""

    contact: str = "#help"
    readers: CommonReaders | None = None
    sent_messages: dict[str, tuple[str, str]] = field(default_factory=dict)

    async def find_addressee(self, to: str) -> Addressee | str:
        known = to in {"#help", "#help (C0HELP)"}
        return Addressee("C0HELP", "#help", "channel", "a channel") if known else f"There is no {to}."

    async def find_deciding_readers(self, _goes: Addressee) -> CommonReaders | None:
        return self.readers

    async def send(self, to: Addressee, text: str, *, key: str, draft: bool = False) -> MessageDelivery:
        self.sent_messages[key] = ("draft" if draft else to.name, text)
        return MessageDelivery("1.0")

    async def add_row(self, to: Addressee, title: str, body: str, *, key: str) -> MessageDelivery:
        self.sent_messages[key] = (f"row of {to.name}", f"{title}: {body}")
        return MessageDelivery("Rec1")

    async def look_up_row(self, _to: Addressee, *, key: str) -> MessageDelivery | None:
        return MessageDelivery("Rec1") if key in self.sent_messages else None

    async def look_up_message(self, _to: Addressee, *, key: str, draft: bool = False) -> MessageDelivery | None:
        return MessageDelivery("1.0") if key in self.sent_messages and not draft else None


def bench(folder: Path, messenger: KeptMessenger | None = None, **files: bytes) -> FolderWorkbench:
    """A workbench with these files: `a_csv` is called a.csv."""
    named = [(name.replace("_", "."), "", data) for name, data in files.items()]
    made = FolderWorkbench.make_in_memory(named, folder / "bench")
    made.messenger = messenger
    return made
