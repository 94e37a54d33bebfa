"""Trials of single specialists: questions with known answers, and review lenses on changes with planted faults."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from bot.evaluation.answer_search import DOUBT_MARK, contains_figure, contains_words, find_leak
from bot.evaluation.cases import ExpectedAnswer, ReviewCase, SpecialistCase
from bot.evaluation.counting_model import CountingModel
from bot.evaluation.naive_prompts import call_baseline, make_naive_call
from bot.evaluation.outcome import CaseOutcome
from bot.evaluation.staged_job import CaseEnvironment, StagedJob, read_case_file
from handoff.answering.code_places import CodePlace, find_code_place
from handoff.contracts import Finding, Plan, Subtask, ToolReply, Turn
from specialists.model import ModelMessage
from specialists.sandbox.scratch_folder import get_scratch_folder
from specialists.specialist import Specialist
from specialists.tools.tool import FolderWorkbench, Workbench
from specialists.turns.one_call import ReadyCall, check_call, run_read_call

_COMPLETED_MEASURES = ("completed and wrong", "completed, wrong and nothing marked")
DEFAULT_DONE_WHEN = "States what was asked for."


async def ask_specialist(case: SpecialistCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Have a specialist answer as the only subtask of a plan, with all checks of the product, and score its answer."""
    job = StagedJob(environment, model, case.input, case.files)
    part = Subtask(
        id="part",
        title="The answer",
        intent=case.input,
        specialist=case.specialist,
        done_when=case.done_when or DEFAULT_DONE_WHEN,
    )
    job.set_plan(Plan(goal=case.input, subtasks=(part,)))
    await job.play(lambda request: request.run.is_concluded)
    run = job.request.run
    if run.answer is None:
        why = run.failure.reason if run.failure else job.request.subtasks["part"].reason or f"it is {job.request.state}"
        return CaseOutcome(False, why, f"no answer: {why}", dict.fromkeys(_COMPLETED_MEASURES, False))
    return _score_answer(case.expect, run.answer, is_complete=job.request.subtasks["part"].state == "complete")


async def ask_specialist_naively(
    case: SpecialistCase, environment: CaseEnvironment, model: CountingModel
) -> CaseOutcome:
    """Have the same model answer with the same tools in a plain loop, and score its answer."""
    specialist = environment.crew.specialists[case.specialist]
    file_line = f"\n\nFiles: {', '.join(case.files)}" if case.files else ""
    text = await run_naive_loop(case.input + file_line, case.files, specialist, environment, model)
    return _score_answer(case.expect, text, is_complete=bool(text.strip()))


async def run_naive_loop(
    request: str, files: Sequence[str], specialist: Specialist, environment: CaseEnvironment, model: CountingModel
) -> str:
    """Return the answer of a plain prompt in a loop with a specialist's tools; empty if it takes too many turns."""
    with tempfile.TemporaryDirectory(prefix="leadhand-eval-", dir=get_scratch_folder()) as folder:
        workbench = _make_workbench(files, environment, Path(folder))
        messages = [ModelMessage(role="user", text=request)]
        tools = tuple(tool.spec for tool in specialist.tools)
        for _ in range(specialist.max_turns):
            turn = await model.reply(make_naive_call("specialist", *messages, tools=tools, tier=specialist.tier))
            if not turn.calls:
                return turn.text
            replies = await _perform_calls(turn, specialist, workbench)
            messages += [
                ModelMessage(role="assistant", text=turn.text, calls=turn.calls, thoughts=turn.thoughts),
                ModelMessage(role="tool", replies=replies),
            ]
    return ""


async def _perform_calls(turn: Turn, specialist: Specialist, workbench: Workbench) -> tuple[ToolReply, ...]:
    deadline = asyncio.get_running_loop().time() + 120
    replies = []
    for call in turn.calls:
        ready = check_call(call, specialist.toolbox, request_count=1)
        outcome = await run_read_call(ready, workbench, deadline=deadline) if isinstance(ready, ReadyCall) else ready
        replies.append(ToolReply(call_id=call.id, text=outcome.text, failed=outcome.failed))
    return tuple(replies)


def _make_workbench(files: Sequence[str], environment: CaseEnvironment, folder: Path) -> FolderWorkbench:
    media_type = "application/octet-stream"
    named_files = ((name, media_type, read_case_file(name, environment.folders) or b"") for name in files)
    return FolderWorkbench.make_in_memory(named_files, folder)


def _score_answer(expected: ExpectedAnswer, text: str, *, is_complete: bool) -> CaseOutcome:
    faults = find_answer_faults(expected, text)
    if not is_complete:
        faults.insert(0, "not completed")
    measures = {
        _COMPLETED_MEASURES[0]: is_complete and bool(faults),
        _COMPLETED_MEASURES[1]: is_complete and bool(faults) and DOUBT_MARK not in text,
        "a tool call, schema or heading in the answer": bool(find_leak(text)),
    }
    return CaseOutcome(not faults, text, "; ".join(faults), measures)


def find_answer_faults(expected: ExpectedAnswer, text: str) -> list[str]:
    """Return the faults of an answer: expected figures and texts that it lacks, and forbidden texts that it has."""
    return [
        *(f"{figure} is not in it" for figure in expected.figures if not contains_figure(text, figure)),
        *(f"{words!r} is not in it" for words in expected.texts if not contains_words(text, words)),
        *(f"{words!r} is in it" for words in expected.must_not if contains_words(text, words)),
    ]


MIN_SHOWN_CONFIDENCE = 80
"""Minimum confidence, in percent, of a finding that a review shows. It only counts the others."""
REVIEW_DONE_WHEN = "Each fault is a finding with its path and line."


async def review_change(case: ReviewCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Have a lens review a change as the only subtask of a plan, with its real tools, and score its findings."""
    job = StagedJob(environment, model, case.input, case.files)
    part = Subtask(id="part", title=case.lens, intent=case.input, specialist=case.lens, done_when=REVIEW_DONE_WHEN)
    job.set_plan(Plan(goal=case.input, subtasks=(part,)), with_fallbacks=False)
    await job.play(lambda request: request.run.is_concluded)
    subtask = job.request.subtasks["part"]
    if subtask.result is None:
        return CaseOutcome(False, subtask.reason, f"no result: {subtask.reason}", _measure_review(case, (), ()))
    findings = subtask.result.findings
    reply = "\n".join(_render_finding(one) for one in findings) or "no findings"
    return _score_review(case, reply, [one for one in findings if one.confidence >= MIN_SHOWN_CONFIDENCE], findings)


async def review_change_naively(case: ReviewCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Call the same model once with the same files, and score its reply. Each line with a code place is a finding."""
    texts = [f"## {name}\n{(read_case_file(name, environment.folders) or b'').decode()}" for name in case.files]
    reply = await call_baseline(model, "lens", "\n\n".join((f"Look for: {case.lens}. {case.input}", *texts)))
    findings = [Finding(message=line, where=line) for line in reply.splitlines() if find_code_place(line)]
    return _score_review(case, reply, findings, findings)


def _score_review(
    case: ReviewCase, reply: str, shown_findings: Iterable[Finding], all_findings: Iterable[Finding]
) -> CaseOutcome:
    shown_places = tuple(place for one in shown_findings if (place := find_code_place(one.where)))
    missed_places = [place for place in case.expect if not _contains_near_place(place, shown_places)]
    all_places = tuple(place for one in all_findings if (place := find_code_place(one.where)))
    why = f"nothing shown at {', '.join(missed_places)}" if missed_places else ""
    return CaseOutcome(not missed_places, reply, why, _measure_review(case, shown_places, all_places))


def _measure_review(
    case: ReviewCase, shown_places: tuple[CodePlace, ...], all_places: tuple[CodePlace, ...]
) -> dict[str, bool]:
    fault_places = [place for text in (*case.expect, *case.others) if (place := find_code_place(text))]
    has_false_alarm = any(not any(one.is_near(place) for place in fault_places) for one in shown_places)
    found_all = all(_contains_near_place(place, shown_places) for place in case.expect)
    return {
        f"all found by {case.lens}": found_all,
        "all found, less sure ones counted": all(_contains_near_place(place, all_places) for place in case.expect),
        "a false alarm among what is shown": has_false_alarm,
    }


def _contains_near_place(place_text: str, places: Iterable[CodePlace]) -> bool:
    place = find_code_place(place_text)
    return place is not None and any(one.is_near(place) for one in places)


def _render_finding(finding: Finding) -> str:
    return f"{finding.confidence} {finding.severity} {finding.where}: {finding.message}"
