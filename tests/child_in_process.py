"""A child's module run in this process: it reads and says the same, and no process has to start for it.

For tests of what is read and made. What a child is shut in by, that it ends at its limits, and that each of them works
behind its walls is shown by those that start real ones: `toolkits_data/test_real_children.py`, `test_children.py`,
`test_table_attacks.py`, `reading/test_reading_child.py`, `test_reading_kinds.py`, `test_reading_bombs.py`,
`specialists/test_hostile_texts.py`.
"""

from __future__ import annotations

import gc
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from specialists.sandbox.child_process import ChildInputs, ChildReply
from specialists.sandbox.confine import INPUT_FOLDER, forbid_file_writes, limit_remaining_cpu

_NOTHING = ChildInputs()


def run_children_here(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """Have these modules run their children in this process."""
    for module in modules:
        monkeypatch.setattr(module, "run_child", run_here)


async def run_here(
    module: str, request: Mapping[str, Any], *, inputs: ChildInputs = _NOTHING, **_limits: object
) -> ChildReply:
    """Run `main()` of a module with the request, in folders as a child has them."""
    return ChildReply(_run(module, request, inputs))


def _run(module: str, request: Mapping[str, Any], inputs: ChildInputs) -> bytes:
    code, reply = import_module(module), _Reply()
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(action="ignore"),
    ):
        input_folder, work = Path(folder, INPUT_FOLDER), Path(folder, "work")
        input_folder.mkdir()
        work.mkdir()
        for name, what in inputs.files.items():
            if isinstance(what, bytes):
                (input_folder / name).write_bytes(what)
            else:
                (input_folder / name).symlink_to(what.absolute())
        patch.chdir(work)
        patch.setattr(sys, "stdin", io.StringIO(json.dumps(request)))
        patch.setattr(sys, "setrecursionlimit", _nothing)
        patch.setattr(gc, "disable", _nothing)
        patch.setattr(code, "claim_stdout", lambda: reply)
        for limit in (forbid_file_writes, limit_remaining_cpu):
            patch.setattr(code, limit.__name__, _nothing, raising=False)  # not each child uses both
        code.main()
    return reply.getvalue()


def _nothing(*_: object) -> None: ...


class _Reply(io.BytesIO):
    """Stays readable when it is closed."""

    def close(self) -> None: ...
