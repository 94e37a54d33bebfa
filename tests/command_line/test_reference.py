"""docs/reference.md is what the code says, and its examples can be used as they stand."""

import re
from pathlib import Path

from bot.settings import NAMES
from specialists.loading import approval_keys, crew_file
from specialists.specialist import _KEYS as SPECIALIST_KEYS
from tests import reference
from tests.own_tools import all_tools


def test_the_reference_is_what_the_code_says() -> None:
    page = reference.PAGE.read_text(encoding="utf-8")
    assert page == reference.render(), f"docs/reference.md is out of date; renew it: {reference.RENEW}"


def test_each_setting_stands_below_one_heading() -> None:
    listed = [name for names in reference.SETTINGS.values() for name in names.split()]
    assert sorted(listed) == sorted(NAMES)


def test_the_example_of_a_crews_file_has_each_key_and_no_fault(tmp_path: Path) -> None:
    keys = re.findall(r"^(\w+):", reference.CREW_FILE, re.MULTILINE)
    assert sorted(keys) == sorted(
        {*crew_file._READERS, *crew_file._ABOUT, *crew_file._BELOW, *approval_keys.KEYS}  # each key that a file takes
    )
    (tmp_path / crew_file.NAME).write_text(reference.CREW_FILE, encoding="utf-8")
    assert crew_file.read(tmp_path, ("translator", "translator_b"), all_tools()).faults == []


def test_the_example_of_a_specialist_has_each_key() -> None:
    assert sorted(re.findall(r"^(\w+):", reference.SPECIALIST_FILE, re.MULTILINE)) == sorted(SPECIALIST_KEYS)
