"""What may be set for a channel, how it is written, and which source counts: file, crew's file, environment."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest

from bot.access import channels_file
from bot.access.access_values import VALUE_NAMES, ChannelValues, EffectiveValues, merge_sources
from bot.access.channel_settings import ChannelSettings
from bot.access.channels_file import CHANNELS_FILE, read_channels_file
from bot.access.quiet_hours import BadQuietHours, normalize_quiet_hours
from bot.access.time_zones import NoSuchZone, compute_utc_offset, parse_zone_name
from bot.app import load_crew_of_settings
from bot.limits.limit_rules import LimitRules, SpendingBudget
from bot.settings import Settings, SettingsError, read_settings
from specialists.files.frontmatter import CrewFault

DOCS = Path(__file__).parents[2] / "docs" / "install.md"
C = "C0123ABCD"


def at(text: str) -> float:
    """Seconds since the epoch of a moment."""
    return datetime.fromisoformat(text).timestamp()


def test_the_example_of_the_docs_sets_every_value(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(# channels\.yml\n.*?)```", DOCS.read_text(), re.DOTALL)
    (tmp_path / CHANNELS_FILE).write_text(example)
    file = read_channels_file(tmp_path, ("general", "review"))
    assert file.faults == []
    named = {name for values in file.channels.values() for name in VALUE_NAMES if getattr(values, name) is not None}
    assert named == set(VALUE_NAMES)
    table = DOCS.read_text().partition("\n## Settings of channels\n")[2].partition("\n## ")[0]
    keys = re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE)
    assert tuple(keys) == VALUE_NAMES, "the table names each, in this order"


def test_off_is_a_word_in_the_file() -> None:
    values = ChannelValues(budget=" OFF ", quiet_hours="off", instructions="off")
    assert (values.budget, values.quiet_hours, values.instructions) == ("off", "off", "")
    assert EffectiveValues(budget="off").daily_budget is None
    assert EffectiveValues(budget="$5, 200k tokens").daily_budget == SpendingBudget(5_000_000, 200_000)


def test_instructions_keep_no_character_that_nobody_sees() -> None:
    assert ChannelValues(instructions=" In\u202e EUR.\r\nNo\u200b tables. ").instructions == "In EUR.\nNo tables."


def test_quiet_hours_are_read_and_kept_in_one_form() -> None:
    for text, kept in {
        "20 - 8": "20-8",
        "20:30\u20137:45, Weekends": "20:30-7:45, weekends",
        "WEEKENDS": "weekends",
    }.items():
        assert normalize_quiet_hours(text) == kept == normalize_quiet_hours(kept)
    for wrong in ("8-8", "20-25", "20:60-8", "", ",", "20-8, 9-10", "weekends, weekends", "9-8:30"):
        with pytest.raises(BadQuietHours):
            normalize_quiet_hours(wrong)


@pytest.mark.parametrize(
    ("hours", "moment", "until"),
    [
        ("20-8", "2026-03-04T21:00+01:00", "2026-03-05T08:00+01:00"),
        ("20-8", "2026-03-04T07:59+01:00", "2026-03-04T08:00+01:00"),
        ("20-8", "2026-03-04T08:00+01:00", ""),
        ("12-13:30", "2026-03-04T12:00+01:00", "2026-03-04T13:30+01:00"),
        ("20-8, weekends", "2026-03-06T20:00+01:00", "2026-03-09T08:00+01:00"),
        ("weekends", "2026-03-08T23:59+01:00", "2026-03-09T00:00+01:00"),
        ("weekends", "2026-03-09T00:00+01:00", ""),
        ("off", "2026-03-04T03:00+01:00", ""),
    ],
)
def test_when_quiet_hours_end(hours: str, moment: str, until: str) -> None:
    access = EffectiveValues(quiet_hours=hours, zone="Europe/Berlin")
    assert access.find_quiet_end(at(moment)) == at(until or moment)


def test_a_zone_is_found_whatever_its_case_and_the_nearest_is_named() -> None:
    assert parse_zone_name(" america/new york ") == "America/New_York"
    assert parse_zone_name("Berlin") == parse_zone_name("CET") == "Europe/Berlin"
    with pytest.raises(NoSuchZone, match="did you mean Europe/Zurich"):
        parse_zone_name("Zürihc")
    assert compute_utc_offset("Europe/Berlin", at("2026-07-01T12:00+00:00")) == 7200
    assert compute_utc_offset("Europe/Berlin", at("2026-12-01T12:00+00:00")) == 3600
    assert compute_utc_offset("Gone/Zone", 0.0) == 0, "another machine may know more zones"


def test_each_value_comes_from_the_first_source_that_sets_it() -> None:
    environment = read_settings(
        {"LEADHAND_HIGHEST_TIER": "fast", "LEADHAND_QUIET_HOURS": "22-6", "LEADHAND_BUDGET_CHANNEL": "$9"}
    )
    place = CrewFault(Path("crew.yml"), 3, "")
    crew = {"highest_tier": ("balanced", place), "zone": ("europe/paris", place), "follow_ups": ("off", place)}
    of_crews = {"general": channels_file.parse_crew_values(crew)[0], "law": ChannelValues(zone="UTC")}
    file = {C: ChannelValues(zone="Europe/Berlin"), "C0456EFGH": ChannelValues(crew="law")}
    channels = ChannelSettings(
        None,  # type: ignore[arg-type] - nothing is read
        environment.find_channel_values,
        file,
        crews={"general": "", "law": ""},
        crew_values=of_crews,
    )
    access = channels.merge_without_form(C)
    found = {name: (getattr(access, name), access.find_origin(name).source) for name in VALUE_NAMES}
    assert found["highest_tier"] == ("balanced", "crew")
    assert found["follow_ups"] == (False, "crew")
    assert found["zone"] == ("Europe/Berlin", "file")
    assert found["quiet_hours"] == ("22-6", "environment")
    assert found["budget"] == ("$9", "environment")
    assert found["instructions"] == ("", "default")
    assert found["crew"] == ("general", "default")
    other = channels.merge_without_form("C0456EFGH")
    assert (other.crew, other.zone, other.highest_tier) == ("law", "UTC", "fast"), (
        "what another crew's file says counts there"
    )


async def test_the_budget_of_a_channel_takes_the_place_of_that_of_all_channels() -> None:
    usual = LimitRules(budgets={"channel": SpendingBudget(9), "day": SpendingBudget(99)})

    class FixedSettings(ChannelSettings):
        async def read_effective_values(self, team: str, channel: str) -> EffectiveValues:
            del team
            return merge_sources([(ChannelValues(budget=channel), "file")] if channel else [])

    settings = FixedSettings(None, lambda _: ChannelValues(), {})  # type: ignore[arg-type] - nothing is read
    assert await settings.apply_channel_budget(usual, "T1", "") == usual
    own = await settings.apply_channel_budget(usual, "T1", "$2")
    assert own.budgets == {"channel": SpendingBudget(2_000_000), "day": SpendingBudget(99)}
    assert (await settings.apply_channel_budget(usual, "T1", "off")).budgets == {"day": SpendingBudget(99)}


def test_what_is_wrong_in_a_crews_file_or_in_the_environment_is_said_at_the_start(tmp_path: Path) -> None:
    page = "---\nname: clerk\ndescription: Files.\ntools: []\nmodel: fast\n---\nYou file.\n"
    (tmp_path / "clerk.md").write_text(page)
    (tmp_path / "crew.yml").write_text("channel:\n  zone: Berln\n  follow_ups: sometimes\n")
    with pytest.raises(SettingsError) as raised:
        load_crew_of_settings(Settings(env={}, crew=str(tmp_path)))
    assert f"{tmp_path / 'crew.yml'}:2: zone: there is no time zone Berln; did you mean Europe/Berlin?" in str(
        raised.value
    )
    assert f"{tmp_path / 'crew.yml'}:3: follow_ups: it takes on or off" in str(raised.value)
    (tmp_path / "crew.yml").write_text("channel:\n  users: [U0123ABCD]\n")
    with pytest.raises(SettingsError, match="unknown key users; the keys are follow_ups"):
        load_crew_of_settings(Settings(env={}, crew=str(tmp_path)))
    with pytest.raises(SettingsError, match="LEADHAND_ZONE is 'Berln': there is no time zone"):
        read_settings({"LEADHAND_ZONE": "Berln"})
