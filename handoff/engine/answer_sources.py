"""Lists the texts that an answer's figures may come from, and finds figures that follow from none of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handoff.answering.findings import list_confidences
from handoff.answering.written_figures import list_written_figures, remove_figures
from handoff.checking.figures import find_unsupported_figures
from handoff.contracts import Result
from handoff.engine.answer import collect_results, list_answer_gaps
from handoff.engine.crew_runs import build_run_brief
from handoff.state.job_state import PlanRun, RequestState


def find_unsourced_figures(
    request: RequestState, run: PlanRun, text: str, earlier_texts: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the figures of a text, as written, that no result, tool or person gave and that follow from none given.

    Unsupported figures of results do not count as a source. `earlier_texts` are the earlier requests and answers.
    """
    return _list_unknown_figures(request, run, text, list_figure_sources(request, run, earlier_texts))


def find_invented_figures(
    request: RequestState, run: PlanRun, text: str, earlier_texts: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the figures of a text, as written, that neither a source nor a result has: the synthesizer invented them.

    `earlier_texts` are the earlier requests and answers.
    """
    contents = (text for result in collect_results(request, run).values() for text in (result.content, result.summary))
    return _list_unknown_figures(request, run, text, (*list_figure_sources(request, run, earlier_texts), *contents))


def _list_unknown_figures(
    request: RequestState, run: PlanRun, text: str, known_texts: Sequence[str]
) -> tuple[str, ...]:
    if not any(sign.isdigit() for sign in text):
        return ()
    sure = {str(each) for result in collect_results(request, run).values() for each in list_confidences(result)}
    unknown_figures = [one for one in find_unsupported_figures(text, known_texts) if one.text.rstrip(" %") not in sure]
    return list_written_figures(text, unknown_figures)


def list_figure_sources(request: RequestState, run: PlanRun, earlier_texts: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the texts that an answer's figures may come from: results, tool lines, people's words, gaps, titles."""
    own = request.list_subtasks(run.within)
    answers = (note.text for subtask in request.subtasks.values() for note in subtask.answer_notes)
    titles = (f"{subtask.spec.title} {subtask.reason}" for subtask in own)
    ours = (*list_answer_gaps(request, run), *run.left_out_passages)
    result_texts = (text for result in collect_results(request, run).values() for text in _yield_sourced_texts(result))
    return (request.text, build_run_brief(request, run), *result_texts, *answers, *titles, *ours, *earlier_texts)


def _yield_sourced_texts(result: Result) -> Iterator[str]:
    """Yield the texts of a result without its unsupported figures."""
    texts = [
        result.content,
        result.summary,
        *(f"{one.message} {one.where} {one.suggestion}" for one in result.findings),
    ]
    yield from (remove_figures(text, result.unsupported) for text in texts)
    yield from result.evidence
    yield from (f"{one.name} {one.about}" for one in result.artifacts)
