"""Makes the outbox of an instance, whose calls keep within the budget that all instances share."""

from __future__ import annotations

from collections.abc import Sequence

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.connection import BotAccount
from bot.slack.send.budget import CallBudget
from bot.slack.send.outbox import Outbox
from bot.slack.send.web_calls import share_calls
from bot.store.redis.redis_store import Store


def make_shared_outbox(
    client: AsyncWebClient,
    store: Store,
    account: BotAccount,
    *,
    instance: str,
    is_unlimited: bool,
    read_waits: Sequence[float],
) -> Outbox:
    """Make the outbox of the instance `instance`, and have all users of the client's session share its calls.

    `is_unlimited` is passed to `CallBudget`, and `read_waits` to `Outbox`.
    """
    budget = CallBudget(store.counters, instance=instance, team=account.home.team, is_unlimited=is_unlimited)
    outbox = Outbox(client, store, budget, bot_user_id=account.user, read_waits=read_waits)
    share_calls(client, outbox.calls)
    return outbox
