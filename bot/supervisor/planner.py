"""The planner: one model call that decides what happens with a request. A plan is checked before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from bot.supervisor.adhoc_offer import Making
from bot.supervisor.json_replies import closed, reply_schema
from bot.supervisor.prompts import call_of, prompt
from handoff.context_budget import Pack, Piece, pack
from handoff.contracts import ANSWER, ASK, NOBODY, SEVERAL, Member, Note, Plan, Terms, Usage
from handoff.effects import MakePlan
from handoff.events import AnswerWritten, PlannerAsked, PlanProposed, PlanRejected, RequestFailed
from handoff.headings import demote_headings
from handoff.planning.adhoc import Allowance
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.plan_check import MAX_SUBTASKS
from handoff.planning.planner_reply import read_reply
from handoff.planning.routing import alone
from handoff.state import Ask
from specialists.turns.model import Model, ModelError, Withheld

MAX_TOKENS = 8192
EARLIER = 1_200
"""Characters of each earlier answer in the thread that the planner is shown."""
SHORT = 200
"""The same where the thread is too long."""

CUT_OFF = "The reply was cut off at the length limit; make it shorter."
ADVICE = "Mention me again in a while; if it stays, ask whoever runs me to look at `leadhand check`."

Planned = PlanProposed | PlanRejected | AnswerWritten | PlannerAsked | RequestFailed


async def ask_planner(
    effect: MakePlan,
    brief: PlanBrief,
    *,
    members: Sequence[Member],
    default: str,
    model: Model,
    now: Callable[[], float],
    terms: Terms,
    making: Making | None = None,
) -> Planned:
    """Ask once what to do. A second try is told the exact faults of the first.

    If the second reply is not usable either, the specialist `default` gets the text as it stands. `terms` are those of
    the crew. `now` gives the seconds since the epoch, and dates what came of it. `making` is what the crew allows to
    have made: without it, prompt and schema say nothing of that.
    """
    by_name = {member.name: member for member in members}
    packed = describe(brief, terms.room_of("planner"))
    allowed = making.allowed if making else None
    call = call_of(
        "planner",
        packed.text + (f"\n\n{repair(effect.faults)}" if effect.faults else ""),
        terms=terms,
        max_tokens=MAX_TOKENS,
        answer_schema=decision_schema(
            tuple(by_name), allowed, may_answer=brief.may_answer, may_ask=brief.may_ask and not effect.faults
        ),
    )
    made = making.words if making else ""
    call = replace(call, system=f"{call.system}{made}\n\n{roster(members)}\n\n{examples(members)}")
    try:
        turn = await model.reply(call)
    except ModelError as error:
        advice = (isinstance(error, Withheld) and error.advice) or ADVICE
        failed: dict[str, Any] = {"step": "planning", "reason": str(error), "advice": advice, "usage": error.usage}
        return RequestFailed(at=now(), request=effect.request, **failed)
    of: dict[str, Any] = {"at": now(), "request": effect.request}
    if turn.stop == "refused":
        return _refused(effect, turn.text, turn.usage, now())
    reply = read_reply(turn.text, brief, by_name, allowed, mended=bool(effect.faults))
    spent: dict[str, Any] = {"pack": packed.packed, "usage": turn.usage}
    if reply.answer:
        return AnswerWritten(**of, text=reply.answer, why="; ".join(reply.reasons), **spent)
    if reply.question:
        return PlannerAsked(**of, question=reply.question, options=reply.options, reasons=reply.reasons, **spent)
    if reply.plan is not None:
        return PlanProposed(**of, within=effect.within, plan=reply.plan, reasons=reply.reasons, **spent)
    faults = (CUT_OFF,) if turn.stop == "max_tokens" else reply.faults
    if not effect.faults:
        return PlanRejected(**of, within=effect.within, faults=faults, **spent)
    why = f"no usable plan in two tries, so {default} gets it as it stands: {' '.join(faults[:3])}"
    return PlanProposed(**of, within=effect.within, plan=alone(brief.text, default), reasons=(why,), **spent)


def _refused(effect: MakePlan, text: str, usage: Usage, now: float) -> RequestFailed:
    reason = "the model declined this request" + (f": {text.strip()[:300]}" if text.strip() else "")
    advice = "Say what it is for, or ask for something else."
    return RequestFailed(at=now, request=effect.request, step="planning", reason=reason, advice=advice, usage=usage)


def roster(members: Sequence[Member]) -> str:
    """List the specialists, one line each: the same in every call of a crew, so that providers can keep it."""
    return "\n".join(("# Specialists", *(f"- {member.name}: {member.line}" for member in members)))


def examples(members: Sequence[Member]) -> str:
    """List requests and what becomes of them: those that the specialists' files name, then those of every crew."""
    lines = [
        f"{_json(asked)}: {_json({'why': kind, 'next': {'who': member.name}})}"
        for member in members
        for asked, kind in member.examples
    ]
    return "\n".join(("# Examples", *lines, prompt("planner_examples")))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def describe(brief: PlanBrief, context: int) -> Pack:
    """Describe what the planner sees: the request, the files, and the thread so far or the notes.

    Of a long thread what is oldest goes first; the request and the files always stay.
    """
    parts = ["# Request", demote_headings(brief.text)]
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
    heading = "# Your last plan was not accepted\nReply again in whole, with these mended:"
    return "\n".join([heading, *(f"- {fault}" for fault in faults)])


@cache
def decision_schema(
    specialists: tuple[str, ...], allowed: Allowance | None = None, *, may_answer: bool = True, may_ask: bool = True
) -> dict[str, Any]:
    """Give the JSON Schema of a reply: the reason, then one of the decisions that are open to the planner."""
    text = {"type": "string"}
    plan = plan_schema(specialists, allowed)["properties"]
    several = {"type": "array", "items": text}
    ways = [_way(*specialists), _way(SEVERAL, **plan), _way(NOBODY, missing=several)]
    words = [who for who, may in ((ANSWER, may_answer), (ASK, may_ask)) if may]
    if words:
        ways.append(_way(*words, text=text, options=several))
    return closed({"why": text, "next": {"anyOf": ways}})


def _way(*who: str, **properties: Any) -> dict[str, Any]:
    return closed({"who": {"type": "string", "enum": list(who)}, **properties})


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
