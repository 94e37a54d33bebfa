"""Reads the databases that the operator names in `LEADHAND_DATABASES`, each with its kind and address."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import quote

from specialists.service_url import BadUrl, find_secrets, parse_service_url

DATABASES_SETTING = "LEADHAND_DATABASES"
ANY_USER_SETTING = "LEADHAND_DATABASES_ANY_USER"
"""The setting that names the databases that are queried even if their user may do more than read tables."""
Kind = Literal["postgresql", "mysql", "sqlite"]
_ENTRY_START = re.compile(r"(?:^|[,\n])\s*([A-Za-z][\w-]{0,40})\s*=\s*")
_KINDS_BY_SCHEME: dict[str, Kind] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}
_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}


@dataclass(frozen=True, slots=True)
class Database:
    """A database that the operator names.

    `url` is its address for SQLAlchemy, with the password; `display_address` is its address without user and password.
    `allows_any_user`: it is queried even if its user may do more than read tables.
    """

    name: str
    kind: Kind
    url: str = field(repr=False)
    display_address: str
    allows_any_user: bool = False

    def redact_secrets(self, text: str) -> str:
        """Return a driver's message with `***` in place of each password or token of `url`."""
        for secret in sorted(find_secrets(self.url), key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def read_databases(text: str, any_user_names: str = "") -> tuple[dict[str, Database], tuple[str, ...]]:
    """Read the settings. Return the databases by name, and one line for each wrong entry.

    `any_user_names` has the names, with commas, of databases that are queried whatever rights their user has.
    """
    databases: dict[str, Database] = {}
    faults = []
    parts = _ENTRY_START.split(text.strip())
    if parts[0].strip():
        faults.append(
            f"{DATABASES_SETTING} takes name=address, with commas or new lines, and begins with something else"
        )
    for number, (name, address) in enumerate(zip(parts[1::2], parts[2::2], strict=True), 1):
        database = _read_entry(number, name, address.strip().rstrip(","))
        if isinstance(database, str):
            faults.append(database)
        elif name in databases:
            faults.append(f"{DATABASES_SETTING} names {name} twice; rename one")
        else:
            databases[name] = database
    for name in filter(None, re.split(r"[,\s]+", any_user_names)):
        if name in databases:
            databases[name] = replace(databases[name], allows_any_user=True)
        else:
            faults.append(f"{ANY_USER_SETTING} names {name[:40]!r}, which {DATABASES_SETTING} does not")
    return databases, tuple(faults)


def _read_entry(number: int, name: str, address: str) -> Database | str:
    """Return the database of an entry, or a fault. The fault quotes no address, since that may hold a password."""
    scheme, _, rest = address.partition("://")
    kind = _KINDS_BY_SCHEME.get(scheme.lower().partition("+")[0])
    if kind is None or not rest:
        return (
            f"{DATABASES_SETTING}: the address of its entry {number} does not begin with postgresql://, mysql:// or "
            "sqlite:///path; write a comma in a password as %2C"
        )
    if kind == "sqlite":
        path = rest.removeprefix("/")  # sqlite:////absolute and sqlite:///relative, as everywhere
        return Database(name, kind, f"sqlite:///file:{quote(path)}?mode=ro&uri=true", path)
    try:
        parts = parse_service_url(f"{kind}://{rest}", _DRIVERS)
    except BadUrl as error:
        return f"{DATABASES_SETTING}: the address of {name} cannot be used: {error}"
    host = parts.host or "localhost"
    display_address = f"{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
    login = f"{quote(parts.user, safe='')}:{quote(parts.password, safe='')}@" if parts.user or parts.password else ""
    return Database(name, kind, f"{_DRIVERS[kind]}://{login}{rest.rpartition('@')[2]}", display_address)
