"""The replanner: one model call that revises a plan under way, after a finding, failure or correction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from bot.supervisor.planner import MATERIAL_HEADING, MAX_MATERIAL_NAMES, render_material_line
from bot.supervisor.prompts import make_reply_schema, make_role_call, read_prompt
from handoff.contracts import Material, Member
from handoff.engine.nested import build_run_brief
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
"""Characters at most of each result's summary in the brief."""
MAX_SHORT_CHARS = 120
"""The same if the brief is too long."""


async def ask_replanner(
    ask: RequestState,
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
    of: dict[str, Any] = {"at": now, "request": ask.id, "within": trigger.within, "subtask": trigger.subtask}
    packed = build_brief(ask, run, trigger, members, materials)
    free = list_changeable_ids(ask, trigger)
    call = make_role_call(
        "replanner",
        packed.text,
        terms=run.terms,
        max_tokens=MAX_TOKENS,
        deadline=run.terms.subtask_seconds,
        answer_schema=make_schema(
            sorted(free), [member.name for member in members], tuple(one.name for one in materials)
        ),
    )
    if materials:
        call = replace(call, system=f"{call.system}\n\n{read_prompt('planner_needs')}")
    try:
        turn = await model.reply(call)
    except ModelError as error:
        return PlanRevised(**of, faults=(f"The planner could not be asked ({error}).",), usage=error.usage)
    made = parse_revision(turn.text, ask, run, trigger, materials)
    return PlanRevised(
        **of, plan=made.plan, changes=made.changes, faults=made.faults, pack=packed.size, usage=turn.usage
    )


def make_schema(changeable_ids: list[str], specialists: list[str], needs: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON Schema of a reply.

    It lists the ids `changeable_ids` to change and the specialists, so that small models use no others. `needs` are the
    names of the material; if there are none, added subtasks have no `needs`.
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
    made = make_reply_schema(
        RevisionReply, enums=enums, max_items={"add": MAX_ADDED_SUBTASKS}, left_out=() if needs else {"add.needs"}
    )
    if needs:  # not nullable: the model has to list what an added subtask needs
        added = made["properties"]["add"]["items"]["properties"]
        added["needs"] = added["needs"]["anyOf"][0]
    return made


def build_brief(
    ask: RequestState,
    run: PlanRun,
    trigger: ReplanTrigger,
    members: Iterable[Member],
    materials: Sequence[Material] = (),
) -> PackedTexts:
    """Build the replanner's brief: the request, the trigger, each subtask with its state, the material and members.

    If it is too long, the summaries of results are shortened.
    """
    free = list_changeable_ids(ask, trigger)
    fixed = [
        BRIEF_HEADING,
        f"Asked: {demote_headings(build_run_brief(ask, run))}",
        f"Goal: {run.plan.goal if run.plan else ''}",
        "",
    ]
    who = {"failure": f"{trigger.subtask} failed", "correction": "The requester says since"}
    said = who.get(trigger.cause, f"{trigger.subtask} found")
    fixed += ["# News", f"{said}: {demote_headings(trigger.words)}", "", "# Done or under way"]
    pieces = [Piece("the request", ("\n".join(fixed),))]
    live = [work for work in ask.list_subtasks(run.within) if not work.dropped]
    pieces += [_make_subtask_piece(work) for work in live if work.subtask.id not in free]
    rest = ["", "# May change", *(_render_open_subtask(work) for work in live if work.subtask.id in free)]
    rest += ["", MATERIAL_HEADING, *map(render_material_line, materials)] if materials else []
    rest += ["", "# Specialists", *(f"- {member.name}: {member.planner_line}" for member in members)]
    pieces.append(Piece("what may change", ("\n".join(rest),)))
    return pack_pieces(pieces, run.terms.get_context_tokens("replanner"))


def _make_subtask_piece(work: SubtaskState) -> Piece:
    head = f"- {work.subtask.id} ({work.specialist}, {_describe_state(work)}): {work.subtask.title}"
    said = " ".join(work.result.summary.split()) if work.result is not None else work.reason
    forms = tuple(
        dict.fromkeys(f"{head}. {said[:most]}" if said else head for most in (MAX_SUMMARY_CHARS, MAX_SHORT_CHARS))
    )
    return Piece(work.subtask.title, forms)


def _describe_state(work: SubtaskState) -> str:
    if work.state == "complete":
        return "done"
    return "brought nothing" if work.state in SETTLED_STATES else "under way"


def _render_open_subtask(work: SubtaskState) -> str:
    one = work.subtask
    after = f", after {', '.join(one.after)}" if one.after else ""
    tried = f", failed {len(work.failures)} times" if work.failures else ""
    check = f" Done when: {one.done_when}" if one.done_when else ""
    return f"- {one.id} ({work.specialist}{after}{tried}): {one.title}. {work.brief or one.intent}{check}"
