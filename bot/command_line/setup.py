"""`leadhand setup`: asks for the settings of a bot, tests them, writes them to a file, and runs `check`.

It can be run again: settings stay unless a new answer is given. Every answer can also be given as an option.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.command_line import check, console, model_proof
from bot.command_line.app_manifest import make_creation_link, make_manifest, make_request_url
from bot.command_line.console import say
from bot.models.model_choice import ModelSettingsError, choose_model
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import Settings, SettingsError, read_settings
from bot.settings_file import DEFAULT_SETTINGS_PATH, FILE_VARIABLE, write_settings
from bot.slack.connection import (
    NotConnected,
    check_app_level_token,
    describe_missing_scopes,
    describe_secret_fault,
    fetch_bot_account,
)
from bot.slack.receive.http import EVENTS_PATH
from bot.slack.send.web_calls import close_client, make_client

MAX_ANSWER_TRIES = 5
"""Maximum number of times that a question is asked before setup gives up."""
KEY_SETTINGS: Mapping[str, str] = {"sk-ant-": "ANTHROPIC_API_KEY", "sk-": "OPENAI_API_KEY"}
"""The setting for a model's API key, by the start of the key; the first match counts."""

ProveAnswer = Callable[[str], Awaitable[str]]
"""Tests an answer. Returns its fault as a sentence, or "" if it is valid."""


@dataclass(frozen=True, slots=True)
class SetupQuestion:
    """One question of setup: its setting, its text, the option that answers it, and the test of an answer."""

    name: str
    prompt: str
    option: str
    prove: ProveAnswer
    is_optional: bool = False


async def run_setup(options: argparse.Namespace, settings: Settings) -> int:
    """Test the given answers, ask for missing ones, write them, and run all checks. Returns the exit code.

    Raises SettingsError if nobody is there to ask, or if an answer is wrong or cannot be written.
    """
    path = _resolve_settings_path(settings.env.get(FILE_VARIABLE, "").strip())
    app = make_manifest(options.http)
    questions = _list_questions(options, settings, app)
    answers = await _prove_options(options, questions)
    if not answers.get("SLACK_BOT_TOKEN") and not settings.bot_token:
        _show_first_step(make_creation_link(app), browser=not options.no_browser)
    for question in questions:
        if question.name not in answers:
            answers[question.name] = await _resolve_answer(question, settings.env.get(question.name, ""))
    if options.model_key is None:
        answers |= await _ask_for_model(settings)
    set_values = {name: value for name, value in answers.items() if value}
    changed_values = {name: value for name, value in set_values.items() if settings.env.get(name) != value}
    write_settings(path, changed_values)
    say(
        f"\nWrote {path}, readable by you alone.\n"
        if changed_values
        else "\nEverything was set already; nothing was written.\n"
    )
    code = await check.print_report(read_settings({**settings.env, **set_values}))
    if code == 0:
        variable_prefix = f"{FILE_VARIABLE}={path} " if path != _resolve_settings_path("") else ""
        say(f"\nStart it: {variable_prefix}leadhand run\nThen write /invite @leadhand in a channel, and mention it.")
    return code


async def _prove_options(options: argparse.Namespace, questions: Sequence[SetupQuestion]) -> dict[str, str]:
    """Test the answers that options give, and return them by setting. Raises SettingsError for one that is wrong."""
    answers: dict[str, str] = {}
    for question in questions:
        if (answer := getattr(options, question.option)) is not None:
            answers[question.name] = await _prove_answer(question, answer, _get_option_name(question))
    if options.model_key is not None:
        answers |= _make_key_setting(options.model_key)
    if options.http:
        answers["LEADHAND_URL"] = make_request_url(options.http).removesuffix(EVENTS_PATH)
    if options.admins:
        answers["LEADHAND_ADMINS"] = options.admins
    return answers


def _get_option_name(question: SetupQuestion) -> str:
    return f"--{question.option.replace('_', '-')}"


def _show_first_step(link: str, *, browser: bool) -> None:
    """Print where to create the app, and open that page in a browser if a person is at the terminal."""
    say("1. Create the app: open this address, choose your workspace, and press Create, then Install to Workspace.")
    say(f"   {link}\n")
    if console.is_interactive() and browser:
        with contextlib.suppress(webbrowser.Error):
            asyncio.get_running_loop().run_in_executor(None, webbrowser.open, link)


def _resolve_settings_path(path: str | Path) -> Path:
    return Path(path or DEFAULT_SETTINGS_PATH).expanduser()


def _list_questions(options: argparse.Namespace, settings: Settings, app: Mapping[str, Any]) -> list[SetupQuestion]:
    """List the questions: two tokens, or a token and the signing secret, and the store."""
    scopes = frozenset(app["oauth_config"]["scopes"]["bot"])
    url = settings.slack_api_url

    async def check_bot_token(token: str) -> str:
        if not token.startswith("xoxb-"):
            return "That is no bot token: it begins with xoxb- and stands under OAuth & Permissions."
        client = make_client(token, url)
        try:
            account = await fetch_bot_account(client)
        except NotConnected as error:
            return str(error)
        finally:
            await close_client(client)
        if fault := describe_missing_scopes(account.scopes, scopes):
            return f"The app {fault}."
        say(f"   It is {account.name} in {account.team_name}.")
        return ""

    async def check_app_token(token: str) -> str:
        if not token.startswith("xapp-"):
            return "That is no app-level token: it begins with xapp- and stands under Basic Information."
        client = make_client("", url)
        try:
            await check_app_level_token(client, token)
        except NotConnected as error:
            return str(error)
        finally:
            await close_client(client)
        say("   It opens a connection.")
        return ""

    async def check_secret(text: str) -> str:
        return describe_secret_fault(text)

    async def check_store_url(text: str) -> str:
        fits = text.startswith(("redis://", "rediss://", "unix://"))
        return "" if fits else "That is no address of a Redis, such as redis://127.0.0.1:6379/0."

    connection_question = (
        SetupQuestion("SLACK_SIGNING_SECRET", "3. Basic Information > Signing Secret", "signing_secret", check_secret)
        if options.http
        else SetupQuestion(
            "SLACK_APP_TOKEN",
            "3. Basic Information > App-Level Tokens: one with connections:write",
            "app_token",
            check_app_token,
        )
    )
    words = "4. Address of a Redis or Valkey, or Enter for the one that comes with Leadhand (one instance)"
    return [
        SetupQuestion("SLACK_BOT_TOKEN", "2. OAuth & Permissions > Bot User OAuth Token", "bot_token", check_bot_token),
        connection_question,
        SetupQuestion("REDIS_URL", words, "redis", check_store_url, is_optional=True),
    ]


async def _prove_answer(question: SetupQuestion, answer: str, source: str) -> str:
    """Test an answer from an option or a setting, and return it. If it is wrong, raises SettingsError with `source`."""
    if (answer or not question.is_optional) and (fault := await question.prove(answer)):
        raise SettingsError(f"{source}: {fault}")
    return answer


async def _resolve_answer(question: SetupQuestion, present_value: str) -> str:
    """Ask, and return a tested answer: the typed text, else `present_value`.

    Raises SettingsError after `MAX_ANSWER_TRIES`.
    """
    if not console.is_interactive():
        if present_value or question.is_optional:
            return await _prove_answer(question, present_value, question.name)
        raise SettingsError(
            f"{question.name} is not set, and nobody is here to ask: give it as {_get_option_name(question)}."
        )
    say(question.prompt + (f" (Enter keeps {_mask_value(present_value)})" if present_value else ""))
    for _ in range(MAX_ANSWER_TRIES):
        typed_text = (await console.ask_person("   > ", may_be_empty=bool(present_value) or question.is_optional)) or ""
        answer = typed_text or present_value
        if not answer and question.is_optional:
            return ""
        fault = await question.prove(answer)
        if not fault:
            return answer
        say(f"   {fault}")
    raise SettingsError(f"{question.name} was not settled in {MAX_ANSWER_TRIES} tries. Run `leadhand setup` again.")


async def _ask_for_model(settings: Settings) -> dict[str, str]:
    """Ask for a model's key, and return its setting; empty if there is a model, or no key is typed."""
    try:
        model = await choose_model(settings.env)
    except ModelSettingsError as error:
        raise SettingsError(str(error)) from None
    label, is_rehearsal = model.label, isinstance(model, RehearsalModel)
    await model.close()
    if not is_rehearsal:
        say(f"5. Model: {label}")
        return {}
    local_models = await model_proof.find_local_models()
    if local_models:
        model_names = ", ".join(f"{one.name} ({one.server}, OPENAI_BASE_URL={one.url})" for one in local_models)
        say(f"   On this machine: {model_names}")
    if not console.is_interactive():
        return {}
    say("5. A key of Anthropic (sk-ant-...) or OpenAI (sk-...), or Enter to go on without a model")
    key = await console.ask_person("   > ", may_be_empty=True)
    return _make_key_setting(key) if key else {}


def _make_key_setting(key: str) -> dict[str, str]:
    name = next((name for start, name in KEY_SETTINGS.items() if key.startswith(start)), "")
    if not name:
        raise SettingsError(
            "That is no key of Anthropic (sk-ant-...) or OpenAI (sk-...); other servers: OPENAI_BASE_URL."
        )
    return {name: key}


def _mask_value(value: str) -> str:
    return f"{value[:5]}…{value[-4:]}" if len(value) > 12 else "what is set"
