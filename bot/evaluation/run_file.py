"""The JSON file of an evaluation run, and the comparison of two runs on the cases that both have."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from bot.evaluation.harness import CaseRecord
from bot.evaluation.scoreboard import (
    ScoreLine,
    compute_mcnemar_p,
    compute_paired_bootstrap,
    count_discordant_cases,
    make_score_lines,
)
from handoff.contracts import Contract


class RunFileError(Exception):
    """A file cannot be read, or has no run. The message says why."""


class RunFile(Contract):
    """An evaluation run. `sets`, `tags` (empty: all), `limit` (0: all), `seed` and `naive` select its cases.

    `complete` is True once all of these were played.
    """

    leadhand: str
    model: str
    tiers: dict[str, str]
    crew: str
    sets: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    naive: bool = True
    limit: int = 0
    seed: int = 0
    complete: bool = False
    table: tuple[ScoreLine, ...] = ()
    records: tuple[CaseRecord, ...] = Field(default=())

    def with_records(self, records: tuple[CaseRecord, ...], *, complete: bool) -> RunFile:
        """Return a copy of the run with these records and their table."""
        return self.model_copy(update={"records": records, "table": make_score_lines(records), "complete": complete})


def write_run(path: Path, run: RunFile) -> None:
    """Write a run to a file, which is replaced only once the new one is complete."""
    part = path.with_name(path.name + ".part")
    part.write_text(run.model_dump_json(indent=1), encoding="utf-8")
    os.replace(part, path)  # noqa: PTH105 - Path.replace says nothing of being atomic


def read_run(path: Path) -> RunFile:
    """Read a run from a file. Raises RunFileError."""
    try:
        return RunFile.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunFileError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValidationError, UnicodeDecodeError):
        raise RunFileError(f"{path} is no run: it takes what `leadhand eval --json` wrote.") from None


SIGNIFICANCE_LEVEL = 0.05
"""Significance level: a change with a p value below it counts as more than chance."""
MAX_NAMED_CASES = 12
"""Maximum number of cases that are named in each list, of those now right and of those now wrong."""
MIN_MEAN_CHANGE = 0.05
"""A smaller change of tokens or seconds is not reported: it would be printed as zero."""


def compare_runs(before: RunFile, after: RunFile) -> str:
    """Describe for people what changed between two runs, for each set and side."""
    lines = [
        f"A: {before.model}, {before.crew}, {before.leadhand}",
        f"B: {after.model}, {after.crew}, {after.leadhand}",
    ]
    earlier, later = _group_by_set_and_side(before.records), _group_by_set_and_side(after.records)
    for key in earlier:
        if key in later:
            lines += ["", *_render_changes(" ".join(key), earlier[key], later[key])]
    if unpaired_names := [" ".join(key) for key in (*earlier, *later) if (key in earlier) != (key in later)]:
        lines += ["", f"In one of the two only: {', '.join(unpaired_names)}."]
    if not earlier.keys() & later.keys():
        lines += ["", "The two have no set in common."]
    return "\n".join(lines)


def _group_by_set_and_side(records: Sequence[CaseRecord]) -> dict[tuple[str, str], list[CaseRecord]]:
    groups: dict[tuple[str, str], list[CaseRecord]] = {}
    for record in records:
        groups.setdefault((record.set, record.side), []).append(record)
    return groups


def _render_changes(name: str, before: list[CaseRecord], after: list[CaseRecord]) -> list[str]:
    later = {record.id: record for record in after}
    pairs = [(record, later[record.id]) for record in before if record.id in later]
    if not pairs:
        return [f"{name}: no case in common"]
    n = len(pairs)
    lost_count, won_count = count_discordant_cases([one for one, _ in pairs], [two for _, two in pairs])
    p = compute_mcnemar_p(lost_count, won_count)
    right = (sum(one.right for one, _ in pairs), sum(two.right for _, two in pairs))
    verdict = ("better" if won_count > lost_count else "worse") if p < SIGNIFICANCE_LEVEL else "no change beyond chance"
    lines = [f"{name}: {right[0]} of {n} right before, {right[1]} after; {verdict} (p {p:.3f})"]
    lines += _render_ids("  now right", [two.id for one, two in pairs if two.right and not one.right])
    lines += _render_ids("  now wrong", [two.id for one, two in pairs if one.right and not two.right])
    tokens = [(one.tokens_in + one.tokens_out, two.tokens_in + two.tokens_out) for one, two in pairs]
    lines += _render_mean_change("tokens", tokens)
    lines += _render_mean_change("seconds", [(one.seconds, two.seconds) for one, two in pairs])
    return lines


def _render_ids(label: str, ids: list[str]) -> list[str]:
    more = f" and {len(ids) - MAX_NAMED_CASES} more" if len(ids) > MAX_NAMED_CASES else ""
    return [f"{label}: {', '.join(ids[:MAX_NAMED_CASES])}{more}"] if ids else []


def _render_mean_change(label: str, pairs: Sequence[tuple[float, float]]) -> list[str]:
    """Return a line on the change of a mean; none if the 95 % interval of the change includes zero."""
    mean, low, high = compute_paired_bootstrap([one for one, _ in pairs], [two for _, two in pairs])
    if low <= 0 <= high or abs(mean) < MIN_MEAN_CHANGE:
        return []
    return [f"  {label} a case: {mean:+,.1f} (95 %: {low:+,.1f} to {high:+,.1f})"]
