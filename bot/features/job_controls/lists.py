"""Lists jobs by their heads: a person's jobs, jobs that wait for a person, and everybody's running jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from bot.slack.show.people import FindGroups, find_no_groups
from bot.slack.views.job_lines import JobLine
from bot.slack.views.outgoing import make_message_link
from bot.slack.views.paging import PAGE_ROWS, ListPage, clamp_page, make_page, select_page
from bot.store.redis.redis_store import Store
from bot.store.values import EVERYBODY, Head, JobKey
from handoff.approval_values import ADMINS
from handoff.state.job_state import ENDED_STATES
from handoff.summaries.card_rows import parse_rows
from handoff.summaries.summary import merge_answerers, parse_open_questions

JobFilter = Literal["", "open", "waiting", "over", "done", "failed", "stopped"]
"""A filter of jobs by state: "" for all, "open" for those that have not ended, "waiting" for those that wait for
people, "over" for those that ended. "done", "failed" and "stopped" are the three ways to end."""
MAX_SEARCHED_JOBS = 200
"""Maximum number of a person's newest jobs that a filter searches, and of jobs that are listed as running."""


class JobLists:
    """Lists jobs page by page from their heads, for the bot and the terminal. Each coroutine raises StoreError.

    Args:
        store: The store of the jobs.
        url: The workspace's own address, for links to threads; empty for no links.
        admins: Slack ids of the admins.
        find_groups: Returns the user groups of a person.
    """

    def __init__(
        self,
        store: Store,
        *,
        url: str = "",
        admins: frozenset[str] = frozenset(),
        find_groups: FindGroups = find_no_groups,
    ) -> None:
        self._store = store
        self._url = url
        self._admins = admins
        self._find_groups = find_groups

    async def list_own(self, team: str, user: str, page: int, kind: JobFilter = "") -> ListPage[JobLine]:
        """List the jobs that a person asked for, newest first."""
        jobs = self._store.jobs
        if kind:
            glances = await jobs.read_statuses(await jobs.list_keys_asked_by(team, user, limit=MAX_SEARCHED_JOBS))
            return await self._read_page([one.key for one in glances if _FILTER_CHECKS[kind](one.state)], page)
        total = await jobs.count_jobs_asked_by(team, user)
        number = clamp_page(total, page)
        heads = await jobs.read_heads_asked_by(team, user, limit=PAGE_ROWS, skip=(number - 1) * PAGE_ROWS)
        return make_page([self.make_line(head) for head in heads], number, total)

    async def list_running(self, team: str, page: int = 1) -> ListPage[JobLine]:
        """List everybody's running jobs, the last changed first."""
        return await self._read_page(await self._list_running_keys([team]), page)

    async def read_running_heads(self, teams: Sequence[str]) -> list[Head]:
        """Read the heads of the teams' running jobs, the last changed first, at most `MAX_SEARCHED_JOBS`."""
        return await self._store.jobs.read_heads(await self._list_running_keys(teams))

    async def _list_running_keys(self, teams: Sequence[str]) -> list[JobKey]:
        jobs, homes = self._store.jobs, self._store.homes
        keys = await jobs.list_keys_under_way(limit=MAX_SEARCHED_JOBS, team=teams[0] if len(teams) == 1 else "")
        for team in teams:
            keys += await homes.list_waiting_jobs(team, [EVERYBODY], limit=MAX_SEARCHED_JOBS)
        keys = [key for key in dict.fromkeys(keys) if key.team in teams]
        statuses = [one for one in await jobs.read_statuses(keys) if one.state not in ENDED_STATES]
        return [one.key for one in sorted(statuses, key=lambda one: one.updated_at, reverse=True)][:MAX_SEARCHED_JOBS]

    async def _read_page(self, keys: Sequence[JobKey], page: int) -> ListPage[JobLine]:
        """Return a page of the jobs with these keys. Only the heads of that page are read."""
        key_page = select_page(keys, page)
        lines = [self.make_line(head) for head in await self._store.jobs.read_heads(key_page.rows)]
        return ListPage(tuple(lines), key_page.number, key_page.page_count, key_page.total_rows)

    async def read_waiting_heads(self, team: str, user: str) -> list[Head]:
        """Read the heads of jobs that may wait for a person, the longest waiting first. Raises StoreError."""
        people_and_groups = [user, *await self._find_groups(user), *([ADMINS] if user in self._admins else [])]
        heads = await self._store.jobs.read_heads(await self._store.homes.list_waiting_jobs(team, people_and_groups))
        return [head for head in heads if parse_open_questions(head.fields)]

    async def read_quarantined(self, team: str) -> list[Head]:
        """Read the heads of the jobs in quarantine. Raises StoreError."""
        heads = await self._store.jobs.read_heads(await self._store.homes.list_waiting_jobs(team, [EVERYBODY]))
        return [head for head in heads if head.is_quarantined]

    def make_line(self, head: Head) -> JobLine:
        """Build a job's line for a list from its head."""
        fields, questions = head.fields, parse_open_questions(head.fields)
        rows, more = parse_rows(fields)
        return JobLine(
            job=head.key.job,
            title=fields.get("title", ""),
            state=fields.get("state", "submitted"),
            channel=fields.get("channel", ""),
            updated_at=head.updated_at,
            quarantine_step=fields.get("step", "") if head.is_quarantined else "",
            awaited_people=merge_answerers([one.whom for one in questions]) if questions else None,
            is_partial=fields.get("in_part") == "1",
            requester=fields.get("user", ""),
            step=fields.get("step", ""),
            link=make_message_link(self._url, fields.get("channel", ""), fields.get("thread_ts", "")),
            rows=rows,
            further_row_count=more,
        )


_FILTER_CHECKS: dict[JobFilter, Callable[[str], bool]] = {
    "": lambda _: True,
    "open": lambda state: state not in ENDED_STATES,
    "waiting": "input_required".__eq__,
    "over": ENDED_STATES.__contains__,
    "done": "completed".__eq__,
    "failed": "failed".__eq__,
    "stopped": "cancelled".__eq__,
}
