"""Plays questions of the set through the whole bot, and says what became of each."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from handoff.engine.answer import list_answer_gaps
from handoff.state.job_state import Job, RequestState
from specialists.crew import Crew
from specialists.registry import CREWS_FOLDER, load_crew
from tests.own_tools import all_tools
from tests.rehearsal_set.asked import BUDGET, CAREFUL, DECLINE, PART, RIGHT, Figures, RequestCase
from tests.rehearsal_set.plain_tables import FILES, SAMPLE, rows_of
from tests.system.scene import Scene, Talk

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_SAID_OF_NO_MODEL = re.compile(r"% sure|\bsound\b|✅|:white_check_mark:")


def path_of(name: str) -> Path:
    return SAMPLE if name == SAMPLE.name else FILES / name


async def play_case(scene: Scene, case: RequestCase) -> tuple[str, str]:
    """The outcome of a request and its follow-ups, and what the thread says in the end."""
    talk = await scene.ask(case.text, files=[path_of(case.file)] if case.file else [])
    job = await _end(talk, 1)
    for number, text in enumerate(case.then, start=2):
        await talk.say(f"@leadhand {text}")
        job = await _end(talk, number)
    request = job.requests[-1]
    text = request.run.answer or (request.run.failure.reason if request.run.failure else "")
    assert not _SAID_OF_NO_MODEL.search(talk.join_bot_texts()), talk.join_bot_texts()
    return _outcome(request, text, case), text


async def _end(talk: Talk, number: int) -> Job:
    def find_ended_job(job: Job) -> Job | None:
        if len(job.requests) < number:
            return None
        return job if job.requests[number - 1].is_over or job.requests[number - 1].state == "input_required" else None

    job = await talk.until(find_ended_job)
    assert job is not None
    return job


def _outcome(request: RequestState, text: str, case: RequestCase) -> str:
    if request.state != "completed" or all(one.is_handed_over for one in request.subtasks.values()):
        return DECLINE
    # What reading the file had to change is said of every answer from it, and is no part of the request left open.
    if any(not gap.startswith(case.file or "-") for gap in list_answer_gaps(request, request.run)):
        return PART
    rows = rows_of(case.file) if case.file else []
    right = case.want == RIGHT and case.figures is not None and has_figures(text, case.figures(rows))
    return RIGHT if right else "wrong"


def has_figures(text: str, figures: Figures) -> bool:
    """True if an answer has each figure beside its label, or, of figures alone, in its first sentences."""
    lines = text.splitlines()
    if isinstance(figures, dict):
        return all(
            any(re.search(rf"(?<!\w){re.escape(label)}", line) and _has(line, value) for line in lines)
            for label, value in figures.items()
        )
    head = " ".join([line for line in lines if line.strip()][:2])
    return all(_has(head, value) for value in figures)


def _has(line: str, value: float) -> bool:
    """True if the line has the figure, rounded as people write it: to no less than two digits behind the point."""
    for found in _NUMBER.findall(line):
        plain = found.replace(",", "")
        digits = len(plain.partition(".")[2])
        exact = abs(float(plain) - value) < 1e-6 * max(1.0, abs(value))
        if exact or (digits >= 1 and abs(float(plain) - value) <= 0.51 * 10**-digits):
            return True
    return False


def is_as_wanted(outcome: str, want: str) -> bool:
    return outcome == want or (want == CAREFUL and outcome in {PART, DECLINE})


async def outcomes(scene: Scene, cases: list[RequestCase], crew: Crew) -> list[tuple[RequestCase, str, str]]:
    async with scene.bot(crew=crew):
        return [(one, *await play_case(scene, one)) for one in cases]


def without_charts(crew: Crew) -> Crew:
    """The crew with an analyst that cannot draw.

    A chart takes a process with matplotlib in it, which is longer than all else of a question takes.
    """
    analyst = crew.specialists["analyst"]
    tools = tuple(tool for tool in analyst.tools if tool.name != "draw_chart")
    assert len(tools) < len(analyst.tools)
    return replace(crew, specialists={**crew.specialists, "analyst": replace(analyst, tools=tools)})


def draws(case: RequestCase) -> bool:
    """True if a request asks for a chart, or is of one file: those go to the crew as people have it."""
    return "chart" in case.text or case.file == BUDGET


async def play_cases(scene: Scene, cases: list[RequestCase]) -> tuple[list[tuple[RequestCase, str]], list[str]]:
    """Each question with its outcome, and what is wrong, in words."""
    general = load_crew(CREWS_FOLDER / "general", all_tools())
    found: list[tuple[RequestCase, str, str]] = []
    for crew, some in (
        (general, [one for one in cases if draws(one)]),
        (without_charts(general), [one for one in cases if not draws(one)]),
    ):
        found += await outcomes(scene, some, crew) if some else []
    wrong = [
        f"{one.name}\n  wanted {one.want}, got {outcome}:\n{text[:1500]}"
        for one, outcome, text in found
        if not is_as_wanted(outcome, one.want)
    ]
    return [(one, outcome) for one, outcome, _ in found], wrong
