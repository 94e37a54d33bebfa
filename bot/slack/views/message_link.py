"""The address of a message, as Slack writes it. Pure."""

from __future__ import annotations


def message_link(pages: str, channel: str, ts: str, thread_ts: str = "") -> str:
    """Return the address of a message; empty if its place is not known. `pages` is that of the workspace's pages.

    `thread_ts` is the message that its thread began with: a reply is found with it alone.
    """
    digits = ts.replace(".", "")
    known = pages.startswith(("https://", "http://")) and channel.isalnum() and digits.isascii() and digits.isdigit()
    if not known:
        return ""
    link = f"{pages.rstrip('/')}/archives/{channel}/p{digits}"
    return f"{link}?thread_ts={thread_ts}&cid={channel}" if thread_ts and thread_ts != ts else link
