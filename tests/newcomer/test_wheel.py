"""The wheel holds all that `leadhand try` needs: for people who do not clone."""

import os
import signal
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.settings import VARIABLES
from tests.newcomer.conftest import ADDRESS, ROOT

PACKAGES = ("bot", "specialists", "handoff")
LEFT_OUT = {"__pycache__"}


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installer would unpack: built offline, by the build tool of the lock."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def elsewhere(site_folder: Path, tmp_path: Path) -> dict[str, str]:
    """An environment in which the wheel's packages come before those of the checkout."""
    plain = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return {**plain, "PYTHONPATH": str(site_folder), "LEADHAND_DATA": str(tmp_path), "LEADHAND_MODEL": "rehearsal"}


def files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for package in PACKAGES
        for path in (folder / package).rglob("*")
        if path.is_file() and not LEFT_OUT & set(path.parts)
    }


def test_every_file_of_the_packages_is_in_it_and_the_manifest(site_folder: Path) -> None:
    assert files(site_folder) == files(ROOT) | {"bot/manifest.yml"}
    assert (site_folder / "bot/manifest.yml").read_text() == (ROOT / "manifest.yml").read_text()


def test_a_job_is_done_from_the_wheel_alone(site_folder: Path, elsewhere: dict[str, str], tmp_path: Path) -> None:
    sample = site_folder / "specialists" / "samples" / "sales.csv"
    words = ["try", "--ask", "what is the total revenue by region?", "--file", str(sample), "--out", str(tmp_path)]
    ended = subprocess.run(
        [sys.executable, "-m", "bot", *words], cwd=tmp_path, env=elsewhere, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "| South | 483,081 |" in ended.stdout
    assert list(tmp_path.glob("*.png"))


@pytest.fixture
def page(elsewhere: dict[str, str], tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A running `leadhand try`: what it said, and the page's address."""
    command = [sys.executable, "-m", "bot", "try", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, cwd=tmp_path, env=elsewhere, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, f"it ended early: {said}"
            said += line
        found = ADDRESS.search(said)
        assert found, said
        yield said, found[0]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_the_page_is_served_from_the_wheel_alone(site_folder: Path, page: tuple[str, str]) -> None:
    said, address = page
    assert f"attach {site_folder}/specialists/samples/sales.csv" in said
    with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - loopback
        assert "main.js" in answer.read().decode()
