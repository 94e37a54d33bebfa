"""A model wrapper that sums the usage of one case's calls."""

from __future__ import annotations

from handoff.contracts import Turn, Usage
from specialists.model import Model, ModelCall, ModelError


class CountingModel:
    """Passes calls to a model, and records their usage, their errors, and whether one was refused."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.usage = Usage()
        self.errors: list[str] = []
        """The failed calls, each as `purpose: kind: message`."""
        self.has_refused = False
        """True if the model refused one of the calls."""

    @property
    def label(self) -> str:
        """The model's name for people."""
        return self._model.label

    async def reply(self, call: ModelCall) -> Turn:
        """Call the model and add the usage, also that of a failed call. Raises ModelError."""
        try:
            turn = await self._model.reply(call)
        except ModelError as error:
            self.usage += error.usage
            self.errors.append(f"{call.purpose}: {error.kind}: {error}")
            raise
        self.usage += turn.usage
        self.has_refused = self.has_refused or turn.stop == "refused"
        return turn

    async def close(self) -> None:
        """Do nothing: the model serves other cases."""
