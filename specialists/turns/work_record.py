"""Records what an attempt's tools returned, and finds results with no work behind them, such as refusals.

No wording is matched, since refusals read differently in each language. A result has no work behind it if it shares
nothing with the tools' replies and the last calls failed, or an attached file was never read. It has the wrong work
behind it if the task names a column or a value that no call asked for or returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from handoff.contracts import ToolCall, ToolReply
from handoff.text.text_words import extract_words
from specialists.tools.tool import Tool
from specialists.turns import briefing

_MAX_CHANCE_WORDS = 1
"""Words without a digit that a result may share with the tools' replies by chance."""
_MIN_WORDS = 3
"""Fewest words of a text that can be told apart from others."""
_MAX_FAULT_CHARS = 400
"""Characters of a failed call's reply that are quoted."""
_MAX_LAST_TEXT_CHARS = 1_500
"""Characters of the last reply that are quoted."""
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_DIGIT_SEPARATOR = re.compile(r"(?<=\d)[.,'\u2019\u00a0\u202f ](?=\d)")


class WorkRecord:
    """Records what a specialist's tools returned, and judges its results by that.

    Args:
        brief: The whole brief, as the specialist read it.
        files: The names of the files that its tools may open.
        has_other_material: True if it was also given other texts, so that it need not open the files.
        toolbox: The specialist's own tools by name.
        task: The part of the brief that says what to do.
    """

    def __init__(
        self,
        brief: str,
        files: Iterable[str],
        toolbox: Mapping[str, Tool],
        task: str = "",
        *,
        has_other_material: bool = False,
    ) -> None:
        self._brief = brief
        self._task = task
        self._toolbox = toolbox
        endings = {ending for tool in toolbox.values() for ending in tool.endings}
        self._openable_file = next((name for name in files if PurePath(name).suffix.lower() in endings), "")
        self._has_other_material = has_other_material
        self._reply_texts: list[str] = []
        self._preview_tool = ""
        self._previewed_names: list[str] = []
        self._read_texts: list[str] = []
        self._argument_texts: list[str] = []
        self._failed_replies: list[tuple[str, str]] = []

    def record_reply(self, call: ToolCall, reply: ToolReply) -> None:
        """Record the reply to a call, also to one of a tool that does not exist."""
        tool = self._toolbox.get(call.name)
        if reply.failed:
            if tool is None or tool.access == "read":  # failed writes are reported elsewhere
                self._failed_replies.append((call.name, reply.text))
            return
        self._reply_texts.append(reply.text)
        self._failed_replies.clear()
        if tool is not None and tool.previews is not None:
            self._preview_tool = call.name
            self._previewed_names += tool.previews(reply.text)
            return
        self._read_texts.append(reply.text)
        self._argument_texts += (value for value in call.arguments.values() if isinstance(value, str))

    @property
    def has_no_replies(self) -> bool:
        """True if there are tools, and none of them returned anything."""
        return bool(self._toolbox) and not self._reply_texts

    @property
    def unopened_file(self) -> str:
        """The name of a file that a tool can open, while no tool has returned anything; otherwise ""."""
        return "" if self._reply_texts else self._openable_file

    @property
    def has_only_previews(self) -> bool:
        """True if a file was only described, and no tool has read its contents."""
        return bool(self._preview_tool and self.file_readers) and not self._read_texts

    @property
    def last_failure_read_no_file(self) -> bool:
        """True if the last call failed, and its tool reads no files."""
        tool = self._toolbox.get(self._failed_replies[-1][0]) if self._failed_replies else None
        return tool is not None and not tool.endings

    @property
    def last_text(self) -> str:
        """The start of a tool's last reply; the description of a file counts only if there is no other reply."""
        texts = self._read_texts or self._reply_texts
        return texts[-1][:_MAX_LAST_TEXT_CHARS] if texts else ""

    def find_objection(self, content: str) -> str:
        """Return the message that sends a result back to the specialist; "" if nothing speaks against it."""
        if text := self.explain_missing_work(content):
            return text
        readers = " or ".join(self.file_readers)
        if self._shows_nothing_read(content):
            return briefing.render_note("no_work_foreign", tools=readers, given=self.last_text)
        names = self._join_unasked_names()
        return briefing.render_note("no_work_unasked", named=names, tools=readers) if names else ""

    def explain_missing_work(self, content: str) -> str:
        """Return the message to the specialist that no work is behind its result; "" if there is some."""
        tools = ", ".join(self._toolbox)
        if text := self._describe_last_failure("no_work", content, tools=tools):
            return text
        if self.unopened_file and not self._has_other_material:
            return briefing.render_note("no_work_unread", file=self.unopened_file, tools=tools)
        if self.has_only_previews:
            return briefing.render_note(
                "no_work_preview", tool=self._preview_tool, tools=" or ".join(self.file_readers)
            )
        return ""

    def find_doubt(self, content: str) -> str:
        """Return why a result is in doubt, in words for people; "" if it is not."""
        if text := self._describe_last_failure("doubt", content):
            return text
        if self._shows_nothing_read(content):
            return briefing.render_note("doubt_foreign", tools=" or ".join(self.file_readers))
        names = self._join_unasked_names()
        return briefing.render_note("doubt_unasked", named=names) if names else ""

    def repeats_failure(self, content: str) -> bool:
        """Return True if a text only repeats the reply to a failed call."""
        words = _extract_words(content) - {"error", "errors"}
        return len(words) >= _MIN_WORDS and any(words <= _extract_words(text) for _, text in self._failed_replies)

    @property
    def file_readers(self) -> list[str]:
        """The names of the tools that read files: only those that run queries, if there are any."""
        reading_tools = [tool for tool in self._toolbox.values() if tool.endings and tool.previews is None]
        return [tool.name for tool in reading_tools if tool.is_query_only] or [tool.name for tool in reading_tools]

    def _shows_nothing_read(self, content: str) -> bool:
        """Return True if a file was described and read, but the result has nothing of what was read."""
        return bool(self._previewed_names and self._read_texts) and self._is_unrelated(content, self._read_texts)

    def _join_unasked_names(self) -> str:
        """Join the names from file descriptions that the task mentions, but no reading call asked for or returned."""
        if not self._read_texts:
            return ""
        task, read_words = extract_words(self._task), _extract_words(*self._argument_texts, *self._read_texts)
        unasked_names = (
            name
            for name in self._previewed_names
            if _TWO_LETTERS.search(name) and (name_words := extract_words(name)) and name_words <= task - read_words
        )
        return ", ".join(dict.fromkeys(unasked_names))

    def _describe_last_failure(self, note_prefix: str, content: str, **values: str) -> str:
        if (
            not self._toolbox
            or not self._failed_replies
            or (self._reply_texts and not self._is_unrelated(content, self._reply_texts))
        ):
            return ""
        name, text = self._failed_replies[-1]
        return briefing.render_note(
            f"{note_prefix}_failed", tool=name, fault=" ".join(text.split())[:_MAX_FAULT_CHARS], **values
        )

    def _is_unrelated(self, content: str, replies: Iterable[str]) -> bool:
        """Return True if a text shares no words with the replies but those of the brief and of failures."""
        known_words = _extract_words(self._brief, *(text for _, text in self._failed_replies))
        shared_words = (_extract_words(content) & _extract_words(*replies)) - known_words
        return len(shared_words) <= _MAX_CHANCE_WORDS and not any(
            sign.isdigit() for word in shared_words for sign in word
        )


def _extract_words(*texts: str) -> frozenset[str]:
    return extract_words(_DIGIT_SEPARATOR.sub("", "\n".join(texts)))
