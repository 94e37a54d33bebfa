"""`leadhand manifest`: prints the app's manifest as YAML, as JSON or as a link that creates the app."""

from __future__ import annotations

import argparse
import json
from typing import Any
from urllib.parse import quote, urlsplit

import yaml

from bot.app import find_manifest
from bot.command_line.console import say
from bot.settings import Settings, SettingsError
from bot.slack.receive.http import EVENTS_PATH, REDIRECT_PATH

CREATE_APP_URL = "https://api.slack.com/apps?new_app=1&manifest_json="
"""The start of the address at which Slack creates an app from a manifest. The manifest's JSON is appended."""


async def print_manifest(options: argparse.Namespace, settings: Settings) -> int:
    """Print the manifest. Returns the exit code. Raises SettingsError for an address that Slack would refuse."""
    del settings
    if options.http is None and not options.json and not options.link:
        say(find_manifest().read_text(encoding="utf-8"), end="")
        return 0
    app = make_manifest(options.http)
    if options.link:
        say(make_creation_link(app))
    else:
        say(json.dumps(app, indent=2) if options.json else yaml.safe_dump(app, sort_keys=False, allow_unicode=True))
    return 0


def make_manifest(bot_url: str | None) -> dict[str, Any]:
    """Return the manifest for Socket Mode or, with the address `bot_url` of the bot, for HTTP. Raises SettingsError."""
    app: dict[str, Any] = yaml.safe_load(find_manifest().read_text(encoding="utf-8"))
    if bot_url is None:
        return app
    url = make_request_url(bot_url)
    app["settings"]["socket_mode_enabled"] = False
    for part in ("event_subscriptions", "interactivity"):
        app["settings"][part] = {"request_url": url, **app["settings"][part]}
    for command in app["features"]["slash_commands"]:
        command["url"] = url
    app["oauth_config"]["redirect_urls"] = [url.removesuffix(EVENTS_PATH) + REDIRECT_PATH]
    return app


def make_request_url(bot_url: str) -> str:
    """Return the request URL for the bot's address. Raises SettingsError for an address that Slack would refuse."""
    parts = urlsplit(bot_url.strip())
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise SettingsError(f"--http {bot_url}: Slack posts to an address such as https://bot.example.com, with https.")
    path = parts.path.rstrip("/")
    return f"https://{parts.netloc}{path if path.endswith(EVENTS_PATH) else path + EVENTS_PATH}"


def make_creation_link(app: dict[str, Any]) -> str:
    """Return the address at which Slack creates the app, with the manifest filled in."""
    return CREATE_APP_URL + quote(json.dumps(app, separators=(",", ":"), ensure_ascii=False), safe="")
