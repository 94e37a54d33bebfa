"""Files: uploaded by the app in three steps, attached by people, fetched with a token."""

import mimetypes
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bot.workspace.identity import make_id
from bot.workspace.workspace_state import Channel, Json, Message, WorkspaceState

MAX_FILE_BYTES = 1024 * 1024 * 1024
PLAIN_TEXT_TYPE = {"filetype": "text", "pretty_type": "Plain Text"}


@dataclass
class Upload:
    """An upload whose URL was handed out. `received_bytes` is -1 until the announced `length` bytes have come."""

    file_id: str
    name: str
    length: int
    alt_text: str
    received_bytes: int = -1


class FileStore:
    """The workspace's files. Their names and types are in the state, their bytes in the record."""

    def __init__(self, state: WorkspaceState) -> None:
        self._state = state
        self._uploads: dict[str, Upload] = {}
        self._uploads_by_file: dict[str, Upload] = {}
        self.base_url = ""

    def start_upload(self, name: str, length: int, alt_text: str = "") -> tuple[str, str]:
        """Start an upload; return the URL to post to, and the file's id. `alt_text` is the alt text of a picture."""
        key = secrets.token_urlsafe(24)
        upload = Upload(make_id("F"), name, length, alt_text)
        self._uploads[key] = self._uploads_by_file[upload.file_id] = upload
        return f"{self.base_url}/upload/v1/{key}", upload.file_id

    async def receive_upload(self, key: str, content: bytes) -> str | None:
        """Store the bytes of an upload. Returns None, or a sentence if the URL or the number of bytes is wrong."""
        upload = self._uploads.get(key)
        if upload is None:
            return "This upload URL is not valid or was used."
        if len(content) != upload.length:
            return f"Expected {upload.length} bytes, got {len(content)}."
        del self._uploads[key]
        upload.received_bytes = len(content)
        await self._state.record.write_file(upload.file_id, content)
        return None

    def complete_upload(self, file_id: str, title: str | None, user_id: str) -> Json | None:
        """Make a file of an upload and return its fields; None if the upload is unknown or has no bytes yet."""
        upload = self._uploads_by_file.get(file_id)
        if upload is None or upload.received_bytes < 0:
            return None
        del self._uploads_by_file[file_id]
        file = self._add_file(file_id, upload.name, upload.received_bytes, user_id, title)
        if upload.alt_text:
            file["alt_txt"] = upload.alt_text
        return file

    async def add_file(self, name: str, content: bytes, user_id: str, mimetype: str | None = None) -> Json:
        """Store a file that a person attaches, and return its fields."""
        file_id = make_id("F")
        await self._state.record.write_file(file_id, content)
        return self._add_file(file_id, name, len(content), user_id, None, mimetype)

    def set_base_url(self, base_url: str) -> None:
        """Set the address that files are served from, for the files of earlier runs too."""
        self.base_url = base_url
        for file in self._state.files.values():
            file.update(self._make_file_addresses(file["id"], file["name"], file["user"]))
        for channel in self._state.channels.values():
            for message in channel.messages.values():
                if "files" in message.data:
                    message.data["files"] = [self._state.files.get(file["id"], file) for file in message.data["files"]]

    def record_share(self, file: Json, channel_id: str) -> None:
        """Record that a file is shown in a channel or direct message."""
        key = "ims" if channel_id.startswith("D") else "channels"
        if channel_id not in file[key]:
            file[key].append(channel_id)
        self._state.record.put("file", file["id"], lambda: file)

    def grant_access(self, file: Json, levels: dict[str, str]) -> None:
        """Add or change what people may do with a file. `levels` maps user ids to `read`, `write` or `owner`."""
        access_by_user = {each["user_id"]: each["access"] for each in file.get("dm_mpdm_users_with_file_access", ())}
        file["dm_mpdm_users_with_file_access"] = [
            {"user_id": user_id, "access": level} for user_id, level in (access_by_user | levels).items()
        ]
        owner = next((user_id for user_id, level in levels.items() if level == "owner"), None)
        if owner:
            file["user"] = owner
        self._state.record.put("file", file["id"], lambda: file)

    async def read_content(self, file_id: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            KeyError: There is no such file.
        """
        if file_id not in self._state.files:
            raise KeyError(file_id)
        return await self._state.record.read_file(file_id)

    def _add_file(
        self, file_id: str, name: str, size: int, user_id: str, title: str | None, mimetype: str | None = None
    ) -> Json:
        team = self._state.identity.team_id
        now = int(self._state.clock.now())
        media_type = mimetype or mimetypes.guess_type(name)[0] or "application/octet-stream"
        suffix = name.rpartition(".")[2].lower() if "." in name else "text"
        file: Json = {
            "id": file_id,
            "created": now,
            "timestamp": now,
            "name": name,
            "title": title or name,
            "mimetype": media_type,
            **(PLAIN_TEXT_TYPE if suffix in ("txt", "text") else {"filetype": suffix, "pretty_type": suffix.upper()}),
            "user": user_id,
            "user_team": team,
            "editable": False,
            "size": size,
            "mode": "hosted",
            "is_external": False,
            "is_public": True,
            **self._make_file_addresses(file_id, name, user_id),
            "has_rich_preview": False,
            "file_access": "visible",
            "channels": [],
            "groups": [],
            "ims": [],
        }
        self._state.files[file_id] = file
        self._state.record.put("file", file_id, lambda: file)
        return file

    def _make_file_addresses(self, file_id: str, name: str, user_id: str) -> dict[str, str]:
        path = f"{self.base_url}/files-pri/{self._state.identity.team_id}-{file_id}"
        return {
            "url": f"/local/files/{file_id}",
            "url_private": f"{path}/{quote(name)}",
            "url_private_download": f"{path}/download/{quote(name)}",
            "permalink": f"{self.base_url}/files/{user_id}/{file_id}/{quote(name)}",
        }

    async def delete_file(self, file: Json) -> list[tuple[Channel, Message]]:
        """Delete a file, and put a tombstone in its place in messages. Returns pairs of channel and message."""
        del self._state.files[file["id"]]
        self._state.record.drop("file", file["id"])
        await self._state.record.drop_file(file["id"])
        changed_messages = []
        for channel in self._state.channels.values():
            for message in channel.messages.values():
                files = message.data.get("files") or []
                if any(each["id"] == file["id"] for each in files):
                    tombstone = {"id": file["id"], "mode": "tombstone"}
                    message.data["files"] = [tombstone if each["id"] == file["id"] else each for each in files]
                    self._state.save_message(channel, message)
                    changed_messages.append((channel, message))
        return changed_messages

    async def add_canvas(self, title: str, markdown: str, user_id: str) -> Json:
        """Store a canvas, which Slack treats as a file of its own type, and return its fields."""
        content = markdown.encode()
        file = await self.add_file(f"{title}.md", content, user_id, "application/vnd.slack-docs")
        file |= {"title": title, "name": title, "filetype": "quip", "pretty_type": "Canvas", "mode": "quip"}
        self._state.record.put("file", file["id"], lambda: file)
        return file

    async def replace_content(self, file: Json, content: bytes) -> None:
        """Replace the bytes of a file, as an edit of a canvas does."""
        await self._state.record.write_file(file["id"], content)
        file["size"] = len(content)
        self._state.record.put("file", file["id"], lambda: file)


def select_page_fields(file: Json) -> dict[str, Any]:
    """Return the fields of a file that the page needs; for a deleted file, a note as its `name`."""
    deleted_fields = {"name": "This file was deleted.", "mimetype": "", "size": 0, "url": ""}
    return {key: file.get(key, deleted_fields.get(key)) for key in ("id", "name", "mimetype", "size", "url")}
