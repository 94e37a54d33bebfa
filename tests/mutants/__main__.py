"""`make mutants`: takes the guards of "once" away, one at a time, and shows that the tests notice each.

    python -m tests.mutants            the tests that must notice it, on the program as it is too: some minutes
    python -m tests.mutants --quick    those alone that try the guard, for whoever runs them on the program itself too

Nothing in the checkout is touched: each mutant is a copy. Ends with 0 if the tests hold for the program as it is, and
each of a mutant's tests fails for it by a check that does not hold, rather than by a program that does not run.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.mutations import MUTANTS, Mutant
from tests.mutants.trial import Outcome, run

WHOLE = "the program as it is"


def main() -> int:
    """Try them all, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="only the tests that try the guards")
    parser.add_argument("name", nargs="*", help="some of them, such as 'fence'; default: all")
    asked = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if not asked.name or any(word in mutant.name for word in asked.name)]
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        whole = None if asked.quick else pool.submit(run, WHOLE, _tests(chosen, quick=False))
        trials = [
            (mutant, pool.submit(run, mutant.name, _tests([mutant], quick=asked.quick), mutant)) for mutant in chosen
        ]
        faults = _whole(whole.result()) if whole else []
        for mutant, trial in trials:
            faults += _report_outcome(mutant, trial.result())
    for fault in faults:
        sys.stdout.write(f"FAULT: {fault}\n")
    return 1 if faults or not chosen else 0


def _tests(mutants: list[Mutant], *, quick: bool) -> list[str]:
    wanted = (mutant.catchers if quick else mutant.catchers + mutant.searches for mutant in mutants)
    return list(dict.fromkeys(test for tests in wanted for test in tests))


def _whole(outcome: Outcome) -> list[str]:
    sys.stdout.write(f"{outcome.name}: {outcome.pass_count} passed\n")
    wrong = outcome.failures | outcome.breakages
    faults = [f"{test} does not even hold for {WHOLE}: {_line(why)}" for test, why in wrong.items()]
    return faults if outcome.pass_count or faults else [f"nothing was run for {WHOLE}"]


def _report_outcome(mutant: Mutant, outcome: Outcome) -> list[str]:
    sys.stdout.write(f"{mutant.name}: noticed by {len(outcome.failures)}, not by {outcome.pass_count}\n")
    for test, why in outcome.failures.items():
        sys.stdout.write(f"  {test.rpartition('::')[2]}: {_line(why)}\n")
    faults = []
    if not outcome.failures:
        faults.append(f"nothing notices a program {mutant.name}")
    if outcome.pass_count:
        faults.append(f"{outcome.pass_count} of the tests that must notice a program {mutant.name} do not")
    return faults + [f"{mutant.name}: {test} does not run: {_line(why)}" for test, why in outcome.breakages.items()]


def _line(why: str) -> str:
    return " ".join(why.split())[:140]


if __name__ == "__main__":
    sys.exit(main())
