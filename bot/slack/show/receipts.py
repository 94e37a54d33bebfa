"""Shows the author of a message what the bot did with it: by a reaction and, if needed, a line."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from bot.slack.send.outbox import Outbox
from bot.slack.send.web_calls import NoReply, SlackRefused
from bot.slack.show.notices import RECEIPT_EMOJI, show_ephemeral_message
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.receipt import is_inapplicable_change, is_question, render_receipt
from bot.store.values import Claim
from handoff.contracts import Place
from handoff.effects import make_receipt_key
from handoff.state.job_state import Job
from handoff.state.state_values import HeardMessage, MessageOutcome

log = logging.getLogger(__name__)

REACTION_BY_OUTCOME: Mapping[MessageOutcome, str] = {
    "request": RECEIPT_EMOJI,
    "taken": RECEIPT_EMOJI,
    "which": RECEIPT_EMOJI,
    "explained": RECEIPT_EMOJI,
    "applied": "memo",
    "unsorted": RECEIPT_EMOJI,
    "replaced": "memo",
    "queued": "hourglass_flowing_sand",
    "thanks": "heart",
}
"""The reaction to a message, by its outcome; a message with another outcome gets none."""


async def show_receipt(
    outbox: Outbox, claim: Claim, job: Job, message: HeardMessage, *, by_rules: bool = False
) -> None:
    """React to a message, and show the line about it, if there is one, once.

    `by_rules` is True if the rehearsal's rules read the message, not a model. A line that asks something is posted for
    all; any other is shown only to the author.

    Raises JobGone if the job is no longer ours.
    """
    if (
        not is_inapplicable_change(message, by_rules=by_rules)
        and (name := REACTION_BY_OUTCOME.get(message.outcome)) is not None
    ):
        # For a click, the message clicked in.
        await _add_reaction(outbox, job.place, message.message.id.partition("-")[0], name)
    line, key = render_receipt(job, message, by_rules=by_rules), make_receipt_key(message.message.id, message.receipt)
    if line is None:
        return
    if not is_question(line):
        await _tell_author(outbox, claim, job, message, key, line)
        return
    sent_message = await outbox.post(claim, job.place, key, line)
    if sent_message.fault:
        log.warning("job %s: a receipt was not posted: %s", job.id, sent_message.fault)


async def _tell_author(outbox: Outbox, claim: Claim, job: Job, message: HeardMessage, key: str, line: Outgoing) -> None:
    """Show a line only to the author of a message, at most once: an ephemeral message cannot be searched for later."""
    if not (await outbox.record_intent(claim, key)).is_first:
        return
    try:
        await show_ephemeral_message(outbox.client, job.place, message.message.user, line)
    except (SlackRefused, NoReply) as error:
        log.warning("job %s: a receipt was not shown: %s", job.id, error)


async def _add_reaction(outbox: Outbox, place: Place, ts: str, name: str) -> None:
    """Add a reaction, which may be repeated. A failure is only logged."""
    try:
        await outbox.calls.make(
            "reactions.add",
            lambda: outbox.client.reactions_add(channel=place.channel, timestamp=ts, name=name),
            priority="reaction",
            may_repeat=True,
        )
    except (SlackRefused, NoReply) as error:
        if not isinstance(error, SlackRefused) or error.code != "already_reacted":
            log.warning("job %s: no reaction: %s", place.job_id, error)
