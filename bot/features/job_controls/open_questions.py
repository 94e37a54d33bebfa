"""Lists the open questions and approvals that a person may answer, rendered as in their threads.

The store knows which jobs wait for a person. The log of such a job is read only to show its questions, and again only
after a change.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bot.features.home.answer_window import render_words_button
from bot.features.job_controls.lists import JobLists
from bot.jobs.job_records import read_job
from bot.slack.show.people import FindGroups, find_no_groups
from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.approval import render_approval
from bot.slack.views.outgoing import Block, make_actions, make_context, make_message_link
from bot.slack.views.paging import HomeList, HomeRow, select_page
from bot.slack.views.question import render_question
from bot.store.redis.redis_store import Store
from bot.store.values import Head, JobKey
from handoff.engine.approvals import may_decide
from handoff.engine.questions import compute_expiry_time
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import Question, may_answer
from handoff.summaries.summary import parse_open_questions

SECTION_TITLE = "Waiting for you"
EMPTY_TEXT = "Nothing waits for you."
MAX_LOG_EVENTS = 3000
"""Maximum events of a log that is read for the list. A job with a longer log is shown only as a link to its thread."""
MAX_CACHED_JOBS = 64
_REPLY_HINT = re.compile(r": (choose one, or )?reply in this thread( in your own words)?\.")
"""The hint to reply in the thread, which is removed from a question: in the App Home a button takes replies."""


@dataclass(frozen=True, slots=True)
class _RenderedQuestion:
    """An open question, the Slack id of its requester, and its rendered row."""

    question: Question
    requester: str
    row: HomeRow


class OpenQuestionsSection:
    """The section of the App Home with the questions and approvals that a person may answer.

    Args:
        store: The store of the jobs.
        lists: Finds the jobs that wait for a person.
        admins: Slack ids of the admins.
        find_groups: Returns the user groups of a person.
        url: The workspace's own address, for links to threads.
    """

    def __init__(
        self,
        store: Store,
        lists: JobLists,
        *,
        admins: frozenset[str],
        find_groups: FindGroups = find_no_groups,
        url: str = "",
    ) -> None:
        self._store = store
        self._lists = lists
        self._admins = admins
        self._find_groups = find_groups
        self._url = url
        self._rendered_by_job: OrderedDict[JobKey, tuple[int, tuple[_RenderedQuestion, ...]]] = OrderedDict()

    async def render_part(self, team: str, user: str, page: int) -> HomeList:
        """Render a page of the section, with buttons that answer and decide. Raises StoreError."""
        groups = await self._find_groups(user)
        rows: list[HomeRow] = []
        for head in await self._lists.read_waiting_heads(team, user):
            if head.seq > MAX_LOG_EVENTS:
                rows += [self._render_row(head)] * any(
                    may_answer(one.whom, user, groups) for one in parse_open_questions(head.fields)
                )
            else:
                rows += [one.row for one in await self._read_questions(head) if self._may_answer(one, user, groups)]
        row_page = select_page(rows, page)
        apart = tuple(row if place == 0 else ({"type": "divider"}, *row) for place, row in enumerate(row_page.rows))
        return HomeList(SECTION_TITLE, replace(row_page, rows=apart), EMPTY_TEXT)

    def _may_answer(self, rendered_question: _RenderedQuestion, user: str, groups: tuple[str, ...]) -> bool:
        one, admin = rendered_question.question, user in self._admins
        if one.approval is None:
            return may_answer(one.whom, user, groups) and bool(one.whom or user == rendered_question.requester)
        has_voted = any(vote.user == user for vote in one.votes)
        return not has_voted and may_decide(one, rendered_question.requester, user, groups, admin=admin)

    async def _read_questions(self, head: Head) -> tuple[_RenderedQuestion, ...]:
        """Return the open questions of a job from its log, rendered; none while the log cannot be read."""
        cache_entry = self._rendered_by_job.get(head.key)
        if cache_entry is not None and cache_entry[0] == head.seq:
            self._rendered_by_job.move_to_end(head.key)
            return cache_entry[1]
        job = await read_job(self._store.jobs, head.key)
        questions = tuple(self._render_questions(job, head)) if isinstance(job, Job) else ()
        self._rendered_by_job[head.key] = (head.seq, questions)
        while len(self._rendered_by_job) > MAX_CACHED_JOBS:
            self._rendered_by_job.popitem(last=False)
        return questions

    def _render_questions(self, job: Job, head: Head) -> Iterator[_RenderedQuestion]:
        request = job.latest_request
        for name, one in request.open_questions.items():
            if one.approval is not None:
                blocks: Sequence[Block] = render_approval(job, request, name, one, compute_expiry_time(one)).blocks
            else:
                blocks = _add_own_words_button(
                    render_question(job, request, name).blocks, render_words_button(job, request, name, one.number)
                )
            yield _RenderedQuestion(
                one, request.spec.user, (*map(_reword_for_elsewhere, blocks), self._render_place(head, request))
            )

    def _render_place(self, head: Head, request: RequestState) -> Block:
        link = make_message_link(self._url, head.fields.get("channel", ""), head.fields.get("thread_ts", ""))
        request_text = clean_mrkdwn(to_plain_line(request.text, 120))
        return make_context(f"{f'<{link}|In the thread>' if link else 'In the thread'} · for: {request_text}")

    def _render_row(self, head: Head) -> HomeRow:
        line = self._lists.make_line(head)
        title = clean_mrkdwn(to_plain_line(line.title, 120))
        return (make_context(f":question: {f'<{line.link}|{title}>' if line.link and title else title or line.job}"),)


def _add_own_words_button(blocks: Sequence[Block], own_button: Block) -> list[Block]:
    """Add the button for an answer in a person's own words after the likely answers."""
    *above, row, small_print = blocks
    if row["type"] == "actions":
        return [*above, make_actions([*row["elements"], own_button]), small_print]
    return [*above, row, make_actions([own_button]), small_print]


def _reword_for_elsewhere(block: Block) -> Block:
    """Reword the small print that speaks of "this thread" for display outside the thread."""
    if block["type"] != "context":
        return block
    elements = [
        {**one, "text": _REPLY_HINT.sub(".", one["text"]).replace("this thread", "its thread")}
        for one in block["elements"]
    ]
    return {**block, "elements": elements}
