"""What turns a tag into a release says the same as the tree: versions, notes, locks, and the wheel's other way."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.command_line.command import ROOT

SCRIPT = ROOT / ".ci" / "release.py"
CHECK = (ROOT / ".ci" / "release-check").read_text(encoding="utf-8")
IMAGE = "ghcr.io/acme/leadhand@sha256:" + "a" * 64
CHANGELOG = """# Changelog

## [Unreleased]

## [1.1.0] - 2027-02-01

### Added
- The second.

## [1.0.0]

- The first.
"""


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = load_script()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the files that a release looks at."""
    for name in ("pyproject.toml", "CHANGELOG.md", "docs/upgrading.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / release.CHART, tmp_path / release.CHART)
    return tmp_path


def test_the_versions_of_the_tree_agree() -> None:
    assert release.version_faults(ROOT) == []


def test_a_version_that_is_raised_in_one_place_alone_is_noticed(tree: Path) -> None:
    project = tree / "pyproject.toml"
    project.write_text(re.sub(r'^version = ".*"$', 'version = "9.0.0rc1"', project.read_text(), flags=re.MULTILINE))
    faults = "\n".join(release.version_faults(tree))
    assert "`version: 9.0.0-rc.1`" in faults
    assert '`appVersion: "9.0.0rc1"`' in faults
    assert "`image: leadhand:9.0.0rc1`" in faults


def test_a_tag_needs_its_version_its_notes_and_its_way_up(tree: Path) -> None:
    version = release.package_version(tree)
    for name in ("CHANGELOG.md", "docs/upgrading.md"):
        page = tree / name
        page.write_text(page.read_text().replace("## [Unreleased]", f"## [{version}] - 2027-01-01"))
    assert release.tag_faults(tree, f"v{version}") == []
    assert [fault.partition(":")[0] for fault in release.tag_faults(tree, "v9.9.9")] == [
        "v9.9.9",
        "CHANGELOG.md",
        "docs/upgrading.md",
    ]


@pytest.mark.parametrize("tag", ["1.0.0", "v1.0", "v1.0.0-rc1", "v1.0.0\nv2", "vx"])
def test_other_tags_are_no_releases(tag: str) -> None:
    with pytest.raises(release.NotReady, match=r"v1\.0\.0"):
        release.version_of(tag)


def test_notes_are_the_section_of_the_version_and_nothing_else() -> None:
    assert release.release_notes(CHANGELOG, "1.1.0") == "### Added\n- The second."
    assert release.release_notes(CHANGELOG, "1.0.0") == "- The first."
    for missing in ("1.0", "1.0.1", "Unreleased", "1x1.0"):
        with pytest.raises(release.NotReady):
            release.release_notes(CHANGELOG, missing)


def test_the_chart_of_a_release_names_its_image_by_digest(tmp_path: Path) -> None:
    release.write_chart(ROOT / release.CHART, IMAGE, tmp_path / "chart")
    before, after = (
        yaml.safe_load((folder / "values.yaml").read_text()) for folder in (ROOT / release.CHART, tmp_path / "chart")
    )
    assert after == before | {"image": IMAGE}
    with pytest.raises(release.NotReady, match="digest"):
        release.write_chart(ROOT / release.CHART, "ghcr.io/acme/leadhand:1.0.0", tmp_path / "other")


def test_the_command_says_what_is_wrong_and_fails() -> None:
    ended = subprocess.run([sys.executable, SCRIPT, "notes", "v0.0.9"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "## [0.0.9]" in ended.stderr
    assert subprocess.run([sys.executable, SCRIPT, "check"], capture_output=True, check=False).returncode == 0
    assert subprocess.run([sys.executable, SCRIPT], capture_output=True, check=False).returncode == 2


def test_the_check_uses_what_its_lock_holds() -> None:
    lock = (ROOT / ".ci" / "release.lock").read_text(encoding="utf-8")
    named = set((ROOT / ".ci" / "release.in").read_text(encoding="utf-8").split())
    assert {name for name in named if not re.search(rf"^{name}==", lock, re.MULTILINE)} == set()
    used = set(re.findall(r"\btool ([\w-]+) ", CHECK)) | set(re.findall(r"\.venv/release/bin/([\w-]+)\"", CHECK))
    assert used == named
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--into $(VENV)/release .ci/release.lock" in makefile
    assert "@bash .ci/release-check\n" in makefile
