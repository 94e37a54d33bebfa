"""The message that a window was opened on, carried in its `private_metadata` and back."""

from __future__ import annotations

from dataclasses import replace

from bot.slack.receive.payloads import Shortcut
from bot.slack.views.carried import carry, read_carried

METADATA_LIMIT = 2900
"""Characters; Slack carries 3,000."""
_MOST_FILES, _LONGEST_NAME, _LONGEST_URL = 8, 80, 500


def encode_metadata(shortcut: Shortcut) -> str:
    """Encode the message that a window is opened on; leave out files beyond what Slack carries back.

    What it says is read again when the job begins, whole.
    """
    files = tuple(
        file.model_copy(
            update={
                "name": file.name[:_LONGEST_NAME],
                "media_type": file.media_type[:_LONGEST_NAME],
                "url": file.url if len(file.url) <= _LONGEST_URL else "",
            }
        )
        for file in shortcut.attachments[:_MOST_FILES]
    )
    kept = replace(shortcut, user="", trigger="", attachments=files)
    while len(encoded := carry(kept)) > METADATA_LIMIT and (kept.text or kept.attachments):
        text = kept.text
        fewer = kept.attachments if text else kept.attachments[:-1]
        kept = replace(kept, text=text[: len(text) * 3 // 4], attachments=fewer, cut=True)
    return encoded


def decode_metadata(encoded: str, user: str) -> Shortcut | None:
    """Decode what `encode_metadata` gave; `user` is who sent the window. None if it is none of ours."""
    found = read_carried(encoded, Shortcut)
    return replace(found, user=user) if found is not None else None
