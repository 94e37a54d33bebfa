"""Everything that can be set, read from the environment once. The README and `leadhand run --help` list it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

Form = Literal["text", "json"]
FORMS: Mapping[str, Form] = {"text": "text", "json": "json"}


class SettingsError(Exception):
    """A setting is missing or wrong. The text names it and says what to do."""


@dataclass(frozen=True)
class Address:
    """Where something listens. `fixed`: it was asked for, and another port will not do."""

    host: str
    port: int
    fixed: bool = True

    def __str__(self) -> str:
        """`host:port`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


OPERATION = Address("127.0.0.1", 9464, fixed=False)
SECRET = re.compile(r"TOKEN|SECRET|KEY")


@dataclass(frozen=True)
class Settings:
    """What one instance runs with. `lease` is seconds, `slots` how many jobs it owns at once."""

    env: Mapping[str, str] = field(repr=False)
    bot_token: str = field(default="", repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    slack_api_url: str = "https://slack.com/api/"
    redis_url: str = field(default="", repr=False)
    data: Path = Path("~/.local/share/leadhand")
    crew: str = "general"
    port: int = 3000
    slots: int = 20
    lease: float = 15.0
    slack_unlimited: bool = False
    admins: frozenset[str] = frozenset()
    log: Form = "text"
    operation: Address | None = None

    @property
    def secrets(self) -> frozenset[str]:
        """What must never be shown: tokens, keys, and the password of the store."""
        named = {value for name, value in self.env.items() if name in NAMES and SECRET.search(name)}
        password = urlsplit(self.redis_url).password or ""
        return frozenset(
            {*named, self.bot_token, self.app_token, self.signing_secret, password, unquote(password)} - {""}
        )

    @property
    def socket_mode(self) -> bool:
        """Whether Slack is spoken to over Socket Mode rather than HTTP."""
        return bool(self.app_token)


NAMES: Mapping[str, str] = {
    "SLACK_BOT_TOKEN": "the bot's token, xoxb-...",
    "SLACK_APP_TOKEN": "the app-level token, xapp-..., for Socket Mode",
    "SLACK_SIGNING_SECRET": "the signing secret, for HTTP mode",
    "SLACK_API_URL": "where the Web API is; default https://slack.com/api/",
    "REDIS_URL": "redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://; default: the embedded server. "
    "With ?replicas=n a write counts once n replicas have it; Sentinel and Cluster: 1",
    "ANTHROPIC_API_KEY": "use Anthropic's models",
    "ANTHROPIC_BASE_URL": "another address for them",
    "OPENAI_API_KEY": "use OpenAI's models",
    "OPENAI_BASE_URL": "any server that speaks OpenAI's chat completions; enough without a key",
    "OLLAMA_HOST": "where an Ollama answers; default http://127.0.0.1:11434",
    "LEADHAND_MODEL": "anthropic, openai, ollama or rehearsal, instead of the first that is found",
    "LEADHAND_MODEL_FAST": "the model of the tier `fast`",
    "LEADHAND_MODEL_BALANCED": "the model of the tier `balanced`",
    "LEADHAND_MODEL_DEEP": "the model of the tier `deep`",
    "LEADHAND_DATA": "the folder of the embedded server and the local workspace",
    "LEADHAND_CREW": "the crew: a folder of specialists/crews, or a path; default general",
    "LEADHAND_PORT": "the port of HTTP mode; default 3000",
    "LEADHAND_SLOTS": "jobs that one instance works on at once; default 20",
    "LEADHAND_LEASE": "seconds after which another instance takes over; default 15",
    "LEADHAND_SLACK_UNLIMITED": "1: do not keep within Slack's rate limits (benchmarks)",
    "LEADHAND_ADMINS": "Slack ids of people who may trace, cancel and release any job, with commas",
    "LEADHAND_OPERATION": "where /healthz, /readyz and /metrics are, host:port, or off; default 127.0.0.1:9464",
    "LEADHAND_LOG": "text, or json for one object a line; default text",
    "LEADHAND_REHEARSAL_PACE": "seconds that a call of the rehearsal model takes; default 0",
    "BRAVE_API_KEY": "search the web with Brave",
    "TAVILY_API_KEY": "search the web with Tavily",
}
"""Every environment variable that Leadhand reads, and what it is for."""


def read_settings(env: Mapping[str, str] | None = None) -> Settings:
    """The settings of an environment (this process's by default). Raises SettingsError for a bad value."""
    env = dict(os.environ if env is None else env)
    return Settings(
        env=env,
        bot_token=env.get("SLACK_BOT_TOKEN", ""),
        app_token=env.get("SLACK_APP_TOKEN", ""),
        signing_secret=env.get("SLACK_SIGNING_SECRET", ""),
        slack_api_url=env.get("SLACK_API_URL", "") or Settings.slack_api_url,
        redis_url=env.get("REDIS_URL", ""),
        data=Path(env.get("LEADHAND_DATA", "") or Settings.data).expanduser(),
        crew=env.get("LEADHAND_CREW", "") or Settings.crew,
        port=int(_number(env, "LEADHAND_PORT", Settings.port, low=0, high=65535)),
        slots=int(_number(env, "LEADHAND_SLOTS", Settings.slots, low=1, high=1000)),
        lease=_number(env, "LEADHAND_LEASE", Settings.lease, low=1, high=600),
        slack_unlimited=env.get("LEADHAND_SLACK_UNLIMITED", "") == "1",
        admins=frozenset(name.strip() for name in env.get("LEADHAND_ADMINS", "").split(",") if name.strip()),
        log=_form(env.get("LEADHAND_LOG", "") or Settings.log),
        operation=_operation(env.get("LEADHAND_OPERATION", "").strip()),
    )


def _form(text: str) -> Form:
    if (form := FORMS.get(text)) is None:
        raise SettingsError(f"LEADHAND_LOG is {text!r}; it takes text or json.")
    return form


def _operation(text: str) -> Address | None:
    if not text:
        return OPERATION
    if text.lower() == "off":
        return None
    parts = urlsplit(f"//{text}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port is None or parts.netloc != text or "@" in text:
        raise SettingsError(f"LEADHAND_OPERATION is {text!r}; it takes host:port, such as 0.0.0.0:9464, or off.")
    return Address(host, port)


def _number(env: Mapping[str, str], name: str, default: float, *, low: float, high: float) -> float:
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
