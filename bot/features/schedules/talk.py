"""Turns what people say of schedules into drafts: after `/leadhand schedule`, after a mention, in the form."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Any

from bot.access.time_zones import find_zone, find_zone_name, unknown_zone
from bot.features.schedules.cron_text import normalize_cron
from bot.features.schedules.phrases import FORMS
from bot.features.schedules.rights import find_fault
from bot.features.schedules.schedule import ParsedSchedule, Schedule, ScheduleRefusal, ScheduleRule
from bot.features.schedules.service import ScheduleDesk, new_id
from bot.slack.receive.markup import plain_text
from bot.slack.receive.payloads import IncomingMessage
from bot.slack.show.admission import channel_words, find_unreadable_reason
from bot.slack.show.directory import Directory
from bot.slack.show.people import People
from handoff.contracts import Place
from specialists.tools.messenger import Addressee

ReadRule = Callable[[Place, str, str, str], Awaitable[dict[str, Any] | None]]
"""A function of (place, person, text, time zone) that has a model parse the times that a text means."""

MOST_DAYS = 1_000
"""Maximum number of days between two runs."""
MOST_READ = 5
"""Maximum number of channels that one schedule reads."""
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]{4,})(?:\|[^>]*)?>|(?<![\w/&#])#([^\W\d][\w-]{0,79}|\d+[a-z_-][\w-]{0,78})")
_HERE = re.compile(r"\b(?:this|the|our) channel\b", re.IGNORECASE)
NOTHING_TO_READ = ScheduleRefusal(
    words="“Only if something changed” goes by what is said in channels, and this reads none. Name one with #."
)
_THIS_THREAD = re.compile(r"\bthis thread\b", re.IGNORECASE)
NO_THREAD = ScheduleRefusal(
    words="Each run opens a thread of its own and sees nothing of this one. Say without “this thread” what it works on."
)
NOT_READ = ScheduleRefusal(words=f"I could not find out when that should run. {FORMS}")


class ScheduleTalk:
    """Makes schedules from what people say. `desk` stores them.

    Args:
        desk: Makes and changes schedules.
        people: Knows the time zone of a person.
        directory: Knows which channels a person may read.
        reader: Has a model parse a text that has none of the known forms.
    """

    def __init__(self, desk: ScheduleDesk, people: People, directory: Directory, reader: ReadRule) -> None:
        self.desk = desk
        self._people = people
        self._directory = directory
        self._reader = reader

    async def zone(self, user: str) -> str:
        """Return a person's time zone."""
        return (await self._people.zone(user))[0]

    async def make_blank(self, team: str, channel: str, user: str) -> Schedule:
        """Return an empty schedule, for the form."""
        return new_schedule(None, team=team, channel=channel, user=user, text="", zone=await self.zone(user))

    async def keep_draft(
        self, wanted: Schedule, parsed: ParsedSchedule | None, mark: str
    ) -> Schedule | ScheduleRefusal:
        """Store a draft for its owner to save; without times if `parsed` is None. A refusal if it is invalid."""
        one = await self._check(wanted, parsed) if parsed is not None else wanted
        if isinstance(one, ScheduleRefusal):
            return one
        return await self.desk.make(one.model_copy(update={"id": new_id(mark), "state": "draft"}))

    async def read_with_model(self, one: Schedule) -> Schedule | ScheduleRefusal | None:
        """Have a model parse when a draft is to run, and update the draft; None if the model sees no schedule."""
        place = Place(team=one.team, channel=one.channel, thread_ts="")
        written = await self._reader(place, one.owner, one.said or one.asks, one.zone)
        if written is None:
            return NOT_READ
        parsed = check_written_rule(written, one.zone)
        if not isinstance(parsed, ParsedSchedule):
            return parsed
        whole = await self._check(one, parsed)
        if isinstance(whole, ScheduleRefusal):
            return whole
        kept = whole.model_copy(update={"state": "draft"})
        return await self.desk.edit(one, one.owner, lambda _: kept, "read by a model")

    async def _check(self, wanted: Schedule, parsed: ParsedSchedule) -> Schedule | ScheduleRefusal:
        one = await self.fill_in(wanted, parsed)
        if isinstance(one, ScheduleRefusal):
            return one
        return find_fault(one, self.desk.clock(), admin=self.desk.is_admin(one.owner)) or one

    async def fill_in(self, wanted: Schedule, parsed: ParsedSchedule) -> Schedule | ScheduleRefusal:
        """Fill in the parsed values and the channels that the task names. A refusal if the owner may not read one."""
        if _THIS_THREAD.search(parsed.asks):
            return NO_THREAD
        reads = await self.find_channels(parsed.asks, wanted)
        if isinstance(reads, ScheduleRefusal):
            return reads
        if parsed.only_if_new and not reads:
            return NOTHING_TO_READ
        return wanted.model_copy(
            update={
                "asks": name_channels(plain_text(parsed.asks, "", reads), reads),
                "rule": parsed.rule,
                "zone": parsed.zone or wanted.zone,
                "until": parsed.until,
                "only_if_new": parsed.only_if_new,
                "reads": tuple(reads),
            }
        )

    async def find_channels(self, text: str, one: Schedule) -> dict[str, str] | ScheduleRefusal:
        """Return the channels that a text names: names by id, or a refusal if the owner may not have one quoted here.

        "This channel" has an empty name.
        """
        meant = [match[1] or f"#{match[2]}" for match in _CHANNEL.finditer(text)]
        found = {one.channel: ""} if _HERE.search(text) else {}
        for name in dict.fromkeys(meant):
            channel = await self._directory.find(name, one.owner)
            if not isinstance(channel, Addressee):
                shown = name if name.startswith("#") else f"<#{name}>"
                why = (
                    channel_words(name, channel) if not name.startswith("#") else f"I find no {shown} that you can read"
                )
                return ScheduleRefusal(words=f"I cannot read {shown} for you: {why}. Invite me there, or leave it out.")
            if words := await find_unreadable_reason(self._directory, channel.id, one.owner, one.channel):
                return ScheduleRefusal(words=f"I cannot tell here what is said in {channel.name}: {words}.")
            found[channel.id] = channel.name.removeprefix("#")
        if len(found) > MOST_READ:
            return ScheduleRefusal(
                words=f"One schedule reads {MOST_READ} channels at most, and this names {len(found)}."
            )
        return found

    async def find_channel_trouble(self, channel: str, user: str) -> str:
        """Return why a schedule cannot run in a channel, or "" if it can."""
        if channel.startswith("D"):
            return ""
        found = await self._directory.find(channel, user)
        return "" if isinstance(found, Addressee) else channel_words(channel, found)


def name_channels(text: str, channels: Mapping[str, str]) -> str:
    """Replace the ids of channels, as messages have them, by their names."""
    return _CHANNEL.sub(lambda match: f"#{channels.get(match[1] or match[2]) or match[1] or match[2]}", text)


def new_schedule(said: IncomingMessage | None, *, team: str, channel: str, user: str, text: str, zone: str) -> Schedule:
    """Return a schedule without times for a text. It keeps the message `said`, which can still become a request."""
    of: dict[str, Any] = {"team": team, "channel": channel, "owner": user, "zone": zone, "asks": text}
    if said is not None:
        of |= {"said": said.text, "said_ts": said.ts, "said_thread": said.place.thread_ts, "files": said.attachments}
    return Schedule.model_validate({"rule": {}, **of})


def check_written_rule(written: Mapping[str, Any], zone: str) -> ParsedSchedule | ScheduleRefusal | None:
    """Check a rule that a model wrote, as strictly as a parsed one; None if the model sees no schedule."""
    names = ("asks", "cron", "at", "zone", "until", "cannot")
    field = {name: str(written.get(name) or "").strip() for name in names}
    if written.get("schedule") is not True:
        return None
    if field["cannot"]:
        return ScheduleRefusal(words=f"I cannot follow that rule: {field['cannot'][:200]} {FORMS}")
    named = find_zone_name(field["zone"], zone) if field["zone"] else ""
    if field["zone"] and not named:
        return ScheduleRefusal(words=unknown_zone(field["zone"][:60]))
    tz = find_zone(named or zone)
    until = _read_time(f"{field['until']} 23:59", tz) if field["until"] else None
    if field["at"] and not field["cron"]:
        at = _read_time(field["at"], tz)
        rule = _make_rule(at, written.get("every_days")) if at is not None else None
    else:
        cron = normalize_cron(field["cron"])
        rule = ScheduleRule(cron=cron) if isinstance(cron, str) else None
    if rule is None:
        return ScheduleRefusal(words=f"I cannot read when. {FORMS}")
    end = until.timestamp() if until is not None else None
    return ParsedSchedule(field["asks"], rule, named, end, only_if_new=written.get("only_if_new") is True)


def _make_rule(at: datetime, every_days: Any) -> ScheduleRule:
    """Make the rule for a single time, or for every `every_days` days from that time on."""
    days = min(every_days, MOST_DAYS) if isinstance(every_days, int) and every_days > 0 else 0
    if days and datetime.fromtimestamp(at.timestamp(), at.tzinfo).time() != at.time():
        at -= timedelta(days=days)  # summer time skips the first one, so count from the one before
    return ScheduleRule(days=days, start=at.timestamp())


def _read_time(text: str, tz: tzinfo | None) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=tz)
    except ValueError:
        return None
