"""Removes from an answer what a model copied from the form of its brief: ids, tags and headings. Pure.

Only what certainly comes from the brief is removed: its tags, and its headings above the text that stood below them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

_TAG = re.compile(r"<result\b[^<>\n]*/?>|</result>")
_CREDITED_HEADING = re.compile(r"^(#{1,6} .*?)[ \t]*\((?:[\w/ -]{1,40}, )?confidence \d{1,3}\)[ \t]*$", re.MULTILINE)
"""A heading that ends with the author and confidence of a result, as in a brief."""
_STRATEGY = re.compile(r"[ \t]*\(strategy: (?:merge|select|reduce)\b[^()\n]*\)")


def render_result_tag(name: str, confidence: int) -> str:
    """Return the line below a result's title in a brief: a tag with the result's id and confidence."""
    return f'<result id="{name}" sure="{confidence}"/>'


def strip_brief_echoes(
    text: str, *, titles: Collection[str], sections: Mapping[str, str], lists: Mapping[str, Sequence[str]]
) -> str:
    """Return an answer without the tags and headings of its brief.

    Args:
        text: The answer.
        titles: The titles of the results.
        sections: Texts of the brief by heading. If an answer has both together, both are removed.
        lists: List items of the brief by heading. The items stay, as people may read them; the heading is removed.
    """
    text = _STRATEGY.sub("", text)
    for heading, body in sections.items():
        if body.strip():
            text = re.sub(
                rf"^# {re.escape(heading)}\s+{re.escape(body.strip())}[ \t]*$\n?", "", text, flags=re.MULTILINE
            )
    for heading, items in lists.items():
        if items:
            item_pattern = "|".join(map(re.escape, items))
            text = re.sub(
                rf"^#+ {re.escape(heading)}[ \t]*\n+(?=[-*] (?:{item_pattern})[ \t]*$)", "", text, flags=re.MULTILINE
            )
    title_pattern = "|".join(re.escape(title) for title in titles)
    if title_pattern:
        text = re.sub(rf"^# Results[ \t]*\n+(?=#+ (?:{title_pattern})[ \t(\n])", "", text, flags=re.MULTILINE)
    text = re.sub(rf"^[ \t]*(?:{_TAG.pattern})[ \t]*\n", "", text, flags=re.MULTILINE)
    text = _CREDITED_HEADING.sub(r"\1", _TAG.sub("", text))
    return re.sub(r"\n{3,}", "\n\n", text).strip()
