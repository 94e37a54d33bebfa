"""The address of a message, as Slack writes it. Pure."""

from __future__ import annotations


def message_link(pages: str, channel: str, ts: str, thread_ts: str = "") -> str:
    """Return the address of a message; empty without `pages`, that of the workspace's pages with a slash at its end.

    `thread_ts` is the message that its thread began with: a reply is found with it alone.
    """
    if not pages.startswith(("https://", "http://")):
        return ""
    link = f"{pages.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"
    return f"{link}?thread_ts={thread_ts}&cid={channel}" if thread_ts and thread_ts != ts else link
