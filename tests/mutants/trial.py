"""Runs tests on a copy of the packages that a mutant was made of, and says why each failed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.mutants.mutations import Mutant
from tests.patience import patience

CHECKOUT = Path(__file__).parent.parent.parent
PARTS = ("handoff", "specialists", "bot", "tests", "pyproject.toml", "manifest.yml")
PATIENCE = patience(400)
"""Seconds for one run of tests."""


@dataclass
class Outcome:
    """What came of a run. `failures`: a test's own check did not hold; `breakages`: anything else."""

    name: str
    pass_count: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    breakages: dict[str, str] = field(default_factory=dict)


def run(name: str, tests: Sequence[str], mutant: Mutant | None = None) -> Outcome:
    """Run tests in a copy of the checkout with a mutant's edits.

    Raises:
        LookupError: An edit has no place.
    """
    outcome = Outcome(name)
    with tempfile.TemporaryDirectory(prefix="leadhand-mutant-") as folder:
        root = Path(folder) / "checkout"
        root.mkdir()
        for part in PARTS:
            if (CHECKOUT / part).is_dir():
                shutil.copytree(CHECKOUT / part, root / part)  # times and all: what Python compiled stays good
            else:
                shutil.copy2(CHECKOUT / part, root / part)
        for edit in mutant.edits if mutant else ():
            edit.apply(root)
        _pytest(outcome, root, tests)
    return outcome


def _pytest(outcome: Outcome, root: Path, tests: Sequence[str]) -> None:
    report = root / "report.xml"
    # Of a run that this one may be a part of, nothing is passed on.
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    env["PYTHONPATH"] = str(root)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--junitxml={report}"]
    if not any("machine" in test for test in tests):
        options += ["-p", "no:hypothesispytest"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if not report.exists() or done.returncode not in {0, 1, 2}:
        outcome.breakages[" ".join(tests)] = (done.stdout + done.stderr)[-2000:]
        return
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - our own pytest has just written it
        _sort(case, outcome)
    report.unlink()


def _sort(case: ET.Element, outcome: Outcome) -> None:
    test = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
    failure, error = case.find("failure"), case.find("error")
    if error is not None:
        outcome.breakages[test] = str(error.get("message"))
    elif failure is not None:
        why = str(failure.get("message"))
        # A check that did not hold, not a program that cannot run.
        held = why.startswith(("AssertionError", "assert ", "Failed: DID NOT RAISE"))
        (outcome.failures if held else outcome.breakages)[test] = why
    else:
        outcome.pass_count += 1
