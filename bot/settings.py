"""The settings, read from the environment once. docs/reference.md and `leadhand run --help` list them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from bot.access.access_values import ChannelValues
from bot.limits.limit_rules import (
    MICROS_PER_DOLLAR,
    SCOPES,
    InvalidLimitError,
    LimitRules,
    Scope,
    SpendingBudget,
    parse_budget,
    parse_rates,
)
from bot.store.values import DAY_SECONDS, DEFAULT_RETENTION, Retention
from handoff.contracts import AskingTerms, ContextLimits, Terms, Tier
from handoff.conversation.working_time import parse_duration
from handoff.effects import ROLES
from handoff.text.slack_ids import CHANNEL_ID
from specialists.outbound.network import PROXY_RESOLVES_SETTING, find_setting_fault, read_proxy_passwords
from specialists.service_url import find_secrets, find_web_url_fault

ParsedT = TypeVar("ParsedT")
LogFormat = Literal["text", "json"]
LOG_FORMATS: Mapping[str, LogFormat] = {"text": "text", "json": "json"}


class SettingsError(Exception):
    """A setting is missing or wrong. The text names it and says what to do."""


@dataclass(frozen=True)
class Address:
    """An address to listen on. If `is_fixed` is False and the port is taken, any free port may be used instead."""

    host: str
    port: int
    is_fixed: bool = True

    def __str__(self) -> str:
        """Render the address as `host:port`, with an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class FollowUps:
    """Says in which channels the bot reads replies without a mention, in threads that have a job.

    If `on_by_default`, in all channels except `channels`; otherwise only in `channels`.
    """

    on_by_default: bool = True
    channels: frozenset[str] = frozenset()

    def apply_in(self, channel: str) -> bool:
        """Return True if replies without a mention are read in a channel (its Slack id)."""
        return self.on_by_default != (channel in self.channels)


DEFAULT_FOLLOW_UPS = FollowUps()
DEFAULT_TERMS = Terms(confidence=80, asking=AskingTerms(remind_after=4 * 3600.0))
_TIERS: tuple[Tier, ...] = get_args(Tier)
MIN_CONTEXT_TOKENS, MAX_CONTEXT_TOKENS = 1_000, 1_000_000
_TIER_TOKENS = re.compile(r"(?P<tier>fast|balanced|deep)\s+(?P<number>\d{1,7}(?:\.\d+)?)(?P<k>k?)")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WORKING_HOURS = re.compile(rf"(?P<opens>[0-9]{{1,2}})-(?P<closes>[0-9]{{1,2}})(?:\s+mon-(?P<last>{'|'.join(_DAYS)}))?")
_RETENTION_DAYS = re.compile(r"(?P<what>jobs|questions|materials|audit)\s+(?P<days>\d{1,5}(?:\.\d+)?)")
MIN_RETENTION_DAYS, MAX_RETENTION_DAYS = 0.04, 36_500
DEFAULT_OPERATION_ADDRESS = Address("127.0.0.1", 9464, is_fixed=False)
DEFAULT_HTTP_ADDRESS = Address("127.0.0.1", 3000)
DEFAULT_BUDGETS: Mapping[Scope, str] = {"person": "$10, 5m tokens", "day": "$100, 50m tokens"}
"""Budgets that apply unless others are set, so that nobody is surprised by a bill."""
SECRET_NAME = re.compile(r"TOKEN|SECRET|KEY")


@dataclass(frozen=True)
class Settings:
    """The settings of one instance. `lease` is in seconds; `slots` is the number of jobs that it runs at once."""

    env: Mapping[str, str] = field(repr=False)
    bot_token: str = field(default="", repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    token_keys: tuple[str, ...] = field(default=(), repr=False)
    """The keys that encrypt tokens in the store: the first encrypts, all decrypt."""
    teams: frozenset[str] = frozenset()
    """Ids of the workspaces and organisations that may install the app; empty: all."""
    slack_api_url: str = "https://slack.com/api/"
    redis_url: str = field(default="", repr=False)
    data: Path = Path("~/.local/share/leadhand")
    crew: str = "general"
    """The default crew: a folder of specialists/crews, or a path."""
    more_crews: tuple[str, ...] = ()
    """Further crews, chosen by channel or by a word."""
    http: Address = DEFAULT_HTTP_ADDRESS
    public_url: str = ""
    """The public URL of HTTP mode, without a slash at its end; empty if none is known."""
    slots: int = 20
    lease: float = 15.0
    slack_unlimited: bool = False
    admins: frozenset[str] = frozenset()
    """Slack ids of the admins, each with the workspace or organisation before a colon if there are several."""
    log: LogFormat = "text"
    operation: Address | None = None
    terms: Terms = DEFAULT_TERMS
    rules: LimitRules = field(default_factory=LimitRules)
    follow_ups: FollowUps = DEFAULT_FOLLOW_UPS
    channels: frozenset[str] = frozenset()
    """Ids of the channels in which the bot may be used; empty: all."""
    access: ChannelValues = field(default_factory=ChannelValues)
    """The channel values that the environment sets for all channels alike, such as who may use the bot."""
    retention: Retention = DEFAULT_RETENTION
    walls_required: bool = False
    """True if files and pages may be read only in a process that all of the kernel's protections isolate."""

    def find_channel_values(self, channel: str) -> ChannelValues:
        """Return the values that the environment sets for a channel (its Slack id). All other values are None."""
        follow_ups = (
            None
            if self.follow_ups == DEFAULT_FOLLOW_UPS and not self.env.get("LEADHAND_FOLLOW_UPS")
            else self.follow_ups
        )
        values = {
            "allowed": channel in self.channels if self.channels else None,
            "follow_ups": follow_ups.apply_in(channel) if follow_ups is not None else None,
        }
        return self.access.model_copy(update=values)

    @property
    def secrets(self) -> frozenset[str]:
        """Texts that must never be shown: tokens, keys, and the secret parts of service addresses."""
        tokens = {self.bot_token, self.app_token, self.signing_secret, self.client_secret, *self.token_keys}
        tokens |= {*read_proxy_passwords(self.env)}
        return frozenset({*find_secret_values(self.env), *find_secrets(self.redis_url), *tokens} - {""})

    @property
    def uses_oauth_install(self) -> bool:
        """True if workspaces install the app by OAuth; otherwise the bot runs in the workspace of its token."""
        return bool(self.client_id) and not self.bot_token

    def list_admins(self, team: str, organisation: str = "") -> frozenset[str]:
        """Return the Slack ids of a workspace's admins: those set for it, for its organisation, or for all."""
        admin_parts = (one.rpartition(":") for one in self.admins)
        return frozenset(user for place, _, user in admin_parts if place in {team, organisation, ""})

    @property
    def uses_socket_mode(self) -> bool:
        """True if the bot connects over Socket Mode rather than HTTP."""
        return bool(self.app_token)

    @property
    def has_pages(self) -> bool:
        """True if the bot can show pages of its own to browsers."""
        return bool(self.public_url) and not self.uses_socket_mode and not self.uses_oauth_install


VARIABLES: Mapping[str, str] = {
    "LEADHAND_SETTINGS": "a file of lines NAME=value; default ~/.config/leadhand/settings.env, if it is there",
    "SLACK_BOT_TOKEN": "the bot's token, xoxb-...",
    "SLACK_APP_TOKEN": "the app-level token, xapp-..., for Socket Mode",
    "SLACK_SIGNING_SECRET": "the signing secret, for HTTP mode",
    "SLACK_CLIENT_ID": "the app's client id: workspaces install it at /slack/install, in place of SLACK_BOT_TOKEN "
    "(docs/install.md)",
    "SLACK_CLIENT_SECRET": "the app's client secret",
    "LEADHAND_TOKEN_KEYS": "keys that encrypt the tokens of workspaces in Redis, with commas: the first encrypts, all "
    "decrypt",
    "LEADHAND_TEAMS": "ids of the workspaces (T...) and organisations (E...) that may install it, with commas; "
    "default all",
    "SLACK_API_URL": "where the Web API is; default https://slack.com/api/",
    "REDIS_URL": "redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://; default: the embedded "
    "server. ?replicas=n: a write counts once n replicas have it",
    "ANTHROPIC_API_KEY": "use Anthropic's models",
    "ANTHROPIC_BASE_URL": "another address for Anthropic's models",
    "OPENAI_API_KEY": "use OpenAI's models",
    "OPENAI_BASE_URL": "any server that speaks OpenAI's chat completions, with or without a key",
    "OLLAMA_HOST": "where an Ollama answers; default http://127.0.0.1:11434",
    "LEADHAND_MODEL": "anthropic, openai, ollama or rehearsal, instead of the first that is found",
    "LEADHAND_MODEL_FAST": "the model of the tier `fast`",
    "LEADHAND_MODEL_BALANCED": "the model of the tier `balanced`",
    "LEADHAND_MODEL_DEEP": "the model of the tier `deep`",
    "LEADHAND_TOOL_CALLS": "how a compatible server's models call tools: native, or schema (a JSON schema shapes each "
    "step). auto (default): schema after the first call that the server does not recognise",
    "LEADHAND_EFFORT": "how hard the models of a tier think: `fast low, deep high`; default low, medium and high for "
    "the providers' own models",
    "LEADHAND_SEES": "the tiers whose models are shown pictures: `balanced, deep`, all or none; default: as their "
    "provider says",
    "LEADHAND_SILENCE": "seconds without a word after which a model call is given up; default 120. A server at home "
    "gets a second more for every 20 tokens of the prompt",
    "LEADHAND_DATA": "the folder of the embedded server and the local workspace; default ~/.local/share/leadhand",
    "LEADHAND_CREW": "the crews, with commas: folders of specialists/crews, or paths; default all of those, "
    "general first. The first has the others as members",
    "LEADHAND_RECORDED_PAGES": "a folder of recorded pages with an index.yml, which the web tools read in place of the "
    "network",
    "LEADHAND_DEADLINE": "minutes of work after which a request is answered with what is there; default 30",
    "LEADHAND_SUBTASK_DEADLINE": "seconds for all attempts at one subtask; default 300",
    "LEADHAND_CALL_DEADLINE": "seconds that one model call of the supervisor may take; default 600",
    "LEADHAND_CONFIDENCE": "findings below this, 0 to 100, are marked as less sure; default 80",
    "LEADHAND_CONTEXT": "tokens of material that a model call gets at most, by tier; default `fast 16k, balanced 32k, "
    "deep 64k`",
    "LEADHAND_REMIND_AFTER": "working time after which people are reminded of a question: `4h` (default), `30 min`, "
    "`2 days` or `never`",
    "LEADHAND_EXPIRE_AFTER": "time after which a question that nobody answered is closed; default never",
    "LEADHAND_WORKING_HOURS": "when people are reminded, in their own time zone; default `9-18 Mon-Fri`",
    "LEADHAND_ROLES": "the tiers of the supervisor's roles: `planner deep, verifier fast`; default `deep` for "
    "planner, replanner, synthesizer and verifier, `fast` for the dispatcher, else `balanced`",
    "LEADHAND_PORT": "where HTTP mode listens: a port, for this machine alone, or host:port; default 127.0.0.1:3000",
    "LEADHAND_URL": "the public address of HTTP mode, https://HOST: sign-ins to MCP servers end on a page below it",
    "LEADHAND_SLOTS": "jobs that one instance works on at once; default 20",
    "LEADHAND_LEASE": "seconds after which another instance takes over; default 15",
    "LEADHAND_SLACK_UNLIMITED": "1: do not keep within Slack's rate limits (benchmarks)",
    "LEADHAND_ADMINS": "Slack ids, with commas, of people who may use it everywhere, trace, cancel and release any "
    "job, and change channel settings; with several workspaces `T0123ABCD:U0456EFGH`",
    "LEADHAND_CHANNELS": "ids of the channels in which it may be used, with commas; default all. Direct messages are "
    "always open",
    "LEADHAND_USERS": "ids of the people (U...) and user groups (S...) who may use it, with commas; default everybody",
    "LEADHAND_GUESTS": "on: guests of the workspace may use it too; default off",
    "LEADHAND_STRANGERS": "ids of other workspaces (T...) whose people may use it (Slack Connect), with commas; "
    "default none",
    "LEADHAND_APPROVERS": "ids of the people and user groups who may approve; default as the crew says",
    "LEADHAND_HIGHEST_TIER": "the highest tier in channels that set no other: fast, balanced or deep (default)",
    "LEADHAND_QUIET_HOURS": "when nothing is posted that nobody asked for, in the channel's time zone: "
    "`20-8, weekends`; default off",
    "LEADHAND_ZONE": "the time zone of channels that set no other, such as Europe/Berlin; default UTC",
    "GITHUB_TOKEN": "read private repositories and pull requests of GitHub, post reviews, open issues",
    "GITLAB_TOKEN": "do the same on GitLab, with merge requests and issues",
    "GITHUB_API_URL": "where a GitHub of your own has its API, https://github.acme.com/api/v3; default "
    "https://api.github.com",
    "GITLAB_URL": "where a GitLab of your own is; default https://gitlab.com",
    "LEADHAND_TICKETS": "where tickets go: github:OWNER/REPOSITORY, gitlab:GROUP/PROJECT, list:#channel, "
    "message:#channel or message:contact (default)",
    "LEADHAND_SMTP": "the mail server: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST:465; "
    "?tls=off for none",
    "LEADHAND_MAIL_FROM": "the address that mail comes from: `Leadhand <bot@example.com>`",
    "LEADHAND_OPERATION": "where /healthz, /readyz and /metrics are, host:port, or off; default 127.0.0.1:9464",
    "LEADHAND_LOG": "text, or json for one object a line; default text",
    "LEADHAND_SANDBOX": "required: read no file or page unless all of the kernel's walls stand; best (default): "
    "behind the walls that the system allows",
    "LEADHAND_BREAKERS": "off: call a specialist or a model again although it keeps failing; default on",
    "LEADHAND_RATES": "requests and tokens a minute, for each model or the one named: `50 requests, 40k tokens; "
    "claude-opus-5-5: 10 requests; ollama: 20 requests`",
    "LEADHAND_AT_ONCE": "model calls that a workspace makes at once, in all instances together",
    "LEADHAND_BUDGET_JOB": "what a job may spend: `$2.50, 400k tokens`, or one of the two",
    "LEADHAND_BUDGET_PERSON": "what the jobs of one person may spend a day (UTC), or off; default `$10, 5m tokens`",
    "LEADHAND_BUDGET_CHANNEL": "what the jobs of one channel may spend a day",
    "LEADHAND_BUDGET_DAY": "what all jobs of a workspace may spend a day, or off; default `$100, 50m tokens`",
    "LEADHAND_ASK_ABOVE": "people are asked before a part begins whose estimate is above: `$2.50, 400k tokens`, or "
    "one of the two; default: they are not asked",
    "LEADHAND_FOLLOW_UPS": "whether replies without a mention are heard in a job's thread: on (default), off, or "
    "either for some channels: `off in C0123ABCD, C0456EFGH`",
    "LEADHAND_KEEP": "days that jobs, open questions, materials and the audit are kept; default `jobs 30, "
    "questions 180, audit 365`, materials as long as their job",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "an OpenTelemetry collector, http://HOST:4318, that gets the trace of each request "
    "(docs/traces.md)",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "the collector's whole address for traces, if that is not /v1/traces "
    "below the endpoint",
    "OTEL_EXPORTER_OTLP_HEADERS": "headers for the collector, with commas: `authorization=Bearer%20KEY`",
    "OTEL_SERVICE_NAME": "the bot's name in the collector; default leadhand",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true: send also what people, models and tools said; "
    "default: names, times, tokens and cost alone",
    "HTTPS_PROXY": "the proxy for https:// addresses, `http://USER:PASSWORD@HOST:PORT` (docs/install.md, “Behind "
    "a proxy”)",
    "HTTP_PROXY": "the proxy for http:// addresses",
    "ALL_PROXY": "the proxy for both where they have none of their own",
    "NO_PROXY": "hosts and networks that are reached without a proxy, with commas: "
    "`internal.acme.com, 10.0.0.0/8, git.acme.com:8443`",
    "SSL_CERT_FILE": "the file of the certificate authorities that are trusted, in PEM; default: the system's",
    "SSL_CERT_DIR": "a folder of such authorities, as `openssl rehash` makes it",
    PROXY_RESOLVES_SETTING: "on: ask the proxy also for pages whose names cannot be looked up here; default off",
    "LEADHAND_REHEARSAL_PACE": "seconds that a call of the rehearsal model takes; default 0",
    "LEADHAND_KNOWLEDGE": "documents that crews search, unless they have a folder `knowledge`: a folder, or web "
    "addresses (docs/documents.md)",
    "LEADHAND_DATABASES": "databases that crews may read: `orders=postgresql://reader:password@host/orders`, with "
    "commas; postgresql, mysql or sqlite",
    "LEADHAND_DATABASES_ANY_USER": "names of databases that may be asked although their user may do "
    "more than read; default none",
    "LEADHAND_REPOSITORIES": "git repositories that crews may read: `shop=/srv/git/shop, "
    "site=https://github.com/acme/site, api=git@git.acme.com:api.git` (docs/documents.md)",
    "LEADHAND_SSH_KEY": "the private key for repositories over ssh: a file, or a folder with a file for each "
    "repository, by its name",
    "LEADHAND_SSH_KNOWN_HOSTS": "the file of the host keys that are accepted for them, and no others",
    "BRAVE_API_KEY": "search the web with Brave",
    "TAVILY_API_KEY": "search the web with Tavily",
}
"""Every environment variable that Leadhand reads, and its purpose."""


def find_secret_values(env: Mapping[str, str] | None = None) -> frozenset[str]:
    """List the secrets of an environment, by default of this process: tokens, keys, and secret parts of addresses."""
    env = os.environ if env is None else env
    secret_values = {value for name, value in env.items() if name in VARIABLES and SECRET_NAME.search(name)}
    of_addresses = (find_secrets(value) for value in env.values() if "://" in value)
    return frozenset(secret_values.union(*of_addresses) - {""})


def read_settings(env: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from an environment, by default that of this process. Raises SettingsError for a bad value."""
    env = dict(os.environ if env is None else env)
    _check_service_urls(env)
    if fault := find_setting_fault(env):
        raise SettingsError(fault)
    crews = _split_commas(env.get("LEADHAND_CREW", "")) or _list_shipped_crews()
    return Settings(
        env=env,
        bot_token=env.get("SLACK_BOT_TOKEN", ""),
        app_token=env.get("SLACK_APP_TOKEN", ""),
        signing_secret=env.get("SLACK_SIGNING_SECRET", ""),
        client_id=env.get("SLACK_CLIENT_ID", "").strip(),
        client_secret=env.get("SLACK_CLIENT_SECRET", "").strip(),
        token_keys=_split_commas(env.get("LEADHAND_TOKEN_KEYS", "")),
        teams=frozenset(_split_commas(env.get("LEADHAND_TEAMS", ""))),
        slack_api_url=env.get("SLACK_API_URL", "") or Settings.slack_api_url,
        redis_url=env.get("REDIS_URL", ""),
        data=Path(env.get("LEADHAND_DATA", "") or Settings.data).expanduser(),
        crew=crews[0],
        more_crews=crews[1:],
        http=_parse_http_address(env.get("LEADHAND_PORT", "").strip()),
        public_url=_parse_public_url(env.get("LEADHAND_URL", "").strip()),
        slots=_read_whole_number(env, "LEADHAND_SLOTS", Settings.slots, low=1, high=1000),
        lease=_read_number(env, "LEADHAND_LEASE", Settings.lease, low=1, high=600),
        slack_unlimited=bool(_read_whole_number(env, "LEADHAND_SLACK_UNLIMITED", 0, low=0, high=1)),
        admins=frozenset(name.strip() for name in env.get("LEADHAND_ADMINS", "").split(",") if name.strip()),
        log=_parse_log_format(env.get("LEADHAND_LOG", "") or Settings.log),
        operation=_parse_operation_address(env.get("LEADHAND_OPERATION", "").strip()),
        terms=_read_terms(env),
        rules=_read_limit_rules(env),
        follow_ups=_parse_follow_ups(env.get("LEADHAND_FOLLOW_UPS", "")),
        channels=_parse_channels(env.get("LEADHAND_CHANNELS", "")),
        access=_read_channel_values(env),
        retention=_parse_retention(env.get("LEADHAND_KEEP", "")),
        walls_required=_parse_walls_required(env.get("LEADHAND_SANDBOX", "")),
    )


def _list_shipped_crews() -> tuple[str, ...]:
    """Return the names of the crews that come with Leadhand, the default one first."""
    folder = Path(__file__).parents[1] / "specialists" / "crews"
    return (
        Settings.crew,
        *sorted(path.parent.name for path in folder.glob("*/crew.yml") if path.parent.name != Settings.crew),
    )


def _parse_walls_required(text: str) -> bool:
    value_by_word = {"": False, "best": False, "required": True}
    if (word := text.strip().lower()) not in value_by_word:
        raise SettingsError(f"LEADHAND_SANDBOX is {text!r}; it takes required or best.")
    return value_by_word[word]


def require_slack(settings: Settings) -> None:
    """Raise SettingsError unless a token and a way to connect are set, or all that installation by OAuth needs."""
    if settings.client_id:
        require_installable(settings)
        return
    if not settings.bot_token:
        raise SettingsError(
            "SLACK_BOT_TOKEN is not set. Install the app from manifest.yml and copy its token (xoxb-...), or use "
            "`leadhand try`, which needs no Slack."
        )
    if not settings.app_token and not settings.signing_secret:
        raise SettingsError(
            "Neither SLACK_APP_TOKEN (Socket Mode) nor SLACK_SIGNING_SECRET (HTTP mode) is set; one of them is needed."
        )


def require_installable(settings: Settings) -> None:
    """Raise SettingsError if a setting for installation by OAuth is missing, or one is set that conflicts with it."""
    if settings.bot_token or settings.app_token:
        conflicting_name = "SLACK_BOT_TOKEN" if settings.bot_token else "SLACK_APP_TOKEN"
        raise SettingsError(
            f"SLACK_CLIENT_ID and {conflicting_name} are both set. With SLACK_CLIENT_ID workspaces "
            "install the app by HTTP, each "
            f"with a token of its own: remove {conflicting_name}, or SLACK_CLIENT_ID if there is one workspace."
        )
    needed_values = {
        "SLACK_CLIENT_SECRET": settings.client_secret,
        "SLACK_SIGNING_SECRET": settings.signing_secret,
        "LEADHAND_TOKEN_KEYS": settings.token_keys,
    }
    if lacking := [name for name, value in needed_values.items() if not value]:
        key_advice = (
            " `openssl rand -base64 32 | tr '+/' '-_'` makes a key." if "LEADHAND_TOKEN_KEYS" in lacking else ""
        )
        raise SettingsError(f"SLACK_CLIENT_ID is set, and {', '.join(lacking)} not: all are needed.{key_advice}")
    if stray := sorted(one for one in settings.admins if ":" not in one):
        raise SettingsError(
            f"LEADHAND_ADMINS names {', '.join(stray)} in no workspace. Write the id of the workspace (T...) or "
            f"organisation (E...) before it, such as T0123ABCD:{stray[0]}."
        )


def _read_terms(env: Mapping[str, str]) -> Terms:
    above = _read_limit(env, "LEADHAND_ASK_ABOVE", parse_budget)
    return Terms(
        ask_above_tokens=above.tokens if above else 0,
        ask_above_cost=above.micro_dollars / MICROS_PER_DOLLAR if above else 0.0,
        job_seconds=60 * _read_number(env, "LEADHAND_DEADLINE", DEFAULT_TERMS.job_seconds / 60, low=0.01, high=100_000),
        subtask_seconds=_read_number(
            env, "LEADHAND_SUBTASK_DEADLINE", DEFAULT_TERMS.subtask_seconds, low=1, high=86_400
        ),
        call_seconds=_read_number(env, "LEADHAND_CALL_DEADLINE", DEFAULT_TERMS.call_seconds, low=1, high=86_400),
        confidence=_read_whole_number(env, "LEADHAND_CONFIDENCE", DEFAULT_TERMS.confidence, low=0, high=100),
        context=_parse_context(env.get("LEADHAND_CONTEXT", "")),
        asking=_read_asking_terms(env),
        roles=_parse_roles(env.get("LEADHAND_ROLES", "")),
    )


def _read_asking_terms(env: Mapping[str, str]) -> AskingTerms:
    """Parse when people are reminded of a question, and when a question expires."""
    usual = DEFAULT_TERMS.asking
    spans = {
        "remind_after": _read_duration(env, "LEADHAND_REMIND_AFTER", usual.remind_after),
        "expire_after": _read_duration(env, "LEADHAND_EXPIRE_AFTER", usual.expire_after),
    }
    return usual.model_copy(update={**spans, **_parse_working_hours(env.get("LEADHAND_WORKING_HOURS", ""))})


def _read_duration(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "").strip()
    seconds = parse_duration(text) if text else default
    if seconds is None:
        raise SettingsError(f"{name} is {text!r}; it takes a span of time such as 30 min, 4h or 2 days, or never.")
    return seconds


def _parse_working_hours(text: str) -> dict[str, int]:
    """Parse working hours such as `9-18 Mon-Fri` into fields of `AskingTerms`. An empty text gives {}."""
    if not text.strip():
        return {}
    match = _WORKING_HOURS.fullmatch(text.strip().lower())
    opens, closes = (int(match["opens"]), int(match["closes"])) if match else (0, 0)
    if match is None or not opens < closes <= 24:
        raise SettingsError(
            f"LEADHAND_WORKING_HOURS is {text!r}; it takes hours and days: `9-18 Mon-Fri`, `8-20 Mon-Sun`."
        )
    return {"opens": opens, "closes": closes, "days": _DAYS.index(match["last"] or "fri") + 1}


def _parse_context(text: str) -> ContextLimits:
    """Parse the maximum tokens of each tier; a tier that is left out keeps its default."""
    tokens_by_tier = {}
    for part in filter(None, (each.strip().lower() for each in text.split(","))):
        match = _TIER_TOKENS.fullmatch(part)
        tokens = int(float(match["number"]) * (1_000 if match["k"] else 1)) if match else 0
        if match is None or match["tier"] in tokens_by_tier or not MIN_CONTEXT_TOKENS <= tokens <= MAX_CONTEXT_TOKENS:
            raise SettingsError(
                f"LEADHAND_CONTEXT is {text!r}; it takes a tier and its tokens, {MIN_CONTEXT_TOKENS:,} to "
                f"{MAX_CONTEXT_TOKENS:,}, "
                "with commas: `fast 8k, balanced 16k`."
            )
        tokens_by_tier[match["tier"]] = tokens
    return ContextLimits.model_validate(tokens_by_tier)


def _parse_roles(text: str) -> dict[str, Tier]:
    """Parse the tiers of the supervisor's roles: a dict by the name of each role in the text."""
    tier_by_role: dict[str, Tier] = {}
    for part in filter(None, (each.strip().lower() for each in text.split(","))):
        role, *rest = part.split()
        tier = next((tier for tier in _TIERS if rest == [tier]), None)
        if tier is None or role not in ROLES or role in tier_by_role:
            raise SettingsError(
                f"LEADHAND_ROLES is {text!r}; it takes a role and its tier, with commas: "
                f"`planner deep, verifier fast`. The roles are {', '.join(ROLES)}, each once; "
                f"the tiers are {', '.join(_TIERS)}."
            )
        tier_by_role[role] = tier
    return tier_by_role


def _parse_retention(text: str) -> Retention:
    """Parse the days that each kind of data is kept; a kind that is left out keeps its default."""
    days: dict[str, float] = {}
    for part in filter(None, (each.strip().lower() for each in text.split(","))):
        match = _RETENTION_DAYS.fullmatch(part)
        if (
            match is None
            or match["what"] in days
            or not MIN_RETENTION_DAYS <= float(match["days"]) <= MAX_RETENTION_DAYS
        ):
            raise SettingsError(
                f"LEADHAND_KEEP is {text!r}; it takes jobs, questions, materials or audit and its days, "
                f"{MIN_RETENTION_DAYS:g} "
                f"to {MAX_RETENTION_DAYS:,}, with commas: `jobs 30, materials 7`."
            )
        days[match["what"]] = float(match["days"]) * DAY_SECONDS
    jobs, materials = days.get("jobs", DEFAULT_RETENTION.jobs), days.get("materials")
    if materials is not None and materials > jobs:
        raise SettingsError(
            f"LEADHAND_KEEP is {text!r}; materials go with their job, {jobs / DAY_SECONDS:g} days after its end."
        )
    questions, audit = days.get("questions", DEFAULT_RETENTION.waiting_jobs), days.get("audit", DEFAULT_RETENTION.audit)
    return Retention(jobs, questions, materials, audit)


def _parse_follow_ups(text: str) -> FollowUps:
    """Parse where follow-ups are read: `off in C1` means everywhere except C1, `on in C1` means only in C1."""
    word, separator, rest = text.strip().partition(" in ")
    channels = frozenset(name.strip().upper() for name in rest.split(",") if name.strip())
    word = word.strip().lower() or "on"
    if word not in {"on", "off"} or bool(separator) != bool(channels) or not all(map(CHANNEL_ID.fullmatch, channels)):
        raise SettingsError(
            f"LEADHAND_FOLLOW_UPS is {text!r}; it takes on, off, or either with the ids of channels: "
            "`off in C0123ABCD, C0456EFGH`."
        )
    return FollowUps(on_by_default=(word == "on") != bool(channels), channels=channels)


def _split_commas(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _parse_channels(text: str) -> frozenset[str]:
    channel_ids = _split_commas(text)
    wrong = next((one for one in channel_ids if not CHANNEL_ID.fullmatch(one)), None)
    if wrong is not None:
        raise SettingsError(
            f"LEADHAND_CHANNELS names {wrong!r}; it takes the ids of channels, with commas: C0123ABCD, C0456EFGH."
        )
    return frozenset(channel_ids)


def _read_channel_values(env: Mapping[str, str]) -> ChannelValues:
    """Parse the channel values of the environment: access, tier, quiet hours, zone, budget. Unset ones are None."""
    guests = env.get("LEADHAND_GUESTS", "").strip().lower()
    if guests not in {"", "on", "off"}:
        raise SettingsError(f"LEADHAND_GUESTS is {guests!r}; it takes on or off.")
    access = ChannelValues(guests=guests == "on" if guests else None)
    access = _replace_value(access, "highest_tier", "LEADHAND_HIGHEST_TIER", env.get("LEADHAND_HIGHEST_TIER", ""))
    access = _replace_value(access, "quiet_hours", "LEADHAND_QUIET_HOURS", env.get("LEADHAND_QUIET_HOURS", ""))
    access = _replace_value(access, "zone", "LEADHAND_ZONE", env.get("LEADHAND_ZONE", ""))
    access = _replace_value(access, "budget", "LEADHAND_BUDGET_CHANNEL", env.get("LEADHAND_BUDGET_CHANNEL", ""))
    for name in ("users", "strangers", "approvers"):
        text = env.get(f"LEADHAND_{name.upper()}", "")
        try:
            parsed_values = ChannelValues.model_validate({name: _split_commas(text) or None})
        except ValidationError as error:
            fault = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            raise SettingsError(
                f"LEADHAND_{name.upper()} is {text!r}: {fault}. Ids are told apart by commas."
            ) from None
        access = access.model_copy(update={name: getattr(parsed_values, name)})
    return access


def _replace_value(access: ChannelValues, name: str, variable: str, text: str) -> ChannelValues:
    """Return the values with one more, parsed from `text`; an empty text leaves it None. Raises SettingsError."""
    try:
        parsed_values = ChannelValues.model_validate({name: text.strip() or None})
    except ValidationError as error:
        fault = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise SettingsError(f"{variable} is {text!r}: {fault}.") from None
    return access.model_copy(update={name: getattr(parsed_values, name)})


def _read_limit_rules(env: Mapping[str, str]) -> LimitRules:
    breakers = env.get("LEADHAND_BREAKERS", "").strip().lower() or "on"
    if breakers not in {"on", "off"}:
        raise SettingsError(f"LEADHAND_BREAKERS is {breakers!r}; it takes on or off.")
    budgets = {
        scope: _read_limit(env, f"LEADHAND_BUDGET_{scope.upper()}", _make_budget_parser(scope)) for scope in SCOPES
    }
    return LimitRules(
        breakers=breakers == "on",
        rates=_read_limit(env, "LEADHAND_RATES", parse_rates),
        max_concurrent=_read_whole_number(env, "LEADHAND_AT_ONCE", 0, low=1, high=10_000),
        budgets={scope: budget for scope, budget in budgets.items() if budget is not None},
    )


def _make_budget_parser(scope: Scope) -> Callable[[str], SpendingBudget | None]:
    return lambda text: None if text.strip().lower() == "off" else parse_budget(text or DEFAULT_BUDGETS.get(scope, ""))


def _read_limit(env: Mapping[str, str], name: str, parse: Callable[[str], ParsedT]) -> ParsedT:
    text = env.get(name, "")
    try:
        return parse(text)
    except InvalidLimitError as error:
        raise SettingsError(f"{name} is {text!r}; {error}.") from None


def _parse_log_format(text: str) -> LogFormat:
    if (form := LOG_FORMATS.get(text)) is None:
        raise SettingsError(f"LEADHAND_LOG is {text!r}; it takes text or json.")
    return form


def _parse_operation_address(text: str) -> Address | None:
    if not text:
        return DEFAULT_OPERATION_ADDRESS
    if text.lower() == "off":
        return None
    if (address := _parse_address(text)) is None:
        raise SettingsError(f"LEADHAND_OPERATION is {text!r}; it takes host:port, such as 0.0.0.0:9464, or off.")
    return address


def _parse_http_address(text: str) -> Address:
    """Parse the address that HTTP mode listens on. A port alone means that port on 127.0.0.1."""
    if not text:
        return DEFAULT_HTTP_ADDRESS
    address = _parse_address(f"{DEFAULT_HTTP_ADDRESS.host}:{text}" if text.isdecimal() else text)
    if address is None:
        raise SettingsError(f"LEADHAND_PORT is {text!r}; it takes a port from 0 to 65535, or host:port.")
    return address


def _parse_public_url(text: str) -> str:
    """Parse the public URL of HTTP mode. It must be https, except for this machine's own address."""
    if not text:
        return ""
    if fault := find_web_url_fault(text):
        raise SettingsError(f"LEADHAND_URL {fault}.")
    parts = urlsplit(text)
    plain = parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost", "::1"}
    if plain or parts.query or parts.fragment or "@" in parts.netloc:
        raise SettingsError(f"LEADHAND_URL is {text!r}; it takes an address such as https://bot.example.com.")
    return text.rstrip("/")


def _parse_address(text: str) -> Address | None:
    """Parse `host:port`; None for any other text."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return Address(host, port) if host and port is not None and parts.netloc == text and "@" not in text else None


def _check_service_urls(env: Mapping[str, str]) -> None:
    """Raise SettingsError for a service's URL that lacks a scheme or host, before any call to it fails."""
    for name in ("SLACK_API_URL", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GITHUB_API_URL", "GITLAB_URL"):
        text = env.get(name, "").strip()
        if text and (fault := find_web_url_fault(text)):
            raise SettingsError(f"{name} {fault}.")


def _read_whole_number(env: Mapping[str, str], name: str, default: int, *, low: int, high: int) -> int:
    number = _read_number(env, name, default, low=low, high=high)
    if number != int(number):
        raise SettingsError(f"{name} is {number:g}; it takes a whole number.")
    return int(number)


def _read_number(env: Mapping[str, str], name: str, default: float, *, low: float, high: float) -> float:
    text = env.get(name, "")
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        raise SettingsError(f"{name} is {text!r}; it takes a number from {low:g} to {high:g}.") from None
    if not low <= number <= high:
        raise SettingsError(f"{name} is {text}; it takes a number from {low:g} to {high:g}.")
    return number
