"""The settings, as the environment gives them: what each comes to, and how one that cannot be is named."""

from __future__ import annotations

import pytest

from bot.access.access_values import ChannelValues
from bot.command_line.check import describe_retention
from bot.settings import Address, SettingsError, read_settings
from bot.store.values import DAY_SECONDS, DEFAULT_RETENTION, Retention
from handoff.contracts import AskingTerms

WRONG: list[tuple[str, str, str]] = [
    ("LEADHAND_CHANNELS", "#sales", "LEADHAND_CHANNELS names '#sales'; it takes the ids of channels"),
    ("LEADHAND_USERS", "U0123ABCD, ana", "ana is no id of a person (U...) or group (S...)"),
    ("LEADHAND_GUESTS", "some", "it takes on or off"),
    ("LEADHAND_STRANGERS", "all", "all is no id of a workspace (T...)"),
    ("LEADHAND_APPROVERS", "C0123ABCD", "no id of a person"),
    ("LEADHAND_REMIND_AFTER", "soon", "LEADHAND_REMIND_AFTER is 'soon'; it takes"),
    ("LEADHAND_EXPIRE_AFTER", "4", "LEADHAND_EXPIRE_AFTER is '4'; it takes"),
    *(
        ("LEADHAND_WORKING_HOURS", text, f"LEADHAND_WORKING_HOURS is '{text}'; it takes")
        for text in ("18-9", "9-25", "9-18 Tue-Fri", "all day")
    ),
    *(
        ("LEADHAND_FOLLOW_UPS", text, "it takes on, off, or either with the ids of channels")
        for text in ("yes", "off in", "off in #general", "in C0123ABCD", "off, C0123ABCD")
    ),
    *(
        ("LEADHAND_KEEP", text, "LEADHAND_KEEP")
        for text in (
            "30",
            "jobs",
            "jobs 0",
            "jobs -1",
            "logs 3",
            "jobs 3, jobs 4",
            "materials 31",
            "jobs 5, materials 6",
        )
    ),
    *(
        ("LEADHAND_OPERATION", text, "it takes host:port")
        for text in ("9464", ":9464", "localhost", "http://localhost:1", "localhost:99999", "a:b", "a:1/x", "u@a:1")
    ),
    ("LEADHAND_LOG", "xml", "LEADHAND_LOG is 'xml'; it takes text or json"),
    ("LEADHAND_PORT", "http", "LEADHAND_PORT is 'http'; it takes a port from 0 to 65535, or host:port"),
    ("LEADHAND_PORT", "3.7", "LEADHAND_PORT is '3.7'; it takes a port from 0 to 65535"),
    ("LEADHAND_URL", "http://bot.example.com", "LEADHAND_URL is 'http://bot.example.com'; it takes"),
    ("LEADHAND_URL", "bot.example.com", "LEADHAND_URL is no address"),
    ("LEADHAND_SLOTS", "0", "LEADHAND_SLOTS is 0; it takes a number from 1 to 1000"),
    ("LEADHAND_LEASE", "nan", "LEADHAND_LEASE is nan; it takes a number from 1 to 600"),
    ("LEADHAND_SLACK_UNLIMITED", "yes", "LEADHAND_SLACK_UNLIMITED is 'yes'; it takes a number from 0 to 1"),
    ("SLACK_API_URL", "127.0.0.1:3900/api/", "SLACK_API_URL is no address: it begins with one of: https://, http://"),
    ("OPENAI_BASE_URL", "localhost:8000/v1", "OPENAI_BASE_URL is no address"),
    ("ANTHROPIC_BASE_URL", "http://[", "ANTHROPIC_BASE_URL is no address"),
]


@pytest.mark.parametrize(("name", "text", "words"), WRONG)
def test_one_that_cannot_be_is_named_with_what_it_takes(name: str, text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({name: text})
    assert str(caught.value).startswith(name)
    assert words in str(caught.value)


def test_what_is_not_set_is_left_open() -> None:
    assert read_settings({}).find_channel_values("C0123ABCD") == ChannelValues()


def test_each_of_those_on_access_is_read() -> None:
    settings = read_settings(
        {
            "LEADHAND_CHANNELS": "C0123ABCD, C0456EFGH",
            "LEADHAND_USERS": "U0123ABCD,S0123ABCD,",
            "LEADHAND_GUESTS": "ON",
            "LEADHAND_STRANGERS": "T0123ABCD",
            "LEADHAND_APPROVERS": "S0456EFGH",
            "LEADHAND_FOLLOW_UPS": "off in C0123ABCD",
        }
    )
    everywhere = ChannelValues(
        users=("U0123ABCD", "S0123ABCD"), guests=True, strangers=("T0123ABCD",), approvers=("S0456EFGH",)
    )
    for channel, allowed, heard in (("C0123ABCD", True, False), ("C0456EFGH", True, True), ("C0789IJKL", False, True)):
        values = {"allowed": allowed, "follow_ups": heard}
        assert settings.find_channel_values(channel) == everywhere.model_copy(update=values)


def test_what_is_set_as_it_is_by_default_comes_from_the_environment_all_the_same() -> None:
    assert read_settings({"LEADHAND_FOLLOW_UPS": "on"}).find_channel_values("C0123ABCD").follow_ups is True
    assert read_settings({"LEADHAND_GUESTS": "off"}).find_channel_values("C0123ABCD").guests is False


def asking(**env: str) -> AskingTerms:
    return read_settings({f"LEADHAND_{name.upper()}": text for name, text in env.items()}).terms.asking


def test_people_are_reminded_after_four_hours_of_work_unless_it_is_set() -> None:
    assert asking() == AskingTerms(remind_after=4 * 3600.0)
    assert asking(remind_after="never").remind_after == 0
    assert asking(remind_after="30 min", expire_after="2 days") == AskingTerms(
        remind_after=1800.0, expire_after=172_800.0
    )


def test_working_hours_are_read() -> None:
    hours = asking(working_hours="8-20 Mon-Sat")
    assert (hours.opens, hours.closes, hours.days) == (8, 20, 6)
    assert asking(working_hours="0-24").days == 5


@pytest.mark.parametrize(
    ("text", "in_c1", "in_c2"),
    [
        ("", True, True),
        ("on", True, True),
        (" OFF ", False, False),
        ("off in C0123ABCD", False, True),
        ("on in c0123abcd, C0999ZZZZ", True, False),
    ],
)
def test_follow_ups_are_heard_where_it_says(text: str, in_c1: bool, in_c2: bool) -> None:  # noqa: FBT001
    follow_ups = read_settings({"LEADHAND_FOLLOW_UPS": text}).follow_ups
    assert (follow_ups.apply_in("C0123ABCD"), follow_ups.apply_in("C0456EFGH")) == (in_c1, in_c2)


@pytest.mark.parametrize(
    ("text", "retention"),
    [
        ("", DEFAULT_RETENTION),
        ("jobs 7", Retention(jobs=7 * DAY_SECONDS)),
        (" Audit 1000 , materials 0.5 ", Retention(materials=0.5 * DAY_SECONDS, audit=1000 * DAY_SECONDS)),
        (
            "jobs 60, questions 10, materials 60",
            Retention(jobs=60 * DAY_SECONDS, waiting_jobs=10 * DAY_SECONDS, materials=60 * DAY_SECONDS),
        ),
    ],
)
def test_it_is_said_for_how_long_what_is_kept(text: str, retention: Retention) -> None:
    assert read_settings({"LEADHAND_KEEP": text}).retention == retention


def test_check_says_it_in_days() -> None:
    assert describe_retention(Retention(materials=7 * DAY_SECONDS)) == (
        "jobs 30 days after their end, questions that nobody answers 180 days, files and their texts 7 days, "
        "the audit 365 days"
    )
    assert "as long as their job" in describe_retention(DEFAULT_RETENTION)


def test_where_its_endpoints_are() -> None:
    assert read_settings({}).operation == Address("127.0.0.1", 9464, is_fixed=False)
    assert read_settings({"LEADHAND_OPERATION": "off"}).operation is None
    assert read_settings({"LEADHAND_OPERATION": "0.0.0.0:80"}).operation == Address("0.0.0.0", 80)  # noqa: S104 - as in a container
    assert str(read_settings({"LEADHAND_OPERATION": "[::1]:9464"}).operation) == "[::1]:9464"


def test_the_form_of_the_log() -> None:
    assert [read_settings(env).log for env in ({}, {"LEADHAND_LOG": "json"})] == ["text", "json"]


def test_what_is_secret_among_the_settings() -> None:
    env = {
        "SLACK_BOT_TOKEN": "xoxb-1",
        "SLACK_SIGNING_SECRET": "0123",
        "BRAVE_API_KEY": "brave",
        "REDIS_URL": "redis://me:p%40ss@host",
        "LEADHAND_CREW": "general",
        "MY_TOKEN": "of another program",
    }
    assert read_settings(env).secrets == {"xoxb-1", "0123", "brave", "p%40ss", "p@ss"}
