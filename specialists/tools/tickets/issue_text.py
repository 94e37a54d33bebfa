"""The text of an issue: what people approved, with nothing in it that a forge would act on.

A forge pings whom a text mentions, loads its pictures for whoever looks, and GitLab carries out lines such as `/close`.
"""

from __future__ import annotations

import re

from handoff.text.visible_text import visible

_MENTION = re.compile(r"(?<![\w`/.@-])@(?=[A-Za-z0-9])([\w./-]*[\w-])")
_PICTURE = re.compile(r"!\[")
_COMMAND = re.compile(r"^(\s*)/(?=[A-Za-z])", re.MULTILINE)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_FENCE = re.compile(r"(^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\2[ \t]*$|\Z))", re.MULTILINE | re.DOTALL)


def mark_of(key: str) -> str:
    """Return the mark by which an issue is found again: a comment of Markdown, which nobody sees."""
    return f"<!-- leadhand:{key} -->"


def defuse_body(body: str) -> str:
    """Return the body without what acts. Code in fences stays as it is. Doing it twice changes nothing more."""
    pieces = _FENCE.split(visible(body).strip())
    # A split by two groups gives text, fence, its mark, text, ...
    plain = [_defuse_text(piece) if place % 3 == 0 else piece for place, piece in enumerate(pieces) if place % 3 != 2]
    return "".join(plain)


def _defuse_text(text: str) -> str:
    text = _TAG.sub("&lt;", text)
    text = _PICTURE.sub("[", text)
    text = _MENTION.sub(lambda found: f"`@{found[1]}`", text)
    return _COMMAND.sub(r"\1\\/", text)
