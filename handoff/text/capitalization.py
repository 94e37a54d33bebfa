"""Writes a text with a capital first letter, as at the beginning of a sentence. Pure."""


def capitalize_first(text: str) -> str:
    """Return a text with its first letter in upper case, and the rest unchanged; "" stays empty."""
    return text[:1].upper() + text[1:]
