"""`leadhand check`: every setting proved, and for each that fails what to do."""

import argparse
import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.command_line.check import (
    CREW_IS_FINE,
    ONLY_CREW_CHECKED,
    CheckResult,
    _check_bot,
    _check_collector,
    _check_connection,
    _check_models,
    _check_redis,
    describe_readers,
    run_check,
    run_checks,
)
from bot.command_line.new_files import create_files
from bot.settings import Settings, read_settings
from bot.store.embedded import is_server_running, start_embedded, stop_embedded
from bot.workspace.workspace_server import Workspace
from handoff.contracts import ToolCall
from specialists.sandbox.kernel_layers import SANDBOX_LAYERS
from specialists.sandbox.sandbox_probe import SandboxReport
from tests.command_line.command import ROOT, environment, leadhand, processes_in
from tests.command_line.test_command_run import slack
from tests.operation.collector import collecting
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest
from tests.store.kit import ask, free_port, tcp_server

CALL = ToolCall(id="c1", name="calculate", arguments={"code": "123456 * 654321"})
Start = Callable[..., Awaitable[Workspace]]
PartChecker = Callable[..., Awaitable[dict[str, CheckResult]]]
Part = Callable[[Settings], AsyncIterator[CheckResult]]
NOWHERE = {"OLLAMA_HOST": "127.0.0.1:9", "LEADHAND_MODEL": "rehearsal"}
HOME = {f"LEADHAND_MODEL_{tier}": "home" for tier in ("FAST", "BALANCED", "DEEP")}
TIERS = [f"model, tier {tier}" for tier in ("fast", "balanced", "deep")]


def _model(settings: Settings) -> AsyncIterator[CheckResult]:
    """The part of the check that is about models, of no crew."""
    return _check_models(settings, ())


def at_home(server: ProviderServer) -> dict[str, str]:
    """The settings for a server that is not a provider's own."""
    return {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": server.openai_url, "LEADHAND_MODEL": ""}


def capable(request: WireRequest) -> Reply:
    """A model that does what it is asked to."""
    if request.answer_schema is None:
        return Reply(calls=(CALL,), stop="tool_use")
    return Reply(json.dumps(dict.fromkeys(request.answer_schema["required"], "")))


def as_text(request: WireRequest) -> Reply:
    """A model whose calls its server does not recognise; a schema holds it."""
    step = json.dumps({"tool": CALL.name, "arguments": CALL.arguments})
    if request.answer_schema is None:
        return Reply(f"```json\n{step}\n```")
    return Reply(step) if "oneOf" in request.answer_schema else capable(request)


@pytest.fixture
def part_checker(tmp_path: Path, redis_url: str) -> PartChecker:
    """The verdicts of some settings in parts of the check. Redis is in order, the model rehearsed, unless told."""

    async def check_parts(*parts: Part, **env: str) -> dict[str, CheckResult]:
        settings = read_settings({**NOWHERE, "LEADHAND_DATA": str(tmp_path), "REDIS_URL": redis_url, **env})
        return {verdict.subject: verdict for part in parts for verdict in [one async for one in part(settings)]}

    return check_parts


async def test_all_in_order(workspace: Start, tmp_path: Path) -> None:
    place = await workspace()
    async with ProviderServer(capable) as server:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": server.url}
        env = environment(tmp_path, **slack(place, **keys))
        ended = await asyncio.to_thread(leadhand, "check", env=env, afresh=True)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[-1] == "Everything is in order."
    assert all(line.startswith(("ok    ", "      ")) for line in lines[:-1]), ended.out
    for words in (
        "leadhand in",
        "of manifest.yml",
        "Socket Mode",
        "append-only file, noeviction",
        "claude-haiku-5-5",
        "reach no network",
    ):
        assert words in ended.out
    assert server.stats.calls == 6, "a plan and a tool call for each model"
    assert "claude-haiku-5-5: makes plans, calls tools" in ended.out
    assert re.search(
        r"a plan of 3 parts, crew general: about \$0\.\d\d for [\d,]+ tokens in \d+ calls, planned", ended.out
    )
    assert processes_in(tmp_path) == [], "a server that was started for the check is stopped again"


def test_what_readers_of_files_reach_is_a_risk_with_what_to_do() -> None:
    whole = SandboxReport(frozenset(SANDBOX_LAYERS), 6, ())
    assert str(describe_readers(whole)).startswith(
        "ok    readers of files and pages: reach no network, no file but their own"
    )
    few = SandboxReport(frozenset({"landlock", "seccomp"}), 4, ())
    assert str(describe_readers(few)).startswith("ok    readers of files and pages: reach no network")
    assert str(describe_readers(few)).endswith("; without namespaces, the rules of Landlock 6 (it is version 4 here)")
    assert str(describe_readers(few, is_required=True)).startswith(
        "FAIL  readers of files and pages: without namespaces, the rules"
    )
    assert not describe_readers(whole, is_required=True).fault
    risk = str(describe_readers(SandboxReport(frozenset({"seccomp"}), 0, ("the network", "other files"))))
    assert risk.startswith(
        "warn  readers of files and pages: can reach the network, other files; without namespaces, Landlock; allow "
        "user namespaces"
    )
    assert "docs/security.md" in risk


async def test_a_running_embedded_server_goes_on(part_checker: PartChecker, tmp_path: Path) -> None:
    await start_embedded(tmp_path)
    try:
        assert (await part_checker(_check_redis, REDIS_URL=""))["Redis"].fault == ""
        assert is_server_running(tmp_path)
    finally:
        await stop_embedded(tmp_path)


async def test_nothing_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str], redis_url: str) -> None:
    settings = read_settings({**NOWHERE, "LEADHAND_DATA": str(tmp_path), "REDIS_URL": redis_url})
    assert await run_check(argparse.Namespace(crew=None), settings) == 1
    lines = capsys.readouterr().out.splitlines()
    failed = [line for line in lines if line.startswith("FAIL  ")]
    assert len(failed) == 2
    assert "SLACK_BOT_TOKEN is not set" in failed[0]
    assert "SLACK_APP_TOKEN" in failed[1]
    assert "SLACK_SIGNING_SECRET" in failed[1]
    assert lines[-1] == f"2 to fix: Slack bot token, Slack way in. {CREW_IS_FINE}"
    assert not any(" channels: " in line for line in lines)
    (named,) = [line for line in lines if " settings: " in line]
    assert named.endswith("settings: 4 set: REDIS_URL, OLLAMA_HOST, LEADHAND_MODEL, LEADHAND_DATA"), named


async def test_a_crew_is_checked_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crew = tmp_path / "tides"
    new = argparse.Namespace(what="crew", name="tides", crew=tmp_path)
    assert await create_files(new, read_settings({})) == 0
    options, settings = argparse.Namespace(crew=str(crew)), read_settings({})
    capsys.readouterr()
    assert await run_check(options, settings) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith(("FAIL", "warn"))] == []
    assert not any("Slack " in line or "Redis:" in line for line in lines[:-1])
    assert lines[-1] == f"The crew is in order. {ONLY_CREW_CHECKED}"

    page = crew / "clerk.md"
    page.write_text(page.read_text(encoding="utf-8").replace(", add_entry]", "]"), encoding="utf-8")
    assert await run_check(options, settings) == 0
    out = capsys.readouterr().out
    assert "warn  tools: nobody holds add_entry of toolkits/register.py, so no job can use it: add it to `tools`" in out
    assert "of a specialist, such as in clerk.md" in out
    assert out.splitlines()[-1].startswith("The crew can be used. Look at each `warn` soon. ")

    page.write_text("---\nname: clerk\ntools: [look_up]\n---\nHello.", encoding="utf-8")
    assert await run_check(options, settings) == 1
    out = capsys.readouterr().out
    assert "clerk.md" in out
    assert out.splitlines()[-1] == "1 to fix: crew.", "and nothing is said of the crew around the fault"


async def test_wrong_tokens(workspace: Start, part_checker: PartChecker) -> None:
    place = await workspace()
    found = await part_checker(
        _check_bot, _check_connection, **slack(place, SLACK_BOT_TOKEN="xoxb-wrong", SLACK_APP_TOKEN="xapp-wrong")
    )
    for what in ("Slack bot token", "Slack app token"):
        assert "invalid_auth" in found[what].fault
        assert "copy it again" in found[what].fault
    assert "Slack scopes" not in found
    found = await part_checker(
        _check_bot, _check_connection, **slack(place, SLACK_BOT_TOKEN=place.app_token, SLACK_APP_TOKEN=place.bot_token)
    )
    for what in ("Slack bot token", "Slack app token"):
        assert "xoxb-... for the bot, xapp-... for Socket Mode" in found[what].fault


async def test_scopes_against_the_manifest(workspace: Start, part_checker: PartChecker, tmp_path: Path) -> None:
    manifest: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yml").read_text(encoding="utf-8"))
    scopes = manifest["oauth_config"]["scopes"]["bot"]
    for scope in ("canvases:write", "files:read"):
        scopes.remove(scope)
    scopes.append("team:read")
    changed = tmp_path / "manifest.yml"
    changed.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    verdict = (await part_checker(_check_bot, **slack(await workspace(changed))))["Slack scopes"]
    assert verdict.fault.startswith("missing canvases:write, files:read: update the app from manifest.yml")
    assert "team:read" in verdict.note


async def test_socket_mode_that_is_off(workspace: Start, part_checker: PartChecker) -> None:
    place = await workspace(request_url="http://127.0.0.1:9/slack/events")
    assert "switch Socket Mode on" in (await part_checker(_check_connection, **slack(place)))["Slack app token"].fault


async def test_http_mode(workspace: Start, part_checker: PartChecker) -> None:
    place, port = await workspace(), str(free_port())
    env = slack(place, SLACK_APP_TOKEN="", SLACK_SIGNING_SECRET=place.signing_secret, LEADHAND_PORT=port)
    found = await part_checker(_check_connection, **env)
    assert found["Slack signing secret"].fault == ""
    assert (found["HTTP mode"].fault, port in found["HTTP mode"].note) == ("", True)
    assert "set LEADHAND_URL" in found["HTTP mode"].note
    found = await part_checker(_check_connection, **env | {"LEADHAND_URL": "https://bot.example.com"})
    assert "sign-ins end at https://bot.example.com/signed-in" in found["HTTP mode"].note
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", int(port))
    found = await part_checker(_check_connection, **env | {"SLACK_SIGNING_SECRET": "xoxb-1"})
    taken.close()
    assert "Basic Information" in found["Slack signing secret"].fault
    assert "LEADHAND_PORT" in found["HTTP mode"].fault


async def test_something_that_is_not_slack(part_checker: PartChecker) -> None:
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    async with ProviderServer(lambda _: Reply("hello")) as server:
        other = await part_checker(_check_bot, _check_connection, **tokens, SLACK_API_URL=f"{server.url}/api/")
    nobody = await part_checker(_check_bot, _check_connection, **tokens, SLACK_API_URL="http://127.0.0.1:9/api/")
    for what in ("Slack bot token", "Slack app token"):
        assert "does not answer as Slack does: look at SLACK_API_URL" in other[what].fault
        assert "http://127.0.0.1:9/api/ cannot be reached" in nobody[what].fault


async def test_redis(part_checker: PartChecker, redis_url: str, tmp_path: Path) -> None:
    assert (
        "has no database of that number"
        in (await part_checker(_check_redis, REDIS_URL=f"{redis_url}/99"))["Redis"].fault
    )
    (tmp_path / "file").touch()
    nowhere = await part_checker(_check_redis, REDIS_URL="", LEADHAND_DATA=str(tmp_path / "file"))
    assert "data folder cannot be used" in nowhere["Redis"].fault
    nobody = (await part_checker(_check_redis, REDIS_URL="redis://:secret@127.0.0.1:9"))["Redis"]
    assert "cannot be reached" in nobody.fault
    assert "secret" not in nobody.fault
    with tcp_server(tmp_path / "evicts", "--maxmemory-policy", "allkeys-lru") as port:
        assert (
            "maxmemory-policy noeviction"
            in (await part_checker(_check_redis, REDIS_URL=f"redis://127.0.0.1:{port}"))["Redis"].fault
        )
    with tcp_server(tmp_path / "forgets", "--save", "") as port:
        forgets = (await part_checker(_check_redis, REDIS_URL=f"redis://127.0.0.1:{port}"))["Redis"]
    assert forgets.fault == ""
    assert "Set `appendonly yes`" in forgets.risk
    assert str(forgets).startswith("warn  Redis: ")
    assert "nothing on disk, noeviction" in forgets.note


async def test_a_rehearsal_that_nobody_asked_for(part_checker: PartChecker) -> None:
    assert (await part_checker(_model))["model"].risk == ""
    model = (await part_checker(_model, LEADHAND_MODEL=""))["model"]
    assert (model.note, model.fault) == ("rehearsal (no language model)", "")
    assert "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama" in model.risk


async def test_the_memory_of_redis(part_checker: PartChecker, tmp_path: Path) -> None:
    found = await part_checker(_check_redis)
    assert "16 partitions" in found["Redis"].note
    assert "no `maxmemory` is set" in found["Redis memory"].note
    assert found["Redis memory"].risk == ""
    with tcp_server(tmp_path / "full", "--maxmemory", "10mb", "--appendonly", "yes") as port:
        for number in range(74):
            assert ask(port, "SET", f"filler{number}", "x" * 100_000) == b"+OK\r\n"
        full = await part_checker(_check_redis, REDIS_URL=f"redis://127.0.0.1:{port}")
    assert (full["Redis"].fault, full["Redis"].risk) == ("", "")
    assert "of `maxmemory` used (" in full["Redis memory"].note
    assert "% full, so I start no work. Raise its `maxmemory`" in full["Redis memory"].risk
    assert str(full["Redis memory"]).startswith("warn  Redis memory: ")


async def test_each_tier_of_a_model(part_checker: PartChecker) -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        return Fault("not_found") if request.model == "gpt-9" else capable(request)

    async with ProviderServer(brain) as server:
        names = {"LEADHAND_MODEL_FAST": "gpt-1", "LEADHAND_MODEL_BALANCED": "gpt-2", "LEADHAND_MODEL_DEEP": "gpt-9"}
        found = await part_checker(_model, **at_home(server), **names)
        calls = server.stats.calls
        server.brain = lambda _: Fault("bad_key")
        refused = await part_checker(_model, **at_home(server), **names)
    assert calls == 5
    assert found["model, tier fast"].note.startswith("gpt-1: makes plans, calls tools, ")
    assert found["model, tier balanced"].fault == ""
    assert "LEADHAND_MODEL_FAST, _BALANCED and _DEEP" in found["model, tier deep"].fault
    assert all("does not accept the API key" in refused[f"model, tier {tier}"].fault for tier in ("fast", "deep"))


def only_when_forced(request: WireRequest) -> Reply:
    """A model that likes to talk."""
    free = request.answer_schema is None and "tool_choice" not in request.body
    return Reply("About 80 billion.") if free else capable(request)


def no_schema(request: WireRequest) -> Reply:
    """A server that ignores schemas."""
    return Reply("Hello, team!") if request.answer_schema else capable(request)


def no_tools(request: WireRequest) -> Reply:
    """A model that calls no tool, whatever is asked of it."""
    return capable(request) if "required" in (request.answer_schema or {}) else Reply("No.")


def slowly(request: WireRequest) -> Reply:
    """A server whose words can be counted."""
    reply = capable(request)
    return replace(reply, piece=4, pause=0.01, tokens_out=40) if reply.text else reply


MODEL_CASES: list[tuple[Callable[[WireRequest], Reply], str, str, str]] = [
    (capable, "makes plans, calls tools", "", ""),
    (as_text, "calls tools by steps in a JSON schema", "", ""),
    (only_when_forced, "calls tools", "only when it is forced to", ""),
    (no_schema, "calls tools", "does not keep to a plan's schema (left out", ""),
    (slowly, "tokens a second", "", ""),
    (no_tools, "", "", "it calls no tools"),
    (lambda _: Reply("{" * 50, stop="max_tokens"), "", "ran on beyond the end of a plan", "it calls no tools"),
]


@pytest.mark.parametrize(("brain", "note", "risk", "fault"), MODEL_CASES)
async def test_what_a_model_at_home_can_do(
    part_checker: PartChecker, brain: Callable[[WireRequest], Reply], note: str, risk: str, fault: str
) -> None:
    async with ProviderServer(brain) as server:
        found = await part_checker(_model, **at_home(server), **HOME)
    for verdict in (found[tier] for tier in TIERS):
        assert note in verdict.note
        assert (risk in verdict.risk, bool(verdict.risk)) == (True, bool(risk))
        assert (fault in verdict.fault, bool(verdict.fault)) == (True, bool(fault))


async def test_a_context_that_is_smaller_than_what_it_is_given(part_checker: PartChecker) -> None:
    async with ProviderServer(capable, props={"default_generation_settings": {"n_ctx": 8192}}) as server:
        found = await part_checker(_model, **at_home(server))
        fits = await part_checker(_model, **at_home(server), LEADHAND_CONTEXT="fast 4k, balanced 4k, deep 4k")
    assert "a context of 8,192 tokens" in found["model, tier deep"].note
    assert "LEADHAND_CONTEXT gives it up to 64,000 tokens" in found["model, tier deep"].risk
    assert "set `deep 4k`" in found["model, tier deep"].risk
    assert fits["model, tier deep"].risk == ""


@pytest.mark.parametrize(
    ("vision", "setting", "words"),
    [
        (True, "", ["sees pictures"] * 3),
        (False, "", ["reads text only"] * 3),
        (None, "", ["is shown no pictures, as nobody says that it sees (LEADHAND_SEES does)"] * 3),
        (None, "deep", ["reads text only", "reads text only", "sees pictures"]),
    ],
)
async def test_it_says_of_each_tier_if_its_model_sees(
    part_checker: PartChecker, vision: object, setting: str, words: list[str]
) -> None:
    async with ProviderServer(capable, props={"modalities": {"vision": vision}}) as server:
        found = await part_checker(_model, **at_home(server), **HOME, LEADHAND_SEES=setting)
    for tier, said in zip(TIERS, words, strict=True):
        assert found[tier].note.endswith(f", {said}")


async def test_a_model_or_crew_that_cannot_be(part_checker: PartChecker) -> None:
    found = await part_checker(run_checks, LEADHAND_MODEL="oracle", LEADHAND_CREW="nobody")
    assert "LEADHAND_MODEL is 'oracle'" in found["model"].fault
    assert "nobody" in found["crew"].fault


async def test_a_rate_whose_name_nothing_has_limits_nothing_and_says_so(part_checker: PartChecker) -> None:
    found = await part_checker(_model, LEADHAND_MODEL="rehearsal", LEADHAND_RATES="rehearsal: 5 requests; 50 requests")
    assert (found["rates"].note, found["rates"].risk) == ("rehearsal, each model", "")
    found = await part_checker(_model, LEADHAND_MODEL="rehearsal", LEADHAND_RATES="olama: 10 requests")
    assert found["rates"].risk == "LEADHAND_RATES names olama, which no call uses; in use are rehearsal"
    assert "rates" not in await part_checker(_model, LEADHAND_MODEL="rehearsal")


async def test_the_settings_of_channels(part_checker: PartChecker, tmp_path: Path) -> None:
    crew = tmp_path / "crew"
    shutil.copytree(ROOT / "specialists" / "crews" / "general", crew)
    for text, note, fault in (
        ("C0123ABCD:\n  guests: true\n", "1 of channels.yml: C0123ABCD", ""),
        ("C0123ABCD:\n  guest: true\n", "", f"{crew / 'channels.yml'}:2: unknown key guest (did you mean guests?)"),
    ):
        (crew / "channels.yml").write_text(text, encoding="utf-8")
        found = (await part_checker(run_checks, LEADHAND_CREW=str(crew)))["channels"]
        assert (found.note, found.fault[: len(fault)]) == (note, fault)


async def test_a_collector_of_traces(part_checker: PartChecker) -> None:
    what = "collector of traces"
    assert what not in await part_checker(_check_collector)
    async with collecting() as collector:
        found = (await part_checker(_check_collector, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url))[what]
        assert found.note.endswith("/v1/traces takes them: names, times, tokens and cost, no contents")
        collector.answers = [401]
        found = (await part_checker(_check_collector, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url))[what]
        assert "answers 401 Unauthorized; is it an OTLP/HTTP collector" in found.fault
    assert (
        "it takes http://HOST:4318"
        in (await part_checker(_check_collector, OTEL_EXPORTER_OTLP_ENDPOINT="collector"))[what].fault
    )
