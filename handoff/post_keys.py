"""Keys of a request's messages. Each key names one message in the thread for good."""

from __future__ import annotations


def card(request: str) -> str:
    """Return the key of the plan card."""
    return f"{request}:card"


def card_end(request: str) -> str:
    """Return the key of the last edit of the plan card, which shows how the request ended."""
    return f"{request}:card_end"


def answer(request: str) -> str:
    """Return the key of the request's visible end: its answer, failure or report."""
    return f"{request}:answer"


def question(request: str, subtask: str, number: int) -> str:
    """Return the key of a subtask's question to people."""
    return f"{request}:question:{subtask}:{number}"


def file(request: str, artifact: str) -> str:
    """Return the key of a file that a specialist made."""
    return f"{request}:file:{artifact[:16]}"
