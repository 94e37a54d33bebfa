"""What a model wrote down of a schedule, checked as what a person writes is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot.access.time_zones import unknown_zone, zone_called, zone_of
from bot.features.schedules.cron_text import cron_of
from bot.features.schedules.rule_phrases import Reading
from bot.features.schedules.schedule import Rule, Unscheduled

HOW = "Try “every Monday at 9”, or cron text, or fill in the form."


def reading_of(written: Mapping[str, Any], zone: str) -> Reading | Unscheduled | None:
    """Return the schedule that a model read; a sentence if it cannot be one; None if the model takes it for none."""
    field = {name: str(written.get(name) or "").strip() for name in ("asks", "cron", "at", "zone", "until", "cannot")}
    if written.get("schedule") is not True:
        return None
    if field["cannot"]:
        return Unscheduled(words=f"I cannot follow that rule: {field['cannot'][:200]} {HOW}")
    named = zone_called(field["zone"], zone) if field["zone"] else ""
    if field["zone"] and not named:
        return Unscheduled(words=unknown_zone(field["zone"][:60]))
    tz = zone_of(named or zone)
    until = _time(f"{field['until']} 23:59", tz) if field["until"] else None
    if field["at"] and not field["cron"]:
        at = _time(field["at"], tz)
        rule: Rule | Unscheduled = Rule(start=at) if at is not None else Unscheduled(words=f"I cannot read when. {HOW}")
    else:
        cron = cron_of(field["cron"])
        rule = Rule(cron=cron) if isinstance(cron, str) else Unscheduled(words=f"I cannot read when. {HOW}")
    return rule if isinstance(rule, Unscheduled) else Reading(field["asks"], rule, named, until)


def _time(text: str, tz: Any) -> float | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=tz).timestamp()
    except ValueError:
        return None
