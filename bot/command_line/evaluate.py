"""`leadhand eval`: scores the configured models on labelled sets, beside a plain prompt for each role."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from bot.app import find_crew_folder, load_crew_of_settings
from bot.command_line.console import say
from bot.evaluation import run_file, scoreboard
from bot.evaluation.harness import CaseChoice, CaseRecord, play_sets
from bot.evaluation.outcome import CaseTrial
from bot.evaluation.run_file import RunFile, RunFileError
from bot.evaluation.set_files import LabelledSet, SetError, read_sets, validate_sets
from bot.evaluation.staged_job import CaseEnvironment
from bot.evaluation.trials.trial_registry import TRIALS
from bot.models.chosen_model import ChosenModel
from bot.models.model_choice import ModelSettingsError, choose_model
from bot.models.named_models import register_named_models
from bot.settings import Settings, SettingsError
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.track_record import TrackRecord
from specialists.crew import Crew
from specialists.specialist import Specialist

SAMPLES_FOLDER = Path(__file__).parents[2] / "specialists" / "samples"
SAVE_EVERY_RECORDS = 10
"""Number of new records after which the file is written, so that an interrupted run loses little."""


async def evaluate(options: argparse.Namespace, settings: Settings) -> int:
    """Run sets and print their table, compare two runs, or make cases from feedback.

    Returns 0, or 3 if calls failed in a run. Raises SettingsError and StoreError.
    """
    try:
        if options.compare:
            say(run_file.compare_runs(*(run_file.read_run(path) for path in options.compare)))
            return 0
        if options.crew is not None:
            settings = replace(settings, crew=str(options.crew), more_crews=())
        if options.private and options.from_feedback is None:
            raise SettingsError("--private goes with --from-feedback: it says whose requests become cases.")
        if options.from_feedback is not None:
            from bot.command_line.feedback_sets import write_feedback_sets  # noqa: PLC0415 - opens a store

            return await write_feedback_sets(options.from_feedback, settings, private=options.private)
        before = run_file.read_run(options.resume) if options.resume else None
        sets = read_sets(find_crew_folder(settings), options.sets or (before.sets if before else ()))
        crew = load_crew_of_settings(settings)
        validate_sets(sets, crew, SAMPLES_FOLDER)
    except (SetError, RunFileError) as error:
        raise SettingsError(str(error)) from None
    try:
        model = await choose_model(settings.env)
    except ModelSettingsError as error:
        raise SettingsError(str(error)) from None
    try:
        if faults := await register_named_models(model, crew):
            raise SettingsError("\n".join(map(str, faults)))
        await model.warm()
        return await _run_sets(options, settings, sets, crew, model, before)
    finally:
        await crew.close()
        await model.close()


async def _run_sets(
    options: argparse.Namespace,
    settings: Settings,
    sets: Sequence[LabelledSet],
    crew: Crew,
    model: ChosenModel,
    resumed_run: RunFile | None,
) -> int:
    choice = _choose_cases(options, resumed_run)
    run = RunFile(
        leadhand=version("leadhand"),
        model=model.label,
        tiers={str(tier): name for tier, name in model.tiers.items()},
        crew=crew.name,
        sets=tuple(one.name for one in sets),
        tags=tuple(sorted(choice.tags)),
        naive=choice.include_naive,
        limit=choice.limit,
        seed=choice.seed,
    )
    _require_same_models(run, resumed_run)
    first = crew.specialists.get(crew.first)
    crew = crew.without_first_responder()  # the sets test the planner and its specialists
    planning = CrewPlanner(crew, model, TrackRecord(), settings.terms)
    environment = CaseEnvironment(crew, planning, settings.terms, (SAMPLES_FOLDER,))
    run_records = _RunRecords(options.json or options.resume, run, resumed_run.records if resumed_run else ())
    run_records.prove_writable(is_new_file=options.json not in {None, options.resume})
    draw_note = f", {choice.limit} cases of each set drawn with seed {choice.seed}" if choice.limit else ""
    _print_progress(f"{model.label}, crew {crew.name}{draw_note}")
    complete = False
    try:
        async with _open_trials(sets, settings, first, model.label) as trials:
            await play_sets(
                sets,
                environment,
                model,
                choice,
                earlier_records=run_records.records,
                on_record=run_records.add_record,
                trials=trials,
            )
        complete = True
    finally:
        run_records.write_file(complete=complete)
        if not complete:
            _print_progress(f"interrupted: {run_records.resume_hint}")
        say(scoreboard.render_table(scoreboard.make_score_lines(run_records.records)))
    return 3 if any(record.error for record in run_records.records) else 0


@asynccontextmanager
async def _open_trials(
    sets: Sequence[LabelledSet], settings: Settings, first_responder: Specialist | None, label: str
) -> AsyncIterator[Mapping[str, CaseTrial]]:
    """Yield the trial of each set by name. Sets of whole jobs get a bot in a workspace.

    `first_responder` plays the naive side of `requests`; without one, that side is left out.
    """
    if not any(one.name in {"jobs", "requests"} for one in sets):
        yield TRIALS
        return
    from bot.command_line.whole_jobs import make_naive_trial, open_job_stage  # noqa: PLC0415 - only for whole jobs

    async with open_job_stage(settings, label) as jobs:
        naive_trial = make_naive_trial(first_responder) if first_responder is not None else None
        yield {**TRIALS, "jobs": CaseTrial(jobs.score_job), "requests": CaseTrial(jobs.score_request, naive_trial)}


def _choose_cases(options: argparse.Namespace, resumed_run: RunFile | None) -> CaseChoice:
    """Return the choice of cases from the options. Options that are not given are taken from the resumed run."""
    limit = options.limit if options.limit is not None else resumed_run.limit if resumed_run else 0
    seed = options.seed if options.seed is not None else resumed_run.seed if resumed_run else 0
    return CaseChoice(
        limit=limit,
        seed=seed,
        tags=frozenset(options.tags or (resumed_run.tags if resumed_run else ())),
        include_naive=not options.no_naive and (resumed_run is None or resumed_run.naive),
        parallel=options.parallel,
    )


def _require_same_models(run: RunFile, resumed_run: RunFile | None) -> None:
    if resumed_run is None:
        return
    if (run.tiers, run.crew) != (resumed_run.tiers, resumed_run.crew):  # a server at home may have another port by now
        raise SettingsError(
            f"--resume goes on with {resumed_run.model} and crew {resumed_run.crew}, and this is {run.model} and "
            f"{run.crew}. "
            "Set the same models, or begin a run of its own with --json."
        )


class _RunRecords:
    """The records of a run. They are written to its file after every `SAVE_EVERY_RECORDS` new ones."""

    def __init__(self, path: Path | None, run: RunFile, earlier_records: Iterable[CaseRecord]) -> None:
        self._path = path
        self._run = run
        self._records = {record.key: record for record in earlier_records}
        self._added_count = 0

    @property
    def records(self) -> tuple[CaseRecord, ...]:
        """All records so far."""
        return tuple(self._records.values())

    @property
    def resume_hint(self) -> str:
        """The command that resumes the run, or a note that nothing is kept without a file."""
        if self._path is None:
            return "without --json nothing is kept but this table"
        return f"go on with `leadhand eval --resume {self._path}`"

    def prove_writable(self, *, is_new_file: bool) -> None:
        """Write the file before any model call is paid for.

        Raises SettingsError if it cannot be written, or with `is_new_file` if it exists already.
        """
        if self._path is None:
            return
        if is_new_file and self._path.exists():
            raise SettingsError(
                f"{self._path} is there already: go on with --resume {self._path}, or name another file."
            )
        try:
            self.write_file(complete=False)
        except OSError as error:
            raise SettingsError(f"{self._path} cannot be written ({error.strerror}).") from None

    def add_record(self, record: CaseRecord, finished_count: int, total: int) -> None:
        """Add a record, and print it as number `finished_count` of `total`."""
        self._records[record.key] = record
        self._added_count += 1
        mark = "!" if record.error else "+" if record.right else "-"
        why = f": {' '.join((record.error or record.why).split())[:100]}" if not record.right or record.error else ""
        _print_progress(
            f"{finished_count}/{total} {mark} {record.set} {record.id} {record.side} {record.seconds:.1f} s{why}"
        )
        if self._added_count % SAVE_EVERY_RECORDS == 0:
            self.write_file(complete=False)

    def write_file(self, *, complete: bool) -> None:
        """Write the file, if the options name one."""
        if self._path is not None:
            run_file.write_run(self._path, self._run.with_records(self.records, complete=complete))


def _print_progress(text: str) -> None:
    """Print a line of progress to stderr."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the table alone goes to stdout
