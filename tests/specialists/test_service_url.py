"""Addresses of services: what they say, and that a secret in one is never quoted."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.logs import hide_secrets
from bot.operation.trace_export import NoCollector, make_sender
from bot.settings import SettingsError, find_secret_values, read_settings
from bot.store.address import parse_url
from bot.store.values import StoreError
from specialists.service_url import BadUrl, find_secrets, parse_service_url
from specialists.tools.code import named_repositories
from specialists.tools.databases import named_databases
from specialists.tools.mail.smtp_server import read_server
from specialists.tools.tickets.ticket_place import read_ticket_place

SIGNS = "#/?@:%[]&=+,;!$ \t\\'\"<>^`{|}~é中\u2100\x7f"
PIECE = st.text(string.ascii_letters + string.digits, min_size=4, max_size=12).map("zq7".__add__)
"""No word of ours begins so."""


def secrets_with(signs: str) -> st.SearchStrategy[tuple[str, list[str]]]:
    """A secret as somebody pastes it, and the pieces of it between the signs, which must never be seen."""
    parts = st.lists(st.tuples(PIECE, st.sampled_from(signs)), min_size=1, max_size=3)
    return parts.map(lambda found: ("".join(piece + sign for piece, sign in found), [piece for piece, _ in found]))


PLACES = (
    "{s}://user:{x}@host:7/0",
    "{s}://{x}@host/0",
    "{s}://user:{x}",
    "{s}://{x}",
    "{x}",
    "{s}:{x}@host",
    "{x}://host",
)
OPTIONS = (
    "{s}://host/0?password={x}",
    "{s}://host/0?{x}=1",
    "{s}://host/0#{x}",
    "{s}://host/{x}@b",
    "{s}://host:{x}/0",
)


def _redis(env: Mapping[str, str]) -> str:
    try:
        parse_url(env["REDIS_URL"])
    except StoreError as error:
        return str(error)
    return ""


def _settings(env: Mapping[str, str]) -> str:
    try:
        read_settings(env)
    except SettingsError as error:
        return str(error)
    return ""


def _collector(env: Mapping[str, str]) -> str:
    try:
        make_sender(env)
    except NoCollector as error:
        return str(error)
    return ""


READERS: Mapping[str, tuple[str, Callable[[Mapping[str, str]], str]]] = {
    "REDIS_URL": ("redis", _redis),
    "REDIS_URL ": ("redis+sentinel", _redis),
    "LEADHAND_SMTP": ("smtp", lambda env: read_server({**env, "LEADHAND_MAIL_FROM": "a@b.example"}).fault),
    "LEADHAND_DATABASES": ("postgresql", lambda env: str(named_databases.read_databases(env["LEADHAND_DATABASES"])[1])),
    "LEADHAND_REPOSITORIES": ("https", lambda env: str(named_repositories.read_repositories(env).faults)),
    "SLACK_API_URL": ("https", _settings),
    "OPENAI_BASE_URL": ("https", _settings),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("https", _collector),
    "GITLAB_URL": (
        "http",
        lambda env: read_ticket_place({**env, "LEADHAND_TICKETS": "gitlab:a/b", "GITLAB_TOKEN": "t"}).fault,
    ),
}


@settings(deadline=None, max_examples=60)
@given(setting=st.sampled_from(list(READERS)), form=st.sampled_from(PLACES + OPTIONS), secret=secrets_with(SIGNS))
@example("REDIS_URL", PLACES[0], ("S3cretLongPart#9", ["S3cretLongPart"]))
@example("REDIS_URL", PLACES[0], ("123456/7", ["123456"]))
@example("GITLAB_URL", PLACES[0], ("000000[", ["000000"]))
@example("LEADHAND_DATABASES", PLACES[0], ("zq70000,zq70000=", ["zq70000", "zq70000"]))
@example("GITLAB_URL", "{s}://{x}@host/0", ("zq70000#", ["zq70000"]))
@example("OPENAI_BASE_URL", PLACES[1], ("000000\u2100", ["000000"]))
def test_no_fault_quotes_a_secret(setting: str, form: str, secret: tuple[str, list[str]]) -> None:
    scheme, read = READERS[setting]
    pasted, pieces = secret
    address = form.format(s=scheme, x=pasted)
    value = f"one={address}" if setting in {"LEADHAND_DATABASES", "LEADHAND_REPOSITORIES"} else address
    told = read({setting.strip(): value})
    assert not [piece for piece in pieces if piece.lower() in told.lower()], told


@settings(deadline=None)
@given(secret=secrets_with("#/?@:"))
def test_what_a_library_quotes_of_an_address_is_hidden(secret: tuple[str, list[str]]) -> None:
    pasted, pieces = secret
    secrets = find_secret_values({"ANY_PROXY": f"http://user:{pasted}@host:7/0"})
    for quoted in (pasted, *pieces, pasted.partition("#")[0], quote(pasted)):
        told = hide_secrets(f"not a port: {quoted!r}", secrets)
        assert not [piece for piece in pieces if piece in told], told


@settings(deadline=None)
@given(user=st.text(max_size=12), password=st.text(max_size=12))
def test_an_encoded_login_is_read_whole(user: str, password: str) -> None:
    try:
        login = f"{quote(user, safe='')}:{quote(password, safe='')}"
    except UnicodeEncodeError:  # half a surrogate pair, which no address can hold
        return
    found = parse_service_url(f"redis://{login}@Host.example:6380/3?a=b%20c", ("redis",))
    assert (found.user, found.password, found.hosts) == (user, password, (("host.example", 6380),))
    assert (found.path, found.options) == ("/3", {"a": "b c"})
    assert found.redacted_address == "redis://host.example:6380/3"


@pytest.mark.parametrize("sign", "#/?%")
def test_a_sign_that_was_not_encoded_is_explained(sign: str) -> None:
    with pytest.raises(BadUrl, match=r"%23 %2F %3F %40 %3A %25"):
        parse_service_url(f"redis://user:before{sign}zz@host", ("redis",))


def test_secrets_are_found_whole_decoded_and_in_pieces() -> None:
    assert find_secrets("x=https://me:p%40ss#word@host, y=https://token@host?api_key=abc&page=2") >= {
        *("p%40ss#word", "p@ss#word", "p%40ss", "word", "token", "abc"),
    }
    assert find_secrets("http://host:8080/path?page=2") == frozenset()
