"""The child process that extracts the text of a page.

Input: `{"url", "media_type", "charset"}`, and the page's bytes as the file `page`. Output: `{"title", "text"}`, or
nothing for a page that is built to be unreadable.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from specialists.sandbox.confine import claim_stdout, make_input_path
from specialists.tools.web import page_text


def main() -> None:
    """Read a request from stdin, extract the page's text and write it to stdout."""
    request = json.load(sys.stdin)
    reply = claim_stdout()
    body = Path(make_input_path("page")).read_bytes()
    page = page_text.WebPage(request["url"], request["media_type"], request["charset"], body)
    try:
        title, text = page_text.extract_text(page)
    except (RecursionError, ValueError, MemoryError):
        return
    with reply:
        reply.write(json.dumps({"title": title, "text": text}, ensure_ascii=False).encode("utf-8", "replace"))
