"""Brings the pictures of a handoff to the model: loaded for each attempt from the store, and never kept in the log.

Pictures that people gave are shown. A picture that goes to people as a file was made here, from figures that stand in
the results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from handoff.contracts import Artifact
from specialists.formats.picture_facts import picture_tokens, type_of
from specialists.model import Picture
from specialists.tools.tool import Workbench

SHARE = 0.5
"""The share of a call's context that pictures may fill."""
MOST_BYTES = 24_000_000
"""Bytes of all pictures of an attempt together: every call sends them again, a third larger."""


async def load_pictures(
    artifacts: Iterable[Artifact], workbench: Workbench, context: int
) -> tuple[tuple[Picture, ...], tuple[str, ...]]:
    """Load the pictures among the files of a handoff, in order, as far as a call has room for them.

    Args:
        artifacts: The files of the handoff.
        workbench: Where their bytes are. Its WorkbenchLost passes through.
        context: The most tokens that a call may send.

    Returns:
        The pictures, and a gap for each that is left out, in words for people.
    """
    shown: list[Picture] = []
    gaps: list[str] = []
    tokens, size = 0, 0
    for artifact in artifacts:
        if not artifact.media_type.startswith("image/") or artifact.publish_as != "nothing":
            continue
        found = await _load(artifact, workbench)
        if isinstance(found, str):
            gaps.append(found)
            continue
        its_tokens, its_size = picture_tokens(found.data), len(found.data)
        if tokens + its_tokens > context * SHARE or size + its_size > MOST_BYTES:
            gaps.append(f"{found.name}: not shown to the model, as there are more pictures than it has room for")
            continue
        tokens, size = tokens + its_tokens, size + its_size
        shown.append(found)
    return tuple(shown), tuple(gaps)


async def _load(artifact: Artifact, workbench: Workbench) -> Picture | str:
    """Load a picture; what is wrong with it if it cannot be shown."""
    name = " ".join(artifact.name.split())
    if artifact.size > MOST_BYTES:
        return f"{name}: not shown to the model, as it has {artifact.size:,} bytes; send a smaller picture"
    try:
        path = await workbench.path(artifact)
    except KeyError:
        return f"{name}: not shown to the model, as it is no longer kept; attach it again"
    data = await asyncio.to_thread(path.read_bytes)
    kind = type_of(data)
    if kind is None:
        return f"{name}: not shown to the model, as it is no PNG, JPEG, WebP or GIF; send one of these"
    return Picture(name=name, media_type=kind, data=data)
