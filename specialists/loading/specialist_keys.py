"""Reads the keys of a specialist's file for its model and its MCP servers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from handoff.contracts import Tier
from specialists.files.frontmatter import CrewFault, MarkdownPage, suggest_name
from specialists.loading.crew_checks import read_tool_names
from specialists.mcp.server_config import TOOL_NAME_PREFIX
from specialists.model import Effort
from specialists.tools.tool import Tool

MODEL_KEYS = ("effort", "temperature")
"""The keys on the model besides `model`."""
MAX_TEMPERATURE = 2.0

_TIERS: tuple[Tier, ...] = get_args(Tier)
_EFFORTS: tuple[Effort, ...] = get_args(Effort)
_MODEL_NAME = re.compile(r"(?=.*[\d/:-])[A-Za-z0-9][\w.:/@-]{1,99}")
"""A model's name. It must contain a digit or one of `/ : -`, so that a misspelt tier is not taken for a model."""


@dataclass(frozen=True, slots=True)
class ModelOverrides:
    """What a specialist's file asks of its model.

    `name` is a provider's model; "": the model of the specialist's tier. `effort` and `temperature` are as in
    `ModelCall`; None: the tier's. `page` is the page that names the model, for faults; None if `name` is "".
    """

    name: str = ""
    effort: Effort | None = None
    temperature: float | None = None
    page: MarkdownPage | None = None

    def make_fault(self, text: str) -> CrewFault:
        """Return a fault at the line that names the model. Raises ValueError if no file names one."""
        if self.page is None:
            raise ValueError("nobody named a model")
        return CrewFault(self.page.path, self.page.key_lines.get("model", 1), text)


NO_OVERRIDES = ModelOverrides()


def read_model_overrides(page: MarkdownPage) -> ModelOverrides:
    """Read the model's name, effort and temperature of a page; faults are added to the page. Tiers are not read."""
    name, effort, temperature = (page.values.get(key) for key in ("model", *MODEL_KEYS))
    model_name = name if isinstance(name, str) and is_model_name(name) else ""
    known_effort = next((one for one in _EFFORTS if one == effort), None)
    if "effort" in page.values and known_effort is None:
        page.add_fault(f"effort takes {', '.join(_EFFORTS)}{suggest_name(str(effort), _EFFORTS)}", key="effort")
    valid_temperature = None
    if "temperature" in page.values:
        if (
            isinstance(temperature, bool)
            or not isinstance(temperature, int | float)
            or not 0 <= temperature <= MAX_TEMPERATURE
        ):
            page.add_fault(f"temperature takes a number from 0 to {MAX_TEMPERATURE:g}, such as 0.3", key="temperature")
        else:
            valid_temperature = float(temperature)
    return ModelOverrides(model_name, known_effort, valid_temperature, page if model_name else None)


def is_model_name(value: str) -> bool:
    """Return True if a text may be the name of a provider's model, and is no tier."""
    return value not in _TIERS and _MODEL_NAME.fullmatch(value) is not None


SERVERS_KEY = "mcpServers"


def add_server_tools(pages: Sequence[MarkdownPage], tools: Mapping[str, Tool]) -> None:
    """Add the tools of the MCP servers that a page names to its `tools`. Faults are added to the page.

    A writing tool that another page lists under `tools` belongs to that page alone.
    """
    tool_names_by_page = {page.path: frozenset(read_tool_names(page) or ()) for page in pages}
    servers = sorted({name.split("__")[1] for name in tools if name.startswith(TOOL_NAME_PREFIX)})
    for page in pages:
        if SERVERS_KEY not in page.values:
            continue
        server_names = _read_server_names(page)
        for server in server_names:
            if server not in servers:
                known_names = ", ".join(servers) or "none"
                page.add_fault(
                    f"unknown server {server}{suggest_name(server, servers)}; there are {known_names}", key=SERVERS_KEY
                )
        names_elsewhere = frozenset().union(*(names for path, names in tool_names_by_page.items() if path != page.path))
        added_names = [
            name
            for name, tool in tools.items()
            if any(name.startswith(f"{TOOL_NAME_PREFIX}{server}__") for server in server_names)
            and name not in tool_names_by_page[page.path]
            and not (tool.access == "write" and name in names_elsewhere)
        ]
        if read_tool_names(page) is not None:
            page.values["tools"] = [*(read_tool_names(page) or ()), *added_names]
            page.key_lines.setdefault("tools", page.key_lines.get(SERVERS_KEY, 1))


def _read_server_names(page: MarkdownPage) -> list[str]:
    value = page.values[SERVERS_KEY]
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        page.add_fault(f"{SERVERS_KEY} must be a list of servers of .mcp.json, such as [git]", key=SERVERS_KEY)
        return []
    return list(dict.fromkeys(value))
