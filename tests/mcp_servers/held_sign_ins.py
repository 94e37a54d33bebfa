"""A place for sign-ins in memory, with a clock that a test moves."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class HeldSignIns:
    """Texts by name. What lasts a while is kept all the same: who reads it looks at the time too."""

    now: float = 1_000.0
    texts: dict[str, str] = field(default_factory=dict)

    def clock(self) -> float:
        """Tell the time, in seconds since the epoch."""
        return self.now

    async def keep(self, name: str, text: str, lasts: float | None = None) -> None:
        """Keep a text."""
        del lasts
        self.texts[name] = text

    async def read(self, name: str) -> str:
        """Give a text."""
        return self.texts.get(name, "")

    async def pop(self, name: str) -> str:
        """Give a text and drop it."""
        return self.texts.pop(name, "")
