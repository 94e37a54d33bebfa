"""The requests feature: turns people's messages into requests, replies, edits, and answers to questions."""

from __future__ import annotations

from bot.features.kit import Kit
from bot.features.memory.service import MemoriesService
from bot.features.requests.actions import RequestClicks
from bot.features.requests.messages import MessageListener
from bot.features.requests.service import RequestService
from bot.features.requests.typed_requests import OPENING_KIND, TypedRequests
from bot.slack.views.question import ANSWER_PREFIX
from handoff.contracts import Place


def register(kit: Kit) -> None:
    """Register the listeners for messages, the shortcut and the buttons with likely answers."""

    async def has_memories(place: Place, user: str) -> bool:
        return await kit.find_service(MemoriesService).has_memories_for(place, user)

    requests = kit.add_service(
        RequestService, lambda: RequestService(kit.records, kit.limits, kit.channels, has_memories)
    )
    kit.gate.add_concern_check(requests.has_job, "message", "edit")
    lookups = kit.gate.people, kit.messengers.directory
    messages = MessageListener(requests, kit.services, kit.router, kit.background, kit.outages, *lookups)
    messages.register(kit.router)
    typed_requests = kit.add_service(
        TypedRequests,
        lambda: TypedRequests(requests, kit.records, kit.messengers.outbox, messages),
    )
    kit.router.on_request = typed_requests.record_typed_request
    kit.openers[OPENING_KIND] = typed_requests.open_thread
    RequestClicks(requests, kit.background).register(kit.router)
    kit.add_deeds({ANSWER_PREFIX: "answered"})
