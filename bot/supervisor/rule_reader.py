"""The rule reader: one small model call that parses when a schedule runs, for wordings that code cannot parse."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bot.access.time_zones import find_zone
from bot.supervisor.prompts import make_object_schema, make_role_call, parse_json_object
from handoff.contracts import Terms
from handoff.text.headings import demote_headings
from specialists.model import Model, ModelError

MAX_TOKENS = 1024
MAX_TEXT_CHARS = 2_500
"""Most characters of the text that the model gets."""
CALL_SECONDS = 45.0
TEXT_FIELD_NAMES = ("asks", "cron", "at", "zone", "until", "cannot")


async def parse_schedule_rule(model: Model, text: str, *, now: float, zone: str, terms: Terms) -> dict[str, Any] | None:
    """Have a model parse when a schedule runs. Returns the reply's fields; None if the call or the reply is unusable.

    `now` is seconds since the epoch, and `zone` the IANA name of the requester's time zone.
    """
    local_time = datetime.fromtimestamp(now, find_zone(zone))
    flags = {"schedule": {"type": "boolean"}, "only_if_new": {"type": "boolean"}, "every_days": {"type": "integer"}}
    schema = make_object_schema({**flags, **{name: {"type": "string"} for name in TEXT_FIELD_NAMES}})
    call = make_role_call(
        "rule_reader",
        f"It is {local_time:%A %Y-%m-%d %H:%M}, {zone}.\n\n# Words\n{demote_headings(text[:MAX_TEXT_CHARS])}",
        terms=terms,
        max_tokens=MAX_TOKENS,
        deadline=CALL_SECONDS,
        answer_schema=schema,
    )
    try:
        turn = await model.reply(call)
    except ModelError:
        return None
    fields = parse_json_object(turn.text)
    return fields if isinstance(fields.get("schedule"), bool) else None
