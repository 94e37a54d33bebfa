"""The JSON file of a run: what was asked of which models, each record, and the table."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field, ValidationError

from bot.evaluation.harness import CaseRecord
from bot.evaluation.scoreboard import ScoreLine, lines
from handoff.contracts import Contract


class RunFileError(Exception):
    """A file is not that of a run. The text says what is wrong and what to do."""


class RunFile(Contract):
    """A run. `sets` and `tags` (none: all), `limit` (0: all), `seed` and `naive` say what was to be played.

    `complete` says that none of it is left to play.
    """

    leadhand: str
    model: str
    tiers: dict[str, str]
    crew: str
    sets: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    naive: bool = True
    limit: int = 0
    seed: int = 0
    complete: bool = False
    table: tuple[ScoreLine, ...] = ()
    records: tuple[CaseRecord, ...] = Field(default=())

    def with_records(self, records: tuple[CaseRecord, ...], *, complete: bool) -> RunFile:
        """Return the run with these records and their table."""
        return self.model_copy(update={"records": records, "table": lines(records), "complete": complete})


def write(path: Path, run: RunFile) -> None:
    """Write a run. What was there stays until the new file is whole."""
    part = path.with_name(path.name + ".part")
    part.write_text(run.model_dump_json(indent=1), encoding="utf-8")
    os.replace(part, path)  # noqa: PTH105 - Path.replace says nothing of being atomic


def read(path: Path) -> RunFile:
    """Read a run. Raises RunFileError."""
    try:
        return RunFile.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunFileError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValidationError, UnicodeDecodeError):
        raise RunFileError(f"{path} is no run: it takes what `leadhand eval --json` wrote.") from None
