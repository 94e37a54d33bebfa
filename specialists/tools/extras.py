"""Looks if a tool's packages are installed: heavy ones sit in extras that a person may leave out."""

from __future__ import annotations

from importlib.util import find_spec


def missing(extra: str, *modules: str) -> str:
    """Word what the model, and through it people, are told if any of the modules is not there; else nothing."""
    absent = [module for module in modules if find_spec(module) is None]
    if not absent:
        return ""
    return (
        f"This tool is not installed here ({', '.join(absent)} missing). "
        f"Whoever runs the bot can add it with: pip install 'leadhand[{extra}]'"
    )
