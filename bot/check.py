"""`leadhand check`: proves every setting before anything runs, and says what to do about each that fails."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from dataclasses import dataclass

import yaml
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.app import manifest_path, open_crew
from bot.models.choosing import ModelSettingsError, choose_model, probe
from bot.settings import Settings, SettingsError
from bot.slack.client import close_client, make_client
from handoff.store.interface import StoreError

ADVICE = {
    "invalid_auth": "the token is not (or no longer) valid: copy it again from the app's page",
    "account_inactive": "the app was uninstalled: install it again and copy the new token",
    "token_revoked": "the token was revoked: install the app again and copy the new token",
    "not_allowed_token_type": "this is the wrong kind of token: xoxb-... for the bot, xapp-... for Socket Mode",
    "missing_scope": "an app-level token needs the scope connections:write",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One thing that was checked. `fault` is empty where all is well; `note` says what was found."""

    what: str
    note: str = ""
    fault: str = ""


async def check(options: argparse.Namespace, settings: Settings) -> int:
    """Check everything and print a line each. Returns 0 if the bot can run, 1 otherwise."""
    del options
    wrong = 0
    async for verdict in verdicts(settings):
        wrong += bool(verdict.fault)
        print(f"{'FAIL' if verdict.fault else 'ok  '}  {verdict.what}: {verdict.fault or verdict.note}")  # noqa: T201
    print("Everything is in order." if not wrong else f"{wrong} to mend.")  # noqa: T201
    return 1 if wrong else 0


async def verdicts(settings: Settings) -> AsyncIterator[Verdict]:
    """Each verdict as soon as it is known."""
    try:
        crew = open_crew(settings)
        yield Verdict("crew", f"{settings.crew}: {', '.join(crew.specialists)}")
    except SettingsError as error:
        yield Verdict("crew", fault=str(error))
    async for verdict in _slack(settings):
        yield verdict
    yield await _redis(settings)
    async for verdict in _models(settings):
        yield verdict


async def _slack(settings: Settings) -> AsyncIterator[Verdict]:
    if not settings.bot_token:
        yield Verdict(
            "Slack bot token", fault="SLACK_BOT_TOKEN is not set; install the app and copy its xoxb-... token"
        )
    else:
        client = make_client(settings.bot_token, settings.slack_api_url)
        async for verdict in _bot(client):
            yield verdict
        await close_client(client)
    if settings.app_token:
        client = AsyncWebClient(base_url=settings.slack_api_url)
        yield await _called("Slack app token", client, settings.app_token)
    elif settings.signing_secret:
        yield Verdict("Slack signing secret", f"set; HTTP mode on port {settings.port}, path /slack/events")
    else:
        fault = "set SLACK_APP_TOKEN (xapp-..., Socket Mode) or SLACK_SIGNING_SECRET (HTTP mode)"
        yield Verdict("Slack way in", fault=fault)


async def _bot(client: AsyncWebClient) -> AsyncIterator[Verdict]:
    try:
        who = await client.auth_test()
    except SlackApiError as error:
        yield Verdict("Slack bot token", fault=_slack_fault(error))
        return
    except (OSError, TimeoutError) as error:
        yield Verdict("Slack bot token", fault=f"{client.base_url} cannot be reached ({error}); look at SLACK_API_URL")
        return
    yield Verdict("Slack bot token", f"{who['user']} in {who['team']}")
    granted = {scope.strip() for scope in str(who.headers.get("x-oauth-scopes", "")).split(",") if scope.strip()}
    wanted = set(yaml.safe_load(manifest_path().read_text(encoding="utf-8"))["oauth_config"]["scopes"]["bot"])
    missing = ", ".join(sorted(wanted - granted))
    fault = f"missing {missing}: update the app from manifest.yml, then install it again" if missing else ""
    yield Verdict("Slack scopes", f"all {len(wanted)} of manifest.yml", fault)


async def _called(what: str, client: AsyncWebClient, token: str) -> Verdict:
    try:
        await client.apps_connections_open(app_token=token)
    except SlackApiError as error:
        return Verdict(what, fault=_slack_fault(error))
    except (OSError, TimeoutError) as error:
        return Verdict(what, fault=f"{client.base_url} cannot be reached ({error}); look at SLACK_API_URL")
    return Verdict(what, "opens a connection")


def _slack_fault(error: SlackApiError) -> str:
    code = str(error.response.get("error", "unknown"))
    return f"{code}: {ADVICE.get(code, 'look it up on the page of the Slack method auth.test')}"


async def _redis(settings: Settings) -> Verdict:
    from handoff.store.embedded import start_embedded  # noqa: PLC0415 - redis is imported when it is used
    from handoff.store.redis import RedisStore  # noqa: PLC0415 - the same

    try:
        url = settings.redis_url or await start_embedded(settings.data)
        store = await RedisStore.connect(url)
        try:
            faults = await store.check()
        finally:
            await store.close()
    except StoreError as error:
        return Verdict("Redis", fault=str(error))
    where = "the server of REDIS_URL" if settings.redis_url else f"embedded, in {settings.data}"
    hard = [fault for fault in faults if not fault.startswith("Warning")]
    return Verdict("Redis", "; ".join([where, *faults]), "; ".join(hard))


async def _models(settings: Settings) -> AsyncIterator[Verdict]:
    try:
        model = await choose_model(settings.env)
    except ModelSettingsError as error:
        yield Verdict("model", fault=str(error))
        return
    yield Verdict("model", model.label)
    for tier, fault in (await probe(model)).items():
        yield Verdict(f"model, tier {tier}", "answers", fault or "")
    await model.close()
