"""The way from the results of a run to its answer: the outstanding effects, the material, and the transitions.

The steps are: condense material that is too long; write a draft; have the verifier compare the draft with the evidence;
if the verifier or the check of figures found faults, write it once more. Each step ends with an event, so no finished
step is repeated after a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from handoff import events as ev
from handoff.answering.code_places import find_line_link
from handoff.answering.findings import MergedFinding, merge_graded_findings
from handoff.answering.fixed_words import render_phrase
from handoff.answering.result_text import render_result, render_with_unsure_note, replace_repeated_passages
from handoff.contracts import Note, Result, Strategy
from handoff.effects import Effect, ReduceMaterial, SelectAnswer, VerifyAnswer, WriteAnswer
from handoff.evidence.omissions import add_omissions, add_refutations
from handoff.materials.material_lists import list_unneeded_files, list_unneeded_thread_files
from handoff.state.job_state import PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import UNKNOWN_WRITE_WORDS

if TYPE_CHECKING:
    from handoff.answering.reduction import ReductionStage

MIN_CALL_SECONDS = 60.0
"""The seconds that a model call for the answer gets at least, even if the run's time is up."""
REFUTED_FAULT = "“{sentence}” is wrong: {source} has “{quotation}”."
UNANSWERED_FAULT = "The answer leaves out what the request asks for here: “{words}”."
"""The faults of a draft that the verifier found, worded for the synthesizer."""
UNSOURCED_FAULT = "No source has “{figure}”: leave it out, or give the figure that the results have."
"""The fault of a draft with a figure that follows from no result, worded for the synthesizer."""

# ---------------------------------------------------------------- outstanding effects


def list_answer_effects(request: RequestState, run: PlanRun, now: float) -> tuple[list[Effect], float | None]:
    """Return the outstanding effects of a run whose subtasks have all ended, and the time to look again, or None.

    After the run's deadline nothing is condensed any more: the answer is written from the results as they are.
    """
    late = is_past_deadline(run, now)
    parts = [] if run.draft is not None or late else find_reduction_stage(request, run).parts
    if parts:
        return [ReduceMaterial(request.id, part.round, part.part, run.within) for part in parts], run.deadline
    if run.draft is None:
        return [_choose_answer_effect(request, run)], None
    if run.verification is None and needs_verification(request, run):
        return [VerifyAnswer(request.id, late, run.within)], None if late else run.deadline
    return [_choose_answer_effect(request, run, list_draft_faults(request, run))], None


def _choose_answer_effect(
    request: RequestState, run: PlanRun, faults: tuple[str, ...] = ()
) -> WriteAnswer | SelectAnswer:
    if choose_strategy(request, run) == "select":
        return SelectAnswer(request.id, faults, run.within)
    return WriteAnswer(request.id, faults, run.within)


def needs_verification(request: RequestState, run: PlanRun) -> bool:
    """Return True if the verifier has to check the answer of a run.

    Only answers to requests are checked, not those of inner crews, and only if they may state facts. A single result
    without sources, evidence, findings and doubts, such as the draft of a greeting, states none.
    """
    if run.within or run.plan is None or not run.terms.verifier:
        return False
    there = collect_results(request, run).values()
    return len(there) > 1 or any(one.readings or one.evidence or one.findings or one.doubts for one in there)


def list_draft_faults(request: RequestState, run: PlanRun) -> tuple[str, ...]:
    """Return the faults of a draft that the synthesizer can correct, worded for the synthesizer.

    Unanswered parts of the request count only if there are several results: a single result was used in full already.
    """
    verification = run.verification
    faults: list[str] = []
    if verification is not None:
        faults += (
            REFUTED_FAULT.format(sentence=one.sentence, source=one.evidence.source, quotation=one.evidence.quotation)
            for one in verification.refuted
        )
        if len(collect_results(request, run)) > 1:
            faults += (UNANSWERED_FAULT.format(words=words) for words in verification.unanswered)
    return (
        *faults,
        *(UNSOURCED_FAULT.format(figure=one) for one in list_unconfirmed_figures(run, run.invented_figures)),
    )


def list_unconfirmed_figures(run: PlanRun, figures: Iterable[str]) -> tuple[str, ...]:
    """Return the members of `figures` that the verifier did not confirm, each once."""
    borne_out = run.verification.borne_out if run.verification is not None else ()
    return tuple(one for one in dict.fromkeys(figures) if one not in borne_out)


def is_past_deadline(run: PlanRun, now: float) -> bool:
    """Return True if the run's time is up."""
    return run.deadline is not None and run.deadline <= now


def needs_draft(request: RequestState, run: PlanRun, now: float) -> bool:
    """Return True if a text written at `now` becomes a draft for the verifier, not the answer itself."""
    return needs_verification(request, run) and not is_past_deadline(run, now)


def compute_call_seconds(run: PlanRun, now: float) -> float:
    """Return the seconds for a call: those to the run's deadline, from `MIN_CALL_SECONDS` to `terms.call_seconds`."""
    most = run.terms.call_seconds
    return most if run.deadline is None else min(most, max(MIN_CALL_SECONDS, run.deadline - now))


# ---------------------------------------------------------------- the material of the answer


def collect_results(request: RequestState, run: PlanRun) -> dict[str, Result]:
    """Return the results of a run by subtask, in the order of the plan."""
    return {
        subtask.spec.id: subtask.result for subtask in request.list_subtasks(run.within) if subtask.result is not None
    }


def collect_rivals(request: RequestState, run: PlanRun) -> dict[str, SubtaskState]:
    """Return the subtasks whose result no other result builds on, by id. The strategy `select` chooses among them."""
    there = collect_results(request, run)
    dependency_ids = {name for other in there for name in request.subtasks[other].spec.after}
    return {name: request.subtasks[name] for name in there if name not in dependency_ids}


def choose_strategy(request: RequestState, run: PlanRun) -> Strategy:
    """Return the strategy of a run's plan; `merge` in place of `select` if only one subtask could be selected."""
    if run.plan is None or run.plan.strategy != "select":
        return run.plan.strategy if run.plan is not None else "merge"
    own = [subtask for subtask in request.list_subtasks(run.within) if not subtask.is_dropped]
    dependency_ids = {name for subtask in own for name in subtask.spec.after}
    return "select" if sum(subtask.spec.id not in dependency_ids for subtask in own) > 1 else "merge"


def render_contents(request: RequestState, run: PlanRun) -> tuple[dict[str, str], dict[str, int]]:
    """Return the contents of the results, and the numbers of replaced passages, both by subtask id.

    A passage that several results have stays in one, preferably one that no other builds on; the others get a pointer.
    Findings that `list_graded_findings` returns are left out. With the strategy `select`, all contents are complete.
    """
    lists_findings = choose_strategy(request, run) != "select"
    texts = {
        name: render_subtask_result(request, run, request.subtasks[name], skip_graded=lists_findings)
        for name in collect_results(request, run)
    }
    if not lists_findings:
        return texts, {}
    last = collect_rivals(request, run)
    order = (*last, *(name for name in texts if name not in last))
    titles = tuple((name, request.subtasks[name].spec.title) for name in texts)
    fresh, replaced_counts = _drop_repeated_passages(tuple(texts.items()), order, titles)
    return dict(fresh), dict(replaced_counts)


def list_graded_findings(request: RequestState, run: PlanRun) -> tuple[MergedFinding, ...]:
    """Return the graded findings of all results (`is_graded`), each once, the most severe first.

    Unsure findings are left out if the terms keep them apart.
    """
    results = collect_results(request, run)
    if run.terms.unsure == "apart":
        least = run.terms.confidence
        results = {
            name: one.model_copy(update={"findings": tuple(each for each in one.findings if each.confidence >= least)})
            if request.subtasks[name].run is None
            else one
            for name, one in results.items()
        }
    merged_findings = merge_graded_findings(results, {name: request.subtasks[name].spec.title for name in results})
    return tuple(
        MergedFinding(one.finding, one.result_titles, find_line_link(one.finding, request.materials))
        for one in merged_findings
    )


def render_subtask_result(
    request: RequestState, run: PlanRun, subtask: SubtaskState, *, skip_graded: bool = False
) -> str:
    """Return the text of a subtask's result with a line about its unsure findings; empty without a result.

    A crew's result has such a line already. With `skip_graded`, the findings that `list_graded_findings` returns are
    left out.
    """
    if subtask.result is None:
        return ""
    if subtask.run is not None:
        return render_result(subtask.result, skip_graded=skip_graded)
    return render_with_unsure_note(subtask.result, run.terms, request.text, skip_graded=skip_graded)


@lru_cache(maxsize=64)
def _drop_repeated_passages(
    texts: tuple[tuple[str, str], ...], order: tuple[str, ...], titles: tuple[tuple[str, str], ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, int], ...]]:
    """Return the contents without repeated passages. Cached, since each step of a run needs the same contents."""
    new_contents, replaced_counts = replace_repeated_passages(dict(texts), order, dict(titles))
    return tuple(new_contents.items()), tuple(replaced_counts.items())


def find_reduction_stage(request: RequestState, run: PlanRun) -> ReductionStage:
    """Return the state of condensing the results. With the strategy `select` they are not condensed."""
    from handoff.answering import reduction  # noqa: PLC0415 - only where material is condensed

    texts, _ = render_contents(request, run)
    notes = tuple(Note(source=request.subtasks[name].spec.title, text=text) for name, text in texts.items())
    if choose_strategy(request, run) == "select":
        return reduction.ReductionStage(notes)
    return reduction.plan_reduction(notes, run.condensed_notes, get_results_budget(run))


def get_results_budget(run: PlanRun) -> int:
    """Return the most tokens that the results may take in the synthesizer's call."""
    from handoff.answering import reduction  # noqa: PLC0415 - the same

    return reduction.compute_results_budget(run.terms.context.balanced)


# ---------------------------------------------------------------- the gaps of the answer


def list_resultless_subtasks(request: RequestState, run: PlanRun) -> tuple[SubtaskState, ...]:
    """Return the subtasks of a run that ended without a result. Those inside a crew's subtask are not among them."""
    return tuple(
        subtask
        for subtask in request.list_subtasks(run.within)
        if subtask.state in {"error", "skipped"} and not subtask.is_dropped
    )


def list_unfillable_gaps(request: RequestState, run: PlanRun) -> tuple[str, ...]:
    """Return one line for people for each gap that no subtask could fill.

    These are files that could not be fetched or that no subtask needed, and parts that nobody in the crew can do.
    """
    unneeded_faults = {line for one in list_unneeded_thread_files(request) for line in (one.fault, *one.gaps)}
    files = () if run.within else tuple(fault for fault in request.file_faults if fault not in unneeded_faults)
    parts = run.plan.missing if run.plan is not None else ()
    unread = () if run.within else list_unneeded_files(request)
    unread_lines = (render_phrase("unread", request.text, what=one.name) for one in unread)
    return (*files, *unread_lines, *(render_phrase("nobody", request.text, what=part) for part in parts))


def list_answer_gaps(request: RequestState, run: PlanRun) -> tuple[str, ...]:
    """Return the gaps of an answer, one line for people each."""
    lines = [f"{subtask.spec.title}: {subtask.reason}" for subtask in list_resultless_subtasks(request, run)]
    own = [subtask for subtask in request.list_subtasks(run.within) if not subtask.is_dropped]
    lines += [
        gap
        for subtask in own
        if subtask.result is not None
        for gap in _list_result_gaps(subtask, subtask.result, len(own) == 1)
    ]
    if run.left_out_passages:
        lines.append(render_phrase("passages", request.text, n=len(run.left_out_passages)))
    if run.answer is not None and run.verification is not None:
        lines += [render_phrase("unanswered", request.text, what=words) for words in run.verification.unanswered]
    if not run.within:  # writes in doubt are named once, by the request's own run
        lines += [f"{UNKNOWN_WRITE_WORDS}: {what}" for what in request.unknown_writes]
        lines += _list_unapproved_calls(request)
    return tuple(dict.fromkeys((*list_unfillable_gaps(request, run), *lines)))


def _list_unapproved_calls(request: RequestState) -> list[str]:
    """Return one line for each call that people denied or did not decide on in time."""
    text = request.text
    return [
        render_phrase("expired" if outcome == "expired" else "denied", text, what=approval.what)
        for subtask in request.subtasks.values()
        for approval, outcome in subtask.unapproved_calls
    ]


def _list_result_gaps(subtask: SubtaskState, result: Result, is_single: bool) -> list[str]:  # noqa: FBT001 - of a private function
    """Return the gaps of one result, each with its subtask's title, which a single result (`is_single`) omits."""
    title = subtask.spec.title
    return [gap if is_single or gap.startswith(title) else f"{title}: {gap}" for gap in result.gaps]


# ---------------------------------------------------------------- transitions


def apply_material_reduced(request: RequestState, run: PlanRun, event: ev.MaterialReduced) -> RequestState:
    """Store the condensed notes of one part of a round."""
    key = (event.round, event.part)
    if key in run.condensed_notes:
        return request
    condensed_notes = MappingProxyType({**run.condensed_notes, key: event.notes})
    request = request.with_run(
        replace(run, condensed_notes=condensed_notes, left_out_passages=(*run.left_out_passages, *event.left_out))
    )
    request = request.with_pack_decision(event.at, run.within, event.pack)
    why = f"the material exceeds {get_results_budget(run):,} tokens"
    if event.left_out:
        why += "; left out: " + "; ".join(event.left_out)
    return request.with_decision(event.at, run.within, f"condense, round {event.round}, part {event.part}", why)


def apply_answer_written(request: RequestState, run: PlanRun, event: ev.AnswerWritten) -> RequestState:
    """Make the text a draft or the answer.

    It is a draft if the verifier has to check it, or if it is the first text and has invented figures. After the
    deadline, and in a second text, invented figures are only recorded as unsupported.
    """
    if run.is_concluded:
        return request
    if event.chosen:
        request = request.with_decision(event.at, event.chosen, "select", event.why)
        run = replace(run, chosen_subtask=event.chosen)
    run = replace(run, workings=event.workings)
    if run.plan is None and event.why:
        request = request.with_decision(event.at, run.within, "answer without a plan", event.why)
    request = request.with_pack_decision(event.at, run.within, event.pack)
    invented_figures = event.invented if run.draft is None and not is_past_deadline(run, event.at) else ()
    if invented_figures:
        request = request.with_decision(event.at, run.within, "figures of no source", ", ".join(invented_figures))
    if not event.draft and not invented_figures:
        return conclude_run(request, run, event.text, event.at, event.unsupported)
    next_run = replace(run, draft=event.text, is_rewritten=run.draft is not None, verification=None)
    return request.with_run(replace(next_run, invented_figures=invented_figures, unsupported_figures=event.unsupported))


def conclude_run(
    request: RequestState, run: PlanRun, text: str, at: float, unsupported_figures: tuple[str, ...] = ()
) -> RequestState:
    """Conclude a run with an answer. For the request's own run, omissions and refutations are added to the text."""
    inherited_figures = (
        one for result in collect_results(request, run).values() for one in result.unsupported if one in text
    )
    figures = list_unconfirmed_figures(run, (*unsupported_figures, *inherited_figures))
    answer = text
    if not run.within:
        answer = add_omissions(
            text, list_graded_findings(request, run), _collect_final_contents(request, run), request.text
        )
        answer = add_refutations(answer, run.verification, request.text)
    return request.with_run(replace(run, answer=answer, unsupported_figures=figures, concluded_at=at))


def _collect_final_contents(request: RequestState, run: PlanRun) -> dict[str, str]:
    """Return the contents of the results that no other result builds on, by title.

    Results with a published file are left out, since the file contains them.
    """
    if run.plan is None or choose_strategy(request, run) != "merge":
        return {}
    there = collect_results(request, run)
    parts = ((subtask.spec.title, there[name]) for name, subtask in collect_rivals(request, run).items())
    return {title: one.content for title, one in parts if all(file.publish_as == "nothing" for file in one.artifacts)}


def apply_answer_verified(request: RequestState, run: PlanRun, event: ev.AnswerVerified) -> RequestState:
    """Make the draft the answer, or keep it for a rewrite if the verifier found faults in a first draft in time."""
    if run.draft is None or run.verification is not None or run.is_concluded:
        return request
    run = replace(run, verification=event)
    request = request.with_pack_decision(event.at, run.within, event.pack)
    faults = list_draft_faults(request, run)
    if faults and not run.is_rewritten and not is_past_deadline(run, event.at):
        request = request.with_decision(event.at, run.within, "write the answer again", " ".join(faults))
        return request.with_run(run)
    why = event.doubt or "; ".join(one.sentence for one in event.refuted) or "the verifier refuted nothing"
    request = request.with_decision(event.at, run.within, "let the answer out", why)
    return conclude_run(request, run, run.draft or "", event.at, run.unsupported_figures)


TRANSITIONS: Mapping[str, Callable[[RequestState, PlanRun, Any], RequestState]] = {
    "MaterialReduced": apply_material_reduced,
    "AnswerVerified": apply_answer_verified,
    "AnswerWritten": apply_answer_written,
}
"""The functions by type of event. Each changes the run that the event's `within` names."""
