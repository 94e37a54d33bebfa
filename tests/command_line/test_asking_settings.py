"""The settings on questions: when people are reminded, and when a question is closed."""

import pytest

from bot.settings import SettingsError, read_settings
from handoff.contracts import Asking


def asking(**env: str) -> Asking:
    return read_settings({f"LEADHAND_{name.upper()}": text for name, text in env.items()}).terms.asking


def test_people_are_reminded_after_four_hours_of_work_unless_it_is_set() -> None:
    assert asking() == Asking(remind_after=4 * 3600.0)
    assert asking(remind_after="never").remind_after == 0
    assert asking(remind_after="30 min", expire_after="2 days") == Asking(remind_after=1800.0, expire_after=172_800.0)


def test_working_hours_are_read() -> None:
    hours = asking(working_hours="8-20 Mon-Sat")
    assert (hours.opens, hours.closes, hours.days) == (8, 20, 6)
    assert asking(working_hours="0-24").days == 5


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("remind_after", "soon"),
        ("expire_after", "4"),
        ("working_hours", "18-9"),
        ("working_hours", "9-25"),
        ("working_hours", "9-18 Tue-Fri"),
        ("working_hours", "all day"),
    ],
)
def test_a_setting_that_cannot_be_read_is_named(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"LEADHAND_{name.upper()} is '{text}'; it takes"):
        asking(**{name: text})
