"""The live card: what was posted is not sent again, changes gather, and nothing is lost of the last one."""

import asyncio
import json
from collections.abc import AsyncIterator
from types import MappingProxyType

import pytest

from bot.slack.send.budget import CallBudget
from bot.slack.send.outbox import Outbox
from bot.slack.send.web_calls import JobGone
from bot.slack.show.card_painter import GATHER_SECONDS, CardPainter, CardPoster
from bot.slack.views.card import render_plan_card
from bot.store.redis.redis_store import Store
from bot.store.values import Claim
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place, Request, Usage
from handoff.state.job_state import Job, RequestState, SubtaskStatus, replace
from handoff.state.state_values import ReplanTrigger
from tests.patience import patience
from tests.slack.test_slack_views import ask_of, work
from tests.slack.workspaces import owned_thread


class Card:
    """A posted card, and the painter that keeps it."""

    def __init__(self, workspace: Workspace, painter: CardPainter, place: Place, claim: Claim) -> None:
        self.workspace = workspace
        self.painter = painter
        self.place = place
        self.claim = claim
        self.ts = ""
        self.needs_stop = False
        self.now_job: Job | None = None

    def job(self, *states: SubtaskStatus) -> tuple[Job, RequestState]:
        request = ask_of(*(work(f"s{n}", state) for n, state in enumerate(states)))
        spec = Request(id=self.place.thread_ts, user=self.workspace.person("ana").id, text="do it", at=1000.0)
        request = replace(request, spec=spec)
        return Job(place=self.place, requests=(request,)), request

    def show(self, *states: SubtaskStatus) -> None:
        self.painter.show(*self.job(*states), self.ts)

    def now(self) -> float:
        return self.painter._outbox.store.clock()

    @property
    def edits(self) -> list[str]:
        return [json.dumps(call.args) for call in self.workspace.calls("chat.update")]


@pytest.fixture
async def card(store: Store) -> AsyncIterator[Card]:
    async def read_job() -> Job | None:
        return made.now_job

    async with owned_thread(store) as (workspace, client, place, claim):
        outbox = Outbox(client, store, CallBudget(), bot_user_id=workspace.bot_user_id)
        allowed = outbox.make_claim_check(claim)
        painter = CardPainter(outbox, check_allowed=allowed, needs_stop=lambda _: made.needs_stop, read_job=read_job)
        made = Card(workspace, painter, place, claim)
        posted = render_plan_card(*made.job(), 0.0, with_stop=False)
        made.ts = (await outbox.post(claim, place, "card", posted)).ts
        made.painter.record_posted(posted)
        yield made
        await made.painter.stop()


async def test_what_was_posted_is_not_drawn_again(card: Card) -> None:
    card.show()
    await asyncio.sleep(2 * GATHER_SECONDS)
    assert card.edits == []


async def test_changes_that_come_together_are_one_edit(card: Card) -> None:
    card.show("pending", "pending")
    card.show("in_progress", "pending")
    card.show("in_progress", "in_progress")
    await card.workspace.until(lambda: card.edits, timeout=patience())
    await asyncio.sleep(2 * GATHER_SECONDS)
    (edit,) = card.edits
    assert edit.count("in_progress") == 2


async def test_the_last_change_is_drawn_on_leaving(card: Card) -> None:
    card.show("complete", "input_required")
    await card.painter.stop(draw_latest=True)
    assert len(card.edits) == 1


async def test_nothing_is_drawn_where_the_end_follows(card: Card) -> None:
    card.show("complete", "complete")
    await card.painter.stop()
    assert card.edits == []


async def test_an_owner_that_was_frozen_draws_nothing_over_the_next_ones_card(card: Card) -> None:
    store = card.painter._outbox.store
    await store.jobs.release(card.claim, due=0.0)
    assert await store.jobs.claim("next", lease=30, schema=1)
    card.painter._latest = (*card.job("complete"), card.ts)
    with pytest.raises(JobGone):
        await card.painter._send_latest()
    assert card.edits == []


async def test_an_owner_that_freezes_within_an_edit_puts_the_next_ones_card_right(card: Card) -> None:
    painter, outbox = card.painter, card.painter._outbox
    holds = outbox.make_claim_check(card.claim)
    ended, request = card.job("complete", "complete")
    card.now_job = ended

    async def freezes() -> bool:
        held = await holds()
        if held:  # another owner ends the request before the edit goes out
            await outbox.store.jobs.release(card.claim, due=0.0)
            assert await outbox.store.jobs.claim("next", lease=30, schema=1)
            await outbox.edit_message(
                card.place, card.ts, render_plan_card(ended, request, card.now(), with_stop=False), check_allowed=None
            )
        return held

    painter._check_allowed = freezes
    painter._latest = (*card.job("in_progress", "pending"), card.ts)
    with pytest.raises(JobGone):
        await painter._send_latest()
    theirs, old, again = card.edits
    assert "in_progress" in old
    assert again == theirs


async def test_a_job_that_is_lost_and_claimed_again_at_once_gets_its_card(card: Card) -> None:
    outbox = card.painter._outbox
    poster, held = CardPoster(outbox), ("chat.postMessage", card.place.channel)
    await outbox.calls.budget.hold_calls(*held, 1.0)
    first, second = (
        asyncio.create_task(poster.post_card(card.claim, *card.job("pending"), card.painter)) for _ in range(2)
    )
    while not outbox.calls.budget.has_waiting_calls(*held, "card"):  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.wait([first])
    poster.update_waiting_card(card.claim.key, *card.job("in_progress"))
    assert (await second).ts
    posted = card.workspace.thread(card.place.channel, card.place.thread_ts)[-1]
    assert "in_progress" in json.dumps(posted["blocks"])


async def test_a_second_look_at_the_plan_is_drawn_and_so_is_what_came_of_it(card: Card) -> None:
    job, request = card.job("in_progress", "pending")
    card.painter.show(job, replace(request, replan_triggers=(ReplanTrigger("s0", "no bug here", "finding"),)), card.ts)
    await card.workspace.until(lambda: card.edits, timeout=patience())
    assert "Taking a second look at the plan" in card.edits[0]
    changed = replace(request.subtasks["s1"], change_note="new brief: it is an option")
    card.painter.show(job, replace(request, subtasks=MappingProxyType({**request.subtasks, "s1": changed})), card.ts)
    await card.workspace.until(lambda: len(card.edits) == 2, timeout=patience())
    assert "Plan changed: Do s1 (new brief: it is an option)" in card.edits[1]


async def test_what_looks_the_same_is_not_sent_and_time_alone_is_when_it_shows(
    card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack.show.card_painter.REDRAW_SECONDS", 0.05)
    job, request = card.job("in_progress", "pending")
    started = replace(request.subtasks["s0"], started_at=card.now())
    request = replace(request, subtasks=MappingProxyType({**request.subtasks, "s0": started}))
    card.painter.record_posted(render_plan_card(job, request, card.now(), with_stop=False))
    card.painter.show(job, replace(request, usage=Usage(calls=3)), card.ts)
    await asyncio.sleep(4 * GATHER_SECONDS)
    assert card.edits == [], "it was looked at several times by now"
    long_ago = replace(started, started_at=card.now() - 70)
    card.painter.show(job, replace(request, subtasks=MappingProxyType({**request.subtasks, "s0": long_ago})), card.ts)
    await card.workspace.until(lambda: card.edits, timeout=patience())
    assert "over 1 min" in card.edits[0]


async def test_an_edit_that_slack_did_not_take_is_sent_again(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.slack.show.card_painter.REDRAW_SECONDS", 0.05)
    card.workspace.faults.add("chat.update", "error", error="update_failed")
    card.show("complete", "in_progress")
    await card.workspace.until(lambda: len(card.edits) == 2, timeout=patience())
    await asyncio.sleep(4 * GATHER_SECONDS)
    assert len(card.edits) == 2


async def test_the_card_gets_a_stop_button_when_slack_shows_none(card: Card) -> None:
    card.show("in_progress", "pending")
    await card.workspace.until(lambda: card.edits, timeout=patience())
    assert "Stop" not in card.edits[0]
    card.needs_stop = True
    card.painter.request_redraw()
    await card.workspace.until(lambda: len(card.edits) == 2, timeout=patience())
    assert "Stop" in card.edits[1]
