"""manifest.yml and the code say the same: events, scopes, command, shortcut; and Slack would take it."""

import ast
import json
from functools import cache
from pathlib import Path
from typing import Any, get_args

import jsonschema
import yaml
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.catalogue import SUBCOMMANDS
from bot.slack import scopes
from bot.slack.receive import router as commands
from bot.slack.receive.payload_reader import EVENT_READERS
from bot.slack.receive.payloads import CHANNEL_EVENTS
from bot.slack.receive.router import Event
from bot.slack.token_monitor import INSTALLATION_EVENTS
from bot.slack.views.home import START_JOB, USUAL_PROMPTS
from tests.slack.gates import MemoryGate
from tests.slack.memory_service import MemoryHomes, MemoryService, listening

ROOT = Path(__file__).parents[2]
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yml").read_text(encoding="utf-8"))
SCHEMA = Path(__file__).parent / "schema" / "manifest.schema.2.0.0.json"
API_METHODS = {
    name for name in dir(AsyncWebClient) if "_" in name.strip("_") and callable(getattr(AsyncWebClient, name))
}


@cache
def parsed_sources() -> tuple[tuple[Path, ast.Module], ...]:
    """The sources that call Slack, each with its syntax tree."""
    paths = (*(ROOT / "bot" / "slack").rglob("*.py"), *(ROOT / "bot" / "features").rglob("*.py"))
    return tuple((path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


def called_methods() -> set[str]:
    """Every method of the Web API client that the sources of bot/slack name."""
    named = set()
    for _, tree in parsed_sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and not node.attr.startswith("_") and node.attr in API_METHODS:
                named.add(node.attr)
    return named


def test_no_post_lets_slack_unfurl_what_it_links_to() -> None:
    posts = 0
    for path, tree in parsed_sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "chat_postMessage":
                given = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
                assert (given.get("unfurl_links"), given.get("unfurl_media")) == (False, False), path
                posts += 1
    assert posts >= 3


def test_slack_would_take_the_manifest() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    errors = [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(MANIFEST)]
    assert errors == []


def test_every_called_method_has_its_scope_and_no_other_is_listed() -> None:
    assert called_methods() - {"api_call"} == set(scopes.METHOD_SCOPES)


def test_the_scopes_are_those_that_the_code_needs() -> None:
    granted = MANIFEST["oauth_config"]["scopes"]["bot"]
    assert sorted(granted) == granted
    assert set(granted) == scopes.list_needed_scopes()
    assert set(MANIFEST["oauth_config"]["scopes"]["bot_optional"]) == scopes.OPTIONAL_SCOPES


def test_the_events_are_those_that_have_a_listener() -> None:
    subscribed = set(MANIFEST["settings"]["event_subscriptions"]["bot_events"])
    app = AsyncApp(token="xoxb-1", signing_secret="s", process_before_response=True)
    kit = listening(app, MemoryGate(app.client, "T1"), MemoryService(), homes=MemoryHomes("T1"))
    assert set(kit.router.events) == set(get_args(Event)), "each kind of event that is read has a listener"
    handled = {str(event) for event in EVENT_READERS if event != "message"} | set(CHANNEL_EVENTS.values())
    handled |= set(INSTALLATION_EVENTS) - {"team_access_revoked"}  # of apps for a whole organisation alone
    assert subscribed == handled
    assert subscribed == set(scopes.EVENT_SCOPES)


def test_command_shortcut_and_prompts_are_those_of_the_code() -> None:
    features = MANIFEST["features"]
    assert [each["command"] for each in features["slash_commands"]] == [commands.SLASH_COMMAND]
    assert [(each["type"], each["callback_id"]) for each in features["shortcuts"]] == [("message", START_JOB)]
    told = [(each["title"], each["message"]) for each in features["agent_view"]["suggested_prompts"]]
    assert told == list(USUAL_PROMPTS)


def test_every_subcommand_is_in_the_usage_hint() -> None:
    hint = MANIFEST["features"]["slash_commands"][0]["usage_hint"]
    request, *found = [part.split()[0] for part in hint.split(" | ")]
    assert request == "REQUEST"
    assert sorted(found) == sorted(one.name for one in SUBCOMMANDS)


def test_registering_twice_on_two_apps_shares_nothing() -> None:
    first, second = (AsyncApp(token="xoxb-1", signing_secret="s", process_before_response=True) for _ in range(2))
    made = [(app, MemoryGate(app.client, "T1")) for app in (first, second)]
    backgrounds = [listening(app, gate, MemoryService()).background for app, gate in made]
    assert backgrounds[0] is not backgrounds[1]
    assert len(first._async_listeners) == len(second._async_listeners)
