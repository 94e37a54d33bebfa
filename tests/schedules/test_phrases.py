"""What code reads as a schedule, what it leaves to a model, and what is an ordinary request."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.access.time_zones import find_nearest_zone, find_zone, find_zone_name
from bot.features.schedules.commands import match_schedule
from bot.features.schedules.cron_text import normalize_cron
from bot.features.schedules.form import render_form
from bot.features.schedules.rule_times import find_next_time
from bot.features.schedules.rule_words import describe_rule, render_zone
from bot.features.schedules.schedule import ParsedSchedule, Schedule, ScheduleRefusal
from bot.features.schedules.schedule_parser import NEEDS_MODEL, parse_schedule, parse_time_only
from bot.features.schedules.time_phrases import is_imperative

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=ZoneInfo(BERLIN)).timestamp()  # a Monday

READABLE_PHRASES = [
    ("every Monday at 9 summarise #sales here", "every Monday at 9:00", "summarise #sales here"),
    ("every weekday at 9:30, summarise #sales", "every weekday at 9:30", "summarise #sales"),
    ("every day at 5pm: post the numbers", "every day at 17:00", "post the numbers"),
    ("summarise #sales every Monday at 9", "every Monday at 9:00", "summarise #sales"),
    ("every Mon, Wed and Fri at 8:15 do it", "every Monday, Wednesday and Friday at 8:15", "do it"),
    ("every Monday to Thursday at 8 do it", "every Monday, Tuesday, Wednesday and Thursday at 8:00", "do it"),
    ("on the 1st of every month at 10 draft it", "on the 1st of each month at 10:00", "draft it"),
    ("every month on the 15th at 9 do it", "on the 15th of each month at 9:00", "do it"),
    ("every hour check it", "every hour", "check it"),
    ("every 30 minutes check it", "every 30 minutes", "check it"),
    ("on 2026-12-01 at 9 do x", "once, on Tuesday 1 December 2026 at 9:00", "do x"),
    ("on 1 December at 9 do x", "once, on Tuesday 1 December 2026 at 9:00", "do x"),
    ("every 2 hours check it", "every 2 hours", "check it"),
    ("0 9 * * 1 summarise", "every Monday at 9:00", "summarise"),
    ("cron 0 9 * * 1-5: summarise", "every weekday at 9:00", "summarise"),
    ("@daily summarise", "every day at 0:00", "summarise"),
    ("tomorrow at 9 summarise", "once, on Tuesday 24 November 2026 at 9:00", "summarise"),
    ("on Friday at 9 remind us", "once, on Friday 27 November 2026 at 9:00", "remind us"),
    ("on Friday: remind us", "once, on Friday 27 November 2026 at 9:00", "remind us"),
    ("on 3 March at 9 do x", "once, on Wednesday 3 March 2027 at 9:00", "do x"),
    ("every day at 9h list x", "every day at 9:00", "list x"),
    ("every day at 9h30 list x", "every day at 9:30", "list x"),
    ("every day at 0930 list x", "every day at 9:30", "list x"),
    ("every day at 0930 hours list x", "every day at 9:30", "list x"),
    ("every day at 9.30 pm list x", "every day at 21:30", "list x"),
    ("every day at 9 a.m. list x", "every day at 9:00", "list x"),
    ("every day at 21 Uhr list x", "every day at 21:00", "list x"),
    ("every day at 12 noon list x", "every day at 12:00", "list x"),
    ("every day at 12am list x", "every day at 0:00", "list x"),
    ("every Monday at 9 report the open tickets", "every Monday at 9:00", "report the open tickets"),
    ("every Monday at 9: Nordwind report", "every Monday at 9:00", "Nordwind report"),
    ("every Monday at 9 - London sales", "every Monday at 9:00", "London sales"),
    ("every Monday at 9 local news summary", "every Monday at 9:00", "local news summary"),
]
ZONES = [  # behind the time; the zone that is meant by somebody in Berlin
    ("EST", "America/New_York"),
    ("pst", "America/Los_Angeles"),
    ("ET", "America/New_York"),
    ("PT", "America/Los_Angeles"),
    ("CET", BERLIN),
    ("CEST", BERLIN),
    ("BST", "Europe/London"),
    ("JST", "Asia/Tokyo"),
    ("AEST", "Australia/Sydney"),
    ("MEZ", BERLIN),
    ("EST/EDT", "America/New_York"),
    ("EST (New York)", "America/New_York"),
    ("Z", "UTC"),
    ("UTC", "UTC"),
    ("(UTC)", "UTC"),
    ("UTC+2", "UTC+02:00"),
    ("GMT+1", "UTC+01:00"),
    ("UTC-03:30", "UTC-03:30"),
    ("UTC +5:30", "UTC+05:30"),
    ("+02:00", "UTC+02:00"),
    ("-0500", "UTC-05:00"),
    ("Eastern", "America/New_York"),
    ("US Eastern", "America/New_York"),
    ("Eastern Standard Time", "America/New_York"),
    ("India Standard Time", "Asia/Kolkata"),
    ("Berlin time", BERLIN),
    ("(Berlin)", BERLIN),
    ("in New York", "America/New_York"),
    ("New York", "America/New_York"),
    ("Rio de Janeiro", "America/Sao_Paulo"),
    ("America/Port-au-Prince", "America/Port-au-Prince"),
    ("my time", ""),
    ("local time", ""),
]
ASKED_PHRASES = [  # what was not understood, and what the question names
    ("every Monday at 9am IST list x", "Kolkata time or Jerusalem time or Dublin time"),
    ("every Monday at 9am ZST list x", "“ZST”"),
    ("every Monday at 9am sharpish list x", "“sharpish”"),
    ("every Monday at 9am XYZ time list x", "I know no time zone 'XYZ'"),
    ("every Monday at 9am (Mars) list x", "'Mars'"),
    ("every Monday at 9am (sharp) list x", "“(sharp)”"),
    ("every Monday at 9am GMT+25 list x", "'GMT+25'"),
    ("every Monday at 9am EST (Berlin) list x", "two time zones"),
    ("every Monday at 9 London sales: list x", "“London”"),
    ("every Monday at 9-11 list x", "“-11”"),
    ("0 9 * * mon ZST list x", "“ZST”"),
    ("list x every Monday at 9am Narnia", "'Narnia'"),
    ("list x every Monday at 9am (Narnia)", "'Narnia'"),
    ("list x every Monday at 9am XYZ", "'XYZ'"),
]
UNREAD_PHRASES = [  # none of the forms: a model reads them
    "at 9 every Monday summarise",
    "the first Monday of the month at 9 do it",
    "on the last Friday of each month at 16:00 do it",
    "on the last day of the month at 9 do it",
    "every 90 minutes check it",
    "every other day at 9 do x",
    "every two weeks on Friday at 9 do x",
    "daily at 9 and 17: summarise",
    "on Mondays at nine o'clock summarise",
    "weekly summarise #sales",
    "every quarter at 9 do x",
    "in 2 hours summarise",
    "every day at half past nine list x",
    "every day at half past nine in the evening list x",
    "every day at quarter to five list x",
    "every day at a quarter past 8 list x",
    "every day at ten to six pm list x",
    "every day at five to midnight list x",
    "every day at twenty-five to nine list x",
    "every day at nine thirty list x",
    "every day in the evening list x",
    "every day at 11 at night list x",
    "every day at dawn list x",
    "every day before lunch list x",
    "every day between 9 and 10 list x",
    "every day at half nine list x",
    "every day at 9ish list x",
    "every day at 9 and 17:30 list x",
    "every 10 seconds ping",
    "every second ping",
    "list x every day at half past nine",
    "list x on the last Friday of each month at 16:00",
    "every other Friday at 9 brew coffee",
    "at 9 (London) every weekday brew coffee",
    "brew coffee at half past nine every Monday and Thursday",
    "the weekly numbers every 3 months at nine",
    "on March 3rd at half past nine: brew coffee",
    "summarise #sales at 5pm every 2 hours",
    "every day at dawn brew the first coffee",
    "jeden Montag um 9 fasse #sales zusammen",
    "jeden Tag um halb zehn fasse #sales zusammen",
    "schedule every third business day a summary",
    "every Monday morning list x",
    "every day at 9 or 10 list x",
    "fortnightly summarise #sales",
    "twice a day list x",
    "summarise #sales twice a day at 9 and 17",
    "every Friday evening at 8 list x",
    "every Monday night at 9 list x",
    "every weekday except Friday at 9 list x",
    "every day at 9 except holidays: list x",
    "every weekday at 9 but not on Fridays list x",
    "every Monday at 9 unless it is a holiday: list x",
    "every day at 9 excluding weekends list x",
    "list x every day at 9 except Sundays",
]
REQUESTS = [
    "write a plan for every Monday meeting",
    "every day matters: write an essay about it",
    "every employee should get a mail, write it",
    "compare revenue of every Monday",
    "tell me how we did on Monday at 9",
    "summarise what was said on Monday",
    "what happens every month?",
    "list every day on which sales fell",
    "Every Monday we meet at 9; write an agenda",
    "draft a mail to the team: we meet every Monday at 9",
    "schedule a meeting with Ben on Friday at 9",
    "every month of 2026 is in the table: which was best?",
    "explain what the cron text 0 9 * * 1 means",
    "each week has seven days, right?",
    "total revenue by month, every region apart",
    "every Monday at 9 we meet; write an agenda",
    "On Friday, Ben said that the launch is late. Draft a reply",
    "on Monday revenue dropped, explain why",
    "On Friday at 9 Ben called about the offer: summarise it",
    "tomorrow we meet Nordwind, prepare me",
    "in 2027 we want to grow: write a plan",
    "Every Friday, Cleo sends the numbers. Which are wrong?",
    "every quarter at 9 we meet; write an agenda",
    "every Monday at half past nine",
    "every Monday at 9",
    "jeden Umsatz je Region bitte",
    "fortnightly reports are late, why?",
    "we meet twice a week: write an agenda",
    "nightly builds fail: explain why",
]
WRONG = [
    ("every Monday at 25 do x", "There is no time"),
    ("every Monday at 9 in Berln time do x", "Did you mean Europe/Berlin?"),
    ("every Monday at 9 until 31 February do x", "There is no day '31 February'"),
    ("on the 32nd of every month at 9 do x", "No month has the day"),
    ("60 9 * * mon do x", "I cannot read `60`"),
    ("*/60 * * * * do x", "I cannot read `*/60`"),
    ("0 */24 * * * do x", "I cannot read `*/24`"),
]


@pytest.mark.parametrize(("phrase", "when", "asks"), READABLE_PHRASES, ids=[one[0] for one in READABLE_PHRASES])
def test_plain_phrases_are_read(phrase: str, when: str, asks: str) -> None:
    found = parse_schedule(phrase, now=NOW, zone=BERLIN)
    assert isinstance(found, ParsedSchedule)
    assert (describe_rule(found.rule, BERLIN), found.asks) == (when, asks)
    assert find_next_time(found.rule, BERLIN, NOW) is not None
    one = Schedule(team="T1", channel="C1", owner="U1", asks=asks, rule=found.rule, zone=BERLIN)
    again = parse_time_only(render_form(one, "-")["blocks"][0]["element"]["initial_value"], now=NOW, zone=BERLIN)
    assert isinstance(again, ParsedSchedule), "the form shows words, a date or cron text, and reads them again"
    assert describe_rule(again.rule, BERLIN) == when


@pytest.mark.parametrize("phrase", REQUESTS)
def test_an_ordinary_request_is_none(phrase: str) -> None:
    assert match_schedule(phrase) is None


@pytest.mark.parametrize("phrase", UNREAD_PHRASES)
def test_other_words_that_say_when_go_to_a_model(phrase: str) -> None:
    assert parse_schedule(phrase, now=NOW, zone=BERLIN) == NEEDS_MODEL
    assert match_schedule(phrase) == phrase


@pytest.mark.parametrize(("zone_text", "zone"), ZONES)
@pytest.mark.parametrize("form", ["every Monday at 9:00 {} list x", "list x every Monday at 9:00 {}"])
def test_a_zone_behind_the_time_counts(form: str, zone_text: str, zone: str) -> None:
    found = parse_schedule(form.format(zone_text), now=NOW, zone=BERLIN)
    assert isinstance(found, ParsedSchedule)
    assert (found.zone, found.asks, found.rule.cron) == (zone, "list x", "0 9 * * mon")
    at = find_next_time(found.rule, zone or BERLIN, NOW)
    assert at is not None
    assert datetime.fromtimestamp(at, find_zone(zone or BERLIN)).strftime("%a %H:%M") == "Mon 09:00"
    assert find_zone_name(render_zone(zone)) == zone, "the read-back names it so that it can be read again"


def test_a_zone_may_follow_the_time_without_a_space() -> None:
    for said, zone in (("9:00Z", "UTC"), ("9:00CET", BERLIN), ("9:00+02:00", "UTC+02:00"), ("0900Z", "UTC")):
        found = parse_schedule(f"every Monday at {said} list x", now=NOW, zone="UTC")
        assert isinstance(found, ParsedSchedule)
        assert (found.zone, found.asks) == (zone, "list x")


def test_an_abbreviation_of_several_zones_is_that_of_whoever_says_it() -> None:
    for own, meant in (("Asia/Kolkata", "IST"), ("Europe/Dublin", "IST"), ("Asia/Shanghai", "CST")):
        found = parse_schedule(f"every Monday at 9 {meant} list x", now=NOW, zone=own)
        assert isinstance(found, ParsedSchedule)
        assert found.zone == own


@pytest.mark.parametrize(("phrase", "words"), ASKED_PHRASES)
def test_words_between_time_and_task_that_are_not_understood_are_asked_about(phrase: str, words: str) -> None:
    found = parse_schedule(phrase, now=NOW, zone=BERLIN)
    assert isinstance(found, ScheduleRefusal)
    assert words in found.words


@settings(max_examples=300, deadline=None)
@given(stray=st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789+-()./ ", min_size=1, max_size=14))
def test_nothing_behind_a_time_becomes_part_of_a_task_that_begins_with_an_order(stray: str) -> None:
    assume(not re.search(r"(?i)(?<!\S)(?:an?|the|no|my|his|her|its|this|that|each)\s*$", stray))  # "draw a list"
    found = parse_schedule(f"every Monday at 9:00 {stray} list the invoices", now=NOW, zone=BERLIN)
    if isinstance(found, ParsedSchedule):
        task = found.asks
        is_sentence_of_its_own = stray.strip(" ,").startswith(("-", ".")) or re.search(r"[-.]\s", f"{stray} ")
        assert task == "list the invoices" or is_imperative(task) or is_sentence_of_its_own, task


@pytest.mark.parametrize(("phrase", "words"), WRONG)
def test_what_cannot_be_is_said(phrase: str, words: str) -> None:
    found = parse_schedule(phrase, now=NOW, zone=BERLIN)
    assert isinstance(found, ScheduleRefusal)
    assert words in found.words


def test_what_else_a_schedule_may_say() -> None:
    said = "every Friday at noon Lisbon time until 1 March summarise #ops, only if something changed"
    found = parse_schedule(said, now=NOW, zone=BERLIN)
    assert isinstance(found, ParsedSchedule)
    assert (found.asks, found.zone, found.only_if_new) == ("summarise #ops", "Europe/Lisbon", True)
    assert found.until is not None
    assert datetime.fromtimestamp(found.until, ZoneInfo("Europe/Lisbon")).isoformat() == "2027-03-01T23:59:59+00:00"


def test_words_about_one_schedule_are_a_command() -> None:
    assert match_schedule("pause schedule SABCDEF") == "pause schedule SABCDEF"


def test_numbers_of_weekdays_are_those_of_cron() -> None:
    names = [normalize_cron(f"0 9 * * {number}") for number in ("0", "1", "7", "1-5", "6-1", "sun-sat", "mon#1", "5L")]
    week = [str(one).split()[-1] for one in names]
    assert week == ["sun", "mon", "sun", "mon,tue,wed,thu,fri", "mon,sat,sun", "*", "mon#1", "fri#last"]


def test_zones_go_by_their_cities() -> None:
    assert [find_zone_name(one) for one in ("berlin", "New York", "UTC", "PST", "Lord Howe")] == [
        "Europe/Berlin", "America/New_York", "UTC", "America/Los_Angeles", "Australia/Lord_Howe",
    ]  # fmt: skip
    assert (find_zone_name("Atlantis"), find_nearest_zone("Europe/Berlim")) == ("", "Europe/Berlin")


BUSY = [
    "at 9 and ",
    "every ",
    "on monday, ",
    "the 1st and the ",
    "every monday and ",
    " , ",
    "1st ",
    "five PM ",
    "UTC, ",
]


@pytest.mark.parametrize("part", BUSY)
def test_what_is_made_to_keep_us_busy_does_not(part: str) -> None:
    assert match_schedule("every Monday at 9 summarise " + part * 20_000) is None
    match_schedule((part * 2_500)[:2_490])
    match_schedule(f"every monday {part * 2_500}"[:2_490])
    match_schedule(f"sum up at 9 {part * 60}"[:400] + " every monday")
    match_schedule(f"sum up every {part * 60}"[:400] + " at 9 x")
