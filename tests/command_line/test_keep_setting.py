"""The setting `LEADHAND_KEEP`: for how many days what is kept, how `leadhand check` says it, and what is refused."""

from __future__ import annotations

import pytest

from bot.command_line.check import kept_words
from bot.settings import SettingsError, read_settings
from bot.store.retention import AS_EVER, DAY, Retention


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", AS_EVER),
        ("jobs 7", Retention(jobs=7 * DAY)),
        (" Audit 1000 , materials 0.5 ", Retention(materials=0.5 * DAY, audit=1000 * DAY)),
        ("jobs 60, questions 10, materials 60", Retention(jobs=60 * DAY, waiting=10 * DAY, materials=60 * DAY)),
    ],
)
def test_it_says_how_long_what_is_kept(text: str, kept: Retention) -> None:
    assert read_settings({"LEADHAND_KEEP": text}).retention == kept


@pytest.mark.parametrize(
    "wrong", ["30", "jobs", "jobs 0", "jobs -1", "logs 3", "jobs 3, jobs 4", "materials 31", "jobs 5, materials 6"]
)
def test_a_wrong_one_is_refused_with_what_it_takes(wrong: str) -> None:
    with pytest.raises(SettingsError, match="LEADHAND_KEEP"):
        read_settings({"LEADHAND_KEEP": wrong})


def test_check_says_it_in_days() -> None:
    assert kept_words(Retention(materials=7 * DAY)) == (
        "jobs 30 days after their end, questions that nobody answers 180 days, files and their texts 7 days, "
        "the audit 365 days"
    )
    assert "as long as their job" in kept_words(AS_EVER)
