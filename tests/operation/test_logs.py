"""Log lines: their ids, their forms, and what never gets into them."""

import asyncio
import json
import logging
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from bot.jobs.quarantine import UnreadableLog, read_log
from bot.logs import HIDDEN_TEXT, configure, describe_error, get_log_ids, log_context, make_formatter
from bot.settings import LogFormat, SettingsError
from bot.slack.connection import NotConnected
from bot.slack.send.web_calls import SlackRefused
from bot.slack.token_monitor import TokenRefused
from bot.store.redis.redis_store import Store
from bot.store.values import LogEntry, StoreError
from handoff.contracts import Request
from tests.operation.as_before import logging_as_before
from tests.store.kit import fresh_store
from tests.system.test_poison import KEY, Breaking, ingest_request, until_quarantined

TOKENS = (
    "xoxb-12345-67890-abcDEF",
    "xapp-1-A0123-456-abcdef0123",
    "xoxe.xoxp-1-Mi0yLTEyMzQ1",
    "sk-ant-api03-AbC_dEf-012",
    "sk-proj-0123456789abcdef",
    "tvly-0123456789",
    "hunter2-of-the-store",
)
SECRET = "we sell the northern branch"
TEXTS = (
    "Authorization: Bearer {}",
    "redis://default:{}@10.0.0.7:6379/0",
    "url='wss://slack.example/link/?ticket={}&app_id=A1'",
)


def record(message: str, *args: Any, error: BaseException | None = None, **extra: Any) -> logging.LogRecord:
    exc_info = (type(error), error, error.__traceback__) if error else None
    made = logging.LogRecord("bot.jobs.job_runner", logging.WARNING, __file__, 1, message, args, exc_info)
    made.__dict__.update(extra)
    return made


def line(form: LogFormat, *args: Any, secrets: tuple[str, ...] = (), **more: Any) -> str:
    return make_formatter(form, secrets=secrets).format(record(*args, **more))


def make_raised_error(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error):
        return error


async def test_tasks_inherit_what_they_are_about() -> None:
    async def look() -> dict[str, str | int]:
        with log_context(subtask="analysis", attempt=2):
            await asyncio.sleep(0)
            return dict(get_log_ids())

    with log_context(job="J1", request="1.2"):
        first = asyncio.create_task(look())
    with log_context(job="J2"):
        second = asyncio.create_task(look())
    assert await first == {"job": "J1", "request": "1.2", "subtask": "analysis", "attempt": 2}
    assert await second == {"job": "J2", "subtask": "analysis", "attempt": 2}
    assert get_log_ids() == {}


def test_a_line_as_json() -> None:
    with log_context(instance="i1", job="J1", subtask="analysis", attempt=2, effect="RunSubtask"):
        told = json.loads(line("json", "lost %d\nlines", 3, event="fenced"))
    assert told.pop("time").endswith("Z")
    assert told == {
        "level": "warning",
        "logger": "bot.jobs.job_runner",
        "message": "lost 3\nlines",
        "event": "fenced",
        "instance": "i1",
        "job": "J1",
        "subtask": "analysis",
        "attempt": 2,
        "effect": "RunSubtask",
    }


def test_a_line_as_text() -> None:
    with log_context(instance="i1", job="J1", request="1.2", subtask="analysis", attempt=2, effect="RunSubtask"):
        assert line("text", "lost").endswith("Z WARNING bot.jobs.job_runner [J1 1.2 analysis#2 RunSubtask]: lost")
    assert line("text", "lost").endswith("Z WARNING bot.jobs.job_runner: lost")


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("token", TOKENS)
def test_no_token_gets_out(form: LogFormat, token: str) -> None:
    for text in ("{}", "token={}, and on", *TEXTS):
        said = text.format(token)
        secrets = ("hunter2-of-the-store",)
        for made in (
            line(form, said, secrets=secrets),
            line(form, "it says %s", said, secrets=secrets),
            line(form, "broke", error=make_raised_error(RuntimeError(said)), secrets=secrets),
            line(form, "broke", error=make_raised_error(StoreError(said)), secrets=secrets),
        ):
            assert token not in made
            assert HIDDEN_TEXT in made


@pytest.mark.parametrize("kind", [StoreError, SettingsError, NotConnected, TokenRefused, SlackRefused])
def test_our_own_exceptions_say_what_is_wrong_and_others_only_what_they_are(kind: type[Exception]) -> None:
    made = line("text", "broke", error=make_raised_error(kind("why it is so")))
    assert f"{kind.__name__}: " in made
    assert "why it is so" in made
    assert "why it is so" not in line("text", "broke", error=make_raised_error(ValueError("why it is so")))


@pytest.mark.parametrize("form", ["text", "json"])
def test_addresses_keep_what_opens_nothing(form: LogFormat) -> None:
    made = line(form, "redis://default:pa55@10.0.0.7:6379/0, https://slack.com/api/, unix:///run/a:b@c.sock, 12:30")
    assert "10.0.0.7:6379/0, https://slack.com/api/, unix:///run/a:b@c.sock, 12:30" in made
    assert "pa55" not in made
    assert "default" not in made


def test_an_exception_tells_where_and_not_what_it_quotes() -> None:
    def parse() -> None:
        try:
            json.loads('{"words": a secret}')
        except ValueError as error:
            raise KeyError("a secret") from error  # what it says is not taken over

    try:
        parse()
    except KeyError:
        info = sys.exc_info()
    made = line("text", "broke", error=info[1])
    assert "JSONDecodeError\nwhich led to\n" in made
    assert made.endswith("KeyError")
    assert "in parse" in made
    assert "a secret}')" not in describe_error(info[1] or KeyError())
    assert describe_error(RuntimeError("no loop")) == "RuntimeError: no loop"
    assert describe_error(FileNotFoundError(2, "No such file", "/home/ana/secret")) == "FileNotFoundError: No such file"
    assert describe_error(StoreError("It is away.")) == "StoreError: It is away."


def test_libraries_stay_quiet_below_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_as_before():
        for verbose, seen in (
            (False, {"info", "warning", "lib-warning"}),
            (True, {"debug", "info", "warning", "lib-warning"}),
        ):
            configure("json", verbose=verbose)
            for level in (logging.DEBUG, logging.INFO, logging.WARNING):
                name = logging.getLevelName(level).lower()
                logging.getLogger("bot.jobs.job_runner").log(level, name)
                logging.getLogger("slack_sdk.web").log(level, "lib-%s", name)
            lines = capsys.readouterr().err.splitlines()
            assert {json.loads(each)["message"] for each in lines} == seen
            assert len(lines) == len(seen), "set up again, it still writes once"


def quoting() -> ValidationError:
    """What reading an event raises: it quotes the event."""
    try:
        Request.model_validate({"id": "100.1", "user": "U1", "text": SECRET, "at": SECRET})
    except ValidationError as error:
        return error
    raise AssertionError("it is valid")


@pytest.mark.parametrize("form", ["text", "json"])
async def test_no_words_of_an_event_that_cannot_be_read_get_out(
    form: LogFormat, caplog: pytest.LogCaptureFixture, server_url: str, store: Store
) -> None:
    caplog.set_level("DEBUG")
    assert SECRET in str(quoting())
    line = json.dumps({"type": "RequestAdded", "v": 1, "at": SECRET, "request": SECRET})
    with pytest.raises(UnreadableLog, match="event 1 of its log"):
        read_log([LogEntry(1, line)])
    await ingest_request(store)
    await store.jobs.ingest(KEY, line, dedupe=())
    await until_quarantined(store, Breaking(RuntimeError()))
    broken = await fresh_store(server_url)
    await ingest_request(broken)
    await until_quarantined(broken, Breaking(quoting()))
    await broken.close()
    lines = [make_formatter(form).format(record) for record in caplog.records]
    assert [each for each in lines if "its work broke" in each]
    assert [each for each in lines if "cannot be folded" in each]
    assert [each for each in lines if "cannot be read" in each]
    assert not [each for each in lines if SECRET in each]
