"""The message that a modal was opened on, carried in its `private_metadata` and back."""

from __future__ import annotations

import json

from bot.slack.receive.payloads import Malformed, Shortcut
from handoff.contracts import Attachment, Place

METADATA_LIMIT = 2900
"""Characters; Slack carries 3,000."""
_MAX_URL = 500


def encode_metadata(shortcut: Shortcut) -> str:
    """Encode the message that a modal is opened on; leave out files beyond what Slack carries back.

    What it says is read again when the job begins, whole.
    """
    files = [
        [file.file_id, file.name[:80], file.media_type[:80], file.size, file.url if len(file.url) <= _MAX_URL else ""]
        for file in shortcut.attachments[:8]
    ]
    fields = {
        "team": shortcut.place.team,
        "channel": shortcut.place.channel,
        "thread_ts": shortcut.place.thread_ts,
        "ts": shortcut.message_ts,
        "author": shortcut.author,
        "files": files,
        "text": shortcut.text,
        "cut": False,
    }
    text = shortcut.text
    while len(encoded := json.dumps(fields, ensure_ascii=False)) > METADATA_LIMIT and (text or files):
        text, files = text[: len(text) * 3 // 4], files if text else files[:-1]
        fields |= {"text": text, "files": files, "cut": True}
    return encoded


def decode_metadata(encoded: str, user: str) -> Shortcut | Malformed:
    """Decode what `encode_metadata` gave; `user` is who sent the modal."""
    try:
        fields = json.loads(encoded)
        files = tuple(
            Attachment(file_id=file_id, name=name, media_type=media_type, size=size, url=url)
            for file_id, name, media_type, size, url in fields["files"]
        )
        place = Place(team=fields["team"], channel=fields["channel"], thread_ts=fields["thread_ts"])
        author, text, cut = str(fields["author"]), str(fields["text"]), bool(fields.get("cut"))
        return Shortcut(place, str(fields["ts"]), user, "", author, text, files, cut)
    except (ValueError, KeyError, TypeError):
        return Malformed("private_metadata")
