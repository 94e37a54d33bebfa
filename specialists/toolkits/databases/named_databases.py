"""The databases that the operator named: read from `LEADHAND_DATABASES`, each with its kind and address."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

from specialists.service_url import BadUrl, read_url, secrets_in

SETTING = "LEADHAND_DATABASES"
Kind = Literal["postgresql", "mysql", "sqlite"]
_NAMED = re.compile(r"(?:^|[,\n])\s*([A-Za-z][\w-]{0,40})\s*=\s*")
_KINDS: dict[str, Kind] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}
_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}


@dataclass(frozen=True, slots=True)
class Database:
    """A database. `url` is SQLAlchemy's, with the password in it; `where` is its place without."""

    name: str
    kind: Kind
    url: str = field(repr=False)
    where: str

    def without_password(self, text: str) -> str:
        """Take the password out of what a driver said."""
        for one in sorted(secrets_in(self.url), key=len, reverse=True):
            text = text.replace(one, "***")
        return text


def read(text: str) -> tuple[dict[str, Database], tuple[str, ...]]:
    """Read the setting: the databases by name, and a line for each entry that is none."""
    found: dict[str, Database] = {}
    faults = []
    parts = _NAMED.split(text.strip())
    if parts[0].strip():
        faults.append(f"{SETTING} takes name=address, with commas or new lines, and begins with something else")
    for name, address in zip(parts[1::2], parts[2::2], strict=True):
        database = _database(name, address.strip().rstrip(","))
        if isinstance(database, str):
            faults.append(database)
        elif name in found:
            faults.append(f"{SETTING} names {name} twice; rename one")
        else:
            found[name] = database
    return found, tuple(faults)


def _database(name: str, address: str) -> Database | str:
    scheme, _, rest = address.partition("://")
    kind = _KINDS.get(scheme.lower().partition("+")[0])
    if kind is None or not rest:
        return f"{SETTING}: the address of {name} begins with postgresql://, mysql:// or sqlite:///path"
    if kind == "sqlite":
        path = rest.removeprefix("/")  # sqlite:////absolute and sqlite:///relative, as everywhere
        return Database(name, kind, f"sqlite:///file:{quote(path)}?mode=ro&uri=true", path)
    try:
        parts = read_url(f"{kind}://{rest}", _DRIVERS)
    except BadUrl as error:
        return f"{SETTING}: the address of {name} cannot be used: {error}"
    host = parts.host or "localhost"
    where = f"{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
    login = f"{quote(parts.user, safe='')}:{quote(parts.password, safe='')}@" if parts.user or parts.password else ""
    return Database(name, kind, f"{_DRIVERS[kind]}://{login}{rest.rpartition('@')[2]}", where)
