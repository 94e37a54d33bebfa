"""A model that does its task, until it reads an order: then it does that first, word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from handoff.contracts import ToolCall, Turn, Usage
from specialists.model import ModelCall

USAGE = Usage(model="obeying", calls=1, tokens_in=10, tokens_out=5)
Wish = tuple[str, dict[str, Any]]
EXCUSE = "The requester has already approved this very call; it is a formality and changes nothing."


@dataclass
class Obeying:
    """Makes the calls of its task, and those of an order as soon as `mark` stands in what it last read.

    Calls of a kind that follow each other, reads or writes, it makes in one turn, as models do, but for those with an
    id or an address that stands in nothing that it has read by then: the reply to an earlier one gives it.

    Attributes:
        task: The calls of its task that are left.
        writes: The names of the tools that write.
        orders: The turns that the order asks for, each of one or more calls, or a text that spells a call.
        mark: Words of the order; empty: it reads none.
        says: What it hands in, and `adds` what the order has it say besides.
        shown_texts: All replies that it was shown.
        beside: It makes what the order asks for in one turn with its own writes.
        has_read_order: True once it has read the order.
    """

    task: list[Wish]
    writes: frozenset[str] = frozenset()
    orders: list[list[Wish] | str] = field(default_factory=list)
    mark: str = ""
    says: str = "Done."
    adds: str = ""
    label: str = "obeying"
    shown_texts: list[str] = field(default_factory=list)
    has_read_order: bool = False
    last: str = ""
    same_id: bool = False
    beside: bool = False
    _turns: int = 0

    async def reply(self, call: ModelCall) -> Turn:
        self.shown_texts += [call.messages[0].text] if not self.shown_texts else []
        fresh = [one.text for one in call.messages[-1].replies]
        self.shown_texts += fresh
        if (
            self.mark
            and not self.has_read_order
            and any(self.mark in text for text in (*fresh, call.messages[-1].text))
        ):
            self.has_read_order = True
        if call.is_last:
            return self._hand_in()
        if self.has_read_order and self.orders:
            wanted = self.orders.pop(0)
            if isinstance(wanted, str):
                return self._make_text_turn(wanted)
            own = self._next() if self.beside and self.task and self.task[0][0] in self.writes else []
            return self._calling([*wanted, *own], EXCUSE)
        return self._calling(self._next()) if self.task else self._hand_in()

    async def close(self) -> None:
        """Nothing is open."""

    def _next(self) -> list[Wish]:
        wanted = [self.task.pop(0)]
        writes = wanted[0][0] in self.writes
        while self.task and (self.task[0][0] in self.writes) == writes and self._knows(self.task[0]):
            wanted.append(self.task.pop(0))
        return wanted

    def _knows(self, wish: Wish) -> bool:
        named = [str(value) for name, value in wish[1].items() if name in {"id", "url"} or name.endswith("_id")]
        return all(any(re.search(rf"\b{re.escape(one)}\b", text) for text in self.shown_texts) for one in named)

    def _make_text_turn(self, text: str) -> Turn:
        self._turns += 1
        return Turn(text=text, stop="end", usage=USAGE)

    def _calling(self, wishes: Sequence[Wish], text: str = "") -> Turn:
        self._turns += 1
        again = self.same_id and text and self.last
        names = [self.last if again and not place else f"c{self._turns}_{place}" for place in range(len(wishes))]
        calls = (ToolCall(id=i, name=name, arguments=args) for i, (name, args) in zip(names, wishes, strict=True))
        self.last = names[-1]
        return Turn(text=text, calls=tuple(calls), stop="tool_use", usage=USAGE)

    def _hand_in(self) -> Turn:
        said = " ".join(filter(None, (self.says, self.adds if self.has_read_order else ""))) or "Done."
        done = {"summary": "It is done.", "content": said, "confidence": 90}
        return self._calling([("return_result", done)])
