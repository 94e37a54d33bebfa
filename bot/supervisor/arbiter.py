"""The arbiter: one model call that judges claims by their evidence, and never learns who made them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from bot.supervisor.json_replies import closed, json_object
from bot.supervisor.prompts import call_of
from handoff.checking.conflicts import JUDGED
from handoff.context_budget import Pack, Piece, pack
from handoff.contracts import Conflict, Side
from handoff.effects import JudgeConflicts
from handoff.engine import answer
from handoff.events import ConflictsJudged
from handoff.state import Ask
from specialists.turns.dialogue import Model, ModelError

DEADLINE = 90.0
MAX_TOKENS = 4096
REASON = 300
"""Characters of a reason that are kept."""
SOURCE = 300
"""Characters of a source that are shown."""
SURE = 70
"""How sure, 0 to 100, the arbiter must be that there is no contradiction for it not to be told."""
_EVIDENCE = "  as a tool gave it:"

_VERDICTS = ("same", "contradict")
SCHEMA = closed(
    {
        "judgements": {
            "type": "array",
            "items": closed(
                {
                    "pair": {"type": "integer"},
                    "verdict": {"type": "string", "enum": list(_VERDICTS)},
                    "supported": {"type": "string", "enum": ["A", "B", "none"]},
                    "confidence": {"type": "integer"},
                    "reason": {"type": "string"},
                }
            ),
        }
    }
)


async def judge_conflicts(_: JudgeConflicts, ask: Ask, *, model: Model, now: Callable[[], float]) -> ConflictsJudged:
    """What the arbiter says of the disputed claims. What it cannot say stays open, and is shown so."""
    disputed, unjudged = answer.disputed(ask)[:JUDGED], answer.beyond(ask)
    shown = describe(disputed, ask.terms.context.balanced)
    call = call_of(
        "arbiter",
        shown.text,
        max_tokens=MAX_TOKENS,
        deadline=DEADLINE,
        answer_schema=SCHEMA,
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        judged, usage = tuple(_open(one, f"nobody could judge it ({error})") for one in disputed), error.usage
    else:
        judged, usage = read(turn.text, disputed), turn.usage
    return ConflictsJudged(
        at=now(), request=ask.id, conflicts=judged, unjudged=unjudged, pack=shown.packed, usage=usage
    )


def describe(conflicts: Sequence[Conflict], context: int) -> Pack:
    """What the arbiter sees: the claims and their evidence, and nothing of who said them or of the job.

    Where `context`, in tokens, is too small, what the tools said goes before the claims and their sources.
    """
    pieces = [Piece("the claims", ("# Claims",))]
    for number, conflict in enumerate(conflicts, start=1):
        both = list(zip("AB", conflict.sides, strict=False))
        forms = ["\n".join(["", f"## Pair {number}", *_sides(both, evidence=keep)]) for keep in (True, False)]
        pieces.append(Piece(f"figures on {conflict.claim}", tuple(dict.fromkeys(forms))))
    return pack(pieces, context)


def _sides(both: Sequence[tuple[str, Side]], *, evidence: bool) -> list[str]:
    return [line for letter, side in both for line in _side(letter, side) if evidence or not line.startswith(_EVIDENCE)]


def _side(letter: str, side: Side) -> list[str]:
    lines = [f"{letter}: {json.dumps(side.statement, ensure_ascii=False)}"]
    lines.append(f"  source: {' '.join(side.source.split())[:SOURCE] or 'none named'}")
    return lines + [f"{_EVIDENCE} {json.dumps(figure, ensure_ascii=False)}" for figure in side.evidence]


def read(text: str, disputed: Sequence[Conflict]) -> tuple[Conflict, ...]:
    """The disputed claims with what was said of them. A pair that the reply says nothing usable of stays open.

    So do all of them where the reply's numbers are not those of the pairs: its words may be about other ones.
    """
    listed = json_object(text).get("judgements")
    judgements = [one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict)]
    numbers = [_number(one.get("pair")) for one in judgements]
    if len(set(numbers)) < len(numbers) or not set(numbers) <= set(range(1, len(disputed) + 1)):
        judgements = []
    given = dict(zip(numbers, judgements, strict=False))
    return tuple(_judged(conflict, given.get(place, {})) for place, conflict in enumerate(disputed, start=1))


def _number(given: Any) -> int:
    """The number of a pair; 0 for what is none."""
    text = str(given).strip()
    return int(text) if text.isascii() and text.isdigit() else 0


def _judged(conflict: Conflict, said: dict[str, Any]) -> Conflict:
    verdict = str(said.get("verdict", "")).strip().lower()
    if verdict not in _VERDICTS:
        return _open(conflict, "it could not be judged")
    letter = str(said.get("supported", "")).strip().upper()
    favoured = {"A": 0, "B": 1}.get(letter)
    given = said.get("confidence")
    known = isinstance(given, int | float) and not isinstance(given, bool)
    confidence = max(0, min(100, round(given))) if known and given is not None else 50
    reason = " ".join(str(said.get("reason") or "").split())[:REASON]
    if verdict == "same" and confidence < SURE:
        return _open(conflict, f"perhaps both hold ({confidence} % sure){': ' if reason else ''}{reason}")
    return conflict.model_copy(
        update={
            "verdict": verdict,
            "favours": "" if favoured is None or verdict == "same" else conflict.sides[favoured].subtask,
            "reason": reason,
            "confidence": confidence,
        }
    )


def _open(conflict: Conflict, reason: str) -> Conflict:
    return conflict.model_copy(update={"verdict": "open", "reason": reason[:REASON], "confidence": 0})
