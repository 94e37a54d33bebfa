"""Models behind a real wire format whose words a test decides, call by call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.models.anthropic_messages import AnthropicMessages
from bot.models.call_retrier import RetryPolicy
from bot.models.chosen_model import ChosenModel
from bot.models.model_choice import ANTHROPIC_TIERS, OPENAI_TIERS
from bot.models.openai_chat import OpenAIChat
from bot.models.openai_responses import OpenAIResponses
from bot.models.provider_model import ProviderModel
from bot.models.rehearsal.rehearsal import RehearsalModel
from handoff.contracts import Terms, ToolCall
from specialists.crew import Crew
from specialists.registry import load_crew
from specialists.tools.tool import Tool
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import brain_from_model, purpose_of, task_of
from tests.providers.server import Brain, ProviderServer
from tests.providers.wire import Api, WireRequest
from tests.system.scene import Scene

HOME = "home-server"
"""The name of the provider that speaks chat completions here."""
QUICK = RetryPolicy(first_pause_seconds=0.02, max_pause_seconds=0.05)
Words = Callable[[WireRequest], Awaitable[Reply | Fault | None] | Reply | Fault | None] | Reply | Fault
"""What is said to a call, worked out from it or always the same; None leaves it to the rehearsal."""


class Gate:
    """Holds the calls of a purpose until it is opened; then they get `reply`, or go to the rehearsal."""

    def __init__(self, reply: Reply | None = None) -> None:
        self._reply = reply
        self._open = asyncio.Event()
        self.arrival_event = asyncio.Event()

    def open(self) -> None:
        """Let everything through."""
        self._open.set()

    async def __call__(self, _: WireRequest) -> Reply | None:
        self.arrival_event.set()
        await self._open.wait()
        return self._reply


def make_rehearsal_brain(**words: Words) -> Brain:
    """The rehearsal, but for some purposes: `planner`, `synthesizer`, `specialist` (any) or a specialist's name."""
    rehearsal = brain_from_model(RehearsalModel())

    async def brain(request: WireRequest) -> Reply | Fault:
        kind, _, name = purpose_of(request).partition(":")
        chosen = words.get(name) or words.get(kind)
        said = chosen(request) if callable(chosen) else chosen
        reply = await said if isinstance(said, Awaitable) else said
        return reply if reply is not None else await rehearsal(request)

    return brain


def in_turn(*replies: Reply | Fault | None) -> Words:
    """One reply after the other, the last one again and again."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def after_calls(*turns: Reply) -> Words:
    """A specialist that takes these turns one after the other, then says what came of each call in them."""

    def say(request: WireRequest) -> Reply:
        told = [message.replies for message in request.messages if message.replies]
        if len(told) < len(turns):
            return turns[len(told)]
        return result("Said: " + " / ".join(" ".join(reply.text.split()) for replies in told for reply in replies))

    return say


def by_part(otherwise: Reply | None = None, /, **parts: Words) -> Words:
    """What a specialist says, by the part that its task or an earlier brief names, and to all else."""

    def say(request: WireRequest) -> Awaitable[Reply | Fault | None] | Reply | Fault | None:
        text = request.messages[0].text
        name = next((name for name in parts if f"part {name}." in task_of(request)), "")
        name = name or next((name for name in parts if f"part-{name}" in text), "")
        chosen = parts.get(name, otherwise)
        return chosen(request) if callable(chosen) else chosen

    return say


def connect(api: Api, server: ProviderServer, **options: Any) -> ChosenModel:
    """A provider of ours, with its real SDK, for that server; the options are those of its wire."""
    if api == "anthropic":
        messages = AnthropicMessages("key", server.url, **options)
        return ProviderModel(messages, ANTHROPIC_TIERS, provider="anthropic", retry_policy=QUICK)
    if api == "responses":
        responses = OpenAIResponses("key", server.openai_url, **options)
        return ProviderModel(responses, OPENAI_TIERS, provider="openai", retry_policy=QUICK)
    chat = OpenAIChat("key", server.openai_url, **options)
    return ProviderModel(chat, OPENAI_TIERS, provider=HOME, retry_policy=QUICK)


@asynccontextmanager
async def provider(**words: Words) -> AsyncIterator[ProviderServer]:
    """A server with the rehearsal behind it, see `make_rehearsal_brain`. `connect` gives a model for it."""
    async with ProviderServer(make_rehearsal_brain(**words)) as server:
        yield server


@asynccontextmanager
async def bot_with_provider(
    scene: Scene, *, api: Api = "chat", is_verified: bool = True, **words: Words
) -> AsyncIterator[ProviderServer]:
    """A bot in the scene with a provider behind it, whose words are those of `make_rehearsal_brain`.

    Unless its answers are `is_verified`, the verifier reads none of them, and they are streamed.
    """
    async with provider(**words) as server, scene.bot(connect(api, server), terms=Terms(verifier=is_verified)):
        yield server


@asynccontextmanager
async def played_by(scene: Scene, crew: Crew, **words: Words) -> AsyncIterator[ProviderServer]:
    """A bot with a crew of the test's own."""
    async with provider(**words) as server, scene.bot(connect("chat", server), crew=crew):
        yield server


def crew_of(
    folder: Path, names: Sequence[str], crew_file: str = "", tools: Mapping[str, Tool] | None = None, **uses: str
) -> Crew:
    """A crew of specialists, written into a folder.

    `tools` are those that there are; `uses` maps a specialist's name to the tools on its page, others have none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        held = uses.get(name, "")
        page = f"---\nname: {name}\ndescription: Writes.\ntools: [{held}]\nmodel: fast\n---\nYou are the {name}.\n"
        (folder / f"{name}.md").write_text(page)
    (folder / "crew.yml").write_text(crew_file)
    return load_crew(folder, tools or {})


def purposes(server: ProviderServer) -> list[str]:
    """Who asked, in order."""
    return [purpose_of(request) for request in server.requests]


def subtask(name: str, specialist: str, after: Sequence[str] = (), intent: str = "") -> dict[str, Any]:
    """A subtask of a plan."""
    return {
        "id": name,
        "title": f"Do part {name}",
        "intent": intent or f"Write one sentence about part {name}.",
        "specialist": specialist,
        "after": list(after),
        "done_when": "It is said.",
        "tier": None,
    }


def plan(*subtasks: dict[str, Any], goal: str = "Get it done") -> Reply:
    """A planner's reply."""
    return Reply(json.dumps({"goal": goal, "subtasks": subtasks, "strategy": "merge", "instruction": ""}))


def result(content: str, confidence: int = 80, **more: Any) -> Reply:
    """A specialist's reply that ends its work. `more`: further arguments, such as `findings`."""
    return _call("return_result", {"summary": content[:100], "content": content, "confidence": confidence, **more})


def takes(aim: str) -> Reply:
    """A dispatcher's reply."""
    return Reply(json.dumps({"why": "It says so.", "aim": aim}))


def escalation(reason: str, message: str, options: Sequence[str] = ()) -> Reply:
    """A specialist's reply that says it can't."""
    return _call("escalate", {"reason": reason, "message": message, "options": list(options)})


def tool_call(name: str, **arguments: Any) -> Reply:
    """A specialist's reply that calls one tool."""
    return _call(name, arguments)


def tool_calls_of(*calls: tuple[str, dict[str, Any]]) -> Reply:
    """A specialist's reply that makes several calls."""
    made = (ToolCall(id=f"call_{place}", name=name, arguments=given) for place, (name, given) in enumerate(calls))
    return Reply(calls=tuple(made), stop="tool_use")


def _call(name: str, arguments: dict[str, Any]) -> Reply:
    return Reply(calls=(ToolCall(id=f"call_{name}", name=name, arguments=arguments),), stop="tool_use")
