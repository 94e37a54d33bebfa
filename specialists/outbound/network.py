"""Reads from the environment how this machine reaches the network: the proxies and certificate authorities.

All outgoing HTTP follows these rules, as libraries differ in the variables that they read and in what an entry of
`NO_PROXY` covers. Passwords in `~/.netrc` are not used.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from functools import cache, lru_cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
NO_PROXY = "NO_PROXY"
CA_FILE, CA_FOLDER = "SSL_CERT_FILE", "SSL_CERT_DIR"
PROXY_RESOLVES_SETTING = "LEADHAND_PROXY_RESOLVES"
_PROXY_SPELLINGS = tuple(spelling for name in (*PROXY_VARIABLES, NO_PROXY) for spelling in (name.lower(), name))
NETWORK_VARIABLES = (*_PROXY_SPELLINGS, CA_FILE, CA_FOLDER)
"""The names of all variables that say how the network is reached."""
_PROXY_BY_SCHEME = {"https": "HTTPS_PROXY", "wss": "HTTPS_PROXY", "http": "HTTP_PROXY", "ws": "HTTP_PROXY"}
_DEFAULT_PORTS = {"https": 443, "wss": 443, "http": 80, "ws": 80}


class NetworkSettingError(ValueError):
    """A variable of the environment has an unusable value. The text names it and says what it takes."""


def find_proxy(url: str, env: Mapping[str, str] = os.environ) -> str | None:
    """Return the address of the proxy for a URL, or None if it is reached directly, as loopback always is.

    Raises NetworkSettingError if the proxy's variable has an unusable value.
    """
    parts = urlsplit(url)
    variable = _PROXY_BY_SCHEME.get(parts.scheme)
    proxy_address = variable and (_read_variable(variable, env) or _read_variable("ALL_PROXY", env))
    if not variable or not proxy_address or not parts.hostname:
        return None
    if _is_exempt(parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme], _read_variable(NO_PROXY, env)):
        return None
    return _parse_proxy_address(proxy_address, variable if _read_variable(variable, env) else "ALL_PROXY")


def make_tls_context() -> ssl.SSLContext:
    """Return the TLS context for all connections.

    Its authorities are those of `SSL_CERT_FILE` and `SSL_CERT_DIR`, otherwise the system's.
    """
    return _make_cached_context(os.environ.get(CA_FILE, ""), os.environ.get(CA_FOLDER, ""))


def read_network_variables(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the network variables that are set, for a program that should reach the network as we do."""
    return {name: env[name] for name in NETWORK_VARIABLES if env.get(name)}


def make_git_variables(url: str, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables with which git reaches a URL as we do. Raises NetworkSettingError."""
    proxy = find_proxy(url, env)
    git_variables = {f"{scheme}_proxy": proxy for scheme in ("http", "https") if proxy}
    for name, our_name in (("GIT_SSL_CAINFO", CA_FILE), ("GIT_SSL_CAPATH", CA_FOLDER)):
        if value := env.get(our_name) or env.get(name):
            git_variables[name] = value
    return git_variables


def find_setting_fault(env: Mapping[str, str]) -> str:
    """Return what is wrong with the proxy and certificate variables, as a sentence; "" if nothing is."""
    try:
        for name in PROXY_VARIABLES:
            if value := _read_variable(name, env):
                _parse_proxy_address(value, name)
    except NetworkSettingError as error:
        return str(error)
    if (file := env.get(CA_FILE)) and (fault := _find_file_fault(Path(file))):
        return f"{CA_FILE} is {file}: {fault}. It takes the file of your certificate authorities, in PEM."
    if (folder := env.get(CA_FOLDER)) and not any(Path(one).is_dir() for one in folder.split(os.pathsep)):
        return f"{CA_FOLDER} is {folder}: there is no such folder."
    if env.get(PROXY_RESOLVES_SETTING, "").strip().lower() not in {"", "on", "off"}:
        return f"{PROXY_RESOLVES_SETTING} is {env[PROXY_RESOLVES_SETTING]!r}; it takes on or off."
    return ""


def read_proxy_passwords(env: Mapping[str, str]) -> set[str]:
    """Return the passwords in the proxies' addresses, percent-encoded as in the environment."""
    passwords = set()
    for name in PROXY_VARIABLES:
        try:
            passwords.add(urlsplit(_add_scheme(_read_variable(name, env))).password or "")
        except ValueError:
            continue
    return passwords - {""}


def may_proxy_resolve(env: Mapping[str, str] = os.environ) -> bool:
    """Return True if the operator lets the proxy look up names that this machine cannot look up."""
    return env.get(PROXY_RESOLVES_SETTING, "").strip().lower() == "on"


def is_loopback(host: str) -> bool:
    """Return True for `localhost` and loopback addresses. Other names are not looked up."""
    try:
        return host.lower().rstrip(".") == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _read_variable(name: str, env: Mapping[str, str]) -> str:
    """Return the value of a variable, under its lower-case name first, as curl wants it; "" if it is not set."""
    return (env.get(name.lower()) or env.get(name) or "").strip()


def _add_scheme(value: str) -> str:
    return value if "://" in value else f"http://{value}"


@lru_cache(maxsize=16)
def _parse_proxy_address(value: str, name: str) -> str:
    hint = f"{name} takes the address of an HTTP proxy: http://HOST:PORT or http://USER:PASSWORD@HOST:PORT"
    try:
        parts = urlsplit(_add_scheme(value))
        port = parts.port
    except ValueError:
        raise NetworkSettingError(f"{hint}. Percent-encode what is special in the password.") from None
    if parts.scheme not in {"http", "https"}:
        raise NetworkSettingError(f"{hint}; {parts.scheme}:// is not supported.")
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise NetworkSettingError(f"{hint}. Percent-encode what is special in the password.")
    return _rebuild_url(parts, port or _DEFAULT_PORTS[parts.scheme])


def _rebuild_url(parts: SplitResult, port: int) -> str:
    user, at, _ = parts.netloc.rpartition("@")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{user}{at}{host}:{port}"


@lru_cache(maxsize=1_024)
def _is_exempt(host: str, port: int, no_proxy: str) -> bool:
    """Return True for loopback and for hosts that `NO_PROXY` names.

    Its entries are `*`, a host (which includes all hosts below it, with or without a leading dot), an address, or a
    network, each with an optional port.
    """
    if is_loopback(host):
        return True
    return any(_covers_host(entry.strip().lower(), host.lower().rstrip("."), port) for entry in no_proxy.split(","))


def _covers_host(entry: str, host: str, port: int) -> bool:
    if entry in {"", "*"}:
        return entry == "*"
    try:
        return ip_address(host) in ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        pass
    name, colon, port_text = entry.rpartition(":")
    if colon and port_text.isdecimal() and (name.endswith("]") or ":" not in name):
        return int(port_text) == port and _covers_host(name, host, port)
    name = entry.removeprefix("*").lstrip(".").rstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _find_file_fault(file: Path) -> str:
    if not file.is_file():
        return "there is no such file"
    try:
        ssl.create_default_context(cafile=str(file))
    except (ssl.SSLError, OSError) as error:
        return f"it cannot be read ({getattr(error, 'strerror', '') or getattr(error, 'reason', '') or 'no reason'})"
    return ""


@cache
def _make_cached_context(_file: str, _folder: str) -> ssl.SSLContext:
    context = ssl.create_default_context()  # OpenSSL itself reads the two variables
    context.set_alpn_protocols(["http/1.1"])
    return context
