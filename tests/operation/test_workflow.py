"""The workflow tests what the package says it supports, with no more rights than that takes."""

import re
import tomllib
from typing import Any

import yaml

from tests.command_line.command import ROOT
from tests.workspace_page.browser import NAMES

WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STEPS: list[dict[str, Any]] = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def test_every_python_that_is_supported_is_tested() -> None:
    tested = WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"]
    said = [found[1] for each in PROJECT["classifiers"] if (found := re.fullmatch(r".* :: (3\.\d+)", each))]
    assert tested == said
    assert PROJECT["requires-python"] == f">={tested[0]}"


def test_it_may_only_read_and_keeps_no_credentials() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in WORKFLOW["jobs"].values())
    checkouts = [step for step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert "secrets." not in (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


def test_actions_are_githubs_own_and_pinned() -> None:
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in STEPS if "uses" in step)


def test_what_it_runs_exists() -> None:
    runs = [step["run"] for step in STEPS if "run" in step]
    assert runs == [
        "bash .ci/run",
        "make wheel PYTHON=python",
        "make hostile SEED=1 PYTHON=python",
        "bash .ci/advisories",
    ]
    assert all(name in (ROOT / ".ci" / "run").read_text(encoding="utf-8") for name in NAMES)
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^hostile: .*\n\t.* -m tests\.hostile ", rules, re.MULTILINE)


def test_all_locks_are_looked_at_for_advisories_and_hold_hashes_alone() -> None:
    looked_at = (ROOT / ".ci" / "advisories").read_text(encoding="utf-8")
    locks = [ROOT / "requirements.lock", *sorted((ROOT / ".ci").glob("*.lock"))]
    assert len(locks) >= 4
    for lock in locks:
        assert lock.relative_to(ROOT).as_posix() in looked_at
        pinned = re.findall(r"^[\w.-]+==.*(?:\n {4}.*)*", lock.read_text(encoding="utf-8"), re.MULTILINE)
        assert pinned
        assert all("--hash=sha256:" in one for one in pinned), lock
    assert WORKFLOW["jobs"]["advisories"]["steps"][-1]["with"]["path"] == "sbom.json"
    assert "-o sbom.json" in looked_at
