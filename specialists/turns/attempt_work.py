"""What an attempt's tools gave, and whether work is behind a result that is handed in: it may be a refusal.

No words are looked for, as a refusal has others in each language. A result without work shows in what was done: nothing
that a tool gave is in it, and the last calls failed, or a file that is attached was never read. A result without the
right work shows in what was asked: the task names a column or a value that no call asked for or brought.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from handoff.contracts import ToolCall, ToolReply
from handoff.text.text_words import words
from specialists.tools.tool import Tool
from specialists.turns import briefing

_BY_CHANCE = 1
"""Words, none of them with a figure, that a result may share by chance with what the tools gave."""
_SAYS = 3
"""Words from which on a content says something."""
_FAULT = 400
"""Characters of a failure that are told again."""
_LAST = 1_500
"""Characters of the last reply that are told again."""
_LETTER = re.compile(r"[^\W\d_]{2}")
_GROUPED = re.compile(r"(?<=\d)[.,'\u2019\u00a0\u202f ](?=\d)")


class WorkDone:
    """Keeps what the tools of a specialist gave.

    Args:
        brief: All that the specialist was told.
        files: The names of the files that its tools may open.
        handed: True if something else was handed to it, so that it need not open them.
        toolbox: The specialist's own tools by name.
        task: Of the brief, what it was asked to do.
    """

    def __init__(
        self, brief: str, files: Iterable[str], toolbox: Mapping[str, Tool], task: str = "", *, handed: bool = False
    ) -> None:
        self._brief = brief
        self._task = task
        self._toolbox = toolbox
        endings = {ending for tool in toolbox.values() for ending in tool.endings}
        self._file = next((name for name in files if PurePath(name).suffix.lower() in endings), "")
        self._handed = handed
        self._given: list[str] = []
        self._preview = ""
        self._named: list[str] = []
        self._read: list[str] = []
        self._asked: list[str] = []
        self._failed: list[tuple[str, str]] = []

    def note_reply(self, call: ToolCall, reply: ToolReply) -> None:
        """Note the reply to a call, also to one of a tool that does not exist."""
        tool = self._toolbox.get(call.name)
        if reply.failed:
            if tool is None or tool.access == "read":  # what became of a write is told by rules of its own
                self._failed.append((call.name, reply.text))
            return
        self._given.append(reply.text)
        self._failed.clear()
        if tool is not None and tool.previews is not None:
            self._preview = call.name
            self._named += tool.previews(reply.text)
            return
        self._read.append(reply.text)
        self._asked += (value for value in call.arguments.values() if isinstance(value, str))

    @property
    def gave_nothing(self) -> bool:
        """True if there are tools, and none of them gave anything."""
        return bool(self._toolbox) and not self._given

    @property
    def unopened_file(self) -> str:
        """The name of a file that a tool can open, if no tool gave anything."""
        return "" if self._given else self._file

    @property
    def only_described(self) -> bool:
        """True if a file was described, and no tool has read what it holds."""
        return bool(self._preview and self.readers) and not self._read

    @property
    def failed_beside_files(self) -> bool:
        """True if the last call failed, and was of a tool that reads no file."""
        tool = self._toolbox.get(self._failed[-1][0]) if self._failed else None
        return tool is not None and not tool.endings

    @property
    def last(self) -> str:
        """What a tool gave last, cut; a description of a file only if there is nothing else."""
        texts = self._read or self._given
        return texts[-1][:_LAST] if texts else ""

    def find_objection(self, content: str) -> str:
        """Tell the specialist why this is no result, or may be none; empty if there is no objection."""
        if text := self.find_missing_work(content):
            return text
        readers = " or ".join(self.readers)
        if self._ignores_file(content):
            return briefing.read_note("no_work_foreign", tools=readers, given=self.last)
        named = self._list_unasked_names()
        return briefing.read_note("no_work_unasked", named=named, tools=readers) if named else ""

    def find_missing_work(self, content: str) -> str:
        """Tell the specialist why no work is behind this result; empty if there is some."""
        tools = ", ".join(self._toolbox)
        if text := self._note_last_failure("no_work", content, tools=tools):
            return text
        if self.unopened_file and not self._handed:
            return briefing.read_note("no_work_unread", file=self.unopened_file, tools=tools)
        if self.only_described:
            return briefing.read_note("no_work_preview", tool=self._preview, tools=" or ".join(self.readers))
        return ""

    def doubt(self, content: str) -> str:
        """Return why this may be no result, for people; empty if there is no doubt."""
        if text := self._note_last_failure("doubt", content):
            return text
        if self._ignores_file(content):
            return briefing.read_note("doubt_foreign", tools=" or ".join(self.readers))
        named = self._list_unasked_names()
        return briefing.read_note("doubt_unasked", named=named) if named else ""

    def is_failure(self, content: str) -> bool:
        """Return True if a content only repeats the words of a failed call."""
        told = _words_of(content) - {"error", "errors"}
        return len(told) >= _SAYS and any(told <= _words_of(text) for _, text in self._failed)

    @property
    def readers(self) -> list[str]:
        """The tools that read what a file holds: those that run queries, where there are some."""
        found = [tool for tool in self._toolbox.values() if tool.endings and tool.previews is None]
        return [tool.name for tool in found if tool.only_queries] or [tool.name for tool in found]

    def _ignores_file(self, content: str) -> bool:
        """Return True if a result about a described file says nothing of what was read in that file."""
        return bool(self._named and self._read) and self._is_foreign(content, self._read)

    def _list_unasked_names(self) -> str:
        """List the names from described files that the task mentions and that no other call asked for or brought."""
        if not self._read:
            return ""
        task, known = words(self._task), _words_of(*self._asked, *self._read)
        found = (name for name in self._named if _LETTER.search(name) and (of := words(name)) and of <= task - known)
        return ", ".join(dict.fromkeys(found))

    def _note_last_failure(self, note: str, content: str, **values: str) -> str:
        if not self._toolbox or not self._failed or (self._given and not self._is_foreign(content, self._given)):
            return ""
        name, text = self._failed[-1]
        return briefing.read_note(f"{note}_failed", tool=name, fault=" ".join(text.split())[:_FAULT], **values)

    def _is_foreign(self, content: str, given: Iterable[str]) -> bool:
        """Return True if a text shares nothing with what the tools gave but words of the brief and of failures."""
        known = _words_of(self._brief, *(text for _, text in self._failed))
        shared = (_words_of(content) & _words_of(*given)) - known
        return len(shared) <= _BY_CHANCE and not any(sign.isdigit() for word in shared for sign in word)


def _words_of(*texts: str) -> frozenset[str]:
    return words(_GROUPED.sub("", "\n".join(texts)))
