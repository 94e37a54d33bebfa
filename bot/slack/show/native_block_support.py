"""Shows charts and tables within an answer as blocks that Slack draws.

If a workspace does not accept such blocks, charts are posted as pictures, and tables stay Markdown.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from bot.slack.send.outbox import SentMessage
from bot.slack.views.native_blocks import find_native_charts, split_native_table
from bot.slack.views.outgoing import Block, Outgoing
from handoff.contracts import Artifact
from handoff.effects import make_file_key
from handoff.state.job_state import RequestState

log = logging.getLogger(__name__)

PostFile = Callable[[str, Artifact], Awaitable[SentMessage]]
"""Posts an artifact as a file into the thread, under an outbox key."""
IN_ANSWER_FAULT = "it stands in the answer"


class NativeBlocks:
    """Renders charts and tables of answers as blocks, until the workspace refuses one of them."""

    def __init__(self) -> None:
        self._is_supported = True

    def is_shown_in_answer(self, request: RequestState, artifact: Artifact) -> bool:
        """Return True if the answer will show a chart as a block, so that its picture need not be posted."""
        return self._is_supported and artifact.id in find_native_charts(request)

    async def prepare_charts(self, request: RequestState, post_file: PostFile) -> list[Block]:
        """Return the blocks of the charts for the answer, or post pictures and return [] if blocks are refused."""
        if not self._is_supported:
            await self.post_pictures(request, post_file)
            return []
        chart_blocks = find_native_charts(request)
        return [block for _, artifact in self._find_unposted_charts(request) for block in chart_blocks[artifact.id]]

    def render_part(self, part: Outgoing, charts: Sequence[Block]) -> Outgoing:
        """Return a part of an answer with its table as a block, and with the blocks of `charts` below its text."""
        if not self._is_supported:
            return part
        text, *end = part.blocks
        return replace(part, blocks=(*split_native_table(text), *charts, *end))

    async def fall_back_to_pictures(self, part: Outgoing, request: RequestState, post_file: PostFile) -> Outgoing:
        """Record that Slack refuses such blocks, post the charts as pictures, and return `part` as it is."""
        log.warning("this workspace does not take charts and tables as blocks: they come as pictures and as text")
        self._is_supported = False
        await self.post_pictures(request, post_file)
        return part

    async def post_pictures(self, request: RequestState, post_file: PostFile) -> None:
        """Post those charts as pictures that would otherwise be blocks in the answer."""
        for key, artifact in self._find_unposted_charts(request):
            await post_file(key, artifact)

    def _find_unposted_charts(self, request: RequestState) -> Sequence[tuple[str, Artifact]]:
        artifacts = [
            file
            for subtask in request.list_subtasks("")
            if subtask.result is not None
            for file in subtask.result.artifacts
        ]
        keyed_artifacts = [
            (make_file_key(request.id, one.id), one) for one in artifacts if one.id in find_native_charts(request)
        ]
        return [(key, one) for key, one in keyed_artifacts if not request.posted_ids.get(key)]
