"""Writes sums of money as people read them."""


def in_dollars(amount: float) -> str:
    """Return a sum in dollars, to the cent; one below a cent to the hundredth of a cent."""
    return f"${amount:.4f}" if 0 < amount < 0.01 else f"${amount:.2f}"
