"""The planner: one model call that answers a request, asks back, or plans it. Plans are checked before they run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from bot.limits.breakers import BREAKER_ADVICE
from bot.supervisor.adhoc_offer import AdhocOffer
from bot.supervisor.prompts import make_object_schema, make_reply_schema, make_role_call, read_prompt, render_crew_words
from handoff.contracts import (
    WHO_ANSWER,
    WHO_ASK,
    WHO_NOBODY,
    WHO_SEVERAL,
    Artifact,
    Material,
    Member,
    Note,
    Plan,
    Terms,
    Usage,
)
from handoff.effects import MakePlan
from handoff.events import AnswerWritten, PlannerAsked, PlanProposed, PlanRejected, RequestFailed
from handoff.materials.material_lists import LAST_ANSWER_NAME
from handoff.materials.outline import describe_columns, summarize_outline
from handoff.planning.adhoc import AdhocAllowance
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.plan_check import MAX_SUBTASKS
from handoff.planning.planner_reply import parse_reply
from handoff.planning.routing import make_single_plan
from handoff.state.job_state import RequestState
from handoff.state.value_cache import cache_on_value
from handoff.text.context_budget import PackedTexts, Piece, pack_pieces
from handoff.text.headings import demote_headings
from specialists.model import CallWithheld, Model, ModelError

MAX_TOKENS = 8192
MAX_EARLIER_CHARS = 1_200
"""Most characters of each earlier answer and of each note in the brief."""
MAX_SHORTENED_CHARS = 200
"""Most characters of each earlier answer and of each note if the brief is too long."""
MAX_OUTLINE_CHARS = 400
"""Most characters of a material's outline, unless the material is a diff."""
MAX_DIFF_OUTLINE_CHARS = 2_400
"""Most characters of a diff's outline."""
MATERIAL_HEADING = "# Source material"
EARLIER_PLAN_HEADING = "# Plan of the last request"
MAX_MATERIAL_NAMES = 100
"""Most names of material that the schema lists, as providers limit the length of a schema."""

CUT_OFF_FAULT = "The reply was cut off, as it was too long or repeated itself; make it shorter."

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
    adhoc_offer: AdhocOffer | None = None,
) -> PlannerEvent:
    """Call the planner once, and return its decision as an event.

    With `effect.faults` this is the second try, and the planner reads them. If its reply is unusable again, the
    specialist `default` gets the request as it stands. `terms` are those of the crew. `now` returns seconds since the
    epoch. `adhoc_offer` is the crew's offer of ad-hoc specialists; without it, prompt and schema do not mention them.
    """
    by_name = {member.name: member for member in members}
    packed_brief = build_brief(brief, terms.get_context_tokens("planner"), members)
    allowance = adhoc_offer.allowance if adhoc_offer else None
    call = make_role_call(
        "planner",
        packed_brief.text + (f"\n\n{render_faults(effect.faults)}" if effect.faults else ""),
        terms=terms,
        max_tokens=MAX_TOKENS,
        answer_schema=make_decision_schema(
            tuple(by_name),
            allowance,
            needs=tuple(one.name for one in brief.materials),
            may_answer=brief.may_answer,
            may_ask=brief.may_ask and not effect.faults,
        ),
    )
    adhoc_words = adhoc_offer.prompt_words if adhoc_offer else ""
    needs = f"\n\n{read_prompt('planner_needs')}" if brief.materials else ""  # last, so that providers cache the rest
    words = render_crew_words(terms, "planner")
    crew = f"{render_roster(members)}{words}\n\n{render_examples(members, terms.crew_words.get('examples', ''))}"
    needs += f"\n\n{read_prompt('planner_again')}" if brief.last_plan is not None else ""
    call = replace(call, system=f"{read_prompt('planner')}{adhoc_words}\n\n{crew}{needs}")
    try:
        turn = await model.reply(call)
    except ModelError as error:
        advice = (isinstance(error, CallWithheld) and error.advice) or BREAKER_ADVICE
        failure_fields: dict[str, Any] = {
            "step": "planning",
            "reason": str(error),
            "advice": advice,
            "usage": error.usage,
        }
        return RequestFailed(at=now(), request=effect.request, **failure_fields)
    base_fields: dict[str, Any] = {"at": now(), "request": effect.request}
    if turn.stop == "refused":
        return _make_refusal(effect, turn.text, turn.usage, now())
    reply = parse_reply(turn.text, brief, by_name, allowance, is_second_try=bool(effect.faults))
    usage_fields: dict[str, Any] = {"pack": packed_brief.size, "usage": turn.usage}
    if reply.answer:
        return AnswerWritten(**base_fields, text=reply.answer, why="; ".join(reply.reasons), **usage_fields)
    if reply.question:
        question_fields: dict[str, Any] = {
            "question": reply.question,
            "options": reply.options,
            "reasons": reply.reasons,
        }
        question_fields |= {"whom": reply.whom, "assumption": reply.assumption, "asking": terms.asking}
        return PlannerAsked.model_validate({**base_fields, **question_fields, **usage_fields})
    if reply.plan is not None:
        return PlanProposed(**base_fields, within=effect.within, plan=reply.plan, reasons=reply.reasons, **usage_fields)
    faults = (CUT_OFF_FAULT,) if turn.stop == "max_tokens" else reply.faults
    if not effect.faults:
        return PlanRejected(**base_fields, within=effect.within, faults=faults, **usage_fields)
    why = f"no usable plan in two tries, so {default} gets it as it stands: {' '.join(faults[:3])}"
    return PlanProposed(
        **base_fields, within=effect.within, plan=make_single_plan(brief.text, default), reasons=(why,), **usage_fields
    )


def _make_refusal(effect: MakePlan, text: str, usage: Usage, now: float) -> RequestFailed:
    reason = "the model declined this request" + (f": {text.strip()[:300]}" if text.strip() else "")
    advice = "Say what it is for, or ask for something else."
    return RequestFailed(at=now, request=effect.request, step="planning", reason=reason, advice=advice, usage=usage)


def render_roster(members: Sequence[Member]) -> str:
    """Render the list of specialists, one per line: the same in all calls of a crew, so that providers can cache it."""
    return "\n".join(("# Specialists", *(f"- {member.name}: {member.planner_line}" for member in members)))


def render_examples(members: Sequence[Member], crew_examples: str = "") -> str:
    """Render examples of decisions: the specialists' own, then `crew_examples`, then those of all crews."""
    lines = [
        f"{_dump_json(request_text)}: {_dump_json({'why': kind, 'next': {'who': member.name}})}"
        for member in members
        for request_text, kind in member.examples
    ]
    return "\n".join(("# Examples", *lines, *filter(None, (crew_examples,)), read_prompt("planner_examples")))


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def build_brief(brief: PlanBrief, context_tokens: int, members: Sequence[Member] = ()) -> PackedTexts:
    """Build the planner's brief: the request, the files, earlier requests or notes, and the material.

    A file that only the tools of some members can read is listed with their names. If room is short, the oldest
    requests of the thread are cut first; the request, the files and the names of the material always stay.
    """
    materials_by_id = {one.file.id: one for one in brief.materials if one.file is not None}
    parts = ["# Request", demote_headings(brief.text)]
    if brief.handover_reason:
        parts += ["", "# Why one specialist alone did not do it", demote_headings(brief.handover_reason)]
    if brief.files:
        parts += [
            "",
            "# Files",
            *(_render_file_line(file, materials_by_id.get(file.id), members) for file in brief.files),
        ]
    if brief.file_faults:
        parts += ["", "# Files that could not be read", *(f"- {fault}" for fault in brief.file_faults)]
    if brief.earlier_requests:
        parts += ["", "# Earlier in this thread"]
    pieces = [Piece("the request", ("\n".join(parts),))]
    pieces += [Piece(*_render_earlier_request(other), age) for age, other in enumerate(brief.earlier_requests)]
    pieces += [_make_note_piece(note) for note in brief.notes]
    pieces += [_make_earlier_plan_piece(brief.last_plan)] if brief.last_plan is not None else []
    return pack_pieces([*pieces, *_make_material_pieces(brief)], context_tokens)


def _render_file_line(file: Artifact, material: Material | None, members: Sequence[Member]) -> str:
    name = material.name if material is not None else file.name
    ending = PurePath(file.name).suffix.lower()
    readers = [member.name for member in members if ending in member.reads]
    whose = f", for {' or '.join(readers)}" if 0 < len(readers) < len(members) else ""
    file_line = f"- {name} ({file.media_type}, {file.size} bytes{whose})"
    if material is None:
        return file_line
    outline = (
        describe_columns(material, MAX_OUTLINE_CHARS)
        if material.is_table
        else summarize_outline(material, _choose_outline_chars(material))
    )
    return f"{file_line} — {outline}" if outline else file_line


def _choose_outline_chars(material: Material) -> int:
    """Return the characters that an outline may have: more for a diff, since each file in it matters for the plan."""
    return MAX_DIFF_OUTLINE_CHARS if material.name.endswith((".diff", ".patch")) else MAX_OUTLINE_CHARS


def _make_material_pieces(brief: PlanBrief) -> list[Piece]:
    """Return pieces of the brief: the list of material that is not in `brief.files`, and the beginnings of texts."""
    listed_ids = {file.id for file in brief.files}
    others = [one for one in brief.materials if one.file is None or one.file.id not in listed_ids]
    if not others and not brief.beginnings:
        return []
    lines = [MATERIAL_HEADING, *map(render_material_line, others)]
    pieces = [Piece("the material", ("\n".join(("", *lines)),))]
    kinds = {one.name: one.kind for one in brief.materials}
    for place, (name, texts) in enumerate(brief.beginnings.items()):
        shown_texts = tuple(map(demote_headings, texts))
        is_whole = kinds.get(name, "memory") in {"thread", "memory"}
        heading, piece_name = (f"## {name}", name) if is_whole else (f"## {name} begins", f"{name}, its beginning")
        short = (shown_texts[-1][:MAX_SHORTENED_CHARS],) if len(shown_texts[-1]) > MAX_SHORTENED_CHARS else ()
        forms = (*(f"{heading}\n{text}" for text in (*shown_texts, *short)), "")
        pieces.append(Piece(piece_name, forms, -place - 1))
    return pieces


def render_material_line(material: Material) -> str:
    """Render a material in one line: its name, kind, size and outline."""
    about = {"request": "this request, word for word", "answer": "an earlier answer", "thread": "said in this thread"}
    if material.kind == "answer" and material.name == LAST_ANSWER_NAME:
        about["answer"] = "the last answer in this thread"
    if material.is_channel_history:
        about["thread"] = "said in that channel"
    details = ", ".join(
        filter(None, (about.get(material.kind, ""), f"{material.size:,} characters" if material.size else ""))
    )
    outline = summarize_outline(material, _choose_outline_chars(material))
    return f"- {material.name}{f' ({details})' if details else ''}{f' — {outline}' if outline else ''}"


def _make_note_piece(note: Note) -> Piece:
    text = demote_headings(note.text)
    forms = (text, text[:MAX_EARLIER_CHARS], text[:MAX_SHORTENED_CHARS])
    texts = dict.fromkeys(f"\n# Known: {note.source}\n{form}" for form in forms)
    return Piece(note.source, tuple(texts))


def _make_earlier_plan_piece(plan: Plan) -> Piece:
    """Render the plan of the last request, for a request that asks for the same in other words."""
    lines = []
    for one in plan.subtasks:
        after = f", after {', '.join(one.after)}" if one.after else ""
        lines.append(f"- {one.id} ({one.specialist}{after}): {' '.join(one.intent.split())}")
    text = demote_headings("\n".join(lines))
    return Piece("the plan of the last request", (f"\n{EARLIER_PLAN_HEADING}\n{text}", ""))


@cache_on_value
def _render_earlier_request(request: RequestState) -> tuple[str, tuple[str, ...]]:
    """Return the name of an earlier request, and its text with the answer: in full, shortened and empty."""
    end = request.run.answer or (
        f"(no answer: {request.run.failure.reason})" if request.run.failure else "(no answer yet)"
    )
    request_text, end = demote_headings(request.text), demote_headings(end)
    whole = f"## Asked: {request_text}\n{end[:MAX_EARLIER_CHARS]}"
    short = f"## Asked: {request_text[:MAX_SHORTENED_CHARS]}\n{end[:MAX_SHORTENED_CHARS]}"
    return f"asked before: {request_text[:40]}", (whole, short, "") if len(short) < len(whole) else (whole, "")


def render_faults(faults: Sequence[str]) -> str:
    """Render the faults of a rejected plan for the planner."""
    heading = "# Your last plan was not accepted\nReply again in whole, with these mended:"
    return "\n".join([heading, *(f"- {fault}" for fault in faults)])


@lru_cache(maxsize=256)
def make_decision_schema(
    specialists: tuple[str, ...],
    adhoc_allowance: AdhocAllowance | None = None,
    *,
    needs: tuple[str, ...] = (),
    may_answer: bool = True,
    may_ask: bool = True,
) -> dict[str, Any]:
    """Return the JSON Schema of a reply: the reason, then one of the decisions that the planner may make."""
    text = {"type": "string"}
    plan = make_plan_schema(specialists, adhoc_allowance, needs)["properties"]
    several = {"type": "array", "items": text}
    ways = [
        _make_choice_schema(*specialists),
        _make_choice_schema(WHO_SEVERAL, **plan),
        _make_choice_schema(WHO_NOBODY, missing=several),
    ]
    words = [who for who, may in ((WHO_ANSWER, may_answer), (WHO_ASK, may_ask)) if may]
    if words:
        ways.append(_make_choice_schema(*words, text=text, options=several))
    return make_object_schema({"why": text, "next": {"anyOf": ways}})


def _make_choice_schema(*who: str, **properties: Any) -> dict[str, Any]:
    return make_object_schema({"who": {"type": "string", "enum": list(who)}, **properties})


@lru_cache(maxsize=256)
def make_plan_schema(
    specialists: tuple[str, ...], adhoc_allowance: AdhocAllowance | None = None, needs: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the JSON Schema of a plan for this crew.

    It lists the specialists, so that small models use no others; with ad-hoc specialists allowed there is no list,
    since the planner names those itself. `needs` are the names of the material; if there are none, subtasks have no
    `needs`.
    """
    enums = {"subtasks.needs": needs} if len(needs) <= MAX_MATERIAL_NAMES else {}
    without = {"subtasks.only_for"} if needs else {"subtasks.only_for", "subtasks.needs"}
    most = {"subtasks": MAX_SUBTASKS} | ({"subtasks.needs": len(needs)} if needs else {})
    if adhoc_allowance is None:
        enums["subtasks.specialist"] = specialists
        without.add("made")
    else:
        enums |= {"made.tools": adhoc_allowance.tools, "made.tier": adhoc_allowance.tiers}
        most["made"] = adhoc_allowance.at_most
        without |= set() if adhoc_allowance.tools else {"made.tools"}
    schema = make_reply_schema(Plan, enums=enums, max_items=most, excluded_paths=without)
    if needs:  # not nullable: None would mean all of the material
        subtask = schema["properties"]["subtasks"]["items"]["properties"]
        subtask["needs"] = subtask["needs"]["anyOf"][0]
    return schema
