"""`make chaos SEED=n MINUTES=m`: three instances at work while everything around them fails, and what held at the end.

With `TEAMS=1` they are at work for five teams, which install the app, and nothing crosses from one to another.

The seed decides the jobs and the faults, in order; when each strikes is the machine's.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from tests.chaos.invariants import examine, whole_run
from tests.chaos.report import report
from tests.chaos.run import Options, start_run
from tests.proof_kit import say


async def main(options: Options, folder: Path) -> bool:
    """One run into a folder. Gives whether every invariant held."""
    async with start_run(options, folder) as run:
        await run.go()
        return report(run, await examine(run), await whole_run(run))


def _options() -> tuple[Options, Path, bool]:
    """What was asked for, where dumps and logs go, and whether they are kept whatever comes of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="default: a random one")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=Options.rate, help="new jobs a second, at the most")
    parser.add_argument("--open", type=int, default=Options.open, help="jobs that go on at a time, at the most")
    parser.add_argument("--calm", action="store_true", help="the same jobs without any fault")
    parser.add_argument("--teams", action="store_true", help="five teams that install the app; one leaves, keys change")
    parser.add_argument("--out", type=Path, help="where dumps and logs go; default: a temporary folder")
    given = parser.parse_args()
    options = Options(
        given.seed, given.minutes * 60, rate=given.rate, open=given.open, calm=given.calm, teams=given.teams
    )
    return options, given.out or Path(tempfile.mkdtemp(prefix="leadhand-chaos-")), given.out is not None


if __name__ == "__main__":
    run_options, out, must_keep = _options()
    out.mkdir(parents=True, exist_ok=True)
    say(
        f"seed {run_options.seed}, {run_options.seconds / 60:g} minutes; "
        f"SEED={run_options.seed} gives the same jobs and faults"
    )
    has_held = asyncio.run(main(run_options, out))
    if has_held and not must_keep:
        shutil.rmtree(out, ignore_errors=True)
    sys.exit(0 if has_held else 1)
