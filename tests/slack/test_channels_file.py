"""channels.yml: what it sets, and what is said of what is wrong with it: file, line, remedy."""

from pathlib import Path

import pytest

from bot.access.access_values import VALUE_NAMES, ChannelValues
from bot.access.channels_file import CHANNELS_FILE, read_channels_file

GOOD = """\
# where they differ
C0123ABCD:
  users: [U0123ABCD, S0123ABCD]
  guests: true
  follow_ups: off
C0456EFGH:
  allowed: no
  strangers:
    - T0123ABCD
  approvers: [S0123ABCD]
"""


def write_channels_file(folder: Path, text: str) -> Path:
    (folder / CHANNELS_FILE).write_text(text, encoding="utf-8")
    return folder


def test_a_missing_file_says_nothing_and_an_empty_one_neither(tmp_path: Path) -> None:
    assert (read_channels_file(tmp_path).channels, read_channels_file(tmp_path).faults) == ({}, [])
    assert (
        read_channels_file(write_channels_file(tmp_path, "# none yet\n")).channels,
        read_channels_file(tmp_path).faults,
    ) == (
        {},
        [],
    )


def test_each_value_is_read(tmp_path: Path) -> None:
    file = read_channels_file(write_channels_file(tmp_path, GOOD))
    assert file.faults == []
    assert file.channels == {
        "C0123ABCD": ChannelValues(users=("U0123ABCD", "S0123ABCD"), guests=True, follow_ups=False),
        "C0456EFGH": ChannelValues(allowed=False, strangers=("T0123ABCD",), approvers=("S0123ABCD",)),
    }


WRONG = [
    ("C0123ABCD:\n  guests: true\n  user: [U0123ABCD]\n", 3, "unknown key user (did you mean users?)"),
    ("C0123ABCD:\n  whatever: 1\n", 2, f"the keys are {', '.join(VALUE_NAMES)}"),
    ("C0123ABCD:\n  guests: sometimes\n", 2, "guests: it takes true or false"),
    ("C0123ABCD:\n  guests:\n", 2, "guests: it takes true or false"),
    ("C0123ABCD:\n  users: U0123ABCD\n", 2, "users: it takes a list of ids"),
    ("C0123ABCD:\n  users:\n  - U0123ABCD\n  - ana\n", 3, "users: ana is no id of a person (U...) or group (S...)"),
    ("C0123ABCD:\n  users: [[U1]]\n", 2, "users: it takes ids"),
    ("C0123ABCD:\n  strangers: [U0123ABCD]\n", 2, "strangers: U0123ABCD is no id of a workspace (T...)"),
    ("C0123ABCD:\n  guests: on\n  guests: off\n", 3, "the key guests is there twice; keep one"),
    ("C0123ABCD:\n  guests: on\nC0123ABCD:\n  guests: off\n", 3, "the channel C0123ABCD is there twice; keep one"),
    ("sales:\n  guests: on\n", 1, "sales is no id of a channel"),
    ("C0123ABCD: open\n", 1, "a channel is not a list of `key: value` lines"),
    ("- C0123ABCD\n", 1, "the file is not a list of channels"),
    ("C0123ABCD:\n  guests: [\n", 3, "not valid YAML"),
    ("a: " * 2, 1, "not valid YAML"),
    (
        f"C0123ABCD:\n  users: [{', '.join(f'U0{number:04}' for number in range(101))}]\n",
        2,
        "at most 100 are allowed; name a user group instead",
    ),
    *(
        (f"C0123ABCD:\n  {line}\n", 2, words)
        for line, words in (
            ("instructions: " + "x" * 50_000, "these are 50,000 characters, and at most 1,500 are allowed"),
            ("highest_tier: huge", "there is no tier huge; there are fast, balanced, deep"),
            ("highest_tier: depe", "there is no tier depe (did you mean deep?)"),
            ("budget: lots", "it takes an amount such as `$2.50`, `400k tokens` or both: `$2.50, 400k tokens`, or off"),
            ("budget: [1]", "budget: it takes text"),
            ("quiet_hours: 0-24", "these hours cover the whole day; leave an hour of it at least"),
            ("quiet_hours: night", "it takes hours such as `20-8, weekends`, or off"),
            ("zone: Europe/Berlni", "there is no time zone Europe/Berlni; did you mean Europe/Berlin?"),
            ("zone: Mars/Base", "there is no time zone Mars/Base; it takes a name such as Europe/Berlin"),
        )
    ),
]


@pytest.mark.parametrize(("text", "line", "words"), WRONG)
def test_what_is_wrong_is_said_with_file_line_and_remedy(tmp_path: Path, text: str, line: int, words: str) -> None:
    (fault,) = read_channels_file(write_channels_file(tmp_path, text)).faults
    assert (fault.path, fault.line) == (tmp_path / CHANNELS_FILE, line)
    assert words in fault.text, fault.text


def test_a_file_that_is_no_text_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / CHANNELS_FILE).write_bytes(b"\xff\xfe\x00")
    (fault,) = read_channels_file(tmp_path).faults
    assert "save it as UTF-8" in fault.text
    (tmp_path / CHANNELS_FILE).write_bytes(b"[" * 100_000)
    assert read_channels_file(tmp_path).faults
