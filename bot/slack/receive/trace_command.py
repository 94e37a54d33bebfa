"""`/leadhand trace`: a job's timeline, and its whole trace as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bot.slack.receive.job_commands import DENIED, left_of
from bot.slack.receive.subcommand import Given
from bot.slack.show import notices
from bot.slack.show.notices import note, tell
from bot.slack.views.outgoing import Outgoing
from bot.trace import Step, events_json
from handoff.contracts import Place

IN_MESSAGES = "The whole trace is on its way to your direct messages with me, as a JSON file."
OWN_IN_MESSAGES = (
    "These are the steps of what you asked for: those of others are theirs, and admins see all. The whole of yours "
    "is on its way to your direct messages with me, as a JSON file."
)


async def trace(given: Given) -> Outgoing:
    """Show a job's timeline, and send its whole trace as a file."""
    from bot.slack.views.status import trace as trace_message  # noqa: PLC0415 - only for those who ask

    found = await given.service.trace(given.team, given.job, given.user)
    if isinstance(found, str):
        return note(notices.NOT_TRACED if found == "not_yours" else DENIED[found])
    left = [] if found.job is None else await left_of(given.service, found.job, given.user)
    given.background.start(_send(given, found.steps, left), "send a trace")
    if found.job is None:  # as JSON it can be told all the same
        return note(f"{DENIED[found.why]} {IN_MESSAGES}")
    shared = not found.whole and len({ask.request.user for ask in found.job.asks}) > 1
    return trace_message(found.job, found.steps, OWN_IN_MESSAGES if shared else IN_MESSAGES, left)


async def _send(given: Given, steps: Sequence[Step], left: Sequence[str]) -> None:
    """Send the trace to the person's direct messages: a file cannot be ephemeral."""
    job, client = given.job, given.client
    try:
        direct = await client.conversations_open(users=given.user)
        await client.files_upload_v2(
            channel=direct["channel"]["id"],
            filename=f"{job}.json",
            title=f"Trace of {job}",
            content=trace_json(job, steps, left),
        )
    except Exception:
        place = Place(team=given.team, channel=given.channel, thread_ts="")
        await tell(client, place, given.user, note(f"The trace of {job} could not be sent. Try again in a minute."))
        raise


def trace_json(job: str, steps: Sequence[Step], left: Sequence[str] = ()) -> str:
    """Write the steps as one JSON object: `job`, `budgets` in words, `events` in order, each with its `seq`."""
    whole = {"job": job, **({"budgets": list(left)} if left else {}), "events": events_json(steps)}
    return json.dumps(whole, indent=2, ensure_ascii=False)
