"""Posts a review: comments at lines that the request shows, the rest in its summary, with a mark to find it by."""

from __future__ import annotations

import asyncio

from specialists.tools.code.code_arguments import LineComment, PostReviewArguments
from specialists.tools.code.diff_text import find_commentable_lines
from specialists.tools.code.pull_requests import Forge
from specialists.tools.code.repository_reader import RepositoryCallRefused
from specialists.tools.tool import ToolOutcome


def mark_of(key: str) -> str:
    """Return the mark of a review: nobody sees it, as it is a comment of Markdown."""
    return f"<!-- leadhand:{key} -->"


async def post(arguments: PostReviewArguments, forge: Forge, number: int, key: str) -> ToolOutcome:
    """Post a review. Raises Refused if nothing was posted, and NoAnswer if nobody knows."""
    request = await forge.request(number)
    diff = await forge.diff(number)
    lines = await asyncio.to_thread(find_commentable_lines, diff)
    if isinstance(lines, str):
        raise RepositoryCallRefused(lines)
    at_lines = [one for one in arguments.comments if one.line in lines.get(one.path, {})]
    apart = [one for one in arguments.comments if one not in at_lines]
    summary = "\n\n".join((arguments.summary, *map(_render_comment, apart)))
    address = await forge.post(request, summary, at_lines, diff, mark_of(key))
    left = f" {len(apart)} stand in the summary, as the request does not show their lines." if apart else ""
    return ToolOutcome(f"Posted with {len(at_lines)} comments at lines: {address}.{left}", sources=(address,))


async def look_up(forge: Forge, number: int, key: str) -> ToolOutcome | None:
    """Find out if a review was posted; None: it certainly was not. Raises Refused if that cannot be told."""
    address = await forge.find_posted(number, mark_of(key))
    return None if address is None else ToolOutcome(f"It was posted: {address}.", sources=(address,))


def _render_comment(one: LineComment) -> str:
    return f"**{one.path}:{one.line}** {one.text}"
