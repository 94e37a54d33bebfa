"""Builds the form of a schedule, and the page that shows the schedule before it is saved. No I/O."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from bot.access.time_zones import find_zone
from bot.features.schedules.rule_words import describe_rule
from bot.features.schedules.schedule import MissedRunPolicy, ParsedSchedule, Schedule, ScheduleRule
from bot.features.schedules.schedule_checks import MAX_TASK_CHARS
from bot.features.schedules.schedule_parser import parse_time_only
from bot.features.schedules.view import render_details
from bot.slack.views.outgoing import Block

FORM_WINDOW, CONFIRM_WINDOW = "schedule_form", "schedule_confirm"
"""The callback_ids of the two pages."""
WHEN, ASKS, WHERE, ZONE, UNTIL, IF_MISSED, IF_NEW = "when", "asks", "where", "zone", "until", "missed", "new"
"""The blocks of the form; the action in each has the same name."""
MISSED_CHOICES: dict[MissedRunPolicy, str] = {
    "once": "One run for all of them",
    "all": "One run for each",
    "skip": "None",
}
WHEN_HINT = "every Monday at 9 · on the 1st of every month at 10:30 · 0 9 * * mon"
ASKS_HINT = "Name a channel with # to have its messages read."
ONLY_IF_NEW_VALUE = "only if something changed"


METADATA_LIMIT = 2_900
"""Maximum characters of a window's metadata; Slack allows 3,000."""


def encode_metadata(schedule: Schedule, *, with_form_fields: bool = False) -> str:
    """Encode a window's metadata as JSON: ids, owner, zone, last edit; all fields of the form if `with_form_fields`."""
    blank = schedule.model_copy(update={"rule": ScheduleRule(), "asks": ""})
    field_names = {"id", "team", "channel", "owner", "zone", "rule", "asks", "edited_at"}
    field_names |= {"until", "missed", "only_if_new", "reads"} if with_form_fields else set()
    fields = (schedule if with_form_fields else blank).model_dump(mode="json", include=field_names)
    return json.dumps(fields, ensure_ascii=False)


def render_form(schedule: Schedule, metadata: str) -> Block:
    """Build the form, filled in from a schedule."""
    initial_choice = {"initial_option": _make_option(MISSED_CHOICES[schedule.missed], schedule.missed)}
    missed_options = [_make_option(words, name) for name, words in MISSED_CHOICES.items()]
    quiet = [_make_option("Keep quiet if nobody said anything new in the channels it reads", ONLY_IF_NEW_VALUE)]
    initial_ticks = {"initial_options": quiet} if schedule.only_if_new else {}
    place = (
        {"initial_conversation": schedule.channel} if schedule.channel else {"default_to_current_conversation": True}
    )
    return {
        "type": "modal",
        "callback_id": FORM_WINDOW,
        "private_metadata": metadata,
        "title": _make_text("Edit schedule" if schedule.made_at and schedule.state != "draft" else "Schedule"),
        "submit": _make_text("Next"),
        "close": _make_text("Cancel"),
        "blocks": [
            _make_input_block(WHEN, "When", _make_text_input(describe_rule_for_form(schedule)), WHEN_HINT),
            _make_input_block(ASKS, "What should I do?", _make_text_input(schedule.asks, is_long=True), ASKS_HINT),
            *(
                []
                if schedule.channel.startswith("D")
                else [_make_input_block(WHERE, "Where", {**CHANNEL_SELECT, **place})]
            ),
            _make_input_block(ZONE, "Time zone", _make_text_input(schedule.zone), "A city, such as Berlin"),
            _make_input_block(UNTIL, "Last day", {"type": "datepicker", **_make_initial_date(schedule)}, optional=True),
            _make_input_block(
                IF_MISSED,
                "Runs missed while I was off",
                {"type": "static_select", "options": missed_options, **initial_choice},
            ),
            _make_input_block(
                IF_NEW, "Quiet", {"type": "checkboxes", "options": quiet, **initial_ticks}, optional=True
            ),
        ],
    }


CHANNEL_SELECT = {
    "type": "conversations_select",
    "filter": {"include": ["public", "private"], "exclude_bot_users": True},
}


def render_confirmation(schedule: Schedule, now: float, metadata: str) -> Block:
    """Build the page that shows a schedule in words, with its next times."""
    return {
        "type": "modal",
        "callback_id": CONFIRM_WINDOW,
        "private_metadata": metadata,
        "title": _make_text("Save this schedule?"),
        "submit": _make_text("Save"),
        "close": _make_text("Back"),
        "blocks": render_details(schedule, now),
    }


def describe_rule_for_form(schedule: Schedule) -> str:
    """Return a schedule's rule in words, or as cron text if the parser would not read the words as the same rule."""
    if not schedule.rule.cron and not schedule.rule.start:
        return ""
    if schedule.rule.is_once:
        return f"on {datetime.fromtimestamp(schedule.rule.start, find_zone(schedule.zone)):%Y-%m-%d at %-H:%M}"
    words = describe_rule(schedule.rule, schedule.zone)
    parsed_schedule = parse_time_only(words, now=schedule.edited_at, zone=schedule.zone)
    is_form = isinstance(parsed_schedule, ParsedSchedule) and parsed_schedule.rule == schedule.rule
    return words if is_form or not schedule.rule.cron else schedule.rule.cron


def _make_initial_date(schedule: Schedule) -> dict[str, str]:
    if schedule.until is None:
        return {}
    return {"initial_date": f"{datetime.fromtimestamp(schedule.until, find_zone(schedule.zone)):%Y-%m-%d}"}


def _make_text_input(value: str, *, is_long: bool = False) -> dict[str, Any]:
    of: dict[str, Any] = {
        "type": "plain_text_input",
        "multiline": is_long,
        "max_length": MAX_TASK_CHARS if is_long else 150,
    }
    return {**of, **({"initial_value": value[: of["max_length"]]} if value else {})}


def _make_input_block(
    name: str, label: str, element: dict[str, Any], hint: str = "", *, optional: bool = False
) -> Block:
    block: Block = {"type": "input", "block_id": name, "label": _make_text(label), "optional": optional}
    block["element"] = {**element, "action_id": name}
    return {**block, **({"hint": _make_text(hint)} if hint else {})}


def _make_option(words: str, value: str) -> dict[str, Any]:
    return {"text": _make_text(words), "value": value}


def _make_text(text: str) -> dict[str, str]:
    return {"type": "plain_text", "text": text}
