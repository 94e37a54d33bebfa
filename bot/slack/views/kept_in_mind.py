"""Says below an answer what was remembered that the request had: whose words they are, with the way to each. Pure."""

from __future__ import annotations

from bot.slack.text.cleaning import clean
from bot.slack.views.outgoing import CONTEXT_LIMIT
from handoff.briefs.addresses import addresses_in
from handoff.state.job_state import RequestState

SHOWN = 3


def render_remembered_line(ask: RequestState) -> str:
    """Return the line (mrkdwn), the newest words first; empty if nothing is remembered. It holds none of the words."""
    sections = [one for each in ask.materials if each.kind == "memory" for one in each.outline if one.message]
    told = [_link_title(one.name) for one in sections[::-1][:SHOWN]]
    if not told:
        return ""
    more = [f"{len(sections) - SHOWN} more"] if len(sections) > SHOWN else []
    return f"Kept in mind, as asked: {'; '.join((*told, *more))}"[:CONTEXT_LIMIT]


def _link_title(title: str) -> str:
    """Make a link of a title that ends with the address of its message."""
    who, _, end = title.rpartition(", ")
    if who and addresses_in(end) == {end}:
        return f"<{end.replace('&', '&amp;')}|{clean(who)}>"
    return clean(title)
