"""Which proxy an address goes over, and what is wrong with the variables that say so."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.settings import SettingsError, read_settings
from specialists.outbound.network import find_proxy, find_setting_fault, make_git_variables, read_network_variables

PROXY = "http://proxy.acme.test:3128"
ENV = {"HTTPS_PROXY": PROXY, "HTTP_PROXY": "http://plain.acme.test:8080"}
LABELS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8)
NAMES = st.lists(LABELS, min_size=2, max_size=4).map(lambda parts: ".".join((*parts, "test")))


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://slack.com/api/", PROXY),
        ("wss://wss.slack.com/link", PROXY),
        ("http://collector.acme.test:4318/v1/traces", "http://plain.acme.test:8080"),
        ("http://127.0.0.1:11434/api/ps", None),
        ("http://localhost:8000", None),
        ("https://[::1]:8443/", None),
        ("http://127.9.9.9/", None),
        ("redis://store.acme.test:6379", None),
    ],
)
def test_each_scheme_has_its_proxy_and_this_machine_has_none(url: str, proxy: str | None) -> None:
    assert find_proxy(url, ENV) == proxy


@pytest.mark.parametrize(
    ("proxy_text", "proxy_url"),
    [
        ("proxy.acme.test:3128", PROXY),
        ("http://proxy.acme.test:3128/", PROXY),
        ("http://proxy.acme.test", "http://proxy.acme.test:80"),
        ("https://proxy.acme.test", "https://proxy.acme.test:443"),
        ("http://bot:p%40ss@proxy.acme.test:3128", "http://bot:p%40ss@proxy.acme.test:3128"),
        ("http://[2001:db8::1]:3128", "http://[2001:db8::1]:3128"),
        ("", None),
    ],
)
def test_a_proxy_is_read_as_people_write_it(proxy_text: str, proxy_url: str | None) -> None:
    assert find_proxy("https://slack.com", {"HTTPS_PROXY": proxy_text}) == proxy_url
    assert find_proxy("https://slack.com", {"ALL_PROXY": proxy_text}) == proxy_url
    small = {"https_proxy": proxy_text, "HTTPS_PROXY": proxy_text and "http://not-this-one:1"}
    assert find_proxy("https://slack.com", small) == proxy_url


@given(NAMES, st.sampled_from(["{}", ".{}", "*.{}", " {} ", "{}:443", "elsewhere.invalid,{}"]))
def test_a_name_in_no_proxy_covers_itself_and_what_is_below_it_alone(name: str, form: str) -> None:
    env = {**ENV, "NO_PROXY": form.format(name)}
    assert find_proxy(f"https://{name}/a", env) is None
    assert find_proxy(f"https://below.{name.upper()}/a", env) is None
    assert find_proxy(f"https://not{name}/a", env) == PROXY
    assert find_proxy(f"https://{name}.example/a", env) == PROXY


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6), st.integers(0, 32))
def test_a_network_in_no_proxy_covers_its_addresses_alone(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, size: int
) -> None:
    network = ipaddress.ip_network((address, size), strict=False)
    inside, outside = network[-1], ipaddress.ip_address(f"{'198.51.100.7' if address.version == 4 else '2001:db8::7'}")
    env = {**ENV, "NO_PROXY": f"intra.test, {network}"}
    shown = f"[{inside}]" if inside.version == 6 else str(inside)
    assert find_proxy(f"https://{shown}/", env) is None
    if outside not in network:
        shown = f"[{outside}]" if outside.version == 6 else str(outside)
        assert find_proxy(f"https://{shown}/", env) == PROXY


def test_a_port_in_no_proxy_covers_that_port_alone_and_a_star_covers_all() -> None:
    env = {**ENV, "NO_PROXY": "git.acme.test:8443"}
    assert find_proxy("https://git.acme.test:8443/", env) is None
    assert find_proxy("https://git.acme.test/", env) == PROXY
    assert find_proxy("https://slack.com/", {**ENV, "NO_PROXY": "*"}) is None


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"ALL_PROXY": "socks5://127.0.0.1:1080"}, "ALL_PROXY takes the address of an HTTP proxy.*socks5:// is not"),
        ({"HTTPS_PROXY": "http://bot:S3cret#9@proxy:3128"}, "HTTPS_PROXY takes.*Percent-encode"),
        ({"https_proxy": "http://bot:S3cret/9@proxy:3128"}, "HTTPS_PROXY takes.*Percent-encode"),
        ({"HTTP_PROXY": "http://:3128"}, "HTTP_PROXY takes"),
        ({"SSL_CERT_FILE": "/nowhere/ca.pem"}, "SSL_CERT_FILE is /nowhere/ca.pem: there is no such file"),
        ({"SSL_CERT_FILE": __file__}, "SSL_CERT_FILE is .*: it cannot be read.*in PEM"),
        ({"SSL_CERT_DIR": "/nowhere"}, "SSL_CERT_DIR is /nowhere: there is no such folder"),
        ({"LEADHAND_PROXY_RESOLVES": "maybe"}, "LEADHAND_PROXY_RESOLVES is 'maybe'; it takes on or off"),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_start_without_the_password(env: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        read_settings(env)
    assert "S3cret" not in str(caught.value)


def test_nothing_is_wrong_with_what_can_be_used(tmp_path: Path) -> None:
    assert find_setting_fault({**ENV, "NO_PROXY": "localhost,,.corp,[::1]", "SSL_CERT_DIR": str(tmp_path)}) == ""
    assert read_settings({"HTTPS_PROXY": "http://bot:p%40ss@proxy:1"}).secrets >= {"p%40ss", "p@ss"}


def test_programs_get_the_same_way_out() -> None:
    env = {**ENV, "no_proxy": "intra.test", "SSL_CERT_FILE": "/ca.pem", "SLACK_BOT_TOKEN": "xoxb-1"}
    assert read_network_variables(env) == {key: value for key, value in env.items() if key != "SLACK_BOT_TOKEN"}
    found = make_git_variables("https://git.acme.test/shop.git", env)
    assert found == {"http_proxy": PROXY, "https_proxy": PROXY, "GIT_SSL_CAINFO": "/ca.pem"}
    assert make_git_variables("https://git.intra.test/shop.git", env) == {"GIT_SSL_CAINFO": "/ca.pem"}
