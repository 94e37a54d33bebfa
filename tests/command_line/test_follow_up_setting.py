"""The setting `LEADHAND_FOLLOW_UPS`: where messages without a mention are heard, and how a wrong one is refused."""

from __future__ import annotations

import pytest

from bot.settings import SettingsError, read_settings


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
def test_they_are_heard_where_it_says(text: str, in_c1: bool, in_c2: bool) -> None:  # noqa: FBT001
    follow_ups = read_settings({"LEADHAND_FOLLOW_UPS": text}).follow_ups
    assert (follow_ups.are_heard_in("C0123ABCD"), follow_ups.are_heard_in("C0456EFGH")) == (in_c1, in_c2)


@pytest.mark.parametrize("wrong", ["yes", "off in", "off in #general", "in C0123ABCD", "off, C0123ABCD"])
def test_a_wrong_one_is_refused_with_what_it_takes(wrong: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read_settings({"LEADHAND_FOLLOW_UPS": wrong})
    assert "it takes on, off, or either with the ids of channels" in str(raised.value)
