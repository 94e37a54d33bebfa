"""The reading process on a machine where the libraries of the extras were left out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from specialists.reading import reading_child

_LEFT_OUT = ("pypdfium2", "pptx", "PIL", "python_calamine")


class _LeftOut:
    @staticmethod
    def find_spec(name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] in _LEFT_OUT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def main() -> None:
    sys.meta_path.insert(0, _LeftOut())
    reading_child.main()
