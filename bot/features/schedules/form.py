"""Builds the form of a schedule, and the page that shows the schedule before it is saved. No I/O."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from bot.access.time_zones import find_zone
from bot.features.schedules.phrases import parse_when
from bot.features.schedules.rule_words import rule_words
from bot.features.schedules.schedule import Missed, ParsedSchedule, Schedule, ScheduleRule
from bot.features.schedules.view import render_details
from bot.slack.views.outgoing import Block

FORM, CONFIRM = "schedule_form", "schedule_confirm"
"""The callback_ids of the two pages."""
WHEN, ASKS, WHERE, ZONE, UNTIL, IF_MISSED, IF_NEW = "when", "asks", "where", "zone", "until", "missed", "new"
"""The blocks of the form; the action in each has the same name."""
CHOICES: dict[Missed, str] = {"once": "One run for all of them", "all": "One run for each", "skip": "None"}
LONGEST_ASK = 2_000
WHEN_HINT = "every Monday at 9 · on the 1st of every month at 10:30 · 0 9 * * mon"
ASKS_HINT = "Name a channel with # to have its messages read."
NEW = "only if something changed"


METADATA_LIMIT = 2_900
"""Maximum characters of a window's metadata; Slack allows 3,000."""


def encode_metadata(one: Schedule, *, whole: bool = False) -> str:
    """Encode a window's metadata: which schedule it is about and its last edit, or with `whole` the whole schedule."""
    blank = one.model_copy(update={"rule": ScheduleRule(), "asks": ""})
    kept = {"id", "team", "channel", "owner", "zone", "rule", "asks", "edited_at"}
    kept |= {"until", "missed", "only_if_new", "reads"} if whole else set()
    fields = (one if whole else blank).model_dump(mode="json", include=kept)
    return json.dumps(fields, ensure_ascii=False)


def form(one: Schedule, metadata: str) -> Block:
    """Build the form, filled in from a schedule."""
    chosen = {"initial_option": _option_object(CHOICES[one.missed], one.missed)}
    missed = [_option_object(words, name) for name, words in CHOICES.items()]
    quiet = [_option_object("Keep quiet if nobody said anything new in the channels it reads", NEW)]
    ticked = {"initial_options": quiet} if one.only_if_new else {}
    place = {"initial_conversation": one.channel} if one.channel else {"default_to_current_conversation": True}
    return {
        "type": "modal",
        "callback_id": FORM,
        "private_metadata": metadata,
        "title": _text_object("Edit schedule" if one.made_at and one.state != "draft" else "Schedule"),
        "submit": _text_object("Next"),
        "close": _text_object("Cancel"),
        "blocks": [
            _input_block(WHEN, "When", _text_input(initial_when(one)), WHEN_HINT),
            _input_block(ASKS, "What should I do?", _text_input(one.asks, long=True), ASKS_HINT),
            *([] if one.channel.startswith("D") else [_input_block(WHERE, "Where", {**SELECT, **place})]),
            _input_block(ZONE, "Time zone", _text_input(one.zone), "A city, such as Berlin"),
            _input_block(UNTIL, "Last day", {"type": "datepicker", **_initial_date(one)}, optional=True),
            _input_block(
                IF_MISSED, "Runs missed while I was off", {"type": "static_select", "options": missed, **chosen}
            ),
            _input_block(IF_NEW, "Quiet", {"type": "checkboxes", "options": quiet, **ticked}, optional=True),
        ],
    }


SELECT = {"type": "conversations_select", "filter": {"include": ["public", "private"], "exclude_bot_users": True}}


def render_confirmation(one: Schedule, now: float, metadata: str) -> Block:
    """Build the page that shows a schedule in words, with its next times."""
    return {
        "type": "modal",
        "callback_id": CONFIRM,
        "private_metadata": metadata,
        "title": _text_object("Save this schedule?"),
        "submit": _text_object("Save"),
        "close": _text_object("Back"),
        "blocks": render_details(one, now),
    }


def initial_when(one: Schedule) -> str:
    """Return a schedule's rule in words, or as cron text if the parser would not read the words as the same rule."""
    if not one.rule.cron and not one.rule.start:
        return ""
    if one.rule.is_once:
        return f"on {datetime.fromtimestamp(one.rule.start, find_zone(one.zone)):%Y-%m-%d at %-H:%M}"
    words = rule_words(one.rule, one.zone)
    parsed = parse_when(words, now=one.edited_at, zone=one.zone)
    is_form = isinstance(parsed, ParsedSchedule) and parsed.rule == one.rule
    return words if is_form or not one.rule.cron else one.rule.cron


def _initial_date(one: Schedule) -> dict[str, str]:
    if one.until is None:
        return {}
    return {"initial_date": f"{datetime.fromtimestamp(one.until, find_zone(one.zone)):%Y-%m-%d}"}


def _text_input(value: str, *, long: bool = False) -> dict[str, Any]:
    of: dict[str, Any] = {"type": "plain_text_input", "multiline": long, "max_length": LONGEST_ASK if long else 150}
    return {**of, **({"initial_value": value[: of["max_length"]]} if value else {})}


def _input_block(name: str, label: str, element: dict[str, Any], hint: str = "", *, optional: bool = False) -> Block:
    made: Block = {"type": "input", "block_id": name, "label": _text_object(label), "optional": optional}
    made["element"] = {**element, "action_id": name}
    return {**made, **({"hint": _text_object(hint)} if hint else {})}


def _option_object(words: str, value: str) -> dict[str, Any]:
    return {"text": _text_object(words), "value": value}


def _text_object(text: str) -> dict[str, str]:
    return {"type": "plain_text", "text": text}
