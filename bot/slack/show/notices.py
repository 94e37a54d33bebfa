"""Sends notices: messages that only one person sees, direct messages, windows, and what is said in a store outage."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.send.web_calls import BackgroundTasks, NoReply, SlackRefused, find_shared_calls
from bot.slack.views.answerers import render_answerers
from bot.slack.views.home import render_note_window
from bot.slack.views.outgoing import Outgoing, make_rich_text, make_section
from bot.store.values import PayloadTooLarge, StoreError
from handoff.contracts import Place

if TYPE_CHECKING:
    from bot.slack.receive.payloads import Click
from bot.slack.send.outbox import Outbox
from bot.slack.send.web_calls import PermissionCheck
from bot.store.values import Claim

log = logging.getLogger(__name__)

_UNREACHABLE_CODES = frozenset({"not_in_channel", "channel_not_found", "user_not_in_channel", "is_archived"})

RECEIPT_EMOJI = "eyes"
"""The reaction which says that a message was recorded."""

CLOSED_QUESTION = "That question is closed: it was answered, or its request is over."
STATUS_NOT_ALLOWED = "Only people who said something in that job's thread, or an admin, may see its status."
TRACE_NOT_ALLOWED = "You can only see the steps of your own requests, and you made none in that job. Admins see all."
UNKNOWN_JOB = "I do not know that job. Finished ones are forgotten after a while; `/leadhand status` lists yours."
JOB_FORGOTTEN = "That is forgotten: somebody had its record erased. Mention me again to have it done once more."
FEEDBACK_RECORDED = "Thank you, that is recorded with the job."
FEEDBACK_NOT_RECORDED = "Thank you. The job is no longer kept, so that was not recorded."
NOT_IN_CONVERSATION = (
    "I am not in this conversation, so I could not answer in it. Invite me (`/invite`), then press Start again."
)
WORDS_ONLY = (
    "I took your words as the answer, and not the file: work under way gets no new files. "
    "Mention me with the file once this is done."
)
PEOPLE_ONLY = (
    "I take requests from people only, so that two bots never keep each other busy. "
    "Mention me yourself, and I will begin."
)
NEWER_RELEASE = "A newer release of me works on that job, and continues it when it runs. This one cannot read it."
UNREADABLE_JOB = (
    "The record of that job is damaged, so I cannot read it. The log says what is wrong; tell whoever runs me."
)
OLD_BUTTON = "That button no longer does anything. Mention me again if you need something."
NOTHING_TO_STOP = "There is nothing to stop: no request of this thread is under way."
STOPPING = "Stopping. A report of what was done follows in the thread."
STOP_NOTED = (
    "I noted that. The job is set aside with what others asked for, so your requests end once an admin releases it."
)

NOTED_WHILE_QUARANTINED = (
    "I noted that, but the job of this thread is set aside: nothing goes on here until an admin releases it, or it is "
    "stopped (`/leadhand cancel`). To have it done now, ask in a new thread."
)
NO_ADMINS = "Only an admin may do that, and none is named. Whoever runs me names them in LEADHAND_ADMINS."
NOT_ADMIN = "Only an admin may do that, and nothing was changed."
NOT_ADMIN_LIST = "Only an admin may list everybody's jobs. `/leadhand jobs` lists yours."
BUDGET_REQUEST_SENT = "I asked the admins for more. I will tell you here when one of them has allowed it."
BUDGET_REQUEST_REPEATED = "The admins were already asked for that within the last hour, so nothing was sent again."
SETTINGS_NOT_ALLOWED = "Only an admin may change the settings of a channel, so nothing was changed."
NOT_QUARANTINED = "That job is not set aside: there is nothing to release."
STORE_AWAY = (
    "My store cannot be reached, so I could not record that. Slack delivers it to me again within the next minutes, "
    "and I go on then: once I react with :eyes:, I have it."
)
NO_EVIDENCE = "The job is no longer kept, and neither is its evidence."
WINDOW_FAILED = "Slack did not open the window in time. Try again."
NOT_READ = "My store cannot be reached, so I cannot look that up. Try again in a minute."
NOT_RECORDED = "My store cannot be reached, so nothing was recorded. Try again in a minute."


def describe_who_may_answer(answerers: Sequence[str]) -> str:
    """Return the sentence that only `answerers` (ids of people and user groups) can answer a question."""
    return f"That question is for {render_answerers(answerers)}: nobody else can answer it."


def explain_separate_request(answerers: Sequence[str]) -> str:
    """Return the sentence that a person's words became a new request, as only `answerers` can answer the question."""
    for_whom = render_answerers(answerers)
    return f"I took that as a request of your own. The open question is for {for_whom}: nobody else can answer it."


def make_note(text: str) -> Outgoing:
    """Make a message of one section. `text` is mrkdwn and is not cleaned."""
    return Outgoing(text=text, blocks=(make_section(text),))


def make_note_with_input(text: str, command_text: str) -> Outgoing:
    """Make a note with the words of a person's command below it, since Slack does not keep them."""
    return Outgoing(text=text, blocks=(make_section(text), *((make_rich_text(command_text),) if command_text else ())))


async def add_receipt_reaction(client: AsyncWebClient, channel: str, ts: str) -> None:
    """Add the reaction `RECEIPT_EMOJI` to a message that was recorded. Raises SlackRefused and NoReply."""
    try:
        await find_shared_calls(client).make(
            "reactions.add",
            lambda: client.reactions_add(channel=channel, timestamp=ts, name=RECEIPT_EMOJI),
            priority="reaction",
            may_repeat=True,
        )
    except SlackRefused as error:
        if error.code != "already_reacted":
            raise


async def show_ephemeral_message(client: AsyncWebClient, place: Place, user: str, message: Outgoing) -> None:
    """Show an ephemeral message to one person in a thread, or send it directly if the bot is not in the channel."""
    calls, thread_ts, blocks = find_shared_calls(client), place.thread_ts or None, list(message.blocks)
    try:
        await calls.make(
            "chat.postEphemeral",
            lambda: client.chat_postEphemeral(
                channel=place.channel, user=user, thread_ts=thread_ts, text=message.text, blocks=blocks
            ),
        )
    except SlackRefused as error:
        if error.code not in _UNREACHABLE_CODES:
            raise
        await send_direct_message(client, user, message)


async def answer_click(client: AsyncWebClient, click: Click, answer: str | Outgoing) -> None:
    """Show a message only to the person who clicked: where they clicked, or in a window over the App Home."""
    if isinstance(answer, str):
        if click.in_home and await open_window(client, click.trigger_id, render_note_window(answer)):
            return
        answer = make_note(answer)
    place = click.place if click.in_home else click.private_place
    if place.channel:
        await show_ephemeral_message(client, place, click.user, answer)
    else:
        await send_direct_message(client, click.user, answer)


async def post_in_thread(client: AsyncWebClient, place: Place, message: Outgoing) -> None:
    """Post a message into a thread, visible to all."""
    blocks = list(message.blocks)
    await find_shared_calls(client).make(
        "chat.postMessage",
        lambda: client.chat_postMessage(
            channel=place.channel,
            thread_ts=place.thread_ts,
            text=message.text,
            blocks=blocks,
            unfurl_links=False,
            unfurl_media=False,
        ),
    )


async def send_direct_message(client: AsyncWebClient, user: str, message: Outgoing) -> None:
    """Send a direct message to one person."""
    calls, blocks = find_shared_calls(client), list(message.blocks)
    direct = await calls.make("conversations.open", lambda: client.conversations_open(users=user), may_repeat=True)
    await calls.make(
        "chat.postMessage",
        lambda: client.chat_postMessage(
            channel=direct["channel"]["id"], text=message.text, blocks=blocks, unfurl_links=False, unfurl_media=False
        ),
    )


async def edit_message(client: AsyncWebClient, channel: str, ts: str, message: Outgoing) -> None:
    """Replace the content of the bot's own message. Raises SlackRefused and NoReply."""
    blocks = list(message.blocks)
    await find_shared_calls(client).make(
        "chat.update",
        lambda: client.chat_update(channel=channel, ts=ts, text=message.text, blocks=blocks),
        may_repeat=True,
    )


async def open_window(client: AsyncWebClient, trigger: str, view: dict[str, Any]) -> bool:
    """Open a window with a trigger_id. Returns False if Slack did not; the caller should then tell the person."""
    return await _show_window(client, "views.open", lambda: client.views_open(trigger_id=trigger, view=view))


async def push_window(client: AsyncWebClient, trigger: str, view: dict[str, Any]) -> bool:
    """Open a window on top of the one in which a person clicked. Returns False if Slack did not."""
    return await _show_window(client, "views.push", lambda: client.views_push(trigger_id=trigger, view=view))


async def update_window(client: AsyncWebClient, window: str, view: dict[str, Any]) -> bool:
    """Replace the content of an open window, by its id. Returns False if Slack did not: it may be closed by now."""
    return await _show_window(client, "views.update", lambda: client.views_update(view_id=window, view=view))


async def _show_window(client: AsyncWebClient, method: str, send: Callable[[], Awaitable[AsyncSlackResponse]]) -> bool:
    try:
        await find_shared_calls(client).make(method, send)
    except (SlackRefused, NoReply) as error:
        log.warning("a window was not shown: %s", error)
        return False
    return True


# ---------------------------------------------------------------- while the store is away

MAX_REMEMBERED_ENTRIES = 1000
"""Maximum number of people, and of reported messages, that an instance remembers."""
ACK_SECONDS = 2.5
"""Seconds for an answer to a click or a command: Slack waits for three."""


class RecordingFailed(Exception):
    """A click or a command could not be recorded. The text says why, in one line."""


class OutageNotices:
    """Tells people that a message was not recorded: once, though Slack sends the event of the message again.

    It also remembers who spoke to the bot in a thread. While the store is unavailable, a reply by one of them there
    counts as meant for the bot.
    """

    def __init__(self, background: BackgroundTasks) -> None:
        self._background = background
        self._reported_messages: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._recent_speakers: OrderedDict[tuple[str, str], None] = OrderedDict()

    def remember_speaker(self, place: Place, user: str) -> None:
        """Remember that a person spoke to the bot in a thread."""
        _remember(self._recent_speakers, (place.job_id, user))

    def has_spoken_lately(self, place: Place, user: str) -> bool:
        """Return True if a person is among the last `MAX_REMEMBERED_ENTRIES` who spoke to the bot in a thread."""
        return (place.job_id, user) in self._recent_speakers

    def tell_not_recorded(self, client: AsyncWebClient, place: Place, user: str, ts: str, error: StoreError) -> None:
        """Tell the author of a message (its id is `ts`) that it was not recorded."""
        if (place.channel, ts) in self._reported_messages:
            return
        _remember(self._reported_messages, (place.channel, ts))
        words = str(error) if isinstance(error, PayloadTooLarge) else STORE_AWAY
        self._background.start(
            show_ephemeral_message(client, place, user, make_note(words)), "tell that the store is away"
        )


def _remember(recent: OrderedDict[tuple[str, str], None], entry: tuple[str, str]) -> None:
    recent[entry] = None
    recent.move_to_end(entry)
    while len(recent) > MAX_REMEMBERED_ENTRIES:
        recent.popitem(last=False)


@asynccontextmanager
async def limit_to_ack_time() -> AsyncIterator[None]:
    """Raise RecordingFailed if the store fails in the `with` block, or the block takes more than `ACK_SECONDS`.

    Slack does not send clicks and commands again, so the person has to be told.
    """
    try:
        async with asyncio.timeout(ACK_SECONDS):
            yield
    except (StoreError, TimeoutError) as error:
        log.error("a click or a command was not recorded: %s", str(error) or "the store does not answer in time")  # noqa: TRY400 - one clear line
        raise RecordingFailed(str(error)) from error


async def send_direct_message_once(
    outbox: Outbox, claim: Claim, user: str, key: str, message: Outgoing, *, check_allowed: PermissionCheck
) -> None:
    """Send a direct message at most once: it is not repeated if Slack does not reply. Raises JobGone."""
    if (await outbox.record_intent(claim, key)).is_first and (
        ts := await try_send_direct_message(outbox, user, message, check_allowed=check_allowed)
    ):
        await outbox.mark_sent(claim, key, ts)


async def try_send_direct_message(
    outbox: Outbox, user: str, message: Outgoing, *, check_allowed: PermissionCheck | None = None
) -> str:
    """Send a direct message and return its id; "" if Slack refused it or did not reply. Raises JobGone."""
    calls, client = outbox.calls, outbox.client
    try:
        direct = await calls.make("conversations.open", lambda: client.conversations_open(users=user), may_repeat=True)
        channel = direct["channel"]["id"]
        answer = await calls.make(
            "chat.postMessage",
            lambda: client.chat_postMessage(
                channel=channel,
                text=message.text,
                blocks=list(message.blocks),
                unfurl_links=False,
                unfurl_media=False,
            ),
            channel=channel,
            check_allowed=check_allowed,
        )
    except (SlackRefused, NoReply) as error:
        log.warning("a person could not be told in their direct messages: %s", error)
        return ""
    return str(answer["ts"])
