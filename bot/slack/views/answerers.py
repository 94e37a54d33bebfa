"""Names the people and groups who may answer a question or decide on an approval, in words for people. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.slack.text.cleaning import render_mention
from bot.slack.views.outgoing import Block
from handoff.approval_values import ADMINS
from handoff.text.slack_ids import is_group_id

ANYBODY_WORDS = "anyone in this thread"


def render_answerers(answerers: Sequence[str], *, reader: str = "", anybody_words: str = ANYBODY_WORDS) -> str:
    """Return the names of `answerers` in mrkdwn, `reader` first as "you"; `anybody_words` if the list is empty."""
    if not answerers:
        return anybody_words
    others = [_render_answerer(one) for one in answerers if one != reader]
    return join_as_list(["you", *others] if reader in answerers else others, "or")


def _render_answerer(member_id: str) -> str:
    return f"anyone in {render_member(member_id)}" if is_group_id(member_id) else render_member(member_id)


def render_member(member_id: str) -> str:
    """Return the mention of a person or a user group by its id, or "an admin" for `admins`."""
    return "an admin" if member_id == ADMINS else render_mention(member_id)


def make_member_element(member_id: str) -> Block:
    """Make the rich text element that mentions a person or a user group by its id, or `admins` in words."""
    if is_group_id(member_id):
        return {"type": "usergroup", "usergroup_id": member_id}
    return {"type": "text", "text": "an admin"} if member_id == ADMINS else {"type": "user", "user_id": member_id}


def join_as_list(words: Sequence[str], conjunction: str) -> str:
    """Join words as a list, with `conjunction` before the final one: "a, b or c"."""
    *first, end = words or [""]
    return f"{', '.join(first)} {conjunction} {end}" if first else end


def render_text_with_answerers(text: str, answerers: Sequence[str]) -> Block:
    """Make a block of a text without markup that ends with mentions of `answerers`, or with "anyone in this thread"."""
    elements: list[Block] = [{"type": "text", "text": text if answerers else text + ANYBODY_WORDS}]
    for number, one in enumerate(answerers):
        between = "" if number == 0 else " or " if number == len(answerers) - 1 else ", "
        between += "anyone in " if is_group_id(one) else ""
        elements += [{"type": "text", "text": between}] if between else []
        elements.append(make_member_element(one))
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}
