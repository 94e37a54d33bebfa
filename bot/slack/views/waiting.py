"""Names the people and groups who may answer a question or decide on an approval, in words for people. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.slack.text.cleaning import mention
from bot.slack.views.outgoing import Block
from handoff.approval_values import ADMINS
from handoff.text.member_ids import is_group

ANYBODY = "anyone in this thread"


def name_answerers(whom: Sequence[str], *, reader: str = "", anybody: str = ANYBODY) -> str:
    """Return the names of those who may answer, in mrkdwn: `reader` first, as "you"; for nobody, the text `anybody`."""
    if not whom:
        return anybody
    others = [_name_answerer(one) for one in whom if one != reader]
    return join_in_row(["you", *others] if reader in whom else others, "or")


def _name_answerer(one: str) -> str:
    return f"anyone in {name_member(one)}" if is_group(one) else name_member(one)


def name_member(one: str) -> str:
    """Return the mention of a person or a user group by its id, or "an admin" for `admins`."""
    return "an admin" if one == ADMINS else mention(one)


def make_member_element(one: str) -> Block:
    """Make the rich text element that mentions a person or a user group by its id, or `admins` in words."""
    if is_group(one):
        return {"type": "usergroup", "usergroup_id": one}
    return {"type": "text", "text": "an admin"} if one == ADMINS else {"type": "user", "user_id": one}


def join_in_row(words: Sequence[str], last: str) -> str:
    """Join words as a list, with `last` before the final one: "a, b or c"."""
    *first, end = words or [""]
    return f"{', '.join(first)} {last} {end}" if first else end


def render_waiting(text: str, whom: Sequence[str]) -> Block:
    """Render a text without markup, with the names of those who may answer at its end."""
    elements: list[Block] = [{"type": "text", "text": text if whom else text + ANYBODY}]
    for number, one in enumerate(whom):
        between = "" if number == 0 else " or " if number == len(whom) - 1 else ", "
        between += "anyone in " if is_group(one) else ""
        elements += [{"type": "text", "text": between}] if between else []
        elements.append(make_member_element(one))
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}
