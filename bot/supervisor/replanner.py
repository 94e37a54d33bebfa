"""The replanner: one model call that revises a plan under way, after a finding, failure or correction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from bot.supervisor.planner import MATERIAL_HEADING, MAX_MATERIAL_NAMES, render_material_line
from bot.supervisor.prompts import make_reply_schema, make_role_call, read_prompt
from handoff.contracts import Material, Member
from handoff.engine.crew_runs import build_run_brief
from handoff.engine.replan import list_changeable_ids
from handoff.events import PlanRevised
from handoff.planning.revision import MAX_ADDED_SUBTASKS, RevisionReply, parse_revision
from handoff.state.job_state import SETTLED_STATES, PlanRun, RequestState, SubtaskState
from handoff.state.state_values import ReplanTrigger
from handoff.text.context_budget import PackedTexts, Piece, pack_pieces
from handoff.text.headings import demote_headings
from specialists.model import Model, ModelError

MAX_TOKENS = 6144
BRIEF_HEADING = "# Plan under way"
MAX_SUMMARY_CHARS = 600
"""Most characters of each result's summary in the brief."""
MAX_SHORTENED_CHARS = 120
"""Most characters of each result's summary if the brief is too long."""


async def ask_replanner(
    request: RequestState,
    run: PlanRun,
    trigger: ReplanTrigger,
    *,
    members: Collection[Member],
    model: Model,
    now: float,
    materials: Sequence[Material] = (),
) -> PlanRevised:
    """Have the model revise the plan of a run.

    If the call fails or the reply asks for impossible changes, the plan stays as it is, and the event says why in
    `faults`. `materials` is the material that subtasks may need.
    """
    base_fields: dict[str, Any] = {
        "at": now,
        "request": request.id,
        "within": trigger.within,
        "subtask": trigger.subtask,
    }
    packed_brief = build_brief(request, run, trigger, members, materials)
    changeable_ids = list_changeable_ids(request, trigger)
    call = make_role_call(
        "replanner",
        packed_brief.text,
        terms=run.terms,
        max_tokens=MAX_TOKENS,
        deadline=run.terms.subtask_seconds,
        answer_schema=make_revision_schema(
            sorted(changeable_ids), [member.name for member in members], tuple(one.name for one in materials)
        ),
    )
    if materials:
        call = replace(call, system=f"{call.system}\n\n{read_prompt('planner_needs')}")
    try:
        turn = await model.reply(call)
    except ModelError as error:
        return PlanRevised(**base_fields, faults=(f"The planner could not be asked ({error}).",), usage=error.usage)
    revision = parse_revision(turn.text, request, run, trigger, materials)
    return PlanRevised(
        **base_fields,
        plan=revision.plan,
        changes=revision.changes,
        faults=revision.faults,
        pack=packed_brief.size,
        usage=turn.usage,
    )


def make_revision_schema(
    changeable_ids: list[str], specialists: list[str], needs: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the JSON Schema of a revision.

    It allows only the subtasks `changeable_ids` and the `specialists`, so that small models use no others. `needs` are
    the names of the material; if there are none, added subtasks have no `needs`.
    """
    enums = {
        "add.specialist": specialists,
        "add.needed_by": changeable_ids,
        "add.instead_of": ["", *changeable_ids],
        "drop.id": changeable_ids,
        "reassign.id": changeable_ids,
        "reassign.specialist": specialists,
        "rebrief.id": changeable_ids,
    }
    if 0 < len(needs) <= MAX_MATERIAL_NAMES:
        enums["add.needs"] = list(needs)
    schema = make_reply_schema(
        RevisionReply, enums=enums, max_items={"add": MAX_ADDED_SUBTASKS}, excluded_paths=() if needs else {"add.needs"}
    )
    if needs:  # not nullable: the model has to list what an added subtask needs
        subtask_properties = schema["properties"]["add"]["items"]["properties"]
        subtask_properties["needs"] = subtask_properties["needs"]["anyOf"][0]
    return schema


def build_brief(
    request: RequestState,
    run: PlanRun,
    trigger: ReplanTrigger,
    members: Iterable[Member],
    materials: Sequence[Material] = (),
) -> PackedTexts:
    """Build the replanner's brief: the request, the trigger, each subtask with its state, the material and members.

    If it is too long, the summaries of results are shortened.
    """
    changeable_ids = list_changeable_ids(request, trigger)
    head_lines = [
        BRIEF_HEADING,
        f"Asked: {demote_headings(build_run_brief(request, run))}",
        f"Goal: {run.plan.goal if run.plan else ''}",
        "",
    ]
    who = {"failure": f"{trigger.subtask} failed", "correction": "The requester says since"}
    cause_words = who.get(trigger.cause, f"{trigger.subtask} found")
    head_lines += ["# News", f"{cause_words}: {demote_headings(trigger.words)}", "", "# Done or under way"]
    pieces = [Piece("the request", ("\n".join(head_lines),))]
    live = [subtask for subtask in request.list_subtasks(run.within) if not subtask.is_dropped]
    pieces += [_make_subtask_piece(subtask) for subtask in live if subtask.spec.id not in changeable_ids]
    rest = [
        "",
        "# May change",
        *(_render_open_subtask(subtask) for subtask in live if subtask.spec.id in changeable_ids),
    ]
    rest += ["", MATERIAL_HEADING, *map(render_material_line, materials)] if materials else []
    rest += ["", "# Specialists", *(f"- {member.name}: {member.planner_line}" for member in members)]
    pieces.append(Piece("what may change", ("\n".join(rest),)))
    return pack_pieces(pieces, run.terms.get_context_tokens("replanner"))


def _make_subtask_piece(subtask: SubtaskState) -> Piece:
    head = f"- {subtask.spec.id} ({subtask.specialist}, {_describe_state(subtask)}): {subtask.spec.title}"
    outcome = " ".join(subtask.result.summary.split()) if subtask.result is not None else subtask.reason
    forms = tuple(
        dict.fromkeys(
            f"{head}. {outcome[:most]}" if outcome else head for most in (MAX_SUMMARY_CHARS, MAX_SHORTENED_CHARS)
        )
    )
    return Piece(subtask.spec.title, forms)


def _describe_state(subtask: SubtaskState) -> str:
    if subtask.state == "complete":
        return "done"
    return "brought nothing" if subtask.state in SETTLED_STATES else "under way"


def _render_open_subtask(subtask: SubtaskState) -> str:
    one = subtask.spec
    after = f", after {', '.join(one.after)}" if one.after else ""
    failure_note = f", failed {len(subtask.failures)} times" if subtask.failures else ""
    check = f" Done when: {one.done_when}" if one.done_when else ""
    brief = subtask.rewritten_brief or one.intent
    return f"- {one.id} ({subtask.specialist}{after}{failure_note}): {one.title}. {brief}{check}"
