"""A model whose calls are counted, for one case."""

from __future__ import annotations

from handoff.contracts import Turn, Usage
from specialists.model import Model, ModelCall, ModelError


class CountedModel:
    """Passes calls on, and adds up what they take."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.usage = Usage()
        self.errors: list[str] = []
        """The calls that brought no turn, each with its kind and its words."""
        self.declined = False
        """True if the model refused to do what one of the calls asked for."""

    @property
    def label(self) -> str:
        """The model's name for people."""
        return self._model.label

    async def reply(self, call: ModelCall) -> Turn:
        """Take one turn, and count it. Raises ModelError."""
        try:
            turn = await self._model.reply(call)
        except ModelError as error:
            self.usage += error.usage
            self.errors.append(f"{call.purpose}: {error.kind}: {error}")
            raise
        self.usage += turn.usage
        self.declined = self.declined or turn.stop == "refused"
        return turn

    async def close(self) -> None:
        """Leave the model open: it serves other cases."""
