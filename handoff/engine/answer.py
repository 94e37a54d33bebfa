"""The way from the results of a run to its answer: the outstanding effects, the material, and the transitions.

The steps are: condense material that is too long; write a draft; have the verifier compare it with the evidence; write
it once more at most, if the verifier or the check of figures found faults. Each step ends with an event, so a crash
repeats no finished step.
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
from handoff.answering.material import render_result, render_with_unsure_note, replace_repeated_passages
from handoff.contracts import Note, Result, Strategy
from handoff.effects import Effect, ReduceMaterial, SelectAnswer, VerifyAnswer, WriteAnswer
from handoff.evidence.omissions import add_omissions, add_refutations
from handoff.materials.material_lists import list_unneeded_files, list_unneeded_thread_files
from handoff.state.job_state import PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import UNKNOWN_WRITE_WORDS

if TYPE_CHECKING:
    from handoff.answering.reducing import ReductionStage

MIN_CALL_SECONDS = 60.0
"""The least seconds for a model call for the answer, even if the run's time is up."""
REFUTED_FAULT = "“{sentence}” is wrong: {source} has “{quotation}”."
UNANSWERED_FAULT = "The answer leaves out what the request asks for here: “{words}”."
"""The faults of a draft that the verifier found, worded for the synthesizer."""
UNSOURCED_FAULT = "No source has “{figure}”: leave it out, or give the figure that the results have."
"""The fault of a draft with a figure that follows from no result, worded for the synthesizer."""

# ---------------------------------------------------------------- outstanding effects


def list_answer_effects(ask: RequestState, run: PlanRun, now: float) -> tuple[list[Effect], float | None]:
    """Return the outstanding effects of a run whose subtasks have all ended, and the time to look again, or None.

    After the run's deadline nothing is condensed any more: the answer is written from the results as they are.
    """
    late = is_past_deadline(run, now)
    condensing = [] if run.draft is not None or late else find_reduction_stage(ask, run).parts
    if condensing:
        return [ReduceMaterial(ask.id, part.round, part.part, run.within) for part in condensing], run.deadline
    if run.draft is None:
        return [_choose_answer_effect(ask, run)], None
    if run.verified is None and needs_verification(ask, run):
        return [VerifyAnswer(ask.id, late, run.within)], None if late else run.deadline
    return [_choose_answer_effect(ask, run, list_draft_faults(ask, run))], None


def _choose_answer_effect(ask: RequestState, run: PlanRun, faults: tuple[str, ...] = ()) -> WriteAnswer | SelectAnswer:
    if choose_strategy(ask, run) == "select":
        return SelectAnswer(ask.id, faults, run.within)
    return WriteAnswer(ask.id, faults, run.within)


def needs_verification(ask: RequestState, run: PlanRun) -> bool:
    """Return True if the verifier has to check the answer of a run.

    It checks only answers of requests that may state facts. A single result without sources, evidence, findings and
    doubts, such as the draft of a greeting, states none.
    """
    if run.within or run.plan is None or not run.terms.verifier:
        return False
    there = collect_results(ask, run).values()
    return len(there) > 1 or any(one.readings or one.evidence or one.findings or one.doubts for one in there)


def list_draft_faults(ask: RequestState, run: PlanRun) -> tuple[str, ...]:
    """Return the faults of a draft that the synthesizer can correct, worded for it.

    Unanswered parts of the request count only if there are several results, since a single one has no more to give.
    """
    found = run.verified
    faults: list[str] = []
    if found is not None:
        faults += (
            REFUTED_FAULT.format(sentence=one.sentence, source=one.evidence.source, quotation=one.evidence.quotation)
            for one in found.refuted
        )
        if len(collect_results(ask, run)) > 1:
            faults += (UNANSWERED_FAULT.format(words=words) for words in found.unanswered)
    return (*faults, *(UNSOURCED_FAULT.format(figure=one) for one in list_unconfirmed_figures(run, run.invented)))


def list_unconfirmed_figures(run: PlanRun, figures: Iterable[str]) -> tuple[str, ...]:
    """Return those of `figures` that the verifier did not confirm, each once."""
    borne_out = run.verified.borne_out if run.verified is not None else ()
    return tuple(one for one in dict.fromkeys(figures) if one not in borne_out)


def is_past_deadline(run: PlanRun, now: float) -> bool:
    """Return True if the run's time is up."""
    return run.deadline is not None and run.deadline <= now


def is_written_as_draft(ask: RequestState, run: PlanRun, now: float) -> bool:
    """Return True if a text that is written now is a draft, which the verifier checks first."""
    return needs_verification(ask, run) and not is_past_deadline(run, now)


def compute_call_seconds(run: PlanRun, now: float) -> float:
    """Return the seconds for a call for the answer, at most `MIN_CALL_SECONDS` past the run's deadline."""
    most = run.terms.call_seconds
    return most if run.deadline is None else min(most, max(MIN_CALL_SECONDS, run.deadline - now))


# ---------------------------------------------------------------- the material of the answer


def collect_results(ask: RequestState, run: PlanRun) -> dict[str, Result]:
    """Return the results of a run by subtask, in the order of the plan."""
    return {work.subtask.id: work.result for work in ask.list_subtasks(run.within) if work.result is not None}


def collect_rivals(ask: RequestState, run: PlanRun) -> dict[str, SubtaskState]:
    """Return the subtasks whose result no other result builds on, by id. The strategy `select` chooses among them."""
    there = collect_results(ask, run)
    used = {name for other in there for name in ask.work[other].subtask.after}
    return {name: ask.work[name] for name in there if name not in used}


def choose_strategy(ask: RequestState, run: PlanRun) -> Strategy:
    """Return the strategy of a run's plan; `merge` in place of `select` if only one subtask could be selected."""
    if run.plan is None or run.plan.strategy != "select":
        return run.plan.strategy if run.plan is not None else "merge"
    own = [work for work in ask.list_subtasks(run.within) if not work.dropped]
    used = {name for work in own for name in work.subtask.after}
    return "select" if sum(work.subtask.id not in used for work in own) > 1 else "merge"


def render_contents(ask: RequestState, run: PlanRun) -> tuple[dict[str, str], dict[str, int]]:
    """Return the contents of the results, and the numbers of replaced passages, both by subtask id.

    A passage that several results have is replaced by a pointer in all but one, preferably one that no other builds on.
    Findings that `list_graded_findings` returns are left out. If one of the results is to be selected, all contents are
    complete.
    """
    listed = choose_strategy(ask, run) != "select"
    texts = {
        name: render_subtask_result(ask, run, ask.work[name], skip_graded=listed) for name in collect_results(ask, run)
    }
    if not listed:
        return texts, {}
    last = collect_rivals(ask, run)
    order = (*last, *(name for name in texts if name not in last))
    titles = tuple((name, ask.work[name].subtask.title) for name in texts)
    fresh, lost = _drop_repeated_passages(tuple(texts.items()), order, titles)
    return dict(fresh), dict(lost)


def list_graded_findings(ask: RequestState, run: PlanRun) -> tuple[MergedFinding, ...]:
    """Return the graded findings of all results (`is_graded`), each once, the most severe first.

    Unsure findings are left out if the terms keep them apart.
    """
    there = collect_results(ask, run)
    if run.terms.unsure == "apart":
        least = run.terms.confidence
        there = {
            name: one.model_copy(update={"findings": tuple(each for each in one.findings if each.confidence >= least)})
            if ask.work[name].run is None
            else one
            for name, one in there.items()
        }
    found = merge_graded_findings(there, {name: ask.work[name].subtask.title for name in there})
    return tuple(
        MergedFinding(one.finding, one.result_titles, find_line_link(one.finding, ask.materials)) for one in found
    )


def render_subtask_result(ask: RequestState, run: PlanRun, work: SubtaskState, *, skip_graded: bool = False) -> str:
    """Return the text of a subtask's result with a line about its unsure findings; empty without a result.

    A crew's result has such a line already. With `skip_graded`, the findings that `list_graded_findings` returns are
    left out.
    """
    if work.result is None:
        return ""
    if work.run is not None:
        return render_result(work.result, skip_graded=skip_graded)
    return render_with_unsure_note(work.result, run.terms, ask.text, skip_graded=skip_graded)


@lru_cache(maxsize=64)
def _drop_repeated_passages(
    texts: tuple[tuple[str, str], ...], order: tuple[str, ...], titles: tuple[tuple[str, str], ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, int], ...]]:
    """Return the contents without repeated passages. Cached, since each step of a run needs the same contents."""
    kept, lost = replace_repeated_passages(dict(texts), order, dict(titles))
    return tuple(kept.items()), tuple(lost.items())


def find_reduction_stage(ask: RequestState, run: PlanRun) -> ReductionStage:
    """Return the state of condensing. Rival results are not condensed: one of them becomes the answer as it is."""
    from handoff.answering import reducing  # noqa: PLC0415 - only where material is condensed

    texts, _ = render_contents(ask, run)
    notes = tuple(Note(source=ask.work[name].subtask.title, text=text) for name, text in texts.items())
    if choose_strategy(ask, run) == "select":
        return reducing.ReductionStage(notes)
    return reducing.plan_reduction(notes, run.reduced, get_results_budget(run))


def get_results_budget(run: PlanRun) -> int:
    """Return the most tokens that the results may take in the synthesizer's call."""
    from handoff.answering import reducing  # noqa: PLC0415 - the same

    return reducing.compute_results_budget(run.terms.context.balanced)


# ---------------------------------------------------------------- the gaps of the answer


def list_resultless_subtasks(ask: RequestState, run: PlanRun) -> tuple[SubtaskState, ...]:
    """Return the subtasks of a run without a result. Gaps inside a crew's subtask are gaps of its result instead."""
    return tuple(
        work for work in ask.list_subtasks(run.within) if work.state in {"error", "skipped"} and not work.dropped
    )


def list_unfillable_gaps(ask: RequestState, run: PlanRun) -> tuple[str, ...]:
    """Return one line for people for each gap that no subtask could fill.

    These are files that could not be fetched or that no subtask needed, and parts that nobody in the crew can do.
    """
    passed = {line for one in list_unneeded_thread_files(ask) for line in (one.fault, *one.gaps)}
    files = () if run.within else tuple(fault for fault in ask.file_faults if fault not in passed)
    parts = run.plan.missing if run.plan is not None else ()
    unread = () if run.within else list_unneeded_files(ask)
    said = (render_phrase("unread", ask.text, what=one.name) for one in unread)
    return (*files, *said, *(render_phrase("nobody", ask.text, what=part) for part in parts))


def list_answer_gaps(ask: RequestState, run: PlanRun) -> tuple[str, ...]:
    """Return the gaps of an answer, one line for people each."""
    lines = [f"{work.subtask.title}: {work.reason}" for work in list_resultless_subtasks(ask, run)]
    own = [work for work in ask.list_subtasks(run.within) if not work.dropped]
    lines += [
        gap for work in own if work.result is not None for gap in _list_result_gaps(work, work.result, len(own) == 1)
    ]
    if run.left_out:
        lines.append(render_phrase("passages", ask.text, n=len(run.left_out)))
    if run.answer is not None and run.verified is not None:
        lines += [render_phrase("unanswered", ask.text, what=words) for words in run.verified.unanswered]
    if not run.within:  # writes in doubt are named once, by the request's own run
        lines += [f"{UNKNOWN_WRITE_WORDS}: {what}" for what in ask.unknown_writes]
        lines += _list_unapproved_calls(ask)
    return tuple(dict.fromkeys((*list_unfillable_gaps(ask, run), *lines)))


def _list_unapproved_calls(ask: RequestState) -> list[str]:
    """Return one line for each call that people denied or did not decide on in time."""
    text = ask.text
    return [
        render_phrase("expired" if outcome == "expired" else "denied", text, what=approval.what)
        for work in ask.work.values()
        for approval, outcome in work.unapproved_calls
    ]


def _list_result_gaps(work: SubtaskState, result: Result, is_single: bool) -> list[str]:  # noqa: FBT001 - of a private function
    """Return the gaps of one result, each with the title of its subtask, but for an only result (`is_single`)."""
    title = work.subtask.title
    return [gap if is_single or gap.startswith(title) else f"{title}: {gap}" for gap in result.gaps]


# ---------------------------------------------------------------- transitions


def apply_material_reduced(ask: RequestState, run: PlanRun, event: ev.MaterialReduced) -> RequestState:
    """Store the condensed notes of one part of a round."""
    key = (event.round, event.part)
    if key in run.reduced:
        return ask
    reduced = MappingProxyType({**run.reduced, key: event.notes})
    ask = ask.with_run(replace(run, reduced=reduced, left_out=(*run.left_out, *event.left_out)))
    ask = ask.with_pack_decision(event.at, run.within, event.pack)
    why = f"the material exceeds {get_results_budget(run):,} tokens"
    if event.left_out:
        why += "; left out: " + "; ".join(event.left_out)
    return ask.with_decision(event.at, run.within, f"condense, round {event.round}, part {event.part}", why)


def apply_answer_written(ask: RequestState, run: PlanRun, event: ev.AnswerWritten) -> RequestState:
    """Make the text a draft if the verifier has to check it or if a first text has invented figures, else the answer.

    After the deadline, or for the second text, invented figures are only marked.
    """
    if run.is_concluded:
        return ask
    if event.chosen:
        ask = ask.with_decision(event.at, event.chosen, "select", event.why)
        run = replace(run, chosen=event.chosen)
    run = replace(run, workings=event.workings)
    if run.plan is None and event.why:
        ask = ask.with_decision(event.at, run.within, "answer without a plan", event.why)
    ask = ask.with_pack_decision(event.at, run.within, event.pack)
    again = event.invented if run.draft is None and not is_past_deadline(run, event.at) else ()
    if again:
        ask = ask.with_decision(event.at, run.within, "figures of no source", ", ".join(again))
    if not event.draft and not again:
        return conclude_run(ask, run, event.text, event.at, event.unsupported)
    kept = replace(run, draft=event.text, is_rewritten=run.draft is not None, verified=None)
    return ask.with_run(replace(kept, invented=again, unsupported=event.unsupported))


def conclude_run(
    ask: RequestState, run: PlanRun, text: str, at: float, unsupported: tuple[str, ...] = ()
) -> RequestState:
    """Conclude a run with an answer. For the request's own run, code adds what the answer must not leave out."""
    inherited = (one for result in collect_results(ask, run).values() for one in result.unsupported if one in text)
    figures = list_unconfirmed_figures(run, (*unsupported, *inherited))
    answer = text
    if not run.within:
        answer = add_omissions(text, list_graded_findings(ask, run), _collect_final_contents(ask, run), ask.text)
        answer = add_refutations(answer, run.verified, ask.text)
    return ask.with_run(replace(run, answer=answer, unsupported=figures, written=at))


def _collect_final_contents(ask: RequestState, run: PlanRun) -> dict[str, str]:
    """Return the contents of the results that no other result builds on, by title.

    Results with a published file are left out, since the file contains them.
    """
    if run.plan is None or choose_strategy(ask, run) != "merge":
        return {}
    there = collect_results(ask, run)
    parts = ((work.subtask.title, there[name]) for name, work in collect_rivals(ask, run).items())
    return {title: one.content for title, one in parts if all(file.publish_as == "nothing" for file in one.artifacts)}


def apply_answer_verified(ask: RequestState, run: PlanRun, event: ev.AnswerVerified) -> RequestState:
    """Make the draft the answer, or have it written once more if the verifier found faults in a first draft."""
    if run.draft is None or run.verified is not None or run.is_concluded:
        return ask
    run = replace(run, verified=event)
    ask = ask.with_pack_decision(event.at, run.within, event.pack)
    faults = list_draft_faults(ask, run)
    if faults and not run.is_rewritten and not is_past_deadline(run, event.at):
        ask = ask.with_decision(event.at, run.within, "write the answer again", " ".join(faults))
        return ask.with_run(run)
    why = event.doubt or "; ".join(one.sentence for one in event.refuted) or "the verifier refuted nothing"
    ask = ask.with_decision(event.at, run.within, "let the answer out", why)
    return conclude_run(ask, run, run.draft or "", event.at, run.unsupported)


TRANSITIONS: Mapping[str, Callable[[RequestState, PlanRun, Any], RequestState]] = {
    "MaterialReduced": apply_material_reduced,
    "AnswerVerified": apply_answer_verified,
    "AnswerWritten": apply_answer_written,
}
"""The function for each type of event in this file. It changes the run that the event's `within` names."""
