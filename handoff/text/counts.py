"""Says how many there are, and writes sums of money. Pure."""

from __future__ import annotations


def format_count(number: int, one: str, many: str = "") -> str:
    """Count: 1 file, 2,000 files."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def format_dollars(amount: float) -> str:
    """Return a sum in dollars, to the cent; one below a cent to the hundredth of a cent."""
    return f"${amount:.4f}" if 0 < amount < 0.01 else f"${amount:.2f}"


def format_short_number(number: int) -> str:
    """Return a number as people write large ones: 950, 1.2k, 3.4M."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if round(number / size, 1) >= 1:
            return f"{number / size:.1f}".removesuffix(".0") + unit
    return str(number)
