"""The logs for operators: one entry for each record, with the ids of its job, without contents or tokens.

The ids come from a context variable, which tasks inherit. Code that starts a
piece of work names its ids with `log_context`, so the code that it calls need
not pass them on.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TextIO

from bot.settings import LogFormat
from handoff.access.audit_entry import AuditEntry

LogIds = Mapping[str, str | int]

OWN_PACKAGES = ("bot", "specialists", "handoff")
"""Our own packages. Libraries' loggers stay at WARNING: below it some write whole requests and replies."""
HIDDEN_TEXT = "[hidden]"
_MIN_SECRET_CHARS = 4
_TOKEN_PATTERN = re.compile(
    r"\b(?:xox[a-z]-|xapp-|xoxe\.|sk-|tvly-|BSA)[\w-]{4,}"  # Slack, model providers, search services
    r"|(?<=bearer )[\w.~+/=-]{4,}"
    r"|(?<=ticket=)[\w.%-]+"  # of a Socket Mode address
    r"|(?<=://)[^\s/@]*:[^\s/@]+(?=@)",  # user:password of an address
    re.IGNORECASE,
)
_CODE_ERRORS = (AttributeError, ImportError, NameError, NotImplementedError, RuntimeError, TypeError)
"""Exceptions whose text is about code. The text of any other exception may quote what people or models wrote."""
_SAFE_ERRORS = frozenset({"StoreError", "SettingsError", "NotConnected", "TokenRefused", "SlackRefused"})
"""Our own exceptions that never quote contents."""

_ids: ContextVar[LogIds] = ContextVar("about", default=MappingProxyType({}))


_audit = logging.getLogger("bot.audit")
"""A separate logger, so that audit lines can be sent elsewhere, such as to a SIEM."""


def log_audit_entry(entry: AuditEntry) -> None:
    """Log an audit entry as one line. It has ids, names such as those of tools and hosts, and fixed words."""
    fields = entry.model_dump(exclude_defaults=True)
    words = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())
    _audit.info("%s", words, extra={"deed": fields.items()})


@contextlib.contextmanager
def log_context(
    *, instance: str = "", job: str = "", request: str = "", subtask: str = "", attempt: int = 0, effect: str = ""
) -> Iterator[None]:
    """Add these ids to every record made inside the `with` block, and by tasks that are started there."""
    new_ids: dict[str, str | int] = {
        "instance": instance,
        "job": job,
        "request": request,
        "subtask": subtask,
        "attempt": attempt,
        "effect": effect,
    }
    token = _ids.set({**_ids.get(), **{name: value for name, value in new_ids.items() if value}})
    try:
        yield
    finally:
        _ids.reset(token)


def get_log_ids() -> LogIds:
    """Return the ids that `log_context` set for the current task."""
    return _ids.get()


def configure(
    form: LogFormat, *, verbose: bool = False, level: int = logging.INFO, secrets: Collection[str] = ()
) -> None:
    """Set up logging to standard error. A second call replaces the first setup.

    Args:
        form: `text`, or `json` for one object a line.
        verbose: Log our own records from DEBUG on, whatever `level` says.
        level: The lowest level of our own records.
        secrets: Texts to hide, in addition to everything that looks like a token.
    """
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _StderrHandler)]:
        root.removeHandler(handler)
    handler = _StderrHandler()
    handler.setFormatter(make_formatter(form, secrets=secrets))
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in OWN_PACKAGES:
        logging.getLogger(name).setLevel(logging.DEBUG if verbose else level)


def make_formatter(form: LogFormat, *, secrets: Collection[str] = ()) -> logging.Formatter:
    """Return the formatter for the log form `text` or `json`."""
    return JsonFormatter(secrets) if form == "json" else TextFormatter(secrets)


def hide_secrets(text: str, secrets: Collection[str]) -> str:
    """Replace every token in a text, and every secret of at least four characters, with `[hidden]`."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _MIN_SECRET_CHARS:
            text = text.replace(secret, HIDDEN_TEXT)
    return _TOKEN_PATTERN.sub(HIDDEN_TEXT, text)


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the current `sys.stderr`, even if it was replaced after the handler was made."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _MaskedFormatter(logging.Formatter):
    """Hides tokens, and the text of exceptions that may quote contents, whatever a record holds."""

    def __init__(self, secrets: Collection[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def hide_secrets(self, text: str) -> str:
        """Replace every secret and token in the text."""
        return hide_secrets(text, self._secrets)

    def render_exception(self, record: logging.LogRecord) -> str:
        """Return the traceback and the description of a record's exception, without secrets; "" if it has none."""
        error = record.exc_info[1] if record.exc_info else None
        return self.hide_secrets(_render_traceback(error)) if error is not None else ""


class TextFormatter(_MaskedFormatter):
    """Renders lines such as `2026-11-21T14:50:25.123Z WARNING bot.jobs.job_runner [J1 r1 analyst#2]: message`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, followed by the traceback if the record has an exception."""
        error = self.render_exception(record)
        head = f"{_format_time(record)} {record.levelname} {record.name}{_render_ids(get_log_ids())}"
        line = f"{head}: {self.hide_secrets(record.getMessage())}"
        return f"{line}\n{error}" if error else line


class JsonFormatter(_MaskedFormatter):
    """Renders records as JSON objects: time, level, logger, message, and event, error, audit and ids if any."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {
            "time": _format_time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.hide_secrets(record.getMessage()),
        }
        if event := getattr(record, "event", ""):
            line["event"] = str(event)
        line |= get_log_ids()
        if audit_fields := getattr(record, "deed", None):
            line["audit"] = {
                name: self.hide_secrets(value) if isinstance(value, str) else value for name, value in audit_fields
            }
        if error := self.render_exception(record):
            line["error"] = error
        return json.dumps(line, ensure_ascii=False)


def describe_error(error: BaseException) -> str:
    """Describe an exception for a log: its name, and its text if that cannot quote contents."""
    name = type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        return f"{name}: {error.strerror}"  # its whole text may name a file
    is_safe = type(error) in {*_CODE_ERRORS, ConnectionError, TimeoutError}  # a subclass may say anything
    is_safe = is_safe or any(base.__name__ in _SAFE_ERRORS for base in type(error).__mro__)
    return f"{name}: {error}" if is_safe and str(error) else name


def _render_traceback(error: BaseException) -> str:
    """Return an exception's traceback, innermost call last, preceded by the traceback of its cause."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = f"{_render_traceback(cause)}\nwhich led to\n" if cause is not None else ""
    return f"{before}{''.join(traceback.format_tb(error.__traceback__))}{describe_error(error)}"


def _format_time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _render_ids(ids: LogIds) -> str:
    """Render the ids briefly, without that of the instance: a terminal shows only one instance."""
    subtask = f"{ids['subtask']}#{ids['attempt']}" if "attempt" in ids else ids.get("subtask", "")
    words = [str(word) for word in (ids.get("job"), ids.get("request"), subtask, ids.get("effect")) if word]
    return f" [{' '.join(words)}]" if words else ""
