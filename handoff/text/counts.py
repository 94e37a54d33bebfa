"""Says how many there are. Pure."""

from __future__ import annotations


def format_count(number: int, one: str, many: str = "") -> str:
    """Count: 1 file, 2,000 files."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
