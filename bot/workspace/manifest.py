"""Reads the parts of an app's manifest that the workspace needs, and notes what it does not support."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml


@dataclass(frozen=True)
class ManifestCommand:
    """A slash command; `command` starts with a slash."""

    command: str
    description: str
    usage_hint: str
    should_escape: bool


@dataclass(frozen=True)
class ManifestShortcut:
    """A shortcut; `kind` is `message` or `global`."""

    name: str
    callback_id: str
    description: str
    kind: str


@dataclass(frozen=True)
class FunctionParameter:
    """An input or output of a function, in Slack's words; `type` is a kind of JSON or begins with `slack#/types/`."""

    name: str
    type: str
    title: str
    description: str
    is_required: bool


@dataclass(frozen=True)
class AppFunction:
    """A function of the app, which people run as a step of a workflow."""

    callback_id: str
    title: str
    description: str
    inputs: tuple[FunctionParameter, ...]
    outputs: tuple[FunctionParameter, ...]


@dataclass(frozen=True)
class Manifest:
    """An app as its manifest describes it."""

    name: str
    bot_name: str
    description: str
    commands: tuple[ManifestCommand, ...]
    shortcuts: tuple[ManifestShortcut, ...]
    functions: tuple[AppFunction, ...]
    scopes: frozenset[str]
    events: frozenset[str]
    is_agent: bool
    is_assistant: bool
    """True for `features.assistant_view`, the older form of an agent, which existing apps may keep."""
    suggested_prompts: tuple[dict[str, str], ...]
    has_home_tab: bool
    has_messages_tab: bool
    is_messages_read_only: bool
    has_interactivity: bool
    uses_socket_mode: bool
    rotates_tokens: bool
    is_org_ready: bool
    """True for `settings.org_deploy_enabled`, without which an app offers no steps of workflows."""
    redirect_urls: tuple[str, ...]
    """Addresses to which the page that installs the app may send the browser back."""
    request_paths: dict[str, str]
    """Paths by slash command, and for `interactive`, where they differ from the path of events."""

    def find_command(self, name: str) -> ManifestCommand | None:
        """Return the command of that name, slash included; None if there is none."""
        return next((command for command in self.commands if command.command == name), None)

    def find_shortcut(self, callback_id: str) -> ManifestShortcut | None:
        """Return the shortcut with that callback id; None if there is none."""
        return next((shortcut for shortcut in self.shortcuts if shortcut.callback_id == callback_id), None)

    def find_function(self, callback_id: str) -> AppFunction | None:
        """Return the function with that callback id; None if there is none."""
        return next((function for function in self.functions if function.callback_id == callback_id), None)


def read_manifest(path: Path) -> Manifest:
    """Read a manifest, JSON or YAML.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a manifest; the text says what is missing.
    """
    raw = _read_raw_manifest(path)
    if not isinstance(raw, dict) or not isinstance(raw.get("display_information"), dict):
        raise ValueError(f"{path} is not an app manifest: display_information is missing")  # noqa: TRY004  # the file is wrong, not a type
    try:
        return _parse_manifest(raw)
    except (KeyError, TypeError, AttributeError) as error:  # a list where a mapping belongs, a command without a name
        raise ValueError(f"{path} is not an app manifest: {type(error).__name__}: {error}") from error


def _read_raw_manifest(path: Path) -> Any:
    """Read a file as JSON, else as YAML. YAML alone would refuse JSON that is indented with tabs. Raises ValueError."""
    text = path.read_text(encoding="utf-8-sig")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if path.suffix == ".json":
            raise ValueError(f"{path} is not valid JSON: {error}") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is not valid YAML: {error}") from error


def _parse_manifest(raw: dict[str, Any]) -> Manifest:
    about = raw["display_information"]
    features = raw.get("features") or {}
    settings = raw.get("settings") or {}
    scopes = (raw.get("oauth_config") or {}).get("scopes") or {}
    home = features.get("app_home") or {}
    agent = features.get("agent_view") or {}
    is_assistant = "assistant_view" in features and not agent
    name = str(about.get("name") or "app")
    bot = features.get("bot_user") or {}
    bot_scopes = frozenset([*(scopes.get("bot") or ()), *(scopes.get("bot_optional") or ())])
    return Manifest(
        name=name,
        bot_name=str(bot.get("display_name") or name),
        description=str(about.get("description") or ""),
        commands=tuple(_parse_command(each) for each in features.get("slash_commands") or ()),
        shortcuts=tuple(_parse_shortcut(each) for each in features.get("shortcuts") or ()),
        functions=tuple(_parse_function(key, each) for key, each in (raw.get("functions") or {}).items()),
        # Slack grants assistant:write to an app that is declared an agent, in the new form or the old.
        scopes=bot_scopes | ({"assistant:write"} if agent or is_assistant else frozenset()),
        events=frozenset((settings.get("event_subscriptions") or {}).get("bot_events") or ()),
        is_agent=bool(agent),
        is_assistant=is_assistant,
        suggested_prompts=tuple(agent.get("suggested_prompts") or ()),
        has_home_tab=bool(home.get("home_tab_enabled", False)),
        has_messages_tab=bool(home.get("messages_tab_enabled", True)),
        is_messages_read_only=bool(home.get("messages_tab_read_only_enabled", False)),
        has_interactivity=bool((settings.get("interactivity") or {}).get("is_enabled", False)),
        uses_socket_mode=bool(settings.get("socket_mode_enabled", False)),
        rotates_tokens=bool(settings.get("token_rotation_enabled", False)),
        is_org_ready=bool(settings.get("org_deploy_enabled", False)),
        redirect_urls=tuple(map(str, (raw.get("oauth_config") or {}).get("redirect_urls") or ())),
        request_paths=_collect_separate_request_paths(features.get("slash_commands") or (), settings),
    )


def _collect_separate_request_paths(commands: Sequence[dict[str, Any]], settings: dict[str, Any]) -> dict[str, str]:
    """Return the request paths of commands and interactivity that differ from that of events; none without events."""
    addresses = {str(each["command"]): each.get("url") for each in commands}
    addresses["interactive"] = (settings.get("interactivity") or {}).get("request_url")
    paths = {name: urlsplit(str(address)).path for name, address in addresses.items() if address}
    events = urlsplit(str((settings.get("event_subscriptions") or {}).get("request_url") or "")).path
    return {name: path for name, path in paths.items() if events and path != events}


def _parse_command(raw: dict[str, Any]) -> ManifestCommand:
    return ManifestCommand(
        command=str(raw["command"]),
        description=str(raw.get("description") or ""),
        usage_hint=str(raw.get("usage_hint") or ""),
        should_escape=bool(raw.get("should_escape", False)),
    )


def _parse_shortcut(raw: dict[str, Any]) -> ManifestShortcut:
    return ManifestShortcut(
        name=str(raw.get("name") or raw["callback_id"]),
        callback_id=str(raw["callback_id"]),
        description=str(raw.get("description") or ""),
        kind=str(raw.get("type") or "global"),
    )


def _parse_function(callback_id: str, raw: dict[str, Any]) -> AppFunction:
    return AppFunction(
        callback_id=callback_id,
        title=str(raw.get("title") or callback_id),
        description=str(raw.get("description") or ""),
        inputs=_parse_parameters(raw.get("input_parameters") or {}),
        outputs=_parse_parameters(raw.get("output_parameters") or {}),
    )


def _parse_parameters(raw: dict[str, Any]) -> tuple[FunctionParameter, ...]:
    """Parse parameters by name, or in the older form: below `properties`, with the list `required`."""
    is_older_form = isinstance(raw.get("properties"), dict)
    required_names = raw.get("required") or () if is_older_form else ()
    return tuple(
        FunctionParameter(
            name=name,
            type=str(each["type"]),
            title=str(each.get("title") or name),
            description=str(each.get("description") or ""),
            is_required=bool(each.get("is_required", name in required_names)),
        )
        for name, each in (raw["properties"] if is_older_form else raw).items()
    )


SENT_EVENTS = {
    "agent_session_stopped": "a person presses Stop in a thread whose agent session is processing",
    "app_context_changed": "a person opens another channel, thread or canvas, for an app with `features.agent_view`",
    "app_home_opened": "a person opens the app's home or messages tab",
    "app_mention": "a message in a channel mentions the app, or an edit adds the mention",
    "app_uninstalled": "a test takes the app out of the workspace",
    "assistant_thread_started": "a person opens a direct message with an app that has `features.assistant_view`",
    "file_deleted": "a file is deleted",
    "function_executed": "a person runs one of the manifest's `functions` as a step of a workflow",
    "member_joined_channel": "the app comes into a channel",
    "member_left_channel": "the app is taken out of a channel",
    "message.channels": "a message in a public channel that the app is in: written, edited or deleted",
    "message.groups": "the same in a private channel",
    "message.im": "the same in a direct message with the app",
    "message.mpim": "the same in a group conversation",
    "reaction_added": "somebody reacts to a message",
    "reaction_removed": "somebody takes a reaction away",
    "subteam_members_changed": "a test changes who is in a user group",
    "tokens_revoked": "a test takes the app out of the workspace",
}
"""The events that the workspace sends, and when it sends each."""
ASSISTANT_VIEW_NOTE = (
    "features.assistant_view is the older form of an agent: Slack keeps it for apps that have it and gives new apps "
    "features.agent_view. Here opening the direct message, or writing at its top, starts an assistant thread "
    "(assistant_thread_started). Such an app has no agent sessions and no Stop button."
)


def list_manifest_notes(app: Manifest) -> list[str]:
    """Return a sentence for each thing in the manifest that this workspace does not do as Slack does."""
    notes = [ASSISTANT_VIEW_NOTE] if app.is_assistant else []
    unsent_events = sorted(app.events - SENT_EVENTS.keys())
    if unsent_events:
        notes.append(f"The app subscribes to events that this workspace never sends: {', '.join(unsent_events)}.")
    return notes
