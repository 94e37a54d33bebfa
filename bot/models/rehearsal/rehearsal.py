"""The rehearsal model: no language model, and it says so.

A deterministic planner and writer over the real specialists, tools, files and
Slack calls, so that everything but the wording is real. It reads only what a
model would read, and knows no file in advance.

The map: `_turn` below goes by the purpose of a call, and each purpose has its rules in a file of its own.

    the supervisor's calls   planner -> rehearsed_planner     refiner, replanner -> rehearsed_mending
                             dispatcher -> rehearsed_dispatcher   rule_reader -> rehearsed_rule_reader
                             synthesizer -> rehearsed_answer  reducer, selector, verifier -> rehearsed_review
    a specialist's calls     each is a `Move` (moves): the tools to call next, or the end of its work
                             rehearsed_analyst (rehearsed_profile: which columns there are; rehearsed_request: what is
                             asked of them, from rehearsed_mentions, rehearsed_periods and the words of rehearsed_words;
                             rehearsed_sql: which queries; rehearsed_telling: what their rows say), rehearsed_reader,
                             rehearsed_researcher, rehearsed_writer, rehearsed_reviewer
                             rehearsed_demo, before all others, where the request is that of a crew's demo;
                             rehearsed_corrections, what was said meanwhile and cannot be applied
                             rehearsed_stranger, where a specialist has tools that there are no rules for
    what all of them read    rehearsed_brief: the sections, files, tool calls and words of a prompt
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping

from bot.models.rehearsal import (
    rehearsed_analyst,
    rehearsed_corrections,
    rehearsed_demo,
    rehearsed_dispatcher,
    rehearsed_mending,
    rehearsed_reader,
    rehearsed_researcher,
    rehearsed_review,
    rehearsed_reviewer,
    rehearsed_rule_reader,
    rehearsed_stranger,
    rehearsed_writer,
)
from bot.models.rehearsal.moves import Move
from bot.models.rehearsal.rehearsed_answer import write_answer
from bot.models.rehearsal.rehearsed_brief import read_brief, tool_history
from bot.models.rehearsal.rehearsed_planner import decide
from bot.models.sight import without_pictures
from handoff.contracts import Tier, ToolCall, Turn, Usage
from specialists.model import ModelCall, ModelError
from specialists.turns.finish_tools import HAND_OVER

NAME = "rehearsal"
HELD = 3000.0
"""Seconds that a call takes which a script holds."""
_PIECE = re.compile(r"\S+\s*|\s+")
_PIECE_WORDS = 6


class RehearsalModel:
    """Rules instead of a model. `pace` is the seconds that a call takes, so that people can watch.

    `script` are the steps of a crew's demo, which are taken for its request.
    """

    def __init__(self, *, pace: float = 0.0, script: rehearsed_demo.Script = rehearsed_demo.NO_DEMO) -> None:
        self._pace = pace
        self._script = script

    def following(self, script: rehearsed_demo.Script) -> RehearsalModel:
        """Return one of the same pace that follows the steps of a demo."""
        return RehearsalModel(pace=self._pace, script=script)

    @property
    def label(self) -> str:
        """Its name for people."""
        return "rehearsal (no language model)"

    @property
    def provider(self) -> str:
        """Its name in settings and metrics."""
        return NAME

    @property
    def tiers(self) -> Mapping[Tier, str]:
        """The same rules for all tiers."""
        return {"fast": NAME, "balanced": NAME, "deep": NAME}

    async def warm(self) -> None:
        """Nothing to prepare."""

    async def close(self) -> None:
        """Nothing to release."""

    async def take_on(self, names: Iterable[str]) -> Mapping[str, str]:
        """Stand in for every model that a specialist names."""
        del names
        return {}

    def price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """Return 0: rules take no tokens."""
        del tier, tokens_in, tokens_out, model
        return 0.0

    async def reply(self, call: ModelCall) -> Turn:
        """Make one turn. Raises `ModelError` only if `pace` is longer than the call's deadline."""
        began = time.perf_counter()
        turn = _turn(call, self._script)
        try:
            async with asyncio.timeout(call.deadline):
                if call.on_text is None or not turn.text:
                    await asyncio.sleep(HELD if self._is_held(call) else self._pace)
                else:
                    await self._stream(turn.text, call.on_text)
        except TimeoutError:
            message = f"The rehearsal's pace of {self._pace:g} s is longer than the call may take."
            raise ModelError("timeout", message, transient=False) from None
        usage = Usage(model=NAME, calls=1, duration=time.perf_counter() - began)
        return turn.model_copy(update={"usage": usage, "unseen": without_pictures(call)[1]})

    def _is_held(self, call: ModelCall) -> bool:
        return call.purpose.startswith("specialist:") and self._script.holds(_first(call))

    async def _stream(self, text: str, on_text: Callable[[str], Awaitable[None]]) -> None:
        parts = _PIECE.findall(text)
        pieces = ["".join(parts[start : start + _PIECE_WORDS]) for start in range(0, len(parts), _PIECE_WORDS)]
        for piece in pieces:
            await on_text(piece)
            await asyncio.sleep(self._pace / len(pieces))


_DECIDED: Mapping[str, Callable[[str], object]] = {
    "dispatcher": rehearsed_dispatcher.sort,
    "refiner": rehearsed_mending.refine,
    "replanner": lambda _: rehearsed_mending.replan(),
    "rule_reader": rehearsed_rule_reader.read,
}
"""The roles that reply with JSON from their brief alone."""


def _first(call: ModelCall) -> str:
    return next((message.text for message in call.messages if message.role == "user"), "")


def _turn(call: ModelCall, script: rehearsed_demo.Script) -> Turn:
    first = _first(call)
    if call.purpose == "planner":
        decided = script.plan(first) or decide(first, call.system)
        return Turn(text=json.dumps(decided, ensure_ascii=False), stop="end", usage=Usage())
    if call.purpose in _DECIDED:
        said = json.dumps(_DECIDED[call.purpose](first), ensure_ascii=False)
        return Turn(text=said, stop="end", usage=Usage())
    if call.purpose in rehearsed_review.REPLIES:
        return Turn(text=rehearsed_review.REPLIES[call.purpose](first), stop="end", usage=Usage())
    if call.purpose == "synthesizer":
        return Turn(text=write_answer(first), stop="end", usage=Usage())
    if call.purpose.startswith(("specialist:", "made:")):
        move = _specialists_move(call, first, script)
        return _as_turn(rehearsed_corrections.confess(move, call), len(call.messages))
    return Turn(text="Ready: the rehearsal model answers by rules.", stop="end", usage=Usage())


def _specialists_move(call: ModelCall, first: str, script: rehearsed_demo.Script) -> Move:
    """Return the next move of the rehearsed specialist that has such tools, or had them in earlier turns."""
    brief = read_brief(first)
    history = tool_history(call)
    tools = {tool.name: tool for tool in call.tools}
    known = tools.keys() | {each.name for each, _ in history}
    name = call.purpose.partition(":")[2]
    if (move := script.move(name, first, history, tools)) is not None:
        return move
    if HAND_OVER in tools:
        return Move(calls=((HAND_OVER, {"why": "The rehearsal has rules for a planner alone."}),))
    if rehearsed_stranger.is_strange(known):
        return rehearsed_stranger.next_move(name)
    if "profile_table" in known or name == "analyst":
        return rehearsed_analyst.next_move(brief, history, tools)
    if known & {"web_search", "fetch_page"} or name == "researcher":
        return rehearsed_researcher.next_move(brief, history, tools)
    texts = {file.name for file in brief.files if not file.is_table}
    checks = re.search(r"\b(review|check|proof|verif|critique|validate)", brief.own_words, re.IGNORECASE)
    if not brief.notes and not checks and any(source in texts for source, _ in brief.given):
        return rehearsed_reader.next_move(brief)
    if "publish_document" in known or name == "writer" or not re.search("review|check|proof|critic", name):
        return rehearsed_writer.next_move(brief, history, tools)
    return rehearsed_reviewer.next_move(brief)


def _as_turn(move: Move, turn: int) -> Turn:
    calls = tuple(
        ToolCall(id=f"rehearsal_{turn}_{number}", name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(move.calls, start=1)
    )
    return Turn(text=move.text, calls=calls, stop="tool_use", usage=Usage())
