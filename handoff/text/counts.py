"""Formats counts, amounts of money and large numbers for people. Pure."""

from __future__ import annotations


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Format a count with its noun, such as `1 file` or `2,000 files`.

    `plural` is needed only for a plural other than `singular` with an s.
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def format_dollars(amount: float) -> str:
    """Format an amount in dollars with two decimals, or with four if it is below a cent."""
    return f"${amount:.4f}" if 0 < amount < 0.01 else f"${amount:.2f}"


def format_short_number(number: int) -> str:
    """Format a number in short form, such as `950`, `1.2k` or `3.4M`."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if round(number / size, 1) >= 1:
            return f"{number / size:.1f}".removesuffix(".0") + unit
    return str(number)
