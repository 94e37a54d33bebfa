"""The workflows test what the package says it supports, and publish it, with no more rights than that takes."""

import re
import tomllib
from typing import Any

import pytest
import yaml

from tests.command_line.command import ROOT
from tests.workspace_page.browser import NAMES

FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yml"))}
WORKFLOWS: dict[str, dict[Any, Any]] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
CI, RELEASE = WORKFLOWS["ci"], WORKFLOWS["release"]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EACH = pytest.mark.parametrize("name", WORKFLOWS)
PIN = re.compile(r"actions/[a-z-]+@v\d+|[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\.github/workflows/ci\.yml")
RIGHTS = {
    "test": {"contents": "read"},
    "build": {"contents": "read"},
    "image": {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
    "chart": {"contents": "read", "packages": "write", "id-token": "write"},
    "pypi": {"id-token": "write", "attestations": "write"},
    "notes": {"contents": "write"},
}


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


def step_of(job: str, action: str) -> dict[str, Any]:
    (found,) = [step for step in RELEASE["jobs"][job]["steps"] if step.get("uses", "").startswith(f"{action}@")]
    return found


def test_every_python_that_is_supported_is_tested() -> None:
    tested = CI["jobs"]["test"]["strategy"]["matrix"]["python"]
    said = [found[1] for each in PROJECT["classifiers"] if (found := re.fullmatch(r".* :: (3\.\d+)", each))]
    assert tested == said
    assert PROJECT["requires-python"] == f">={tested[0]}"


def test_tests_may_only_read() -> None:
    assert CI["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in CI["jobs"].values())


def test_each_job_of_a_release_has_the_rights_that_it_needs() -> None:
    assert RELEASE["permissions"] == {}
    assert {name: job["permissions"] for name, job in RELEASE["jobs"].items()} == RIGHTS


@EACH
def test_no_job_keeps_credentials_or_sees_a_secret(name: str) -> None:
    checkouts = [step for step in steps(WORKFLOWS[name]) if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert "secrets." not in TEXTS[name]


@EACH
def test_no_command_is_put_together_from_what_others_may_write(name: str) -> None:
    assert not any("${{" in step["run"] for step in steps(WORKFLOWS[name]) if "run" in step)


@EACH
def test_actions_are_githubs_own_by_version_and_others_by_commit(name: str) -> None:
    used = re.findall(r"^\s*(?:- )?uses: (.+)$", TEXTS[name], re.MULTILINE)
    assert used
    assert [one for one in used if not PIN.fullmatch(one)] == []
    versions: dict[str, set[str]] = {}
    for text in TEXTS.values():
        for action, version in re.findall(r"uses: ([\w/-]+)@(\S+)", text):
            versions.setdefault(action, set()).add(version)
    assert {action for action, found in versions.items() if len(found) > 1} == set()


def test_what_it_runs_exists() -> None:
    runs = [step["run"] for step in steps(CI) if "run" in step]
    assert runs == [
        "bash .ci/run tests",
        "make release-check PYTHON=python",
        "make hostile SEED=1 PYTHON=python",
        "bash .ci/advisories",
    ]
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert all(name in run for name in NAMES)
    assert "make release-check\n" in run
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^hostile: .*\n\t.* -m tests\.hostile ", rules, re.MULTILINE)
    assert re.search(r"^release-check: .*\n\t@bash \.ci/release-check$", rules, re.MULTILINE)


def test_all_locks_are_looked_at_for_advisories_and_hold_hashes_alone() -> None:
    looked_at = (ROOT / ".ci" / "advisories").read_text(encoding="utf-8")
    locks = [ROOT / "requirements.lock", *sorted((ROOT / ".ci").glob("*.lock"))]
    assert len(locks) >= 5
    for lock in locks:
        assert lock.relative_to(ROOT).as_posix() in looked_at
        pinned = re.findall(r"^[\w.-]+==.*(?:\n {4}.*)*", lock.read_text(encoding="utf-8"), re.MULTILINE)
        assert pinned
        assert all("--hash=sha256:" in one for one in pinned), lock
    assert CI["jobs"]["advisories"]["steps"][-1]["with"]["path"] == "sbom.json"
    assert "-o sbom.json" in looked_at


def test_a_tag_is_published_after_all_tests_and_pypi_last() -> None:
    assert RELEASE[True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as true
    assert RELEASE["jobs"]["test"]["uses"] == "./.github/workflows/ci.yml"
    assert "workflow_call" in CI[True]
    needs = {name: job.get("needs", []) for name, job in RELEASE["jobs"].items()}
    assert needs == {
        "test": [],
        "build": [],
        "image": ["test", "build"],
        "chart": "image",
        "pypi": ["build", "chart"],
        "notes": "pypi",
    }


def test_the_image_is_for_both_machines_listed_signed_and_attested() -> None:
    pushed = step_of("image", "docker/build-push-action")["with"]
    assert pushed["platforms"] == "linux/amd64,linux/arm64"
    assert pushed["sbom"] is True
    assert pushed["provenance"] == "mode=max"
    assert step_of("image", "actions/attest")["with"]["subject-digest"] == "${{ steps.push.outputs.digest }}"
    signed = [
        step for job in ("image", "chart") for step in RELEASE["jobs"][job]["steps"] if "cosign sign" in str(step)
    ]
    assert len(signed) == 2
    assert all("--key" not in step["run"] for step in signed), "keyless: by the workflow's identity"


def test_pypi_is_asked_without_a_password_for_what_was_built_and_checked() -> None:
    assert RELEASE["jobs"]["pypi"]["environment"] == "pypi"
    published = step_of("pypi", "pypa/gh-action-pypi-publish")["with"]
    assert published == {"attestations": True}
    assert step_of("pypi", "actions/download-artifact")["with"]["name"] == "dist"
    assert "make release-check PYTHON=python" in str(RELEASE["jobs"]["build"]["steps"])
