# ruff: noqa: E501, Q001 - the changes are written as they are
"""Makes the evaluation cases of the crew review: changes in three languages with faults planted in them.

`python -m tests.evaluation.planted_faults` writes them anew. `§lens` at the end of a new line says which lens is to find
something there; the mark itself is in no file. What is said of a change beside its diff (rules, commits, comments on
earlier requests) is what a lens goes by that is about those.
"""

from __future__ import annotations

import difflib
import re
import sys
from dataclasses import dataclass

from specialists.registry import CREWS

FOLDER = CREWS / "review" / "evaluation"
BESIDE = {"house_rules": "AGENTS.md", "history": "commits.txt", "earlier_requests": "requests.md"}
LENSES = ("bugs", "house_rules", "history", "earlier_requests", "comments")
_MARK = re.compile(r"[ \t]*§([a-z_]+)$")


@dataclass(frozen=True)
class Change:
    """A file before and after, and what stands beside it."""

    name: str
    language: str
    path: str
    old: str
    new: str
    rules: str
    commits: str
    requests: str

    @property
    def planted(self) -> dict[str, list[int]]:
        """The lines of the new file at which each lens is to find something."""
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self.new.strip("\n").splitlines(), 1):
            if mark := _MARK.search(line):
                found.setdefault(mark[1], []).append(number)
        return found

    @property
    def diff(self) -> str:
        old = self.old.strip("\n").splitlines(keepends=False)
        new = [_MARK.sub("", line) for line in self.new.strip("\n").splitlines()]
        lines = difflib.unified_diff(old, new, f"a/{self.path}", f"b/{self.path}", n=4, lineterm="")
        return "\n".join((f"diff --git a/{self.path} b/{self.path}", *lines)) + "\n"


CHANGES = (
    Change(
        "py-till", "python", "till/refunds.py",
        '''
"""Refunds of the till."""

import logging

from till.store import store

log = logging.getLogger(__name__)


def refund(order, cents):
    """Pay back `cents`, a whole number of euro cents, at most what was paid. Returns the receipt."""
    if cents <= 0 or cents > order.paid:
        raise ValueError("a refund is more than nothing and at most what was paid")
    with store.locked(order.id):
        order.paid -= cents
        store.save(order)
    return store.receipt(order.id, -cents)


def open_refunds(orders):
    """Return the refunds that are not paid out, the oldest first."""
    return sorted((one for one in orders if one.refund_due), key=lambda one: one.day)
''',
        '''
"""Refunds of the till."""

import logging

from till.store import store

log = logging.getLogger(__name__)


def refund(order, cents, reason=""):
    """Pay back `cents`, a whole number of euro cents, at most what was paid. Returns the receipt."""
    if cents < 0 or cents > order.paid: §bugs
        raise ValueError("a refund is more than nothing and at most what was paid")
    order.paid -= cents §history
    store.save(order)
    print(f"refund of {cents} for {order.id}") §house_rules
    log.info("refunded %s to %s", cents, order.card_number) §earlier_requests
    return store.receipt(order.id, -cents)


def open_refunds(orders):
    """Return the refunds that are not paid out, the oldest first."""
    due = [one for one in orders if one.refund_due]
    return sorted(due, key=lambda one: one.day, reverse=True) §comments


def refund_share(refunds, orders):
    return sum(one.cents for one in refunds) / len(orders) §bugs
''',
        "- Nothing is printed: what is worth knowing goes to the logger.\\n- Public functions have type hints in new modules.",
        "commit 8f31c20 (2026-03-04, Ines): Lock the order while it is paid back\\n    Two tills refunded one order at once and paid it back twice. store.locked\\n    must stay around reading and saving `paid`.\\ncommit 51aa0de (2026-01-12, Ben): Refunds",
        "till#44 “Log refunds”, merged 2026-05-02\\ncleo at till/refunds.py: Please never log the card number, not even masked. The order's id is enough.\\nben: Done.",
    ),
    Change(
        "py-import", "python", "feeds/importer.py",
        '''
"""Imports price feeds of suppliers."""

from feeds.parse import rows
from feeds.web import fetch

TRIES = 3


def load(url, known):
    """Load a feed. Rows of unknown articles are left out. Never raises for a feed that is away: returns []."""
    for attempt in range(TRIES):
        try:
            text = fetch(url, timeout=20)
        except OSError:
            continue
        return [row for row in rows(text) if row.article in known]
    return []


def cheapest(offers):
    """The cheapest offer in stock; None if there is none."""
    there = [one for one in offers if one.stock > 0]
    return min(there, key=lambda one: one.price) if there else None
''',
        '''
"""Imports price feeds of suppliers."""

from feeds.parse import rows
from feeds.web import fetch

TRIES = 3


def load(url, known, seen=[]): §bugs
    """Load a feed. Rows of unknown articles are left out. Never raises for a feed that is away: returns []."""
    for attempt in range(TRIES):
        try:
            text = fetch(url) §history
        except OSError:
            if attempt == TRIES - 1:
                raise §comments
            continue
        seen.extend(row for row in rows(text) if row.article in known)
        return seen
    return []


def cheapest(offers):
    """The cheapest offer in stock; None if there is none."""
    there = [one for one in offers if one.stock > 0]
    return min(there, key=lambda one: one.price) if offers else None §bugs


def articles(connection, supplier):
    query = f"select number from articles where supplier = '{supplier}'" §earlier_requests
    try:
        return connection.execute(query).fetchall()
    except: §house_rules
        return []
''',
        "- No bare except: name what is expected.\\n- Lines have at most 120 characters.",
        "commit c77d1ea (2026-02-20, Mira): A feed has 20 seconds\\n    Without a timeout one dead supplier held the whole nightly import until\\n    somebody killed it. Do not call fetch without one.\\ncommit 0b9f2d3 (2025-11-30, Ben): Import feeds",
        "shop#19 “Search by supplier”, merged 2026-06-11\\ncleo at feeds/search.py: Values go into SQL as parameters, never by formatting. Suppliers choose their own names.\\nmira: Changed to parameters.",
    ),
    Change(
        "ts-cart", "typescript", "web/cart.ts",
        '''
import { api } from "./api";

export interface Line {
  article: string;
  count: number;
  cents: number;
}

/** The total in cents. An empty cart costs 0. */
export function total(lines: Line[]): number {
  return lines.reduce((sum, line) => sum + line.count * line.cents, 0);
}

/** Saves the cart and resolves once the server has it. */
export async function save(lines: Line[]): Promise<void> {
  await api.put("/cart", { lines }, { retry: false });
}
''',
        '''
import { api } from "./api";

export interface Line {
  article: string;
  count: number;
  cents: number;
}

/** The total in cents. An empty cart costs 0. */
export function total(lines: Line[]): number {
  return lines.map((line) => line.count * line.cents).reduce((sum, one) => sum + one); §bugs
}

/** Saves the cart and resolves once the server has it. */
export async function save(lines: Line[]): Promise<void> {
  api.put("/cart", { lines }, { retry: true }); §history
}

export function show(line: Line, box: HTMLElement): void {
  box.innerHTML = `<b>${line.article}</b>: ${line.count}`; §earlier_requests
}

export function last(lines: Line[]): Line {
  return lines[lines.length]; §bugs
}

/** Counts articles; two lines of one article count once. */
export function articles(lines: any): number { §house_rules
  return lines.length; §comments
}
''',
        "- `any` is not used; write the type, or `unknown`.\\n- Exported functions have a comment.",
        "commit 90ab3f1 (2026-04-18, Lea): Carts are not saved again by themselves\\n    retry: true sent the cart twice on slow networks and doubled the counts.\\n    It stays false until the server knows versions.\\ncommit 77e01bc (2026-02-02, Lea): Cart",
        "web#8 “Show names of articles”, merged 2026-04-30\\nben at web/list.ts: Names come from suppliers: textContent, never innerHTML.\\nlea: Right, changed.",
    ),
    Change(
        "ts-session", "typescript", "web/session.ts",
        '''
const MINUTES = 30;

export interface Session {
  user: string;
  endsAt: number; // milliseconds since the epoch
}

// Keep in sync with SESSION_MINUTES in server/session.go.
export function start(user: string, now: number): Session {
  return { user, endsAt: now + MINUTES * 60 * 1000 };
}

export function isOver(session: Session, now: number): boolean {
  return now >= session.endsAt;
}

export function restore(text: string | null): Session | null {
  if (text === null) {
    return null;
  }
  try {
    return JSON.parse(text) as Session;
  } catch {
    return null;
  }
}
''',
        '''
const MINUTES = 480; §comments

export interface Session {
  user: string;
  endsAt: number; // milliseconds since the epoch
}

// Keep in sync with SESSION_MINUTES in server/session.go.
export function start(user: string, now: number): Session {
  localStorage.setItem("lastUser", user); §house_rules
  return { user, endsAt: now + MINUTES * 60 }; §bugs
}

export function isOver(session: Session, now: number): boolean {
  return now > session.endsAt;
}

export function restore(text: string | null): Session | null {
  return JSON.parse(text as string) as Session; §history
}

export function merge(mine: Session[], theirs: Session[]): Session[] {
  for (let i = 0; i <= theirs.length; i++) { §bugs
    mine.push(theirs[i]);
  }
  return mine;
}

export function token(): string {
  return Math.random().toString(36).slice(2); §earlier_requests
}
''',
        "- Names of people are kept nowhere in the browser: no localStorage, no cookies but the session's.\\n- No default exports.",
        "commit 2d4e6aa (2026-05-09, Lea): A broken session is no session\\n    Old browsers kept half a JSON text, and the whole page stayed white.\\n    restore catches that and gives null.\\ncommit 1f00d21 (2026-03-03, Lea): Sessions",
        "web#15 “Invite links”, merged 2026-06-20\\ncleo at web/invite.ts: Tokens come from crypto.getRandomValues; Math.random can be guessed.\\nlea: Changed.",
    ),
    Change(
        "go-queue", "go", "queue/queue.go",
        '''
package queue

import (
	"context"
	"sync"
)

// Queue hands out jobs in the order in which they came. It is safe for several goroutines.
type Queue struct {
	mu   sync.Mutex
	jobs []Job
}

// Add puts a job at the end.
func (q *Queue) Add(job Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, job)
}

// Next takes the first job; false if there is none.
func (q *Queue) Next(ctx context.Context) (Job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 {
		return Job{}, false
	}
	job := q.jobs[0]
	q.jobs = q.jobs[1:]
	return job, true
}
''',
        '''
package queue

import (
	"context"
	"fmt"
	"sync"
)

// Queue hands out jobs in the order in which they came. It is safe for several goroutines.
type Queue struct {
	mu   sync.Mutex
	jobs []Job
}

// Add puts a job at the end.
func (q *Queue) Add(job Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append([]Job{job}, q.jobs...) §comments
}

// Next takes the first job; false if there is none.
func (q *Queue) Next(ctx context.Context) (Job, bool) {
	q.mu.Lock()
	if len(q.jobs) == 0 {
		return Job{}, false §bugs
	}
	job := q.jobs[0]
	q.jobs = q.jobs[1:]
	q.mu.Unlock()
	return job, true
}

// Len says how many jobs wait.
func (q *Queue) Len() int {
	return len(q.jobs) §history
}

// Drain runs what is left.
func (q *Queue) Drain(ctx context.Context, run func(context.Context, Job) error) {
	for {
		job, ok := q.Next(context.Background()) §house_rules
		if !ok {
			return
		}
		err := run(ctx, job)
		fmt.Println("job failed", err.Error()) §bugs
		go retry(job) §earlier_requests
	}
}
''',
        "- A context is passed on; context.Background() stands in main and in tests alone.\\n- Errors are wrapped with %w.",
        "commit ab12f90 (2026-07-01, Tom): Remove Len\\n    It read jobs without the lock and the race detector stopped the build.\\n    If it comes back it has to lock.\\ncommit 9921cc0 (2026-05-15, Tom): Queue",
        "jobs#27 “Send mails later”, merged 2026-07-19\\nmira at mail/later.go: No goroutine without somebody who waits for it: at shutdown these are lost. Use the group.\\ntom: Done with errgroup.",
    ),
    Change(
        "go-files", "go", "files/upload.go",
        '''
package files

import (
	"io"
	"os"
	"path/filepath"
)

const limit = 10 << 20 // bytes

// Save writes an upload of at most 10 MB into dir under its own name, and returns the path.
func Save(dir, name string, body io.Reader) (string, error) {
	path := filepath.Join(dir, filepath.Base(name))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if _, err := io.Copy(file, io.LimitReader(body, limit)); err != nil {
		return "", err
	}
	return path, nil
}
''',
        '''
package files

import (
	"io"
	"os"
	"path/filepath"
)

const limit = 100 << 20 // bytes §comments

// Save writes an upload of at most 10 MB into dir under its own name, and returns the path.
func Save(dir, name string, body io.Reader) (string, error) {
	path := filepath.Join(dir, name) §bugs
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600) §history
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(file, io.LimitReader(body, limit)); err != nil {
		return "", err §bugs
	}
	file.Close()
	return path, nil
}

// Remove deletes an upload.
func Remove(path string) {
	os.Remove(path) §house_rules
}

// Share makes an upload readable by its group.
func Share(path string) error {
	return os.Chmod(path, 0o777) §earlier_requests
}
''',
        "- No error is dropped: return it, or log it with its path.\\n- Paths are joined with filepath.",
        "commit e4410b7 (2026-06-06, Tom): An upload never replaces another\\n    Two people sent report.pdf and the second one won. O_EXCL makes the second\\n    fail, and its name gets a number.\\ncommit d0c0ffe (2026-05-20, Tom): Uploads",
        "files#5 “Shared folders”, merged 2026-06-28\\ncleo at files/folder.go: 0o777 is never right here: nobody else on that machine may read or write. 0o640 for groups.\\ntom: Changed to 0o640.",
    ),
)  # fmt: skip


def files() -> dict[str, str]:
    """All files of the evaluation by their names."""
    found: dict[str, str] = {}
    for one in CHANGES:
        found[f"{one.name}.diff"] = one.diff
        for lens, text in (("house_rules", one.rules), ("history", one.commits), ("earlier_requests", one.requests)):
            found[f"{one.name}-{BESIDE[lens]}"] = text.replace("\\n", "\n") + "\n"
    return {**found, "reviews.yml": _cases()}


def _cases() -> str:
    head = (
        "# Changes with planted faults: which line of the new file a lens must find something at (two lines off will do).\n"
        "# Written by `python -m tests.evaluation.planted_faults`, where the changes are. Each change is its own false alarm:\n"
        "# what a lens finds at 80 or above, more than two lines from anything planted, counts as one.\n"
    )
    return head + "".join(_case(one, lens) for one in CHANGES for lens in LENSES)


def _case(one: Change, lens: str) -> str:
    beside = f", {one.name}-{BESIDE[lens]}" if lens in BESIDE else ""
    places = ", ".join(f'"{one.path}:{line}"' for line in one.planted[lens])
    others = ", ".join(f'"{one.path}:{line}"' for name in LENSES if name != lens for line in one.planted[name])
    return (
        f"- {{id: {one.name}-{lens}, tags: [{one.language}, {lens}], lens: {lens}, files: [{one.name}.diff{beside}], "
        f"expect: [{places}], others: [{others}]}}\n"
    )


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{sum(len(each) for one in CHANGES for each in one.planted.values())} faults\n")


if __name__ == "__main__":
    main()
