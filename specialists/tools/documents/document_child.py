"""The process that makes a Word document.

In: `{"title", "markdown", "names"}`: `names` has the name of each file that may be embedded, by the name under which it
was given. Out: a line of JSON, then the .docx. `{"wanted": [...]}` names the pictures that the text embeds and
that are not among them; `{"unusable"}` one that is no picture that Word can show.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from specialists.sandbox.confine import claim_stdout, input_path


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    reply = claim_stdout()
    head, document = _make_document(request)
    with reply:
        reply.write(json.dumps(head).encode() + b"\n" + document)


def _make_document(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    from specialists.tools.documents import markdown_docx  # noqa: PLC0415 - after the limits

    tree = markdown_docx.parse(request["markdown"])
    files = {name: Path(input_path(file)) for file, name in request["names"].items()}
    wanted = [name for name in markdown_docx.pictures(tree) if name not in files]
    if wanted:
        return {"wanted": wanted}, b""
    try:
        return {}, markdown_docx.render(request["title"], tree, files)
    except markdown_docx.PictureUnusable as error:
        return {"unusable": str(error)}, b""
