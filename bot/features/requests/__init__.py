"""The requests feature: turns people's messages into requests, replies, edits, and answers to questions."""

from __future__ import annotations

from bot.features.kit import Kit
from bot.features.memory.service import MemoryDesk
from bot.features.requests.actions import RequestClicks
from bot.features.requests.messages import MessageListener
from bot.features.requests.service import RequestDesk
from bot.features.requests.typed import OPENER, TypedRequests
from bot.slack.views.question import ANSWER
from handoff.contracts import Place


def register(kit: Kit) -> None:
    """Register the listeners for messages, the shortcut and the buttons with likely answers."""

    async def recalls(place: Place, user: str) -> bool:
        return await kit.find(MemoryDesk).has_memories_for(place, user)

    requests = kit.offer(RequestDesk, lambda: RequestDesk(kit.records, kit.limits, kit.channels, recalls))
    kit.gate.add_concern_check(requests.has_job, "message", "edit")
    looks_up = kit.gate.people, kit.messengers.directory
    messages = MessageListener(requests, kit.services, kit.router, kit.background, kit.outages, *looks_up)
    messages.register(kit.router)
    typed = kit.offer(
        TypedRequests,
        lambda: TypedRequests(requests, kit.records, kit.messengers.outbox, messages),
    )
    kit.router.on_request = typed.record_typed_request
    kit.openers[OPENER] = typed.open
    RequestClicks(requests, kit.background).register(kit.router)
    kit.note_deeds({ANSWER: "answered"})
