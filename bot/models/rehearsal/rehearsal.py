"""The rehearsal model: deterministic rules in place of a language model. Its texts say that it is none.

The rules read only what a model would read. Specialists, tools, files and Slack calls are real. `make_turn` replies by
the purpose of a call: with text to the supervisor, and to a specialist with a `Move`, which calls tools or ends the
work. If a call belongs to a crew's demo, the demo's script replies before any rule (see `demo_script`).
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from bot.models.chosen_model import REHEARSAL_PROVIDER
from bot.models.picture_support import replace_all_pictures
from bot.models.rehearsal import rehearsed_analyst, rehearsed_writer, role_replies, source_passages
from bot.models.rehearsal.brief_parsing import read_brief, read_history
from bot.models.rehearsal.demo_script import DemoScript, find_script
from bot.models.rehearsal.moves import ESCALATE_TOOL, RETURN_TOOL, Move, make_escalation_move
from bot.models.rehearsal.rehearsed_planner import plan_request
from handoff.contracts import SCRIPTED_MODEL_NAME, Tier, ToolCall, Turn, Usage
from handoff.engine.corrections import CORRECTION_SOURCE
from specialists.model import ModelCall, ModelError
from specialists.turns.finish_tools import HAND_OVER

MODEL_NAME = REHEARSAL_PROVIDER
HELD_CALL_SECONDS = 3000.0
"""Seconds that a specialist's call takes if its script `is_held`."""
KNOWN_TOOLS = frozenset(
    {
        *("profile_table", "query_table", "calculate", "draw_chart", "publish_document"),
        *("read_material", "search_material", "return_result", "escalate"),
    }
)
"""Tools that the rules can use. The rehearsal declines the work of a specialist with any other tool."""
NO_RULES_MESSAGE = (
    "This is the rehearsal, no language model. It has no rules for the work of {name}, so nothing was done. "
    "ANTHROPIC_API_KEY, OPENAI_API_KEY or an Ollama give it a model; a crew's own demo is shown by "
    "`leadhand try --crew NAME --demo`."
)
NOT_APPLIED_GAP = "“{words}” was not applied: this is a rehearsal, and no model reads what is said meanwhile"
_LATE_MESSAGE_PATTERN = re.compile("has said meanwhile: \u201c(?P<words>.*?)\u201d (?:Work by|Take that)", re.DOTALL)
_CORRECTION_SECTION = re.compile(
    rf"^## {re.escape(CORRECTION_SOURCE)}\n(?P<words>.*?)(?=\n#|\Z)", re.DOTALL | re.MULTILINE
)
"""The section of a brief with corrections that people made between planning and the specialist's start."""
_MAX_QUOTE_CHARS = 160
_STREAM_PIECE_PATTERN = re.compile(r"(?:\S+\s*){1,6}|\s+")


class RehearsalModel:
    """A model that replies by rules. `pace` is the seconds that each call takes, so that people can watch.

    `scripts` are the demos that it plays: each replies only to the demo's own request.
    """

    def __init__(self, *, pace: float = 0.0, scripts: tuple[DemoScript, ...] = ()) -> None:
        self._pace = pace
        self._scripts = scripts

    def with_scripts(self, *scripts: DemoScript) -> RehearsalModel:
        """Return a rehearsal with the same pace that plays these demos."""
        return RehearsalModel(pace=self._pace, scripts=scripts)

    @property
    def label(self) -> str:
        """The rehearsal's name for people."""
        return "rehearsal (no language model)"

    @property
    def provider(self) -> str:
        """The rehearsal's name in settings and metrics."""
        return MODEL_NAME

    @property
    def tiers(self) -> Mapping[Tier, str]:
        """The rehearsal's name for each tier, as all have the same rules."""
        return {"fast": MODEL_NAME, "balanced": MODEL_NAME, "deep": MODEL_NAME}

    async def warm(self) -> None:
        """Do nothing: rules need no preparation."""

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    async def register_models(self, names: Iterable[str]) -> Mapping[str, str]:
        """Return no faults: the rehearsal replies in place of any model that a specialist names."""
        del names
        return {}

    def compute_price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """Return 0: rules take no tokens."""
        del tier, tokens_in, tokens_out, model
        return 0.0

    async def reply(self, call: ModelCall) -> Turn:
        """Make one turn.

        Raises `ModelError` if the pace, or `HELD_CALL_SECONDS` for a held script, exceeds the call's deadline.
        """
        began = time.perf_counter()
        script = find_script(self._scripts, _read_first_message(call))
        turn = make_turn(call, script)
        is_held = script.is_held and call.purpose.startswith("specialist:")
        try:
            async with asyncio.timeout(call.timeout_seconds):
                if call.on_text is None or not turn.text:
                    await asyncio.sleep(HELD_CALL_SECONDS if is_held else self._pace)
                else:
                    await self._stream(turn.text, call.on_text)
        except TimeoutError:
            message = f"The rehearsal's pace of {self._pace:g} s is longer than the call may take."
            raise ModelError("timeout", message, transient=False) from None
        name = SCRIPTED_MODEL_NAME if script.replies else MODEL_NAME
        usage = Usage(model=name, calls=1, duration=time.perf_counter() - began)
        return turn.model_copy(update={"usage": usage, "unseen": replace_all_pictures(call)[1]})

    async def _stream(self, text: str, on_text: Callable[[str], Awaitable[None]]) -> None:
        pieces = _STREAM_PIECE_PATTERN.findall(text)
        for piece in pieces:
            await on_text(piece)
            await asyncio.sleep(self._pace / len(pieces))


def _read_first_message(call: ModelCall) -> str:
    return next((message.text for message in call.messages if message.role == "user"), "")


def make_turn(call: ModelCall, script: DemoScript) -> Turn:
    """Return the turn for a call by its purpose: text for a role of the supervisor, tool calls for a specialist."""
    first = _read_first_message(call)
    if call.purpose.startswith(("specialist:", "made:")):
        move = _add_correction_gaps(_choose_move(call, first, script), call)
        calls = tuple(
            ToolCall(id=f"rehearsal_{len(call.messages)}_{number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(move.calls, start=1)
        )
        return Turn(text=move.text, calls=calls, stop="tool_use", usage=Usage())
    if call.purpose == "planner":
        text: str | None = json.dumps(script.find_plan(first) or plan_request(first, call.system), ensure_ascii=False)
    elif call.purpose == "synthesizer":
        text = script.find_answer(first) or rehearsed_writer.write_answer(first)
    else:
        text = role_replies.reply_for_role(call.purpose, first)
    return Turn(text=text or "Ready: the rehearsal model answers by rules.", stop="end", usage=Usage())


def _choose_move(call: ModelCall, first_message: str, script: DemoScript) -> Move:
    """Return a specialist's next move: from the demo's script, or by the tools of this and earlier turns."""
    brief, history = read_brief(first_message), read_history(call)
    tools = {tool.name: tool for tool in call.tools}
    tool_names = tools.keys() | {each.name for each, _ in history}
    name = call.purpose.partition(":")[2]
    if (move := script.find_move(name, first_message, history, tools)) is not None:
        return move
    if HAND_OVER in tools:
        return Move(calls=((HAND_OVER, {"why": "The rehearsal has rules for a planner alone."}),))
    if not tool_names <= KNOWN_TOOLS or any(word in name for word in ("review", "check", "proof", "critic")):
        return make_escalation_move("out_of_scope", brief.failure_reason or NO_RULES_MESSAGE.format(name=name))
    if "profile_table" in tool_names or name == "analyst":
        return rehearsed_analyst.choose_move(brief, history, tools)
    texts = {file.name for file in brief.files if not file.is_table}
    if not brief.notes and any(source in texts for source, _ in brief.source_texts):
        return source_passages.make_text_answer(brief)
    return rehearsed_writer.make_note_move(brief)


def _add_correction_gaps(move: Move, call: ModelCall) -> Move:
    """Add gaps for corrections that people made, which rules cannot apply, to a move that ends a specialist's work."""
    user_messages = [message for message in call.messages if message.role == "user"]
    texts = [text for one in user_messages for text in (one.text, *(reply.text for reply in one.replies))]
    corrections = dict.fromkeys(
        words
        for text in texts
        for pattern in (_CORRECTION_SECTION, _LATE_MESSAGE_PATTERN)
        for words in pattern.findall(text)
    )
    gaps = [NOT_APPLIED_GAP.format(words=" ".join(words.split())[:_MAX_QUOTE_CHARS]) for words in corrections]
    return Move(tuple((name, _add_gaps(name, arguments, gaps)) for name, arguments in move.calls), move.text)


def _add_gaps(name: str, arguments: dict[str, Any], gaps: list[str]) -> dict[str, Any]:
    if gaps and name == RETURN_TOOL:
        return {**arguments, "gaps": [*arguments.get("gaps", ()), *gaps]}
    if gaps and name == ESCALATE_TOOL:
        return {**arguments, "message": ". ".join([str(arguments.get("message", "")).rstrip("."), *gaps])}
    return arguments
