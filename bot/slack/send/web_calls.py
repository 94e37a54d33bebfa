"""Calls to the Web API, within the budget; each is done, refused for good, or without a reply.

The client is made here, and so are the tasks of calls that nobody waits for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp import ClientError
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.slack.send.budget import CallBudget
from bot.slack.send.published_limits import Priority
from bot.slack.token_proof import REFUSED_TOKEN
from bot.store.values import StoreError
from specialists.outbound.clients import open_session
from specialists.outbound.faults import network_fault

CALL_SECONDS = 10.0
"""Seconds that one call may take in all."""
SLACK_API = "https://slack.com/api/"


def make_client(
    token: str, base_url: str = SLACK_API, *, call_timeout: float = CALL_SECONDS, team: str = ""
) -> AsyncWebClient:
    """Make a client with one session and no retries of its own: a repeated post could appear twice.

    `team` names the workspace in each call, for the token of an organisation. To be called inside the running loop.
    Close with `close_client`.
    """
    session = open_session(seconds=call_timeout)
    return AsyncWebClient(
        token=token or None,
        base_url=base_url,
        timeout=int(call_timeout) or 1,
        session=session,
        team_id=team or None,
        retry_handlers=[],
    )


async def close_client(client: AsyncWebClient) -> None:
    """Close the client's session."""
    if client.session is not None:
        await client.session.close()


async def replace_message(
    client: AsyncWebClient,
    response_url: str,
    *,
    text: str,
    blocks: Sequence[dict[str, Any]] = (),
    ephemeral: bool = False,
) -> None:
    """Replace the message of a click at the address that came with it. Bolt's `respond` would open a session."""
    webhook = AsyncWebhookClient(response_url, session=client.session)
    kind = "ephemeral" if ephemeral else None
    await webhook.send(text=text, blocks=list(blocks), replace_original=True, response_type=kind)


log = logging.getLogger(__name__)

Allowed = Callable[[], Awaitable[bool]]
"""Asked before a call that shows something for a job: whether it is still ours to show."""

TRIES = 5
WAITS = (0.5, 1.0, 2.0, 4.0)
LONGEST_RETRY_AFTER = 120.0
TOKEN_PAUSE = 2.5
"""Seconds between tries of a call while Slack does not take the token."""
TOKEN_PATIENCE = 300.0
"""Seconds for which a call of a job is tried then: bad spells of Slack's pass."""
SHORT_TOKEN_PATIENCE = 20.0
"""Seconds for which all other calls are tried then."""
CANCEL_SECONDS = 0.1
"""Seconds that a task which was cancelled gets to end."""

REFUSED: Mapping[str, str] = {
    "channel_not_found": "I am no longer in that channel",
    "not_in_channel": "I am no longer in that channel",
    "is_archived": "the channel is archived",
    "thread_not_found": "the thread was deleted",
    "restricted_action": "posting is restricted in that channel",
    "account_inactive": "the app was uninstalled",
    "invalid_auth": "Slack no longer accepts my token",
    "token_revoked": "Slack no longer accepts my token",
    "missing_scope": "the app lacks a scope; `leadhand check` names it",
}
"""Slack's errors that no second try will change, in words for people."""


class NoReply(Exception):
    """A call went out and no reply came: it may or may not have been carried out."""


class SlackRefused(Exception):
    """Slack said no, and would say so again. `code` is Slack's own word."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(REFUSED.get(code, f"Slack answered {code}") + (f" ({detail})" if detail else ""))
        self.code = code


class JobGone(Exception):
    """The job is in another instance's hands: nothing more may be sent for it."""


class CallNeedless(Exception):
    """What a call was to show has changed, or is over, while it waited for its turn: it was left out."""


class WebCalls:
    """Makes calls on the shared budget.

    `seen` is told of each call, by its method, how it ended: ok, limited (a 429), failed (a 5xx or no answer; it may
    be made again) or refused.
    """

    def __init__(self, budget: CallBudget) -> None:
        self.budget = budget
        self.seen: Callable[[str, str], None] = _count_nothing
        self.token_refused: Callable[[], None] = _tell_nobody
        """Called where a call is refused for its token."""

    async def make(
        self,
        method: str,
        send: Callable[[], Awaitable[AsyncSlackResponse]],
        *,
        channel: str = "",
        priority: Priority = "answer",
        again: bool = False,
        allowed: Allowed | None = None,
        needless: asyncio.Event | None = None,
    ) -> dict[str, Any]:
        """Call, and give the answer. 429s are waited out: they do nothing, so they leave nothing unknown.

        A stream alone gives up after some 429s: it is an extra, and the answer then goes out whole.

        Args:
            method: Slack's name of the method, for the budget.
            send: makes the call.
            channel: where it goes, for limits that count by channel.
            priority: who goes first when the budget is short.
            again: whether the call may be repeated without harm.
            allowed: asked before every try, once its turn has come: much can happen while it waits.
            needless: ends the waiting for a turn. A call whose turn has come is made all the same.

        Raises:
            SlackRefused: Slack said no for good.
            NoReply: no answer came, and it may not be repeated, or was repeated too often.
            JobGone: It is not allowed any more; this try was left out.
            CallNeedless: It was said to be needless while it waited; this try was left out.
        """
        failures, waited, why = 0, 0.0, ""
        while failures < TRIES:
            await self._wait_for_turn(method, channel, priority, needless)
            if allowed is not None and not await allowed():
                raise JobGone(f"{method}: the job is in other hands")
            try:
                response = await send()
            except SlackApiError as error:
                patience = TOKEN_PATIENCE if allowed is not None else SHORT_TOKEN_PATIENCE
                if self._is_token_refused(error) and waited < patience:
                    self.seen(method, "failed")
                    waited += TOKEN_PAUSE
                    await asyncio.sleep(TOKEN_PAUSE)
                    continue
                limited, wait = self._wait_after(error, method, again=again)
                if limited:
                    await self.budget.hold(method, channel, wait)
                failures += not limited or priority == "stream"
            except (OSError, TimeoutError, aiohttp.ClientError, ValueError) as error:
                self.seen(method, "failed")
                why = network_fault(error) or type(error).__name__
                if not again:
                    raise NoReply(f"{method}: {why}") from error
                wait = WAITS[min(failures, len(WAITS) - 1)]
                failures += 1
            else:
                self.seen(method, "ok")
                return response.data if isinstance(response.data, dict) else {}
            log.info("%s: tried again in %.1f s", method, wait)
            await asyncio.sleep(wait)
        raise NoReply(f"{method}: no answer after {TRIES} tries{f' ({why})' if why else ''}")

    def _is_token_refused(self, error: SlackApiError) -> bool:
        """Return True if Slack does not take the token: then nothing was done, and the call is tried for a while."""
        data = getattr(error.response, "data", None)
        code = str(data.get("error", "")) if isinstance(data, dict) else ""
        if code in REFUSED_TOKEN:
            self.token_refused()
        return code in REFUSED_TOKEN

    async def _wait_for_turn(
        self, method: str, channel: str, priority: Priority, needless: asyncio.Event | None
    ) -> None:
        """Wait for the turn of a call. Raises CallNeedless."""
        if needless is None:
            await self.budget.take(method, channel, priority)
            return
        if await self.budget.take_now(method, channel, priority):
            return
        taking = asyncio.create_task(self.budget.take(method, channel, priority))
        over = asyncio.create_task(needless.wait())
        try:
            await asyncio.wait({taking, over}, return_when=asyncio.FIRST_COMPLETED)
            if not taking.done():
                raise CallNeedless(method)
        finally:
            taking.cancel()
            over.cancel()

    def _wait_after(self, error: SlackApiError, method: str, *, again: bool) -> tuple[bool, float]:
        """Return whether it was a 429, and the seconds until the next try. Else raises SlackRefused or NoReply."""
        response = error.response
        if not isinstance(response, AsyncSlackResponse):  # something on the way answered, and not with JSON
            self.seen(method, "failed")
            if not again:
                raise NoReply(f"{method}: an answer that cannot be read") from error
            return False, WAITS[0]
        data = response.data if isinstance(response.data, dict) else {}
        code = str(data.get("error", ""))
        if response.status_code == 429 or code == "ratelimited":
            wait = min(float(response.headers.get("Retry-After", 1)), LONGEST_RETRY_AFTER)
            self.seen(method, "limited")
            return True, wait
        if response.status_code >= 500 or code in {"internal_error", "fatal_error", "service_unavailable"}:
            self.seen(method, "failed")
            if not again:
                raise NoReply(f"{method}: HTTP {response.status_code} {code}") from error
            return False, WAITS[0]
        self.seen(method, "refused")
        detail = "; ".join((data.get("response_metadata") or {}).get("messages", [])[:3])
        raise SlackRefused(code or f"HTTP {response.status_code}", detail) from error


_SHARED: WeakKeyDictionary[aiohttp.ClientSession, WebCalls] = WeakKeyDictionary()


def share_calls(client: AsyncWebClient, calls: WebCalls) -> None:
    """Have all that use this client's session, such as the clients that Bolt makes for each event, call by `calls`."""
    if client.session is not None:
        _SHARED[client.session] = calls


def find_shared_calls(client: AsyncWebClient) -> WebCalls:
    """Return the calls that are shared by those who use this client's session; else some without a budget."""
    shared = _SHARED.get(client.session) if client.session is not None else None
    return shared if shared is not None else WebCalls(CallBudget(unlimited=True))


def _tell_nobody() -> None:
    """Tell nobody."""


def _count_nothing(method: str, outcome: str) -> None:
    """Count nothing."""


# ---------------------------------------------------------------- calls that nobody waits for


class Background:
    """Tasks of our own, such as calls after Slack was told "received". A failure is logged, never fatal."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, object], what: str) -> asyncio.Task[None]:
        """Do some work beside everything else. If it fails, the log names it by `what`, and its task raises nothing."""
        task = asyncio.create_task(self._watch(work, what))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def drain(self, seconds: float = 1.5) -> None:
        """Wait for what is under way, for so long at most; cancel the rest."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=CANCEL_SECONDS)

    async def _watch(self, work: Coroutine[Any, Any, object], what: str) -> None:
        try:
            await work
        except StoreError as error:
            log.error("could not %s: %s", what, error)  # noqa: TRY400 - one clear line, no trace
        except (SlackRefused, NoReply) as error:
            log.warning("could not %s: %s", what, error)
        except (SlackApiError, ClientError, TimeoutError) as error:
            log.warning("could not %s: Slack did not take it (%s)", what, type(error).__name__)
        except Exception:
            log.exception("could not %s", what)
