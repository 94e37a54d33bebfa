"""A model that plays given turns, a log in memory, and small tools to play with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from handoff import events as ev
from handoff.approval_values import Approval, ApprovalTerms
from handoff.contracts import Artifact, Constraints, Escalation, Handoff, Result, ToolCall, ToolReply, Turn, Usage
from handoff.state.state_values import ApplicableRuling, Checkpoint, Provenance, Ruling
from specialists.model import ModelCall, ModelError
from specialists.runner import AttemptEnd, run_specialist
from specialists.specialist import Specialist
from specialists.tools.messenger import Messenger
from specialists.tools.tool import PEOPLE_PROVENANCE, Tool, ToolOutcome, Workbench
from specialists.tools.tool_sign_in import SignInStore

TURN_USAGE = Usage(model="played", calls=1, tokens_in=10, tokens_out=5, cost=0.01, duration=0.5)
Move = Turn | ModelError | Callable[[ModelCall], Awaitable[Turn]]


def calling(*calls: tuple[str, dict[str, Any]], text: str = "", ids: Sequence[str] = ()) -> Turn:
    names = ids or [f"c{index}" for index in range(len(calls))]
    wishes = (ToolCall(id=i, name=name, arguments=args) for i, (name, args) in zip(names, calls, strict=True))
    return Turn(text=text, calls=tuple(wishes), stop="tool_use", usage=TURN_USAGE)


def make_text_turn(text: str, stop: Any = "end") -> Turn:
    return Turn(text=text, stop=stop, usage=TURN_USAGE)


def returning(content: str = "All of it.", **more: Any) -> Turn:
    return calling(("return_result", {"summary": "In short.", "content": content, "confidence": 90, **more}))


@dataclass
class ScriptedModel:
    """Plays its moves in order and keeps every call it got. One move too few is an error of the test."""

    moves: list[Move]
    calls: list[ModelCall] = field(default_factory=list)
    label: str = "played"

    async def reply(self, call: ModelCall) -> Turn:
        self.calls.append(call)
        move = self.moves.pop(0)
        if isinstance(move, ModelError):
            raise move
        return move if isinstance(move, Turn) else await move(call)

    async def close(self) -> None:
        """Nothing is open."""


async def silence(_call: ModelCall) -> Turn:
    await asyncio.Event().wait()
    raise AssertionError


OF: dict[str, Any] = {"at": 1.0, "request": "1.0", "subtask": "s", "attempt": 1}


def make_turn_event(turn: Turn) -> ev.TurnTaken:
    return ev.TurnTaken(turn=turn, **OF)


@dataclass
class KeptLog:
    """Keeps checkpoints as lines of a log would, so that a resumed attempt reads what was really written."""

    history: list[Checkpoint] = field(default_factory=list)
    earlier_writes: dict[str, str] = field(default_factory=dict)
    can_ask: bool = True
    sendings: list[tuple[str, str, str]] = field(default_factory=list)
    alike: dict[tuple[str, str, str], tuple[str, ...]] = field(default_factory=dict)
    """Who approved calls that are similar."""

    async def find_rulings(self, approval: Approval) -> ApplicableRuling:
        users = self.alike.get(approval.scope)
        given = {"digest": "", "arguments": {}, "users": users, "covers_similar": True}
        return ApplicableRuling(Ruling(1.0, "", approval.tool, "approved", **given) if users else None)

    def _keep(self, point: ev.TurnTaken | ev.ToolReturned | ev.ToolStarted) -> None:
        kept = ev.load_event(ev.dump_event(point))
        assert isinstance(kept, type(point))
        self.history.append(kept)

    async def keep_turn(self, turn: Turn) -> None:
        self._keep(make_turn_event(turn))

    def take_new_messages(self) -> tuple[str, ...]:
        return ()

    def list_known_texts(self) -> tuple[str, ...]:
        return ()

    def make_intent(
        self, call: ToolCall, *, what: str, key: str, digest: str, ruling: Ruling | None = None
    ) -> ev.ToolStarted:
        of = {"call": call.id, "tool": call.name, "approved_by": ruling.users if ruling else (), **OF}
        return ev.ToolStarted(what=what, key=key, digest=digest, **of)

    async def keep_intent(self, intent: ev.ToolStarted) -> None:
        self._keep(intent)

    async def record_sending(self, tool: str, to: str, *, refusal: str = "", ruling: Ruling | None = None) -> None:  # noqa: ARG002 - kept by the real one
        self.sendings.append((tool, to, refusal))

    async def keep_reply(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        of = {"artifacts": outcome.artifacts, "gaps": outcome.gaps, "sources": outcome.sources}
        of["private"] = outcome.private
        self._keep(ev.ToolReturned(reply=reply, **of, **OF))

    @property
    def replies(self) -> list[ToolReply]:
        return [item.reply for item in self.history if isinstance(item, ev.ToolReturned)]

    @property
    def turns(self) -> list[Turn]:
        return [item.turn for item in self.history if isinstance(item, ev.TurnTaken)]


@dataclass
class EmptyBench:
    provenance: Provenance = PEOPLE_PROVENANCE
    artifacts: tuple[Artifact, ...] = ()
    follows: bool = True
    messenger: Messenger | None = None
    sign_ins: SignInStore | None = None

    async def path(self, artifact: Artifact) -> Path:
        raise KeyError(artifact.id)

    async def keep(self, name: str, data: bytes, *, media_type: str, about: str, publish_as: str) -> Artifact:
        raise NotImplementedError

    async def may_follow(self, url: str, target: str) -> bool:  # noqa: ARG002 - all alike here
        return self.follows


class LookArguments(BaseModel):
    at: str = Field(min_length=1)
    times: int = Field(default=1, ge=1, le=5)


@dataclass
class Looker:
    """Tools that count what was run. `then` decides what a look gives."""

    then: Callable[[LookArguments], Awaitable[ToolOutcome]] | None = None
    seen_places: list[str] = field(default_factory=list)

    def tool(self, name: str = "look") -> Tool:
        async def run(arguments: LookArguments, _bench: Workbench) -> ToolOutcome:
            """Look at something."""
            self.seen_places.append(arguments.at)
            if self.then:
                return await self.then(arguments)
            return ToolOutcome(f"saw {arguments.at}")

        return Tool(name, "read", LookArguments, run)


async def call_tool(tool: Tool, bench: Workbench | None = None, /, **arguments: Any) -> ToolOutcome:
    return await tool.run(tool.arguments.model_validate(arguments), bench or EmptyBench())


def specialist(*tools: Tool, max_turns: int = 5, asks: ApprovalTerms | None = None) -> Specialist:
    """A specialist of these tools; `asks` are the terms on which their calls are approved, None: without asking."""
    return Specialist(
        name="scout",
        description="Looks.",
        tools=tools,
        tier="fast",
        fallback=None,
        max_turns=max_turns,
        prompt="You are the scout.",
        path=Path("scout.md"),
        approvals={tool.name: asks for tool in tools},
    )


def handoff(seconds: float = 30.0, max_tokens: int = 500) -> Handoff:
    limits = Constraints(timeout=seconds, max_tokens=max_tokens, tier="deep")
    return Handoff(to_agent="scout", intent="Look at the sea.", constraints=limits)


async def play(
    moves: Sequence[Move],
    *tools: Tool,
    log: KeptLog | None = None,
    task: Handoff | None = None,
    bench: Workbench | None = None,
    max_turns: int = 5,
    seconds: float = 30.0,
    asks: ApprovalTerms | None = None,
    **more: Any,
) -> tuple[AttemptEnd, ScriptedModel, KeptLog]:
    """Run an attempt of a specialist with these tools, to its end."""
    model, log = ScriptedModel(list(moves)), log or KeptLog()
    who = specialist(*tools, max_turns=max_turns, asks=asks)
    end = await run_specialist(
        who, task or handoff(seconds), model=model, workbench=bench or EmptyBench(), log=log, **more
    )
    return end, model, log


async def finish(moves: Sequence[Move], *tools: Tool, **more: Any) -> tuple[Result, ScriptedModel, KeptLog]:
    """Run an attempt that ends with a result."""
    end, model, log = await play(moves, *tools, **more)
    assert isinstance(end, Result), end
    return end, model, log


async def give_up(moves: Sequence[Move], *tools: Tool, **more: Any) -> tuple[Escalation, ScriptedModel, KeptLog]:
    """Run an attempt that ends with an escalation."""
    end, model, log = await play(moves, *tools, **more)
    assert isinstance(end, Escalation), end
    return end, model, log
