"""The planner: one model call that turns a request into a plan, checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from bot.supervisor.adhoc_offer import Making
from bot.supervisor.json_replies import reply_schema
from bot.supervisor.prompts import call_of
from handoff.context_budget import Pack, Piece, pack
from handoff.contracts import Member, Note, Plan, Terms, Usage
from handoff.effects import MakePlan
from handoff.events import PlanProposed, PlanRejected, RequestFailed
from handoff.headings import demote_headings
from handoff.planning.adhoc import Allowance
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.plan_check import MAX_SUBTASKS, check, read_plan
from handoff.state import Ask
from specialists.turns.model import Model, ModelError, Withheld

DEADLINE = 120.0
MAX_TOKENS = 8192
EARLIER = 1_200
"""Characters of each earlier answer in the thread that the planner is shown."""
SHORT = 200
"""The same where the thread is too long."""

ADVICE = "Mention me again in a while; if it stays, ask whoever runs me to look at `leadhand check`."

Planned = PlanProposed | PlanRejected | RequestFailed


async def ask_planner(
    effect: MakePlan,
    brief: PlanBrief,
    *,
    members: Sequence[Member],
    model: Model,
    now: float,
    terms: Terms,
    making: Making | None = None,
) -> Planned:
    """Ask once for a plan. A second try is told the exact faults of the first.

    `terms` are those of the crew. `making` is what the crew allows to have made: without
    it, prompt and schema say nothing of that.
    """
    by_name = {member.name: member for member in members}
    packed = describe(brief, members, terms.room_of("planner"))
    text = packed.text
    if effect.faults:
        text += "\n\n" + repair(effect.faults)
    call = call_of(
        "planner",
        text,
        terms=terms,
        max_tokens=MAX_TOKENS,
        deadline=DEADLINE,
        answer_schema=plan_schema(tuple(by_name), making.allowed if making else None),
    )
    if making is not None:
        call = replace(call, system=call.system + making.words)
    try:
        turn = await model.reply(call)
    except ModelError as error:
        return RequestFailed(
            at=now,
            request=effect.request,
            step="planning",
            reason=str(error),
            advice=(isinstance(error, Withheld) and error.advice) or ADVICE,
            usage=error.usage,
        )
    if turn.stop == "refused":
        return _refused(effect, turn.text, turn.usage, now)
    allowed = making.allowed if making else None
    plan, faults = read_plan(turn.text, by_name, allowed, mended=bool(effect.faults))
    if turn.stop == "max_tokens" and plan is None:
        faults = ("The plan was cut off at the length limit; make it shorter.",)
    of: dict[str, Any] = {"at": now, "request": effect.request, "within": effect.within}
    if plan is None:
        return PlanRejected(**of, faults=faults, pack=packed.packed, usage=turn.usage)
    reasons = tuple(f"taken as it is: {fault}" for fault in check(plan, by_name, allowed)) if effect.faults else ()
    return PlanProposed(**of, plan=plan, reasons=reasons, pack=packed.packed, usage=turn.usage)


def _refused(effect: MakePlan, text: str, usage: Usage, now: float) -> RequestFailed:
    reason = "the model declined this request" + (f": {text.strip()[:300]}" if text.strip() else "")
    advice = "Say what it is for, or ask for something else."
    return RequestFailed(at=now, request=effect.request, step="planning", reason=reason, advice=advice, usage=usage)


def describe(brief: PlanBrief, members: Sequence[Member], context: int) -> Pack:
    """What the planner sees: the request, one line a specialist, the files, and the thread so far or the notes.

    Of a long thread what is oldest goes first; the request, the specialists and the files always stay.
    """
    parts = ["# Request", demote_headings(brief.text), "", "# Specialists"]
    parts += [f"- {member.name}: {member.line}" for member in members]
    if brief.files:
        parts += ["", "# Files", *(f"- {file.name} ({file.media_type}, {file.size} bytes)" for file in brief.files)]
    if brief.file_faults:
        parts += ["", "# Files that could not be read", *(f"- {fault}" for fault in brief.file_faults)]
    if brief.earlier:
        parts += ["", "# Earlier in this thread"]
    pieces = [Piece("the request", ("\n".join(parts),))]
    pieces += [_earlier(other, age) for age, other in enumerate(brief.earlier)]
    pieces += [_note(note) for note in brief.notes]
    return pack(pieces, context)


def _note(note: Note) -> Piece:
    text = demote_headings(note.text)
    forms = (text, text[:EARLIER], text[:SHORT])
    texts = dict.fromkeys(f"\n# Known: {note.source}\n{form}" for form in forms)
    return Piece(note.source, tuple(texts))


def _earlier(ask: Ask, weight: int) -> Piece:
    end = ask.run.answer or (f"(no answer: {ask.run.failure.reason})" if ask.run.failure else "(no answer yet)")
    asked, end = demote_headings(ask.request.text), demote_headings(end)
    whole = f"## Asked: {asked}\n{end[:EARLIER]}"
    short = f"## Asked: {asked[:SHORT]}\n{end[:SHORT]}"
    return Piece(f"asked before: {asked[:40]}", (whole, short, "") if len(short) < len(whole) else (whole, ""), weight)


def repair(faults: Sequence[str]) -> str:
    """What the planner is told about a plan that did not pass."""
    heading = "# Your last plan was not accepted\nAnswer with the whole plan again, with these mended:"
    return "\n".join([heading, *(f"- {fault}" for fault in faults)])


@cache
def plan_schema(specialists: tuple[str, ...], allowed: Allowance | None = None) -> dict[str, Any]:
    """Give the JSON Schema of a plan for this crew; naming the specialists in it keeps small models on the list.

    If specialists may be made there is no list: their names are the planner's own.
    """
    if allowed is None:
        enums: dict[str, tuple[str, ...]] = {"subtasks.specialist": specialists}
        return reply_schema(Plan, enums=enums, most={"subtasks": MAX_SUBTASKS}, without={"made"})
    return reply_schema(
        Plan,
        enums={"made.tools": allowed.tools, "made.tier": allowed.tiers},
        most={"made": allowed.at_most, "subtasks": MAX_SUBTASKS},
        without=() if allowed.tools else {"made.tools"},
    )
