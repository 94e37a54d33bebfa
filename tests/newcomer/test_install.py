"""`make install` takes packages from where pip would: a company's mirror, with the company's certificate."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.newcomer import mirror
from tests.newcomer.conftest import ROOT

INSTALL = ROOT / ".ci" / "install.py"
CONFIG_PREFIXES = ("PIP_", "UV_", "SSL_", "REQUESTS_", "CURL_")


@pytest.fixture(scope="module")
def index() -> Iterator[str]:
    with mirror.serving() as address:
        yield address


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment, with the uv of ours beside it."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    uv = shutil.which("uv", path=Path(sys.executable).parent)
    assert uv, "there is no uv beside this Python"
    (folder / "bin" / "uv").symlink_to(uv)
    return folder / "bin" / "python"


def install(python: Path, folder: Path, lock_text: str, settings: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the step of make for a lock of one package, with a pip.conf, and nothing else of this machine's settings."""
    (folder / "pip.conf").write_text(f"[global]\n{settings}", encoding="utf-8")
    (folder / "a.lock").write_text(lock_text, encoding="utf-8")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(CONFIG_PREFIXES)}
    env = {**plain, "HOME": str(folder), "PIP_CONFIG_FILE": str(folder / "pip.conf"), **env}
    return subprocess.run(
        [python, INSTALL, folder / "a.lock"], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def has(python: Path, name: str) -> bool:
    return subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


VARIABLES = {"PIP_INDEX_URL": "{index}/simple", "PIP_CERT": "{ca}"}
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "named_in_pip_conf": ("index-url = {index}/simple\ncert = {ca}\n", {}),
    "variables_beat_the_file": ("index-url = {index}/empty\n", VARIABLES),
    "a_host_to_be_trusted": ("index-url = {index}/simple\ntrusted-host = {host}\n", {}),
    "for_install_alone": ("cert = {ca}\n[install]\nindex-url = {index}/simple\n", {}),
    "the_second_index": ("index-url = {index}/empty\nextra-index-url = {index}/simple\ncert = {ca}\n", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_uv_installs_from_where_pip_would(python: Path, index: str, tmp_path: Path, name: str) -> None:
    settings, env = CASES[name]
    words = {"index": index, "ca": mirror.AUTHORITY, "host": index.removeprefix("https://")}
    filled = {key: value.format(**words) for key, value in env.items()}
    ended = install(python, tmp_path, mirror.lock(name), settings.format(**words), **filled)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    assert has(python, name)


def test_pip_installs_where_uv_cannot(python: Path, index: str, tmp_path: Path) -> None:
    settings = f"index-url = {index}/pip-only\ncert = {mirror.AUTHORITY}\n"
    ended = install(python, tmp_path, mirror.lock("by_pip"), settings)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("uv cannot install from here (")
    assert "by-pip was not found" in ended.stdout
    assert has(python, "by_pip")


def test_nothing_gets_in_that_the_lock_does_not_name(python: Path, index: str, tmp_path: Path) -> None:
    settings = f"index-url = {index}/simple\ncert = {mirror.AUTHORITY}\n"
    ended = install(python, tmp_path, mirror.lock("forged").replace("sha256:", "sha256:0")[:-2] + "\n", settings)
    assert ended.returncode != 0
    assert not has(python, "forged")


def test_make_installs_all_locks_this_way() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"\.ci/install\.py (\S+\.lock)", makefile) == ["requirements.lock", ".ci/dev.lock"]
    assert "-r requirements.lock" not in makefile
