"""The four ways to break the promise of "once", each as an edit of the packages, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SCRIPTS = "bot/store/scripts"
CONTRACT = "tests/store/test_store_contract.py"
OUTBOX = "tests/slack/test_outbox.py"
HISTORIES = "tests/store/test_store_machine.py::test_random_histories"
CRASH = "tests/crash/test_crash_points.py::test_a_crash_changes_nothing_of_the_end"
TWICE = "[server, every script sent twice]"


@dataclass(frozen=True)
class Edit:
    """Replaces a text that is there exactly once."""

    file: str
    old_text: str
    new_text: str

    def apply(self, root: Path) -> None:
        """Edit the copy under `root`. Raises LookupError where the text is not there, so that no mutant goes stale."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.old_text) != 1:
            raise LookupError(f"{self.file} has {text.count(self.old_text)} times, not once: {self.old_text!r}")
        path.write_text(text.replace(self.old_text, self.new_text), encoding="utf-8")


@dataclass(frozen=True)
class Mutant:
    """A program without one of its guards.

    Every one of `catchers`, which try that guard, must fail, and every one of `searches`, which try no guard but look
    for anything that goes wrong, and take longer.
    """

    name: str
    edits: tuple[Edit, ...]
    catchers: tuple[str, ...]
    searches: tuple[str, ...]


MUTANTS = (
    Mutant(
        "without the fence",
        (
            Edit(f"{SCRIPTS}/job.lua", "return state[1] == owner and state[2] == epoch", "return true"),
            Edit(f"{SCRIPTS}/commit.lua", "state[1] ~= ARGV[3] or state[2] ~= ARGV[4]", "false"),
        ),
        (
            f"{CONTRACT}::test_who_let_go_or_lost_a_job_can_do_nothing_to_it[server]",
            f"{CONTRACT}::test_the_same_owner_with_another_epoch_is_another_owner[server]",
        ),
        (HISTORIES,),
    ),
    Mutant(
        "without the look-up",
        (
            Edit(
                "bot/slack/send/outbox.py",
                "found_ts = await self.lookup.find_message(place, key, elapsed_seconds=elapsed_seconds)",
                'found_ts = ""',
            ),
        ),
        (
            f"{OUTBOX}::test_a_new_owner_adopts_what_the_old_one_posted",
            f"{OUTBOX}::test_a_lost_reply_and_a_lagging_history_still_make_one",
        ),
        (f"{CRASH}[plain]",),
    ),
    Mutant(
        "without the operation id",
        (
            Edit(f"{SCRIPTS}/commit.lua", "if redis.call('ZSCORE', OPS, operation) then", "if false then"),
            Edit(f"{SCRIPTS}/ingest.lua", "return by == operation and 1 or 0", "return 0"),
            Edit(f"{SCRIPTS}/claim.lua", "if before then", "if false then"),
            Edit(f"{SCRIPTS}/outbox_begin.lua", "known.operation == operation and 1 or 0", "0"),
        ),
        (
            f"{CONTRACT}::test_a_commit_is_checked_for_its_operation_then_its_token_then_its_sequence[server]",
            f"{CONTRACT}::test_a_commit_appends_in_order_takes_from_the_inbox_and_updates_the_head{TWICE}",
            f"{CONTRACT}::test_what_comes_in_makes_a_job_that_is_due_at_once{TWICE}",
            f"{CONTRACT}::test_a_message_is_begun_by_one_operation{TWICE}",
            "tests/store/test_store_faults.py::test_a_lost_reply_changes_nothing",
        ),
        (HISTORIES,),
    ),
    Mutant(
        "without the sequence check",
        (
            # Alone, this would still be caught by the stream's own order of ids: so what comes is appended at the end.
            Edit(f"{SCRIPTS}/commit.lua", "if tonumber(state[3]) ~= expected then", "if false then"),
            Edit(f"{SCRIPTS}/commit.lua", "local seq = expected", "local seq = tonumber(state[3])"),
        ),
        (
            f"{CONTRACT}::test_of_racing_commits_at_one_sequence_one_is_done[server]",
            f"{CONTRACT}::test_a_commit_is_checked_for_its_operation_then_its_token_then_its_sequence[server]",
        ),
        (HISTORIES,),
    ),
)
