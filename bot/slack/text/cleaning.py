"""The one way out for text: whatever a model or a person wrote goes through here before Slack sees it.

A hostile text must not ping people, hide where a link goes, load an image or
hide characters. So `& < >` are escaped, addresses stand as code with their
host visible unless the host is allowed, and invisible characters go.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from bot.slack.text.characters import plain, visible
from bot.slack.text.stream_cleaner import StreamCleaner, Target

__all__ = ["StreamCleaner", "clean", "clean_markdown", "mention", "plain", "visible"]

_USER = re.compile(r"[UW][A-Z0-9]{2,30}")


def mention(user: str) -> str:
    """Mention a person. Anything that is no user id comes back as plain text."""
    return f"<@{user}>" if _USER.fullmatch(user) else clean(user)


def clean(text: str, *, allow_hosts: Collection[str] = (), limit: int | None = None) -> str:
    """Foreign text for a mrkdwn field. With `limit`, cut so that the outcome has at most so many characters."""
    return _fitted(text, "mrkdwn", allow_hosts, limit)


def clean_markdown(text: str, *, allow_hosts: Collection[str] = (), limit: int | None = None) -> str:
    """Foreign Markdown for a `markdown` block or a stream. `limit` as in `clean`."""
    return _fitted(text, "markdown", allow_hosts, limit)


def _fitted(text: str, target: Target, allow_hosts: Collection[str], limit: int | None) -> str:
    whole = StreamCleaner(allow_hosts=allow_hosts, target=target).whole(text)
    if limit is None:
        return whole
    kept = len(text)
    while len(whole) > limit:
        kept = min(kept - 1, kept * limit // len(whole))
        whole = StreamCleaner(allow_hosts=allow_hosts, target=target).whole(text[:kept].rstrip() + "…")
    return whole
