"""Links to the lines that findings are about, where the change that was looked at is on the web. Pure.

They are put together from what the forge said of the change, never from what a model wrote: a model gives a path that
the change has, and a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from handoff.answering.code_places import place_in
from handoff.contracts import Finding, Material

_PATH, _LINE = "{path}", "{line}"


def line_link(finding: Finding, materials: Iterable[Material]) -> str:
    """Return the address of the line that a finding is about; empty if no change here has it, or none is on the web."""
    place = place_in(finding.where)
    if place is None:
        return ""
    for material in materials:
        if not material.lines:
            continue
        paths = {one.name.partition(" line ")[0] for one in material.outline}
        path = next((one for one in paths if one == place.path or one.endswith(f"/{place.path}")), "")
        if path:
            return material.lines.replace(_PATH, quote(path)).replace(_LINE, str(place.first))
    return ""


def line_links(findings: Iterable[Finding], materials: Iterable[Material]) -> Iterator[str]:
    """Yield the addresses of the lines that findings are about."""
    there = [one for one in materials if one.lines]
    if there:
        yield from filter(None, (line_link(one, there) for one in findings))
