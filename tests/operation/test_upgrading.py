"""docs/upgrading.md names all that the manifest holds, by version, and what it calls public is there."""

import hashlib
import importlib
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml

from bot.__main__ import _COMMAND_FUNCTIONS
from bot.features.sign_in.page import LANDING_PATH
from bot.operation.health import HealthState, _make_application
from bot.operation.metrics import Metrics
from bot.slack.receive.http import EVENTS_PATH
from specialists.loading.package_toolkits import ENTRY_POINT_GROUP
from tests.command_line.command import ROOT

PAGE = (ROOT / "docs" / "upgrading.md").read_text(encoding="utf-8")
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yml").read_text(encoding="utf-8"))
VERSION = re.compile(r"^## \[(?P<version>[^\]]+)\].*\n(?P<text>(?:(?!## ).*\n)*)", re.MULTILINE)
ROW = re.compile(r"^\| (?P<kind>[a-z ]+) \| (?P<gained>[^|]*) \|(?:(?P<lost>[^|]*)\|)?$", re.MULTILINE)
KINDS = ("scopes", "optional scopes", "events", "commands", "shortcuts")


def words(cell: str | None) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell or ""))


def digest(manifest: Mapping[str, Any]) -> str:
    """Of what it says, not of how it is laid out."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:16]


def collect_manifest_items(manifest: Mapping[str, Any]) -> dict[str, set[str]]:
    return {
        "scopes": set(manifest["oauth_config"]["scopes"]["bot"]),
        "optional scopes": set(manifest["oauth_config"]["scopes"]["bot_optional"]),
        "events": set(manifest["settings"]["event_subscriptions"]["bot_events"]),
        "commands": {each["command"] for each in manifest["features"]["slash_commands"]},
        "shortcuts": {each["callback_id"] for each in manifest["features"]["shortcuts"]},
    }


def sum_versions(page: str) -> tuple[dict[str, set[str]], str]:
    """What all versions of the page add up to, and the newest digest. The newest version stands first."""
    whole: dict[str, set[str]] = {kind: set() for kind in KINDS}
    newest = ""
    for version in reversed(list(VERSION.finditer(page))):
        for row in ROW.finditer(version["text"]):
            if row["kind"] in whole:
                whole[row["kind"]] = (whole[row["kind"]] | words(row["gained"])) - words(row["lost"])
            elif row["kind"] == "digest":
                (newest,) = words(row["gained"])
    return whole, newest


def public(what: str) -> str:
    (row,) = re.findall(rf"^\| {what} \| ([^|]+) \|", PAGE, re.MULTILINE)
    return str(row)


def test_the_page_names_all_that_the_manifest_holds() -> None:
    whole, _ = sum_versions(PAGE)
    for kind, holds in collect_manifest_items(MANIFEST).items():
        assert whole[kind] == holds, (
            f"docs/upgrading.md: in the section of the version to come, in the row `{kind}`, "
            f"add {sorted(holds - whole[kind])} under gained and {sorted(whole[kind] - holds)} under lost."
        )


def test_the_page_is_about_this_manifest() -> None:
    _, newest = sum_versions(PAGE)
    assert newest == digest(MANIFEST), (
        "manifest.yml changed. Say in docs/upgrading.md, in the section of the version to come, what operators have "
        f"to do, and write there: | digest | `{digest(MANIFEST)}` |"
    )


def test_a_change_of_any_kind_is_noticed() -> None:
    changed = json.loads(json.dumps(MANIFEST))
    changed["features"]["bot_user"]["display_name"] = "other"
    assert digest(changed) != digest(MANIFEST)
    changed["oauth_config"]["scopes"]["bot"].append("pins:read")
    assert collect_manifest_items(changed)["scopes"] - sum_versions(PAGE)[0]["scopes"] == {"pins:read"}


def test_versions_add_up() -> None:
    head = "| the manifest | gained | lost |\n| --- | --- | --- |\n"
    page = (
        f"## [1.2.0]\n\n{head}| events | `a` | |\n| digest | `33` | |\n\n"
        f"## [1.1.0] - 2027-02-01\n\n{head}| events | `c` | `a`, `b` |\n| digest | `22` | |\n\n"
        f"## [1.0.0] - 2027-01-01\n\n{head}| events | `a`, `b` | |\n| digest | `11` | |\n"
    )
    whole, newest = sum_versions(page)
    assert (whole["events"], newest) == ({"a", "c"}, "33")


def test_the_pythons_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = [found[1] for each in project["classifiers"] if (found := re.fullmatch(r".* :: (3\.\d+)", each))]
    (sentence,) = re.findall(r"Leadhand runs on Python ([^A-Z]+)\.", PAGE)
    assert re.findall(r"3\.\d+", sentence) == said


def test_the_names_for_toolkits_are_there() -> None:
    cell = public("toolkits")
    assert f"`{ENTRY_POINT_GROUP}`" in cell
    modules = re.findall(r"in `(specialists[\w.]+)`: ((?:`\w+`(?:, )?)+)", cell)
    assert len(modules) == 3
    for module, names in modules:
        assert [name for name in words(names) if not hasattr(importlib.import_module(module), name)] == []


def test_the_commands_are_all_of_them() -> None:
    named = {word.removeprefix("leadhand ") for word in words(public("command line"))} - {"--json"}
    assert named == {*_COMMAND_FUNCTIONS, "slack"}, "the last is run before any settings are read"


async def test_the_addresses_are_answered() -> None:
    async def nothing() -> None:
        return None

    application = _make_application("127.0.0.1", HealthState(), Metrics(), nothing)
    routes = {resource.canonical for resource in application.router.resources()}
    assert words(public("HTTP")) == routes | {EVENTS_PATH, LANDING_PATH}


def test_the_trace_has_the_version_that_is_promised() -> None:
    schema = json.loads((ROOT / "docs" / "trace-schema.json").read_text(encoding="utf-8"))
    assert f"version {schema['properties']['version']['const']}" in public("traces")
