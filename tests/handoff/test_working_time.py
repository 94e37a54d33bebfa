"""Working hours are counted by the clock of who is asked; spans are read and said as people write them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff.contracts import Asking
from handoff.conversation.working_time import after_work, read_span, span

USUAL = Asking()
HOUR = 3600.0


def at(text: str) -> float:
    """A moment of the week of Monday 2 November 2026, such as `Mon 09:30`, in UTC."""
    day, _, clock = text.partition(" ")
    hour, minute = clock.split(":")
    number = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun").index(day)
    return datetime(2026, 11, 2 + number, int(hour), int(minute), tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("since", "hours", "offset", "until"),
    [
        ("Mon 09:30", 4, 0, "Mon 13:30"),
        ("Mon 16:00", 4, 0, "Tue 11:00"),
        ("Mon 03:00", 4, 0, "Mon 13:00"),
        ("Mon 22:00", 1, 0, "Tue 10:00"),
        ("Mon 14:00", 4, 0, "Tue 09:00"),
        ("Mon 09:30", 0, 0, "Mon 09:30"),
        ("Mon 20:00", 0, 0, "Tue 09:00"),
        ("Mon 09:30", 1, 9, "Tue 01:00"),
        ("Mon 22:00", 1, -8, "Mon 23:00"),
    ],
)
def test_hours_of_work_pass_in_the_hours_of_work(since: str, hours: float, offset: int, until: str) -> None:
    assert after_work(at(since), hours * HOUR, USUAL, offset * 3600) == at(until)


def test_a_weekend_does_not_count() -> None:
    monday = at("Mon 09:00") + 7 * 86_400
    assert after_work(at("Fri 17:00"), 2 * HOUR, USUAL, 0) == monday + HOUR
    assert after_work(at("Sat 12:00"), HOUR, USUAL, 0) == monday + HOUR
    assert after_work(at("Sat 12:00"), HOUR, Asking(days=6), 0) == at("Sat 13:00")


@given(
    st.floats(min_value=0, max_value=4e9),
    st.floats(min_value=0, max_value=60 * HOUR),
    st.integers(min_value=-12, max_value=14),
    st.integers(min_value=1, max_value=7),
)
def test_nobody_is_reminded_in_the_night_or_early(since: float, seconds: float, offset: int, days: int) -> None:
    found = after_work(since, seconds, Asking(days=days), offset * 3600)
    local = datetime.fromtimestamp(found, UTC) + timedelta(hours=offset)
    assert found >= since + seconds - 0.01
    inexact = timedelta(milliseconds=10)
    assert (local + inexact).hour >= 9
    assert (local - inexact).hour < 18
    assert local.weekday() < days


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("4h", 14_400), ("30 min", 1_800), ("2 days", 172_800), ("1.5 hours", 5_400), ("never", 0), ("1d", 86_400)],
)
def test_spans_are_read(text: str, seconds: float) -> None:
    assert read_span(text) == seconds


@pytest.mark.parametrize("text", ["", "4", "soon", "0h", "-1h", "4h 30m", "1 year"])
def test_what_is_no_span_is_not_taken_for_one(text: str) -> None:
    assert read_span(text) is None


def test_spans_are_said() -> None:
    said = [span(seconds) for seconds in (86_400, 172_800, 5_400, 3_600, 600, 30)]
    assert said == ["1 day", "2 days", "1.5 hours", "1 hour", "10 minutes", "30 seconds"]
