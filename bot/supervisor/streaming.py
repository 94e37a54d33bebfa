"""Lets an answer out while it is written, but for what people should not see: reports, and figures of no source."""

from __future__ import annotations

import re
from collections.abc import Callable

from bot.supervisor.roles import OnText
from handoff.checking.workings import remove_workings

_REPORT = ("{", "`")
"""How a reply begins that is a report and no answer."""
_WORD = re.compile(r"\s*\S+\s+")  # a line may begin with spaces: nothing that was written is lost
_LOOKED_AT = re.compile(r"(?<![A-Za-zÀ-ÿ])\d|<")
"""A word that may be a figure, or a tag of ours."""


class Streaming:
    """Passes a model's text on word by word. A line with figures is held until `is_clean` has looked at it whole.

    From the first line that is not clean nothing goes out any more: the final text takes the place of what was shown.
    """

    def __init__(self, on_text: OnText, is_clean: Callable[[str], bool]) -> None:
        self._on_text = on_text
        self._is_clean = is_clean
        self._held = ""
        self._line = ""
        """What was shown of the line that is being written."""
        self._stopped = False
        self._begun = False
        self.shown = ""

    async def write(self, piece: str) -> None:
        """Take the next piece of the model's text."""
        self._held += piece
        if not self._begun:
            self._held = self._held.lstrip()
            self._begun = bool(self._held)
            self._stopped = self._held.startswith(_REPORT)
        await self._let_out()

    async def _let_out(self) -> None:
        """Show whole lines that are clean, and of the last line the words before the first one to look at."""
        while not self._stopped and "\n" in self._held:
            line, _, self._held = self._held.partition("\n")
            if _LOOKED_AT.search(line) and not self._is_clean(self._line + line):
                self._stopped = True
                return
            await self._show_text(f"{remove_workings(line)}\n")
            self._line = ""
        if self._stopped:
            return
        ready = ""
        for found in _WORD.finditer(self._held):
            if _LOOKED_AT.search(found[0]):
                break
            ready += found[0]
        if ready:
            self._held = self._held[len(ready) :]
            self._line += ready
            await self._show_text(ready)

    async def _show_text(self, text: str) -> None:
        self.shown += text
        await self._on_text(text)

    async def finish(self, answer: str) -> None:
        """Show the rest of the answer, if it goes on from what was shown."""
        if answer.startswith(self.shown) and answer != self.shown:
            await self._show_text(answer.removeprefix(self.shown))
