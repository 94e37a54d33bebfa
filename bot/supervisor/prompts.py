"""Reads the supervisor's prompts, which are Markdown files beside this one."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def prompt(name: str) -> str:
    """The prompt of that name, such as `planner`."""
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8").strip()
