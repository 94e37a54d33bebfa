"""The child process that reads documents for the knowledge index, several in one run.

Input: `{"files": [{"file", "name", "link"}]}`; `file` is an input file of this process, and `link` the input file that
holds the document's address, or "". Output: for each file a line of JSON, `{"title", "link", "text", "outline",
"fault"}`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

from specialists.formats.contents import FileContents, UnreadableFile
from specialists.reading.reading_child import read_contents
from specialists.sandbox.confine import claim_stdout, make_input_path
from specialists.tools.extras import explain_install

_FRONT_MATTER = re.compile(
    rb"\A(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.{0,8000}?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_ADDRESS = re.compile(r"https?://[^\s<>\"'|\[\]`\\]{1,2000}", re.IGNORECASE)
_LINE_PREFIX = re.compile(r"line [\d,]+: ")
_NUMBERED_SECTION = re.compile(r"(?:page|slide|sheet|line) .*")
_MAX_TITLE_CHARS = 200
_FRONT_MATTER_ENDINGS = (".md", ".markdown", ".mdown", ".txt", ".rst", ".adoc")


def main() -> None:
    """Read a request from stdin, read its documents and write them to stdout."""
    request = json.load(sys.stdin)
    reply = claim_stdout()
    sys.setrecursionlimit(2000)
    with reply:
        for one in request["files"]:
            reply.write(json.dumps(_read_document(one)).encode() + b"\n")


def _read_document(file: dict[str, str]) -> dict[str, Any]:
    reply: dict[str, Any] = {"title": "", "link": "", "text": "", "outline": [], "fault": ""}
    contents = FileContents()
    try:
        data = Path(make_input_path(file["file"])).read_bytes()
        front_matter, data = (
            _split_front_matter(data) if file["name"].lower().endswith(_FRONT_MATTER_ENDINGS) else ({}, data)
        )
        read_contents(data, file["name"], "", contents)
        reply["text"] = contents.finish_text()
    except FileNotFoundError:
        return reply | {"fault": "is gone"}
    except OSError as error:
        return reply | {"fault": f"cannot be read ({error.strerror}); check its rights"}
    except UnreadableFile as refusal:
        return reply | {"fault": str(refusal)}
    except MemoryError:
        return reply | {"fault": "is far larger inside than it looks; split it, or take it out"}
    except ModuleNotFoundError as error:
        return reply | {
            "fault": f"cannot be read here: {error.name} is missing. {explain_install('files', 'documents')}"
        }
    except Exception:  # noqa: BLE001  # libraries raise all kinds of errors for a broken file
        return reply | {"fault": "is damaged; save it again with the program that made it"}
    link = file["link"] and Path(make_input_path(file["link"])).read_bytes()[:4000].decode("utf-8", "replace")
    address = _ADDRESS.search(str(front_matter.get("url") or front_matter.get("link") or link or ""))
    title = front_matter.get("title") or next(filter(None, map(_read_heading, contents.outline)), "")
    reply |= {"title": " ".join(str(title).split())[:_MAX_TITLE_CHARS], "outline": contents.outline}
    return reply | {"link": address[0] if address else ""}


def _read_heading(section: tuple[str, int]) -> str:
    """Return the heading of a section; "" if the section only has a number."""
    name = _LINE_PREFIX.sub("", section[0])
    return "" if _NUMBERED_SECTION.fullmatch(name) else name


def _split_front_matter(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Split a document into its front matter and the rest. Front matter that is no YAML stays in the rest."""
    match = _FRONT_MATTER.match(data)
    if match is None:
        return {}, data
    try:
        front_matter = yaml.safe_load(match[1].decode("utf-8", "replace"))
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, data
    return (front_matter, data[match.end() :]) if isinstance(front_matter, dict) else ({}, data)
