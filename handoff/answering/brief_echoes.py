"""Takes out of an answer what a model copied of the form of its brief: ids, tags, headings of our sections. Pure.

Only what is certainly ours goes: a tag of ours, a heading above the very text that we put below it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

_TAG = re.compile(r"<result\b[^<>\n]*/?>|</result>")
_ROLE = re.compile(r"^(#{1,6} .*?)[ \t]*\((?:[\w/ -]{1,40}, )?confidence \d{1,3}\)[ \t]*$", re.MULTILINE)
"""A heading that ends with who wrote it and how sure."""
_STRATEGY = re.compile(r"[ \t]*\(strategy: (?:merge|select|reduce)\b[^()\n]*\)")


def tag(name: str, confidence: int) -> str:
    """Return the line below a result's title that says its id and how sure it is."""
    return f'<result id="{name}" sure="{confidence}"/>'


def strip_brief_headings(
    text: str, *, titles: Collection[str], sections: Mapping[str, str], lists: Mapping[str, Sequence[str]]
) -> str:
    """Return an answer without our tags, and without our headings above what we put below them.

    `titles` are those of the results. `sections` are texts of ours by their headings: both go together. `lists` are
    items of ours by their headings: those are for people to read, so only the heading goes.
    """
    text = _STRATEGY.sub("", text)
    for heading, body in sections.items():
        if body.strip():
            text = re.sub(
                rf"^# {re.escape(heading)}\s+{re.escape(body.strip())}[ \t]*$\n?", "", text, flags=re.MULTILINE
            )
    for heading, items in lists.items():
        if items:
            ours = "|".join(map(re.escape, items))
            text = re.sub(rf"^#+ {re.escape(heading)}[ \t]*\n+(?=[-*] (?:{ours})[ \t]*$)", "", text, flags=re.MULTILINE)
    named = "|".join(re.escape(title) for title in titles)
    if named:
        text = re.sub(rf"^# Results[ \t]*\n+(?=#+ (?:{named})[ \t(\n])", "", text, flags=re.MULTILINE)
    text = re.sub(rf"^[ \t]*(?:{_TAG.pattern})[ \t]*\n", "", text, flags=re.MULTILINE)
    text = _ROLE.sub(r"\1", _TAG.sub("", text))
    return re.sub(r"\n{3,}", "\n\n", text).strip()
