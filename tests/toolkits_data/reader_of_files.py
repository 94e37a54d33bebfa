"""A child that reads and tries to change what it was given, and writes where it works."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from specialists.sandbox.confine import make_input_path

NAMES = ("bytes", "file", "folder/a", "gone")


def main() -> None:
    told = {
        "read": {
            name: run_attempt(lambda name=name: Path(make_input_path(name)).read_text(encoding="utf-8"))
            for name in NAMES
        },
        "written": {
            name: run_attempt(lambda name=name: Path(make_input_path(name)).open("r+").close()) for name in NAMES
        },
        "own": run_attempt(lambda: Path("own").write_text("x", encoding="utf-8") and "done"),
    }
    sys.stdout.write(json.dumps(told))


def run_attempt(attempt: Callable[[], object]) -> object:
    try:
        return attempt()
    except OSError as error:
        return type(error).__name__
