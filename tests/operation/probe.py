"""A running bot's endpoints, as a load balancer and a Prometheus see them."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.command_line.command import Running
from tests.patience import patience

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class ProbeAnswer:
    """An answer, or (with the status 0) that nobody listens."""

    status: int
    text: str = ""
    content_type: str = ""


async def look(url: str, path: str, method: str = "GET", host: str = "") -> ProbeAnswer:
    """Ask once, under another name if one is given."""
    headers = {"Host": host} if host else {}
    try:
        async with aiohttp.ClientSession() as session, session.request(method, url + path, headers=headers) as response:
            return ProbeAnswer(response.status, await response.text(), response.headers["Content-Type"])
    except aiohttp.ClientConnectionError:
        return ProbeAnswer(0)


async def until(url: str, path: str, status: int) -> ProbeAnswer:
    """Ask until the answer has that status."""
    deadline = time.monotonic() + patience()
    while (seen := await look(url, path)).status != status:
        assert time.monotonic() < deadline, seen
        await asyncio.sleep(0.02)
    return seen


async def url_of(running: Running) -> str:
    """Where its endpoints are, as its start line says."""
    line = await running.says("listening")
    found = re.search(r"health and metrics: (http://\S+)\)", line)
    assert found is not None, line
    return found[1]


class Samples:
    """The metrics of a page, as Prometheus' own parser reads them."""

    def __init__(self, text: str) -> None:
        self.values: dict[tuple[str, Labels], float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self.values[sample.name, frozenset(sample.labels.items())] = sample.value

    def of(self, name: str, **labels: str) -> float:
        """The sum of what has these labels, others aside."""
        wanted = set(labels.items())
        found = [value for (each, has), value in self.values.items() if each == f"leadhand_{name}" and wanted <= has]
        return sum(found)
