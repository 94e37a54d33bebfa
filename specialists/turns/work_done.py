"""What an attempt's tools gave, and what that says of a result that is handed in: it may be a refusal, and no result.

No words are looked for, as a refusal has others in each language. A result without work shows in what was done: nothing
that a tool gave is in it, and the last calls failed, or a file that is attached was never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from handoff.contracts import ToolReply
from handoff.text_words import words
from specialists.toolkits.tool import Tool
from specialists.turns import briefing

_BY_CHANCE = 1
"""Words, none of them with a figure, that a result may share by chance with what the tools gave."""
_FAULT = 400
"""Characters of a failure that are told again."""
_GROUPED = re.compile(r"(?<=\d)[.,'\u2019\u00a0\u202f ](?=\d)")


class WorkDone:
    """Keeps what the tools of a specialist gave.

    Args:
        brief: All that the specialist was told.
        files: The names of the files that it has to read, as nothing else was handed to it.
        toolbox: The specialist's own tools by name.
    """

    def __init__(self, brief: str, files: Iterable[str], toolbox: Mapping[str, Tool]) -> None:
        self._brief = brief
        self._toolbox = toolbox
        endings = {ending for tool in toolbox.values() for ending in tool.endings}
        self._file = next((name for name in files if PurePath(name).suffix.lower() in endings), "")
        self._given: list[str] = []
        self._preview = ""
        self._read = False
        self._failed: list[tuple[str, str]] = []

    def heard(self, name: str, reply: ToolReply) -> None:
        """Take in a reply of one of the tools, or of one that is not there."""
        tool = self._toolbox.get(name)
        if reply.failed:
            if tool is None or tool.access == "read":  # what became of a write is told by rules of its own
                self._failed.append((name, reply.text))
        else:
            self._given.append(reply.text)
            previews = tool is not None and tool.previews
            self._read = self._read or not previews
            self._preview = name if previews else self._preview
            self._failed.clear()

    @property
    def nothing(self) -> bool:
        """True if there are tools, and none of them gave anything."""
        return bool(self._toolbox) and not self._given

    def sent_back(self, content: str) -> str:
        """Tell the specialist why this is no result; nothing if nothing stands against it."""
        tools = ", ".join(self._toolbox)
        if text := self._noted("no_work", content, tools=tools):
            return text
        if self.nothing and self._file:
            return briefing.note("no_work_unread", file=self._file, tools=tools)
        others = [tool.name for tool in self._toolbox.values() if tool.endings and not tool.previews]
        if self._read or not self._preview or not others:
            return ""
        return briefing.note("no_work_preview", tool=self._preview, tools=" or ".join(others))

    def doubt(self, content: str) -> str:
        """Tell a judge why this may be no result; nothing if nothing stands against it."""
        return self._noted("doubt", content)

    def _noted(self, note: str, content: str, **values: str) -> str:
        if not self._toolbox or not self._failed or (self._given and not self._is_foreign(content)):
            return ""
        name, text = self._failed[-1]
        return briefing.note(f"{note}_failed", tool=name, fault=" ".join(text.split())[:_FAULT], **values)

    def _is_foreign(self, content: str) -> bool:
        """Return True if a text says nothing that the tools gave, beyond the brief and what the failures say."""
        known = _words_of(self._brief, *(text for _, text in self._failed))
        shared = (_words_of(content) & _words_of(*self._given)) - known
        return len(shared) <= _BY_CHANCE and not any(sign.isdigit() for word in shared for sign in word)


def _words_of(*texts: str) -> frozenset[str]:
    return words(_GROUPED.sub("", "\n".join(texts)))
