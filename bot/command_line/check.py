"""`leadhand check`: tests every setting before anything runs, and says what to do about each that fails."""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from bot.app import find_manifest, load_crews, read_channel_values
from bot.command_line import tool_list
from bot.command_line.console import say
from bot.command_line.model_proof import prove_tiers
from bot.features.sign_in.page import LANDING_PATH
from bot.logs import hide_secrets
from bot.models.chosen_model import ChosenModel
from bot.models.model_choice import ModelSettingsError, choose_model
from bot.models.named_models import list_provider_model_names, register_named_models
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import VARIABLES, Address, Settings, SettingsError, require_installable
from bot.settings_file import find_exposure_warning
from bot.slack.connection import (
    NotConnected,
    check_app_level_token,
    describe_missing_scopes,
    describe_secret_fault,
    fetch_bot_account,
)
from bot.slack.scopes import OPTIONAL_SCOPES
from bot.slack.send.web_calls import close_client, make_client
from bot.store.redis.redis_store import Store
from bot.store.values import DAY_SECONDS, Retention, StoreError
from bot.supervisor.plan_price import TYPICAL_PART_COUNT, estimate_typical_plan
from handoff.contracts import Terms
from handoff.text.counts import format_dollars
from specialists.crew import Crew, suggest_inner_crews
from specialists.crew_set import CrewSet, find_member_fault, list_missing_settings
from specialists.sandbox.sandbox_probe import ChildFailed, SandboxReport, probe_sandbox
from specialists.tools.extras import (
    ALL_EXTRA,
    EMBEDDED_EXTRA,
    RECOMMENDED_EXTRA,
    describe_missing_packages,
    list_missing_extras,
    make_install_command,
)
from specialists.tools.tickets.ticket_place import CONTACT_KEYWORD, NO_PLACE_MESSAGE, is_addressable, read_ticket_place

WARNING = "Warning: "
CREW_IS_FINE = "The crew is in order. To check a crew alone: leadhand check --crew NAME"
ONLY_CREW_CHECKED = "Slack, Redis and models were not looked at: `leadhand check` without --crew does that."
NO_MODEL = (
    "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama; or set LEADHAND_MODEL=rehearsal to run without a model"
)
MIB = 1024 * 1024
_READERS_SUBJECT = "readers of files and pages"
_ISOLATION_NOTE = "reach no network, no file but their own, no other process or program, and not the bot's environment"
_SANDBOX_HINT = (
    'allow user namespaces, Landlock or seccomp on Linux, see docs/security.md, "Readers of files and pages"'
)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check, which is printed as a line."""

    subject: str
    """The name of the checked part, such as `Slack bot token`."""
    note: str = ""
    """The finding, such as names or counts."""
    fault: str = ""
    """The fault and its remedy; empty if the check passed."""
    risk: str = ""
    """A weakness to mend although the bot can run; empty if there is none."""
    details: tuple[str, ...] = ()
    """Further lines, printed below the first."""
    is_about_crew: bool = False
    """True if the check is about the files of a crew's folder."""

    def __str__(self) -> str:
        """Return the line that is printed, with `details` below it."""
        word = "FAIL" if self.fault else "warn" if self.risk else "ok"
        line = f"{word:<4}  {self.subject}: {self.fault or '; '.join(filter(None, (self.note, self.risk)))}"
        return "\n".join((line, *(f"      {one}" for one in self.details)))


async def run_check(options: argparse.Namespace, settings: Settings) -> int:
    """Run all checks, or those of `--crew` alone, and print the results. Returns 0 if nothing needs fixing."""
    if options.crew is None:
        return await print_report(settings)
    return await print_report(replace(settings, crew=options.crew, more_crews=()), only_crews=True)


async def print_report(settings: Settings, *, only_crews: bool = False) -> int:
    """Print the result of each check, and a summary. Returns 0 if nothing needs fixing, 1 otherwise."""
    shown_results: list[CheckResult] = []
    async with contextlib.aclosing(check_crews(settings, [], []) if only_crews else run_checks(settings)) as results:
        async for verdict in results:
            shown_results.append(verdict)
            say(hide_secrets(str(verdict), settings.secrets))
    say(_summarize_results(shown_results, only_crews=only_crews))
    return 1 if any(one.fault for one in shown_results) else 0


def _summarize_results(results: Sequence[CheckResult], *, only_crews: bool) -> str:
    """Return the summary line: the subjects that have a fault, and whether the crew itself is in order."""
    failed_results = [one for one in results if one.fault]
    risky = any(one.risk for one in results)
    if failed_results:
        names = ", ".join(dict.fromkeys(one.subject for one in failed_results))
        is_crew_fine = not only_crews and not any(one.is_about_crew for one in failed_results)
        return f"{len(failed_results)} to fix: {names}." + (f" {CREW_IS_FINE}" if is_crew_fine else "")
    if only_crews:
        first = "The crew can be used. Look at each `warn` soon." if risky else "The crew is in order."
        return f"{first} {ONLY_CREW_CHECKED}"
    return "It can run. Look at each `warn` soon." if risky else "Everything is in order."


async def check_crews(settings: Settings, readable_crews: list[Crew], names: list[str]) -> AsyncGenerator[CheckResult]:
    """Yield the result of each check of the crews in the settings.

    The crews that could be read are added to `readable_crews`. If there are several, their names are added to `names`.
    """
    try:
        crews, proved_toolkits = load_crews(settings), set[tuple[str, Path | None]]()
        names += crews.names
        readable_crews += crews.by_name.values()
        for crew in crews.by_name.values():
            word = f" (by “{crew.name}: ...”)" if crew.name in names else ""
            async with contextlib.aclosing(_check_crew(crew, word, proved_toolkits, settings.env, crews)) as results:
                async for verdict in results:
                    yield replace(verdict, is_about_crew=True)
    except SettingsError as error:
        yield CheckResult("crew", fault=str(error), is_about_crew=True)
        names[:] = [Path(one).name for one in (settings.crew, *settings.more_crews) if settings.more_crews]


async def run_checks(settings: Settings) -> AsyncGenerator[CheckResult]:
    """Run all checks, and yield each result as soon as it is known."""
    readable_crews: list[Crew] = []
    names: list[str] = []
    async with contextlib.aclosing(check_crews(settings, readable_crews, names)) as results:
        async for verdict in results:
            yield verdict
    try:
        channels = read_channel_values(settings, names)
        if channels:
            yield CheckResult("channels", f"{len(channels)} of channels.yml: {', '.join(channels)}", is_about_crew=True)
    except SettingsError as error:
        yield CheckResult("channels", fault=str(error), is_about_crew=True)
    set_variables = [name for name in VARIABLES if settings.env.get(name)]
    note = f"{len(set_variables)} set: {', '.join(set_variables)}" if set_variables else "none is set"
    yield CheckResult("settings", note, risk=find_exposure_warning(settings.env))
    yield _check_extras()
    yield CheckResult("kept", describe_retention(settings.retention))
    for check in (_check_readers, _check_bot, _check_connection, _check_redis):
        async for verdict in check(settings):
            yield verdict
    async for verdict in _check_models(settings, tuple(readable_crews)):
        yield verdict
    async for verdict in _check_collector(settings):
        yield verdict


def _check_extras() -> CheckResult:
    """Report which extras are not installed, and how to add them. A missing recommended extra is a risk."""
    absent, needed_extras = (
        [name for name in list_missing_extras(each) if name != EMBEDDED_EXTRA]
        for each in (ALL_EXTRA, RECOMMENDED_EXTRA)
    )
    if not absent:
        return CheckResult("extras", "all are installed")
    note = f"not installed: {', '.join(absent)}"
    if needed_extras:
        return CheckResult(
            "extras", note, risk=f"what a team's bot needs comes with: {make_install_command(RECOMMENDED_EXTRA)}"
        )
    return CheckResult("extras", f"{note}; add with: {make_install_command(*absent)}")


async def _check_crew(
    crew: Crew, call_hint: str, tested_toolkits: set[tuple[str, Path | None]], env: Mapping[str, str], crews: CrewSet
) -> AsyncGenerator[CheckResult]:
    """Yield the results of the checks of a crew: its members, warnings about its files, its tickets, and its tools.

    `call_hint` says how a request names the crew. Toolkits in `tested_toolkits` are not tested again. Members that are
    crews of the settings are left out, as they have results of their own.
    """
    try:
        yield CheckResult(
            "crew", f"{crew.name}{call_hint}: {_describe_members(crew, crews, env)}", risk=suggest_inner_crews(crew)
        )
        own = _leave_out_crews(crew, crews.names)
        for name, one in own.all_specialists.items():
            if one.translation_note:
                planner_note = f"{one.translation_note}; the planner is told: {one.description}"
                yield CheckResult(f"{name}, an agent of Claude Code", planner_note)
        if not list_missing_settings(crew, env) and _has_unreachable_tickets(own, env):
            yield CheckResult("tickets", risk=NO_PLACE_MESSAGE)
        for warning in own.all_warnings:
            yield CheckResult("crew", risk=str(warning))
        note, lines = tool_list.summarize_and_list_tools(own, show_unused=crew is crews.usual_crew)
        yield CheckResult("tools", note, details=tuple(lines))
        for risk in tool_list.describe_unused_tools(own):
            yield CheckResult("tools", risk=risk)
        async with contextlib.aclosing(tool_list.prove_toolkits(own, tested_toolkits)) as proofs:
            async for origin, faults in proofs:
                if not faults:
                    yield CheckResult(f"tools of {origin}", "would work now")
                for fault in faults:
                    yield CheckResult(f"tools of {origin}", fault=fault)
    finally:
        await crew.close()


def _describe_members(crew: Crew, crews: CrewSet, env: Mapping[str, str]) -> str:
    """List a crew's specialists. For the default crew, also say which other crews are its members, or why not."""
    own = _leave_out_crews(crew, crews.names)
    lines = [", ".join(own.all_specialists)]
    if crew is crews.usual_crew and crews.names:
        members = [path for path in crew.crews if path in crews.names]
        others = [one for one in crews.by_name.values() if one is not crew and one.name not in members]
        lines += [f"members: {', '.join(members)}"] if members else []
        lines += [
            f"no member: {one.name} ({find_member_fault(one, {*own.specialists, *own.crews}, env)})" for one in others
        ]
    return "; ".join(lines)


def _leave_out_crews(crew: Crew, names: Container[str]) -> Crew:
    return replace(crew, crews={path: one for path, one in crew.crews.items() if path not in names})


def _has_unreachable_tickets(crew: Crew, env: Mapping[str, str]) -> bool:
    """Return True if a specialist may open tickets, but no message can reach the contact that they go to."""
    tool_names = {tool.name for one in crew.all_specialists.values() for tool in one.tools}
    desk = read_ticket_place(env)
    return (
        "open_ticket" in tool_names
        and not desk.fault
        and desk.path == CONTACT_KEYWORD
        and not is_addressable(crew.contact)
    )


async def _check_collector(settings: Settings) -> AsyncIterator[CheckResult]:
    """Check that the OpenTelemetry collector accepts traces. Yields nothing if none is set."""
    from bot.operation.trace_export import CONTENTS_VARIABLE, NoCollector, make_sender  # noqa: PLC0415 - only for a check

    what = "collector of traces"
    try:
        sender = make_sender(settings.env)
    except NoCollector as error:
        yield CheckResult(what, fault=str(error))
        return
    if sender is None:
        return
    if fault := await sender.probe_collector():
        yield CheckResult(
            what, fault=f"{sender.endpoint} {fault}; is it an OTLP/HTTP collector, and are its headers set?"
        )
        return
    content_note = (
        f"with contents ({CONTENTS_VARIABLE})" if sender.contents else "names, times, tokens and cost, no contents"
    )
    yield CheckResult(what, f"{sender.endpoint} takes them: {content_note}")


async def _check_readers(settings: Settings) -> AsyncIterator[CheckResult]:
    """Check how well the processes that read people's files and pages are isolated on this machine."""
    try:
        yield describe_readers(await probe_sandbox(), is_required=settings.walls_required)
    except ChildFailed as error:
        fault = f"none can start ({error}), so nothing attached or linked can be read; may all users read this Python?"
        yield CheckResult(_READERS_SUBJECT, fault=fault)


def describe_readers(report: SandboxReport, *, is_required: bool = False) -> CheckResult:
    """Report the missing sandbox layers of the processes that read files, and what those can reach but should not.

    With `is_required`, any missing layer is a fault.
    """
    without = f"without {', '.join(report.missing_layers)}" if report.missing_layers else ""
    reach_note = f"can reach {', '.join(report.reached_targets)}" if report.reached_targets else _ISOLATION_NOTE
    if is_required and not report.is_complete:
        fault = f"{without}, and LEADHAND_SANDBOX=required: no file or page is read; {_SANDBOX_HINT}"
        return CheckResult(_READERS_SUBJECT, fault=fault)
    note = "; ".join(filter(None, (reach_note, without)))
    return (
        CheckResult(_READERS_SUBJECT, risk=f"{note}; {_SANDBOX_HINT}")
        if report.reached_targets
        else CheckResult(_READERS_SUBJECT, note)
    )


async def _check_bot(settings: Settings) -> AsyncIterator[CheckResult]:
    what = "Slack bot token"
    if settings.client_id:
        yield CheckResult("Slack OAuth", "workspaces install the app at /slack/install", _find_oauth_fault(settings))
        return
    if not settings.bot_token:
        yield CheckResult(what, fault="SLACK_BOT_TOKEN is not set; install the app and copy its xoxb-... token")
        return
    client = make_client(settings.bot_token, settings.slack_api_url)
    try:
        account = await fetch_bot_account(client)
    except NotConnected as error:
        yield CheckResult(what, fault=str(error))
        return
    finally:
        await close_client(client)
    yield CheckResult(what, f"{account.name} in {account.team_name}")
    manifest_scopes = frozenset(
        yaml.safe_load(find_manifest().read_text(encoding="utf-8"))["oauth_config"]["scopes"]["bot"]
    )
    extra = ", ".join(sorted(account.scopes - manifest_scopes - OPTIONAL_SCOPES))
    note = f"all {len(manifest_scopes)} of manifest.yml" + (f"; granted but not needed: {extra}" if extra else "")
    yield CheckResult("Slack scopes", note, describe_missing_scopes(account.scopes, manifest_scopes))


def _find_oauth_fault(settings: Settings) -> str:
    """Return the fault in the settings for workspaces that install the app by OAuth; empty if there is none."""
    if fault := describe_missing_packages("oauth", "cryptography"):
        return fault
    from bot.slack.installation.records import BadKey, TokenCipher  # noqa: PLC0415 - cryptography is in an extra

    try:
        require_installable(settings)
        TokenCipher(settings.token_keys)
    except SettingsError as error:
        return str(error)
    except BadKey as error:
        return f"LEADHAND_TOKEN_KEYS: {error}"
    return ""


async def _check_connection(settings: Settings) -> AsyncIterator[CheckResult]:
    if settings.app_token:
        client = make_client("", settings.slack_api_url)
        try:
            await check_app_level_token(client, settings.app_token)
            yield CheckResult("Slack app token", "opens a connection (Socket Mode)")
        except NotConnected as error:
            yield CheckResult("Slack app token", fault=str(error))
        finally:
            await close_client(client)
    elif settings.signing_secret:
        note = "has the right form; only a request signed by Slack proves it"
        yield CheckResult("Slack signing secret", note, describe_secret_fault(settings.signing_secret))
        ends = f"sign-ins end at {settings.public_url}{LANDING_PATH}"
        ends = ends if settings.public_url else "sign-ins end by a pasted address: set LEADHAND_URL for a page"
        note = f"{settings.http} is free, path /slack/events; {ends}"
        yield CheckResult("HTTP mode", note, _find_http_fault(settings.http))
    else:
        fault = "set SLACK_APP_TOKEN (xapp-..., Socket Mode) or SLACK_SIGNING_SECRET (HTTP mode)"
        yield CheckResult("Slack way in", fault=fault)


def _find_http_fault(address: Address) -> str:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        with socket.create_server((address.host, address.port), family=family):
            return ""
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        return f"{address} cannot be had ({why}): end what has it, or choose another with LEADHAND_PORT"


async def _check_redis(settings: Settings) -> AsyncIterator[CheckResult]:
    from bot.store.server_diagnosis import FULL_MEMORY_PREFIX  # noqa: PLC0415 - redis is imported when it is used

    where = "REDIS_URL" if settings.redis_url else f"embedded, in {settings.data}"
    try:
        async with open_command_store(settings) as store:
            about, faults = await store.describe(), await store.list_faults()
            memory = await store.read_memory_usage()
    except StoreError as error:
        yield CheckResult("Redis", fault=str(error))
        return
    full = [fault for fault in faults if fault.startswith(FULL_MEMORY_PREFIX)]
    hard = [fault for fault in faults if not fault.startswith((WARNING, FULL_MEMORY_PREFIX))]
    risks = [fault.removeprefix(WARNING) for fault in faults if fault.startswith(WARNING)]
    parts = f"{store.partitions} partitions"
    yield CheckResult("Redis", f"{about}, {parts} ({where})", "; ".join(hard), "; ".join(risks))
    yield CheckResult("Redis memory", _describe_memory(*memory), risk="; ".join(full))


def describe_retention(retention: Retention) -> str:
    """Describe how long each kind of data is kept."""
    materials = "as long as their job" if retention.materials is None else _format_days(retention.materials)
    return (
        f"jobs {_format_days(retention.jobs)} after their end, questions that nobody answers "
        f"{_format_days(retention.waiting_jobs)}, "
        f"files and their texts {materials}, the audit {_format_days(retention.audit)}"
    )


def _format_days(seconds: float) -> str:
    return f"{seconds / DAY_SECONDS:g} days"


def _describe_memory(used_bytes: int, limit: int) -> str:
    """Describe how much memory Redis uses. Both arguments are in bytes; 0 is no limit."""
    if not limit:
        return f"{used_bytes / MIB:,.1f} MiB used; no `maxmemory` is set, so the machine's memory is the limit"
    return f"{100 * used_bytes // limit} % of `maxmemory` used ({used_bytes / MIB:,.1f} of {limit / MIB:,.1f} MiB)"


@contextlib.asynccontextmanager
async def open_command_store(settings: Settings) -> AsyncIterator[Store]:
    """Open the store of the settings for one command. Raises StoreError.

    If that starts an embedded server, the server is stopped at the end of the block.
    """
    async with _open_store_url(settings) as url:
        store = await Store.connect(url)
        try:
            yield store
        finally:
            await store.close()


@contextlib.asynccontextmanager
async def _open_store_url(settings: Settings) -> AsyncIterator[str]:
    """Yield the URL of the store. An embedded server that had to be started for this is stopped at the end."""
    from bot.store.embedded import is_server_running, start_embedded, stop_embedded  # noqa: PLC0415 - the same

    if settings.redis_url:
        yield settings.redis_url
        return
    ran = is_server_running(settings.data)
    try:
        yield await start_embedded(settings.data)
    finally:
        if not ran:
            await stop_embedded(settings.data)


async def _check_models(settings: Settings, crews: tuple[Crew, ...]) -> AsyncIterator[CheckResult]:
    specialists = tuple(name for crew in crews for name in crew.all_specialists) or ("anyone",)
    try:
        model = await choose_model(settings.env)
    except ModelSettingsError as error:
        yield CheckResult("model", fault=str(error))
        return
    try:
        lacks_real_model = isinstance(model, RehearsalModel) and not settings.env.get("LEADHAND_MODEL")
        yield CheckResult("model", model.label, risk=NO_MODEL if lacks_real_model else "")
        for tier, proof in (await prove_tiers(model, specialists, settings.terms.context)).items():
            name = model.tiers[tier]
            fault = f"{name}: {proof.fault}" if proof.fault else ""
            yield CheckResult(f"model, tier {tier}", f"{name}: {proof.note}" if proof.note else name, fault, proof.risk)
        if named_models := list_provider_model_names(model, *crews):
            faults = "\n".join(map(str, await register_named_models(model, *crews)))
            yield CheckResult("models that specialists name", ", ".join(named_models), faults)
        await model.warm()
        for crew in crews:
            yield _estimate_plan_price(crew, model, settings.terms)
        if rates := settings.rules.rates:
            limited_models = ", ".join(name or "each model" for name in rates)
            strays = settings.rules.describe_stray_rates(model.provider, [*model.tiers.values(), *named_models])
            yield CheckResult("rates", limited_models, risk=strays)
    finally:
        await model.close()


def _estimate_plan_price(crew: Crew, model: ChosenModel, terms: Terms) -> CheckResult:
    """Estimate the calls, tokens and cost of a typical plan of a crew with these models."""
    terms = terms.model_copy(update={"roles": {**terms.roles, **crew.roles}})
    likely = estimate_typical_plan(crew, terms, model.compute_price)
    roles = dict.fromkeys(model.tiers[terms.get_tier(role)] for role in ("planner", "synthesizer"))
    size = f"{round(likely.tokens, -2):,} tokens in {likely.calls} calls, planned and answered by {' and '.join(roles)}"
    what = f"a plan of {TYPICAL_PART_COUNT} parts, crew {crew.name}"
    if likely.cost is None:
        return CheckResult(what, f"about {size}; no price of these models is known")
    if not likely.cost:
        return CheckResult(what, f"free, about {size}")
    return CheckResult(what, f"about {format_dollars(likely.cost)} for {size}")
