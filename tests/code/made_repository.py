"""Repositories made for tests, in which nothing of the machine's own configuration counts."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

GIT = shutil.which("git") or "git"
WHO = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Mira",
    "GIT_AUTHOR_EMAIL": "mira@example.org",
    "GIT_COMMITTER_NAME": "Mira",
    "GIT_COMMITTER_EMAIL": "mira@example.org",
    "PATH": os.environ["PATH"],
}


def run_git(folder: Path, *arguments: str, day: int = 1) -> str:
    """What git says in a folder. `day` dates a commit."""
    at = f"2026-10-{day:02}T12:00:00Z"
    env = {**WHO, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    done = subprocess.run((GIT, *arguments), cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout


def commit(folder: Path, message: str, files: Mapping[str, str], *, day: int = 1, branch: str = "main") -> str:
    """Commit files, in a repository that is made if there is none, and give the commit's id."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        run_git(folder, "init", "-q", "-b", branch)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-q", "-m", message, day=day)
    return run_git(folder, "rev-parse", "HEAD").strip()
