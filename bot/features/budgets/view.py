"""Renders the messages on a used-up budget: to the requester, to the admins, and once an admin has raised it."""

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
    """The data of both buttons: the budget, and the place of the request; `ask` is the id of the request."""

    scope: str
    named: str
    user: str
    channel: str
    thread_ts: str
    ask: str


def render_used_up_budget(words: str, wanted: BudgetRequest, *, admins: bool) -> Outgoing:
    """Render the refusal of a request, with a button to ask for more if there are admins."""
    blocks = [section(clean(words))]
    if admins:
        blocks.append(actions([button("Ask an admin for more", ASK_MORE, encode_data(wanted))]))
    return Outgoing(text=clean(words), blocks=tuple(blocks))


def render_budget_request(wanted: BudgetRequest) -> Outgoing:
    """Render the message that asks an admin to allow more."""
    where = f" in <#{wanted.channel}>" if wanted.scope != "day" else ""
    text = f"{mention(wanted.user)} asks for more{where}: {clean(wanted.named)} is used up."
    allow = button("Allow as much again", ALLOW_MORE, encode_data(wanted))
    small = "For today (UTC), or for that job if it is a job's budget. If you do nothing, nothing changes."
    return Outgoing(text=text, blocks=(section(text), actions([allow]), context(small)))


def render_allowed_request(wanted: BudgetRequest, by: str, now: str) -> Outgoing:
    """Render the admin's message anew after a click: who allowed more, and what the budget is now."""
    text = f"{mention(wanted.user)} asked for more. {mention(by)} allowed it: {clean(now)}"
    return Outgoing(text=text, blocks=(section(text),))


def make_request_place(wanted: BudgetRequest, team: str) -> Place:
    """Return the place of the request that needs the budget."""
    return Place(team=team, channel=wanted.channel, thread_ts=wanted.thread_ts)
