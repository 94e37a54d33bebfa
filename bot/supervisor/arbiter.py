"""The arbiter: one model call that judges claims by their evidence, and never learns who made them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bot.supervisor.json_replies import closed, json_object
from bot.supervisor.prompts import call_of
from bot.supervisor.roles import Case
from handoff.context_budget import Pack, Piece, pack
from handoff.contracts import Conflict, Side
from handoff.effects import JudgeConflicts
from handoff.events import ConflictsJudged
from specialists.turns.model import ModelError

MAX_TOKENS = 4096
REASON = 300
"""Characters of a reason that are kept."""
SOURCE = 300
"""Characters of a source that are shown."""
SURE = 70
"""The least confidence, 0 to 100, at which a verdict of "no contradiction" keeps the pair out of the answer."""
_EVIDENCE = "  as a tool gave it:"

_VERDICTS = ("same", "contradict")
SCHEMA = closed(
    {
        "judgements": {
            "type": "array",
            "items": closed(
                {
                    "pair": {"type": "integer"},
                    "reason": {"type": "string"},
                    "verdict": {"type": "string", "enum": list(_VERDICTS)},
                    "supported": {"type": "string", "enum": ["A", "B", "none"]},
                    "confidence": {"type": "integer"},
                }
            ),
        }
    }
)


async def perform(effect: JudgeConflicts, case: Case) -> ConflictsJudged:
    """Ask the arbiter about reported contradictions. One that it cannot judge stays open, and is shown as open."""
    ask, run, model, now = case.ask, case.run, case.model, case.now
    disputed = run.disputed
    shown = describe(disputed, run.terms.room_of("arbiter"))
    call = call_of(
        "arbiter",
        shown.text,
        terms=run.terms,
        max_tokens=MAX_TOKENS,
        answer_schema=SCHEMA,
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        judged, usage = tuple(_open(one, f"nobody could judge it ({error})") for one in disputed), error.usage
    else:
        judged, usage = read(turn.text, disputed), turn.usage
    return ConflictsJudged(
        at=now(),
        request=ask.id,
        within=effect.within,
        conflicts=judged,
        pack=shown.packed,
        usage=usage,
    )


def describe(conflicts: Sequence[Conflict], context: int) -> Pack:
    """Build the arbiter's brief: the claims and their evidence, and nothing of who said them or of the job.

    If the pieces do not fit into `context` tokens, the tools' lines are left out before the claims and their sources.
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
    """Read the verdicts on the disputed claims. A pair on which the reply says nothing usable stays open.

    All pairs stay open if the reply's numbers are not those of the pairs: its words may be about other pairs.
    """
    listed = json_object(text).get("judgements")
    judgements = [one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict)]
    numbers = [_number(one.get("pair")) for one in judgements]
    if len(set(numbers)) < len(numbers) or not set(numbers) <= set(range(1, len(disputed) + 1)):
        judgements = []
    given = dict(zip(numbers, judgements, strict=False))
    return tuple(_judged(conflict, given.get(place, {})) for place, conflict in enumerate(disputed, start=1))


def _number(given: Any) -> int:
    """Return the number of a pair; 0 if it is none."""
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
