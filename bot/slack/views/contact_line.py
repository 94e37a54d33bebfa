"""Renders the line that names the crew's contact at the end of a request that failed or has gaps."""

from __future__ import annotations

from bot.access.access_values import classify_contact
from bot.slack.text.cleaning import clean_mrkdwn, render_mention
from handoff.answering.fixed_words import render_phrase
from handoff.engine.answer import list_resultless_subtasks
from handoff.state.job_state import RequestState


def render_failure_contact(request: RequestState) -> str:
    """Return a sentence that names the contact after a failed request; "" if the crew has none.

    A person or a user group is mentioned, and so notified.
    """
    contact = _find_other_contact(request)
    if not contact:
        return ""
    kind = classify_contact(contact)
    if kind == "person":
        return f"{render_mention(contact)} can take it from here."
    if kind == "channel":
        return f"Somebody in <#{contact}> can take it from here."
    return (
        f"Somebody at {render_mention(contact) if kind == 'group' else _clean_contact(contact)} can take it from here."
    )


def render_gaps_contact(request: RequestState) -> str:
    """Return a sentence that names the contact if whole parts of the answer are missing; "" otherwise.

    The contact is named without a mention, so nobody is notified.
    """
    contact = _find_other_contact(request)
    plan = request.run.plan
    if not contact or plan is None or not (plan.missing or list_resultless_subtasks(request, request.run)):
        return ""
    name = request.setting.contact_name if request.setting is not None else ""
    who = f"<#{contact}>" if classify_contact(contact) == "channel" else _clean_contact(name or contact)
    return render_phrase("contact", request.text, who=who)


def _clean_contact(words: str) -> str:
    """Clean a contact that the crew's file names. An address becomes a link."""
    return clean_mrkdwn(words, known_addresses=(words,))


def _find_other_contact(request: RequestState) -> str:
    """Return the contact that the crew names; "" if there is none or it is the requester."""
    contact = request.setting.contact if request.setting is not None else ""
    return "" if contact == request.spec.user else contact
