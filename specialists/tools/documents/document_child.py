"""The child process that makes a Word document.

Input: `{"title", "markdown", "names"}`; `names` maps the input files of this process to the names by which the text
embeds them. Output: a line of JSON, then the .docx. The line is `{}` if the document was made. Otherwise
`{"wanted": [...]}` lists the embedded pictures that this process did not get, or `{"unusable": "..."}` names a file
that Word cannot show as a picture.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from specialists.sandbox.confine import claim_stdout, make_input_path


def main() -> None:
    """Read a request from stdin, make the document and write the reply to stdout."""
    request = json.load(sys.stdin)
    reply = claim_stdout()
    head, document = _make_document(request)
    with reply:
        reply.write(json.dumps(head).encode() + b"\n" + document)


def _make_document(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    from specialists.tools.documents import markdown_docx  # noqa: PLC0415 - after the limits

    tree = markdown_docx.parse_markdown(request["markdown"])
    files = {name: Path(make_input_path(file)) for file, name in request["names"].items()}
    wanted_names = [name for name in markdown_docx.list_picture_names(tree) if name not in files]
    if wanted_names:
        return {"wanted": wanted_names}, b""
    try:
        return {}, markdown_docx.render_docx(request["title"], tree, files)
    except markdown_docx.UnusablePicture as error:
        return {"unusable": str(error)}, b""
