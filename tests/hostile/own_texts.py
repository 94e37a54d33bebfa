"""What people would see of the bot's calls to Slack: live pings, links and pictures that nobody wrote."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from typing import Any

_CODE = re.compile(r"```.*?```|``[^`]*``|`[^`]*`", re.DOTALL)
_LINE = re.compile(r"`[^`\n]*`")
_PING = re.compile(r"<!(?:channel|here|everyone|subteam\^)[^>]*>|<@[UW][A-Z0-9]+[^>]*>")
_RICH = {"broadcast", "usergroup"}


def live_in(method: str, args: dict[str, Any], *, evil: str, mine: set[str]) -> list[str]:
    """Name what is live in a call: a ping of others, and an address of the attacker's that a click would open.

    `mine` are the ids of those whom the bot may name: who asked, and itself.
    """
    found = []
    for kind, text in _texts(args):
        bare = _CODE.sub(" ", text) if kind == "markdown" else _LINE.sub(" ", _CODE.sub(" ", text))
        found += [f"{method}: {one}" for one in _PING.findall(bare) if one.strip("<@>").partition("|")[0] not in mine]
        if evil in bare:
            at = bare.index(evil)
            found.append(f"{method}: live address in {kind}: {bare[max(0, at - 80) : at + 60]!r}")
        if re.search(r"!\[[^\]]*\]\(http", bare):
            found.append(f"{method}: a picture from an address")
    for element in _elements(args):
        if element.get("type") in _RICH or (element.get("type") == "user" and element.get("user_id") not in mine):
            found.append(f"{method}: {element}")
        if element.get("type") == "link" and evil in str(element.get("url")):
            found.append(f"{method}: link {element}")
        if evil in str(element.get("image_url", "")):
            found.append(f"{method}: image {element}")
    return found


def _read(value: Any) -> Any:
    """Return the JSON that a form field holds."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _texts(args: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts that Slack renders, with how: `markdown` or `mrkdwn`. Plain text has nothing live in it."""
    for name in ("markdown_text", "text"):
        if isinstance(args.get(name), str):
            yield ("markdown" if name == "markdown_text" else "mrkdwn"), args[name]
    content = _read(args.get("document_content"))
    if isinstance(content, dict):
        yield "markdown", str(content.get("markdown", ""))
    for element in _elements(args):
        kind = element.get("type")
        if kind in {"markdown", "markdown_text"} and isinstance(element.get("text"), str):
            yield "markdown", element["text"]
        if kind == "mrkdwn":
            yield "mrkdwn", str(element.get("text", ""))


def _elements(value: Any) -> Iterator[dict[str, Any]]:
    value = _read(value)
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _elements(each)
    elif isinstance(value, list):
        for each in value:
            yield from _elements(each)


def hidden_in_docx(data: bytes, evil: str) -> list[str]:
    """Name the links of a Word file to the attacker whose own text does not show where they go."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.read("word/_rels/document.xml.rels").decode()
        document = archive.read("word/document.xml").decode()
    targets = {
        name[1]: target[1]
        for one in re.findall(r"<Relationship [^>]*>", names)
        if (name := re.search(r'Id="([^"]*)"', one)) and (target := re.search(r'Target="([^"]*)"', one))
    }
    found = []
    for link, inner in re.findall(r'<w:hyperlink [^>]*r:id="([^"]*)"[^>]*>(.*?)</w:hyperlink>', document, re.DOTALL):
        shown = "".join(re.findall(r"<w:t[^>]*>([^<]*)</w:t>", inner))
        if evil in targets[link] and evil not in shown:
            found.append(f"Word file: {shown!r} goes to {targets[link]}")
    return found
