"""A budget that is used up: what its author is told, what admins are asked, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.slack.text.cleaning import clean, mention
from bot.slack.views.button_data import encode_data
from bot.slack.views.outgoing import Outgoing, actions, button, context, section
from handoff.contracts import Place

ASK_MORE = "ask_more"
ALLOW_MORE = "allow_more"


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """The value of both buttons: which budget, and where its request is. `ask` names the request to the admins."""

    scope: str
    named: str
    user: str
    channel: str
    thread_ts: str
    ask: str


def render_used_up_budget(words: str, wanted: BudgetRequest, *, admins: bool) -> Outgoing:
    """Tell that a request was not begun; with a way to ask for more, if there are admins to ask."""
    blocks = [section(clean(words))]
    if admins:
        blocks.append(actions([button("Ask an admin for more", ASK_MORE, encode_data(wanted))]))
    return Outgoing(text=clean(words), blocks=tuple(blocks))


def render_budget_request(wanted: BudgetRequest) -> Outgoing:
    """Ask an admin to allow more."""
    where = f" in <#{wanted.channel}>" if wanted.scope != "day" else ""
    text = f"{mention(wanted.user)} asks for more{where}: {clean(wanted.named)} is used up."
    allow = button("Allow as much again", ALLOW_MORE, encode_data(wanted))
    small = "For today (UTC), or for that job if it is a job's budget. If you do nothing, nothing changes."
    return Outgoing(text=text, blocks=(section(text), actions([allow]), context(small)))


def render_allowed_request(wanted: BudgetRequest, by: str, now: str) -> Outgoing:
    """Redraw what an admin was asked: who allowed it, and what the budget is now."""
    text = f"{mention(wanted.user)} asked for more. {mention(by)} allowed it: {clean(now)}"
    return Outgoing(text=text, blocks=(section(text),))


def make_request_place(wanted: BudgetRequest, team: str) -> Place:
    """Return where the request was made."""
    return Place(team=team, channel=wanted.channel, thread_ts=wanted.thread_ts)
