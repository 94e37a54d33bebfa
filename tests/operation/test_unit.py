"""The systemd unit keeps the bot in, and lets it put its own walls up."""

import re
from pathlib import Path

from bot.settings import VARIABLES, read_settings
from bot.settings_file import _LINE_PATTERN, _render_line
from bot.store.embedded import SERVER_SETTINGS as EMBEDDED
from tests.command_line.command import ROOT

UNIT = ROOT / "docs" / "deploy" / "leadhand.service"
LINES = [line for line in UNIT.read_text(encoding="utf-8").splitlines() if "=" in line and not line.startswith("#")]
SERVICE = dict(line.split("=", 1) for line in LINES)
FOLDERS = {"LEADHAND_DATA": "/var/lib/", "XDG_CACHE_HOME": "/var/cache/"}


def test_the_settings_file_is_read_by_systemd_in_its_own_form() -> None:
    assert SERVICE["EnvironmentFile"] == "/etc/leadhand/settings.env"
    # What `leadhand setup` writes means the same to systemd: plain, or in double quotes.
    assert _render_line("REDIS_URL", "redis://:p%23@redis/0") == "REDIS_URL=redis://:p%23@redis/0"
    assert _render_line("LEADHAND_MAIL_FROM", "Bot <b@example.com>") == 'LEADHAND_MAIL_FROM="Bot <b@example.com>"'
    assert _LINE_PATTERN.fullmatch("REDIS_URL=x")


def test_what_it_writes_lies_in_folders_that_systemd_makes() -> None:
    env = dict(word.split("=", 1) for word in SERVICE["Environment"].split())
    assert {name for name in env if name not in VARIABLES} == {"XDG_CACHE_HOME", "PYTHONUNBUFFERED"}
    assert read_settings(env).data == Path(FOLDERS["LEADHAND_DATA"]) / SERVICE["StateDirectory"]
    # The bot adds its own name to the folder of caches.
    assert env["XDG_CACHE_HOME"] == FOLDERS["XDG_CACHE_HOME"] + SERVICE["CacheDirectory"]


def test_it_has_no_rights_and_its_readers_may_still_put_up_their_walls() -> None:
    for name in ("NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "RestrictSUIDSGID", "DynamicUser"):
        assert SERVICE[name] == "yes"
    assert SERVICE["ProtectSystem"] == "strict"
    assert SERVICE["CapabilityBoundingSet"] == SERVICE["AmbientCapabilities"] == ""
    assert set(SERVICE["RestrictNamespaces"].split()) == {"user", "net", "ipc"}
    calls = set(SERVICE["SystemCallFilter"].split())
    assert calls >= {"seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}


def test_a_stop_reaches_the_bot_before_the_store_that_it_started() -> None:
    assert SERVICE["KillMode"] == "mixed"
    assert EMBEDDED["appendfsync"] == "always", "the embedded server is killed at the end"
    assert int(re.sub(r"\D", "", SERVICE["TimeoutStopSec"])) >= 5
