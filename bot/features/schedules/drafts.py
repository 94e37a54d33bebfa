"""Turns commands, mentions and entries of the form into drafts of schedules."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Any

from bot.access.time_zones import explain_unknown_zone, find_zone, find_zone_name
from bot.features.schedules.cron_text import normalize_cron
from bot.features.schedules.schedule import ParsedSchedule, Schedule, ScheduleRefusal, ScheduleRule
from bot.features.schedules.schedule_checks import find_schedule_fault
from bot.features.schedules.schedule_parser import KNOWN_PHRASES_TEXT
from bot.features.schedules.service import ScheduleService, make_schedule_id
from bot.slack.receive.markup import to_plain_text
from bot.slack.receive.payloads import IncomingMessage
from bot.slack.show.admission import describe_channel_fault, find_unreadable_reason
from bot.slack.show.directory import Directory
from bot.slack.show.people import People
from handoff.contracts import Place
from specialists.tools.messenger import Addressee

AskModelForRule = Callable[[Place, str, str, str], Awaitable[dict[str, Any] | None]]
"""A function of (place, person, text, time zone) that has a model parse a schedule; None without a usable reply."""

MAX_INTERVAL_DAYS = 1_000
"""Maximum number of days between two runs."""
MAX_READ_CHANNELS = 5
"""Maximum number of channels that one schedule reads."""
_CHANNEL_MENTION = re.compile(
    r"<#([CG][A-Z0-9]{4,})(?:\|[^>]*)?>|(?<![\w/&#])#([^\W\d][\w-]{0,79}|\d+[a-z_-][\w-]{0,78})"
)
_THIS_CHANNEL = re.compile(r"\b(?:this|the|our) channel\b", re.IGNORECASE)
NO_CHANNEL_REFUSAL = ScheduleRefusal(
    words="“Only if something changed” goes by what is said in channels, and this reads none. Name one with #."
)
_THIS_THREAD = re.compile(r"\bthis thread\b", re.IGNORECASE)
THIS_THREAD_REFUSAL = ScheduleRefusal(
    words="Each run opens a thread of its own and sees nothing of this one. Say without “this thread” what it works on."
)
NOT_PARSED_REFUSAL = ScheduleRefusal(words=f"I could not find out when that should run. {KNOWN_PHRASES_TEXT}")


class ScheduleDrafts:
    """Makes schedules from the words of people, and stores them as drafts.

    Args:
        service: Makes and changes schedules.
        people: Knows the time zone of a person.
        directory: Knows which channels a person may read.
        ask_model: Has a model parse a text that has none of the known forms.
    """

    def __init__(
        self, service: ScheduleService, people: People, directory: Directory, ask_model: AskModelForRule
    ) -> None:
        self.service = service
        self._people = people
        self._directory = directory
        self._ask_model = ask_model

    async def find_user_zone(self, user: str) -> str:
        """Return the IANA name of a person's time zone."""
        return (await self._people.find_zone(user))[0]

    async def make_blank_schedule(self, team: str, channel: str, user: str) -> Schedule:
        """Return an empty schedule, for the form."""
        return make_untimed_schedule(
            None, team=team, channel=channel, user=user, text="", zone=await self.find_user_zone(user)
        )

    async def store_draft(
        self, untimed_schedule: Schedule, parsed_schedule: ParsedSchedule | None, dedupe_key: str
    ) -> Schedule | ScheduleRefusal:
        """Store a draft for its owner to save; without times if `parsed_schedule` is None. Refuses what is invalid."""
        one = (
            await self._fill_in_and_check(untimed_schedule, parsed_schedule)
            if parsed_schedule is not None
            else untimed_schedule
        )
        if isinstance(one, ScheduleRefusal):
            return one
        return await self.service.create(one.model_copy(update={"id": make_schedule_id(dedupe_key), "state": "draft"}))

    async def parse_with_model(self, draft: Schedule) -> Schedule | ScheduleRefusal | None:
        """Have a model parse when a draft is to run, and store the result. None if the model sees no schedule in it."""
        place = Place(team=draft.team, channel=draft.channel, thread_ts="")
        fields = await self._ask_model(place, draft.owner, draft.said or draft.asks, draft.zone)
        if fields is None:
            return NOT_PARSED_REFUSAL
        parsed_schedule = parse_model_rule(fields, draft.zone)
        if not isinstance(parsed_schedule, ParsedSchedule):
            return parsed_schedule
        complete_draft = await self._fill_in_and_check(draft, parsed_schedule)
        if isinstance(complete_draft, ScheduleRefusal):
            return complete_draft
        new_draft = complete_draft.model_copy(update={"state": "draft"})
        return await self.service.edit(draft, draft.owner, lambda _: new_draft, "read by a model")

    async def _fill_in_and_check(
        self, schedule: Schedule, parsed_schedule: ParsedSchedule
    ) -> Schedule | ScheduleRefusal:
        one = await self.fill_in_schedule(schedule, parsed_schedule)
        if isinstance(one, ScheduleRefusal):
            return one
        return find_schedule_fault(one, self.service.clock(), admin=self.service.is_admin(one.owner)) or one

    async def fill_in_schedule(self, schedule: Schedule, parsed_schedule: ParsedSchedule) -> Schedule | ScheduleRefusal:
        """Fill in the parsed values and the channels that the task names.

        Returns a refusal if the owner may not read one of them, or the task names this thread.
        """
        if _THIS_THREAD.search(parsed_schedule.asks):
            return THIS_THREAD_REFUSAL
        reads = await self.find_channels(parsed_schedule.asks, schedule)
        if isinstance(reads, ScheduleRefusal):
            return reads
        if parsed_schedule.only_if_new and not reads:
            return NO_CHANNEL_REFUSAL
        return schedule.model_copy(
            update={
                "asks": replace_channel_ids(to_plain_text(parsed_schedule.asks, "", reads), reads),
                "rule": parsed_schedule.rule,
                "zone": parsed_schedule.zone or schedule.zone,
                "until": parsed_schedule.until,
                "only_if_new": parsed_schedule.only_if_new,
                "reads": tuple(reads),
            }
        )

    async def find_channels(self, text: str, schedule: Schedule) -> dict[str, str] | ScheduleRefusal:
        """Return the names of the channels in a text by their ids.

        The name is "" for the words "this channel". Returns a refusal if there are too many, or the owner may not read
        one or have it quoted where the schedule runs.
        """
        mentions = [match[1] or f"#{match[2]}" for match in _CHANNEL_MENTION.finditer(text)]
        channel_names = {schedule.channel: ""} if _THIS_CHANNEL.search(text) else {}
        for name in dict.fromkeys(mentions):
            channel = await self._directory.find_addressee(name, schedule.owner)
            if not isinstance(channel, Addressee):
                shown_name = name if name.startswith("#") else f"<#{name}>"
                why = (
                    describe_channel_fault(name, channel)
                    if not name.startswith("#")
                    else f"I find no {shown_name} that you can read"
                )
                return ScheduleRefusal(
                    words=f"I cannot read {shown_name} for you: {why}. Invite me there, or leave it out."
                )
            if words := await find_unreadable_reason(self._directory, channel.id, schedule.owner, schedule.channel):
                return ScheduleRefusal(words=f"I cannot tell here what is said in {channel.name}: {words}.")
            channel_names[channel.id] = channel.name.removeprefix("#")
        if len(channel_names) > MAX_READ_CHANNELS:
            return ScheduleRefusal(
                words=f"One schedule reads {MAX_READ_CHANNELS} channels at most, and this names {len(channel_names)}."
            )
        return channel_names

    async def explain_channel_fault(self, channel: str, user: str) -> str:
        """Return why a schedule cannot run in a channel, or "" if it can."""
        if channel.startswith("D"):
            return ""
        addressee = await self._directory.find_addressee(channel, user)
        return "" if isinstance(addressee, Addressee) else describe_channel_fault(channel, addressee)


def replace_channel_ids(text: str, channels: Mapping[str, str]) -> str:
    """Replace the ids of channels, as messages have them, by their names."""
    return _CHANNEL_MENTION.sub(lambda match: f"#{channels.get(match[1] or match[2]) or match[1] or match[2]}", text)


def make_untimed_schedule(
    message: IncomingMessage | None, *, team: str, channel: str, user: str, text: str, zone: str
) -> Schedule:
    """Return a schedule without times for a text. It keeps `message`, so that it can still become a request."""
    fields: dict[str, Any] = {"team": team, "channel": channel, "owner": user, "zone": zone, "asks": text}
    if message is not None:
        fields |= {
            "said": message.text,
            "said_ts": message.ts,
            "said_thread": message.place.thread_ts,
            "files": message.attachments,
        }
    return Schedule.model_validate({"rule": {}, **fields})


def parse_model_rule(fields: Mapping[str, Any], zone: str) -> ParsedSchedule | ScheduleRefusal | None:
    """Parse the fields that a model returned. A refusal if they are unusable; None if the model sees no schedule."""
    names = ("asks", "cron", "at", "zone", "until", "cannot")
    field = {name: str(fields.get(name) or "").strip() for name in names}
    if fields.get("schedule") is not True:
        return None
    if field["cannot"]:
        return ScheduleRefusal(words=f"I cannot follow that rule: {field['cannot'][:200]} {KNOWN_PHRASES_TEXT}")
    zone_name = find_zone_name(field["zone"], zone) if field["zone"] else ""
    if field["zone"] and not zone_name:
        return ScheduleRefusal(words=explain_unknown_zone(field["zone"][:60]))
    tz = find_zone(zone_name or zone)
    until = _parse_time(f"{field['until']} 23:59", tz) if field["until"] else None
    if field["at"] and not field["cron"]:
        at = _parse_time(field["at"], tz)
        rule = _make_rule(at, fields.get("every_days")) if at is not None else None
    else:
        cron = normalize_cron(field["cron"])
        rule = ScheduleRule(cron=cron) if isinstance(cron, str) else None
    if rule is None:
        return ScheduleRefusal(words=f"I cannot read when. {KNOWN_PHRASES_TEXT}")
    end = until.timestamp() if until is not None else None
    return ParsedSchedule(field["asks"], rule, zone_name, end, only_if_new=fields.get("only_if_new") is True)


def _make_rule(at: datetime, every_days: Any) -> ScheduleRule:
    """Make the rule for a single time, or for every `every_days` days from that time on."""
    days = min(every_days, MAX_INTERVAL_DAYS) if isinstance(every_days, int) and every_days > 0 else 0
    if days and datetime.fromtimestamp(at.timestamp(), at.tzinfo).time() != at.time():
        at -= timedelta(days=days)  # summer time skips the first one, so count from the one before
    return ScheduleRule(days=days, start=at.timestamp())


def _parse_time(text: str, tz: tzinfo | None) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=tz)
    except ValueError:
        return None
