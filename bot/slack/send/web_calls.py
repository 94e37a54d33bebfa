"""Makes calls to Slack's Web API within the budget. Each one succeeds, is refused for good, or gets no reply.

The client is made here too, and so are the background tasks of calls that no caller waits for.
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
from bot.slack.token_monitor import REFUSED_TOKEN_ADVICE
from bot.store.values import StoreError
from specialists.outbound.clients import open_session
from specialists.outbound.network_faults import describe_network_fault

CALL_TIMEOUT_SECONDS = 10.0
"""Seconds that one request of the client's session may take in all, unless the request names its own timeout."""
SLACK_API = "https://slack.com/api/"


def make_client(
    token: str, base_url: str = SLACK_API, *, call_timeout: float = CALL_TIMEOUT_SECONDS, team: str = ""
) -> AsyncWebClient:
    """Make a client with one session and no retries of its own: a repeated post could appear twice.

    `team` names the workspace in each call, for the token of an organisation. Call this inside the running event loop,
    and close the client with `close_client`.
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


async def replace_clicked_message(
    client: AsyncWebClient,
    response_url: str,
    *,
    text: str,
    blocks: Sequence[dict[str, Any]] = (),
    ephemeral: bool = False,
) -> None:
    """Replace the message that was clicked in, at the click's `response_url`. Bolt's `respond` would open a session."""
    webhook = AsyncWebhookClient(response_url, session=client.session)
    kind = "ephemeral" if ephemeral else None
    await webhook.send(text=text, blocks=list(blocks), replace_original=True, response_type=kind)


log = logging.getLogger(__name__)

PermissionCheck = Callable[[], Awaitable[bool]]
"""Returns True if this instance may still show something for a job. It is called before each try of a Slack call."""

MAX_TRIES = 5
RETRY_WAIT_SECONDS = (0.5, 1.0, 2.0, 4.0)
MAX_RETRY_AFTER_SECONDS = 120.0
TOKEN_PAUSE_SECONDS = 2.5
"""Seconds between tries of a call while Slack refuses the token."""
TOKEN_RETRY_SECONDS = 300.0
"""Seconds for which a call of a job is retried while Slack refuses the token, which may be a passing fault."""
SHORT_TOKEN_RETRY_SECONDS = 20.0
"""Seconds for which any other call is retried while Slack refuses the token."""
CANCEL_SECONDS = 0.1
"""Seconds that a cancelled task gets to end."""

REFUSAL_WORDS: Mapping[str, str] = {
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
"""Slack's refusals in words for people, by error code."""


class NoReply(Exception):
    """A call went out and no reply came: it may or may not have been carried out."""


class SlackRefused(Exception):
    """Slack refused a call, and would refuse it again. `code` is Slack's error code."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(REFUSAL_WORDS.get(code, f"Slack answered {code}") + (f" ({detail})" if detail else ""))
        self.code = code


class JobGone(Exception):
    """Another instance owns the job now, so nothing more may be sent for it."""


class OutdatedCall(Exception):
    """A call was left out, because its content was outdated before its turn came."""


class WebCalls:
    """Makes calls within the shared budget.

    `on_outcome` is called after each try with the method and the outcome: ok, limited (a 429), failed (a 5xx, no answer
    or a refused token) or refused.
    """

    def __init__(self, budget: CallBudget) -> None:
        self.budget = budget
        self.on_outcome: Callable[[str, str], None] = _ignore_outcome
        self.on_token_refused: Callable[[], None] = _ignore_refusal
        """Called when Slack refuses a call because of its token."""

    async def make(
        self,
        method: str,
        send: Callable[[], Awaitable[AsyncSlackResponse]],
        *,
        channel: str = "",
        priority: Priority = "answer",
        may_repeat: bool = False,
        check_allowed: PermissionCheck | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> dict[str, Any]:
        """Make a call and return Slack's answer. After a 429 it is retried, since Slack did not carry out the call.

        Only a call of the priority `stream` gives up after several 429s: the answer is then posted whole.

        Args:
            method: Slack's name of the method, for the budget.
            send: makes the call.
            channel: the id of the channel, for limits that count by channel.
            priority: decides which call goes first when the budget is short.
            may_repeat: True if the call may be repeated without harm.
            check_allowed: asked before every try, after the wait for a turn.
            cancel_event: ends the wait for a turn when it is set. A call whose turn has come is made all the same.

        Raises:
            SlackRefused: Slack refused the call for good.
            NoReply: no answer came, and the call may not be repeated, or was repeated too often.
            JobGone: the call is not allowed any more; this try was left out.
            OutdatedCall: `cancel_event` was set while the call waited; this try was left out.
        """
        failures, waited_seconds, why = 0, 0.0, ""
        while failures < MAX_TRIES:
            await self._wait_for_turn(method, channel, priority, cancel_event)
            if check_allowed is not None and not await check_allowed():
                raise JobGone(f"{method}: the job is in other hands")
            try:
                response = await send()
            except SlackApiError as error:
                patience = TOKEN_RETRY_SECONDS if check_allowed is not None else SHORT_TOKEN_RETRY_SECONDS
                if self._report_refused_token(error) and waited_seconds < patience:
                    self.on_outcome(method, "failed")
                    waited_seconds += TOKEN_PAUSE_SECONDS
                    await asyncio.sleep(TOKEN_PAUSE_SECONDS)
                    continue
                is_limited, wait = self._plan_retry(error, method, may_repeat=may_repeat)
                if is_limited:
                    await self.budget.hold_calls(method, channel, wait)
                failures += not is_limited or priority == "stream"
            except (OSError, TimeoutError, aiohttp.ClientError, ValueError) as error:
                self.on_outcome(method, "failed")
                why = describe_network_fault(error) or type(error).__name__
                if not may_repeat:
                    raise NoReply(f"{method}: {why}") from error
                wait = RETRY_WAIT_SECONDS[min(failures, len(RETRY_WAIT_SECONDS) - 1)]
                failures += 1
            else:
                self.on_outcome(method, "ok")
                return response.data if isinstance(response.data, dict) else {}
            log.info("%s: tried again in %.1f s", method, wait)
            await asyncio.sleep(wait)
        raise NoReply(f"{method}: no answer after {MAX_TRIES} tries{f' ({why})' if why else ''}")

    def _report_refused_token(self, error: SlackApiError) -> bool:
        """Return True if Slack refused the token, after calling `on_token_refused`. The call may then be retried."""
        data = getattr(error.response, "data", None)
        code = str(data.get("error", "")) if isinstance(data, dict) else ""
        if code in REFUSED_TOKEN_ADVICE:
            self.on_token_refused()
        return code in REFUSED_TOKEN_ADVICE

    async def _wait_for_turn(
        self, method: str, channel: str, priority: Priority, cancel_event: asyncio.Event | None
    ) -> None:
        """Wait for the turn of a call. Raises OutdatedCall."""
        if cancel_event is None:
            await self.budget.wait_for_turn(method, channel, priority)
            return
        if await self.budget.try_take_turn(method, channel, priority):
            return
        taking = asyncio.create_task(self.budget.wait_for_turn(method, channel, priority))
        over = asyncio.create_task(cancel_event.wait())
        try:
            await asyncio.wait({taking, over}, return_when=asyncio.FIRST_COMPLETED)
            if not taking.done():
                raise OutdatedCall(method)
        finally:
            taking.cancel()
            over.cancel()

    def _plan_retry(self, error: SlackApiError, method: str, *, may_repeat: bool) -> tuple[bool, float]:
        """Return a pair of (True for a 429, seconds until the next try), or raise SlackRefused or NoReply."""
        response = error.response
        if not isinstance(response, AsyncSlackResponse):  # a proxy answered instead of Slack, without JSON
            self.on_outcome(method, "failed")
            if not may_repeat:
                raise NoReply(f"{method}: an answer that cannot be read") from error
            return False, RETRY_WAIT_SECONDS[0]
        data = response.data if isinstance(response.data, dict) else {}
        code = str(data.get("error", ""))
        if response.status_code == 429 or code == "ratelimited":
            wait = min(float(response.headers.get("Retry-After", 1)), MAX_RETRY_AFTER_SECONDS)
            self.on_outcome(method, "limited")
            return True, wait
        if response.status_code >= 500 or code in {"internal_error", "fatal_error", "service_unavailable"}:
            self.on_outcome(method, "failed")
            if not may_repeat:
                raise NoReply(f"{method}: HTTP {response.status_code} {code}") from error
            return False, RETRY_WAIT_SECONDS[0]
        self.on_outcome(method, "refused")
        detail = "; ".join((data.get("response_metadata") or {}).get("messages", [])[:3])
        raise SlackRefused(code or f"HTTP {response.status_code}", detail) from error


_SHARED_CALLS: WeakKeyDictionary[aiohttp.ClientSession, WebCalls] = WeakKeyDictionary()


def share_calls(client: AsyncWebClient, calls: WebCalls) -> None:
    """Have all users of this client's session, such as the clients that Bolt makes for each event, share `calls`."""
    if client.session is not None:
        _SHARED_CALLS[client.session] = calls


def find_shared_calls(client: AsyncWebClient) -> WebCalls:
    """Return the `WebCalls` that the users of this client's session share, or new ones without a budget."""
    shared_calls = _SHARED_CALLS.get(client.session) if client.session is not None else None
    return shared_calls if shared_calls is not None else WebCalls(CallBudget(is_unlimited=True))


def _ignore_refusal() -> None:
    """Do nothing. The default of `on_token_refused`."""


async def _do_nothing() -> None:
    """Do nothing, in place of a task that is not begun."""


def _ignore_outcome(method: str, outcome: str) -> None:
    """Do nothing. The default of `on_outcome`."""


# ---------------------------------------------------------------- calls that nobody waits for


class BackgroundTasks:
    """Background tasks, such as calls after a payload was acknowledged. A failure is logged, never raised."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def start(self, work: Coroutine[Any, Any, object], label: str) -> asyncio.Task[None]:
        """Start a background task and return it; after `close` it does nothing. Failures are logged by `label`."""
        if self._is_closed:
            log.info("did not %s: the bot is closed", label)
            work.close()
            work = _do_nothing()
        task = asyncio.create_task(self._run_logged(work, label))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def drain(self, seconds: float = 1.5) -> None:
        """Wait at most `seconds` for the tasks under way, then cancel the rest."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=CANCEL_SECONDS)

    async def close(self, seconds: float) -> None:
        """Begin no more tasks, and drain those under way."""
        self._is_closed = True
        await self.drain(seconds)

    async def _run_logged(self, work: Coroutine[Any, Any, object], label: str) -> None:
        try:
            await work
        except StoreError as error:
            log.error("could not %s: %s", label, error)  # noqa: TRY400 - one clear line, no trace
        except (SlackRefused, NoReply) as error:
            log.warning("could not %s: %s", label, error)
        except (SlackApiError, ClientError, TimeoutError) as error:
            log.warning("could not %s: Slack did not take it (%s)", label, type(error).__name__)
        except Exception:
            log.exception("could not %s", label)
