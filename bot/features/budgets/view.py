"""Renders messages about a used-up budget: the refusal, the request to an admin, and that request once it is raised."""

from __future__ import annotations

from dataclasses import dataclass

from bot.features.budgets.service import ExceededBudget
from bot.slack.text.cleaning import clean_mrkdwn, render_mention
from bot.slack.views.button_data import encode_data
from bot.slack.views.outgoing import Outgoing, make_actions, make_button, make_context, make_section
from handoff.contracts import Place

ASK_MORE = "ask_more"
ALLOW_MORE = "allow_more"


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """The data of both buttons. `scope` and `named` are the budget's scope and name; `ask` is the request's id."""

    scope: str
    named: str
    user: str
    channel: str
    thread_ts: str
    ask: str


def render_exceeded_budget(
    exceeded_budget: ExceededBudget, place: Place, user: str, ts: str, *, has_admins: bool
) -> Outgoing:
    """Render the refusal of the request `ts`, with a button to ask for more if there are admins."""
    refusal = clean_mrkdwn(exceeded_budget.refusal or f"{exceeded_budget.phrase} is used up.")
    blocks = [make_section(refusal)]
    if has_admins:
        request = BudgetRequest(exceeded_budget.scope, exceeded_budget.phrase, user, place.channel, place.thread_ts, ts)
        blocks.append(make_actions([make_button("Ask an admin for more", ASK_MORE, encode_data(request))]))
    return Outgoing(text=refusal, blocks=tuple(blocks))


def render_budget_request(request: BudgetRequest) -> Outgoing:
    """Render the message that asks an admin to allow more."""
    where = f" in <#{request.channel}>" if request.scope != "day" else ""
    text = f"{render_mention(request.user)} asks for more{where}: {clean_mrkdwn(request.named)} is used up."
    allow = make_button("Allow as much again", ALLOW_MORE, encode_data(request))
    small = "For today (UTC), or for that job if it is a job's budget. If you do nothing, nothing changes."
    return Outgoing(text=text, blocks=(make_section(text), make_actions([allow]), make_context(small)))


def render_allowed_request(request: BudgetRequest, admin: str, new_budget: str) -> Outgoing:
    """Render the text that replaces the admin's message after a click: who allowed more, and the new budget."""
    text = (
        f"{render_mention(request.user)} asked for more. {render_mention(admin)} allowed it: {clean_mrkdwn(new_budget)}"
    )
    return Outgoing(text=text, blocks=(make_section(text),))


def make_request_place(request: BudgetRequest, team: str) -> Place:
    """Return the place of the request that needs the budget."""
    return Place(team=team, channel=request.channel, thread_ts=request.thread_ts)
