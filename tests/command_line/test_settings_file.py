"""Settings from files: which comes first, what is read, and what is said of a line that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.settings import SettingsError
from bot.settings_file import MAX_FILE_BYTES, load_settings_files
from tests.command_line.command import environment, leadhand_inside


def read_in(env: dict[str, str]) -> dict[str, str]:
    load_settings_files(env)
    return env


def file(folder: Path, text: str) -> dict[str, str]:
    path = folder / "settings.env"
    path.write_text(text, encoding="utf-8")
    return {"LEADHAND_SETTINGS": str(path)}


def test_lines_become_settings_and_the_environment_comes_first(tmp_path: Path) -> None:
    text = (
        "# ours\n\nSLACK_BOT_TOKEN=xoxb-1\nexport LEADHAND_SLOTS = 7   # a few\n"
        "LEADHAND_QUIET_HOURS='20-8, weekends'\nREDIS_URL=redis://h/0#db\nLEADHAND_LOG=json\n"
        "LEADHAND_ADMINS=   # nobody yet\n"
    )
    env = read_in({**file(tmp_path, text), "LEADHAND_LOG": "text"})
    assert (env["SLACK_BOT_TOKEN"], env["LEADHAND_SLOTS"], env["LEADHAND_LOG"]) == ("xoxb-1", "7", "text")
    assert (env["LEADHAND_QUIET_HOURS"], env["REDIS_URL"]) == ("20-8, weekends", "redis://h/0#db")
    assert env["LEADHAND_ADMINS"] == ""


def test_the_usual_file_is_read_if_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_in({}) == {}
    usual = tmp_path / ".config" / "leadhand" / "settings.env"
    usual.parent.mkdir(parents=True)
    usual.write_text("LEADHAND_SLOTS=3\n", encoding="utf-8")
    assert read_in({}) == {"LEADHAND_SLOTS": "3"}


def test_a_secret_may_lie_in_a_file_of_its_own(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("xoxb-secret\n", encoding="utf-8")
    assert read_in({"SLACK_BOT_TOKEN_FILE": str(secret)}) == {"SLACK_BOT_TOKEN": "xoxb-secret"}
    inside = read_in(file(tmp_path, f"REDIS_URL_FILE={secret}\n"))
    assert inside["REDIS_URL"] == "xoxb-secret"
    assert read_in({"SSL_CERT_FILE": "/etc/ca.pem"}) == {"SSL_CERT_FILE": "/etc/ca.pem"}, "that is a setting itself"


@pytest.mark.parametrize(
    ("text", "expected_error"),
    [
        (
            "LEADHAND_SLOTS=1\nLEADHAND_SLOT=2\n",
            "line 2: there is no setting LEADHAND_SLOT. Did you mean LEADHAND_SLOTS",
        ),
        ("HOME=/root\n", "line 1: there is no setting HOME."),
        ("slots: 3\n", "line 1: a line is NAME=value"),
        ("LEADHAND_SLOTS=1\n\nLEADHAND_SLOTS=2\n", "line 3: LEADHAND_SLOTS stands in line 1 already"),
        ("LEADHAND_SETTINGS=/x\n", "line 1: LEADHAND_SETTINGS names this file"),
        ("REDIS_URL_FILE=/no/such/file\n", "REDIS_URL_FILE: /no/such/file cannot be read: No such file"),
        ("#" * (MAX_FILE_BYTES + 1), "is larger than 1,000,000 bytes"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(tmp_path: Path, text: str, expected_error: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_in(file(tmp_path, text))
    assert expected_error in str(caught.value)


def test_a_setting_and_its_file_are_not_both_set(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Both REDIS_URL and REDIS_URL_FILE are set"):
        read_in({"REDIS_URL": "redis://h", "REDIS_URL_FILE": str(tmp_path)})
    with pytest.raises(SettingsError, match="cannot be read"):
        read_in({"LEADHAND_SETTINGS": str(tmp_path / "none")})


def test_a_command_says_in_one_line_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = environment(tmp_path, **file(tmp_path, "LEADHAND_SLOTS=many\n"))
    ended = leadhand_inside("check", env=env, capture=capsys)
    assert (ended.code, ended.err) == (1, "leadhand: LEADHAND_SLOTS is 'many'; it takes a number from 1 to 1000.\n")
