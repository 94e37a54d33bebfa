"""How long the store keeps what."""

from __future__ import annotations

from dataclasses import dataclass

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Retention:
    """The seconds for which things are kept.

    Attributes:
        jobs: A job after its last request has ended, with all that belongs to it.
        waiting: A job that is not finished and has nothing to do: a question that nobody ever answers.
        materials: The files of a job and their texts, after its last request has ended. None: as long as the job.
        audit: An entry of the audit.
    """

    jobs: float = 30 * DAY
    waiting: float = 180 * DAY
    materials: float | None = None
    audit: float = 365 * DAY


AS_EVER = Retention()
"""What holds unless the settings say otherwise."""
