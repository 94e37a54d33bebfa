"""The databases that the operator named: read from `LEADHAND_DATABASES`, each with its kind and address."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

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
        password = urlsplit(self.url).password or ""
        for one in filter(None, {password, unquote(password)}):
            text = text.replace(one, "***")
        return text


def read(text: str) -> tuple[dict[str, Database], tuple[str, ...]]:
    """Read the setting: the databases by name, and a line for each entry that is none."""
    found: dict[str, Database] = {}
    faults = []
    parts = _NAMED.split(text.strip())
    if parts[0].strip():
        faults.append(f"{SETTING} takes name=address, with commas or new lines; it begins with {parts[0][:20]!r}")
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
        return f"{SETTING}: {name} begins with {scheme[:20]!r}; it takes postgresql://, mysql:// or sqlite:///path"
    if kind == "sqlite":
        path = rest.removeprefix("/")  # sqlite:////absolute and sqlite:///relative, as everywhere
        return Database(name, kind, f"sqlite:///file:{quote(path)}?mode=ro&uri=true", path)
    try:
        parts = urlsplit(f"//{rest}")
        host, port = parts.hostname or "localhost", parts.port
    except ValueError:
        return f"{SETTING}: the address of {name} cannot be read; signs in a password are written as %40 and the like"
    where = f"{host}{f':{port}' if port else ''}{parts.path}"
    return Database(name, kind, f"{_DRIVERS[kind]}://{rest}", where)
