"""The planner: one model call that answers a request, asks back, or plans it. Plans are checked before they run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from bot.limits.breakers import ADVICE
from bot.supervisor.adhoc_offer import AdhocOffer
from bot.supervisor.prompts import closed_object, crew_words, make_role_call, prompt, reply_schema
from handoff.contracts import ANSWER, ASK, NOBODY, SEVERAL, Artifact, Material, Member, Note, Plan, Terms, Usage
from handoff.effects import MakePlan
from handoff.events import AnswerWritten, PlannerAsked, PlanProposed, PlanRejected, RequestFailed
from handoff.materials.material_lists import LAST_ANSWER
from handoff.materials.outline import describe_columns, summarize_outline
from handoff.planning.adhoc import AdhocAllowance
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.plan_check import MAX_SUBTASKS
from handoff.planning.planner_reply import read_reply
from handoff.planning.routing import make_single_plan
from handoff.state.derived_values import cache_on_value
from handoff.state.job_state import RequestState
from handoff.text.context_budget import Pack, Piece, pack
from handoff.text.headings import demote_headings
from specialists.model import CallWithheld, Model, ModelError

MAX_TOKENS = 8192
EARLIER = 1_200
"""Characters at most of each earlier answer and of each note in the brief."""
SHORT = 200
"""The same if the brief is too long."""
OUTLINE = 400
"""Characters at most of a material's outline."""
OUTLINE_OF_CHANGE = 2_400
"""The same for a diff."""
MATERIAL = "# Source material"
PLAN_BEFORE = "# Plan of the last request"
MOST_NAMES = 100
"""Names of material at most that the schema lists: providers limit the length of a schema."""

CUT_OFF = "The reply was cut off, as it was too long or repeated itself; make it shorter."

PlannerEvent = PlanProposed | PlanRejected | AnswerWritten | PlannerAsked | RequestFailed


async def ask_planner(
    effect: MakePlan,
    brief: PlanBrief,
    *,
    members: Sequence[Member],
    default: str,
    model: Model,
    now: Callable[[], float],
    terms: Terms,
    making: AdhocOffer | None = None,
) -> PlannerEvent:
    """Call the planner once, and return its decision as an event.

    In a second try the brief has the faults of the first. If its reply is unusable too, the specialist `default` gets
    the request as it stands. `terms` are those of the crew. `now` returns seconds since the epoch. `making` is the
    crew's offer of ad-hoc specialists; without it, prompt and schema do not mention them.
    """
    by_name = {member.name: member for member in members}
    packed = build_brief(brief, terms.get_context_tokens("planner"), members)
    allowed = making.allowed if making else None
    call = make_role_call(
        "planner",
        packed.text + (f"\n\n{render_faults(effect.faults)}" if effect.faults else ""),
        terms=terms,
        max_tokens=MAX_TOKENS,
        answer_schema=decision_schema(
            tuple(by_name),
            allowed,
            needs=tuple(one.name for one in brief.materials),
            may_answer=brief.may_answer,
            may_ask=brief.may_ask and not effect.faults,
        ),
    )
    made = making.words if making else ""
    needs = f"\n\n{prompt('planner_needs')}" if brief.materials else ""  # last, so that providers cache the rest
    words = crew_words(terms, "planner")
    crew = f"{roster(members)}{words}\n\n{examples(members, terms.crew_words.get('examples', ''))}"
    needs += f"\n\n{prompt('planner_again')}" if brief.plan_before is not None else ""
    call = replace(call, system=f"{prompt('planner')}{made}\n\n{crew}{needs}")
    try:
        turn = await model.reply(call)
    except ModelError as error:
        advice = (isinstance(error, CallWithheld) and error.advice) or ADVICE
        failed: dict[str, Any] = {"step": "planning", "reason": str(error), "advice": advice, "usage": error.usage}
        return RequestFailed(at=now(), request=effect.request, **failed)
    of: dict[str, Any] = {"at": now(), "request": effect.request}
    if turn.stop == "refused":
        return _make_refusal(effect, turn.text, turn.usage, now())
    reply = read_reply(turn.text, brief, by_name, allowed, mended=bool(effect.faults))
    spent: dict[str, Any] = {"pack": packed.packed, "usage": turn.usage}
    if reply.answer:
        return AnswerWritten(**of, text=reply.answer, why="; ".join(reply.reasons), **spent)
    if reply.question:
        asked: dict[str, Any] = {"question": reply.question, "options": reply.options, "reasons": reply.reasons}
        asked |= {"whom": reply.whom, "assumption": reply.assumption, "asking": terms.asking}
        return PlannerAsked.model_validate({**of, **asked, **spent})
    if reply.plan is not None:
        return PlanProposed(**of, within=effect.within, plan=reply.plan, reasons=reply.reasons, **spent)
    faults = (CUT_OFF,) if turn.stop == "max_tokens" else reply.faults
    if not effect.faults:
        return PlanRejected(**of, within=effect.within, faults=faults, **spent)
    why = f"no usable plan in two tries, so {default} gets it as it stands: {' '.join(faults[:3])}"
    return PlanProposed(**of, within=effect.within, plan=make_single_plan(brief.text, default), reasons=(why,), **spent)


def _make_refusal(effect: MakePlan, text: str, usage: Usage, now: float) -> RequestFailed:
    reason = "the model declined this request" + (f": {text.strip()[:300]}" if text.strip() else "")
    advice = "Say what it is for, or ask for something else."
    return RequestFailed(at=now, request=effect.request, step="planning", reason=reason, advice=advice, usage=usage)


def roster(members: Sequence[Member]) -> str:
    """Render the list of specialists, one per line: the same in all calls of a crew, so that providers can cache it."""
    return "\n".join(("# Specialists", *(f"- {member.name}: {member.line}" for member in members)))


def examples(members: Sequence[Member], shown: str = "") -> str:
    """Render examples of requests and decisions: from the specialists' files, then `shown`, then those of all crews."""
    lines = [
        f"{_dump_json(asked)}: {_dump_json({'why': kind, 'next': {'who': member.name}})}"
        for member in members
        for asked, kind in member.examples
    ]
    return "\n".join(("# Examples", *lines, *filter(None, (shown,)), prompt("planner_examples")))


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def build_brief(brief: PlanBrief, context: int, members: Sequence[Member] = ()) -> Pack:
    """Build the planner's brief: the request, the files, earlier requests or notes, and the material.

    A file that only the tools of some members can read is listed with their names. If room is short, the oldest
    requests of the thread are cut first; the request, the files and the names of the material always stay.
    """
    known = {one.file.id: one for one in brief.materials if one.file is not None}
    parts = ["# Request", demote_headings(brief.text)]
    if brief.handed_over:
        parts += ["", "# Why one specialist alone did not do it", demote_headings(brief.handed_over)]
    if brief.files:
        parts += ["", "# Files", *(_file_line(file, known.get(file.id), members) for file in brief.files)]
    if brief.file_faults:
        parts += ["", "# Files that could not be read", *(f"- {fault}" for fault in brief.file_faults)]
    if brief.earlier:
        parts += ["", "# Earlier in this thread"]
    pieces = [Piece("the request", ("\n".join(parts),))]
    pieces += [Piece(*_earlier_request(other), age) for age, other in enumerate(brief.earlier)]
    pieces += [_note_piece(note) for note in brief.notes]
    pieces += [_make_earlier_plan_piece(brief.plan_before)] if brief.plan_before is not None else []
    return pack([*pieces, *_source_material(brief)], context)


def _file_line(file: Artifact, material: Material | None, members: Sequence[Member]) -> str:
    name = material.name if material is not None else file.name
    ending = PurePath(file.name).suffix.lower()
    readers = [member.name for member in members if ending in member.reads]
    whose = f", for {' or '.join(readers)}" if 0 < len(readers) < len(members) else ""
    shown = f"- {name} ({file.media_type}, {file.size} bytes{whose})"
    if material is None:
        return shown
    outline = (
        describe_columns(material, OUTLINE)
        if material.is_table
        else summarize_outline(material, _find_outline_size(material))
    )
    return f"{shown} — {outline}" if outline else shown


def _find_outline_size(material: Material) -> int:
    """Return the characters that an outline may have: more for a diff, since each file in it matters for the plan."""
    return OUTLINE_OF_CHANGE if material.name.endswith((".diff", ".patch")) else OUTLINE


def _source_material(brief: PlanBrief) -> list[Piece]:
    """Return the list of other material than files, and the beginnings of texts."""
    listed = {file.id for file in brief.files}
    others = [one for one in brief.materials if one.file is None or one.file.id not in listed]
    if not others and not brief.beginnings:
        return []
    lines = [MATERIAL, *map(material_line, others)]
    pieces = [Piece("the material", ("\n".join(("", *lines)),))]
    kinds = {one.name: one.kind for one in brief.materials}
    for place, (name, texts) in enumerate(brief.beginnings.items()):
        shown = tuple(map(demote_headings, texts))
        is_whole = kinds.get(name, "memory") in {"thread", "memory"}
        heading, called = (f"## {name}", name) if is_whole else (f"## {name} begins", f"{name}, its beginning")
        short = (shown[-1][:SHORT],) if len(shown[-1]) > SHORT else ()
        forms = (*(f"{heading}\n{text}" for text in (*shown, *short)), "")
        pieces.append(Piece(called, forms, -place - 1))
    return pieces


def material_line(one: Material) -> str:
    """Render a material in one line: its name, kind, size and outline."""
    about = {"request": "this request, word for word", "answer": "an earlier answer", "thread": "said in this thread"}
    if one.kind == "answer" and one.name == LAST_ANSWER:
        about["answer"] = "the last answer in this thread"
    if one.is_channel_talk:
        about["thread"] = "said in that channel"
    told = ", ".join(filter(None, (about.get(one.kind, ""), f"{one.size:,} characters" if one.size else "")))
    outline = summarize_outline(one, _find_outline_size(one))
    return f"- {one.name}{f' ({told})' if told else ''}{f' — {outline}' if outline else ''}"


def _note_piece(note: Note) -> Piece:
    text = demote_headings(note.text)
    forms = (text, text[:EARLIER], text[:SHORT])
    texts = dict.fromkeys(f"\n# Known: {note.source}\n{form}" for form in forms)
    return Piece(note.source, tuple(texts))


def _make_earlier_plan_piece(plan: Plan) -> Piece:
    """Render the plan of the last request, for a request that asks for the same in other words."""
    lines = []
    for one in plan.subtasks:
        after = f", after {', '.join(one.after)}" if one.after else ""
        lines.append(f"- {one.id} ({one.specialist}{after}): {' '.join(one.intent.split())}")
    text = demote_headings("\n".join(lines))
    return Piece("the plan of the last request", (f"\n{PLAN_BEFORE}\n{text}", ""))


@cache_on_value
def _earlier_request(ask: RequestState) -> tuple[str, tuple[str, ...]]:
    """Return the name of an earlier request, and its text with the answer: in full, shortened and empty."""
    end = ask.run.answer or (f"(no answer: {ask.run.failure.reason})" if ask.run.failure else "(no answer yet)")
    asked, end = demote_headings(ask.text), demote_headings(end)
    whole = f"## Asked: {asked}\n{end[:EARLIER]}"
    short = f"## Asked: {asked[:SHORT]}\n{end[:SHORT]}"
    return f"asked before: {asked[:40]}", (whole, short, "") if len(short) < len(whole) else (whole, "")


def render_faults(faults: Sequence[str]) -> str:
    """Render the faults of a rejected plan for the planner."""
    heading = "# Your last plan was not accepted\nReply again in whole, with these mended:"
    return "\n".join([heading, *(f"- {fault}" for fault in faults)])


@lru_cache(maxsize=256)
def decision_schema(
    specialists: tuple[str, ...],
    allowed: AdhocAllowance | None = None,
    *,
    needs: tuple[str, ...] = (),
    may_answer: bool = True,
    may_ask: bool = True,
) -> dict[str, Any]:
    """Return the JSON Schema of a reply: the reason, then one of the decisions that the planner may make."""
    text = {"type": "string"}
    plan = plan_schema(specialists, allowed, needs)["properties"]
    several = {"type": "array", "items": text}
    ways = [_choice_schema(*specialists), _choice_schema(SEVERAL, **plan), _choice_schema(NOBODY, missing=several)]
    words = [who for who, may in ((ANSWER, may_answer), (ASK, may_ask)) if may]
    if words:
        ways.append(_choice_schema(*words, text=text, options=several))
    return closed_object({"why": text, "next": {"anyOf": ways}})


def _choice_schema(*who: str, **properties: Any) -> dict[str, Any]:
    return closed_object({"who": {"type": "string", "enum": list(who)}, **properties})


@lru_cache(maxsize=256)
def plan_schema(
    specialists: tuple[str, ...], allowed: AdhocAllowance | None = None, needs: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the JSON Schema of a plan for this crew.

    It lists the specialists, so that small models use no others; with ad-hoc specialists allowed there is no list,
    since the planner names those itself. `needs` are the names of the material; if there are none, subtasks have no
    `needs`.
    """
    enums = {"subtasks.needs": needs} if len(needs) <= MOST_NAMES else {}
    without = {"subtasks.only_for"} if needs else {"subtasks.only_for", "subtasks.needs"}
    most = {"subtasks": MAX_SUBTASKS} | ({"subtasks.needs": len(needs)} if needs else {})
    if allowed is None:
        enums["subtasks.specialist"] = specialists
        without.add("made")
    else:
        enums |= {"made.tools": allowed.tools, "made.tier": allowed.tiers}
        most["made"] = allowed.at_most
        without |= set() if allowed.tools else {"made.tools"}
    schema = reply_schema(Plan, enums=enums, most=most, without=without)
    if needs:  # not nullable: None would mean all of the material
        subtask = schema["properties"]["subtasks"]["items"]["properties"]
        subtask["needs"] = subtask["needs"]["anyOf"][0]
    return schema
