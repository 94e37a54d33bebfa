"""Adds rows that a person has approved, once each, to the Slack list that the bot keeps for a channel.

The list is made for its first row, shared with the channel, and remembered in the store. As in the outbox, the intent
is recorded before the call, and the row's id after it. If the outcome of a call is unknown, the list is searched for
the row's key before the row is added again. Slack has lists only on its paid plans.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.send.lookup import OutcomeUnknown
from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.send.web_calls import NoReply, SlackRefused
from bot.store.values import Claim

log = logging.getLogger(__name__)

LIST_KEY_PREFIX = "list:"
"""The start of the name under which the store remembers a channel's list."""
LIST_NAME = "Tickets"
COLUMNS = (
    {"key": "title", "name": "Ticket", "type": "text", "is_primary_column": True},
    {"key": "body", "name": "Details", "type": "text"},
    {"key": "mark", "name": "Leadhand's key", "type": "text"},
)
MAX_PAGES, PAGE_SIZE = 20, 100
"""Most pages of a list that are searched for a row, and rows of a page. In a longer list the outcome stays unknown."""
MAX_TRIES = 3


@dataclass(frozen=True, slots=True)
class ChannelList:
    """A channel's Slack list: its id, and the ids of its columns by their keys in `COLUMNS`."""

    id: str
    columns: Mapping[str, str]


class ListRowWriter:
    """Adds rows of one job to channels' lists. `claim` is the right to the job, checked before each call."""

    def __init__(self, outbox: Outbox, claim: Claim) -> None:
        self._outbox = outbox
        self._claim = claim

    async def add(self, channel: str, key: str, title: str, body: str) -> SentMessage:
        """Add a row, once. If the result has a `fault`, the row was certainly not added.

        Raises JobGone, StoreError and OutcomeUnknown.
        """
        intent = await self._outbox.record_intent(self._claim, key)
        if intent.ts:
            return SentMessage(intent.ts, is_adopted=True)
        try:
            channel_list = await self._find_or_make_list(channel)
            if not intent.is_first:
                await self._outbox.wait_for_earlier_calls(intent)
                if found_row_id := await self._find_row(channel_list, key):
                    return await self._outbox.mark_sent(self._claim, key, found_row_id)
            row_id = await self._add_row(channel_list, key, {"title": title, "body": body, "mark": key})
        except SlackRefused as error:
            return SentMessage("", str(error))
        return await self._outbox.mark_sent(self._claim, key, row_id)

    async def look_up(self, channel: str, key: str) -> SentMessage | None:
        """Find the row with a key; None if surely not added. Raises JobGone, StoreError and OutcomeUnknown."""
        intent = await self._outbox.record_intent(self._claim, key)
        if intent.ts:
            return SentMessage(intent.ts, is_adopted=True)
        known_list = await self._find_list(channel)
        if intent.is_first or known_list is None:
            return None
        await self._outbox.wait_for_earlier_calls(intent)
        found_row_id = await self._find_row(known_list, key)
        return await self._outbox.mark_sent(self._claim, key, found_row_id) if found_row_id else None

    async def _find_list(self, channel: str) -> ChannelList | None:
        row = (await self._outbox.store.settings.read_team(self._claim.key.team)).get(f"{LIST_KEY_PREFIX}{channel}")
        if row is None:
            return None
        fields = json.loads(row)
        return ChannelList(str(fields["list"]), {str(name): str(column) for name, column in fields["columns"].items()})

    async def _find_or_make_list(self, channel: str) -> ChannelList:
        """Return the list of a channel; make and share it if there is none. Raises SlackRefused and OutcomeUnknown."""
        known_list = await self._find_list(channel)
        if known_list is not None:
            return known_list
        client, calls = self._outbox.client, self._outbox.calls
        try:
            # After a lost reply, a second list may be made; the first then stays empty and is shared with nobody.
            created_list = await calls.make(
                "slackLists.create",
                lambda: client.slackLists_create(name=LIST_NAME, schema=[dict(one) for one in COLUMNS]),
                may_repeat=True,
            )
            columns = {str(one["key"]): str(one["id"]) for one in created_list["list_metadata"]["schema"]}
            channel_list = ChannelList(
                str(created_list["list_id"]), {str(one["key"]): columns[str(one["key"])] for one in COLUMNS}
            )
            await calls.make(
                "slackLists.access.set",
                lambda: client.slackLists_access_set(
                    list_id=channel_list.id, access_level="write", channel_ids=[channel]
                ),
                may_repeat=True,
            )
        except NoReply as error:
            raise SlackRefused("no_answer", "the list could not be made") from error
        except (KeyError, TypeError) as error:
            raise SlackRefused("no_answer", "Slack did not tell the columns of the list that it made") from error
        list_json = json.dumps({"list": channel_list.id, "columns": dict(channel_list.columns)})
        await self._outbox.store.settings.put(self._claim.key.team, f"{LIST_KEY_PREFIX}{channel}", list_json)
        return channel_list

    async def _add_row(self, channel_list: ChannelList, key: str, texts: Mapping[str, str]) -> str:
        fields = [
            {"column_id": channel_list.columns[name], "rich_text": [_make_rich_text(text)]}
            for name, text in texts.items()
        ]
        for _ in range(MAX_TRIES):
            try:
                data = await self._outbox.calls.make(
                    "slackLists.items.create",
                    lambda: self._outbox.client.slackLists_items_create(list_id=channel_list.id, initial_fields=fields),
                    check_allowed=self._outbox.make_claim_check(self._claim),
                )
                return str(data["item"]["id"])
            except NoReply as lost:
                log.warning("job %s: %s; looking for the row %s", self._claim.key.job, lost, key)
                if found_row_id := await self._find_row(channel_list, key):
                    return found_row_id
        raise SlackRefused("no_answer", f"the row was not seen after {MAX_TRIES} tries")

    async def _find_row(self, channel_list: ChannelList, key: str) -> str:
        """Return the id of the row with a key; "" if there is certainly none. Raises OutcomeUnknown."""
        cursor = ""
        try:
            for _ in range(MAX_PAGES):
                data = await self._outbox.calls.make(
                    "slackLists.items.list",
                    lambda cursor=cursor: self._outbox.client.slackLists_items_list(  # type: ignore[misc]
                        list_id=channel_list.id, limit=PAGE_SIZE, cursor=cursor or None
                    ),
                    may_repeat=True,
                )
                for one in data.get("items", []):
                    if key in json.dumps(one.get("fields", [])):
                        return str(one["id"])
                cursor = (data.get("response_metadata") or {}).get("next_cursor", "")
                if not cursor:
                    return ""
        except (SlackRefused, NoReply) as error:
            raise OutcomeUnknown(f"whether the row was added cannot be told: {error}") from error
        raise OutcomeUnknown("whether the row was added cannot be told: the list is too long")


def _make_rich_text(text: str) -> dict[str, Any]:
    """Return a text as the rich text that a text column of a list takes."""
    element = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [element]}
